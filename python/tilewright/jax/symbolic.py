"""Symbolic dimensions of JAX (`jax.export.symbolic_shape`), by the text that JAX has for them: `floordiv(b + 1, 2)`."""

from __future__ import annotations

import functools
import re
from typing import Any, Mapping, Sequence

from jax import export

from ..errors import ArgumentError

_FUNCTIONS = {"__builtins__": {}, "floordiv": lambda a, b: a // b, "mod": lambda a, b: a % b, "max": max, "min": min}


def is_symbolic(avals: Sequence[Any]) -> bool:
    return any(export.is_symbolic_dim(n) for a in avals for n in a.shape)


@functools.lru_cache(1024)
def _compiled(text: str) -> Any:
    return compile(text, text, "eval")


def value(dim: Any, known: Mapping[str, Any]) -> Any:
    """A dimension, or the text of one, for values of its variables."""
    return dim if isinstance(dim, int) else eval(_compiled(str(dim)), _FUNCTIONS, dict(known))


def evaluated(shape: Sequence[Any], known: Mapping[str, Any]) -> tuple:
    return tuple(value(n, known) for n in shape)


def _variables(dim: Any) -> set:
    return set(re.findall(r"[A-Za-z_]\w*", str(dim))) - set(_FUNCTIONS)


def solved(avals: Sequence[Any], shapes: Sequence[Sequence[int]], constraints: Sequence[str] = ()) -> dict[str, int]:
    """The variables for which arguments have these shapes. They are at least 1, as JAX takes them to be."""
    known: dict[str, int] = {}
    equations = [(dim, n, (i, d)) for i, (a, shape) in enumerate(zip(avals, shapes)) for d, (dim, n) in enumerate(zip(a.shape, shape))
                 if export.is_symbolic_dim(dim)]
    for dim, n, _ in sorted(equations, key=lambda e: len(str(e[0]))):
        unknown = _variables(dim) - set(known)
        if len(unknown) == 1:
            name, = unknown
            known[name] = n if str(dim) == name else _linear(dim, name, n, known)
    for dim, n, (i, d) in equations:
        if _variables(dim) - set(known):
            raise ArgumentError(f"dimension {d} of argument {i} is {dim}; no argument has a size that tells {_variables(dim) - set(known)}")
        if value(dim, known) != n:
            of = ", ".join(f"{k} = {v}" for k, v in known.items() if k in _variables(dim))
            raise ArgumentError(f"dimension {d} of argument {i} is {n}; it must be {dim}, with {of}")
    for name, n in known.items():
        if not n >= 1:
            raise ArgumentError(f"{name} is {n}; sizes that are left open are at least 1")
    for constraint in constraints:
        if not _holds(constraint, known):
            raise ArgumentError(f"sizes {known} do not fulfil {constraint!r}")
    return known


def _linear(dim: Any, name: str, n: int, known: Mapping[str, int]) -> int:
    """The value of a variable of which a dimension is linear."""
    at = [value(dim, {**known, name: v}) for v in (1, 2)]
    slope = at[1] - at[0]
    return (n - at[0]) // slope + 1 if slope else 1


def _holds(constraint: str, known: Mapping[str, int]) -> bool:
    left, test, right = re.fullmatch(r"(.*?)(>=|<=|==)(.*)", constraint).groups()
    a, b = value(left.strip(), known), value(right.strip(), known)
    return {">=": a >= b, "<=": a <= b, "==": a == b}[test]
