"""Operations that PyTorch marks as random run with a saved state of the generator inside of checkpoints, so that the second run of the forward
pass gives the same. Attention is marked for its dropout; without it, it draws nothing and runs as it is."""

import operator

import torch
from torch._prims.rng_prims import run_and_save_rng_state, run_with_rng_state
from torch.fx.node import map_arg

aten = torch.ops.aten

#: Attention, with the place of the probability of its dropout.
ATTENTIONS = {aten._scaled_dot_product_flash_attention_for_cpu.default: 3}


def draws_nothing(target, args):
    place = ATTENTIONS.get(target)
    return place is not None and (len(args) <= place or args[place] == 0)


def run_without_state(graph):
    """Exchanges the calls under a state of what draws nothing."""
    for node in list(graph.nodes):
        if node.target is run_with_rng_state and draws_nothing(node.args[1], node.args[2:]):
            node.replace_all_uses_with(plain_call(graph, node, node.args[1], node.args[2:]))
            graph.erase_node(node)
        elif node.target is run_and_save_rng_state and draws_nothing(node.args[0], node.args[1:]):
            call = plain_call(graph, node, node.args[0], node.args[1:])
            for user in list(node.users):
                assert user.target is operator.getitem, user
                if user.args[1] == 1:
                    user.replace_all_uses_with(call)
                    graph.erase_node(user)
                else:  # the state, which the backward pass hands on and nothing reads
                    state = user.meta["val"] = user.meta["val"].new_empty(0)
                    user.target, user.args = aten.full.default, ([0], 0)
                    user.kwargs = {"dtype": state.dtype, "device": state.device}
            graph.erase_node(node)


def plain_call(graph, node, target, args):
    with graph.inserting_before(node):
        call = graph.call_function(target, args, node.kwargs)
    call.meta = {**node.meta, "val": target(*map_arg(args, lambda n: n.meta["val"]), **map_arg(node.kwargs, lambda n: n.meta["val"]))}
    return call
