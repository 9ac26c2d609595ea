"""Which operations AOTAutograd takes apart before the importer sees the graph: those of the core ATen table, and others that PyTorch
has a decomposition of and the importer has no emitter; but not what the importer writes as a whole."""

import functools

import torch
from torch._decomp import core_aten_decompositions, decomposition_table

from . import registry

#: Their decompositions write to parts of a complex tensor, which AOTAutograd refuses.
WRITING = (torch.ops.aten.complex, torch.ops.aten.polar)


@functools.lru_cache(None)
def table():
    registry.load()
    result = dict(decomposition_table)
    result.update(core_aten_decompositions())
    for packet in WRITING:
        for overload in packet.overloads():
            result.pop(getattr(packet, overload), None)
    for overload in list(result):
        if isinstance(overload, torch._ops.OpOverload) and registry.emitter_of(overload) is not None:
            del result[overload]
    return result
