"""Recurrent layers stay whole through AOTAutograd, which would unroll them over time: each layer and direction is one operation of ours,
with a gradient that is one operation too.

    tilewright::recurrent_layer(x, weight, recurrent, bias, recurrent_bias, h, cell, mode, reverse) -> (out, h, cell)

x is (time, batch, inputs); weights are (gates * hidden, ..) in PyTorch's order; cell is empty but for LSTMs.
"""

import functools
from typing import Optional

import torch
from torch import Tensor

#: Layers by the name of PyTorch's function, with their numbers of gates.
GATES = {"lstm": 4, "gru": 3, "rnn_tanh": 1, "rnn_relu": 1}


def parts(sums, mode):
    return sums.chunk(GATES[mode], -1)


def step(mode, inputs, through, h, cell):
    """The next state from the sums over inputs and over the state before."""
    if mode == "lstm":
        enter, forget, new, leave = parts(inputs + through, mode)
        cell = forget.sigmoid() * cell + enter.sigmoid() * new.tanh()
        return leave.sigmoid() * cell.tanh(), cell
    if mode == "gru":
        (ir, iz, new), (hr, hz, hn) = parts(inputs, mode), parts(through, mode)
        new = (new + (ir + hr).sigmoid() * hn).tanh()
        return new + (iz + hz).sigmoid() * (h - new), cell
    total = inputs + through
    return (total.tanh() if mode == "rnn_tanh" else total.relu()), cell


def slopes_of(mode, inputs, through, h, cell, dh, dc):
    """Gradients of a step: of the sums over inputs, of those over the state, of the state before without what the sums give, of the cell."""
    if mode == "lstm":
        enter, forget, new, leave = parts(inputs + through, mode)
        enter, forget, new, leave = enter.sigmoid(), forget.sigmoid(), new.tanh(), leave.sigmoid()
        after = (forget * cell + enter * new).tanh()
        dc = dc + dh * leave * (1 - after * after)
        total = torch.cat([dc * new * enter * (1 - enter), dc * cell * forget * (1 - forget), dc * enter * (1 - new * new),
                           dh * after * leave * (1 - leave)], -1)
        return total, total, torch.zeros_like(h), dc * forget
    if mode == "gru":
        (ir, iz, new), (hr, hz, hn) = parts(inputs, mode), parts(through, mode)
        reset, keep = (ir + hr).sigmoid(), (iz + hz).sigmoid()
        new = (new + reset * hn).tanh()
        dn = dh * (1 - keep) * (1 - new * new)
        dr, dz = dn * hn * reset * (1 - reset), dh * (h - new) * keep * (1 - keep)
        return torch.cat([dr, dz, dn], -1), torch.cat([dr, dz, dn * reset], -1), dh * keep, dc
    total = inputs + through
    slope = dh * (1 - total.tanh() ** 2) if mode == "rnn_tanh" else dh * (total > 0)
    return slope, slope, torch.zeros_like(h), dc


def order(time, reverse):
    return range(time - 1, -1, -1) if reverse else range(time)


@functools.lru_cache(None)
def define():
    """Registers the operations with PyTorch, once. Their kernels here serve graphs of which a part runs eagerly."""
    @torch.library.custom_op("tilewright::recurrent_layer", mutates_args=(), device_types="cpu")
    def layer(x: Tensor, weight: Tensor, recurrent: Tensor, bias: Optional[Tensor], recurrent_bias: Optional[Tensor], h: Tensor, cell: Tensor,
              mode: str, reverse: bool) -> tuple[Tensor, Tensor, Tensor]:
        inputs, out, state, memory = torch.nn.functional.linear(x, weight, bias), x.new_empty((*x.shape[:2], h.shape[1])), h, cell
        for t in order(x.shape[0], reverse):
            state, memory = step(mode, inputs[t], torch.nn.functional.linear(state, recurrent, recurrent_bias), state, memory)
            out[t] = state
        return out, state.clone(), memory.clone()

    @layer.register_fake
    def _(x, weight, recurrent, bias, recurrent_bias, h, cell, mode, reverse):
        return x.new_empty((*x.shape[:2], h.shape[1])), h.new_empty(h.shape), cell.new_empty(cell.shape)

    @torch.library.custom_op("tilewright::recurrent_layer_backward", mutates_args=(), device_types="cpu")
    def backward(x: Tensor, weight: Tensor, recurrent: Tensor, bias: Optional[Tensor], recurrent_bias: Optional[Tensor], h: Tensor, cell: Tensor,
                 out: Tensor, grad: Tensor, grad_h: Tensor, grad_cell: Tensor, mode: str, reverse: bool
                 ) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor, Tensor, Tensor]:
        inputs, times = torch.nn.functional.linear(x, weight, bias), list(order(x.shape[0], reverse))
        states, cells, state, memory = [], [], h, cell
        for t in times:
            states.append(state)
            cells.append(memory)
            state, memory = step(mode, inputs[t], torch.nn.functional.linear(state, recurrent, recurrent_bias), state, memory)
        dh, dc, over_inputs, over_states = grad_h, grad_cell, torch.empty_like(inputs), torch.empty_like(inputs)
        for t, state, memory in zip(times[::-1], states[::-1], cells[::-1]):
            through = torch.nn.functional.linear(state, recurrent, recurrent_bias)
            over_inputs[t], over_states[t], dh, dc = slopes_of(mode, inputs[t], through, state, memory, dh + grad[t], dc)
            dh = dh + over_states[t] @ recurrent
        before = torch.stack(states[::-1] if reverse else states)
        return over_inputs @ weight, torch.einsum("tbg,tbi->gi", over_inputs, x), torch.einsum("tbg,tbh->gh", over_states, before), \
            over_inputs.sum((0, 1)), over_states.sum((0, 1)), dh.clone(), dc.clone()

    @backward.register_fake
    def _(x, weight, recurrent, bias, recurrent_bias, h, cell, out, grad, grad_h, grad_cell, mode, reverse):
        new = [torch.empty_like(v, memory_format=torch.contiguous_format) for v in (x, weight, recurrent)]
        return (*new, weight.new_empty(weight.shape[:1]), weight.new_empty(weight.shape[:1]), h.new_empty(h.shape), cell.new_empty(cell.shape))

    def setup(ctx, inputs, output):
        *tensors, ctx.mode, ctx.reverse = inputs
        ctx.save_for_backward(*tensors, output[0])

    def gradient(ctx, grad, grad_h, grad_cell):
        saved = ctx.saved_tensors
        made = torch.ops.tilewright.recurrent_layer_backward(*saved, grad, grad_h, grad_cell, ctx.mode, ctx.reverse)
        return tuple(m if v is not None else None for m, v in zip(made, saved)) + (None, None)
    layer.register_autograd(gradient, setup_context=setup)
    return layer


def layers(mode, x, states, weights, has_biases, count, dropout, train, bidirectional, batch_first):
    """What torch.lstm, torch.gru and their like compute, layer by layer."""
    if batch_first:
        x = x.transpose(0, 1)
    directions, each, last = 1 + bidirectional, 4 if has_biases else 2, []
    for number in range(count):
        outs = []
        for direction in range(directions):
            i = number * directions + direction
            weight, recurrent, *biases = weights[i * each:(i + 1) * each]
            h, cell = (states[0][i], states[1][i]) if mode == "lstm" else (states[i], x.new_empty(0))
            out, *state = torch.ops.tilewright.recurrent_layer(x, weight, recurrent, *(biases or (None, None)), h, cell, mode, direction == 1)
            outs.append(out)
            last.append(state)
        x = torch.cat(outs, -1) if bidirectional else outs[0]
        if dropout and train and number + 1 < count:
            x = torch.nn.functional.dropout(x, dropout)
    return (x.transpose(0, 1) if batch_first else x), *(torch.stack(s) for s in list(zip(*last))[:2 if mode == "lstm" else 1])


def lstm(*args):
    return layers("lstm", *args)


def gru(*args):
    return layers("gru", *args)


def rnn_tanh(*args):
    return layers("rnn_tanh", *args)


def rnn_relu(*args):
    return layers("rnn_relu", *args)


#: As Dynamo and as torch.export call them.
WHOLE = {torch.lstm: lstm, torch.gru: gru, torch.rnn_tanh: rnn_tanh, torch.rnn_relu: rnn_relu,
         torch.ops.aten.lstm.input: lstm, torch.ops.aten.gru.input: gru,
         torch.ops.aten.rnn_tanh.input: rnn_tanh, torch.ops.aten.rnn_relu.input: rnn_relu}


def keep_whole(module):
    """Exchanges the calls of recurrent layers in Dynamo's graph. Left to PyTorch: packed sequences, projections, and graphs under autocast,
    which chooses types inside of the layers."""
    found = [n for n in module.graph.nodes if n.op == "call_function" and n.target in WHOLE and is_plain(n)]
    if not found or torch.is_autocast_enabled("cpu") or any("autocast" in str(n.target) for n in module.graph.nodes):
        return
    define()
    for node in found:
        node.target = WHOLE[node.target]
    module.recompile()


def is_plain(node):
    weights = node.args[2] if len(node.args) == 9 and not node.kwargs else None
    if not isinstance(weights, (list, tuple)):
        return False
    _, _, _, has_biases, count, _, _, bidirectional, _ = node.args
    return len(weights) == count * (1 + bidirectional) * (4 if has_biases else 2)
