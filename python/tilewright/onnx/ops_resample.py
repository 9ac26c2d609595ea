"""Resampling: nearest, linear, cubic, in all modes of coordinates.

Sizes are numbers, so what each output reads and with which weight is computed here; the program sums the weighted
elements.
"""

import math

import numpy as np

from ..emit import types
from .registry import op
from .values import Constant


def kernel(mode, a):
    """The weight at a distance, and how far it reaches."""
    if mode == "linear":
        return lambda t: np.maximum(1 - np.abs(t), 0), 1

    def cubic(t):
        t = np.abs(t)
        near, far = ((a + 2) * t - (a + 3)) * t * t + 1, ((t - 5) * t + 8) * t * a - 4 * a
        return np.where(t <= 1, near, np.where(t < 2, far, 0.0))
    return cubic, 2


def coordinates(mode, count, size, scale, region):
    """The positions of the input under the outputs. `count` is the exact size of the result, which may be no whole
    number."""
    o = np.arange(int(count), dtype=np.float64)
    if mode == "half_pixel":
        return (o + 0.5) / scale - 0.5
    if mode == "half_pixel_symmetric":
        adjusted = int(count) / (scale * size)
        centre = size / 2
        return centre * (1 - adjusted) + (o + 0.5) / scale - 0.5
    if mode == "pytorch_half_pixel":
        return (o + 0.5) / scale - 0.5 if count > 1 else np.zeros_like(o)
    if mode == "align_corners":
        return o * (size - 1) / (count - 1) if count > 1 else np.zeros_like(o)
    if mode == "asymmetric":
        return o / scale
    if mode == "tf_half_pixel_for_nn":
        return (o + 0.5) / scale
    if mode == "tf_crop_and_resize":
        start, end = region
        return start * (size - 1) + o * (end - start) * (size - 1) / (count - 1) if count > 1 else np.full(
            o.shape, 0.5 * (start + end) * (size - 1))
    return None


def rounded(mode, at):
    at = np.round(at, 9)  # 1.4999999999 for 1.5 would round another way
    return {
        "round_prefer_floor": np.ceil(at - 0.5), "round_prefer_ceil": np.floor(at + 0.5), "floor": np.floor(at), "ceil":
        np.ceil(at)
    }[mode]


class Axis:
    """Positions (outputs, taps) that are read along one dimension, and their weights; `outside`: outputs beyond the
    input, or None."""

    def __init__(self, c, size, count, scale, region):
        mode, places = c.attribute("mode", "nearest"), c.attribute("coordinate_transformation_mode", "half_pixel")
        if c.node.op_type == "Upsample":
            places = "asymmetric"
        at = coordinates(places, count, size, scale, region)
        if at is None:
            c.refuse(f"the mode '{places}' of coordinates is not known")
        self.outside = (at < 0) | (at > size - 1) if places == "tf_crop_and_resize" else None
        if mode == "nearest":
            nearest = c.attribute("nearest_mode", "round_prefer_floor") if c.node.op_type == "Resize" else "floor"
            self.places = np.clip(rounded(nearest, at), 0, size - 1).astype(np.int64)[:, None]
            self.weights = None
            return
        weight, reach = kernel(mode, c.attribute("cubic_coeff_a", -0.75))
        stretch = max(1.0, 1 / scale) if c.attribute("antialias", 0) else 1.0
        span = math.ceil(reach * stretch)
        first = np.floor(at).astype(np.int64) - span + 1
        places = first[:, None] + np.arange(2 * span)
        weights = weight((places - at[:, None]) / stretch)
        if c.attribute("exclude_outside", 0):
            weights = np.where((places < 0) | (places >= size), 0, weights)
        if c.attribute("exclude_outside", 0) or stretch > 1:
            weights = weights / weights.sum(1, keepdims=True)
        used = (weights != 0).any(0)
        self.places, self.weights = np.clip(places, 0, size - 1)[:, used], weights[:, used]


def repeats(table, size):
    """Whether each position is read equally often, in order."""
    count = len(table.places)
    return count % size == 0 and (table.places[:, 0] == np.arange(count) // (count // size)).all()


def resampled(c, x, axis, table, outside):
    """One dimension of x, by the table of positions and weights."""
    count, taps = table.places.shape
    shape = tuple(count if i == axis else n for i, n in enumerate(x.shape))
    loops = [f"d{i}" for i in range(x.rank)]
    if table.weights is None and table.outside is None and repeats(table, x.shape[axis]):
        factor = count // x.shape[axis]
        wide = (*x.shape[:axis + 1], factor, *x.shape[axis + 1:])
        return c.f.view(c.broadcast(c.f.view(x, (*x.shape[:axis + 1], 1, *x.shape[axis + 1:])), wide), shape)
    places = c.tensor(Constant(table.places, "i64"))
    if table.weights is None:
        held = c.f.view(places, (count, *[1] * (x.rank - 1 - axis)))

        def read(s, a):
            at = [s.index(i) for i in range(x.rank)]
            at[axis] = a
            return s.extract(x, at)
        made = c.f.map([held], shape, x.type, read)
    else:
        weights = c.tensor(Constant(table.weights.astype(np.float64 if x.type == "f64" else np.float32), x.type))

        def add(s, place, weight, total):
            at = [s.index(i) for i in range(x.rank)]
            at[axis] = place
            return s.add(total, s.mul(weight, s.extract(x, at)))
        access = [f"d{axis}", f"d{x.rank}"]
        made = c.f.generic(x.rank + 1, [(places, access), (weights, access)], [(c.f.fill(shape, x.type, 0), loops)],
                           add, {x.rank})
    if table.outside is None or not table.outside.any():
        return made
    mask = c.f.view(c.tensor(Constant(table.outside, "i1")), (count, *[1] * (x.rank - 1 - axis)))
    return c.f.map([made, mask], shape, x.type, lambda s, a, out: s.select(out, s.constant(outside, x.type), a))


@op("Resize", static=(1, 2, 3))
def resize(c, x, region=None, scales=None, sizes=None):
    if c.version < 11:
        region, scales, sizes = None, region, None
    axes = [c.axis(a, x.rank) for a in c.attribute("axes", list(range(x.rank)))]
    if sizes is not None and sizes.size:
        counts = [int(n) for n in c.sizes(3)]
        n = [x.shape[a] for a in axes]
        check_static(c, n)
        factors = [count / size for count, size in zip(counts, n)]
        policy = c.attribute("keep_aspect_ratio_policy", "stretch")
        if policy != "stretch":
            factor = min(factors) if policy == "not_larger" else max(factors)
            factors = [factor] * len(axes)
            counts = [int(math.floor(factor * size + 0.5)) for size in n]
        exact = [float(count) for count in counts]
    else:
        factors = [float(f) for f in scales.reshape(-1)]
        check_static(c, [x.shape[a] for a, f in zip(axes, factors) if f != 1])
        exact = [f * x.shape[a] if f != 1 else x.shape[a] for a, f in zip(axes, factors)]
        counts = [int(math.floor(e)) if isinstance(e, float) else e for e in exact]
    region = [float(v) for v in region.reshape(-1)] if region is not None and region.size else None
    return along_axes(c, x, axes, counts, exact, factors, region)


def check_static(c, sizes):
    if not all(isinstance(n, int) for n in sizes):
        c.refuse("resampling of dynamic positions is not compiled for all sizes")


def along_axes(c, x, axes, counts, exact, factors, region):
    outside = float(c.attribute("extrapolation_value", 0.0))
    type = types.compute(x.type) if c.attribute("mode", "nearest") != "nearest" else x.type
    if not types.is_float(type) and c.attribute("mode", "nearest") != "nearest":
        type = "f32"
    y = c.cast(x, type)
    for i, axis in enumerate(axes):
        size = x.shape[axis]
        bounds = (region[i], region[len(axes) + i]) if region else (0.0, 1.0)
        if factors[i] == 1 and counts[i] == size and bounds == (0.0, 1.0):
            continue
        if 0 in (size, counts[i]):
            return c.f.empty(tuple(counts[axes.index(d)] if d in axes else n for d, n in enumerate(x.shape)), x.type)
        whole = exact[i] if c.attribute("coordinate_transformation_mode") == "align_corners" else counts[i]
        y = resampled(c, y, axis, Axis(c, size, whole, factors[i], bounds), outside)
    from .ops_elementwise import converted
    if types.is_integer(x.type) and types.is_float(y.type):
        y = c.f.map([y], y.shape, y.type, lambda s, a: s.math("roundeven", a))
    return converted(c, y, x.type)


@op("Upsample", static=(1,))
def upsample(c, x, scales=None):
    factors = [float(f) for f in (scales.reshape(-1) if scales is not None else c.attribute("scales"))]
    check_static(c, [n for n, f in zip(x.shape, factors) if f != 1])
    exact = [f * n if f != 1 else n for n, f in zip(x.shape, factors)]
    counts = [int(math.floor(e)) if isinstance(e, float) else e for e in exact]
    return along_axes(c, x, list(range(x.rank)), counts, exact, factors, None)
