"""Pooling: largest elements with their positions, averages, adaptive ones, and the gradients that have no decomposition."""

from ..emit import types
from ..emit.convolution import listed
from ..emit.sizes import product
from ..emit.windows import Windows, averaged
from .context import shape_of
from .registry import op


def windows(c, x, kernel, stride, padding, dilation, ceil_mode, outputs, spatial):
    kernel = listed(kernel, spatial)
    stride = listed(stride, spatial) if stride else kernel
    return Windows(c, x, kernel, stride, listed(padding, spatial), listed(dilation, spatial), ceil_mode, outputs)


def _max_pool(spatial):
    @op(f"max_pool{spatial}d_with_indices")
    def emit(c, x, kernel, stride=(), padding=(0,), dilation=(1,), ceil_mode=False):
        shape = shape_of(c.result(0))
        w = windows(c, x, kernel, stride, padding, dilation, ceil_mode, shape[-spatial:], spatial)
        wide = w.padded(c, x, types.lowest(x.type))
        values = w.reduce(c, [(wide, True)], x.type, types.lowest(x.type), shape, lambda s, a, m: s.max(m, a))
        last = types.highest("i64")

        def position(s, a, m, least):
            hit = s.compare("eq", a, m)
            if types.is_float(a.type):
                hit = s.binary("or", hit, s.is_nan(a))
            flat = None
            for i in range(spatial):
                at, size = w.position(s, i), s.size(w.sizes[i])
                if w.padding[i] or w.high[i]:
                    inside = s.binary("and", s.compare("ge", at, 0), s.compare("lt", at, size))
                    hit = s.binary("and", hit, inside)
                flat = at if flat is None else s.add(s.mul(flat, size), at)
            return s.min(least, s.select(hit, flat, s.constant(last, "i64")))
        window = c.f.empty(w.kernel, x.type)
        positions = c.f.generic(
            w.loops, [(wide, w.in_map), (values, w.out_map), (window, w.taps)], [(c.f.fill(shape, "i64", last, wide.order), w.out_map)],
            lambda s, a, m, _, least: position(s, a, m, least), range(w.loops - spatial, w.loops))
        return values, positions


for _spatial in (2, 3):
    _max_pool(_spatial)


def _avg_pool(spatial):
    @op(f"avg_pool{spatial}d")
    def emit(c, x, kernel, stride=(), padding=(0,), ceil_mode=False, count_include_pad=True, divisor_override=None):
        w = windows(c, x, kernel, stride, padding, (1,), ceil_mode, c.shape[-spatial:], spatial)
        type = types.compute(x.type)
        total = w.reduce(c, [(w.padded(c, x, 0), True)], type, 0, c.shape, lambda s, a, t: s.add(t, s.cast(a, type)))
        return averaged(c, w, total, count_include_pad, divisor_override, c.type)


for _spatial in (1, 2, 3):
    _avg_pool(_spatial)


def _adaptive_max(spatial):
    @op(f"adaptive_max_pool{spatial}d")
    def emit(c, x, sizes):
        """One dimension after the other, from the last: the largest element of each window and where it stands."""
        lead, y, positions = x.rank - spatial, x, []
        for i in reversed(range(spatial)):
            y, at = _largest_on_axis(c, y, lead + i, sizes[i])
            # Positions of later dimensions are those of the elements that were chosen.
            positions = [at] + [_chosen(c, p, lead + i, at) for p in positions]
        flat = positions[0]
        for size, at in zip(x.shape[lead + 1:], positions[1:]):
            flat = c.map([flat, at], lambda s, a, b, size=size: s.add(s.mul(a, s.size(size)), b), compute="i64", type="i64", shape=y.shape)
        return y, flat


def _window(s, i, size, count):
    """The first position of window i of `count` over `size` positions, and the one after its last."""
    n, o = s.size(size), s.size(count)
    return s.div(s.mul(i, n), o), s.div(s.add(s.mul(s.add(i, 1), n), s.sub(o, 1)), o)


def _largest_on_axis(c, x, axis, count):
    size = x.shape[axis]
    loops = [f"d{i}" for i in range(x.rank + 1)]
    shape = (*x.shape[:axis], count, *x.shape[axis + 1:])
    access = [f"d{x.rank}" if i == axis else f"d{i}" for i in range(x.rank)]
    lowest, last = types.lowest(x.type), types.highest("i64")

    def inside(s):
        start, end = _window(s, s.index(axis), size, count)
        return s.binary("and", s.compare("ge", s.index(x.rank), start), s.compare("lt", s.index(x.rank), end))

    def largest(s, a, m):
        return s.max(m, s.select(inside(s), a, s.constant(lowest, x.type)))
    values = c.f.generic(x.rank + 1, [(x, access)], [(c.f.fill(shape, x.type, lowest), loops[:-1])], largest, {x.rank})

    def position(s, a, m, least):
        hit = s.compare("eq", a, m)
        if types.is_float(x.type):
            hit = s.binary("or", hit, s.is_nan(a))
        return s.min(least, s.select(s.binary("and", hit, inside(s)), s.index(x.rank), s.constant(last, "i64")))
    at = c.f.generic(x.rank + 1, [(x, access), (values, loops[:-1])], [(c.f.fill(shape, "i64", last), loops[:-1])], position, {x.rank})
    return values, at


def _chosen(c, values, axis, at):
    def body(s, a):
        place = [s.index(i) for i in range(values.rank)]
        place[axis] = a
        return s.extract(values, place)
    return c.f.map([at], at.shape, values.type, body)


for _spatial in (2, 3):
    _adaptive_max(_spatial)


def _adaptive_average(spatial):
    @op(f"_adaptive_avg_pool{spatial}d", f"adaptive_avg_pool{spatial}d")
    def emit(c, x, sizes):
        """Output i of o averages the positions from floor(i n / o) to ceil((i + 1) n / o)."""
        type = types.compute(x.type)
        y, lead = c.cast(x, type), x.rank - spatial
        if all(o == 1 for o in sizes):
            axes = list(range(lead, x.rank))
            total = c.f.reduce([y], axes, type, 0, lambda s, a, t: s.add(t, a), True)
            return c.map([total, product(x.shape[lead:])], lambda s, a, n: s.div(a, n))
        for i in range(spatial):
            y = _averaged_axis(c, y, lead + i, c.shape[lead + i])
        return c.cast(y, c.type)


def _averaged_axis(c, x, axis, count):
    size = x.shape[axis]
    if size == count:
        return x
    if isinstance(size, int) and isinstance(count, int) and size % count == 0:
        split = c.f.view(x, (*x.shape[:axis], count, size // count, *x.shape[axis + 1:]))
        total = c.f.reduce([split], [axis + 1], x.type, 0, lambda s, a, t: s.add(t, a))
        return c.map([total], lambda s, a: s.div(a, float(size // count)), type=x.type, shape=total.shape, compute=x.type)
    loops = [f"d{i}" for i in range(x.rank + 1)]
    shape = (*x.shape[:axis], count, *x.shape[axis + 1:])
    in_map = [f"d{x.rank}" if i == axis else f"d{i}" for i in range(x.rank)]

    def body(s, a, t):
        start, end = _window(s, s.index(axis), size, count)
        at = s.index(x.rank)
        inside = s.binary("and", s.compare("ge", at, start), s.compare("lt", at, end))
        return s.add(t, s.select(inside, a, s.constant(0, a.type)))
    total = c.f.generic(x.rank + 1, [(x, in_map)], [(c.f.fill(shape, x.type, 0, x.order), loops[:-1])], body, {x.rank})

    def mean(s, a):
        start, end = _window(s, s.index(axis), size, count)
        return s.div(a, s.cast(s.sub(end, start), a.type))
    return c.map([total], mean, type=x.type, shape=shape, compute=x.type)


for _spatial in (2, 3):
    _adaptive_average(_spatial)
