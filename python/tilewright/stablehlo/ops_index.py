"""Reads and writes at computed indices: gathers, scatters, slices at dynamic places.

Reads move an index that is out of range to the nearest place; scatters leave out windows that are not inside, as StableHLO has it.
"""

from jaxlib.mlir.dialects import stablehlo

from ..emit.scalars import Scalar, Scalars
from ..emit.sizes import plain, product
from ..emit.value import Value
from .registry import op


def component(f, indices, axis, number):
    """One component of all index vectors, without the dimension of the components."""
    if axis == indices.rank:
        return indices
    offsets, sizes = [0] * indices.rank, list(indices.shape)
    offsets[axis], sizes[axis] = number, 1
    return f.slice(indices, offsets, sizes, drop=[axis])


@op("stablehlo.gather", "stablehlo.dynamic_gather")
def gather(c):
    numbers = stablehlo.GatherDimensionNumbers(c.op.attributes["dimension_numbers"])
    x, indices = c.value(0), c.value(1)
    sizes = c.sizes(2) if c.op.name == "stablehlo.dynamic_gather" else c.integers("slice_sizes")
    axis, places = numbers.index_vector_dim, list(numbers.start_index_map)
    offset_dims, collapsed = list(numbers.offset_dims), list(numbers.collapsed_slice_dims)
    batching, of_batching = list(numbers.operand_batching_dims), list(numbers.start_indices_batching_dims)
    batch = [d for d in range(len(c.shape)) if d not in offset_dims]
    index_dims = [d for d in range(indices.rank) if d != axis]
    window = dict(zip([d for d in range(x.rank) if d not in collapsed + batching], sorted(offset_dims)))
    parts = [component(c.f, indices, axis, k) for k in range(len(places))]

    def body(s, *elements):
        at = []
        for d in range(x.rank):
            here = s.index(window[d]) if d in window and sizes[d] != 1 else None
            if d in places:
                start = s.max(s.min(s.cast(elements[places.index(d)], "i64"), plain(x.shape[d] - sizes[d])), 0)
                here = start if here is None else s.add(start, here)
            if d in batching:
                here = s.index(batch[index_dims.index(of_batching[batching.index(d)])])
            at.append(s.constant(0, "i64") if here is None else here)
        return s.extract(x, at)
    rank = len(c.shape)
    return c.f.generic(rank, [(p, [f"d{b}" for b in batch]) for p in parts],
                       [(c.f.empty(c.shape, c.type), [f"d{i}" for i in range(rank)])], lambda s, *e: body(s, *e[:-1]))


@op("stablehlo.scatter")
def scatter(c):
    """A loop over the index vectors, in their order: of several writes to one element the last one stays."""
    numbers = stablehlo.ScatterDimensionNumbers(c.op.attributes["scatter_dimension_numbers"])
    f, count = c.f, len(c.op.operands) // 2
    inputs, indices = [c.value(i) for i in range(count)], c.value(count)
    updates = [c.value(count + 1 + i) for i in range(count)]
    if 0 in updates[0].shape:
        return tuple(inputs)
    shape, rank = inputs[0].shape, inputs[0].rank
    axis, places = numbers.index_vector_dim, list(numbers.scattered_dims_to_operand_dims)
    windows, inserted = sorted(numbers.update_window_dims), list(numbers.inserted_window_dims)
    batching, of_batching = list(numbers.input_batching_dims), list(numbers.scatter_indices_batching_dims)
    scattered = [d for d in range(updates[0].rank) if d not in windows]
    index_dims = [d for d in range(indices.rank) if d != axis]
    box = [1] * rank
    for d, u in zip([d for d in range(rank) if d not in inserted + batching], windows):
        box[d] = updates[0].shape[u]
    counts = [updates[0].shape[d] for d in scattered]
    total, rest = product(counts), [updates[0].shape[d] for d in windows]
    updates = [f.view(f.transpose(u, scattered + windows), (total, *box)) for u in updates]
    parts = [f.view(component(f, indices, axis, k), (total,)) for k in range(len(places))]
    single = product(rest) == 1
    with f.loop(total, inputs) as (i, states, results):
        s = Scalars(f)
        position = Scalar(i, "index")
        starts, inside = [s.constant(0, "i64")] * rank, None
        for part, d in zip(parts, places):
            start, last = s.cast(s.extract(part, [position]), "i64"), plain(shape[d] - box[d])
            test = s.binary("and", s.compare("ge", start, 0), s.compare("le", start, last))
            inside = test if inside is None else s.binary("and", inside, test)
            starts[d] = s.max(s.min(start, last), 0)
        flat = s.index_cast(position, "i64")
        of_index = {}
        for d, n in reversed(list(zip(index_dims, counts))):
            of_index[d] = s.binary("rem", flat, n)
            flat = s.div(flat, n)
        for d, source in zip(batching, of_batching):
            starts[d] = of_index[source]
        names = [s.index_cast(a, "index") for a in starts]
        write = _write_element if single else _write_box
        results[:] = write(c, states, updates, position, names, box, inside)
    return tuple(results)


def _combined(c, s, states, news, inside):
    made = c.reader.elements(s, c.region(), [*states, *news])
    return [m if inside is None else s.select(inside, m, old) for m, old in zip(made, states)]


def _write_element(c, states, updates, position, names, box, inside):
    s = Scalars(c.f)
    olds = [s.extract(state, names) for state in states]
    news = [s.extract(u, [position] + [0] * len(box)) for u in updates]
    made = _combined(c, s, olds, news, inside)
    return [Value(c.f.op(f"tensor.insert {m.name} into {state.name}[{', '.join(n.name for n in names)}] : {state.text}"),
                  state.shape, state.type) for m, state in zip(made, states)]


def _write_box(c, states, updates, position, names, box, inside):
    f, offsets = c.f, [n.name for n in names]
    loops = [f"d{i}" for i in range(len(box))]
    olds = [f.slice(state, offsets, box) for state in states]
    news = [f.slice(u, [position.name] + [0] * len(box), [1, *box], drop=[0]) for u in updates]
    made = f.generic(len(box), [(v, loops) for v in olds + news], [(f.empty(box, o.type), loops) for o in olds],
                     lambda s, *e: _combined(c, s, e[:len(olds)], e[len(olds):2 * len(olds)], inside))
    made = made if isinstance(made, tuple) else (made,)
    return [f.insert(m, state, offsets) for m, state in zip(made, states)]


def places_of(c, first, shape, box):
    """Names of the offsets of a box, moved so that it lies inside."""
    s, names = Scalars(c.f), []
    for d, (n, size) in enumerate(zip(shape, box)):
        start = s.cast(c.scalar(first + d), "i64")
        names.append(s.index_cast(s.max(s.min(start, plain(n - size)), 0), "index").name if n != size else 0)
    return names


@op("stablehlo.dynamic_slice")
def dynamic_slice(c):
    x, box = c.value(0), c.integers("slice_sizes")
    return c.f.slice(x, places_of(c, 1, x.shape, box), box)


@op("stablehlo.dynamic_update_slice")
def dynamic_update_slice(c):
    x, update = c.value(0), c.value(1)
    return x if 0 in update.shape else c.f.insert(update, x, places_of(c, 2, x.shape, update.shape))
