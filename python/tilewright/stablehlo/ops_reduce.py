"""Reductions over dimensions and windows, running sums and extrema, the gradient of a maximum of windows."""

from ..emit import types
from ..emit.scalars import Scalar, Scalars
from ..emit.scan import accumulator, scan
from ..emit.sizes import plain, product
from .attributes import shape_and_type
from .ops_shape import spread_out
from .registry import op
from .shapes import windowed

#: Regions of one of these operations are accumulated in f32 where the elements are 16-bit floats.
ASSOCIATIVE = {"stablehlo.add": "add", "stablehlo.multiply": "mul", "stablehlo.maximum": "max", "stablehlo.minimum": "min",
               "stablehlo.and": "and", "stablehlo.or": "or", "stablehlo.xor": "xor"}


def simple_kind(block):
    """The kind of a region that is one operation of both arguments; None of any other."""
    operations = [op.operation for op in block.operations]
    if len(operations) != 2 or operations[0].name not in ASSOCIATIVE or list(operations[1].operands) != list(operations[0].results):
        return None
    return ASSOCIATIVE[operations[0].name] if set(operations[0].operands) == set(block.arguments) else None


def accumulated(c, loops, reads, extra, starts, out_map, shape, body_block, reductions, outputs):
    """One generic whose results start from `starts` and are combined by the region. `reads`: pairs of a value and its map;
    `extra`: maps of operands that only give loops their extents."""
    count = len(reads)
    kind = simple_kind(body_block) if count == 1 else None
    kinds = [types.compute(type) if kind else type for _, type in outputs]
    into = [(c.f.fill(shape, type, start if not isinstance(start, Scalar) else Scalars(c.f).cast(start, type)), out_map)
            for start, type in zip(starts, kinds)]

    def body(s, *elements):
        news, states = elements[:count], elements[count + len(extra):]
        if kind:
            return s.binary(kind, states[0], s.cast(news[0], kinds[0]))
        return c.reader.elements(s, body_block, [*states, *news])
    result = c.f.generic(loops, reads + extra, into, body, set(reductions))
    results = result if isinstance(result, tuple) else (result,)
    return tuple(c.cast(r, type) for r, (_, type) in zip(results, outputs))


@op("stablehlo.reduce")
def reduce(c):
    count = len(c.op.operands) // 2
    values, starts = [c.value(i) for i in range(count)], [c.initial(count + i) for i in range(count)]
    axes = c.integers("dimensions")
    shape = values[0].shape
    if 0 in shape:
        return tuple(c.f.fill(into, type, start) for (into, type), start in zip(c.results, starts))
    loops = [f"d{i}" for i in range(len(shape))]
    kept = [d for i, d in enumerate(loops) if i not in axes]
    return accumulated(c, len(shape), [(v, loops) for v in values], [], starts, kept, c.shape, c.region(), axes, c.results)


class Windows:
    """Windows over all dimensions, by the attributes of an operation, or by lists of sizes."""

    def __init__(self, c, rank, lists=None):
        if lists is None:
            ones = [1] * rank
            lists = [c.integers(n, ones) for n in ("window_dimensions", "window_strides", "base_dilations", "window_dilations")]
            lists.append(c.integers("padding", [[0, 0]] * rank))
        self.sizes, self.strides, self.spacing, self.dilations, self.padding = lists
        self.low, self.high = [p[0] for p in self.padding], [p[1] for p in self.padding]

    def counts(self, shape):
        """How many windows there are in each dimension."""
        facts = zip(shape, self.low, self.high, self.spacing, self.sizes, self.dilations, self.strides)
        return tuple(windowed(*each) for each in facts)

    def running_axis(self, shape):
        """(axis, whether it runs backwards) where the windows are all elements up to each position."""
        wide = [i for i, n in enumerate(self.sizes) if n != 1]
        if len(wide) != 1 or any(n != 1 for n in (*self.strides, *self.spacing, *self.dilations)):
            return None
        axis, = wide
        n = shape[axis]
        if self.sizes[axis] != n or any(list(p) != [0, 0] for i, p in enumerate(self.padding) if i != axis):
            return None
        return {(plain(n - 1), 0): (axis, False), (0, plain(n - 1)): (axis, True)}.get(tuple(self.padding[axis]))


@op("stablehlo.reduce_window")
def reduce_window(c):
    return reduced_windows(c, len(c.op.operands) // 2, Windows(c, len(c.held(0).shape)), c.region(), c.results)


def dynamic_reduce_window(c):
    """The operands after the start values are the lists of sizes; the region is a function of the module."""
    count = (len(c.op.operands) - 5) // 2
    w = Windows(c, len(c.held(0).shape), [c.sizes(2 * count + i) for i in range(5)])
    outputs = [(w.counts(c.held(0).shape), shape_and_type(r.type)[1]) for r in c.op.results]
    return reduced_windows(c, count, w, c.reader.callee(c.op, "called_computations"), outputs)


def reduced_windows(c, count, w, block, outputs):
    values, starts = [c.value(i) for i in range(count)], [c.initial(count + i) for i in range(count)]
    shape, rank = values[0].shape, values[0].rank
    running = w.running_axis(shape)
    if running and count == 1 and simple_kind(block):
        return running_reduction(c, values[0], starts[0], *running, simple_kind(block))
    if 0 in shape:
        return tuple(c.f.fill(into, type, start) for (into, type), start in zip(outputs, starts))
    if any(not isinstance(n, int) for n in (*w.sizes, *w.strides, *w.spacing, *w.dilations)):
        c.refuse("windows of a dynamic size are compiled where each is all elements up to its position")
    wide = [spread_out(c, v, w.low, w.high, [n - 1 for n in w.spacing], start) for v, start in zip(values, starts)]
    taps = [i for i, n in enumerate(w.sizes) if n != 1]
    loop_of = {d: rank + i for i, d in enumerate(taps)}
    access = [f"d{d} * {w.strides[d]}" + (f" + d{loop_of[d]} * {w.dilations[d]}" if d in loop_of else "") for d in range(rank)]
    window = [(c.f.empty([w.sizes[d] for d in taps], values[0].type), [f"d{loop_of[d]}" for d in taps])] if taps else []
    return accumulated(c, rank + len(taps), [(v, access) for v in wide], window, starts, [f"d{i}" for i in range(rank)], outputs[0][0],
                       block, range(rank, rank + len(taps)), outputs)


def running_reduction(c, x, start, axis, backwards, kind):
    """The running value along `axis`, in f64 where the elements are f32."""
    type = accumulator(x.type) if kind in ("add", "mul") else x.type
    first = Scalars(c.f).cast(start, type) if isinstance(start, Scalar) else start
    return scan(c, x, axis, [(type, first)], lambda s, _, a, total: s.binary(kind, total, s.cast(a, type)), [x.type], backwards)[0]


@op("stablehlo.select_and_scatter")
def select_and_scatter(c):
    """First the position that each window selects, then a loop over the windows that combines the sources there."""
    f, x, source = c.f, c.value(0), c.value(1)
    rank, w = x.rank, Windows(c, x.rank)
    taps = [i for i, n in enumerate(w.sizes) if n != 1]
    loop_of = {d: rank + i for i, d in enumerate(taps)}
    wide = spread_out(c, x, w.low, w.high, [0] * rank, 0)
    access = [f"d{d} * {w.strides[d]}" + (f" + d{loop_of[d]}" if d in loop_of else "") for d in range(rank)]
    window = [(f.empty([w.sizes[d] for d in taps], x.type), [f"d{loop_of[d]}" for d in taps])] if taps else []
    strides = [1] * rank
    for i in reversed(range(rank - 1)):
        strides[i] = product([strides[i + 1], x.shape[i + 1]])
    chosen, combine = c.region(0), c.region(1)

    def body(s, a, *rest):
        best, at = rest[-2:]
        inside, flat = None, s.constant(0, "i64")
        for d, n in enumerate(x.shape):
            here = s.mul(s.index(d), w.strides[d])
            here = s.add(here, s.index(loop_of[d])) if d in loop_of else here
            here = s.sub(here, w.low[d])
            flat = s.add(flat, s.mul(here, strides[d]))
            if w.low[d] or w.high[d]:
                test = s.binary("and", s.compare("ge", here, 0), s.compare("lt", here, n))
                inside = test if inside is None else s.binary("and", inside, test)
        kept, = c.reader.elements(s, chosen, [best, a])
        better = s.binary("or", s.compare("lt", at, 0), s.logical_not(kept))
        better = better if inside is None else s.binary("and", inside, better)
        return s.select(better, a, best), s.select(better, flat, at)
    out_map = [f"d{i}" for i in range(rank)]
    into = [(f.fill(source.shape, x.type, 0), out_map), (f.fill(source.shape, "i64", -1), out_map)]
    _, places = f.generic(rank + len(taps), [(wide, access)] + window, into, body, set(range(rank, rank + len(taps))))
    total, size = product(source.shape), product(x.shape)
    places, flat_source = f.view(places, (total,)), f.view(source, (total,))
    with f.loop(total, [f.fill((size,), x.type, c.initial(2))]) as (i, (state,), results):
        s = Scalars(f)
        position = Scalar(i, "index")
        at, new = s.extract(places, [position]), s.extract(flat_source, [position])
        some = s.compare("ge", at, 0)
        at = s.index_cast(s.max(at, 0), "index")
        old = s.extract(state, [at])
        sum_, = c.reader.elements(s, combine, [old, new])
        sum_ = s.select(some, sum_, old)
        results[:] = [type(state)(f.op(f"tensor.insert {sum_.name} into {state.name}[{at.name}] : {state.text}"), state.shape, state.type)]
    return f.view(results[0], x.shape)
