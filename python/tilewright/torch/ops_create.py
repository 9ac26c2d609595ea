"""Tensors made of nothing: filled ones, ranges, triangles."""

from ..emit import types
from .registry import op


@op("full", "full_like", "new_full")
def full(c, *arguments, **options):
    value = arguments[2] if "new_full" in str(c.node.target) else arguments[1]
    if not isinstance(value, (int, float)):
        return c.map([value], lambda s, a: a)
    return c.f.fill(c.shape, c.type, value)


@op("scalar_tensor")
def scalar_tensor(c, value, **options):
    if not isinstance(value, (int, float)):
        return c.map([value], lambda s, a: a)
    return c.f.fill((), c.type, value)


@op("zeros", "zeros_like", "new_zeros", "empty.memory_format", "empty_like", "new_empty", "empty_permuted", "empty_strided",
    "new_empty_strided")
def zeros(c, *arguments, **options):
    """What has no defined content is zero."""
    return c.f.fill(c.shape, c.type, 0)


@op("ones", "ones_like", "new_ones")
def ones(c, *arguments, **options):
    return c.f.fill(c.shape, c.type, 1)


@op("arange.start_step", "arange.start", "arange")
def arange(c, *bounds, **options):
    start, end, step = (0, bounds[0], 1) if len(bounds) == 1 else (*bounds, 1)[:3]
    compute = "i64" if not types.is_float(c.type) else "f64" if c.type == "f64" else "f32"
    return _affine_range(c, start, step, compute)


@op("prims::iota")
def iota(c, length, *, start, step, dtype, device, requires_grad):
    return _affine_range(c, start, step, "i64")


def _affine_range(c, start, step, compute):
    def scalar(s, value):
        return s.constant(value, compute) if isinstance(value, (int, float)) else s.cast(s.size(value, "i64"), compute)

    def body(s):
        position = s.cast(s.index(0), compute)
        moved = position if step == 1 else s.mul(position, scalar(s, step))
        return s.cast(moved if start == 0 else s.add(scalar(s, start), moved), c.type)
    result = c.f.map([], c.shape, c.type, body)
    if c.type == "i64" and all(isinstance(v, int) for v in (start, step, *c.shape)) and 0 not in c.shape:
        ends = start, start + step * (c.shape[0] - 1)
        c.f.bounds[result.name] = min(ends), max(ends)
    return result


@op("linspace")
def linspace(c, start, end, steps, **options):
    """From both ends towards the middle, as eager does."""
    if not all(isinstance(v, (int, float)) for v in (start, end, steps)):
        c.refuse("a linspace whose bounds are tensors is not compiled")
    compute = "f64" if c.type in ("f64", "i64") else "f32"
    step = (float(end) - float(start)) / max(steps - 1, 1)

    def body(s):
        i = s.index(0)
        front = s.add(s.mul(s.cast(i, compute), step), float(start))
        back = s.sub(float(end), s.mul(s.cast(s.sub(steps - 1, i), compute), step))
        return s.cast(s.select(s.compare("lt", i, max(steps // 2, 1)), front, back), c.type)
    return c.f.map([], c.shape, c.type, body)


@op("eye", "eye.m")
def eye(c, *sizes, **options):
    return c.f.map([], c.shape, c.type, lambda s: s.cast(s.compare("eq", s.index(0), s.index(1)), c.type))


def _triangle(name, test):
    @op(name)
    def emit(c, x, diagonal=0):
        rank = len(c.shape)

        def body(s, a):
            inside = s.compare(test, s.sub(s.index(rank - 1), s.index(rank - 2)), diagonal)
            return s.select(inside, a, s.constant(0, a.type))
        return c.f.map([x], c.shape, c.type, body)


#: Longer lists of positions would be as many constants in the text.
MOST_POSITIONS = 1 << 14


def _triangle_positions(name, inside):
    @op(f"{name}_indices")
    def emit(c, rows, columns, offset=0, **options):
        if not isinstance(rows, int) or not isinstance(columns, int) or c.shape[1] > MOST_POSITIONS:
            c.refuse(f"{name}_indices of dynamic sizes, or of more than {MOST_POSITIONS} positions, are not compiled")
        pairs = [(i, j) for i in range(rows) for j in range(columns) if inside(j - i, offset)]
        return c.f.dense([[i for i, _ in pairs], [j for _, j in pairs]], c.shape, c.type)


_triangle_positions("tril", lambda distance, offset: distance <= offset)
_triangle_positions("triu", lambda distance, offset: distance >= offset)
_triangle("tril", "le")
_triangle("triu", "ge")
