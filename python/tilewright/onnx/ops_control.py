"""Branches and loops."""

import numpy as np

from ..emit.control import collect, tried
from ..emit.scalars import Scalar, Scalars
from ..emit.value import Value
from .registry import op
from .values import Constant

#: Loops whose shapes change from iteration to iteration are written out where they have at most so many.
MOST_UNROLLED = 64


def scalar(c, held):
    """The one element of a tensor."""
    value = c.tensor(held)
    return Scalars(c.f).extract(value, [0] * value.rank)


def rank_0(c, scalar):
    return Value(c.f.op(f"tensor.from_elements {scalar.name} : tensor<{scalar.type}>"), (), scalar.type)


@op("If", raw=True)
def if_(c, condition):
    """A condition that is known takes its branch; of others both have to make the same types and shapes."""
    sides = [c.attribute("then_branch"), c.attribute("else_branch")]
    if isinstance(condition, Constant):
        return tuple(c.reader.graph(sides[0 if condition.array.reshape(-1)[0] else 1]))
    kinds = []

    def write(graph):
        def side():
            results = c.reader.graph(graph)
            if any(isinstance(r, list) or r is None for r in results):
                c.refuse("a branch that gives a sequence is compiled where the condition is known alone")
            results = [c.tensor(r) for r in results]
            kinds.append([r.text for r in results])
            return results
        return side
    test = scalar(c, condition)
    results = c.f.branch(test, *map(write, sides))
    if kinds[0] != kinds[1]:
        c.refuse(
            f"its branches give {', '.join(kinds[0])} and {', '.join(kinds[1])}; they have to give the same types "
            f"and shapes"
        )
    return tuple(results)


def always_true(graph, name, condition):
    """Whether an output of a body is what its input `condition` is, or true."""
    producers = {o: n for n in graph.node for o in n.output}
    constants = {i.name: i for i in graph.initializer}
    while name in producers and producers[name].op_type in ("Identity", "Cast"):
        name = producers[name].input[0]
    if name == condition:
        return True
    from onnx import numpy_helper
    if name in constants:
        return bool(numpy_helper.to_array(constants[name]).all())
    if name in producers and producers[name].op_type == "Constant":
        return any(bool(numpy_helper.to_array(a.t).all()) for a in producers[name].attribute if a.name == "value")
    return False


def is_sequence(values):
    return any(isinstance(v, list) or v is None for v in values)


@op("Loop", raw=True)
def loop(c, trips, condition, *carried):
    body = c.attribute("body")
    names = [i.name for i in body.input]
    count = len(carried)
    endless = always_true(body, body.output[0].name, names[1])
    begins = condition is None or isinstance(condition, Constant) and bool(condition.array.reshape(-1)[0])
    if isinstance(condition, Constant) and not begins:
        trips, endless = Constant(np.array(0, np.int64), "i64"), True
    known = int(trips.array.reshape(-1)[0]) if isinstance(trips, Constant) and not trips.is_symbolic else None

    def once(step, values, test=None):
        test = Constant(np.array(True), "i1") if test is None else test
        return c.reader.graph(body, [step, test, *values])
    if known is not None and known <= MOST_UNROLLED and endless and changes(c, once, carried):
        return unrolled(c, once, known, list(carried))
    if is_sequence(carried):
        c.refuse(
            f"a loop that carries a sequence is compiled with a known number of at most {MOST_UNROLLED} iterations")
    scans = len(body.output) - 1 - count
    if endless and begins and trips is not None:
        if scans and known is None:
            c.static(0, "the number of iterations, which is a size of its results,")
        return counted(c, once, scalar(c, trips) if known is None else known, [c.tensor(v) for v in carried], scans)
    if scans:
        c.refuse(
            "a loop that ends by its condition and collects results, whose number is then unknown, is not compiled")
    return general(c, once, trips, condition, [c.tensor(v) for v in carried])


def of_step(c, name):
    s = Scalars(c.f)
    return rank_0(c, s.cast(s.index_cast(Scalar(name, "index"), "i64"), "i64"))


def changes(c, once, carried):
    """Whether an iteration gives other shapes than it takes, or sequences."""
    if is_sequence(carried):
        return True
    carried = [c.tensor(v) for v in carried]
    made = tried(c.f, lambda: once(Constant(np.array(0), "i64"), carried))[1:]
    if is_sequence(made):
        return True
    return any(m.shape != v.shape for m, v in zip(made, carried))


def unrolled(c, once, count, values):
    collected = None
    for i in range(count):
        made = once(Constant(np.array(i, np.int64), "i64"), values)[1:]
        values, scans = made[:len(values)], made[len(values):]
        collected = [[] for _ in scans] if collected is None else collected
        for each, v in zip(collected, scans):
            v = c.tensor(v)
            each.append(c.f.view(v, (1, *v.shape)))
    if not count:
        c.refuse("a loop without iterations is not compiled")
    return (*values, *(each[0] if len(each) == 1 else c.f.concat(each, 0, (count, *each[0].shape[1:]))
                       for each in collected))


def counted(c, once, count, carried, scans):
    """`scf.for`; results of iterations are written into tensors that are carried along."""
    made = tried(c.f, lambda: [c.tensor(v) for v in once(Constant(np.array(0, np.int64), "i64"), carried)[1:]])
    if count != 0:
        for v, m in zip(carried, made):
            if v.shape != m.shape or v.type != m.type:
                c.refuse(
                    f"an iteration takes {v.text} and gives {m.text}; a loop of more than {MOST_UNROLLED} iterations has "
                    f"to keep shapes"
                )

    def step(i, values):
        new = [c.tensor(v) for v in once(of_step(c, i), values)[1:]]
        return new[:len(carried)], new[len(carried):]
    upper = count if isinstance(count, int) else Scalars(c.f).index_cast(count, "index").name
    values, stacks = collect(c.f, upper, carried, made[len(carried):], step)
    return (*values, *stacks)


def general(c, once, trips, condition, carried):
    """`scf.while` over the iteration, the condition and what is carried."""
    f, s = c.f, Scalars(c.f)
    start = rank_0(c, s.constant(True, "i1") if condition is None else scalar(c, condition))
    limit = None if trips is None else scalar(c, trips)

    def test(values):
        inner = Scalars(f)
        go = inner.extract(values[1], [])
        return go if limit is None else inner.binary("and", go, inner.compare("lt", inner.extract(values[0], []),
                                                                              limit))

    def step(values):
        inner = Scalars(f)
        made = [c.tensor(v) for v in once(values[0], values[2:], values[1])]
        for v, m in zip(values[2:], made[1:]):
            if v.shape != m.shape:
                c.refuse(
                    f"an iteration takes {v.text} and gives {m.text}; a loop that ends by its condition has to keep "
                    f"shapes"
                )
        return [rank_0(c, inner.add(inner.extract(values[0], []), 1)), f.view(made[0], ()), *made[1:]]
    return tuple(f.repeat([rank_0(c, s.constant(0, "i64")), start, *carried], test, step)[2:])


@op("Scan", raw=True)
def scan(c, *inputs):
    """A loop over slices of its inputs."""
    body, count = c.attribute("body"), c.attribute("num_scan_inputs")
    if c.version < 9:
        c.refuse("the form of this operation before version 9 is not compiled; convert the model to version 9 or later")
    states, sources = [c.tensor(v) for v in inputs[:-count]], [c.tensor(v) for v in inputs[-count:]]
    outputs = len(body.output) - len(states)
    axes = [c.axis(a, v.rank) for a, v in zip(c.attribute("scan_input_axes", [0] * count), sources)]
    backwards = c.attribute("scan_input_directions", [0] * count)
    out_backwards, out_axes = c.attribute("scan_output_directions", [0] * outputs), c.attribute(
        "scan_output_axes", [0] * outputs)
    f, length = c.f, sources[0].shape[axes[0]]

    def place(i, reverse):
        return f.op(f"arith.subi {f.index(length - 1)}, {i} : index") if reverse else i

    def once(i, values):
        parts = []
        for v, axis, reverse in zip(sources, axes, backwards):
            offsets, box = [0] * v.rank, list(v.shape)
            offsets[axis], box[axis] = place(i, reverse), 1
            parts.append(f.slice(v, offsets, box, drop=[axis]))
        return [c.tensor(v) for v in c.reader.graph(body, [*values, *parts])]
    made = tried(f, lambda: once(f.constant(0, "index"), states))

    def step(i, values):
        new = once(i, values)
        return new[:len(states)], new[len(states):]
    places = [lambda i, reverse=reverse: place(i, reverse) for reverse in out_backwards]
    states, stacks = collect(f, length, states, made[len(states):], step, places)
    moved = []
    for v, axis in zip(stacks, out_axes):
        axis = c.axis(axis, v.rank)
        order = [*range(1, axis + 1), 0, *range(axis + 1, v.rank)]
        moved.append(f.transpose(v, order))
    return (*states, *moved)
