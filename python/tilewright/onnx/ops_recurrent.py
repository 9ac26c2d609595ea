"""Recurrent layers as a whole: the products with all inputs at once, then a loop over time."""

from ..emit import types
from ..emit.contract import contract
from ..emit.elements import sigmoid_of
from .ops_elementwise import elu_of, hard_sigmoid_of, softplus_of
from .registry import op

#: Activations by name: the function of (s, a, alpha, beta), and the defaults of alpha and beta.
ACTIVATIONS = {
    "sigmoid": (lambda s, a, alpha, beta: sigmoid_of(s, a), 0, 0), "tanh":
    (lambda s, a, alpha, beta: s.math("tanh", a), 0, 0), "relu": (lambda s, a, alpha, beta: s.max(a, 0), 0, 0),
    "leakyrelu": (lambda s, a, alpha, beta: s.select(s.compare("lt", a, 0), s.mul(a, alpha), a), 0.01, 0),
    "thresholdedrelu": (lambda s, a, alpha, beta: s.select(s.compare("gt", a, alpha), a, s.constant(0, a.type)), 1.0,
                        0), "scaledtanh": (lambda s, a, alpha, beta: s.mul(s.math("tanh", s.mul(a, beta)), alpha), 1.0,
                                           1.0), "hardsigmoid": (hard_sigmoid_of, 0.2, 0.5), "elu":
    (lambda s, a, alpha, beta: elu_of(s, a, alpha), 1.0,
     0), "affine": (lambda s, a, alpha, beta: s.add(s.mul(a, alpha), beta), 1.0,
                    0), "softsign": (lambda s, a, alpha, beta: s.div(a, s.add(s.math("absf", a), 1)), 0,
                                     0), "softplus": (lambda s, a, alpha, beta: softplus_of(s, a), 0, 0)
}


def activations(c, count, defaults):
    """The functions of each direction: lists of `count`."""
    names = [n.lower() for n in c.attribute("activations", [])] or [d.lower() for d in defaults] * directions(c)
    alphas, betas = list(c.attribute("activation_alpha", [])), list(c.attribute("activation_beta", []))
    made = []
    for name in names:
        if name not in ACTIVATIONS:
            c.refuse(f"the activation '{name}' is not known")
        body, alpha, beta = ACTIVATIONS[name]
        alpha = alphas.pop(0) if alphas and alpha else alpha
        beta = betas.pop(0) if betas and beta else beta
        made.append(lambda s, a, body=body, alpha=float(alpha), beta=float(beta): body(s, a, alpha, beta))
    return [made[i:i + count] for i in range(0, len(made), count)]


def directions(c):
    return 2 if c.attribute("direction", "forward") == "bidirectional" else 1


class Layer:
    """What layers have in common: the inputs in the order (time, batch, features), and the parts of one direction."""

    def __init__(self, c, x, weight, recurrent, bias, lengths, initial):
        self.c, self.f, self.type = c, c.f, types.compute(x.type)
        self.batch_first = c.attribute("layout", 0)
        if self.batch_first:
            x = c.f.transpose(x, [1, 0, 2])
            initial = [v if v is None else c.f.transpose(v, [1, 0, 2]) for v in initial]
        self.x, self.weight, self.recurrent, self.bias, self.initial = x, weight, recurrent, bias, initial
        self.time, self.batch, _ = x.shape
        self.hidden = c.attribute("hidden_size", recurrent.shape[-1])
        self.lengths = lengths if lengths is None else c.cast(lengths, "i64")
        self.clip = c.attribute("clip")

    def take(self, value, direction):
        """The part of one direction, in the type of the computation."""
        if value is None:
            return None
        sizes = [1, *value.shape[1:]]
        return self.c.cast(self.f.slice(value, [direction] + [0] * (value.rank - 1), sizes, drop=[0]), self.type)

    def state(self, number, direction):
        given = self.take(self.initial[number], direction)
        return self.f.fill((self.batch, self.hidden), self.type, 0) if given is None else given

    def clipped(self, s, a):
        return a if not self.clip else s.max(s.min(a, float(self.clip)), -float(self.clip))

    def rows(self, value, direction, start, count):
        """Gates `start` to `start + count` of a weight."""
        part = self.take(value, direction)
        if part is None:
            return None
        return self.f.slice(part, [start * self.hidden] + [0] * (part.rank - 1), [count * self.hidden, *part.shape[1:]])

    def of_inputs(self, direction, gates):
        """x w^T plus the biases of the inputs: (time, batch, gates * hidden)."""
        weight = self.take(self.weight, direction)
        made = contract(self.c, self.x, weight, 4, ["d0", "d1", "d3"], ["d2", "d3"], ["d0", "d1", "d2"],
                        (self.time, self.batch, gates * self.hidden), self.type, [3])
        if self.bias is None:
            return made
        bias = self.rows(self.bias, direction, 0, gates)
        return self.c.map([made, bias], lambda s, a, b: s.add(a, b))

    def through(self, state, weight, bias):
        """h r^T, plus a bias."""
        made = contract(self.c, state, weight, 3, ["d0", "d2"], ["d1", "d2"], ["d0", "d1"],
                        (self.batch, weight.shape[0]), self.type, [2])
        return made if bias is None else self.c.map([made, bias], lambda s, a, b: s.add(a, b))

    def run(self, direction, inputs, states, step):
        """The loop: `step(now, states)` gives the new states, the first of which is what the layer gives. (all of
        them, the last states)"""
        f = self.f
        backwards = direction == 1 or self.c.attribute("direction", "forward") == "reverse"
        out = f.fill((self.time, self.batch, self.hidden), self.x.type, 0)
        with f.loop(self.time, [out, *states]) as (i, (written, *before), results):
            at = f.op(f"arith.subi {f.index(self.time - 1)}, {i} : index") if backwards else i
            now = f.slice(inputs, [at, 0, 0], [1, self.batch, inputs.shape[2]], drop=[0])
            new = step(now, before)
            given = new[0]
            if self.lengths is not None:  # beyond its length a sequence keeps its states, and gives 0
                def kept(s, n, a, b):
                    position = s.op(f"arith.index_cast {at} : index to i64", "i64")
                    return s.select(s.compare("gt", n, position), a, b)
                held = f.view(self.lengths, (self.batch, 1))
                given = f.map([held, new[0], f.fill(new[0].shape, self.type, 0)], new[0].shape, self.type, kept)
                new = [f.map([held, a, b], a.shape, self.type, kept) for a, b in zip(new, before)]
            results[:] = [
                f.insert(self.c.cast(given, self.x.type), written, [at, 0, 0], sizes=[1, self.batch, self.hidden]), *new
            ]
        return results[0], results[1:]

    def results(self, made):
        """The outputs of all directions: (time, directions, batch, hidden) and (directions, batch, hidden) of each
        state."""
        f, count = self.f, len(made)
        every = [f.view(out, (self.time, 1, self.batch, self.hidden)) for out, _ in made]
        every = every[0] if count == 1 else f.concat(every, 1, (self.time, count, self.batch, self.hidden))
        lasts = []
        for states in zip(*(last for _, last in made)):
            states = [f.view(self.c.cast(v, self.x.type), (1, self.batch, self.hidden)) for v in states]
            lasts.append(states[0] if count == 1 else f.concat(states, 0, (count, self.batch, self.hidden)))
        if self.batch_first:
            every = f.transpose(every, [2, 0, 1, 3])
            lasts = [f.transpose(v, [1, 0, 2]) for v in lasts]
        return (every, *lasts)


def gate(layer, value, number):
    return layer.f.slice(value, [0, number * layer.hidden], [layer.batch, layer.hidden])


@op("RNN")
def rnn(c, x, weight, recurrent, bias=None, lengths=None, h=None):
    layer, made = Layer(c, x, weight, recurrent, bias, lengths, [h]), []
    for d, (act,) in enumerate(activations(c, 1, ["Tanh"])):
        r, b = layer.take(recurrent, d), layer.rows(bias, d, 1, 1)

        def step(now, states):
            through = layer.through(states[0], r, b)
            return [c.map([now, through], lambda s, a, t: act(s, layer.clipped(s, s.add(a, t))))]
        made.append(layer.run(d, layer.of_inputs(d, 1), [layer.state(0, d)], step))
    return layer.results(made)


@op("GRU")
def gru(c, x, weight, recurrent, bias=None, lengths=None, h=None):
    """Gates in the order z, r, h."""
    layer, made, before_product = Layer(c, x, weight, recurrent, bias, lengths,
                                        [h]), [], not c.attribute("linear_before_reset", 0)
    for d, (f_act, g_act) in enumerate(activations(c, 2, ["Sigmoid", "Tanh"])):
        r_gates, r_new = layer.rows(recurrent, d, 0, 2), layer.rows(recurrent, d, 2, 1)
        b_gates, b_new = layer.rows(bias, d, 3, 2), layer.rows(bias, d, 5, 1)

        def step(now, states):
            h = states[0]
            through = layer.through(h, r_gates, b_gates)
            z, r = (c.map([gate(layer, now, i), gate(layer, through, i)],
                          lambda s, a, t: f_act(s, layer.clipped(s, s.add(a, t)))) for i in (0, 1))
            if before_product:
                entered = layer.through(c.map([r, h], lambda s, a, b: s.mul(a, b)), r_new, b_new)
                new = c.map([gate(layer, now, 2), entered], lambda s, a, t: g_act(s, layer.clipped(s, s.add(a, t))))
            else:
                new = c.map([gate(layer, now, 2), r, layer.through(h, r_new, b_new)],
                            lambda s, a, r, t: g_act(s, layer.clipped(s, s.add(a, s.mul(r, t)))))
            return [c.map([z, new, h], lambda s, z, n, h: s.add(s.mul(s.sub(1, z), n), s.mul(z, h)))]
        made.append(layer.run(d, layer.of_inputs(d, 3), [layer.state(0, d)], step))
    return layer.results(made)


@op("LSTM")
def lstm(c, x, weight, recurrent, bias=None, lengths=None, h=None, cell=None, peepholes=None):
    """Gates in the order i, o, f, c; peepholes i, o, f."""
    layer, made, coupled = Layer(c, x, weight, recurrent, bias, lengths, [h, cell]), [], c.attribute("input_forget", 0)
    for d, (f_act, g_act, h_act) in enumerate(activations(c, 3, ["Sigmoid", "Tanh", "Tanh"])):
        r, b = layer.take(recurrent, d), layer.rows(bias, d, 4, 4)
        looks = [layer.rows(peepholes, d, i, 1) for i in range(3)] if peepholes is not None else [None] * 3

        def gated(now, through, number, memory):
            look = looks[number]
            operands = [gate(layer, now, number), gate(layer, through, number)
                        ] + ([look, memory] if look is not None else [])

            def body(s, a, t, *p):
                a = s.add(a, t)
                return f_act(s, layer.clipped(s, s.add(a, s.mul(*p)) if p else a))
            return c.map(operands, body, shape=memory.shape)

        def step(now, states):
            h, memory = states
            through = layer.through(h, r, b)
            enter = gated(now, through, 0, memory)
            forget = c.map([enter], lambda s, i: s.sub(1, i)) if coupled else gated(now, through, 2, memory)

            def kept(s, forget, m, enter, a, t):
                return s.add(s.mul(forget, m), s.mul(enter, g_act(s, layer.clipped(s, s.add(a, t)))))
            new = c.map([forget, memory, enter, gate(layer, now, 3), gate(layer, through, 3)], kept)
            leave = gated(now, through, 1, new)
            return [c.map([leave, new], lambda s, o, m: s.mul(o, h_act(s, m))), new]
        made.append(layer.run(d, layer.of_inputs(d, 4), [layer.state(0, d), layer.state(1, d)], step))
    return layer.results(made)
