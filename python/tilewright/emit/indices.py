"""Reads and writes at computed indices. `c` is the context of a reader.

Indices are compared with the size before anything is read: an index out of range is an error of the call.
"""

from . import types
from .scalars import Scalar, Scalars
from .sizes import product
from .value import Value


def check_range(c, index, size, what="an index"):
    """Refuses, in the call, an index that is not in -size .. size - 1. `what` the index is, for the message. Indices that are known to be
    right, as positions are, are not looked at."""
    f = c.f
    least, most = f.bounds.get(index.array.name, (None, None))
    if 0 in index.shape or (isinstance(size, int) and least is not None and -size <= least and most < size):
        return

    def outside(s, a, bad):
        n = s.cast(s.size(size), index.type)
        wrong = s.binary("or", s.compare("ge", a, n), s.compare("lt", a, s.neg(n)))
        return s.binary("or", bad, wrong)
    bad = f.reduce([index], range(index.rank), "i1", False, outside)
    f.reads_at_indices = True
    s = Scalars(f)
    good = s.logical_not(s.extract(bad, []))
    extent = f"extent {size}" if isinstance(size, int) else "its extent"
    f.line(f'cf.assert {good.name}, "{what} is out of range of the dimension that it reads or writes ({extent})"')


def wrapped(s, a, size):
    """An index as i64, counted from the front, and inside of the tensor."""
    a = s.cast(a, "i64")
    n = s.size(size)
    a = s.select(s.compare("lt", a, 0), s.add(a, n), a)
    return s.max(s.min(a, s.sub(n, 1)), 0)


def scatter_with(c, x, axis, index, source, combine):
    """For each element of `index`, in order: x[..., index, ...] = combine(s, x[..., index, ...], source element)."""
    f = c.f
    if 0 in index.shape or 0 in x.shape:
        return x
    shape = x.shape
    if x.rank == 0:
        x, index = f.view(x, (1,)), f.view(index, (1,))
        source = f.view(source, (1,)) if isinstance(source, Value) else source
    if index.rank == 0:
        index = f.view(index, (1,))
        source = f.view(source, (1,)) if isinstance(source, Value) else source
    axis = c.axis(axis, x.rank)
    check_range(c, index, x.shape[axis])
    # A loop runs over a dimension and those of constant extents after it: quotients by constants are products, others take
    # longer than the rest of an element.
    groups = []
    for extent in index.shape:
        if groups and isinstance(extent, int):
            groups[-1].append(extent)
        else:
            groups.append([extent])
    counts = tuple(product(group) for group in groups)
    if isinstance(source, Value):
        box = f.slice(source, [0] * source.rank, list(index.shape)) if source.shape != index.shape else source
        source = f.view(box, counts)
    flat = f.view(index, counts)

    def written(state, position):
        """`state` after the element of `flat` at `position`."""
        s = Scalars(f)
        names = []
        for group, place in zip(groups, position, strict=True):
            at, rest = [], s.index_cast(place, "i64")
            for n in reversed(group[1:]):
                size = s.size(n)
                at.insert(0, s.binary("rem", rest, size))
                rest = s.div(rest, size)
            names += [rest, *at]
        names[axis] = wrapped(s, s.extract(flat, position), x.shape[axis])
        names = [s.index_cast(a, "index") for a in names]
        new = s.extract(source, position) if isinstance(source, Value) else s.constant(source, x.type)
        if combine is not None:
            old = s.extract(state, names)
            wide = types.compute(x.type)
            new = s.cast(combine(s, s.cast(old, wide), s.cast(new, wide)), x.type)
        name = f.op(f"tensor.insert {new.name} into {state.name}[{', '.join(n.name for n in names)}] : {state.text}")
        return Value(name, x.shape, x.type)

    def nest(state, position):
        if len(position) == len(groups):
            return written(state, position)
        with f.loop(counts[len(position)], [state]) as (i, (inner,), results):
            results[:] = [nest(inner, [*position, Scalar(i, "index")])]
        return results[0]

    return f.view(nest(x, []), shape)
