"""Pooling: the largest elements of windows with their positions, averages, norms; what undoes them."""

import math

from ..emit import types
from ..emit.convolution import padded_input
from ..emit.reduce import count_of, divided, extremum, sum_over
from ..emit.sizes import product
from .ops_contract import Taps
from .registry import op


class Windows(Taps):
    """Windows over the dimensions after the first two."""

    def __init__(self, c, x):
        super().__init__(c, x.shape[2:], c.attribute("kernel_shape"), bool(c.attribute("ceil_mode", 0)))
        self.rank, self.spatial, self.sizes = x.rank, x.rank - 2, x.shape[2:]
        self.shape = (*x.shape[:2], *self.outputs)
        self.loops = self.rank + self.spatial
        self.out_map = [f"d{i}" for i in range(self.rank)]
        self.taps = [f"d{self.rank + i}" for i in range(self.spatial)]
        self.in_map = ["d0", "d1"] + [
            f"d{2 + i} * {self.stride[i]} + {self.taps[i]} * {self.dilation[i]}" for i in range(self.spatial)
        ]

    def padded(self, c, x, fill):
        if fill == 0:
            return padded_input(c, x, self.low, self.high)
        shape = (*x.shape[:2], *(n + a + b for n, a, b in zip(self.sizes, self.low, self.high)))
        return c.f.pad(x, [0, 0, *self.low], [0, 0, *self.high], shape, fill)

    def reduce(self, c, inputs, type, initial, body):
        window = (c.f.empty(self.kernel, type), self.taps)
        return c.f.generic(self.loops, [*inputs, window], [(c.f.fill(self.shape, type, initial), self.out_map)],
                           lambda s, *e: body(s, *e[:-2], e[-1]), range(self.rank, self.loops))

    def position(self, s, i):
        """The input's coordinate, which may lie in the border."""
        start = s.mul(s.index(2 + i), self.stride[i])
        return s.sub(s.add(start, s.mul(s.index(self.rank + i), self.dilation[i])), self.low[i])


@op("MaxPool")
def max_pool(c, x):
    w = Windows(c, x)
    lowest, last = types.lowest(x.type), types.highest("i64")
    wide = w.padded(c, x, lowest)
    values = w.reduce(c, [(wide, w.in_map)], x.type, lowest, lambda s, a, m: s.max(m, a))
    if not c.wants(1):
        return values
    by_column = c.attribute("storage_order", 0)

    def position(s, a, m, least):
        hit = s.compare("eq", a, m)
        if types.is_float(a.type):
            hit = s.binary("or", hit, s.is_nan(a))
        places = [w.position(s, i) for i in range(w.spatial)]
        for i, at in enumerate(places):
            hit = s.binary("and", hit, s.binary("and", s.compare("ge", at, 0), s.compare("lt", at, s.size(w.sizes[i]))))
        plane = s.add(s.mul(s.index(0), s.size(x.shape[1])), s.index(1))
        order = list(range(w.spatial))
        flat = None
        for i in (reversed(order) if by_column else order):
            flat = places[i] if flat is None else s.add(s.mul(flat, s.size(w.sizes[i])), places[i])
        flat = s.add(s.mul(plane, s.size(product(w.sizes))), flat)
        return s.min(least, s.select(hit, flat, s.constant(last, "i64")))
    window = (c.f.empty(w.kernel, x.type), w.taps)
    at = c.f.generic(w.loops, [(wide, w.in_map), (values, w.out_map), window],
                     [(c.f.fill(w.shape, "i64", last), w.out_map)], lambda s, a, m, _, least: position(s, a, m, least),
                     range(w.rank, w.loops))
    return values, at


@op("AveragePool")
def average_pool(c, x):
    w, type = Windows(c, x), types.compute(x.type)
    total = w.reduce(c, [(w.padded(c, x, 0), w.in_map)], type, 0, lambda s, a, t: s.add(t, s.cast(a, type)))
    counts_borders = c.attribute("count_include_pad", 0)
    if counts_borders and not c.attribute("ceil_mode", 0) or not any((*w.low, *w.high)):
        return c.map([total], lambda s, a: s.div(a, float(math.prod(w.kernel))), type=x.type)

    def body(s, a):
        """Over the taps that lie inside; with `count_include_pad` also over those of the borders that the attribute
        names."""
        count = None
        for i in range(w.spatial):
            start = s.sub(s.mul(s.index(2 + i), w.stride[i]), w.low[i])
            size, d = s.size(w.sizes[i]), w.dilation[i]
            first, beyond = (s.constant(-w.low[i], "i64"),
                             s.add(size, w.inner[i])) if counts_borders else (s.constant(0, "i64"), size)
            # taps t with first <= start + t d < beyond
            skipped = s.div(s.add(s.max(s.sub(first, start), 0), d - 1), d)
            end = s.min(s.div(s.add(s.max(s.sub(beyond, start), 0), d - 1), d), w.kernel[i])
            inside = s.sub(end, skipped)
            count = inside if count is None else s.mul(count, inside)
        return s.div(a, s.cast(count, a.type))
    return c.map([total], body, type=x.type)


def power_of(s, a, order):
    a = s.math("absf", a)
    return a if order == 1 else s.mul(a, a) if order == 2 else s.math("powf", a, float(order))


def root_of(s, a, order):
    return a if order == 1 else s.math("sqrt", a) if order == 2 else s.math("powf", a, 1.0 / order)


@op("LpPool")
def lp_pool(c, x):
    w, type, order = Windows(c, x), types.compute(x.type), c.attribute("p", 2)
    total = w.reduce(c, [(w.padded(c, x, 0), w.in_map)], type, 0,
                     lambda s, a, t: s.add(t, power_of(s, s.cast(a, type), order)))
    return c.map([total], lambda s, a: root_of(s, a, order), type=x.type)


@op("GlobalAveragePool")
def global_average_pool(c, x):
    axes = list(range(2, x.rank))
    return divided(c, sum_over(c, x, axes, types.compute(x.type), True), count_of(x, axes), x.type)


@op("GlobalMaxPool")
def global_max_pool(c, x):
    return extremum(c, x, range(2, x.rank), True, True)


@op("GlobalLpPool")
def global_lp_pool(c, x):
    order, type = c.attribute("p", 2), types.compute(x.type)
    total = sum_over(c, x, list(range(2, x.rank)), type, True, lambda s, a: power_of(s, a, order))
    return c.map([total], lambda s, a: root_of(s, a, order), type=x.type)


@op("MaxUnpool", static=(2,))
def max_unpool(c, x, positions, shape=None):
    """Zeros with each element where it came from; `shape`: of the result, in which the positions are counted as in
    the plain one."""
    from ..emit.indices import scatter_with
    spatial = x.rank - 2
    kernel, stride = c.attribute("kernel_shape"), c.attribute("strides", [1] * spatial)
    pads = c.attribute("pads", [0] * (2 * spatial))
    plain = (*x.shape[:2], *((n - 1) * stride[i] - pads[i] - pads[spatial + i] + kernel[i]
                             for i, n in enumerate(x.shape[2:])))
    if not all(isinstance(n, int) for n in plain):
        c.refuse("its positions in a result of dynamic size are not compiled for all sizes")
    zeros = c.f.fill((math.prod(plain),), x.type, 0)
    flat = scatter_with(c, zeros, 0, c.f.view(positions, (product(x.shape),)), c.f.view(x, (product(x.shape),)), None)
    wanted = tuple(c.sizes(2)) if shape is not None else plain
    made = c.f.view(flat, plain)
    if wanted == plain:
        return made
    return c.f.pad(made, [0] * x.rank, [a - b for a, b in zip(wanted, plain)], wanted, 0)
