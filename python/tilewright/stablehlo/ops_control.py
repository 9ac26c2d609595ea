"""Calls, loops and branches."""

from ..emit.scalars import Scalar, Scalars
from .attributes import enum, is_splat_of, shape_and_type
from .reader import Splat
from .registry import op


def _called(c, attribute):
    block = c.reader.callee(c.op, attribute)
    for number, argument in enumerate(block.arguments):
        c.reader.values[argument] = c.held(number)
    c.reader.calls.append(c.op)
    results = c.reader.block(block)
    c.reader.calls.pop()
    return tuple(c.reader.values[v] for v in results)


@op("func.call")
def call(c):
    """The function's operations, where it is called."""
    return _called(c, "callee")


@op("stablehlo.composite")
def composite(c):
    return _called(c, "decomposition")


def counter_of(condition, body, invariant):
    """(number of the argument, the limit) of a loop that counts up by 1 to a limit from outside; None of any other."""
    operations = [o.operation for o in condition.operations]
    test = next((o for o in operations if o.name == "stablehlo.compare"), None)
    others = [o for o in operations if o.name not in ("stablehlo.compare", "stablehlo.constant", "stablehlo.return")]
    if test is None or others or enum(test.attributes["comparison_direction"]) != "LT" or operations[-1].operands[0] != test.results[0]:
        return None
    arguments = list(condition.arguments)
    counter, limit = test.operands
    shape, type = shape_and_type(counter.type)
    if counter not in arguments or (limit in arguments and arguments.index(limit) not in invariant) or type not in ("i32", "i64") or \
            sum(o.name == "stablehlo.compare" for o in operations) != 1:
        return None
    number = arguments.index(counter)
    new = list(body.operations)[-1].operation.operands[number]
    step = getattr(new.owner, "operation", None)
    if step is None or step.name != "stablehlo.add":
        return None
    a, b = step.operands
    if not (a == body.arguments[number] and is_splat_of(b, 1)) and not (b == body.arguments[number] and is_splat_of(a, 1)):
        return None
    return number, limit


@op("stablehlo.while")
def while_(c):
    """What no iteration changes is not carried. Counting loops become `scf.for`."""
    condition, body = c.region(0), c.region(1)
    ends = list(list(body.operations)[-1].operation.operands)
    values = c.reader.values
    invariant = {i for i, (end, argument) in enumerate(zip(ends, body.arguments)) if end == argument}
    for i in invariant:
        values[condition.arguments[i]] = values[body.arguments[i]] = c.held(i)
    counter = counter_of(condition, body, invariant)
    carried = [i for i in range(len(ends)) if i not in invariant and (counter is None or i != counter[0])]
    starts = [c.value(i) for i in carried]
    if counter is None:
        results = _general(c, condition, body, carried, starts)
    else:
        results, last = _counted(c, condition, body, carried, starts, *counter)
    out = dict(zip(carried, results))
    return tuple(c.held(i) if i in invariant else out[i] if i in out else last for i in range(len(ends)))


def _general(c, condition, body, carried, starts):
    values = c.reader.values

    def bind(block, held):
        for i, v in zip(carried, held):
            values[block.arguments[i]] = v

    def test(held):
        bind(condition, held)
        return c.reader.scalar(c.reader.block(condition)[0])

    def step(held):
        bind(body, held)
        ends = c.reader.block(body)
        return [c.reader.tensor(ends[i]) for i in carried]
    return c.f.repeat(starts, test, step)


def _counted(c, condition, body, carried, starts, number, limit):
    f, values, s = c.f, c.reader.values, Scalars(c.f)
    type = shape_and_type(condition.arguments[number].type)[1]
    first = c.scalar(number)
    for o in condition.operations:
        if o.operation.name == "stablehlo.constant":
            c.reader.write(o.operation)
    last = c.reader.scalar(limit)
    count = s.max(s.sub(s.cast(last, "i64"), s.cast(first, "i64")), 0)
    final = Splat(s.max(last, first), (), type)
    if not carried:
        return [], final
    with f.loop(s.index_cast(count, "index").name, starts) as (i, inner, results):
        here = s.add(s.cast(s.index_cast(Scalar(i, "index"), "i64"), type), first)
        values[body.arguments[number]] = Splat(here, (), type)
        for j, v in zip(carried, inner):
            values[body.arguments[j]] = v
        ends = c.reader.block(body)
        results[:] = [c.reader.tensor(ends[j]) for j in carried]
    return results, final


def _branch(c, number):
    return lambda: [c.reader.tensor(v) for v in c.reader.block(c.region(number))]


@op("stablehlo.if")
def if_(c):
    return tuple(c.f.branch(c.scalar(0), _branch(c, 0), _branch(c, 1)))


@op("stablehlo.case")
def case(c):
    """An index out of range takes the last branch."""
    index, count = c.scalar(0), len(c.op.regions)

    def choose(number):
        if number == count - 1:
            return _branch(c, number)()
        return c.f.branch(Scalars(c.f).compare("eq", index, number), _branch(c, number), lambda: choose(number + 1))
    return tuple(choose(0))
