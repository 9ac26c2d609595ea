"""Which operations AOTAutograd takes apart before the importer sees the graph: those of the core ATen table, but not what the
importer writes as a whole."""

import functools

import torch
from torch._decomp import core_aten_decompositions, get_decompositions

from . import registry

aten = torch.ops.aten


@functools.lru_cache(None)
def table():
    registry.load()
    result = dict(core_aten_decompositions())
    result.update(get_decompositions([
        aten.native_batch_norm_backward, aten.native_layer_norm_backward, aten.native_group_norm_backward, aten.nll_loss_forward,
        aten.nll_loss_backward, aten.nll_loss2d_forward, aten.nll_loss2d_backward, aten.mse_loss_backward, aten.huber_loss_backward,
        aten.smooth_l1_loss_backward, aten.gelu_backward, aten._softmax_backward_data, aten._log_softmax_backward_data,
    ]))
    for overload in list(result):
        if isinstance(overload, torch._ops.OpOverload) and registry.emitter_of(overload) is not None:
            del result[overload]
    return result
