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


@op("mkldnn_rnn_layer_backward")
def rnn_layer_backward(c, x, weight, recurrent, bias, recurrent_bias, h, cell, out, last, last_cell, grad, grad_last, grad_last_cell,
                       reverse, mode, hidden, layers, has_biases, train, bidirectional, batch_sizes, batch_first, workspace):
    """Gradients of one direction of one layer of an LSTM. Nothing but the layer's result is kept from the forward pass: with it the gates
    of all times are one product again, and only the cells are computed in order; then a loop over time backwards, and one product for each
    gradient of a weight."""
    if mode != LSTM or batch_sizes or grad is None and grad_last is None and grad_last_cell is None:
        c.refuse("of the gradients of recurrent layers as a whole, those of LSTMs without packed sequences are compiled")
    f, compute = c.f, types.compute(x.type)
    if batch_first:
        x, out, grad = (v if v is None else f.transpose(v, [1, 0, 2]) for v in (x, out, grad))
    time, batch, inputs = x.shape
    wide, state = 4 * hidden, (batch, hidden)
    h, cell = (c.cast(f.view(v, state), compute) for v in (h, cell))

    def at(step):
        return f.op(f"arith.subi {f.index(time - 1)}, {step} : index") if reverse else step

    def row(value, step):
        return f.slice(value, [step, 0, 0], [1, batch, value.shape[2]], drop=[0])

    def put(value, into, step):
        return f.insert(value, into, [step, 0, 0], sizes=[1, *value.shape])
    before = f.empty((time, batch, hidden), compute)
    kept = f.slice(c.cast(out, compute), [1 if reverse else 0, 0, 0], [time - 1, batch, hidden])
    before = f.insert(kept, before, [0 if reverse else 1, 0, 0])
    before = f.insert(h, before, [time - 1 if reverse else 0, 0, 0], sizes=[1, batch, hidden])
    maps = ["d0", "d1", "d3"], ["d2", "d3"], ["d0", "d1", "d2"]
    sums = [contract(c, value, matrix, 4, *maps, (time, batch, wide), compute, [3]) for value, matrix in ((x, weight), (before, recurrent))]
    addends = sums + ([bias, recurrent_bias] if has_biases else [])

    def activated(s, *values):
        total = values[0]
        for value in values[1:]:
            total = s.add(total, value)
        return total
    raw = c.map(addends, activated, compute=compute, type=compute, shape=(time, batch, wide))
    gates = []
    for i in range(4):
        part = f.slice(raw, [0, 0, i * hidden], [time, batch, hidden])
        gates.append(f.map([part], part.shape, compute, lambda s, a, i=i: s.math("tanh", a) if i == 2 else sigmoid_of(s, a)))
    enter, forget, new, leave = gates

    with f.loop(time, [f.empty((time, batch, hidden), compute), cell]) as (step, (cells, memory), results):
        now = at(step)
        kept_cells = put(memory, cells, now)  # the cell before this time
        memory = f.map([row(forget, now), memory, row(enter, now), row(new, now)], state, compute,
                       lambda s, a, m, i, g: s.add(s.mul(a, m), s.mul(i, g)))
        results[:] = [kept_cells, memory]
    cells = results[0]

    def given(value):
        return f.fill(state, compute, 0) if value is None else c.cast(f.view(value, state), compute)
    carried = [f.empty((time, batch, wide), compute), given(grad_last), given(grad_last_cell)]
    with f.loop(time, carried) as (step, (slopes, dh, dc), results):
        now = at(f.op(f"arith.subi {f.index(time - 1)}, {step} : index"))
        i, a, g, o, m = (row(v, now) for v in (enter, forget, new, leave, cells))
        if grad is not None:
            dh = f.map([dh, row(c.cast(grad, compute), now)], state, compute, lambda s, p, q: s.add(p, q))
        memory = f.map([a, m, i, g], state, compute, lambda s, a, m, i, g: s.math("tanh", s.add(s.mul(a, m), s.mul(i, g))))

        def slope(s, y):
            return s.mul(y, s.sub(1, y))
        dc = f.map([dc, dh, o, memory], state, compute, lambda s, d, e, o, t: s.add(d, s.mul(s.mul(e, o), s.sub(1, s.mul(t, t)))))
        parts = [
            f.map([dc, g, i], state, compute, lambda s, d, g, i: s.mul(s.mul(d, g), slope(s, i))),
            f.map([dc, m, a], state, compute, lambda s, d, m, a: s.mul(s.mul(d, m), slope(s, a))),
            f.map([dc, i, g], state, compute, lambda s, d, i, g: s.mul(s.mul(d, i), s.sub(1, s.mul(g, g)))),
            f.map([dh, memory, o], state, compute, lambda s, d, t, o: s.mul(s.mul(d, t), slope(s, o)))]
        together = f.concat(parts, 1, (batch, wide))
        results[:] = [put(together, slopes, now),
                      contract(c, together, recurrent, 3, ["d0", "d2"], ["d2", "d1"], ["d0", "d1"], state, compute, [2]),
                      f.map([dc, a], state, compute, lambda s, d, a: s.mul(d, a))]
    slopes, dh, dc = results
    dx = contract(c, slopes, weight, 4, ["d0", "d1", "d3"], ["d3", "d2"], ["d0", "d1", "d2"], (time, batch, inputs), compute, [3])
    if batch_first:
        dx = f.transpose(dx, [1, 0, 2])
    both = ["d2", "d3", "d0"], ["d2", "d3", "d1"], ["d0", "d1"]
    dw, dr = (contract(c, slopes, value, 4, *both, (wide, value.shape[2]), compute, [2, 3]) for value in (x, before))
    db = f.reduce([slopes], [0, 1], compute, 0, lambda s, a, t: s.add(t, a))
    made = [dx, dw, dr, db, db, dh, dc]
    return tuple(c.cast(f.view(v, shape_of(m)), type_of(m)) for v, m in zip(made, c.meta))
