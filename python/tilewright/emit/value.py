"""Tensors of the text.

The dimensions of a tensor may lie in another order in its array than in its shape, as the channels of images that lie last. An
emitter need not know: who asks for the name of such a tensor gets a transposed copy. Who can do without the copy, such as
`Function.generic`, which permutes its access maps, reads `array` and `order`.
"""

from . import types


def tensor_type(shape, type):
    """`tensor<4x?xf32>`: sizes that are no integers are dynamic."""
    return "tensor<" + "".join(f"{n}x" if isinstance(n, int) else "?x" for n in shape) + types.text(type) + ">"


class Value:
    """A tensor: its name in the text, its sizes (integers or sympy expressions) and its element type."""

    __slots__ = ("name", "shape", "type")

    def __init__(self, name, shape, type):
        self.name, self.shape, self.type = name, tuple(shape), type

    @property
    def array(self):
        """The tensor of the text that holds the elements: dimension i of it is dimension `order[i]` of this one."""
        return self

    @property
    def order(self):
        return tuple(range(self.rank))

    def typed(self, shape=None, type=None):
        """The same elements under other sizes of the same numbers, or under another type of the same text."""
        return Value(self.name, self.shape if shape is None else shape, self.type if type is None else type)

    @property
    def rank(self):
        return len(self.shape)

    @property
    def text(self):
        return tensor_type(self.shape, self.type)

    def __repr__(self):
        return f"{self.name}: {self.text}"


class Ordered(Value):
    """A tensor whose array, a plain value, has its dimensions in another order: dimension i of the array is `order[i]` of this one."""

    __slots__ = ("function", "array", "order")

    def __init__(self, function, array, order):
        self.function, self.array, self.order = function, array, tuple(order)
        shape = [0] * len(self.order)
        for size, dimension in zip(array.shape, self.order, strict=True):
            shape[dimension] = size
        self.shape, self.type = tuple(shape), array.type

    @property
    def name(self):
        """That of a copy in the order of the shape, written here unless there is one already."""
        return self.function.arranged(self, range(self.rank)).name

    def typed(self, shape=None, type=None):
        return Ordered(self.function, self.array.typed(shape and [shape[i] for i in self.order], type), self.order)

    def __repr__(self):
        return f"{self.array} in the order {self.order}"


def places(order):
    """The inverse of an order: where each dimension lies."""
    result = [0] * len(order)
    for place, dimension in enumerate(order):
        result[dimension] = place
    return tuple(result)


def long_dimensions(order, shape):
    """The dimensions in this order whose place matters: those of size 1 may lie anywhere."""
    return [i for i in order if shape[i] != 1]


def order_of(values, shape):
    """The order of an array of this shape that is computed from `values` element by element: that of the first of them that is not
    in the order of its shape."""
    shape = tuple(shape)
    found = (v.order for v in values if v.shape == shape and long_dimensions(v.order, shape) != long_dimensions(range(len(shape)), shape))
    return next(found, tuple(range(len(shape))))
