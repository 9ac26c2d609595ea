"""Operations that move elements or look at them in another shape: views, slices, joins, borders, ranges, triangles."""

import numpy as np

from ..emit.sizes import plain, product
from ..emit.value import Value
from .reader import broadcast
from .registry import op
from .values import Constant, of_array, of_sizes
from onnx import numpy_helper


def quotient(a, b):
    """An exact quotient of sizes."""
    if isinstance(a, int) and isinstance(b, int):
        return a // b
    import sympy
    return plain(sympy.cancel(sympy.sympify(a) / b))


def rounded_down(a, b):
    if isinstance(a, int) and isinstance(b, int):
        return a // b
    from ..emit.forms import FloorDiv
    import sympy
    return plain(FloorDiv(sympy.sympify(a), sympy.sympify(b)))


def total(*sizes):
    made = sum(sizes)
    return made if isinstance(made, int) else plain(made)


@op("Reshape", static=(1,))
def reshape(c, x, shape):
    sizes = c.sizes(1)
    if not c.attribute("allowzero", 0):
        sizes = [x.shape[i] if n == 0 else n for i, n in enumerate(sizes)]
    if -1 in sizes:
        rest = product([n for n in sizes if n != -1])
        count = product(x.shape)
        sizes[sizes.index(-1)] = quotient(count, rest) if rest != 0 else 0
    if all(isinstance(n, int) for n in (*sizes, *x.shape)) and product(sizes) != product(x.shape):
        c.refuse(f"{list(x.shape)} has {product(x.shape)} elements and {sizes} has {product(sizes)}")
    if product(sizes) != product(x.shape) and 0 not in sizes:  # a dynamic size that the target determines
        x = c.f.cast_shape(c.f.view(x, (product(x.shape),)), (product(sizes),))
    return c.f.view(x, sizes)


@op("Flatten")
def flatten(c, x):
    axis = c.attribute("axis", 1)
    axis = axis + x.rank if axis < 0 else axis
    return c.f.view(x, (product(x.shape[:axis]), product(x.shape[axis:])))


def axes_of(c, number, rank, default=None):
    """Axes from an input, or, in older versions, from the attribute."""
    axes = c.sizes(number) if c.held(number) is not None else c.attribute("axes", default)
    return None if axes is None else [int(a) + rank if a < 0 else int(a) for a in axes]


@op("Squeeze", static=(1,))
def squeeze(c, x, axes=None):
    axes = axes_of(c, 1, x.rank)
    gone = [i for i, n in enumerate(x.shape) if n == 1] if axes is None else axes
    return c.f.view(x, [n for i, n in enumerate(x.shape) if i not in gone])


@op("Unsqueeze", static=(1,))
def unsqueeze(c, x, axes=None):
    count = len(c.sizes(1) if c.held(1) is not None else c.attribute("axes"))
    new = axes_of(c, 1, x.rank + count)
    rest = iter(x.shape)
    return c.f.view(x, [1 if i in new else next(rest) for i in range(x.rank + count)])


@op("Transpose")
def transpose(c, x):
    return c.f.transpose(x, c.attribute("perm", list(reversed(range(x.rank)))))


@op("Expand", static=(1,))
def expand(c, x, shape):
    target = broadcast(c, [x.shape, tuple(c.sizes(1))])
    return c.broadcast(x, target) if 0 not in target else c.f.empty(target, x.type)


@op("Tile", static=(1,))
def tile(c, x, repeats):
    counts = c.sizes(1)
    shape = [plain(n * k) if not isinstance(n * k, int) else n * k for n, k in zip(x.shape, counts)]
    if 0 in shape:
        return c.f.empty(shape, x.type)
    wide = tuple(n for size, count in zip(x.shape, counts) for n in (count, size))
    spread = c.broadcast(c.f.view(x, [n for size in x.shape for n in (1, size)]), wide)
    return c.f.view(spread, shape)


@op("Concat")
def concat(c, *inputs):
    rank = inputs[0].rank
    axis = c.axis(c.attribute("axis"), rank)
    shape = [
        total(*(v.shape[i] for v in inputs)) if i == axis else max((v.shape[i]
                                                                    for v in inputs), key=lambda n: isinstance(n, int))
        for i in range(rank)
    ]
    filled = [v for v in inputs if 0 not in v.shape]
    if not filled:
        return c.f.empty(shape, inputs[0].type)
    for i in range(rank):
        if i != axis:
            agree(c, [v.shape[i] for v in filled])
    return filled[0] if len(filled) == 1 else c.f.concat(filled, axis, shape)


def agree(c, sizes):
    """Refuses, in the call, sizes that have to be equal and are not."""
    first, *rest = dict.fromkeys(sizes)
    for other in rest:
        same = c.f.op(f"arith.cmpi eq, {c.f.index(first)}, {c.f.index(other)} : index")
        c.f.line(f'cf.assert {same}, "sizes disagree"')


def bounds(c, start, end, step, size):
    """(first, count) of a slice of `size` positions, clipped as numpy does."""
    if isinstance(start, int) and isinstance(end, int) and isinstance(size, int):
        positions = range(size)[slice(start, None if step < 0 and end < -size else end, step)]
        return positions.start, len(positions), positions.step
    huge = 1 << 30
    if step == 1:
        if any(isinstance(n, int) and -huge < n < -1 for n in (start, end)):  # the size may be smaller
            c.refuse("a slice at a constant distance from the end of a dynamic size is not compiled for all sizes")
        first = 0 if isinstance(
            start, int) and start <= -huge else start if not isinstance(start, int) or start >= 0 else size + start
        last = size if isinstance(end,
                                  int) and end >= huge else end if not isinstance(end, int) or end >= 0 else size + end
        if isinstance(first, int) and isinstance(last, int) and not isinstance(size, int):
            c.refuse("a slice up to a constant position of a dynamic size is not compiled for all sizes"
                     )  # the size may be smaller
        return first, total(last, -first), 1
    if step == -1 and isinstance(start, int) and isinstance(
            end, int) and start in (-1, huge) or start >= huge and end <= -huge:
        return total(size, -1), size, -1
    if isinstance(start, int) and start >= 0 and isinstance(end, int) and end >= huge and step > 0:
        from ..emit.forms import CeilDiv
        return start, plain(CeilDiv(size - start, step)), step
    return c.refuse(f"a slice [{start}:{end}:{step}] of the dynamic size {size} is not compiled for all sizes")


@op("Slice", static=(1, 2, 3, 4))
def slice_(c, x, starts=None, ends=None, axes=None, steps=None):
    starts = c.sizes(1) if starts is not None else c.attribute("starts")
    ends = c.sizes(2) if ends is not None else c.attribute("ends")
    axes = axes_of(c, 3, x.rank, list(range(len(starts))))
    steps = c.sizes(4) if steps is not None else [1] * len(starts)
    offsets, sizes, strides = [0] * x.rank, list(x.shape), [1] * x.rank
    for axis, start, end, step in zip(axes, starts, ends, steps):
        offsets[axis], sizes[axis], strides[axis] = bounds(c, start, end, step, x.shape[axis])
    if sizes == list(x.shape) and all(s == 1 for s in strides):
        return x
    if 0 in sizes or 0 in x.shape:
        return c.f.empty(sizes, x.type)
    return strided(c, x, offsets, sizes, strides)


def strided(c, x, offsets, sizes, strides):
    """Elements at offset + i * stride; strides may be negative."""
    if all(s > 0 for s in strides):
        return c.f.slice(x, offsets, sizes, strides)

    def body(s):
        return s.extract(x, [
            s.add(s.mul(s.index(i), stride), s.size(offset)) for i, (offset, stride) in enumerate(zip(offsets, strides))
        ])
    return c.f.map([], tuple(sizes), x.type, body)


def part(c, x, axis, start, count):
    offsets, sizes = [0] * x.rank, list(x.shape)
    offsets[axis], sizes[axis] = start, count
    return x if sizes == list(x.shape) else c.f.slice(x, offsets, sizes)


@op("Split", static=(1,))
def split(c, x, sizes=None):
    axis = c.axis(c.attribute("axis", 0), x.rank)
    sizes = c.sizes(1) if sizes is not None else c.attribute("split")
    if sizes is None:
        count, n = c.attribute("num_outputs", c.outputs), x.shape[axis]
        if isinstance(n, int):
            each = -(-n // count)
            sizes = [max(min(each, n - i * each), 0) for i in range(count)]
        else:
            sizes = [quotient(n, count)] * count
    starts = [total(*sizes[:i]) if i else 0 for i in range(len(sizes))]
    return tuple(part(c, x, axis, start, n) for start, n in zip(starts, sizes))


@op("Pad", static=(1, 3), raw=False)
def pad(c, x, pads=None, value=None, axes=None):
    """Constant borders, or those of what a mode says; negative ones cut."""
    pads = c.sizes(1) if pads is not None else c.attribute("pads")
    axes = axes_of(c, 3, x.rank, list(range(x.rank)))
    mode = c.attribute("mode", "constant")
    low, high = [0] * x.rank, [0] * x.rank
    for i, axis in enumerate(axes):
        low[axis], high[axis] = pads[i], pads[len(axes) + i]
    fill = 0
    if mode == "constant":
        held = c.held(2)
        fill = c.attribute("value", 0.0) if c.version < 11 else 0 if held is None else held
    return bordered(c, x, low, high, mode, fill)


def bordered(c, x, low, high, mode, fill=0):
    cut = [(max(-a, 0) if isinstance(a, int) else 0, max(-b, 0) if isinstance(b, int) else 0)
           for a, b in zip(low, high)]
    if any(a or b for a, b in cut):
        x = c.f.slice(x, [a for a, _ in cut], [total(n, -a, -b) for n, (a, b) in zip(x.shape, cut)])
    low, high = ([max(n, 0) if isinstance(n, int) else n for n in side] for side in (low, high))
    shape = tuple(total(n, a, b) for n, a, b in zip(x.shape, low, high))
    if mode == "constant":
        if isinstance(fill, Constant) and fill.splat() is not None:
            fill = fill.splat()
        elif isinstance(fill, (Constant, Value)):
            from ..emit.scalars import Scalars
            fill = Scalars(c.f).extract(c.tensor(fill), [0] * c.tensor(fill).rank)
        if 0 in x.shape:
            return c.f.fill(shape, x.type, fill)
        return c.f.pad(x, low, high, shape, fill)

    def source(s, i, n):
        if mode == "edge":
            return s.min(s.max(i, 0), s.sub(n, 1))
        if mode == "wrap":
            i = s.binary("rem", i, n)
            return s.select(s.compare("lt", i, 0), s.add(i, n), i)
        period = s.max(s.mul(s.sub(n, 1), 2), 1)  # reflections repeat where borders are wider than the tensor
        i = s.binary("rem", s.max(i, s.neg(i)), period)
        return s.min(i, s.sub(period, i))

    def body(s):
        at = []
        for i, n in enumerate(x.shape):
            position = s.index(i)
            if low[i] != 0 or high[i] != 0:
                position = source(s, s.sub(position, s.size(low[i])), s.size(n))
            at.append(position)
        return s.extract(x, at)
    if mode not in ("edge", "wrap", "reflect"):
        c.refuse(f"the mode '{mode}' is not known")
    return c.f.map([], shape, x.type, body)


@op("DepthToSpace")
def depth_to_space(c, x):
    b = c.attribute("blocksize")
    n, channels, height, width = x.shape
    if c.attribute("mode", "DCR") == "DCR":
        split, order = (n, b, b, quotient(channels, b * b), height, width), [0, 3, 4, 1, 5, 2]
    else:
        split, order = (n, quotient(channels, b * b), b, b, height, width), [0, 1, 4, 2, 5, 3]
    return c.f.view(c.f.transpose(c.f.view(x, split), order), (n, quotient(channels, b * b), height * b, width * b))


@op("SpaceToDepth")
def space_to_depth(c, x):
    b = c.attribute("blocksize")
    n, channels, height, width = x.shape
    split = c.f.view(x, (n, channels, quotient(height, b), b, quotient(width, b), b))
    if c.attribute("mode", "DCR") == "DCR":
        moved = c.f.transpose(split, [0, 3, 5, 1, 2, 4])
    else:
        moved = c.f.transpose(split, [0, 1, 3, 5, 2, 4])
    return c.f.view(moved, (n, channels * b * b, quotient(height, b), quotient(width, b)))


@op("Trilu", static=(1,))
def trilu(c, x, k=None):
    k = 0 if k is None else int(k.reshape(-1)[0])
    test = "ge" if c.attribute("upper", 1) else "le"
    if 0 in x.shape:
        return x

    def body(s, a):
        inside = s.compare(test, s.sub(s.index(x.rank - 1), s.index(x.rank - 2)), k)
        return s.select(inside, a, s.constant(0, a.type))
    return c.f.map([x], x.shape, x.type, body)


@op("EyeLike")
def eye_like(c, x):
    from .values import element_type
    type = element_type(c.attribute("dtype")) if c.has("dtype") else x.type
    k = c.attribute("k", 0)
    return c.f.map([], x.shape, type, lambda s: s.cast(s.compare("eq", s.sub(s.index(1), s.index(0)), k), type))


@op("ConstantOfShape", static=(0,))
def constant_of_shape(c, shape):
    value = of_array(numpy_helper.to_array(c.attribute("value")) if c.has("value") else np.zeros(1, np.float32))
    return c.f.fill(tuple(c.sizes(0)), value.type, value.splat())


@op("Range", static=(0, 1, 2))
def range_(c, start, limit, delta):
    import math
    type = c.held(0).type
    start, limit, delta = (v.reshape(-1).tolist()[0] for v in (start, limit, delta))
    if all(isinstance(v, (int, float)) for v in (start, limit, delta)):
        count = max(0, math.ceil((limit - start) / delta))
    elif delta == 1:
        count = total(limit, -start)
    else:
        from ..emit.forms import CeilDiv
        count = plain(CeilDiv(limit - start, delta))
    wide = "f32" if type in ("f16", "bf16") else type

    def number(s, value):
        return s.constant(value, wide) if isinstance(value, (int, float)) else s.size(value, wide)

    return c.f.map([], (count, ), type,
                   lambda s: s.cast(s.add(number(s, start), s.mul(s.cast(s.index(0), wide), number(s, delta))), type))


@op("OneHot", static=(1,), raw=False)
def one_hot(c, indices, depth, values):
    axis, depth = c.attribute("axis", -1), int(depth.reshape(-1)[0])
    axis = axis + indices.rank + 1 if axis < 0 else axis
    shape = (*indices.shape[:axis], depth, *indices.shape[axis:])
    wide = c.f.view(indices, (*indices.shape[:axis], 1, *indices.shape[axis:]))

    def body(s, i):
        i = s.cast(i, "i64")
        i = s.select(s.compare("lt", i, 0), s.add(i, depth), i)
        return s.extract(values, [s.cast(s.compare("eq", i, s.index(axis)), "i64")])
    return c.f.map([wide], shape, values.type, body)


@op("ReverseSequence")
def reverse_sequence(c, x, lengths):
    time, batch = c.attribute("time_axis", 0), c.attribute("batch_axis", 1)
    held = c.f.view(lengths, [lengths.shape[0] if i == batch else 1 for i in range(x.rank)])

    def body(s, n):
        at = [s.index(i) for i in range(x.rank)]
        n = s.cast(n, "i64")
        at[time] = s.select(s.compare("lt", at[time], n), s.sub(s.sub(n, 1), at[time]), at[time])
        return s.extract(x, at)
    return c.f.map([held], x.shape, x.type, body)


# Optional values are values, or None


@op("OptionalHasElement", raw=True)
def optional_has_element(c, x=None):
    return Constant(np.array(x is not None), "i1")


@op("OptionalGetElement", "Optional", raw=True)
def optional_get_element(c, x=None):
    return (x,)


# Sequences are lists while a graph is read


@op("SequenceConstruct", raw=True)
def sequence_construct(c, *inputs):
    return ([*inputs],)


@op("SequenceEmpty", raw=True)
def sequence_empty(c):
    return ([],)


@op("SequenceInsert", raw=True)
def sequence_insert(c, sequence, x, position=None):
    at = len(sequence) if position is None else int(c.static(2).reshape(-1)[0])
    made = list(sequence)
    made.insert(at + len(sequence) if at < 0 else at, x)
    return (made,)


@op("SequenceErase", raw=True)
def sequence_erase(c, sequence, position=None):
    made = list(sequence)
    del made[-1 if position is None else int(c.static(1).reshape(-1)[0])]
    return (made,)


@op("SequenceAt", raw=True)
def sequence_at(c, sequence, position):
    return sequence[int(c.static(1).reshape(-1)[0])]


@op("SequenceLength", raw=True)
def sequence_length(c, sequence):
    return of_sizes(np.array(len(sequence), dtype=object))


@op("SplitToSequence", static=(1,))
def split_to_sequence(c, x, sizes=None):
    axis = c.axis(c.attribute("axis", 0), x.rank)
    n, keep = x.shape[axis], c.attribute("keepdims", 1)
    if not isinstance(n, int):
        c.refuse("a sequence along a dynamic size is not compiled for all sizes")
    if sizes is None:
        parts = [part(c, x, axis, i, 1) for i in range(n)]
        return ([v if keep else c.f.view(v, [m for i, m in enumerate(v.shape) if i != axis]) for v in parts],)
    given = c.sizes(1)
    if sizes.ndim == 0:
        given = [min(given[0], n - i) for i in range(0, n, given[0])]
    return ([part(c, x, axis, sum(given[:i]), m) for i, m in enumerate(given)],)


@op("ConcatFromSequence", raw=True)
def concat_from_sequence(c, sequence):
    values, axis = [c.tensor(v) for v in sequence], c.attribute("axis")
    if c.attribute("new_axis", 0):
        axis = axis + values[0].rank + 1 if axis < 0 else axis
        values = [c.f.view(v, (*v.shape[:axis], 1, *v.shape[axis:])) for v in values]
    axis = c.axis(axis, values[0].rank)
    shape = [total(*(v.shape[i] for v in values)) if i == axis else n for i, n in enumerate(values[0].shape)]
    return values[0] if len(values) == 1 else c.f.concat(values, axis, shape)
