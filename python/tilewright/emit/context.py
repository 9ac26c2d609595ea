"""What an emitter of one operation sees, whatever framework the operation is of."""

from ..errors import Error
from . import types
from .scalars import Scalar
from .sizes import Number
from .value import Value


class Unsupported(Error):
    """An operation that cannot be written; the message says why and, where there is a way, what would help."""


class Context:
    """One operation; `f` is the function under construction. A reader's own context knows `shape` and `type`, of the result."""

    def __init__(self, function):
        self.f = function

    def refuse(self, reason):
        raise Unsupported(reason)

    # Element-wise operations

    def map(self, operands, body, compute=None, type=None, shape=None):
        """Element-wise: operands (tensors, numbers, sizes) are converted to `compute` (by default the type in which a result of
        this type is computed), `body(s, *scalars)` is written, its result converted to the result's type."""
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
                elif isinstance(operand, Number):
                    scalars.append(s.number(operand, compute))
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
        order = value.order if value.rank == len(shape) else None
        return self.f.map([value], shape, value.type, lambda s, a: a, order)

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
