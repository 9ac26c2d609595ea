"""Convolutions of 1, 2 and 3 dimensions, transposed ones, and their gradients.

All are one form: sums over channels and taps of (padded input at o * stride + t * dilation) * (weight at t).
"""

from ..emit import types
from ..emit.contract import contract
from ..emit.sizes import plain
from .registry import op


def padded_input(c, x, low, high):
    """The input with zeros around its positions; negative borders cut."""
    return padded_input_with(c, x, low, high, 0)


def padded_input_with(c, x, low, high, fill):
    lead = x.rank - len(low)
    cut = [(max(-a, 0) if isinstance(a, int) else 0, max(-b, 0) if isinstance(b, int) else 0) for a, b in zip(low, high)]
    if any(a or b for a, b in cut):
        sizes = list(x.shape[:lead]) + [n - a - b for n, (a, b) in zip(x.shape[lead:], cut)]
        x = c.f.slice(x, [0] * lead + [a for a, _ in cut], sizes)
    low = [max(a, 0) if isinstance(a, int) else a for a in low]
    high = [max(b, 0) if isinstance(b, int) else b for b in high]
    shape = list(x.shape[:lead]) + [plus(n, a, b) for n, a, b in zip(x.shape[lead:], low, high)]
    return c.f.pad(x, [0] * lead + low, [0] * lead + high, shape, fill)


def plus(*sizes):
    total = sum(sizes)
    return total if isinstance(total, int) else plain(total)


def convolve(c, x, weight, stride, dilation, groups, outputs, type):
    """x (n, g * ic, positions), weight (g * oc, ic, taps) -> (n, g * oc, outputs) without padding."""
    spatial, batch = len(stride), x.shape[0]
    out_each, in_each = weight.shape[0] // groups, weight.shape[1]
    taps = weight.shape[2:]
    depthwise = groups > 1 and out_each == 1 and in_each == 1
    if groups == 1 or depthwise:
        lead, summed = ["d0", "d1"], 2 + spatial
        channels = [] if depthwise else [f"d{summed}"]
    else:
        x = c.f.view(x, (batch, groups, in_each, *x.shape[2:]))
        weight = c.f.view(weight, (groups, out_each, in_each, *taps))
        lead, summed = ["d0", "d1", "d2"], 3 + spatial
        channels = [f"d{summed}"]
    first_out, first_tap = len(lead), summed + len(channels)
    loops = first_tap + spatial
    positions = [f"d{first_out + i} * {stride[i]} + d{first_tap + i} * {dilation[i]}" for i in range(spatial)]
    tap_dims = [f"d{first_tap + i}" for i in range(spatial)]
    if depthwise:
        weight = c.f.view(weight, (groups, *taps))
        x_map, w_map = ["d0", "d1", *positions], ["d1", *tap_dims]
    elif groups == 1:
        x_map, w_map = ["d0", *channels, *positions], ["d1", *channels, *tap_dims]
    else:
        x_map, w_map = ["d0", "d1", *channels, *positions], ["d1", "d2", *channels, *tap_dims]
    shape = (batch, *((groups, out_each) if len(lead) == 3 else (groups * out_each,)), *outputs)
    out_map = lead + [f"d{first_out + i}" for i in range(spatial)]
    y = contract(c, x, weight, loops, x_map, w_map, out_map, shape, type, range(summed, loops))
    return c.f.view(y, (batch, groups * out_each, *outputs))


def flipped_taps(c, weight, groups):
    """A weight (ic, oc / g, taps) of a transposed convolution as that of a plain one: (oc, ic / g, reversed taps)."""
    each = weight.shape[0] // groups
    shape = (groups * weight.shape[1], each, *weight.shape[2:])
    split = c.f.view(weight, (groups, each, *weight.shape[1:]))
    spatial = weight.rank - 2
    access = ["d0", "d2", "d1"] + [f"{weight.shape[2 + i] - 1} - d{3 + i}" for i in range(spatial)]
    target = (groups, weight.shape[1], each, *weight.shape[2:])
    loops = [f"d{i}" for i in range(3 + spatial)]
    flipped = c.f.generic(3 + spatial, [(split, access)], [(c.f.empty(target, weight.type), loops)], lambda s, a, _: a)
    return c.f.view(flipped, shape)


def spread(c, x, stride, low, outputs):
    """Zeros of the positions `outputs` with x written at low + i * stride; what lies outside is cut."""
    shape = (*x.shape[:2], *outputs)
    if all(s == 1 for s in stride):
        high = [plus(o, -n, -a) if not isinstance(o, int) or not isinstance(n, int) else o - n - a
                for o, n, a in zip(outputs, x.shape[2:], low)]
        if all(isinstance(b, int) for b in high):
            return padded_input(c, x, list(low), high)
    first, sizes = [], []
    for n, s, a, o in zip(x.shape[2:], stride, low, outputs):
        if not isinstance(n, int):
            if a < 0:
                c.refuse("a transposed convolution with this padding and dynamic positions is not compiled")
            first.append(0)
            sizes.append(n)
            continue
        skip = (-a + s - 1) // s if a < 0 else 0
        last = min(n, (o - 1 - a) // s + 1)
        first.append(skip)
        sizes.append(max(last - skip, 0))
    zeros = c.f.fill(shape, x.type, 0)
    if 0 in sizes or 0 in x.shape:
        return zeros
    if list(sizes) != list(x.shape[2:]):
        x = c.f.slice(x, [0, 0, *first], [*x.shape[:2], *sizes])
    offsets = [a + f * s for a, f, s in zip(low, first, stride)]
    return c.f.insert(x, zeros, [0, 0, *offsets], [1, 1, *stride])


def transposed_convolve(c, x, weight, stride, padding, dilation, groups, outputs, type):
    """What a convolution's gradient with respect to its input is: x spread by the stride, correlated with reversed taps."""
    taps = weight.shape[2:]
    reach = [d * (k - 1) for d, k in zip(dilation, taps)]
    low = [r - p for r, p in zip(reach, padding)]
    needed = [plus(o, r) for o, r in zip(outputs, reach)]
    wide = spread(c, x, stride, low, needed)
    return convolve(c, wide, flipped_taps(c, weight, groups), [1] * len(taps), dilation, groups, outputs, type)


def listed(value, count):
    return list(value) * count if len(value) == 1 else list(value)


@op("convolution", "_convolution")
def convolution(c, x, weight, bias, stride, padding, dilation, transposed, output_padding, groups, *_):
    spatial = weight.rank - 2
    stride, padding, dilation = (listed(v, spatial) for v in (stride, padding, dilation))
    batched = x.rank == weight.rank
    if not batched:
        x = c.f.view(x, (1, *x.shape))
    outputs, type = c.shape[-spatial:], types.compute(c.type)
    if 0 in c.shape:
        return c.f.empty(c.shape, c.type)
    if 0 in x.shape:
        y = c.f.fill(c.shape, type, 0)
    elif transposed:
        y = transposed_convolve(c, x, weight, stride, padding, dilation, groups, outputs, type)
    else:
        y = convolve(c, padded_input(c, x, padding, padding), weight, stride, dilation, groups, outputs, type)
    if not batched:
        y = c.f.view(y, c.shape)
    if bias is None:
        return c.cast(y, c.type)
    return c.map([y, c.f.view(bias, (*bias.shape, *[1] * spatial))], lambda s, a, b: s.add(a, b))


def weight_gradient(c, x, gradient, weight_shape, stride, padding, dilation, groups, type):
    """Sums over batch and outputs of (padded input at o * stride + t * dilation) * gradient."""
    spatial = len(stride)
    out_channels, in_each, *taps = weight_shape
    out_each, batch = out_channels // groups, x.shape[0]
    wide = padded_input(c, x, list(padding), list(padding))
    wide = c.f.view(wide, (batch, groups, in_each, *wide.shape[2:]))
    gradient = c.f.view(gradient, (batch, groups, out_each, *gradient.shape[2:]))
    # loops: group, output channel, input channel, taps; batch, outputs
    first_tap, batch_loop = 3, 3 + spatial
    tap_dims = [f"d{first_tap + i}" for i in range(spatial)]
    out_dims = [f"d{batch_loop + 1 + i}" for i in range(spatial)]
    positions = [f"{o} * {s} + {t} * {d}" for o, s, t, d in zip(out_dims, stride, tap_dims, dilation)]
    loops = batch_loop + 1 + spatial
    result = contract(c, wide, gradient, loops, [f"d{batch_loop}", "d0", "d2", *positions], [f"d{batch_loop}", "d0", "d1", *out_dims],
                      ["d0", "d1", "d2", *tap_dims], (groups, out_each, in_each, *taps), type, range(batch_loop, loops))
    return c.f.view(result, tuple(weight_shape))


def input_gradient(c, gradient, weight, shape, stride, padding, dilation, groups, type):
    return transposed_convolve(c, gradient, weight, stride, padding, dilation, groups, shape[2:], type)


@op("convolution_backward")
def convolution_backward(c, gradient, x, weight, bias_sizes, stride, padding, dilation, transposed, output_padding, groups, wanted):
    spatial = weight.rank - 2
    stride, padding, dilation = (listed(v, spatial) for v in (stride, padding, dilation))
    type = types.compute(x.type)
    of_input = of_weight = of_bias = None
    if wanted[0]:
        if transposed:
            wide = padded_input(c, gradient, list(padding), list(padding))
            of_input = convolve(c, wide, weight, stride, dilation, groups, x.shape[2:], type)
        else:
            of_input = input_gradient(c, gradient, weight, x.shape, stride, padding, dilation, groups, type)
        of_input = c.cast(of_input, x.type)
    if wanted[1]:
        roles = (gradient, x) if transposed else (x, gradient)
        of_weight = c.cast(weight_gradient(c, *roles, weight.shape, stride, padding, dilation, groups, type), weight.type)
    if wanted[2]:
        axes = [0, *range(2, gradient.rank)]
        of_bias = c.cast(c.f.reduce([gradient], axes, type, 0, lambda s, a, t: s.add(t, s.cast(a, type))), x.type)
    return of_input, of_weight, of_bias
