"""Tensors of the text."""

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
    def rank(self):
        return len(self.shape)

    @property
    def text(self):
        return tensor_type(self.shape, self.type)

    def __repr__(self):
        return f"{self.name}: {self.text}"
