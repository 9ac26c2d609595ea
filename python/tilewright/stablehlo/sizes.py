"""Integers that follow from sizes of a call: a Python integer or bool, a sympy expression over sizes, or a `Relation` between
such. `folds.py` has their arithmetic. Sizes of arguments are at least 1, and their symbols are positive."""

import dataclasses

from ..emit.context import Unsupported
from ..emit.sizes import plain


@dataclasses.dataclass(frozen=True)
class Relation:
    """`a test b`, which the call shows. `test`: eq, ne, lt, le, gt, ge."""
    test: str
    a: object
    b: object


def is_symbolic(number):
    """Whether a number follows from sizes."""
    return isinstance(number, Relation) or hasattr(number, "free_symbols")


def symbol(name, is_positive):
    try:
        import sympy
    except ModuleNotFoundError:
        raise Unsupported("dynamic sizes need sympy: pip install sympy") from None
    return sympy.Symbol(name, integer=True, positive=is_positive or None)


def replaced(number, old, new):
    """The number with one size written as an expression of others."""
    if isinstance(number, Relation):
        return Relation(number.test, replaced(number.a, old, new), replaced(number.b, old, new))
    return plain(number.subs(old, new)) if hasattr(number, "free_symbols") else number
