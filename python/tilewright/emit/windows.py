"""Windows over the last dimensions of a tensor. `c` is the context of a reader."""

import math

from .convolution import plus


class Windows:
    """Windows over the last dimensions of a tensor, batched or not."""

    def __init__(self, c, x, kernel, stride, padding, dilation, ceil_mode, outputs):
        self.spatial = len(kernel)
        self.kernel, self.padding = kernel, padding
        self.stride, self.dilation = stride or kernel, dilation
        self.stride = self.stride if self.stride else kernel
        self.lead = x.rank - self.spatial
        self.sizes, self.outputs = x.shape[self.lead:], outputs
        self.high = list(padding)
        if ceil_mode:  # the last window may begin inside and end beyond the border
            needed = [(o - 1) * s + d * (k - 1) + 1 for o, s, d, k in zip(outputs, self.stride, dilation, kernel)]
            if not all(isinstance(n, int) for n in (*needed, *self.sizes)):
                c.refuse("pooling with ceil_mode over dynamic positions is not compiled")
            self.high = [max(n - size - p, 0) for n, size, p in zip(needed, self.sizes, padding)]
        self.taps = [f"d{x.rank + i}" for i in range(self.spatial)]
        self.loops = x.rank + self.spatial
        self.out_map = [f"d{i}" for i in range(x.rank)]
        self.in_map = self.out_map[:self.lead] + [
            f"d{self.lead + i} * {self.stride[i]} + {self.taps[i]} * {dilation[i]}" for i in range(self.spatial)]

    def padded(self, c, x, fill):
        shape = list(x.shape[:self.lead]) + [plus(n, a, b) for n, a, b in zip(self.sizes, self.padding, self.high)]
        none = [0] * self.lead
        return c.f.pad(x, none + list(self.padding), none + self.high, shape, fill)

    def reduce(self, c, inputs, type, initial, shape, body):
        """`inputs`: pairs of a tensor and whether it is read at the window's elements (True) or at the output (False)."""
        window, order = c.f.empty(self.kernel, type), inputs[0][0].order
        reads = [(v, self.in_map if windowed else self.out_map) for v, windowed in inputs] + [(window, self.taps)]
        return c.f.generic(self.loops, reads, [(c.f.fill(shape, type, initial, order), self.out_map)],
                           lambda s, *e: body(s, *e[:-2], e[-1]), range(self.loops - self.spatial, self.loops))

    def position(self, s, i):
        """The input's coordinate, which may lie in the border."""
        start = s.mul(s.index(self.lead + i), self.stride[i])
        return s.sub(s.add(start, s.mul(s.index(self.lead + self.spatial + i), self.dilation[i])), self.padding[i])


def averaged(c, w, total, count_include_pad, divisor, type):
    """Sums over the number of elements of their windows: those inside, or those of the padded input."""
    borders = any(w.padding)
    beyond = any(h > p for h, p in zip(w.high, w.padding) if isinstance(h, int))
    if divisor is not None or (count_include_pad and not beyond) or not (borders or beyond):
        count = divisor if divisor is not None else math.prod(w.kernel)
        return c.map([total], lambda s, a: s.div(a, float(count)), type=type, shape=total.shape)

    def body(s, a):
        count = None
        for i in range(w.spatial):
            start = s.sub(s.mul(s.index(w.lead + i), w.stride[i]), w.padding[i])
            size = s.size(w.sizes[i])
            end = s.min(s.add(start, w.kernel[i]), s.add(size, w.padding[i]))
            if not count_include_pad:
                start, end = s.max(start, 0), s.min(end, size)
            length = s.sub(end, start)
            count = length if count is None else s.mul(count, length)
        return s.div(a, s.cast(count, a.type))
    return c.map([total], body, type=type, shape=total.shape)
