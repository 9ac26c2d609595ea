"""Reductions: sums, products, extrema with and without positions, statistics, norms, soft-max."""

import math

from ..emit import types
from ..emit.reduce import (count_of, divided, extremum, extremum_with_position, moments, shifted_exponentials, softmax_of,
                           sum_over)
from ..emit.sizes import product
from .context import shape_of, type_of
from .registry import op


@op("sum.dim_IntList", "sum")
def sum_(c, x, axes=None, keepdim=False, *, dtype=None):
    return c.cast(sum_over(c, x, c.axes(axes, x.rank), c.type, keepdim), c.type)


@op("nansum")
def nansum(c, x, axes=None, keepdim=False, *, dtype=None):
    def term(s, a):
        return s.select(s.is_nan(a), s.constant(0, a.type), a) if types.is_float(a.type) else a
    return c.cast(sum_over(c, x, c.axes(axes, x.rank), c.type, keepdim, term), c.type)


@op("mean", "mean.dim")
def mean(c, x, axes=None, keepdim=False, *, dtype=None):
    axes = c.axes(axes, x.rank)
    return divided(c, sum_over(c, x, axes, c.type, keepdim), count_of(x, axes), c.type)


@op("prod", "prod.dim_int")
def prod(c, x, axis=None, keepdim=False, *, dtype=None):
    accumulator = types.compute(c.type)
    result = c.f.reduce([x], c.axes(axis, x.rank), accumulator, 1, lambda s, a, t: s.mul(t, s.cast(a, accumulator)), keepdim)
    return c.cast(result, c.type)


def _any_all(name, kind, initial):
    @op(name, f"{name}.dim", f"{name}.dims")
    def emit(c, x, axes=None, keepdim=False):
        test = c.cast(x, "i1")
        result = c.f.reduce([test], c.axes(axes, x.rank), "i1", initial, lambda s, a, t: s.binary(kind, t, a), keepdim)
        return c.cast(result, c.type)


_any_all("any", "or", False)
_any_all("all", "and", True)


@op("count_nonzero.dim_IntList", "count_nonzero")
def count_nonzero(c, x, axes=None):
    return sum_over(c, c.cast(x, "i1"), c.axes(axes, x.rank), "i64", False)


# Extrema


@op("amax")
def amax(c, x, axes=(), keepdim=False):
    return extremum(c, x, c.axes(axes, x.rank), True, keepdim)


@op("amin")
def amin(c, x, axes=(), keepdim=False):
    return extremum(c, x, c.axes(axes, x.rank), False, keepdim)


@op("max")
def max_all(c, x):
    return extremum(c, x, range(x.rank), True)


@op("min")
def min_all(c, x):
    return extremum(c, x, range(x.rank), False)


@op("aminmax")
def aminmax(c, x, *, dim=None, keepdim=False):
    axes = c.axes(dim, x.rank)
    return extremum(c, x, axes, False, keepdim), extremum(c, x, axes, True, keepdim)


def _with_position(name, largest):
    @op(f"{name}.dim")
    def pair(c, x, axis, keepdim=False):
        return extremum_with_position(c, x, axis, largest, keepdim)

    @op(f"arg{name}")
    def position(c, x, axis=None, keepdim=False):
        if axis is None:
            flat = c.f.view(x, (product(x.shape),))
            return c.f.view(extremum_with_position(c, flat, 0, largest, False)[1], c.shape)
        return extremum_with_position(c, x, axis, largest, keepdim)[1]


_with_position("max", True)
_with_position("min", False)


# Statistics


def _moments_of(c, x, axes, correction):
    axes = c.axes(axes, x.rank)
    return moments(c, x, axes, 1 if correction is None else correction)


@op("var.correction", "var.dim", "var")
def var(c, x, axes=None, unbiased=True, keepdim=False, *, correction=1):
    variance = _moments_of(c, x, axes, correction if unbiased else 0)[1]
    return c.cast(c.f.view(variance, c.shape), c.type)


@op("std.correction", "std.dim", "std")
def std(c, x, axes=None, unbiased=True, keepdim=False, *, correction=1):
    variance = _moments_of(c, x, axes, correction if unbiased else 0)[1]
    return c.map([c.f.view(variance, c.shape)], lambda s, a: s.math("sqrt", a))


@op("var_mean.correction", "var_mean.dim", "var_mean")
def var_mean(c, x, axes=None, unbiased=True, keepdim=False, *, correction=1):
    average, variance = _moments_of(c, x, axes, correction if unbiased else 0)
    return tuple(c.cast(c.f.view(v, shape_of(m)), type_of(m)) for v, m in zip((variance, average), c.meta))


@op("linalg_vector_norm")
def vector_norm(c, x, order=2, axes=None, keepdim=False, *, dtype=None):
    axes = c.axes(axes, x.rank)
    compute = types.compute(c.type)

    def magnitudes(s, a):
        return s.math("absf", a)
    if order in (math.inf, -math.inf):
        largest = order > 0
        return c.cast(c.f.reduce([x], axes, compute, 0 if largest else math.inf,
                                 lambda s, a, m: (s.max if largest else s.min)(m, magnitudes(s, s.cast(a, compute))), keepdim), c.type)
    if order == 0:
        return c.cast(sum_over(c, x, axes, compute, keepdim,
                               lambda s, a: s.cast(s.compare("ne", a, 0), compute)), c.type)
    if order == 1:
        return c.cast(sum_over(c, x, axes, compute, keepdim, magnitudes), c.type)
    if order == 2:
        total = sum_over(c, x, axes, compute, keepdim, lambda s, a: s.mul(a, a))
        return c.map([total], lambda s, a: s.math("sqrt", a))
    total = sum_over(c, x, axes, compute, keepdim, lambda s, a: s.math("powf", magnitudes(s, a), float(order)))
    return c.map([total], lambda s, a: s.math("powf", a, 1.0 / float(order)))


# Soft-max


@op("_softmax", "softmax.int", "_safe_softmax")
def softmax(c, x, axis, half_to_float=False, dtype=None):
    if c.node.target.__name__.startswith("_safe"):
        return safe_softmax(c, c.cast(x, c.type), c.axis(axis, x.rank), c.type)
    return softmax_of(c, c.cast(x, c.type) if types.BITS[c.type] > types.BITS[x.type] else x, c.axis(axis, x.rank), c.type)


def safe_softmax(c, x, axis, type):
    """Rows of -infinity become zeros."""
    result = softmax_of(c, x, axis, type)
    largest = extremum(c, x, [axis], True, True)
    return c.f.map([result, largest], result.shape, type,
                   lambda s, a, m: s.select(s.compare("eq", m, -math.inf), s.constant(0, type), a))


@op("_log_softmax", "log_softmax.int")
def log_softmax(c, x, axis, half_to_float=False, dtype=None):
    if x.rank == 0:
        return c.map([x], lambda s, a: s.sub(a, a))
    axis = c.axis(axis, x.rank)
    shifted, _, total = shifted_exponentials(c, c.cast(x, c.type) if types.BITS[c.type] > types.BITS[x.type] else x, axis)
    return c.map([shifted, total], lambda s, a, t: s.sub(a, s.math("log", t)))


@op("logsumexp")
def logsumexp(c, x, axes, keepdim=False):
    axes = c.axes(axes, x.rank)
    compute = types.compute(c.type)
    x = c.cast(x, compute)
    largest = extremum(c, x, axes, True, True)
    # An infinite maximum is not subtracted: inf - inf would be NaN.
    base = c.map([largest], lambda s, m: s.select(s.compare("eq", s.math("absf", m), math.inf), s.constant(0, compute), m),
                 compute=compute, type=compute, shape=largest.shape)
    powers = c.map([x, base], lambda s, a, m: s.math("exp", s.sub(a, m)), compute=compute, type=compute, shape=x.shape)
    total = c.f.reduce([powers], axes, compute, 0, lambda s, a, t: s.add(t, a), True)
    result = c.map([total, base], lambda s, t, m: s.add(s.math("log", t), m), compute=compute, type=c.type, shape=total.shape)
    return c.f.view(result, c.shape)


@op("histc")
def histc(c, x, bins=100, min=0, max=0):
    """Numbers of elements in intervals of equal width, the last one with its end; elements outside are not counted. Without a range that of
    the elements, one to each side where these are all alike."""
    type = types.compute(x.type)
    if min == max:
        ends = [c.f.view(extremum(c, x, list(range(x.rank)), largest, False), ()) for largest in (False, True)]
    else:
        ends = [c.f.fill((), type, end) for end in (min, max)]

    def place(s, a, low, high):
        a, low, high = (s.cast(v, type) for v in (a, low, high))
        alike = s.compare("eq", low, high)
        low, high = (s.select(alike, s.add(v, by), v) for v, by in ((low, -1.0), (high, 1.0)))
        inside = s.binary("and", s.compare("ge", a, low), s.compare("le", a, high))
        at = s.div(s.mul(s.sub(a, low), s.constant(bins, type)), s.sub(high, low))
        at = s.min(s.cast(s.select(inside, at, s.constant(0, type)), "i64"), bins - 1)
        return s.select(inside, at, s.constant(-1, "i64"))
    count = product(x.shape)
    places = c.f.map([c.f.view(x, (count,)), *ends], (count,), "i64", place)
    into = c.f.fill((bins,), type, 0)

    def add(s, at, total):
        return s.add(total, s.select(s.compare("eq", at, s.cast(s.index(0), "i64")), s.constant(1, type), s.constant(0, type)))
    return c.cast(c.f.generic(2, [(places, ["d1"])], [(into, ["d0"])], add, {1}), c.type)
