"""What an emitter of one node sees: the function under construction, the types and shapes of the node's results."""

import torch

from ..emit import context as emit
from ..emit.sizes import plain
from . import dtypes
from .registry import Unsupported


def shape_of(meta):
    return tuple(plain(n) for n in meta.shape)


def type_of(meta):
    if meta.dtype not in dtypes.OF_TORCH:
        raise Unsupported(f"elements of {meta.dtype} are not compiled")
    return dtypes.OF_TORCH[meta.dtype]


def memory_order(fake):
    """The dimensions from the outermost to the innermost in memory, if the tensor lies dense; else None."""
    sizes, strides = shape_of(fake), tuple(plain(s) for s in fake.stride())
    if any(n == 0 for n in sizes) or fake.is_contiguous():
        return tuple(range(len(sizes)))

    def hint(n):
        return int(n.node.hint) if hasattr(n, "node") else int(n)
    order = sorted(range(len(sizes)), key=lambda i: (-hint(fake.stride()[i]), sizes[i] == 1, i))
    expected = 1
    for i in reversed(order):
        if sizes[i] != 1 and strides[i] != expected:
            return None
        expected = plain(expected * sizes[i]) if not isinstance(expected * sizes[i], int) else expected * sizes[i]
    return tuple(order)


class Context(emit.Context):
    """One node."""

    def __init__(self, function, node):
        super().__init__(function)
        self.node = node
        self.meta = node.meta.get("val")

    def result(self, number=None):
        """The fake tensor of the result, or of one of several."""
        return self.meta if number is None else self.meta[number]

    @property
    def shape(self):
        return shape_of(self.meta)

    @property
    def type(self):
        return type_of(self.meta)

    @property
    def order(self):
        """The dimensions of the result as they follow each other in eager's memory; those of its shape where it does not lie dense."""
        return memory_order(self.meta) or tuple(range(self.meta.dim()))

    def promoted(self, *operands):
        """The type in which PyTorch compares or combines the operands of this node (all of them where none is named)."""
        fakes = []
        for argument in operands or self.node.args:
            fake = argument.meta["val"] if isinstance(argument, torch.fx.Node) else argument
            if isinstance(fake, (torch.Tensor, int, float, bool, torch.SymInt, torch.SymFloat)):
                fakes.append(1.0 if isinstance(fake, torch.SymFloat) else fake)
        dtype = torch.result_type(fakes[0], fakes[1]) if len(fakes) > 1 else fakes[0].dtype
        if dtype not in dtypes.OF_TORCH:
            self.refuse(f"arithmetic on {dtype} is not compiled")
        return dtypes.OF_TORCH[dtype]
