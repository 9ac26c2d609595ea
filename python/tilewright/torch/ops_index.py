"""Reads and writes at computed indices: embeddings, gathers, advanced indexing, scatters.

Reads are element-wise with one access at a computed index. Writes are loops over the indices, in their order, so that of several
writes to one element the last one stays and sums are reproducible. Indices are compared with the size before anything is
read: an index out of range is an error of the call, as in eager.
"""


from ..emit import types
from ..emit.elements import floor_divide
from ..emit.indices import check_range, scatter_with, wrapped
from ..emit.order import selected, sorted_with_positions
from ..emit.scalars import Scalar, Scalars
from ..emit.sizes import product
from ..emit.value import Value
from .registry import op


def as_index(c, index):
    if index.type in ("i1", "u8") or types.is_float(index.type):
        c.refuse("an index of booleans makes a size of data and is not compiled")
    return index


@op("embedding")
def embedding(c, weight, index, padding=-1, scale=False, sparse=False):
    if 0 in c.shape or 0 in weight.shape:
        return c.f.empty(c.shape, c.type)
    check_range(c, index, weight.shape[0], "an index into the rows of an embedding")
    column = index.rank
    return c.f.map([c.f.view(index, (*index.shape, 1))], c.shape, c.type,
                   lambda s, a: s.extract(weight, [wrapped(s, a, weight.shape[0]), s.index(column)]))


@op("index_select")
def index_select(c, x, axis, index):
    if x.rank == 0:
        return x
    axis = c.axis(axis, x.rank)
    if 0 in c.shape or 0 in x.shape:
        return c.f.empty(c.shape, c.type)
    index = c.f.view(index, (c.shape[axis],))
    check_range(c, index, x.shape[axis], f"an index into dimension {axis}")
    held = c.f.view(index, (c.shape[axis], *[1] * (x.rank - 1 - axis)))

    def body(s, a):
        at = [s.index(i) for i in range(x.rank)]
        at[axis] = wrapped(s, a, x.shape[axis])
        return s.extract(x, at)
    return c.f.map([held], c.shape, c.type, body)


@op("gather")
def gather(c, x, axis, index, sparse_grad=False):
    if 0 in c.shape:
        return c.f.empty(c.shape, c.type)
    if x.rank == 0:
        return c.broadcast(x, c.shape)
    axis = c.axis(axis, x.rank)
    if index.rank == 0:
        index = c.f.view(index, (1,))
    check_range(c, index, x.shape[axis], f"an index into dimension {axis}")

    def body(s, a):
        at = [s.index(i) for i in range(x.rank)]
        at[axis] = wrapped(s, a, x.shape[axis])
        return s.extract(x, at)
    return c.f.view(c.f.map([index], index.shape, c.type, body), c.shape)


class Advanced:
    """Where the elements of x[indices] lie: index tensors are broadcast to one shape B, which stands where the first index stands
    if the indexed dimensions are neighbours, and first if not."""

    def __init__(self, c, x, indices):
        indices = list(indices) + [None] * (x.rank - len(indices))
        self.c, self.x = c, x
        self.dims = [i for i, v in enumerate(indices) if v is not None]
        self.kept = [i for i, v in enumerate(indices) if v is None]
        self.indices = [as_index(c, indices[i]) for i in self.dims]
        rank = max(v.rank for v in self.indices)
        self.broadcast = []
        for position in range(rank):
            sizes = [v.shape[position - rank] for v in self.indices if v.rank >= rank - position]
            self.broadcast.append(next((n for n in sizes if n != 1), 1))
        neighbours = self.dims == list(range(self.dims[0], self.dims[0] + len(self.dims)))
        self.first = self.dims[0] if neighbours else 0
        rest = [x.shape[i] for i in self.kept]
        self.shape = (*rest[:self.first], *self.broadcast, *rest[self.first:])

    def check(self):
        for i, index in zip(self.dims, self.indices):
            check_range(self.c, index, self.x.shape[i], f"an index into dimension {i}")

    def read(self):
        c, x = self.c, self.x
        if 0 in self.shape or 0 in x.shape:
            return c.f.empty(self.shape, x.type)
        self.check()
        count, first = len(self.broadcast), self.first
        loops = len(self.shape)

        def access(index):
            lead = count - index.rank
            return ["0" if n == 1 and self.broadcast[lead + i] != 1 else f"d{first + lead + i}" for i, n in enumerate(index.shape)]

        def body(s, *elements):
            at = [None] * x.rank
            for i, element in zip(self.dims, elements):
                at[i] = wrapped(s, element, x.shape[i])
            for position, i in enumerate(self.kept):
                at[i] = s.index(position if position < first else position + count)
            return s.extract(x, at)
        into = c.f.empty(self.shape, x.type)
        return c.f.generic(loops, [(v, access(v)) for v in self.indices], [(into, [f"d{i}" for i in range(loops)])], body)

    def write(self, values, accumulate):
        """x with `values` (broadcast to the shape of what is read) written, or added, in the order of the indices."""
        c, x = self.c, self.x
        f = c.f
        if 0 in self.shape or 0 in x.shape:
            return x
        self.check()
        count, first = len(self.broadcast), self.first
        values = c.broadcast(c.cast(values, x.type), self.shape)
        total = product(self.broadcast)
        order = [*range(first, first + count), *range(first), *range(first + count, len(self.shape))]
        rest = [x.shape[i] for i in self.kept]
        values = f.view(f.transpose(values, order), (total, *rest))
        indices = [f.view(c.broadcast(v, self.broadcast), (total,)) for v in self.indices]
        front = [*self.dims, *self.kept]
        moved = f.transpose(x, front)
        with f.loop(total, [moved]) as (i, (state,), results):
            s = Scalars(f)
            position = Scalar(i, "index")
            at = [s.index_cast(wrapped(s, s.extract(v, [position]), x.shape[d]), "index").name for d, v in zip(self.dims, indices)]
            drop = list(range(len(at)))
            box = [1] * len(at) + rest
            new = f.slice(values, [i] + [0] * len(rest), [1, *rest], drop=[0])
            if accumulate:
                old = f.slice(state, at + [0] * len(rest), box, drop=drop)
                new = f.map([old, new], rest, x.type, lambda s, a, b: s.cast(
                    s.add(s.cast(a, types.compute(a.type)), s.cast(b, types.compute(b.type))), x.type))
            results[:] = [f.insert(new, state, at + [0] * len(rest), sizes=box)]
        return f.transpose(results[0], [front.index(i) for i in range(x.rank)])


@op("index.Tensor", "_unsafe_index.Tensor")
def index_tensor(c, x, indices):
    return Advanced(c, x, indices).read()


@op("index_put", "_unsafe_index_put")
def index_put(c, x, indices, values, accumulate=False):
    masks = [v for v in indices if v is not None]
    if len(masks) == 1 and masks[0].type == "i1" and indices[0] is not None and not accumulate and product(values.shape) == 1:
        mask = c.f.view(masks[0], (*masks[0].shape, *[1] * (x.rank - masks[0].rank)))
        values = c.f.view(c.cast(values, x.type), ())
        return c.f.map([mask, x, values], x.shape, x.type, lambda s, m, a, v: s.select(m, v, a))
    return Advanced(c, x, indices).write(values, accumulate)


@op("flex_lib::zeros_and_scatter")
def zeros_and_scatter(c, shape, indices, values):
    """The gradient of what functions of `flex_attention` read at indices."""
    return index_put(c, c.f.fill(c.shape, c.type, 0), indices, values, True)


# Scatters along one dimension


@op("scatter.src", "scatter.value")
def scatter(c, x, axis, index, source):
    return scatter_with(c, x, axis, index, source, None)


@op("scatter_add")
def scatter_add(c, x, axis, index, source):
    return scatter_with(c, x, axis, index, source, lambda s, a, b: s.add(a, b))


REDUCTIONS = {"sum": "add", "add": "add", "prod": "mul", "multiply": "mul", "amax": "max", "amin": "min"}


def neutral_of(kind, type):
    return {"add": 0, "mul": 1, "max": types.lowest(type), "min": types.highest(type)}[kind]


def reduced_at(c, x, axis, places, source, reduce, include_self):
    """x with the elements of `source` reduced into their places along an axis; without `include_self` those of x that one goes into do not
    count."""
    if reduce != "mean" and reduce not in REDUCTIONS:
        c.refuse(f"{c.node.target} with reduce={reduce!r} is not compiled")
    kind = REDUCTIONS.get(reduce, "add")
    if not include_self:
        x = scatter_with(c, x, axis, places, neutral_of(kind, x.type), None)
    made = scatter_with(c, x, axis, places, source, lambda s, a, b: s.binary(kind, a, b))
    if reduce != "mean":
        return made
    counts = scatter_with(c, c.f.fill(x.shape, "i64", int(include_self)), axis, places, 1, lambda s, a, b: s.add(a, b))

    def mean(s, total, count):
        count = s.cast(s.max(count, 1), total.type)
        return s.div(total, count) if types.is_float(total.type) else floor_divide(s, total, count)
    return c.f.map([made, counts], x.shape, x.type, lambda s, a, n: s.cast(mean(s, s.cast(a, types.compute(a.type)), n), x.type))


@op("scatter_reduce.two", "scatter.reduce", "scatter.value_reduce")
def scatter_reduce(c, x, axis, index, source, reduce=None, *, include_self=True):
    reduce = reduce or c.node.kwargs["reduce"]
    return reduced_at(c, x, axis, index, source, reduce, include_self)


def _along(c, x, axis, index, source, accumulate):
    if x.rank == 0:
        x1 = c.f.view(x, (1,))
        return c.f.view(_along(c, x1, 0, index, c.f.view(source, (1,)) if isinstance(source, Value) else source, accumulate), ())
    axis = c.axis(axis, x.rank)
    index = c.f.view(index, (product(index.shape),))
    return Advanced(c, x, [None] * axis + [index]).write(source, accumulate)


@op("index_add")
def index_add(c, x, axis, index, source, *, alpha=1):
    if alpha != 1:
        source = c.map([source], lambda s, a: s.mul(a, alpha), shape=source.shape)
    return _along(c, x, axis, index, source, True)


@op("index_reduce")
def index_reduce(c, x, axis, index, source, reduce, *, include_self=True):
    shape = x.shape
    if x.rank == 0:
        x, source = c.f.view(x, (1,)), c.f.view(source, (1,))
    axis = c.axis(axis, x.rank)
    held = c.f.view(index, (product(index.shape), *[1] * (x.rank - 1 - axis)))
    places = c.broadcast(held, source.shape)
    return c.f.view(reduced_at(c, x, axis, places, source, reduce, include_self), shape)


@op("put")
def put(c, x, index, source, accumulate=False):
    flat = c.f.view(x, (product(x.shape),))
    values, places = (c.f.view(v, (product(v.shape),)) for v in (source, index))
    combine = (lambda s, a, b: s.add(a, b)) if accumulate else None
    return c.f.view(scatter_with(c, flat, 0, places, values, combine), x.shape)


@op("index_copy")
def index_copy(c, x, axis, index, source):
    return _along(c, x, axis, index, source, False)


@op("index_fill.int_Scalar", "index_fill.int_Tensor")
def index_fill(c, x, axis, index, value):
    value = value if isinstance(value, Value) else c.f.fill((), x.type, value)
    if x.rank == 0:
        return c.cast(value, x.type)
    return _along(c, x, axis, index, value, False)


#: Up to so many boundaries all are compared with each value, which is a reduction over contiguous elements.
COUNTED = 64


def halved(c, values, boundaries, right):
    """The same by halving: a step for each bit of the number of boundaries."""
    count, compute = boundaries.shape[-1], c.promoted(*c.node.args[:2])

    def body(s, v):
        v, place = s.cast(v, compute), s.constant(0, "i64")
        lead = [s.index(i) for i in range(boundaries.rank - 1)]
        for bit in reversed(range(count.bit_length())):
            last = s.add(place, (1 << bit) - 1)
            there = s.compare("lt", last, count)
            b = s.cast(s.extract(boundaries, [*lead, s.min(last, count - 1)]), compute)
            below = s.compare("le" if right else "lt", b, v)
            if types.is_float(compute):
                below = s.binary("or", below, s.is_nan(v))
            place = s.select(s.binary("and", there, below), s.add(place, 1 << bit), place)
        return s.cast(place, c.type)
    return c.f.map([values], c.shape, c.type, body)


@op("bucketize.Tensor", "searchsorted.Tensor")
def searchsorted(c, first, second, *, out_int32=False, right=False, side=None, sorter=None):
    """How many boundaries are below (or, from the right, not above) each value."""
    bucketize = "bucketize" in str(c.node.target)
    values, boundaries = (first, second) if bucketize else (second, first)
    right = right or side == "right"
    if sorter is not None or (boundaries.rank > 1 and values.rank != boundaries.rank):
        c.refuse("searchsorted with a sorter is not compiled")
    if isinstance(boundaries.shape[-1], int) and boundaries.shape[-1] > COUNTED and 0 not in c.shape:
        return halved(c, values, boundaries, right)
    loops = values.rank + 1
    lead = [f"d{i}" for i in range(values.rank)]
    access = [f"d{values.rank}"] if boundaries.rank == 1 else lead[:-1] + [f"d{values.rank}"]
    if 0 in c.shape or 0 in boundaries.shape:
        return c.f.fill(c.shape, c.type, 0)
    compute = c.promoted(*c.node.args[:2])

    def body(s, b, v, count):
        b, v = s.cast(b, compute), s.cast(v, compute)
        below = s.compare("le" if right else "lt", b, v)
        if types.is_float(compute):
            below = s.binary("or", below, s.is_nan(v))
        return s.add(count, s.cast(below, c.type))
    return c.f.generic(loops, [(boundaries, access), (values, lead)], [(c.f.fill(c.shape, c.type, 0), lead)], body, {values.rank})


# Order


@op("sort")
def sort(c, x, axis=-1, descending=False):
    return sorted_with_positions(c, x, axis, descending)


@op("sort.stable")
def sort_stable(c, x, *, stable=None, dim=-1, descending=False):
    return sorted_with_positions(c, x, dim, descending)


@op("topk")
def topk(c, x, k, axis=-1, largest=True, sorted=True):
    if x.rank and isinstance(x.shape[c.axis(axis, x.rank)], int) and x.shape[c.axis(axis, x.rank)] <= 256:
        return sorted_with_positions(c, x, axis, largest, k)
    if x.rank == 0:
        return x, c.f.fill((), "i64", 0)
    return selected(c, x, k, c.axis(axis, x.rank), largest)


@op("median.dim")
def median_along(c, x, axis, keepdim=False):
    """The lower one of the two in the middle; NaN where there is one."""
    if x.rank == 0:
        return x, c.f.fill((), "i64", 0)
    axis = c.axis(axis, x.rank)
    size = x.shape[axis]
    values, positions = sorted_with_positions(c, x, axis, False)

    def at(v, k):
        offsets, box = [0] * x.rank, list(x.shape)
        offsets[axis], box[axis] = k, 1
        return c.f.slice(v, offsets, box, drop=[] if keepdim else [axis])
    results = at(values, (size - 1) // 2), at(positions, (size - 1) // 2)
    if not types.is_float(x.type):
        return results
    last = at(values, size - 1)
    place = at(positions, size - 1)
    value = c.f.map([results[0], last], last.shape, x.type, lambda s, a, b: s.select(s.is_nan(b), b, a))
    where = c.f.map([results[1], last, place], last.shape, "i64", lambda s, a, b, p: s.select(s.is_nan(b), p, a))
    return value, where


@op("median")
def median(c, x):
    flat = c.f.view(x, (product(x.shape),))
    return median_along(c, flat, 0)[0]


@op("kthvalue")
def kthvalue(c, x, k, axis=-1, keepdim=False):
    if x.rank == 0:
        return x, c.f.fill((), "i64", 0)
    axis = c.axis(axis, x.rank)
    values, positions = sorted_with_positions(c, x, axis, False)
    offsets, box = [0] * x.rank, list(x.shape)
    offsets[axis], box[axis] = k - 1, 1
    drop = [] if keepdim else [axis]
    return c.f.slice(values, offsets, box, drop=drop), c.f.slice(positions, offsets, box, drop=drop)
