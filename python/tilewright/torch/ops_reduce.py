"""Reductions: sums, products, extrema with and without positions, statistics, norms, soft-max."""

import math

from ..emit import types
from ..emit.sizes import product
from .context import shape_of, type_of
from .registry import op


def sum_over(c, x, axes, type, keep, term=lambda s, a: a):
    """Sums `term` of each element in `type` (16-bit floats in f32)."""
    accumulator = types.compute(type)
    if accumulator == "i1":
        accumulator = "i64"
    total = c.f.reduce([x], axes, accumulator, 0, lambda s, a, t: s.add(t, term(s, s.cast(a, accumulator))), keep)
    return total if accumulator != types.compute(type) else total


def count_of(x, axes):
    return product([x.shape[a] for a in axes])


def divided(c, value, count, type):
    """Each element over a number of elements (a size)."""
    return c.map([value, count], lambda s, a, n: s.div(a, n), compute=types.compute(value.type), type=type, shape=value.shape)


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


def extremum(c, x, axes, largest, keep=False):
    """NaN where there is one."""
    initial = types.lowest(x.type) if largest else types.highest(x.type)
    return c.f.reduce([x], axes, x.type, initial, lambda s, a, m: s.max(m, a) if largest else s.min(m, a), keep)


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


def position_of(c, x, axis, value, keep):
    """The first position along `axis` where `x` is `value` (kept as size 1), or both are NaN."""
    last = types.highest("i64")
    into = [n for i, n in enumerate(x.shape) if i != axis]
    loops = [f"d{i}" for i in range(x.rank)]
    kept = [d for i, d in enumerate(loops) if i != axis]
    target = c.f.view(value, into)

    def body(s, a, v, least):
        hit = s.compare("eq", a, v)
        if types.is_float(a.type):
            hit = s.binary("or", hit, s.binary("and", s.is_nan(a), s.is_nan(v)))
        return s.min(least, s.select(hit, s.index(axis), s.constant(last, "i64")))
    found = c.f.generic(x.rank, [(x, loops), (target, kept)], [(c.f.fill(into, "i64", last), kept)], body, {axis})
    return c.f.view(found, [1 if i == axis else n for i, n in enumerate(x.shape)]) if keep else found


def extremum_with_position(c, x, axis, largest, keep):
    if x.rank == 0:
        return x, c.f.fill((), "i64", 0)
    axis = c.axis(axis, x.rank)
    values = extremum(c, x, [axis], largest, True)
    positions = position_of(c, x, axis, values, keep)
    return values if keep else c.f.view(values, positions.shape), positions


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


def moments(c, x, axes, correction=0):
    """Mean and variance over `axes` (kept as size 1) in the type that `x` is computed in, in two passes."""
    compute = types.compute(x.type)
    count = count_of(x, axes)
    average = divided(c, sum_over(c, x, axes, compute, True), count, compute)
    loops = [f"d{i}" for i in range(x.rank)]
    held = ["0" if i in axes else d for i, d in enumerate(loops)]
    kept = [d for i, d in enumerate(loops) if i not in axes]
    shape = [n for i, n in enumerate(x.shape) if i not in axes]

    def body(s, a, m, t):
        deviation = s.sub(s.cast(a, compute), m)
        return s.add(t, s.mul(deviation, deviation))
    squares = c.f.generic(x.rank, [(x, loops), (average, held)], [(c.f.fill(shape, compute, 0), kept)], body, set(axes))
    squares = c.f.view(squares, average.shape)
    if not correction:
        return average, divided(c, squares, count, compute)
    if not isinstance(count, int):
        variance = c.map([squares, count], lambda s, a, n: s.div(a, s.max(s.sub(n, correction), 0)), compute=compute, type=compute,
                         shape=squares.shape)
    else:
        variance = c.map([squares], lambda s, a: s.div(a, max(float(count - correction), 0.0)), compute=compute, type=compute,
                         shape=squares.shape)
    return average, variance


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


def shifted_exponentials(c, x, axis):
    """x - max, its exponentials, and their sums, all in the type of the computation; `axis` is kept."""
    compute = types.compute(x.type)
    x = c.cast(x, compute)
    largest = extremum(c, x, [axis], True, True)
    shifted = c.map([x, largest], lambda s, a, m: s.sub(a, m), compute=compute, type=compute, shape=x.shape)
    powers = c.map([shifted], lambda s, a: s.math("exp", a), compute=compute, type=compute, shape=x.shape)
    return shifted, powers, c.f.reduce([powers], [axis], compute, 0, lambda s, a, t: s.add(t, a), True)


def softmax_of(c, x, axis, type):
    if x.rank == 0:
        x1 = c.f.view(x, (1,))
        return c.f.view(softmax_of(c, x1, 0, type), ())
    _, powers, total = shifted_exponentials(c, x, axis)
    return c.map([powers, total], lambda s, a, t: s.div(a, t), compute=types.compute(x.type), type=type, shape=x.shape)


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
