"""Operations that have graphs as arguments: branches, loops, scans and maps (`torch.cond`, `while_loop`, `scan`, `map`)."""

from ..emit.control import collect
from ..emit.scalars import Scalars
from ..emit.sizes import symbols_of
from ..emit.value import Value
from .context import shape_of, type_of
from .importer import Writer, is_tensor
from .registry import op


def written(c, module, operands, results=None):
    """What a graph gives on these operands: tensors, under the shapes and types of the fake tensors `results`."""
    streams = c.f.streams
    made = Writer(c.f).graph(module, operands)
    if c.f.streams != streams:
        c.refuse("random numbers inside of it would be the same each time; draw them outside and give them as operands")
    if not all(isinstance(m, Value) for m in made):
        c.refuse("its graphs give numbers or nothing beside tensors")
    if results is None:
        return made
    for m, fake in zip(made, results, strict=True):
        if m.type != type_of(fake):
            c.refuse(f"a graph of it gives elements of {m.type} where {type_of(fake)} are wanted")
    return [c.f.cast_shape(m, shape_of(fake)) for m, fake in zip(made, results)]


def results_of(c):
    """The fake tensors of the results. Their sizes have to follow from those of the operands."""
    fakes = list(c.meta)
    if not all(is_tensor(fake) for fake in fakes):
        c.refuse("it gives numbers or nothing beside tensors")
    known = set()
    for source in c.node.all_input_nodes:
        held = source.meta.get("val")
        for n in held.shape if is_tensor(held) else [held]:
            known |= symbols_of(n.node.expr) if hasattr(n, "node") else set()
    for fake in fakes:
        for n in shape_of(fake):
            if not symbols_of(n) <= known:
                c.refuse("the sizes of its results follow from data")
    return fakes


def tensors(c, operands):
    if not all(isinstance(v, Value) for v in operands):
        c.refuse("it carries numbers that are no tensors from iteration to iteration")
    return list(operands)


def at(c, value, i):
    """Slice i along the first dimension; i is the name of an index value."""
    return c.f.slice(value, [i] + [0] * (value.rank - 1), [1, *value.shape[1:]], drop=[0])


def rows_of(fakes):
    """Values of the shapes and types of the rows that results are stacks of; they have no text."""
    return [Value("", shape_of(fake)[1:], type_of(fake)) for fake in fakes]


@op("higher_order::cond")
def cond(c, condition, then, otherwise, operands=()):
    if not isinstance(condition, Value):
        c.refuse("its condition is a number, which is known when the graph is compiled")
    results = results_of(c)
    test = Scalars(c.f).extract(condition, [0] * condition.rank)
    return tuple(c.f.branch(test, *(lambda side=side: written(c, side, operands, results) for side in (then, otherwise))))


@op("higher_order::while_loop")
def while_loop(c, condition, body, carried, others=()):
    carried, results = tensors(c, carried), results_of(c)

    def test(values):
        goes, = written(c, condition, [*values, *others])
        return Scalars(c.f).extract(goes, [0] * goes.rank)
    carried = [c.f.cast_shape(v, shape_of(fake)) for v, fake in zip(carried, results, strict=True)]
    return tuple(c.f.repeat(carried, test, lambda values: written(c, body, [*values, *others], results)))


@op("higher_order::scan")
def scan(c, body, carried, sources, others=()):
    carried, sources, fakes = tensors(c, carried), tensors(c, sources), results_of(c)
    ends, stacks = fakes[:len(carried)], fakes[len(carried):]
    rows = rows_of(stacks)

    def once(i, values):
        made = written(c, body, [*values, *(at(c, v, i) for v in sources), *others])
        return [c.f.cast_shape(v, shape_of(fake)) for v, fake in zip(made, ends)], made[len(carried):]
    carried = [c.f.cast_shape(v, shape_of(fake)) for v, fake in zip(carried, ends)]
    values, stacks = collect(c.f, sources[0].shape[0], carried, rows, once)
    return (*values, *stacks)


@op("higher_order::map_impl")
def map_(c, body, sources, others=()):
    sources, fakes = tensors(c, sources), results_of(c)

    def once(i, _):
        return [], written(c, body, [*(at(c, v, i) for v in sources), *others])
    return tuple(collect(c.f, sources[0].shape[0], [], rows_of(fakes), once)[1])
