"""The tables of operations that the reader writes.

    @element("stablehlo.tanh")                   # on single elements: also in the regions of reductions
    def tanh(s, op, a):
        return s.math("tanh", a)

    @op("stablehlo.transpose")                   # on tensors
    def transpose(c):
        return c.f.transpose(c.value(0), c.integers("permutation"))
"""

import importlib

from ..emit.context import Unsupported  # noqa: F401: part of this table's interface

ELEMENTS = {}
EMITTERS = {}

#: The files of emitters, by family.
FAMILIES = ("elementwise", "shape", "contract", "reduce", "index", "order", "random", "control")


def _register(table, names):
    def register(emitter):
        for name in names:
            assert name not in table, f"two emitters of {name}"
            table[name] = emitter
        return emitter
    return register


def element(*names):
    """Registers `emitter(s, op, *scalars)`, which gives one element of the result."""
    return _register(ELEMENTS, names)


def op(*names):
    """Registers `emitter(c)`, which gives the result, or a tuple of several. Outside of regions it goes before that of elements."""
    return _register(EMITTERS, names)


#: Operations whose emitters find the shapes of the results themselves.
_GIVES_SHAPES = ("func.call", "stablehlo.composite", "stablehlo.if", "stablehlo.case", "stablehlo.custom_call")


def gives_shapes(name):
    return name in _GIVES_SHAPES


def load():
    """Imports all families; each registers its emitters."""
    for family in FAMILIES:
        importlib.import_module(f"{__package__}.ops_{family}")
