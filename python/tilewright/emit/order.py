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
