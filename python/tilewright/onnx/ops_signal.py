"""Transforms of signals, as products with matrices of cosines and sines, and what puts columns together."""

import math

import numpy as np

from ..emit import types
from ..emit.contract import contract
from .ops_shape import part
from .registry import op
from .values import Constant


def waves(c, rows, columns, length, sign, type, scale=1.0):
    """cos and sin of 2 pi k n / length, as (k, n)."""
    angle = 2 * np.pi * ((np.outer(np.arange(rows), np.arange(columns))) % length) / length
    dtype = np.float64 if type == "f64" else np.float32
    return [c.tensor(Constant((wave * scale).astype(dtype), type)) for wave in (np.cos(angle), sign * np.sin(angle))]


def transformed(c, x, axis, length, one_sided, inverse):
    """The transform along an axis; the last dimension of x holds real, or real and imaginary parts."""
    type, compute = x.type, types.compute(x.type)
    n = x.shape[axis]
    if not isinstance(n, int):
        c.refuse("a transform along a dynamic size is not compiled for all sizes")
    x = c.cast(x, compute)
    if one_sided and inverse:  # the other half is the conjugate of what is there
        return c.cast(real_of_half(c, x, axis, 2 * (n - 1) if length is None else length), type)
    length = n if length is None else length
    if length < n:
        x = part(c, x, axis, 0, length)
    elif length > n:
        shape = tuple(length if i == axis else m for i, m in enumerate(x.shape))
        x = c.f.pad(x, [0] * x.rank, [length - n if i == axis else 0 for i in range(x.rank)], shape, 0)
    rows = length // 2 + 1 if one_sided else length
    cosines, sines = waves(c, rows, length, length, 1 if inverse else -1, compute, 1 / length if inverse else 1)
    rank = x.rank - 1
    parts = [c.f.slice(x, [0] * rank + [k], [*x.shape[:-1], 1], drop=[rank]) for k in range(x.shape[-1])]
    shape = tuple(rows if i == axis else m for i, m in enumerate(x.shape[:-1]))
    loops = [f"d{i}" for i in range(rank)]
    access = [f"d{rank}" if i == axis else d for i, d in enumerate(loops)]

    def product(values, wave):
        return contract(c, values, wave, rank + 1, access, [f"d{axis}", f"d{rank}"], loops, shape, compute, [rank])
    real, imaginary = product(parts[0], cosines), product(parts[0], sines)
    if len(parts) == 2:
        real = c.map([real, product(parts[1], sines)], lambda s, a, b: s.sub(a, b))
        imaginary = c.map([imaginary, product(parts[1], cosines)], lambda s, a, b: s.add(a, b))
    both = [c.f.view(v, (*shape, 1)) for v in (real, imaginary)]
    return c.cast(c.f.concat(both, rank, (*shape, 2)), type)


def real_of_half(c, x, axis, length):
    """`length` real numbers of the first half of their transform: each coefficient but the ends stands for two."""
    bins, rank, compute = length // 2 + 1, x.rank - 1, x.type
    if x.shape[axis] < bins:
        shape = tuple(bins if i == axis else m for i, m in enumerate(x.shape))
        x = c.f.pad(x, [0] * x.rank, [bins - x.shape[axis] if i == axis else 0 for i in range(x.rank)], shape, 0)
    x = part(c, x, axis, 0, bins)
    twice = np.where((np.arange(bins) == 0) | (2 * np.arange(bins) == length), 1, 2) / length
    matrices = waves(c, length, bins, length, -1, compute, twice)
    shape = tuple(length if i == axis else m for i, m in enumerate(x.shape[:-1]))
    loops = [f"d{i}" for i in range(rank)]
    access = [f"d{rank}" if i == axis else d for i, d in enumerate(loops)]
    parts = [c.f.slice(x, [0] * rank + [k], [*x.shape[:-1], 1], drop=[rank]) for k in range(x.shape[-1])]
    sums = [
        contract(c, v, wave, rank + 1, access, [f"d{axis}", f"d{rank}"], loops, shape, compute, [rank])
        for v, wave in zip(parts, matrices)
    ]
    made = sums[0] if len(sums) == 1 else c.map(sums, lambda s, a, b: s.add(a, b))
    return c.f.view(made, (*shape, 1))


@op("DFT", static=(1, 2))
def dft(c, x, length=None, axis=None):
    at = c.attribute("axis", 1) if c.version < 20 else -2 if axis is None else int(axis.reshape(-1)[0])
    at = at + x.rank if at < 0 else at
    count = c.sizes(1)[0] if length is not None else None
    return transformed(c, x, at, count, bool(c.attribute("onesided", 0)), bool(c.attribute("inverse", 0)))


@op("STFT", static=(1, 3))
def stft(c, x, step, window=None, length=None):
    """Windows of the signal at every step, each transformed."""
    f, step = c.f, int(step.reshape(-1)[0])
    n = c.sizes(3)[0] if length is not None else window.shape[0]
    if not isinstance(x.shape[1], int):
        c.refuse("windows of a signal of dynamic length are not compiled for all sizes")
    frames, compute = (x.shape[1] - n) // step + 1, types.compute(x.type)
    parts = x.shape[2] if x.rank == 3 else 1
    x = f.view(x, (*x.shape[:2], parts))
    reads = [(x, ["d0", f"d1 * {step} + d2", "d3"])] + ([(window, ["d2"])] if window is not None else [])
    shape = (x.shape[0], frames, n, parts)
    framed = f.generic(
        4, reads, [(f.empty(shape, compute), ["d0", "d1", "d2", "d3"])],
        lambda s, a, *w: s.mul(s.cast(a, compute), s.cast(w[0], compute)) if len(w) > 1 else s.cast(a, compute))
    return c.cast(transformed(c, framed, 2, n, bool(c.attribute("onesided", 1)), False), x.type)


@op("Col2Im", static=(1, 2))
def col2im(c, x, image, block):
    """Sums of the blocks' elements where blocks overlap: each position of the image gathers those that cover it."""
    sizes, kernel = c.sizes(1), c.sizes(2)
    spatial = len(sizes)
    stride, dilation = c.attribute("strides", [1] * spatial), c.attribute("dilations", [1] * spatial)
    pads = c.attribute("pads", [0] * (2 * spatial))
    counts = [(sizes[i] + pads[i] + pads[spatial + i] - dilation[i] * (kernel[i] - 1) - 1) // stride[i] + 1
              for i in range(spatial)]
    channels = x.shape[1] // math.prod(kernel)
    x = c.f.view(x, (x.shape[0], channels, *kernel, *counts))
    shape, compute = (x.shape[0], channels, *sizes), types.compute(x.type)
    rank = 2 + spatial
    loops = [f"d{i}" for i in range(rank)]
    window = (c.f.empty(kernel, compute), [f"d{rank + i}" for i in range(spatial)])

    def body(s, _, total):
        inside, taps, places = None, [], []
        for i in range(spatial):
            tap = s.index(rank + i)
            reach = s.sub(s.add(s.index(2 + i), pads[i]), s.mul(tap, dilation[i]))
            place = s.div(reach, stride[i])
            test = s.binary("and", s.compare("ge", reach, 0), s.compare("lt", place, counts[i]))
            test = s.binary("and", test, s.compare("eq", s.mul(place, stride[i]), reach))
            inside = test if inside is None else s.binary("and", inside, test)
            taps.append(tap)
            places.append(s.max(s.min(place, counts[i] - 1), 0))
        element = s.cast(s.extract(x, [s.index(0), s.index(1), *taps, *places]), compute)
        return s.add(total, s.select(inside, element, s.constant(0, compute)))

    made = c.f.generic(rank + spatial, [window], [(c.f.fill(shape, compute, 0), loops)], body,
                       set(range(rank, rank + spatial)))
    return c.cast(made, x.type)
