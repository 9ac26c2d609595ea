"""Shapes of results whose types leave sizes open, from the shapes of the operands and the sizes that a module computes."""

from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo

from ..emit.sizes import ceil_div, floor_div, plain
from .registry import Unsupported

_RULES = {}


def rule(*names):
    def register(function):
        _RULES.update(dict.fromkeys(names, function))
        return function
    return register


def completed(c, types):
    """(shape, type) of each result with sizes in the place of None; `c`: the operation, whose operands are known."""
    if all(None not in shape for shape, _ in types):
        return types
    shapes = _RULES[c.op.name](c) if c.op.name in _RULES else _same(c)
    return [(tuple(plain(n) if k is None else k for k, n in zip(known, shape, strict=True)), type)
            for (known, type), shape in zip(types, shapes, strict=True)]


def _shape(c, number):
    return c.held(number).shape


def _same(c):
    """Results are shaped as the operands of their rank are."""
    shapes = []
    for result in c.op.results:
        rank = ir.RankedTensorType(result.type).rank
        same = [_shape(c, i) for i in range(len(c.op.operands)) if len(_shape(c, i)) == rank]
        if not same:
            raise Unsupported(f"the dynamic sizes of {result.type} are not known")
        # Of several expressions for one size the first that is a number.
        shapes.append([next((s[d] for s in same if isinstance(s[d], int)), same[0][d]) for d in range(rank)])
    return shapes


@rule("stablehlo.while", "stablehlo.sort", "stablehlo.optimization_barrier", "mhlo.copy", "stablehlo.copy", "stablehlo.scatter")
def _as_operands(c):
    return [_shape(c, i) for i in range(len(c.op.results))]


@rule("stablehlo.dynamic_update_slice", "stablehlo.select_and_scatter", "stablehlo.reverse")
def _as_first(c):
    return [_shape(c, 0)]


@rule("stablehlo.transpose")
def _transpose(c):
    return [[_shape(c, 0)[d] for d in c.integers("permutation")]]


@rule("stablehlo.dot_general")
def _dot_general(c):
    n = stablehlo.DotDimensionNumbers(c.op.attributes["dot_dimension_numbers"])
    left, right = _shape(c, 0), _shape(c, 1)
    gone_left = {*n.lhs_batching_dimensions, *n.lhs_contracting_dimensions}
    gone_right = {*n.rhs_batching_dimensions, *n.rhs_contracting_dimensions}
    return [[left[d] for d in n.lhs_batching_dimensions] + [s for d, s in enumerate(left) if d not in gone_left] +
            [s for d, s in enumerate(right) if d not in gone_right]]


@rule("stablehlo.dot")
def _dot(c):
    return [[*_shape(c, 0)[:-1], *_shape(c, 1)[1:]]]


@rule("stablehlo.reduce")
def _reduce(c):
    gone = c.integers("dimensions")
    return [[n for d, n in enumerate(_shape(c, 0)) if d not in gone]] * len(c.op.results)


@rule("stablehlo.concatenate")
def _concatenate(c):
    axis, shapes = c.integer("dimension"), [_shape(c, i) for i in range(len(c.op.operands))]
    return [[sum(s[d] for s in shapes) if d == axis else n for d, n in enumerate(shapes[0])]]


@rule("stablehlo.pad")
def _pad(c):
    low, high, interior = (c.integers(f) for f in ("edge_padding_low", "edge_padding_high", "interior_padding"))
    return [padded(_shape(c, 0), low, high, interior)]


@rule("stablehlo.dynamic_pad")
def _dynamic_pad(c):
    return [padded(_shape(c, 0), *(c.sizes(i) for i in (2, 3, 4)))]


def padded(shape, low, high, interior):
    return [n + a + b + (n - 1) * i if i else n + a + b for n, a, b, i in zip(shape, low, high, interior)]


@rule("stablehlo.slice")
def _slice(c):
    return [[ceil_div(b - a, s) for a, b, s in zip(*(c.integers(f) for f in ("start_indices", "limit_indices", "strides")))]]


@rule("stablehlo.real_dynamic_slice")
def _real_dynamic_slice(c):
    extents = [c.reader.extent(a, b) for a, b in zip(c.entries(1), c.entries(2))]
    return [[n if s == 1 else ceil_div(n, s) for n, s in zip(extents, c.sizes(3))]]


@rule("stablehlo.dynamic_slice")
def _dynamic_slice(c):
    return [c.integers("slice_sizes")]


@rule("stablehlo.dynamic_broadcast_in_dim", "stablehlo.dynamic_reshape")
def _by_operand(c):
    return [c.sizes(1)]


@rule("stablehlo.dynamic_iota")
def _dynamic_iota(c):
    return [c.sizes(0)]


@rule("stablehlo.gather", "stablehlo.dynamic_gather")
def _gather(c):
    n = stablehlo.GatherDimensionNumbers(c.op.attributes["dimension_numbers"])
    sizes = c.sizes(2) if c.op.name == "stablehlo.dynamic_gather" else c.integers("slice_sizes")
    window = [s for d, s in enumerate(sizes) if d not in {*n.collapsed_slice_dims, *n.operand_batching_dims}]
    batch = [s for d, s in enumerate(_shape(c, 1)) if d != n.index_vector_dim]
    rank = ir.RankedTensorType(c.op.results[0].type).rank
    return [[window.pop(0) if d in n.offset_dims else batch.pop(0) for d in range(rank)]]


def windowed(n, low, high, spacing, size, dilation, stride):
    """How many windows there are."""
    wide = n + low + high + (n - 1) * (spacing - 1) if spacing != 1 else n + low + high
    span = wide - (size - 1) * dilation - 1
    return plain((floor_div(plain(span), stride) if stride != 1 else span) + 1)


@rule("stablehlo.reduce_window")
def _reduce_window(c):
    from .ops_reduce import Windows  # which needs this file
    shape = _shape(c, 0)
    return [Windows(c, len(shape)).counts(shape)] * len(c.op.results)


@rule("stablehlo.convolution", "stablehlo.dynamic_conv")
def _convolution(c):
    numbers, (x, w) = stablehlo.ConvDimensionNumbers(c.op.attributes["dimension_numbers"]), (_shape(c, 0), _shape(c, 1))
    spatial = len(numbers.input_spatial_dimensions)
    stride, dilation, spacing = (c.integers(n, [1] * spatial) for n in ("window_strides", "rhs_dilation", "lhs_dilation"))
    padding = c.sizes(2) if c.op.name == "stablehlo.dynamic_conv" else c.integers("padding", [[0, 0]] * spatial)
    shape = [None] * len(x)
    batch_groups = c.integer("batch_group_count")
    shape[numbers.output_batch_dimension] = x[numbers.input_batch_dimension] if batch_groups == 1 else \
        floor_div(x[numbers.input_batch_dimension], batch_groups)
    shape[numbers.output_feature_dimension] = w[numbers.kernel_output_feature_dimension]
    for i, d in enumerate(numbers.output_spatial_dimensions):
        n, k = x[numbers.input_spatial_dimensions[i]], w[numbers.kernel_spatial_dimensions[i]]
        shape[d] = windowed(n, *padding[i], spacing[i], k, dilation[i], stride[i])
    return [shape]
