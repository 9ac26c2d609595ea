"""Order: sorting by any comparison, the largest elements. Rows are ordered by counting."""

from ..emit.order import LONGEST_SORT, order_key, positions_by_rank, ranks, taken
from .registry import op


def check_length(c, n):
    if not isinstance(n, int) or n > LONGEST_SORT:
        length = f"{n} elements" if isinstance(n, int) else "a dynamic number of elements"
        c.refuse(f"sorting rows of {length} is not compiled; rows of up to {LONGEST_SORT} are")


@op("stablehlo.sort")
def sort(c):
    values = [c.value(i) for i in range(len(c.op.operands))]
    rank, axis = values[0].rank, c.integer("dimension")
    axis = axis + rank if axis < 0 else axis
    check_length(c, values[0].shape[axis])
    loops = [f"d{i}" for i in range(rank)]
    other = [f"d{rank}" if i == axis else d for i, d in enumerate(loops)]

    def body(s, *elements):
        """How many elements come before: those that the comparison puts first, and equal ones with a smaller index."""
        count = elements[-1]
        mine, its = elements[:len(values)], elements[len(values):-1]
        first, = c.reader.elements(s, c.region(), [e for pair in zip(its, mine) for e in pair])
        after, = c.reader.elements(s, c.region(), [e for pair in zip(mine, its) for e in pair])
        tie = s.binary("and", s.logical_not(after), s.compare("lt", s.index(rank), s.index(axis)))
        return s.add(count, s.cast(s.binary("or", first, tie), "i64"))
    shape = values[0].shape
    rank_of = c.f.generic(rank + 1, [(v, loops) for v in values] + [(v, other) for v in values],
                          [(c.f.fill(shape, "i64", 0), loops)], body, {rank})
    positions = positions_by_rank(c, rank_of, axis, shape[axis])
    return tuple(taken(c, v, axis, positions) for v in values)


@op("chlo.top_k")
def top_k(c):
    x, k = c.value(0), c.integer("k")
    axis = x.rank - 1
    check_length(c, x.shape[axis])
    positions = positions_by_rank(c, ranks(c, order_key(c, x), axis, True), axis, k)
    return taken(c, x, axis, positions), c.cast(positions, "i32")
