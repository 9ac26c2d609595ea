"""Arithmetic on integers that follow from sizes (`sizes.py`), for what a module computes shapes with: operations of single
integers as expressions, bounds of expressions, what an equality of sizes tells. It is imported where there are such sizes."""

import math

import sympy

from ..emit.forms import CeilDiv, FloorDiv, Mod
from ..emit.sizes import form_of, plain
from .sizes import Relation, replaced

TESTS = {"EQ": "eq", "NE": "ne", "LT": "lt", "LE": "le", "GT": "gt", "GE": "ge"}


def bounds(e):
    """(lower, upper) bound of an expression; None where none is known."""
    e = sympy.sympify(e)
    if e.is_Integer:
        return int(e), int(e)
    if e.is_Symbol:
        return 1 if e.is_positive else None, None
    form = form_of(e)
    if e.is_Mul and e.args[0].is_Integer:
        factor, ends = int(e.args[0]), bounds(sympy.Mul(*e.args[1:]))
        ends = [None if n is None else factor * n for n in ends]
        return (ends[1], ends[0]) if factor < 0 else tuple(ends)
    lows, highs = zip(*map(bounds, e.args))
    if e.is_Add:
        return None if None in lows else sum(lows), None if None in highs else sum(highs)
    if e.is_Mul and None not in lows and min(lows) >= 0:
        return math.prod(lows), None
    if form == "Max":
        return max((n for n in lows if n is not None), default=None), None if None in highs else max(highs)
    if form == "Min":
        return None if None in lows else min(lows), min((n for n in highs if n is not None), default=None)
    if form == "Mod" and (lows[1] or 0) > 0:
        return 0, None if highs[1] is None else highs[1] - 1
    if form in ("FloorDiv", "CeilDiv") and e.args[1].is_Integer and e.args[1] > 0:
        divided = (FloorDiv if form == "FloorDiv" else CeilDiv).divided
        return tuple(None if n is None else divided(n, int(e.args[1])) for n in (lows[0], highs[0]))
    return None, None


def is_at_least(e, n):
    low, _ = bounds(e)
    return low is not None and low >= n


def solved(relation, free, new_size):
    """(size, what it equals) by an equality, for one of the sizes `free`; (None, None) where it gives none. That a size plus a
    constant is a multiple of n makes a new size, of which `new_size` gives the name."""
    for x, other in ((relation.a, relation.b), (relation.b, relation.a)):
        if x in free and x not in sympy.sympify(other).free_symbols:
            return x, plain(sympy.sympify(other))
    if isinstance(relation.a, Mod) and relation.b == 0:
        whole, divisor = relation.a.args
        x = next((n for n in whole.free_symbols if n in free and isinstance(plain(whole - n), int)), None)
        if x is not None and divisor.is_Integer:
            return x, plain(divisor * new_size() - (whole - x))
    return None, None


def inverse(old, new, name):
    """The size `name`, of which `new` is linear, from the size `old`, which equals `new`."""
    factor = new.coeff(name)
    return FloorDiv(plain(old - (new - factor * name)), factor)


# Operations; None where the result is no expression of sizes


def _compare(test, a, b):
    if isinstance(a, Relation) or isinstance(b, Relation):
        a, b = (b, a) if isinstance(b, Relation) else (a, b)
        return a if test == "ne" and b in (False, 0) or test == "eq" and b in (True, 1) else None
    difference = plain(a - b)
    low, high = bounds(difference)
    known = {"eq": (low == high == 0, low is not None and low > 0 or high is not None and high < 0),
             "lt": (high is not None and high < 0, low is not None and low >= 0),
             "le": (high is not None and high <= 0, low is not None and low > 0)}
    opposite = {"ne": "eq", "ge": "lt", "gt": "le"}
    yes, no = known[test] if test in known else known[opposite[test]][::-1]
    return True if yes else False if no else Relation(test, a, b)


def _divide(a, b):
    """Rounded towards 0."""
    if not is_at_least(b, 1):
        return None
    return FloorDiv(a, b) if is_at_least(a, 0) else -FloorDiv(-a, b) if is_at_least(-a, 0) else None


def _remainder(a, b):
    """With the sign of the dividend."""
    if not is_at_least(b, 1):
        return None
    return Mod(a, b) if is_at_least(a, 0) else -Mod(-a, b) if is_at_least(-a, 0) else None


def _sign(a):
    if is_at_least(a, 0):
        return 1 if is_at_least(a, 1) else sympy.Min(a, 1)
    return -1 if is_at_least(-a, 1) else None


def _and(a, b):
    for one, other in ((a, b), (b, a)):
        if one is True or one is False:
            return other if one else False
        # min(x, 1) is not 1 where x is 0; there the other may be decided.
        if isinstance(one, Relation) and one.test == "ne" and one.b == 1 and isinstance(one.a, sympy.Min) and \
                isinstance(other, Relation):
            x = next((e for e in one.a.args if e != 1), None)
            if x is not None and _compare(other.test, replaced(other.a, x, 0), replaced(other.b, x, 0)) is False:
                return False
    return None


def _select(condition, a, b):
    if condition is True or condition is False:
        return a if condition else b
    if isinstance(condition, Relation) and condition.test == "ne" and condition.b == 0:
        # -(x // d), less 1 where x is no multiple of d: -ceil(x / d)
        rest = sympy.sympify(condition.a).atoms(Mod)
        x, d = next(iter(rest)).args if len(rest) == 1 else (None, None)
        if x is not None and b == -FloorDiv(x, d) and plain(a - b) == -1:
            return -CeilDiv(x, d)
    return a if a == b else None


def _max(a, b):
    decided = _compare("ge", a, b)
    return (a if decided else b) if isinstance(decided, bool) else sympy.Max(a, b)


def _min(a, b):
    decided = _compare("le", a, b)
    return (a if decided else b) if isinstance(decided, bool) else sympy.Min(a, b)


_FOLDS = {
    "stablehlo.add": lambda a, b: a + b, "stablehlo.subtract": lambda a, b: a - b, "stablehlo.multiply": lambda a, b: a * b,
    "stablehlo.negate": lambda a: -a, "stablehlo.divide": _divide, "stablehlo.remainder": _remainder, "stablehlo.sign": _sign,
    "stablehlo.maximum": _max, "stablehlo.minimum": _min, "stablehlo.and": _and, "stablehlo.select": _select,
    "stablehlo.convert": lambda a: a, "stablehlo.clamp": lambda low, a, high: _min(_max(a, low), high),
}
#: Operations on numbers that take relations.
_LOGICAL = ("stablehlo.and", "stablehlo.select", "stablehlo.compare", "stablehlo.convert")


def folded(name, test, numbers):
    """What an operation of the module gives for numbers; None where that is no expression of sizes. `test`: of a comparison."""
    if any(isinstance(n, Relation) for n in numbers) and name not in _LOGICAL:
        return None
    if name == "stablehlo.compare":
        return _compare(TESTS[test], *numbers)
    made = _FOLDS[name](*numbers) if name in _FOLDS else None
    return made if made is None or isinstance(made, (bool, Relation)) else plain(made)


def folds(name):
    return name in _FOLDS or name == "stablehlo.compare"
