"""Reductions: sums, extrema with and without positions, moments, soft-max. `c` is the context of a reader."""

from . import types
from .sizes import floor_div, product


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


def extremum(c, x, axes, largest, keep=False):
    """NaN where there is one."""
    initial = types.lowest(x.type) if largest else types.highest(x.type)
    return c.f.reduce([x], axes, x.type, initial, lambda s, a, m: s.max(m, a) if largest else s.min(m, a), keep)


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


def of_channels(c, value, channels, rank):
    """What groups of channels have in common, (N, G, 1, ..), for each channel: (N, C, 1, .., 1) of `rank` dimensions."""
    batch, groups = value.shape[:2]
    each = c.f.map([c.f.view(value, (batch, groups, 1))], (batch, groups, floor_div(channels, groups)), value.type, lambda s, a: a)
    return c.f.view(each, (batch, channels, *[1] * (rank - 2)))


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
