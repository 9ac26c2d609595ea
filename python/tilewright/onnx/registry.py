"""The table of operations of ONNX that the reader writes.

    @op("Relu")                                  # inputs arrive as tensors (`Value`), left out ones as None
    def relu(c, x):
        return c.map([x], lambda s, a: s.max(a, 0))

    @op("Reshape", static=(1,))                  # input 1 arrives as an array that is known when the model is compiled
    def reshape(c, x, shape): ...

    @op("Add", raw=True)                         # inputs arrive as they are held: `Value`, `Constant`, or a list of
    these

An emitter gives what a node's output is held as, or a tuple where the node has several outputs.
"""

import dataclasses
import importlib

EMITTERS = {}

#: The files of emitters, by family.
FAMILIES = ("elementwise", "shape", "contract", "normalise", "reduce", "pool", "index", "resample", "recurrent",
            "quantise", "signal", "control")


@dataclasses.dataclass(frozen=True)
class Emitter:
    emit: object
    static: tuple
    raw: bool


def op(*names, static=(), raw=False):
    """Registers an emitter for operations of the standard domain."""
    def register(emit):
        for name in names:
            assert name not in EMITTERS, f"two emitters of {name}"
            EMITTERS[name] = Emitter(emit, tuple(static), raw)
        return emit
    return register


def load():
    """Imports all families; each registers its emitters."""
    for family in FAMILIES:
        importlib.import_module(f"{__package__}.ops_{family}")
