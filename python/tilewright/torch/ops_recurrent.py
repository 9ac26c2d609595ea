"""Recurrent layers as a whole: the products with all inputs at once, then a loop over time."""

from ..emit import types
from ..emit.contract import contract
from ..emit.elements import sigmoid_of
from . import recurrent as operations
from .context import shape_of, type_of
from .registry import op

operations.define()

#: PyTorch's number of LSTMs among recurrent layers.
LSTM = 2


class Layer:
    """One direction of one layer: x is (time, batch, inputs), weights are (gates * hidden, ..)."""

    def __init__(self, c, mode, x, weight, recurrent, bias, recurrent_bias, h, cell, reverse):
        self.c, self.f, self.mode, self.reverse = c, c.f, mode, reverse
        self.x, self.weight, self.recurrent, self.bias, self.recurrent_bias = x, weight, recurrent, bias, recurrent_bias
        self.compute, self.gates = types.compute(x.type), operations.GATES[mode]
        self.time, self.batch, self.inputs = x.shape
        self.hidden = recurrent.shape[1]
        self.state, self.wide = (self.batch, self.hidden), self.gates * self.hidden
        self.h = self.given(h)
        self.cell = self.given(cell) if mode == "lstm" else None

    def given(self, value):
        """A state in the type that is computed in; zeros where there is none."""
        if value is None:
            return self.f.fill(self.state, self.compute, 0)
        return self.c.cast(self.f.view(value, self.state), self.compute)

    def at(self, step):
        """The number of the time of a step of the loop."""
        return self.f.op(f"arith.subi {self.f.index(self.time - 1)}, {step} : index") if self.reverse else step

    def row(self, value, step):
        return self.f.slice(value, [step, 0, 0], [1, self.batch, value.shape[2]], drop=[0])

    def put(self, value, into, step):
        return self.f.insert(value, into, [step, 0, 0], sizes=[1, *value.shape])

    def map(self, values, body, shape=None):
        return self.f.map(values, shape or self.state, self.compute, body)

    def part(self, value, i):
        """A gate's columns."""
        lead = value.shape[:-1]
        return self.f.slice(value, [0] * len(lead) + [i * self.hidden], [*lead, self.hidden])

    def over_all(self, value, matrix, bias):
        """Sums over inputs or states of all times, with a bias."""
        sums = contract(self.c, value, matrix, 4, ["d0", "d1", "d3"], ["d2", "d3"], ["d0", "d1", "d2"], (self.time, self.batch, self.wide),
                        self.compute, [3])
        return self.with_bias(sums, bias)

    def with_bias(self, sums, bias):
        if bias is None:
            return sums
        return self.c.map([sums, bias], lambda s, a, b: s.add(a, b), compute=self.compute, type=self.compute, shape=sums.shape)

    def over_state(self, state):
        sums = contract(self.c, state, self.recurrent, 3, ["d0", "d2"], ["d1", "d2"], ["d0", "d1"], (self.batch, self.wide), self.compute, [2])
        return self.with_bias(sums, self.recurrent_bias)


def lstm_step(layer, now, through, state, memory):
    n, t = ([layer.part(v, i) for i in range(4)] for v in (now, through))

    def kept(s, f0, f1, m, i0, i1, g0, g1):
        forget, enter = sigmoid_of(s, s.add(f0, f1)), sigmoid_of(s, s.add(i0, i1))
        return s.add(s.mul(forget, m), s.mul(enter, s.math("tanh", s.add(g0, g1))))
    memory = layer.map([n[1], t[1], memory, n[0], t[0], n[2], t[2]], kept)
    return layer.map([n[3], t[3], memory], lambda s, a, b, m: s.mul(sigmoid_of(s, s.add(a, b)), s.math("tanh", m))), memory


def gru_step(layer, now, through, state, memory):
    n, t = ([layer.part(v, i) for i in range(3)] for v in (now, through))

    def next_state(s, ir, hr, iz, hz, i_new, h_new, h):
        new = s.math("tanh", s.add(i_new, s.mul(sigmoid_of(s, s.add(ir, hr)), h_new)))
        return s.add(new, s.mul(sigmoid_of(s, s.add(iz, hz)), s.sub(h, new)))
    return layer.map([n[0], t[0], n[1], t[1], n[2], t[2], state], next_state), memory


def plain_step(layer, now, through, state, memory):
    def next_state(s, a, b):
        return s.math("tanh", s.add(a, b)) if layer.mode == "rnn_tanh" else s.max(s.add(a, b), 0)
    return layer.map([now, through], next_state), memory


STEPS = {"lstm": lstm_step, "gru": gru_step, "rnn_tanh": plain_step, "rnn_relu": plain_step}


def forward(layer):
    """The results of all times, the last state, the last cell (None but for LSTMs)."""
    f, carries_cell = layer.f, layer.mode == "lstm"
    inputs = layer.over_all(layer.x, layer.weight, layer.bias)
    carried = [f.empty((layer.time, *layer.state), layer.x.type), layer.h] + ([layer.cell] if carries_cell else [])
    with f.loop(layer.time, carried) as (step, (out, state, *memory), results):
        at = layer.at(step)
        new, new_memory = STEPS[layer.mode](layer, layer.row(inputs, at), layer.over_state(state), state, memory[0] if memory else None)
        results[:] = [layer.put(layer.c.cast(new, layer.x.type), out, at), new] + ([new_memory] if carries_cell else [])
    return (*results, None)[:3]


def states_before(layer, out):
    """The state before each time."""
    f, time = layer.f, layer.time
    before = f.empty((time, *layer.state), layer.compute)
    kept = f.slice(layer.c.cast(out, layer.compute), [1 if layer.reverse else 0, 0, 0], [time - 1, *layer.state])
    before = f.insert(kept, before, [0 if layer.reverse else 1, 0, 0])
    return f.insert(layer.h, before, [time - 1 if layer.reverse else 0, 0, 0], sizes=[1, *layer.state])


def slope(s, y):
    """Of a sigmoid, from its value."""
    return s.mul(y, s.sub(1, y))


class LstmSlopes:
    """Gradients of the gates' sums. Gates of all times are computed at once, cells in order."""

    def __init__(self, layer, out, inputs, through):
        shape = (layer.time, *layer.state)
        self.layer = layer

        def gate(i, function):
            return layer.map([layer.part(inputs, i), layer.part(through, i)], lambda s, a, b: function(s, s.add(a, b)), shape)
        self.enter, self.forget, self.leave = (gate(i, sigmoid_of) for i in (0, 1, 3))
        self.new = gate(2, lambda s, a: s.math("tanh", a))
        f = layer.f
        with f.loop(layer.time, [f.empty(shape, layer.compute), layer.cell]) as (step, (cells, memory), results):
            at = layer.at(step)
            kept = layer.put(memory, cells, at)  # the cell before this time
            rows = [layer.row(v, at) for v in (self.forget, self.enter, self.new)]
            results[:] = [kept, layer.map([*rows, memory], lambda s, a, i, g, m: s.add(s.mul(a, m), s.mul(i, g)))]
        self.cells = results[0]

    def at(self, now, dh, dc):
        """(gradients of the sums over inputs, those over the state, what reaches the state by itself, the cell's)."""
        layer = self.layer
        i, a, g, o, m = (layer.row(v, now) for v in (self.enter, self.forget, self.new, self.leave, self.cells))
        memory = layer.map([a, m, i, g], lambda s, a, m, i, g: s.math("tanh", s.add(s.mul(a, m), s.mul(i, g))))
        dc = layer.map([dc, dh, o, memory], lambda s, d, e, o, t: s.add(d, s.mul(s.mul(e, o), s.sub(1, s.mul(t, t)))))
        parts = [layer.map([dc, g, i], lambda s, d, g, i: s.mul(s.mul(d, g), slope(s, i))),
                 layer.map([dc, m, a], lambda s, d, m, a: s.mul(s.mul(d, m), slope(s, a))),
                 layer.map([dc, i, g], lambda s, d, i, g: s.mul(s.mul(d, i), s.sub(1, s.mul(g, g)))),
                 layer.map([dh, memory, o], lambda s, d, t, o: s.mul(s.mul(d, t), slope(s, o)))]
        together = layer.f.concat(parts, 1, (layer.batch, layer.wide))
        return together, together, None, layer.map([dc, a], lambda s, d, a: s.mul(d, a))


class GruSlopes:
    def __init__(self, layer, out, inputs, through):
        shape = (layer.time, *layer.state)
        self.layer = layer
        self.reset, self.keep = (
            layer.map([layer.part(inputs, i), layer.part(through, i)], lambda s, a, b: sigmoid_of(s, s.add(a, b)), shape) for i in (0, 1))
        self.through = layer.part(through, 2)
        self.new = layer.map([layer.part(inputs, 2), self.reset, self.through], lambda s, a, r, b: s.math("tanh", s.add(a, s.mul(r, b))), shape)
        self.before = states_before(layer, out)

    def at(self, now, dh, dc):
        layer = self.layer
        r, z, n, b, h = (layer.row(v, now) for v in (self.reset, self.keep, self.new, self.through, self.before))
        dn = layer.map([dh, z, n], lambda s, d, z, n: s.mul(s.mul(d, s.sub(1, z)), s.sub(1, s.mul(n, n))))
        dr = layer.map([dn, b, r], lambda s, d, b, r: s.mul(s.mul(d, b), slope(s, r)))
        dz = layer.map([dh, h, n, z], lambda s, d, h, n, z: s.mul(s.mul(d, s.sub(h, n)), slope(s, z)))
        through = layer.map([dn, r], lambda s, d, r: s.mul(d, r))
        over_inputs, over_states = (layer.f.concat([dr, dz, last], 1, (layer.batch, layer.wide)) for last in (dn, through))
        return over_inputs, over_states, layer.map([dh, z], lambda s, d, z: s.mul(d, z)), None


class PlainSlopes:
    def __init__(self, layer, out, inputs, through):
        self.layer, self.out = layer, layer.c.cast(out, layer.compute)

    def at(self, now, dh, dc):
        def body(s, d, y):
            if self.layer.mode == "rnn_tanh":
                return s.mul(d, s.sub(1, s.mul(y, y)))
            return s.select(s.compare("gt", y, 0), d, s.constant(0, d.type))
        total = self.layer.map([dh, self.layer.row(self.out, now)], body)
        return total, total, None, None


SLOPES = {"lstm": LstmSlopes, "gru": GruSlopes, "rnn_tanh": PlainSlopes, "rnn_relu": PlainSlopes}


def backward(layer, out, grad, grad_h, grad_cell):
    """Gradients of x, both weights, both biases, state and cell. Nothing but the layer's result is kept from the forward pass: with it the
    gates of all times are one product again; then a loop over time backwards, and one product for each gradient of a weight."""
    f, c, compute = layer.f, layer.c, layer.compute
    carries_cell, differ = layer.mode == "lstm", layer.mode == "gru"
    before = states_before(layer, out)
    inputs, states = layer.over_all(layer.x, layer.weight, layer.bias), layer.over_all(before, layer.recurrent, layer.recurrent_bias)
    slopes = SLOPES[layer.mode](layer, out, inputs, states)
    empty = f.empty((layer.time, layer.batch, layer.wide), compute)
    carried = [empty, layer.given(grad_h)] + ([layer.given(grad_cell)] if carries_cell else []) + ([empty] if differ else [])
    with f.loop(layer.time, carried) as (step, (over_inputs, dh, *rest), results):
        now = layer.at(f.op(f"arith.subi {f.index(layer.time - 1)}, {step} : index"))
        if grad is not None:
            dh = layer.map([dh, layer.row(c.cast(grad, compute), now)], lambda s, p, q: s.add(p, q))
        of_inputs, of_states, direct, dc = slopes.at(now, dh, rest[0] if carries_cell else None)
        through = contract(c, of_states, layer.recurrent, 3, ["d0", "d2"], ["d2", "d1"], ["d0", "d1"], layer.state, compute, [2])
        dh = through if direct is None else layer.map([through, direct], lambda s, a, b: s.add(a, b))
        results[:] = [layer.put(of_inputs, over_inputs, now), dh] + ([dc] if carries_cell else []) + \
            ([layer.put(of_states, rest[0], now)] if differ else [])
    over_inputs, dh = results[:2]
    over_states = results[2] if differ else over_inputs
    dx = contract(c, over_inputs, layer.weight, 4, ["d0", "d1", "d3"], ["d3", "d2"], ["d0", "d1", "d2"], (layer.time, layer.batch, layer.inputs),
                  compute, [3])
    both = ["d2", "d3", "d0"], ["d2", "d3", "d1"], ["d0", "d1"]
    dw, dr = (contract(c, slopes, value, 4, *both, (layer.wide, value.shape[2]), compute, [2, 3])
              for slopes, value in ((over_inputs, layer.x), (over_states, before)))
    db, ds = (f.reduce([v], [0, 1], compute, 0, lambda s, a, t: s.add(t, a)) for v in (over_inputs, over_states))
    return dx, dw, dr, db, ds, dh, results[2] if carries_cell else None


def typed(c, values, first=0):
    """Values in the shapes and types that the graph has for the node's results from number `first` on."""
    def one(value, meta):
        shape, type = shape_of(meta), type_of(meta)
        return c.f.empty(shape, type) if value is None else c.cast(c.f.view(value, shape), type)
    return tuple(map(one, values, c.meta[first:]))


@op("tilewright::recurrent_layer")
def recurrent_layer(c, x, weight, recurrent, bias, recurrent_bias, h, cell, mode, reverse):
    return typed(c, forward(Layer(c, mode, x, weight, recurrent, bias, recurrent_bias, h, cell, reverse)))


@op("tilewright::recurrent_layer_backward")
def recurrent_layer_backward(c, x, weight, recurrent, bias, recurrent_bias, h, cell, out, grad, grad_h, grad_cell, mode, reverse):
    return typed(c, backward(Layer(c, mode, x, weight, recurrent, bias, recurrent_bias, h, cell, reverse), out, grad, grad_h, grad_cell))


# What PyTorch makes of LSTMs where ours is not taken: under autocast


@op("mkldnn_rnn_layer")
def rnn_layer(c, x, weight, recurrent, bias, recurrent_bias, h, cell, reverse, batch_sizes, mode, hidden, layers, has_biases, bidirectional,
              batch_first, train):
    if mode != LSTM or train or batch_sizes:
        c.refuse("of recurrent layers as a whole, LSTMs without gradient and without packed sequences are compiled")
    if batch_first:
        x = c.f.transpose(x, [1, 0, 2])
    biases = (bias, recurrent_bias) if has_biases else (None, None)
    out, *last = forward(Layer(c, "lstm", x, weight, recurrent, *biases, h, cell, reverse))
    if batch_first:
        out = c.f.transpose(out, [1, 0, 2])
    return out, *typed(c, last, 1), c.f.empty(shape_of(c.meta[3]), type_of(c.meta[3]))


@op("mkldnn_rnn_layer_backward")
def rnn_layer_backward(c, x, weight, recurrent, bias, recurrent_bias, h, cell, out, last, last_cell, grad, grad_last, grad_last_cell,
                       reverse, mode, hidden, layers, has_biases, train, bidirectional, batch_sizes, batch_first, workspace):
    if mode != LSTM or batch_sizes or grad is None and grad_last is None and grad_last_cell is None:
        c.refuse("of the gradients of recurrent layers as a whole, those of LSTMs without packed sequences are compiled")
    if batch_first:
        x, out, grad = (v if v is None else c.f.transpose(v, [1, 0, 2]) for v in (x, out, grad))
    biases = (bias, recurrent_bias) if has_biases else (None, None)
    dx, *rest = backward(Layer(c, "lstm", x, weight, recurrent, *biases, h, cell, reverse), out, grad, grad_last, grad_last_cell)
    return typed(c, [c.f.transpose(dx, [1, 0, 2]) if batch_first else dx, *rest])
