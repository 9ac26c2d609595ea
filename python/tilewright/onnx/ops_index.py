"""Reads and writes at computed indices: gathers, scatters, selections, grids, regions."""


import math

import numpy as np

from ..emit import types
from ..emit.indices import check_range, scatter_with, wrapped
from ..emit.scalars import Scalar, Scalars
from ..emit.sizes import product
from ..emit.value import Value
from .registry import op
from .values import Constant


@op("Gather", raw=True)
def gather(c, x, indices):
    x, axis = c.tensor(x), c.axis(c.attribute("axis", 0), x.rank)
    if isinstance(indices, Constant) and indices.array.size == 1 and not indices.is_symbolic and isinstance(
            x.shape[axis], int):
        at = int(indices.array.reshape(-1)[0])
        if -x.shape[axis] <= at < x.shape[axis]:
            from .ops_shape import part
            return c.f.view(part(c, x, axis, at % x.shape[axis], 1),
                            (*x.shape[:axis], *indices.shape, *x.shape[axis + 1:]))
    indices = c.tensor(indices)
    shape = (*x.shape[:axis], *indices.shape, *x.shape[axis + 1:])
    if 0 in shape or 0 in x.shape:
        return c.f.empty(shape, x.type)
    check_range(c, indices, x.shape[axis], f"an index into dimension {axis}")
    held = c.f.view(indices, (*indices.shape, *[1] * (x.rank - 1 - axis)))

    def body(s, a):
        after = [s.index(axis + indices.rank + i) for i in range(x.rank - 1 - axis)]
        return s.extract(x, [*(s.index(i) for i in range(axis)), wrapped(s, a, x.shape[axis]), *after])
    return c.f.map([held], shape, x.type, body)


@op("GatherElements")
def gather_elements(c, x, indices):
    axis = c.axis(c.attribute("axis", 0), x.rank)
    if 0 in indices.shape:
        return c.f.empty(indices.shape, x.type)
    check_range(c, indices, x.shape[axis], f"an index into dimension {axis}")

    def body(s, a):
        at = [s.index(i) for i in range(x.rank)]
        at[axis] = wrapped(s, a, x.shape[axis])
        return s.extract(x, at)
    return c.f.map([indices], indices.shape, x.type, body)


def components(c, indices, count):
    """The parts of index vectors, without the dimension of the parts."""
    lead = indices.rank - 1
    return [c.f.slice(indices, [0] * lead + [k], [*indices.shape[:-1], 1], drop=[lead]) for k in range(count)]


@op("GatherND")
def gather_nd(c, x, indices):
    batch, count = c.attribute("batch_dims", 0), indices.shape[-1]
    shape = (*indices.shape[:-1], *x.shape[batch + count:])
    if 0 in shape:
        return c.f.empty(shape, x.type)
    lead, parts = indices.rank - 1, components(c, indices, count)
    for k, each in enumerate(parts):
        check_range(c, each, x.shape[batch + k], f"an index into dimension {batch + k}")
    held = [c.f.view(p, (*p.shape, *[1] * (len(shape) - lead))) for p in parts]

    def body(s, *elements):
        places = [wrapped(s, e, x.shape[batch + k]) for k, e in enumerate(elements)]
        return s.extract(
            x, [*(s.index(i) for i in range(batch)), *places, *(s.index(lead + i) for i in range(len(shape) - lead))])
    return c.f.map(held, shape, x.type, body)


COMBINATIONS = {"none": None, "add": "add", "mul": "mul", "max": "max", "min": "min"}


def combination(c):
    kind = COMBINATIONS[c.attribute("reduction", "none")]
    return kind and (lambda s, a, b: s.binary(kind, a, b))


@op("ScatterElements", "Scatter")
def scatter_elements(c, x, indices, updates):
    return scatter_with(c, x, c.attribute("axis", 0), indices, updates, combination(c))


@op("ScatterND")
def scatter_nd(c, x, indices, updates):
    """A loop over the index vectors, in their order: of several writes to one element the last one stays."""
    f, count, combine = c.f, indices.shape[-1], combination(c)
    if 0 in updates.shape or 0 in x.shape:
        return x
    total, rest = product(indices.shape[:-1]), x.shape[count:]
    parts = [f.view(p, (total,)) for p in components(c, indices, count)]
    for k, each in enumerate(parts):
        check_range(c, each, x.shape[k], f"an index into dimension {k}")
    updates = f.view(updates, (total, *rest))
    with f.loop(total, [x]) as (i, (state,), results):
        s, position = Scalars(f), Scalar(i, "index")
        at = [s.index_cast(wrapped(s, s.extract(p, [position]), x.shape[k]), "index").name for k, p in enumerate(parts)]
        new = f.slice(updates, [i] + [0] * len(rest), [1, *rest], drop=[0])
        box = [1] * count + list(rest)
        if combine is not None:
            old = f.slice(state, at + [0] * len(rest), box, drop=range(count))
            wide = types.compute(x.type)
            new = f.map([old, new], rest, x.type,
                        lambda s, a, b: s.cast(combine(s, s.cast(a, wide), s.cast(b, wide)), x.type))
        results[:] = [f.insert(new, state, at + [0] * len(rest), sizes=box)]
    return results[0]


@op("TensorScatter")
def tensor_scatter(c, cache, update, starts=None):
    """A cache with new entries along an axis, beginning, for each batch, at an index."""
    axis, f = c.axis(c.attribute("axis", -2), cache.rank), c.f
    circular = c.attribute("mode", "linear") == "circular"
    size, count = cache.shape[axis], update.shape[axis]
    begin = c.f.fill((cache.shape[0],), "i64", 0) if starts is None else c.cast(starts, "i64")
    begin = f.view(begin, (cache.shape[0], *[1] * (cache.rank - 1)))

    def body(s, old, first):
        at = s.sub(s.index(axis), first)
        if circular:
            at = s.binary("rem", s.add(at, s.size(size)), s.size(size))
        inside = s.binary("and", s.compare("ge", at, 0), s.compare("lt", at, s.size(count)))
        place = [s.index(i) for i in range(cache.rank)]
        place[axis] = s.max(s.min(at, s.sub(s.size(count), 1)), 0)
        return s.select(inside, s.extract(update, place), old)
    return f.map([cache, begin], cache.shape, cache.type, body)


@op("Compress", static=(1,))
def compress(c, x, condition):
    """The chosen positions make the shape, so they have to be known when the model is compiled."""
    axis = c.attribute("axis")
    if axis is None:
        x, axis = c.f.view(x, (product(x.shape),)), 0
    axis = c.axis(axis, x.rank)
    places = [i for i, taken in enumerate(condition.reshape(-1).tolist()) if taken]
    shape = tuple(len(places) if i == axis else n for i, n in enumerate(x.shape))
    if 0 in shape:
        return c.f.empty(shape, x.type)
    held = c.tensor(Constant(np.array(places, np.int64), "i64"))
    held = c.f.view(held, (len(places), *[1] * (x.rank - 1 - axis)))

    def body(s, a):
        at = [s.index(i) for i in range(x.rank)]
        at[axis] = a
        return s.extract(x, at)
    return c.f.map([held], shape, x.type, body)


@op("NonZero")
def non_zero(c, x):
    """Their number is a size that the program makes of its data."""
    f, count = c.f, product(x.shape)
    if not isinstance(count, int):
        c.refuse("positions in a tensor of dynamic size are not compiled for all sizes")
    flat = f.view(c.cast(x, "i1"), (count,)) if x.rank else f.view(c.cast(x, "i1"), (1,))
    strides = [math.prod(x.shape[i + 1:]) for i in range(x.rank)] or [1]
    places, zero = f.fill((count,), "i64", 0), f.fill((), "i64", 0)
    with f.loop(count, [places, zero]) as (i, (found, total), results):
        s = Scalars(f)
        hit, at = s.extract(flat, [Scalar(i, "index")]), s.extract(total, [])
        here = s.index_cast(Scalar(i, "index"), "i64")
        # What is no position is overwritten by the next one.
        written = f.op(f"tensor.insert {here.name} into {found.name}[{s.index_cast(at, 'index').name}] : {found.text}")
        new = s.add(at, s.cast(hit, "i64"))
        results[:] = [Value(written, found.shape, "i64"),
                      Value(f.op(f"tensor.from_elements {new.name} : tensor<i64>"), (), "i64")]
    places, total = results
    size = made_size(c, total)
    found = f.slice(places, [0], [size])
    sizes = x.shape or (1,)

    def body(s, at):
        made = s.constant(0, "i64")
        for axis, (stride, n) in enumerate(zip(strides, sizes)):
            made = s.select(s.compare("eq", s.index(0), axis), s.binary("rem", s.div(at, stride), n), made)
        return made
    return f.map([found], (len(sizes), size), "i64", body)


def made_size(c, total):
    """A size that is a number of the program: the one element of a tensor."""
    import sympy
    s = Scalars(c.f)
    name = s.index_cast(s.extract(total, []), "index").name
    size = sympy.Symbol(f"made{c.f.count}", integer=True, nonnegative=True)
    c.f.sizes.bind(size, lambda: name)
    return size


# Grids


@op("GridSample")
def grid_sample(c, x, grid):
    """Elements at positions that the grid gives, from -1 to 1 along each dimension."""
    spatial, compute = x.rank - 2, types.compute(x.type)
    mode = {"bilinear": "linear", "bicubic": "cubic"}.get(c.attribute("mode", "linear"), c.attribute("mode", "linear"))
    border, corners = c.attribute("padding_mode", "zeros"), c.attribute("align_corners", 0)
    shape = (*x.shape[:2], *grid.shape[1:-1])
    if 0 in shape:
        return c.f.empty(shape, x.type)

    def reflected(s, at, n):
        """The position between the ends, as often as the tensor is reflected."""
        low, high = (0.0, s.cast(s.sub(n, 1), compute)) if corners else (-0.5, s.sub(s.cast(n, compute), 0.5))
        span = s.sub(high, low)
        away = s.math("absf", s.sub(at, low))
        turns = s.math("floor", s.div(away, span))
        rest = s.sub(away, s.mul(turns, span))
        odd = s.compare("ne", s.sub(turns, s.mul(s.math("floor", s.div(turns, 2)), 2)), 0)
        return s.add(s.select(odd, s.sub(span, rest), rest), low)

    def body(s):
        batch = s.index(0)
        places = []
        for i in range(spatial):  # the grid's last component is that of the first dimension
            n = s.size(x.shape[2 + i])
            g = s.cast(s.extract(grid, [batch, *(s.index(2 + k) for k in range(spatial)), spatial - 1 - i]), compute)
            wide = s.cast(n, compute)
            at = s.mul(s.add(g, 1), s.div(s.sub(wide, 1), 2)) if corners else s.div(s.sub(s.mul(s.add(g, 1), wide), 1),
                                                                                    2)
            if mode != "cubic":
                at = placed(s, at, n)
            places.append((at, n))
        return s.cast(combined(s, places, 0, []), x.type)

    def placed(s, at, n):
        if border == "border":
            return s.max(s.min(at, s.cast(s.sub(n, 1), compute)), 0)
        if border == "reflection":
            made = reflected(s, at, n)
            return s.max(s.min(made, s.cast(s.sub(n, 1), compute)), 0)
        return at

    def read(s, chosen):
        """The element at whole positions; outside it is 0."""
        inside, at = None, [s.index(0), s.index(1)]
        for place, n in chosen:
            if mode == "cubic":
                place = placed(s, place, n)
            test = s.binary("and", s.compare("ge", place, 0), s.compare("le", place, s.cast(s.sub(n, 1), compute)))
            inside = test if inside is None else s.binary("and", inside, test)
            at.append(s.max(s.min(to_index(s, place), s.sub(n, 1)), 0))
        return s.select(inside, s.cast(s.extract(x, at), compute), s.constant(0, compute))

    def to_index(s, place):
        return s.cast(s.max(s.min(place, 1e9), -1e9), "i64")

    def combined(s, places, i, chosen):
        if i == spatial:
            return read(s, chosen)
        at, n = places[i]
        if mode == "nearest":
            return combined(s, places, i + 1, [*chosen, (s.math("roundeven", at), n)])
        first = s.math("floor", at)
        t = s.sub(at, first)
        weights = [s.sub(1, t), t] if mode == "linear" else cubic_weights(s, t, -0.75)
        total = None
        for k, weight in enumerate(weights):
            place = s.add(first, float(k - (mode == "cubic")))
            term = s.mul(weight, combined(s, places, i + 1, [*chosen, (place, n)]))
            total = term if total is None else s.add(total, term)
        return total
    return c.f.map([], shape, x.type, body)


def cubic_weights(s, t, a):
    """Keys' kernel at the distances 1 + t, t, 1 - t, 2 - t."""
    def inner(t):
        return s.add(s.mul(s.mul(s.sub(s.mul(t, a + 2), a + 3), t), t), 1)

    def outer(t):
        return s.sub(s.mul(s.add(s.mul(s.sub(s.mul(t, a), 5 * a), t), 8 * a), t), 4 * a)
    return [outer(s.add(t, 1)), inner(t), inner(s.sub(1, t)), outer(s.sub(2, t))]


@op("RoiAlign")
def roi_align(c, x, regions, batches):
    """Averages, or maxima, over a grid of samples in each cell of each region. The number of samples has to be an
    attribute."""
    rows, columns = c.attribute("output_height", 1), c.attribute("output_width", 1)
    ratio, scale = c.attribute("sampling_ratio", 0), float(c.attribute("spatial_scale", 1.0))
    half = 0.5 if c.attribute("coordinate_transformation_mode",
                              "half_pixel" if c.version >= 16 else "output_half_pixel") == "half_pixel" else 0.0
    largest = c.attribute("mode", "avg") == "max"
    if ratio <= 0:
        c.refuse("a number of samples that follows from each region is not compiled; set sampling_ratio")
    compute, height, width = types.compute(x.type), x.shape[2], x.shape[3]
    shape = (regions.shape[0], x.shape[1], rows, columns)
    loops = [f"d{i}" for i in range(4)]

    def sample(s, region, batch, *_):
        corners = [s.sub(s.mul(s.cast(s.extract(regions, [s.index(0), k]), compute), scale), half) for k in range(4)]
        terms = []
        for first, last, cells, loop, tap, n in ((corners[1], corners[3], rows, 2, 4, height), (corners[0], corners[2],
                                                                                                columns, 3, 5, width)):
            span = s.sub(last, first)
            span = span if half else s.max(span, 1)
            cell = s.div(span, float(cells))
            inside = s.div(s.add(s.cast(s.index(tap), compute), 0.5), float(ratio))
            at = s.add(first, s.mul(cell, s.add(s.cast(s.index(loop), compute), inside)))
            n = s.size(n)
            outside = s.binary("or", s.compare("lt", at, -1), s.compare("gt", at, s.cast(n, compute)))
            at = s.max(at, 0)
            low = s.min(s.cast(s.math("floor", at), "i64"), s.sub(n, 1))
            high = s.min(s.add(low, 1), s.sub(n, 1))
            at = s.min(at, s.cast(s.sub(n, 1), compute))
            terms.append((low, high, s.sub(at, s.cast(low, compute)), outside))
        (top, bottom, dy, no), (left, right, dx, none) = terms
        plane = [s.cast(batch, "i64"), s.index(1)]
        values = []
        for y, wy in ((top, s.sub(1, dy)), (bottom, dy)):
            for z, wx in ((left, s.sub(1, dx)), (right, dx)):
                values.append(s.mul(s.mul(wy, wx), s.cast(s.extract(x, [*plane, y, z]), compute)))
        made = values[0]
        for v in values[1:]:
            made = s.max(made, v) if largest else s.add(made, v)
        return s.select(s.binary("or", no, none), s.constant(0, compute), made)

    def add(s, batch, _, total):
        new = sample(s, None, batch)
        return s.max(total, new) if largest else s.add(total, new)
    initial = types.lowest(compute) if largest else 0
    window = (c.f.empty((ratio, ratio), compute), ["d4", "d5"])
    made = c.f.generic(6, [(batches, ["d0"]), window], [(c.f.fill(shape, compute, initial), loops)], add, {4, 5})
    if largest:
        return c.cast(made, x.type)
    return c.map([made], lambda s, a: s.div(a, float(ratio * ratio)), type=x.type)
