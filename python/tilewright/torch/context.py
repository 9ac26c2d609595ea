"""What an emitter of one node sees: the function under construction, the types and shapes of the node's results, and the
writing of operations that many families share."""

import torch

from ..emit import types
from ..emit.scalars import Scalar
from ..emit.sizes import plain
from ..emit.value import Value
from . import dtypes
from .registry import Unsupported


def shape_of(meta):
    return tuple(plain(n) for n in meta.shape)


def type_of(meta):
    if meta.dtype not in dtypes.OF_TORCH:
        raise Unsupported(f"elements of {meta.dtype} are not compiled")
    return dtypes.OF_TORCH[meta.dtype]


class Context:
    """One node."""

    def __init__(self, function, node):
        self.f, self.node = function, node
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

    def refuse(self, reason):
        raise Unsupported(reason)

    def promoted(self, *operands):
        """The type in which PyTorch compares or combines the operands of this node (all of them where none is named)."""
        fakes = []
        for argument in operands or self.node.args:
            fake = argument.meta["val"] if isinstance(argument, torch.fx.Node) else argument
            if isinstance(fake, (torch.Tensor, int, float, bool, torch.SymInt)):
                fakes.append(fake)
        dtype = torch.result_type(fakes[0], fakes[1]) if len(fakes) > 1 else fakes[0].dtype
        if dtype not in dtypes.OF_TORCH:
            self.refuse(f"arithmetic on {dtype} is not compiled")
        return dtypes.OF_TORCH[dtype]

    # Element-wise operations

    def map(self, operands, body, compute=None, type=None, shape=None):
        """Element-wise with PyTorch's conversions: operands (tensors, numbers, sizes) are converted to `compute` (by default the
        type in which eager computes the result), `body(s, *scalars)` is written, its result converted to the result's type."""
        type = type or self.type
        shape = self.shape if shape is None else shape
        compute = compute or types.compute(type)
        tensors = [o for o in operands if isinstance(o, Value)]

        def write(s, *elements):
            elements = iter(elements)
            scalars = []
            for operand in operands:
                if isinstance(operand, Value):
                    scalars.append(s.cast(next(elements), compute))
                elif isinstance(operand, (int, float)):
                    scalars.append(s.constant(operand, compute))
                else:
                    scalars.append(s.size(operand, "i64") if compute == "i64" else s.cast(s.size(operand, "i64"), compute))
            result = body(s, *scalars)
            if not isinstance(result, Scalar):
                result = s.constant(result, compute)
            return s.cast(result, type)
        return self.f.map(tensors, shape, type, write)

    def cast(self, value, type):
        """The tensor with its elements converted."""
        return self.f.cast(value, type)

    def broadcast(self, value, shape):
        """The tensor expanded to `shape`."""
        if value.shape == tuple(shape):
            return value
        return self.f.map([value], shape, value.type, lambda s, a: a)

    # Axes

    def axis(self, axis, rank):
        """A dimension counted from the front; a tensor of rank 0 has one."""
        rank = max(rank, 1)
        return axis + rank if axis < 0 else axis

    def axes(self, axes, rank):
        """A sorted list of dimensions; all where None or none are named."""
        if axes is None or (isinstance(axes, (list, tuple)) and not axes):
            return list(range(rank))
        axes = axes if isinstance(axes, (list, tuple)) else [axes]
        return sorted(self.axis(a, rank) for a in axes) if rank else []
