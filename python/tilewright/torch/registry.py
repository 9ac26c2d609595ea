"""The table of ATen operations that the importer writes.

    @op("relu")                                  # all overloads named: "aten::relu" (its default), "add.Tensor", ...
    def relu(c, x):
        return c.map([x], lambda s, a: s.max(a, 0))

An emitter takes a context (`context.py`) and the node's arguments: tensors as `Value`, sizes as integers or sympy
expressions, everything else as it is. It returns a `Value`, or a tuple where the operation has several results.
"""

import importlib

import torch

from ..emit.context import Unsupported  # noqa: F401: part of this table's interface

EMITTERS = {}

#: The files of emitters, by family.
FAMILIES = ("elementwise", "create", "reduce", "view", "matmul", "normalise", "conv", "pool", "index", "scan", "attention",
            "random", "resample", "recurrent", "training", "quantised", "control")


#: Operations of which a number may be computed from dynamic sizes, besides those that take a tensor in its place.
OF_NUMBERS = {f"aten::{name}" for name in (
    "full", "full_like", "new_full", "scalar_tensor", "mul.Scalar", "div.Scalar", "add.Scalar", "sub.Scalar", "rsub.Scalar", "eq.Scalar", "ne.Scalar",
    "lt.Scalar", "le.Scalar", "gt.Scalar", "ge.Scalar", "clamp", "clamp_min", "clamp_max")}


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
    """`aten::add.Tensor` of an overload; the overload `default` is left out. `higher_order::cond` of an operation that takes graphs."""
    if isinstance(target, torch._ops.HigherOrderOperator):
        return f"higher_order::{target.name()}"
    schema = getattr(target, "_schema", None)
    if schema is None:
        return None
    return f"{schema.name}.{schema.overload_name}" if schema.overload_name else schema.name


#: Primitives that are ATen's operations of the same name. Graphs that are arguments have them where the program updates views in place.
PRIMITIVES = frozenset((
    "abs acos acosh add asin asinh atan atan2 atanh bitwise_and bitwise_not bitwise_or bitwise_xor ceil cos cosh digamma div eq erf erfc "
    "exp exp2 expm1 floor fmax fmin fmod ge gt hypot isfinite le lgamma log log10 log1p log2 lt maximum minimum mul ne neg pow reciprocal "
    "remainder round rsqrt sign sin sinh sqrt sub tan tanh trunc where").split())


def emitter_of(target):
    name = name_of(target)
    space, _, plain = (name or "").partition("::")
    if name not in EMITTERS and space == "prims" and plain in PRIMITIVES:
        return next((EMITTERS[n] for n in (f"aten::{plain}", f"aten::{plain}.Tensor", f"aten::{plain}.Tensor_Tensor", f"aten::{plain}.self")
                     if n in EMITTERS), None)
    return EMITTERS.get(name)


def load():
    """Imports all families; each registers its emitters."""
    for family in FAMILIES:
        importlib.import_module(f"{__package__}.ops_{family}")
