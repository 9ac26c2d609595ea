"""Operations that move elements or look at them in another shape: views, slices, joins, borders."""

from ..emit.sizes import plain, product
from .context import memory_order
from .registry import op


@op("view", "_unsafe_view", "reshape", "_reshape_alias", "_reshape_copy", "view_copy")
def view(c, x, *_):
    return c.f.view(x, c.shape)


@op("view.dtype", "view_copy.dtype")
def view_dtype(c, x, dtype):
    from ..emit import types
    if types.BITS[c.type] != types.BITS[x.type] or "i1" in (c.type, x.type):
        c.refuse("a view in elements of another width is not compiled")
    return c.f.map([x], c.shape, c.type, lambda s, a: s.op(f"arith.bitcast {a.name} : {types.text(a.type)} to {types.text(c.type)}", c.type))


@op("unsqueeze", "squeeze", "squeeze.dim", "squeeze.dims", "flatten.using_ints", "unflatten.int", "unsqueeze_copy", "squeeze_copy", "squeeze_copy.dim",
    "squeeze_copy.dims")
def reshaped(c, x, *_):
    return c.f.view(x, c.shape)


@op("permute", "permute_copy")
def permute(c, x, order):
    return c.f.transpose(x, [c.axis(a, x.rank) for a in order])


@op("t", "t_copy", "numpy_T")
def transpose_all(c, x):
    return c.f.transpose(x, list(range(x.rank))[::-1])


@op("transpose.int", "transpose_copy.int", "movedim.int")
def transpose_two(c, x, first, second):
    order = list(range(x.rank))
    if order:
        first, second = c.axis(first, x.rank), c.axis(second, x.rank)
        order[first], order[second] = order[second], order[first]
    return c.f.transpose(x, order)


@op("expand", "expand_copy", "expand_as", "broadcast_to")
def expand(c, x, *_, **options):
    return c.broadcast(x, c.shape)


@op("repeat")
def repeat(c, x, counts):
    """Each dimension n repeated r times is (r, n) with r broadcast."""
    lead = len(counts) - x.rank
    sizes = [1] * lead + list(x.shape)
    pairs = [n for count, size in zip(counts, sizes) for n in (count, size)]
    spread = c.broadcast(c.f.view(x, [n for size in sizes for n in (1, size)]), tuple(pairs))
    return c.f.view(spread, c.shape)


# Slices


def clipped(bound, size):
    """A bound of a slice within 0 .. size; bounds and sizes may be expressions, which PyTorch has already clipped."""
    if isinstance(bound, int) and isinstance(size, int):
        return max(0, min(size, bound + size if bound < 0 else bound))
    if isinstance(bound, int) and bound < 0:
        return size + bound
    if isinstance(bound, int) and bound >= 2**62:
        return size
    return bound


def sliced(c, x, axis, start, step, length, shape):
    offsets, strides, sizes = [0] * x.rank, [1] * x.rank, list(x.shape)
    offsets[axis], strides[axis], sizes[axis] = start, step, length
    if sizes == list(x.shape) and step == 1 and start == 0:
        return x
    return c.f.slice(x, offsets, sizes, strides)


@op("slice.Tensor", "slice_copy.Tensor")
def slice_(c, x, axis=0, start=None, end=None, step=1):
    axis = c.axis(axis, x.rank)
    start = clipped(0 if start is None else start, x.shape[axis])
    return sliced(c, x, axis, start, step, c.shape[axis], c.shape)


@op("narrow", "narrow_copy")
def narrow(c, x, axis, start, length):
    axis = c.axis(axis, x.rank)
    return sliced(c, x, axis, clipped(start, x.shape[axis]), 1, length, c.shape)


@op("select.int", "select_copy.int")
def select(c, x, axis, position):
    axis = c.axis(axis, x.rank)
    position = clipped(position, x.shape[axis])
    offsets, sizes = [0] * x.rank, list(x.shape)
    offsets[axis], sizes[axis] = position, 1
    return c.f.slice(x, offsets, sizes, drop=[axis])


def pieces(c, x, axis, sizes):
    axis = c.axis(axis, x.rank)
    start, result = 0, []
    for size in sizes:
        offsets, box = [0] * x.rank, list(x.shape)
        offsets[axis], box[axis] = start, size
        result.append(c.f.slice(x, offsets, box))
        start = start + size
    return tuple(result)


@op("split_with_sizes", "split_with_sizes_copy")
def split_with_sizes(c, x, sizes, axis=0):
    return pieces(c, x, axis, sizes)


@op("split.Tensor", "split_copy.Tensor", "split.sizes", "chunk", "tensor_split.sections")
def split(c, x, _, axis=0):
    from .context import shape_of
    return pieces(c, x, axis, [shape_of(m)[c.axis(axis, x.rank)] for m in c.meta])


@op("unbind.int", "unbind_copy.int")
def unbind(c, x, axis=0):
    axis = c.axis(axis, x.rank)
    result = []
    for position in range(x.shape[axis]):
        offsets, sizes = [0] * x.rank, list(x.shape)
        offsets[axis], sizes[axis] = position, 1
        result.append(c.f.slice(x, offsets, sizes, drop=[axis]))
    return tuple(result)


@op("slice_scatter")
def slice_scatter(c, x, source, axis=0, start=None, end=None, step=1):
    axis = c.axis(axis, x.rank)
    offsets, strides = [0] * x.rank, [1] * x.rank
    offsets[axis], strides[axis] = clipped(0 if start is None else start, x.shape[axis]), step
    return c.f.insert(c.cast(source, x.type), x, offsets, strides)


@op("select_scatter")
def select_scatter(c, x, source, axis, position):
    axis = c.axis(axis, x.rank)
    offsets, sizes = [0] * x.rank, list(x.shape)
    offsets[axis], sizes[axis] = clipped(position, x.shape[axis]), 1
    return c.f.insert(c.cast(source, x.type), x, offsets, sizes=sizes)


@op("diagonal", "diagonal_copy")
def diagonal(c, x, offset=0, first=0, second=1):
    first, second = c.axis(first, x.rank), c.axis(second, x.rank)
    kept = [i for i in range(x.rank) if i not in (first, second)]
    rows, columns = max(-offset, 0), max(offset, 0)
    last = len(kept)
    access = [None] * x.rank
    for loop, i in enumerate(kept):
        access[i] = f"d{loop}"
    access[first] = access[second] = f"d{last}"
    offsets, box = [0] * x.rank, list(x.shape)
    offsets[first], offsets[second] = rows, columns
    box[first] = box[second] = c.shape[-1]
    x = c.f.slice(x, offsets, box)
    return c.f.generic(last + 1, [(x, access)], [(c.f.empty(c.shape, c.type), [f"d{i}" for i in range(last + 1)])], lambda s, a, _: a)


@op("diagonal_scatter")
def diagonal_scatter(c, x, source, offset=0, first=0, second=1):
    first, second = c.axis(first, x.rank), c.axis(second, x.rank)
    kept = [i for i in range(x.rank) if i not in (first, second)]
    if 0 in source.shape:
        return x

    def body(s, a):
        along = s.sub(s.index(first), max(-offset, 0))
        inside = s.compare("eq", s.sub(s.index(second), s.index(first)), offset)
        clamped = s.max(s.min(along, s.sub(s.size(source.shape[-1]), 1)), 0)
        return s.select(inside, s.cast(s.extract(source, [*(s.index(i) for i in kept), clamped]), x.type), a)
    return c.f.map([x], c.shape, c.type, body)


@op("unfold", "unfold_copy")
def unfold(c, x, axis, size, step):
    if x.rank == 0:
        return c.f.view(x, c.shape)
    axis = c.axis(axis, x.rank)
    access = [f"d{i}" for i in range(x.rank)]
    access[axis] = f"d{axis} * {step} + d{x.rank}"
    return moved(c, x, access)


def moved(c, x, access):
    """The result whose element at (d0, d1, ...) is that of `x` at `access`."""
    rank = len(c.shape)
    return c.f.generic(rank, [(x, access)], [(c.f.empty(c.shape, c.type), [f"d{i}" for i in range(rank)])], lambda s, a, _: a)


@op("flip")
def flip(c, x, axes):
    """Reversed dimensions are access maps `n - 1 - d`; where n is dynamic, an index is computed."""
    axes = [c.axis(a, x.rank) for a in axes]
    if not axes or x.rank == 0 or 0 in x.shape:
        return x
    if all(isinstance(x.shape[a], int) for a in axes):
        return moved(c, x, [f"{x.shape[i] - 1} - d{i}" if i in axes else f"d{i}" for i in range(x.rank)])

    def body(s):
        indices = [s.sub(s.sub(s.size(x.shape[i]), 1), s.index(i)) if i in axes else s.index(i) for i in range(x.rank)]
        return s.extract(x, indices)
    return c.f.map([], c.shape, c.type, body)


def _rolled(c, x, axis, shift):
    """A roll by, or along, what is dynamic: reads at (i - shift) mod n."""
    def body(s):
        at = [s.index(i) for i in range(x.rank)]
        n = s.size(x.shape[axis])
        position = s.binary("rem", s.sub(at[axis], s.size(shift)), n)
        at[axis] = s.select(s.compare("lt", position, 0), s.add(position, n), position)
        return s.extract(x, at)
    return c.f.map([], x.shape, x.type, body)


@op("roll")
def roll(c, x, shifts, axes=()):
    shifts = shifts if isinstance(shifts, (list, tuple)) else [shifts]
    axes = axes if isinstance(axes, (list, tuple)) else [axes]
    shape = x.shape
    if 0 in shape:
        return x
    if not axes:
        x, axes = c.f.view(x, (product(shape),)), [0]
    for shift, axis in zip(shifts, axes, strict=True):
        axis = c.axis(axis, x.rank)
        size = x.shape[axis]
        if not isinstance(size, int) or not isinstance(shift, int):
            x = _rolled(c, x, axis, shift)
            continue
        shift %= size
        if shift:
            back, front = pieces(c, x, axis, [size - shift, shift])
            x = c.f.concat([front, back], axis, x.shape)
    return c.f.view(x, shape)


@op("as_strided", "as_strided_copy")
def as_strided(c, x, sizes, strides, offset=None):
    """Elements by their position in memory, where `x` lies dense, its dimensions in any order; any tensor as it is, such as a mean of
    channels that lie last, where strides differ in dimensions of one element alone."""
    source = c.node.args[0].meta["val"]
    known = [plain(n) for n in source.stride()]
    if tuple(sizes) == x.shape and offset in (None, plain(source.storage_offset())) and \
            all(n == 1 or stride == own for n, stride, own in zip(sizes, strides, known)):
        return x
    order = memory_order(source)
    if order is None or not all(isinstance(n, int) for n in (*x.shape, *c.shape, *strides, offset or 0)):
        c.refuse("as_strided of a tensor that has gaps in memory, or with dynamic sizes, is not compiled")
    offset = (source.storage_offset() if offset is None else offset) - int(source.storage_offset())
    reach = 1 + sum((n - 1) * stride for n, stride in zip(sizes, strides))
    if 0 in c.shape:
        return c.f.empty(c.shape, c.type)
    if offset < 0 or offset + reach > product(x.shape):
        c.refuse("as_strided that reads outside of the elements of its tensor is not compiled")
    flat = c.f.slice(c.f.view(c.f.arranged(x, order), (product(x.shape),)), [offset], [reach])
    return moved(c, flat, [" + ".join(f"d{i} * {stride}" for i, stride in enumerate(strides)) or "0"])


@op("as_strided_scatter", "prims::as_strided_scatter")
def as_strided_scatter(c, x, source, sizes, strides, offset=None):
    """`x` with the elements of `source` at their positions in memory: each position is taken apart into the indices of `source`, by its
    largest stride first."""
    known = c.node.args[0].meta["val"]
    order = memory_order(known)
    if order is None or not all(isinstance(n, int) for n in (*x.shape, *source.shape, *strides, offset or 0)):
        c.refuse("as_strided_scatter into a tensor that has gaps in memory, or with dynamic sizes, is not compiled")
    offset = (known.storage_offset() if offset is None else offset) - int(known.storage_offset())
    if 0 in source.shape:
        return x
    count, by_stride, reach = product(x.shape), sorted((d for d in range(source.rank) if sizes[d] != 1), key=lambda d: -strides[d]), 1
    for d in reversed(by_stride):
        if strides[d] < reach:
            c.refuse("as_strided_scatter of elements that share a position is not compiled")
        reach += (sizes[d] - 1) * strides[d]
    if offset < 0 or offset + reach > count:
        c.refuse("as_strided_scatter outside of the elements of its tensor is not compiled")

    def body(s, old):
        left = s.sub(s.index(0), offset)
        inside, at = s.compare("ge", left, 0), [0] * source.rank
        left = s.max(left, 0)
        for d in by_stride:
            at[d] = s.div(left, strides[d])
            left = s.sub(left, s.mul(at[d], strides[d]))
            inside = s.binary("and", inside, s.compare("lt", at[d], sizes[d]))
            at[d] = s.min(at[d], sizes[d] - 1)
        return s.select(s.binary("and", inside, s.compare("eq", left, 0)), s.extract(source, at), old)
    flat = c.f.map([c.f.view(c.f.arranged(x, order), (count,))], (count,), c.type, body)
    return c.f.ordered(c.f.view(flat, [x.shape[i] for i in order]), order)


# Joins and borders


@op("cat")
def cat(c, tensors, axis=0):
    tensors = [c.cast(t, c.type) for t in tensors]
    rank = len(c.shape)
    tensors = [t for t in tensors if not (t.rank == 1 and t.shape == (0,) and rank != 1)]
    tensors = [t for t in tensors if 0 not in t.shape]
    if len(tensors) == 1:
        return tensors[0]
    return c.f.concat(tensors, c.axis(axis, rank), c.shape)


@op("stack")
def stack(c, tensors, axis=0):
    axis = c.axis(axis, len(c.shape))
    widened = [c.f.view(c.cast(t, c.type), c.shape[:axis] + (1,) + c.shape[axis + 1:]) for t in tensors]
    return c.f.concat(widened, axis, c.shape) if len(widened) > 1 else widened[0]


@op("constant_pad_nd")
def constant_pad_nd(c, x, pads, value=0):
    """Pairs from the last dimension to the first; negative ones cut."""
    low, high = [0] * x.rank, [0] * x.rank
    for i in range(len(pads) // 2):
        low[x.rank - 1 - i], high[x.rank - 1 - i] = pads[2 * i], pads[2 * i + 1]
    if any(isinstance(n, int) and n < 0 for n in (*low, *high)):
        cut_low = [max(-n, 0) if isinstance(n, int) else 0 for n in low]
        cut_high = [max(-n, 0) if isinstance(n, int) else 0 for n in high]
        x = c.f.slice(x, cut_low, [n - a - b for n, a, b in zip(x.shape, cut_low, cut_high)])
        low = [max(n, 0) if isinstance(n, int) else n for n in low]
        high = [max(n, 0) if isinstance(n, int) else n for n in high]
    if 0 in x.shape:
        return c.f.fill(c.shape, c.type, value)
    return c.f.pad(x, low, high, c.shape, value)


def _bordered(c, x, pads, source):
    """Borders whose elements are those at `source(s, i, n)` for the position i counted from the first inner element."""
    low = {x.rank - 1 - i: pads[2 * i] for i in range(len(pads) // 2)}

    def body(s):
        indices = []
        for i in range(x.rank):
            position = s.index(i)
            if i in low:
                position = source(s, s.sub(position, low[i]), s.size(x.shape[i]))
            indices.append(position)
        return s.extract(x, indices)
    return c.f.map([], c.shape, c.type, body)


@op("reflection_pad1d", "reflection_pad2d", "reflection_pad3d")
def reflection_pad(c, x, pads):
    def source(s, i, n):
        i = s.max(i, s.neg(i))
        beyond = s.sub(s.mul(s.sub(n, 1), 2), i)
        return s.min(i, beyond)
    return _bordered(c, x, pads, source)


@op("replication_pad1d", "replication_pad2d", "replication_pad3d")
def replication_pad(c, x, pads):
    return _bordered(c, x, pads, lambda s, i, n: s.min(s.max(i, 0), s.sub(n, 1)))


@op("pixel_shuffle")
def pixel_shuffle(c, x, factor):
    *lead, channels, height, width = x.shape
    split = c.f.view(x, (*lead, channels // (factor * factor), factor, factor, height, width))
    n = len(lead)
    order = [*range(n), n, n + 3, n + 1, n + 4, n + 2]
    return c.f.view(c.f.transpose(split, order), c.shape)


@op("pixel_unshuffle")
def pixel_unshuffle(c, x, factor):
    *lead, channels, height, width = x.shape
    split = c.f.view(x, (*lead, channels, height // factor, factor, width // factor, factor))
    n = len(lead)
    return c.f.view(c.f.transpose(split, [*range(n), n, n + 2, n + 4, n + 1, n + 3]), c.shape)


@op("channel_shuffle")
def channel_shuffle(c, x, groups):
    split = c.f.view(x, (x.shape[0], groups, x.shape[1] // groups, *x.shape[2:]))
    return c.f.view(c.f.transpose(split, [0, 2, 1, *range(3, split.rank)]), c.shape)


