"""The table of ATen operations that the importer writes.

    @op("relu")                                  # all overloads named: "aten::relu" (its default), "add.Tensor", ...
    def relu(c, x):
        return c.map([x], lambda s, a: s.max(a, 0))

An emitter takes a context (`context.py`) and the node's arguments: tensors as `Value`, sizes as integers or sympy
expressions, everything else as it is. It returns a `Value`, or a tuple where the operation has several results.
"""

import importlib

from ..emit.context import Unsupported  # noqa: F401: part of this table's interface

EMITTERS = {}

#: The files of emitters, by family.
FAMILIES = ("elementwise", "create", "reduce", "view", "matmul", "normalise", "conv", "pool", "index", "scan", "attention",
            "random", "resample", "recurrent", "training", "quantised")


def op(*names):
    """Registers an emitter for overloads of ATen (`relu`, `add.Tensor`), or of another namespace (`prims::name`)."""
    def register(emitter):
        for name in names:
            full = name if "::" in name else f"aten::{name}"
            assert full not in EMITTERS, f"two emitters of {full}"
            EMITTERS[full] = emitter
        return emitter
    return register


def name_of(target):
    """`aten::add.Tensor` of an overload; the overload `default` is left out."""
    schema = getattr(target, "_schema", None)
    if schema is None:
        return None
    return f"{schema.name}.{schema.overload_name}" if schema.overload_name else schema.name


def emitter_of(target):
    return EMITTERS.get(name_of(target))


def load():
    """Imports all families; each registers its emitters."""
    for family in FAMILIES:
        importlib.import_module(f"{__package__}.ops_{family}")
