"""Contractions: products with batch dimensions, convolutions. 16-bit floats accumulate in f32 and round once."""

from jaxlib.mlir.dialects import stablehlo

from ..emit import types
from ..emit.contract import contract
from ..emit.sizes import floor_div
from .ops_shape import spread_out
from .registry import op


def accumulator(x, type):
    return types.compute(type) if types.is_float(x.type) else type


@op("stablehlo.dot_general")
def dot_general(c):
    numbers = stablehlo.DotDimensionNumbers(c.op.attributes["dot_dimension_numbers"])
    return product(c, list(numbers.lhs_batching_dimensions), list(numbers.rhs_batching_dimensions),
                   list(numbers.lhs_contracting_dimensions), list(numbers.rhs_contracting_dimensions))


@op("stablehlo.dot")
def dot(c):
    return product(c, [], [], [c.value(0).rank - 1], [0])


def product(c, lhs_batch, rhs_batch, lhs_sum, rhs_sum):
    """Loops: batch, free of the left, free of the right, summed."""
    lhs, rhs, rank = c.value(0), c.value(1), len(c.shape)
    lhs_free = [i for i in range(lhs.rank) if i not in lhs_batch + lhs_sum]
    rhs_free = [i for i in range(rhs.rank) if i not in rhs_batch + rhs_sum]
    loop_of_lhs = {d: i for i, d in enumerate(lhs_batch + lhs_free)} | {d: rank + i for i, d in enumerate(lhs_sum)}
    loop_of_rhs = {d: i for i, d in enumerate(rhs_batch)} | {d: len(lhs_batch + lhs_free) + i for i, d in enumerate(rhs_free)} | \
        {d: rank + i for i, d in enumerate(rhs_sum)}
    type = accumulator(lhs, c.type)
    if 0 in lhs.shape or 0 in rhs.shape:
        return c.f.fill(c.shape, c.type, 0)
    loops = rank + len(lhs_sum)
    result = contract(c, lhs, rhs, loops, [f"d{loop_of_lhs[i]}" for i in range(lhs.rank)], [f"d{loop_of_rhs[i]}" for i in range(rhs.rank)],
                      [f"d{i}" for i in range(rank)], c.shape, type, range(rank, loops))
    return c.cast(result, c.type)


def split(f, x, axis, groups):
    """`axis` as two: groups, and what each holds."""
    shape = list(x.shape)
    return f.view(x, (*shape[:axis], groups, floor_div(shape[axis], groups), *shape[axis + 1:]))


@op("stablehlo.convolution", "stablehlo.dynamic_conv")
def convolution(c):
    """Loops: batch, group, features of a group, positions; channels of a group, taps."""
    numbers = stablehlo.ConvDimensionNumbers(c.op.attributes["dimension_numbers"])
    x, w = c.value(0), c.value(1)
    spatial = len(numbers.input_spatial_dimensions)
    stride, dilation = (c.integers(n, [1] * spatial) for n in ("window_strides", "rhs_dilation"))
    spacing = c.integers("lhs_dilation", [1] * spatial)
    padding = c.sizes(2) if c.op.name == "stablehlo.dynamic_conv" else c.integers("padding", [[0, 0]] * spatial)
    turned = c.integers("window_reversal", [0] * spatial)
    feature_groups, batch_groups = c.integer("feature_group_count"), c.integer("batch_group_count")
    groups = feature_groups * batch_groups
    type = accumulator(x, c.type)
    if 0 in x.shape or 0 in w.shape:
        return c.f.fill(c.shape, c.type, 0)
    low, high, interior = [0] * x.rank, [0] * x.rank, [0] * x.rank
    for i, d in enumerate(numbers.input_spatial_dimensions):
        (low[d], high[d]), interior[d] = padding[i], spacing[i] - 1
    x = spread_out(c, x, low, high, interior, 0)
    first = 3                                   # loops of positions begin here
    channel, first_tap = first + spatial, first + spatial + 1
    loops = first_tap + spatial
    positions = []
    for i, d in enumerate(numbers.kernel_spatial_dimensions):
        tap = f"d{first_tap + i} * {dilation[i]}" if not turned[i] else \
            f"{(w.shape[d] - 1) * dilation[i]} - d{first_tap + i} * {dilation[i]}"
        if not isinstance(w.shape[d], int) and turned[i]:
            c.refuse("a convolution with reversed taps of a dynamic number is not compiled")
        positions.append(f"d{first + i} * {stride[i]} + {tap}")
    # What each dimension is read by; a dimension that groups divide becomes two.
    of_x = {d: [positions[i]] for i, d in enumerate(numbers.input_spatial_dimensions)}
    of_x[numbers.input_batch_dimension], of_x[numbers.input_feature_dimension] = ["d0"], [f"d{channel}"]
    of_w = {d: [f"d{first_tap + i}"] for i, d in enumerate(numbers.kernel_spatial_dimensions)}
    of_w[numbers.kernel_input_feature_dimension], of_w[numbers.kernel_output_feature_dimension] = [f"d{channel}"], ["d2"]
    of_y = {d: [f"d{first + i}"] for i, d in enumerate(numbers.output_spatial_dimensions)}
    of_y[numbers.output_batch_dimension], of_y[numbers.output_feature_dimension] = ["d0"], ["d2"]
    shape = {d: [n] for d, n in enumerate(c.shape)}
    if groups > 1:
        axis = numbers.input_feature_dimension if feature_groups > 1 else numbers.input_batch_dimension
        of_x[axis] = ["d1", *of_x[axis]]
        x = split(c.f, x, axis, groups)
        w_axis, y_axis = numbers.kernel_output_feature_dimension, numbers.output_feature_dimension
        of_w[w_axis], of_y[y_axis] = ["d1", "d2"], ["d1", "d2"]
        w = split(c.f, w, w_axis, groups)
        shape[y_axis] = [groups, c.shape[y_axis] // groups]
    maps = [[e for d in sorted(table) for e in table[d]] for table in (of_x, of_w, of_y)]
    if groups == 1:
        maps, loops = [_without_loop(m, 1) for m in maps], loops - 1
    reductions = range(channel - (groups == 1), loops)
    result = contract(c, x, w, loops, *maps, [n for d in sorted(shape) for n in shape[d]], type, reductions)
    return c.cast(c.f.view(result, c.shape), c.type)


def _without_loop(results, gone):
    """Texts of a map's results when a loop that none of them reads is left out."""
    import re
    return [re.sub(r"d(\d+)", lambda m: f"d{int(m[1]) - (int(m[1]) > gone)}", e) for e in results]
