"""Sorting by counting. `c` is the context of a reader; its `f` is the function under construction."""

from . import types


def order_key(c, x):
    """Integers that order as the elements do, NaN last, both zeros equal."""
    if not types.is_float(x.type):
        return c.cast(x, "i64")
    wide = "f64" if x.type == "f64" else "f32"
    integer = "i64" if wide == "f64" else "i32"

    def body(s, a):
        a = s.cast(a, wide)
        nan = s.is_nan(a)
        zero = s.compare("eq", a, 0)
        bits = s.op(f"arith.bitcast {a.name} : {wide} to {integer}", integer)
        sign = s.binary("shr", bits, types.BITS[integer] - 1)
        key = s.binary("xor", bits, s.binary("and", sign, types.highest(integer)))
        key = s.select(zero, s.constant(0, integer), key)
        return s.select(nan, s.constant(types.highest(integer), integer), key)
    return c.f.map([x], x.shape, integer, body)


#: Rows are ordered by counting, which takes n * n comparisons; longer ones run eagerly.
LONGEST_SORT = 4096


def ranks(c, key, axis, descending):
    """How many elements of its row come before each element; equal ones keep their order."""
    loops = [f"d{i}" for i in range(key.rank)]
    other = [f"d{key.rank}" if i == axis else d for i, d in enumerate(loops)]

    def body(s, mine, its, count):
        before = s.compare("gt" if descending else "lt", its, mine)
        tie = s.binary("and", s.compare("eq", its, mine), s.compare("lt", s.index(key.rank), s.index(axis)))
        return s.add(count, s.cast(s.binary("or", before, tie), "i64"))
    return c.f.generic(key.rank + 1, [(key, loops), (key, other)], [(c.f.fill(key.shape, "i64", 0), loops)], body, {key.rank})


def positions_by_rank(c, rank, axis, count):
    """Row positions of the elements whose ranks are 0 to count - 1."""
    shape = [count if i == axis else n for i, n in enumerate(rank.shape)]
    loops = [f"d{i}" for i in range(rank.rank)]
    other = [f"d{rank.rank}" if i == axis else d for i, d in enumerate(loops)]

    def body(s, r, found):
        hit = s.compare("eq", r, s.index(axis))
        return s.add(found, s.select(hit, s.index(rank.rank), s.constant(0, "i64")))
    return c.f.generic(rank.rank + 1, [(rank, other)], [(c.f.fill(shape, "i64", 0), loops)], body, {rank.rank})


def taken(c, x, axis, positions):
    def body(s, a):
        at = [s.index(i) for i in range(x.rank)]
        at[axis] = a
        return s.extract(x, at)
    return c.f.map([positions], positions.shape, x.type, body)


def sorted_with_positions(c, x, axis, descending, count=None):
    if x.rank == 0:
        return x, c.f.fill((), "i64", 0)
    axis = c.axis(axis, x.rank)
    size = x.shape[axis]
    if not isinstance(size, int) or size > LONGEST_SORT:
        c.refuse(f"sorting rows of {size} elements is not compiled; rows of constant size up to {LONGEST_SORT} are")
    count = size if count is None else count
    if 0 in x.shape or count == 0:
        shape = [count if i == axis else n for i, n in enumerate(x.shape)]
        return c.f.empty(shape, x.type), c.f.empty(shape, "i64")
    positions = positions_by_rank(c, ranks(c, order_key(c, x), axis, descending), axis, count)
    return taken(c, x, axis, positions), positions


def selected(c, x, k, axis, largest):
    """The best of what comes after the one found last, k times: 2 k n comparisons."""
    f, key = c.f, order_key(c, x)
    if not largest:
        key = c.f.map([key], key.shape, key.type, lambda s, a: s.binary("xor", a, -1))
    row = [n for i, n in enumerate(x.shape) if i != axis]
    shape = [k if i == axis else n for i, n in enumerate(x.shape)]
    loops = [f"d{i}" for i in range(x.rank)]
    kept = [d for i, d in enumerate(loops) if i != axis]
    last, none = types.highest("i64"), types.lowest(key.type)
    state = [f.fill(shape, "i64", 0), f.fill(row, key.type, types.highest(key.type)), f.fill(row, "i64", -1)]
    with f.loop(k, state) as (i, (found, best, at), results):
        def after(s, a, b, p):
            return s.binary("or", s.compare("lt", a, b), s.binary("and", s.compare("eq", a, b), s.compare("gt", s.index(axis), p)))

        def largest_of(s, a, b, p, m):
            return s.max(m, s.select(after(s, a, b, p), a, s.constant(none, key.type)))
        new_best = f.generic(x.rank, [(key, loops), (best, kept), (at, kept)], [(f.fill(row, key.type, none), kept)], largest_of, {axis})

        def position(s, a, b, p, n, m):
            hit = s.binary("and", after(s, a, b, p), s.compare("eq", a, n))
            return s.min(m, s.select(hit, s.index(axis), s.constant(last, "i64")))
        new_at = f.generic(x.rank, [(key, loops), (best, kept), (at, kept), (new_best, kept)], [(f.fill(row, "i64", last), kept)],
                           position, {axis})
        offsets = [i if d == axis else 0 for d in range(x.rank)]
        box = [1 if d == axis else n for d, n in enumerate(x.shape)]
        results[:] = [f.insert(new_at, found, offsets, sizes=box), new_best, new_at]
    return taken(c, x, axis, results[0]), results[0]
