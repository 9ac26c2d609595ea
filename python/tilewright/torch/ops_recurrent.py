"""Recurrent layers as a whole: the products with all inputs at once, then a loop over time."""

from ..emit import types
from ..emit.contract import contract
from .context import shape_of, type_of
from .ops_elementwise import sigmoid_of
from .registry import op

#: PyTorch's numbers of the kinds of recurrent layers.
LSTM = 2


@op("mkldnn_rnn_layer")
def rnn_layer(c, x, weight, recurrent, bias, recurrent_bias, h, cell, reverse, batch_sizes, mode, hidden, layers, has_biases, bidirectional,
              batch_first, train):
    """One direction of one layer of an LSTM: x is (time, batch, inputs), weights are (4 hidden, ...), gates in the order i, f, g, o."""
    if mode != LSTM or train or batch_sizes:
        c.refuse("of recurrent layers as a whole, LSTMs without gradient and without packed sequences are compiled")
    f, type = c.f, x.type
    compute = types.compute(type)
    if batch_first:
        x = f.transpose(x, [1, 0, 2])
    time, batch, _ = x.shape
    gates = contract(c, x, weight, 4, ["d0", "d1", "d3"], ["d2", "d3"], ["d0", "d1", "d2"], (time, batch, 4 * hidden), compute, [3])
    if has_biases:
        gates = c.map([gates, bias, recurrent_bias], lambda s, a, b, d: s.add(a, s.add(b, d)), compute=compute, type=compute, shape=gates.shape)
    state = [c.cast(f.view(v, (batch, hidden)), compute) for v in (h, cell)]
    with f.loop(time, [f.empty((time, batch, hidden), type), *state]) as (step, (out, before, memory), results):
        at = step
        if reverse:
            at = f.op(f"arith.subi {f.index(time - 1)}, {step} : index")
        now = f.slice(gates, [at, 0, 0], [1, batch, 4 * hidden], drop=[0])
        through = contract(c, before, recurrent, 3, ["d0", "d2"], ["d1", "d2"], ["d0", "d1"], (batch, 4 * hidden), compute, [2])
        parts = [[f.slice(v, [0, i * hidden], [batch, hidden]) for v in (now, through)] for i in range(4)]

        def kept(s, f0, f1, m, i0, i1, g0, g1):
            forget, enter = sigmoid_of(s, s.add(f0, f1)), sigmoid_of(s, s.add(i0, i1))
            return s.add(s.mul(forget, m), s.mul(enter, s.math("tanh", s.add(g0, g1))))
        new_memory = f.map([*parts[1], memory, *parts[0], *parts[2]], (batch, hidden), compute, kept)
        new = f.map([*parts[3], new_memory], (batch, hidden), compute, lambda s, a, b, m: s.mul(sigmoid_of(s, s.add(a, b)), s.math("tanh", m)))
        results[:] = [f.insert(c.cast(new, type), out, [at, 0, 0], sizes=[1, batch, hidden]), new, new_memory]
    out, new, new_memory = results
    if batch_first:
        out = f.transpose(out, [1, 0, 2])
    last = tuple(c.cast(f.view(v, shape_of(m)), type_of(m)) for v, m in zip((new, new_memory), c.meta[1:3]))
    return out, *last, f.empty(shape_of(c.meta[3]), type_of(c.meta[3]))
