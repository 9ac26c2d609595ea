"""Resampling: nearest, linear, cubic; grids."""

from ..emit import types
from .registry import op


def scale_of(c, size, out, given, align_corners=False):
    """Positions of the input for a step of the output."""
    if align_corners:
        return (size - 1) / (out - 1) if out > 1 else 0.0
    return 1.0 / given if given else size / out


def static_sizes(c, x, spatial):
    sizes, outputs = x.shape[-spatial:], c.shape[-spatial:]
    if not all(isinstance(n, int) for n in (*sizes, *outputs)):
        c.refuse("resampling of dynamic positions is not compiled")
    return sizes, outputs


def _nearest(spatial, exact):
    name = f"{'_' if exact else ''}upsample_nearest{'-exact' if exact else ''}{spatial}d".replace("-", "_")

    @op(name, f"{name}.vec")
    def emit(c, x, output_size, *scales):
        sizes, outputs = static_sizes(c, x, spatial)
        factors = _factors(c, scales, spatial)
        if 0 in c.shape:
            return c.f.empty(c.shape, c.type)

        def body(s):
            at = [s.index(i) for i in range(x.rank)]
            for i, (n, o, factor) in enumerate(zip(sizes, outputs, factors)):
                position = s.cast(at[x.rank - spatial + i], "f32")
                if exact:
                    position = s.add(position, 0.5)
                position = s.cast(s.math("floor", s.mul(position, scale_of(c, n, o, factor))), "i64")
                at[x.rank - spatial + i] = s.min(position, n - 1)
            return s.extract(x, at)
        if all(o % n == 0 for n, o in zip(sizes, outputs)) and not any(factors):
            return whole_factors(c, x, spatial, [o // n for n, o in zip(sizes, outputs)])
        return c.f.map([], c.shape, c.type, body, x.order)


def whole_factors(c, x, spatial, factors):
    """Each position repeated: a broadcast between two changes of shape."""
    lead = x.rank - spatial
    narrow, wide = list(x.shape[:lead]), list(x.shape[:lead])
    for n, factor in zip(x.shape[lead:], factors):
        narrow += [n, 1]
        wide += [n, factor]
    return c.f.view(c.broadcast(c.f.view(x, narrow), tuple(wide)), c.shape)


def _factors(c, scales, spatial):
    if len(scales) == 1 and (scales[0] is None or isinstance(scales[0], (list, tuple))):  # overload vec
        return list(scales[0]) if scales[0] else [None] * spatial
    return (list(scales) + [None] * spatial)[:spatial]


for _spatial in (1, 2, 3):
    _nearest(_spatial, False)
    _nearest(_spatial, True)


def source_position(s, i, scale, align_corners, compute, clamp=True):
    """The position of the input under output i, as a float."""
    i = s.cast(i, compute)
    if align_corners:
        return s.mul(i, scale)
    position = s.sub(s.mul(s.add(i, 0.5), scale), 0.5)
    return s.max(position, 0) if clamp else position


def _linear(name, spatial):
    @op(name, f"{name}.vec")
    def emit(c, x, output_size, align_corners, *scales):
        """One dimension after the other: elements at the positions before and after, weighted by their distances."""
        sizes, outputs = static_sizes(c, x, spatial)
        factors = _factors(c, scales, spatial)
        if 0 in c.shape:
            return c.f.empty(c.shape, c.type)
        compute = types.compute(c.type)
        y = c.cast(x, compute)
        for i in range(spatial):
            scale = scale_of(c, sizes[i], outputs[i], factors[i], align_corners)
            y = interpolated(c, y, x.rank - spatial + i, outputs[i], scale, align_corners)
        return c.cast(y, c.type)


def interpolated(c, x, axis, count, scale, align_corners):
    size = x.shape[axis]
    shape = (*x.shape[:axis], count, *x.shape[axis + 1:])

    def body(s):
        at = [s.index(i) for i in range(x.rank)]
        position = source_position(s, at[axis], scale, align_corners, x.type)
        first = s.min(s.cast(s.math("floor", position), "i64"), size - 1)
        second = s.min(s.add(first, 1), size - 1)
        weight = s.min(s.max(s.sub(position, s.cast(first, x.type)), 0), 1)
        near, far = list(at), list(at)
        near[axis], far[axis] = first, second
        return s.add(s.mul(s.extract(x, near), s.sub(1, weight)), s.mul(s.extract(x, far), weight))
    return c.f.map([], shape, x.type, body, x.order)


for _name, _spatial in (("upsample_linear1d", 1), ("upsample_bilinear2d", 2), ("upsample_trilinear3d", 3)):
    _linear(_name, _spatial)


@op("upsample_bicubic2d", "upsample_bicubic2d.vec")
def bicubic(c, x, output_size, align_corners, *scales):
    """Keys' kernel with a = -3/4, one dimension after the other; positions outside are those of the border."""
    sizes, outputs = static_sizes(c, x, 2)
    factors = _factors(c, scales, 2)
    y = c.cast(x, types.compute(c.type))
    for i in range(2):
        scale = scale_of(c, sizes[i], outputs[i], factors[i], align_corners)
        y = _cubic_axis(c, y, x.rank - 2 + i, outputs[i], scale, align_corners)
    return c.cast(y, c.type)


def _cubic_axis(c, x, axis, count, scale, align_corners):
    size, a = x.shape[axis], -0.75
    shape = (*x.shape[:axis], count, *x.shape[axis + 1:])

    def inner(s, t):  # distances up to 1
        return s.add(s.mul(s.mul(s.sub(s.mul(t, a + 2), a + 3), t), t), 1)

    def outer(s, t):  # distances from 1 to 2
        return s.sub(s.mul(s.add(s.mul(s.sub(s.mul(t, a), 5 * a), t), 8 * a), t), 4 * a)

    def body(s):
        at = [s.index(i) for i in range(x.rank)]
        position = source_position(s, at[axis], scale, align_corners, x.type, clamp=False)
        floor = s.math("floor", position)
        t = s.sub(position, floor)
        first = s.cast(floor, "i64")
        weights = [outer(s, s.add(t, 1)), inner(s, t), inner(s, s.sub(1, t)), outer(s, s.sub(2, t))]
        total = None
        for offset, weight in zip((-1, 0, 1, 2), weights):
            place = list(at)
            place[axis] = s.min(s.max(s.add(first, offset), 0), size - 1)
            term = s.mul(s.extract(x, place), weight)
            total = term if total is None else s.add(total, term)
        return total
    return c.f.map([], shape, x.type, body, x.order)
