"""Operations that move elements or look at them in another shape: broadcasts, slices, joins, borders, ranges."""

import numpy as np

from ..emit.sizes import plain
from ..emit.value import Value
from .reader import Numbers, Splat, Spread
from .registry import op


@op("stablehlo.broadcast_in_dim", "stablehlo.dynamic_broadcast_in_dim")
def broadcast_in_dim(c):
    held, dims, shape = c.held(0), c.integers("broadcast_dimensions"), c.shape
    if isinstance(held, Splat):
        return Splat(held.number, shape, held.type)
    if isinstance(held, Numbers):
        held = c.value(0)
    if isinstance(held, Spread):
        return Spread(held.value, [dims[d] for d in held.dims], shape)
    if held.shape == shape and dims == list(range(held.rank)):
        return held
    return Spread(held, dims, shape)


@op("stablehlo.reshape", "stablehlo.dynamic_reshape")
def reshape(c):
    held = c.held(0)
    if isinstance(held, Splat):
        return Splat(held.number, c.shape, held.type)
    if isinstance(held, Numbers):
        return Numbers(held.entries.reshape(c.shape), held.type)
    return c.f.view(c.value(0), c.shape)


@op("stablehlo.transpose")
def transpose(c):
    held, order = c.held(0), c.integers("permutation")
    if isinstance(held, Splat):
        return Splat(held.number, c.shape, held.type)
    if isinstance(held, Spread):
        return Spread(held.value, [order.index(d) for d in held.dims], c.shape)
    return c.f.transpose(c.value(0), order)


@op("stablehlo.slice")
def slice_(c):
    held = c.held(0)
    if isinstance(held, Splat):
        return Splat(held.number, c.shape, held.type)
    first, strides = c.integers("start_indices"), c.integers("strides")
    if isinstance(held, Numbers):
        ranges = tuple(slice(a, a + n * s, s) for a, n, s in zip(first, c.shape, strides))
        return c.reader.of_entries(held.entries[ranges], held.type)
    return c.f.slice(c.value(0), first, c.shape, strides)


@op("stablehlo.real_dynamic_slice")
def real_dynamic_slice(c):
    return c.f.slice(c.value(0), c.sizes(1), c.shape, c.sizes(3))


@op("stablehlo.reverse")
def reverse(c):
    x, turned = c.value(0), c.integers("dimensions")
    loops = [f"d{i}" for i in range(x.rank)]

    def body(s, _):
        return s.extract(x, [s.sub(s.size(plain(n - 1)), s.index(i)) if i in turned else s.index(i) for i, n in enumerate(x.shape)])
    return c.f.generic(x.rank, [], [(c.f.empty(x.shape, x.type), loops)], body)


@op("stablehlo.concatenate")
def concatenate(c):
    axis = c.integer("dimension")
    known = [c.reader.entries(c.held(i)) for i in range(len(c.op.operands))] if c.reader.has_dynamic_sizes else [None]
    if all(e is not None for e in known) and c.type in ("i32", "i64"):
        return c.reader.of_entries(np.concatenate(known, axis), c.type)
    values = [v for v in (c.value(i) for i in range(len(c.op.operands))) if 0 not in v.shape]
    return values[0] if len(values) == 1 else c.f.concat(values, axis, c.shape)


def spread_out(c, x, low, high, interior, fill):
    """Elements `interior` + 1 apart, with borders; negative ones cut. `fill`: a number or a scalar."""
    f = c.f
    wide = [n if i == 0 else max(n + (n - 1) * i, 0) if isinstance(n, int) else plain(n + (n - 1) * i) for n, i in zip(x.shape, interior)]
    if any(i != 0 for i in interior):
        if 0 not in x.shape:
            x = f.insert(x, f.fill(wide, x.type, fill), [0] * x.rank, [i + 1 for i in interior])
        else:
            x = Value(x.name, x.shape, x.type)
    shape = [plain(n + a + b) for n, a, b in zip(x.shape, low, high)]
    cut = [(_positive_part(c, -a), _positive_part(c, -b)) for a, b in zip(low, high)]
    left = [plain(n - a - b) for n, (a, b) in zip(x.shape, cut)]
    if 0 in x.shape or any(isinstance(n, int) and n <= 0 for n in left):  # nothing of it is left
        return f.fill(shape, x.type, fill)
    if any(a != 0 or b != 0 for a, b in cut):
        x = f.slice(x, [a for a, _ in cut], left)
    return f.pad(x, [_positive_part(c, n) for n in low], [_positive_part(c, n) for n in high], shape, fill)


def _positive_part(c, n):
    """max(n, 0)"""
    if c.reader.is_at_least_0(n) or c.reader.is_at_least_0(-n):
        return plain(n) if c.reader.is_at_least_0(n) else 0
    import sympy
    return sympy.Max(n, 0)


@op("stablehlo.pad")
def pad(c):
    low, high, interior = (c.integers(f) for f in ("edge_padding_low", "edge_padding_high", "interior_padding"))
    return spread_out(c, c.value(0), low, high, interior, c.initial(1))


@op("stablehlo.dynamic_pad")
def dynamic_pad(c):
    return spread_out(c, c.value(0), c.sizes(2), c.sizes(3), c.sizes(4), c.initial(1))


@op("stablehlo.iota", "stablehlo.dynamic_iota")
def iota(c):
    axis, (shape, type) = c.integer("iota_dimension"), c.results[0]
    loops = [f"d{i}" for i in range(len(shape))]
    return c.f.generic(len(shape), [], [(c.f.empty(shape, type), loops)], lambda s, _: s.cast(s.index(axis), type))


@op("stablehlo.get_dimension_size")
def get_dimension_size(c):
    return Splat(c.held(0).shape[c.integer("dimension")], (), c.type)


@op("stablehlo.set_dimension_size")
def set_dimension_size(c):
    """A size that is set to what it is."""
    size = c.held(1)
    if not isinstance(size, Splat) or size.number != c.shape[c.integer("dimension")]:
        c.refuse("a dynamic size is not compiled; programs are compiled for each shape")
    return c.held(0)


@op("stablehlo.optimization_barrier", "mhlo.copy", "stablehlo.copy")
def identity(c):
    return tuple(c.held(i) for i in range(len(c.op.operands)))


#: Calls of annotations, which change nothing.
ANNOTATIONS = ("Sharding", "annotate_device_placement", "LayoutConstraint")


@op("stablehlo.custom_call")
def custom_call(c):
    target = str(c.op.attributes["call_target_name"]).strip('"')
    if target in ANNOTATIONS and len(c.op.operands) == 1:
        return c.held(0)
    if target == "shape_assertion":
        c.reader.require(c.op, c.held(0), str(c.op.attributes["error_message"]).strip('"').partition(" Using the following")[0])
        return ()
    if target == "stablehlo.dynamic_reduce_window":
        from .ops_reduce import dynamic_reduce_window
        return dynamic_reduce_window(c)
    c.refuse(f"a call of the library function '{target}' is not compiled")
