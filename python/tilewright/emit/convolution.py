"""Convolutions of any number of dimensions, and transposed ones. `c` is the context of a reader.

All are one form: sums over channels and taps of (padded input at o * stride + t * dilation) * (weight at t).
"""

from .contract import contract
from .sizes import plain


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


def convolve(c, x, weight, stride, dilation, groups, outputs, type, taps_first=False, transposed=False,
             order=None):
    """x (n, g * ic, positions), weight (g * oc, ic, taps) -> (n, g * oc, outputs) without padding. `taps_first`: the weight is
    (g * oc, taps, ic), and sums run in this order, so that units which take several summed elements at once find them side by side.
    `transposed`: the weight is (g * ic, oc, taps), and the last tap meets the first position. `order`: that of the result's dimensions in
    its array; None: that of `x`. Where the channels of `x` lie last in its array, they are the innermost sum."""
    spatial, batch = len(stride), x.shape[0]
    if taps_first:
        out_each, taps, in_each = weight.shape[0] // groups, weight.shape[1:-1], weight.shape[-1]
    else:
        first, second, *taps = weight.shape
        in_each, out_each = (first // groups, second) if transposed else (second, first // groups)
    depthwise = groups > 1 and out_each == 1 and in_each == 1
    lead = ["d0", "d1"] if groups == 1 or depthwise else ["d0", "d1", "d2"]
    if len(lead) == 3:
        x = c.f.view(x, (batch, groups, in_each, *x.shape[2:]))
        weight = c.f.view(weight, (groups, weight.shape[0] // groups, *weight.shape[1:]))
    first_out, summed = len(lead), len(lead) + spatial
    loops = summed + spatial + (not depthwise)
    channels_last = x.order[-1] == len(lead) - 1
    taps_outside = taps_first or depthwise or channels_last
    first_tap = summed if taps_outside else summed + 1
    channels = [] if depthwise else [f"d{loops - 1}" if taps_outside else f"d{summed}"]
    positions = []
    for i in range(spatial):
        tap = f"d{first_tap + i} * {dilation[i]}"
        positions.append(f"d{first_out + i} * {stride[i]} + " + (f"{(taps[i] - 1) * dilation[i]} - {tap}" if transposed else tap))
    tap_dims = [f"d{first_tap + i}" for i in range(spatial)]
    if depthwise:
        weight = c.f.view(weight, (groups, *taps))
    x_map = [*lead[:-1], *channels, *positions] if not depthwise else ["d0", "d1", *positions]
    outer = lead[1:] if not transposed or depthwise else [*lead[1:-1], *channels, lead[-1]]
    inner = [*tap_dims, *channels] if taps_first else tap_dims if transposed else [*channels, *tap_dims]
    shape = (batch, *((groups, out_each) if len(lead) == 3 else (groups * out_each,)), *outputs)
    out_map = lead + [f"d{first_out + i}" for i in range(spatial)]
    order = x.order if order is None else order
    if len(order) < len(shape):  # groups apart
        order = [place for i in order for place in ([1, 2] if i == 1 else [i + (i > 1)])]
    y = contract(c, x, weight, loops, x_map, [*outer, *inner], out_map, shape, type, range(summed, loops), order)
    return c.f.view(y, (batch, groups * out_each, *outputs))


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
    zeros = c.f.fill(shape, x.type, 0, x.order)
    if 0 in sizes or 0 in x.shape:
        return zeros
    if list(sizes) != list(x.shape[2:]):
        x = c.f.slice(x, [0, 0, *first], [*x.shape[:2], *sizes])
    offsets = [a + f * s for a, f, s in zip(low, first, stride)]
    return c.f.insert(x, zeros, [0, 0, *offsets], [1, 1, *stride])


def transposed_convolve(c, x, weight, stride, padding, dilation, groups, outputs, type, order=None):
    """What a convolution's gradient with respect to its input is: x spread by the stride, summed up with reversed taps."""
    reach = [d * (k - 1) for d, k in zip(dilation, weight.shape[2:])]
    low = [r - p for r, p in zip(reach, padding)]
    needed = [plus(o, r) for o, r in zip(outputs, reach)]
    wide = spread(c, x, stride, low, needed)
    return convolve(c, wide, weight, [1] * len(reach), dilation, groups, outputs, type, transposed=True, order=order)


def listed(value, count):
    return list(value) * count if len(value) == 1 else list(value)
