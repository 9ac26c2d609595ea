"""Gradients that no decomposition covers: of pooling and resampling. Each gathers, for a position of the input, from the windows that
hold it, so that nothing is written twice."""

from ..emit import types
from ..emit.convolution import plus, spread
from ..emit.windows import averaged
from .ops_pool import windows
from .registry import op


def gathered(c, x, w, low, values, body):
    """Sums `body(s, loops, *elements)` over the windows that hold each position of x: `values` are spread by the stride."""
    spatial, rank = w.spatial, x.rank
    reach = [d * (k - 1) for d, k in zip(w.dilation, w.kernel)]
    before = [r - p for r, p in zip(reach, low)]
    needed = [plus(n, r) for n, r in zip(x.shape[w.lead:], reach)]

    def wide(v):
        batched = v if w.lead == 2 else c.f.view(v, (1, *v.shape))
        result = spread(c, batched, w.stride, before, needed)
        return result if w.lead == 2 else c.f.view(result, result.shape[1:])
    type = types.compute(x.type)
    window = c.f.empty(w.kernel, type)
    loops = [f"d{i}" for i in range(rank)]
    taps = [f"d{rank + i}" for i in range(spatial)]
    access = loops[:w.lead] + [f"d{w.lead + i} + d{rank + i} * {w.dilation[i]}" for i in range(spatial)]
    reads = [(wide(v), access) for v in values] + [(window, taps)]
    return c.f.generic(rank + spatial, reads, [(c.f.fill(x.shape, type, 0, x.order), loops)],
                       lambda s, *e: s.add(e[-1], body(s, *e[:-2])), range(rank, rank + spatial))


def _max_pool_backward(spatial):
    @op(f"max_pool{spatial}d_with_indices_backward")
    def emit(c, gradient, x, kernel, stride, padding, dilation, ceil_mode, positions):
        w = windows(c, x, kernel, stride, padding, dilation, False, gradient.shape[-spatial:], spatial)
        type = types.compute(x.type)

        def body(s, g, position):
            flat = None
            for i in range(spatial):
                at = s.index(w.lead + i)
                flat = at if flat is None else s.add(s.mul(flat, s.size(w.sizes[i])), at)
            return s.select(s.compare("eq", position, flat), s.cast(g, type), s.constant(0, type))
        return c.cast(gathered(c, x, w, w.padding, [gradient, positions], body), c.type)


for _spatial in (2, 3):
    _max_pool_backward(_spatial)


def _avg_pool_backward(spatial):
    @op(f"avg_pool{spatial}d_backward")
    def emit(c, gradient, x, kernel, stride, padding, ceil_mode, count_include_pad, divisor_override):
        w = windows(c, x, kernel, stride, padding, (1,), ceil_mode, gradient.shape[-spatial:], spatial)
        type = types.compute(x.type)
        shares = averaged(c, w, gradient, count_include_pad, divisor_override, type)
        return c.cast(gathered(c, x, w, w.padding, [shares], lambda s, g: g), c.type)


for _spatial in (2, 3):
    _avg_pool_backward(_spatial)


def _adaptive_backward(spatial):
    @op(f"_adaptive_avg_pool{spatial}d_backward")
    def emit(c, gradient, x):
        type = types.compute(x.type)
        y, lead = c.cast(gradient, type), x.rank - spatial
        for i in range(spatial):
            y = _shared_axis(c, y, lead + i, x.shape[lead + i])
        return c.cast(y, c.type)


def _shared_axis(c, gradient, axis, size):
    """Each output's gradient over the length of its window, summed over the windows that hold a position."""
    count, rank = gradient.shape[axis], gradient.rank
    if count == size:
        return gradient
    loops = [f"d{i}" for i in range(rank + 1)]
    access = [f"d{rank}" if i == axis else f"d{i}" for i in range(rank)]
    shape = (*gradient.shape[:axis], size, *gradient.shape[axis + 1:])

    def body(s, g, t):
        n, o, i, at = s.size(size), s.size(count), s.index(rank), s.index(axis)
        start = s.div(s.mul(i, n), o)
        end = s.div(s.add(s.mul(s.add(i, 1), n), s.sub(o, 1)), o)
        inside = s.binary("and", s.compare("ge", at, start), s.compare("lt", at, end))
        share = s.div(g, s.cast(s.sub(end, start), g.type))
        return s.add(t, s.select(inside, share, s.constant(0, g.type)))
    return c.f.generic(rank + 1, [(gradient, access)], [(c.f.fill(shape, gradient.type, 0), loops[:-1])], body, {rank})


for _spatial in (2, 3):
    _adaptive_backward(_spatial)
