"""What a capture knows of dynamic sizes, in the terms of a program: which are equal, and between which values they are."""

from __future__ import annotations

import dataclasses
from typing import Any, Callable, Mapping, Optional, Sequence

from .artifact import Artifact
from .signature import Expression, Signature

Bounds = tuple[Optional[int], Optional[int]]


def of(signature: Signature, shapes: Sequence[Sequence[Any]], is_symbol: Callable[[Any], bool],
       derived: Callable[[Any, Mapping[Any, Expression]], Optional[Expression]], bounds: Callable[[Any], Bounds]) -> tuple[list, dict[int, Bounds]]:
    """The constraints of a signature with those that follow from the shapes of its first inputs, and bounds of sizes by number.

    shapes     of each input the extents: integers, symbols, or what is computed from symbols
    derived    the expression of an extent that is no new symbol, from those of symbols; None: there is none
    bounds     least and largest value of a symbol
    """
    constraints, first, later = list(signature.manifest.get("constraints", ())), {}, []
    for argument, shape in zip(signature.inputs, shapes):
        for extent, expression in zip(shape, argument.expressions):
            if isinstance(extent, int) or not isinstance(expression, dict):
                continue
            if not is_symbol(extent) or first.setdefault(extent, expression) != expression:
                later.append((extent, expression))
    for extent, expression in later:
        text = derived(extent, first)
        if text is not None:
            constraints.append({"zero": ["-", text, expression]})
    ranges = {}
    for symbol, expression in first.items():
        low, high = ranges[expression["size"]] = bounds(symbol)
        if low:
            constraints.append({"nonnegative": ["-", expression, low]})
        if high is not None:
            constraints.append({"nonnegative": ["-", high, expression]})
    return constraints, ranges


def hold(artifact: Artifact, constraints: list) -> Artifact:
    """The artifact with these constraints in its signature, which every caller of a package looks at."""
    return dataclasses.replace(artifact, signature=Signature({**artifact.signature.manifest, "constraints": constraints}))
