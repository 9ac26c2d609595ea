"""Reductions: sums, extrema with and without positions, norms, running sums, the largest elements."""

import math

from ..emit import types
from ..emit.elements import absolute
from ..emit.order import sorted_with_positions
from ..emit.reduce import count_of, divided, extremum, extremum_with_position, sum_over
from ..emit.scan import accumulator, scan
from .registry import op


def axes_of(c, x):
    """The axes, from an input or, in older versions, from the attribute; None: nothing is reduced."""
    axes = c.sizes(1) if c.held(1) is not None else c.attribute("axes")
    if not axes:
        return None if c.attribute("noop_with_empty_axes", 0) else list(range(x.rank))
    return sorted({c.axis(a, x.rank) for a in axes})


def reduction(name, write, of_each=None):
    """`write(c, x, axes, keep)`; `of_each(s, a)`: what becomes of an element where nothing is reduced."""
    @op(name, static=(1,))
    def emit(c, x, axes=None):
        where = axes_of(c, x)
        if where is None:
            return x if of_each is None else c.map([x], of_each)
        return c.cast(write(c, x, where, bool(c.attribute("keepdims", 1))), x.type)


def _sum(term=lambda s, a: a, last=None):
    def write(c, x, axes, keep):
        total = sum_over(c, x, axes, types.compute(x.type), keep, term)
        return total if last is None else c.map([total], last)
    return write


def root(s, a):
    return s.math("sqrt", a) if types.is_float(a.type) else s.cast(s.math("sqrt", s.cast(a, "f64")), a.type)


def logarithm(s, a):
    return s.math("log", a) if types.is_float(a.type) else s.cast(s.math("log", s.cast(a, "f64")), a.type)


def mean(c, x, axes, keep):
    total = sum_over(c, x, axes, types.compute(x.type), keep)
    if types.is_float(x.type):
        return divided(c, total, count_of(x, axes), x.type)
    return c.map([total, count_of(x, axes)], lambda s, a, n: s.div(a, n))


def product(c, x, axes, keep):
    type = types.compute(x.type)
    return c.f.reduce([x], axes, type, 1, lambda s, a, t: s.mul(t, s.cast(a, type)), keep)


def log_sum_exp(c, x, axes, keep):
    type = types.compute(x.type) if types.is_float(x.type) else "f64"
    x = c.cast(x, type)
    largest = extremum(c, x, axes, True, True)
    # An infinite maximum is not subtracted: inf - inf would be NaN.
    base = c.map([largest], lambda s, m: s.select(s.compare("eq", s.math("absf", m), math.inf), s.constant(0, type), m))
    powers = c.map([x, base], lambda s, a, m: s.math("exp", s.sub(a, m)), shape=x.shape)
    total = c.f.reduce([powers], axes, type, 0, lambda s, a, t: s.add(t, a), True)
    made = c.map([total, base], lambda s, t, m: s.add(s.math("log", t), m))
    return made if keep else c.f.view(made, [n for i, n in enumerate(x.shape) if i not in axes])


reduction("ReduceSum", _sum())
reduction("ReduceSumSquare", _sum(lambda s, a: s.mul(a, a)), lambda s, a: s.mul(a, a))
reduction("ReduceL1", _sum(absolute), absolute)
reduction("ReduceL2", _sum(lambda s, a: s.mul(a, a), root), absolute)
reduction("ReduceLogSum", _sum(last=logarithm), logarithm)
reduction("ReduceLogSumExp", log_sum_exp)
reduction("ReduceMean", mean)
reduction("ReduceProd", product)
reduction("ReduceMax", lambda c, x, axes, keep: extremum(c, x, axes, True, keep))
reduction("ReduceMin", lambda c, x, axes, keep: extremum(c, x, axes, False, keep))


def _position(name, largest):
    @op(name)
    def emit(c, x):
        axis, keep = c.axis(c.attribute("axis", 0), x.rank), bool(c.attribute("keepdims", 1))
        if not c.attribute("select_last_index", 0):
            return extremum_with_position(c, x, axis, largest, keep)[1]
        backwards = reversed_along(c, x, axis)
        at = extremum_with_position(c, backwards, axis, largest, keep)[1]
        return c.map([at, x.shape[axis]], lambda s, a, n: s.sub(s.sub(n, 1), a))


_position("ArgMax", True)
_position("ArgMin", False)


def reversed_along(c, x, axis):
    def body(s):
        return s.extract(
            x, [s.sub(s.sub(s.size(n), 1), s.index(i)) if i == axis else s.index(i) for i, n in enumerate(x.shape)])
    return c.f.map([], x.shape, x.type, body)


@op("TopK", static=(1,))
def top_k(c, x, k):
    axis = c.axis(c.attribute("axis", -1), x.rank)
    return sorted_with_positions(c, x, axis, bool(c.attribute("largest", 1)), c.sizes(1)[0])


def _running(name, kind, initial):
    @op(name, static=(1,))
    def emit(c, x, axis):
        """A loop that carries the last row; backwards and without the element itself where the attributes say so."""
        wide = accumulator(x.type)
        return scan(c, x, int(axis.reshape(-1)[0]), [(wide, initial)], lambda s, _, a, total: s.binary(kind, total, s.cast(a, wide)),
                    [x.type], bool(c.attribute("reverse", 0)), bool(c.attribute("exclusive", 0)))[0]


_running("CumSum", "add", 0)
_running("CumProd", "mul", 1)
