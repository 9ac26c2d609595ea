"""Convolutions of 1, 2 and 3 dimensions, transposed ones, and their gradients.

All are one form: sums over channels and taps of (padded input at o * stride + t * dilation) * (weight at t).
"""

from ..emit import types
from ..emit.contract import contract
from ..emit.convolution import convolve, listed, padded_input, transposed_convolve
from .registry import op


@op("convolution", "_convolution")
def convolution(c, x, weight, bias, stride, padding, dilation, transposed, output_padding, groups, *_):
    spatial = weight.rank - 2
    stride, padding, dilation = (listed(v, spatial) for v in (stride, padding, dilation))
    batched = x.rank == weight.rank
    if not batched:
        x = c.f.view(x, (1, *x.shape))
    outputs, type = c.shape[-spatial:], types.compute(c.type)
    # Results lie as those of eager: with the channels last where the image or the weight has them so.
    order = c.order if batched and c.order[-1] == 1 else None
    if 0 in c.shape:
        return c.f.empty(c.shape, c.type)
    if 0 in x.shape:
        y = c.f.fill(c.shape, type, 0)
    elif transposed:
        y = transposed_convolve(c, x, weight, stride, padding, dilation, groups, outputs, type, order)
    else:
        y = convolve(c, padded_input(c, x, padding, padding), weight, stride, dilation, groups, outputs, type, order=order)
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
