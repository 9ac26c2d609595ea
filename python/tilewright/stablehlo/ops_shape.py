"""Operations that move elements or look at them in another shape: broadcasts, slices, joins, borders, ranges."""

from ..emit.value import Value
from .reader import Splat, Spread
from .registry import op


@op("stablehlo.broadcast_in_dim")
def broadcast_in_dim(c):
    held, dims, shape = c.held(0), c.integers("broadcast_dimensions"), c.shape
    if isinstance(held, Splat):
        return Splat(held.number, shape, held.type)
    if isinstance(held, Spread):
        return Spread(held.value, [dims[d] for d in held.dims], shape)
    if held.shape == shape and dims == list(range(held.rank)):
        return held
    return Spread(held, dims, shape)


@op("stablehlo.reshape")
def reshape(c):
    held = c.held(0)
    if isinstance(held, Splat):
        return Splat(held.number, c.shape, held.type)
    return c.f.view(c.value(0), c.shape)


@op("stablehlo.transpose")
def transpose(c):
    held, order = c.held(0), c.integers("permutation")
    if isinstance(held, Splat):
        return Splat(held.number, c.shape, held.type)
    if isinstance(held, Spread):
        return Spread(held.value, [order.index(d) for d in held.dims], c.shape)
    return c.f.transpose(held, order)


@op("stablehlo.slice")
def slice_(c):
    held = c.held(0)
    if isinstance(held, Splat):
        return Splat(held.number, c.shape, held.type)
    return c.f.slice(c.value(0), c.integers("start_indices"), c.shape, c.integers("strides"))


@op("stablehlo.reverse")
def reverse(c):
    x, turned = c.value(0), c.integers("dimensions")
    loops = [f"d{i}" for i in range(x.rank)]

    def body(s, _):
        return s.extract(x, [s.sub(s.size(n - 1), s.index(i)) if i in turned else s.index(i) for i, n in enumerate(x.shape)])
    return c.f.generic(x.rank, [], [(c.f.empty(x.shape, x.type), loops)], body)


@op("stablehlo.concatenate")
def concatenate(c):
    axis = c.integer("dimension")
    values = [v for v in (c.value(i) for i in range(len(c.op.operands))) if 0 not in v.shape]
    return values[0] if len(values) == 1 else c.f.concat(values, axis, c.shape)


def spread_out(f, x, low, high, interior, fill):
    """Elements `interior` + 1 apart, with borders; negative ones cut. `fill`: a number or a scalar."""
    if any(interior):
        shape = [max(n + max(n - 1, 0) * i, 0) for n, i in zip(x.shape, interior)]
        if 0 not in x.shape:
            x = f.insert(x, f.fill(shape, x.type, fill), [0] * x.rank, [i + 1 for i in interior])
        else:
            x = Value(x.name, x.shape, x.type)
    if 0 in x.shape:
        return f.fill([n + a + b for n, a, b in zip(x.shape, low, high)], x.type, fill)
    if any(n + min(a, 0) + min(b, 0) <= 0 for n, a, b in zip(x.shape, low, high)):  # nothing of it is left
        return f.fill([n + a + b for n, a, b in zip(x.shape, low, high)], x.type, fill)
    if any(a < 0 or b < 0 for a, b in zip(low, high)):
        x = f.slice(x, [max(-a, 0) for a in low], [n + min(a, 0) + min(b, 0) for n, a, b in zip(x.shape, low, high)])
    low, high = [max(a, 0) for a in low], [max(b, 0) for b in high]
    return f.pad(x, low, high, [n + a + b for n, a, b in zip(x.shape, low, high)], fill)


@op("stablehlo.pad")
def pad(c):
    low, high, interior = (c.integers(f) for f in ("edge_padding_low", "edge_padding_high", "interior_padding"))
    return spread_out(c.f, c.value(0), low, high, interior, c.initial(1))


@op("stablehlo.iota")
def iota(c):
    axis, (shape, type) = c.integer("iota_dimension"), c.results[0]
    loops = [f"d{i}" for i in range(len(shape))]
    return c.f.generic(len(shape), [], [(c.f.empty(shape, type), loops)], lambda s, _: s.cast(s.index(axis), type))


@op("stablehlo.get_dimension_size")
def get_dimension_size(c):
    from .attributes import shape_and_type
    shape, _ = shape_and_type(c.op.operands[0].type)
    return Splat(shape[c.integer("dimension")], (), c.type)


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
    c.refuse(f"a call of the library function '{target}' is not compiled")
