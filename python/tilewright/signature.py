"""What a program takes and makes: sizes, arguments and shapes, read from the compiler's manifest."""

from __future__ import annotations

import functools
from typing import Any, Callable, Container, Mapping, Optional, Sequence, Union

from .errors import ArgumentError

#: An extent or condition: a number, {"size": i}, or [op, a, b] (the manifest's expressions, docs/runtime.md).
Expression = Union[int, dict, list]

_INFIX = {"+": "({a} + {b})", "-": "({a} - {b})", "*": "({a} * {b})", "floordiv": "({a} // {b})", "mod": "({a} % {b})",
          "ceildiv": "(-(-{a} // {b}))", "max": "max({a}, {b})", "min": "min({a}, {b})", "<": "int({a} < {b})",
          "==": "int({a} == {b})"}


def expression_text(expression: Expression) -> str:
    """An expression as Python writes it, over the sizes n0, n1, .."""
    if isinstance(expression, dict):
        return f"n{int(expression['size'])}"
    if isinstance(expression, list):
        op, a, b = expression
        return _INFIX[op].format(a=expression_text(a), b=expression_text(b))
    return str(int(expression))


def _function(sizes: int, body: str) -> Callable[..., Any]:
    """body over n0, n1, .. as a function: expressions are checked words and numbers."""
    return eval(f"lambda {', '.join(f'n{i}' for i in range(sizes))}: {body}", {"max": max, "min": min, "int": int})


class Argument:
    """One array that a program takes, dense and row-major. Scalars are arrays of rank 0."""

    def __init__(self, facts: Mapping[str, Any], sizes: int) -> None:
        self.type: str = facts["type"]
        self.itemsize: int = facts["bytes"]
        self.is_written: bool = facts["written"]
        self.is_result: bool = facts["result"]
        #: What the program's function `bind` makes of constant arguments: bytes.
        self.is_bound: bool = facts.get("bound", False)
        self.expressions: list[Expression] = facts["shape"]
        self._sizes = sizes

    @property
    def rank(self) -> int:
        return len(self.expressions)

    @property
    def shape(self) -> tuple[Union[int, str], ...]:
        """Extents: numbers, or text over the sizes n0, n1, .."""
        return tuple(e if isinstance(e, int) else expression_text(e).strip("()") if isinstance(e, list) else expression_text(e)
                     for e in self.expressions)

    @functools.cached_property
    def extents(self) -> Callable[..., tuple[int, ...]]:
        """extents(n0, n1, ..): the shape for these sizes."""
        return _function(self._sizes, "(" + "".join(expression_text(e) + ", " for e in self.expressions) + ")")

    @functools.cached_property
    def fixed(self) -> Optional[tuple[int, ...]]:
        """The shape where it depends on no size."""
        return tuple(self.expressions) if all(isinstance(e, int) for e in self.expressions) else None  # type: ignore[arg-type]

    def __str__(self) -> str:
        return f"{self.type}[{','.join(map(str, self.shape))}]"

    __repr__ = __str__


class Signature:
    """The interface of one program: its sizes, then its arguments in the order of the C function."""

    def __init__(self, manifest: Mapping[str, Any]) -> None:
        self.manifest = dict(manifest)
        self.name: str = manifest["entry"]
        self.target: str = manifest["target"]
        #: Distinct dynamic sizes, n0, n1, .. in order of first appearance.
        self.sizes: int = manifest["sizes"]
        self.arguments = tuple(Argument(facts, self.sizes) for facts in manifest["arguments"])
        self.inputs = tuple(a for a in self.arguments if not a.is_result)
        self.results = tuple(a for a in self.arguments if a.is_result)
        #: Sizes that the program makes of its data.
        self.made: tuple[int, ...] = tuple(manifest.get("made", ()))
        #: The function that makes the last input of constant arguments, called once for many calls; None where there is no such
        #: input. Its own inputs are the arguments `bind_inputs`; of `bind_releases` the program itself reads nothing.
        self.bind: Optional[Signature] = Signature(manifest["bind"]) if "bind" in manifest else None
        self.bind_inputs: tuple[int, ...] = tuple(manifest["bind"]["inputs"]) if self.bind else ()
        self.bind_releases: tuple[int, ...] = tuple(manifest["bind"]["releases"]) if self.bind else ()
        self._constraints = [(kind, expression) for each in manifest.get("constraints", ()) for kind, expression in each.items()]
        #: Smallest and largest values of sizes by number; None: no bound.
        self.ranges = {int(size): tuple(bounds) for size, bounds in manifest.get("ranges", {}).items()}
        #: Where each size is first seen: (input, dimension).
        self._seen: dict[int, tuple[int, int]] = {}
        for number, argument in enumerate(self.inputs):
            for dimension, expression in enumerate(argument.expressions):
                if isinstance(expression, dict):
                    self._seen.setdefault(expression["size"], (number, dimension))

    def __str__(self) -> str:
        return (f"{self.name}({', '.join(map(str, self.inputs))}) -> "
                f"{', '.join(map(str, self.results)) or 'nothing'}")

    __repr__ = __str__

    @property
    def bound(self) -> Optional[int]:
        """The number of the argument that `bind` fills."""
        return next((n for n, argument in enumerate(self.arguments) if argument.is_bound), None)

    def without(self, positions: Container[int] = (), **facts: Any) -> Signature:
        """The interface without the arguments at `positions` and without what is bound; `facts` replace those of the manifest."""
        manifest = {key: value for key, value in self.manifest.items() if key != "bind"} | facts
        kept = [n for n, argument in enumerate(self.arguments) if n not in positions and not argument.is_bound]
        return Signature({**manifest, "arguments": [manifest["arguments"][n] for n in kept]})

    @functools.cached_property
    def _input_shapes(self) -> Callable[..., tuple[tuple[int, ...], ...]]:
        return _function(self.sizes, "(" + "".join(
            "(" + "".join(expression_text(e) + ", " for e in a.expressions) + "), " for a in self.inputs) + ")")

    def solve(self, shapes: Sequence[Sequence[int]]) -> tuple[int, ...]:
        """The sizes that inputs of these shapes have; sizes that the program makes of its data are 0."""
        if len(shapes) != len(self.inputs):
            raise ArgumentError(f"'{self.name}' takes {len(self.inputs)} inputs, {len(shapes)} were given: {self}")
        for number, (argument, shape) in enumerate(zip(self.inputs, shapes)):
            if len(shape) != argument.rank:
                raise ArgumentError(f"input {number} has {len(shape)} dimensions; '{self.name}' takes {argument}")
        sizes: list[Optional[int]] = [None] * self.sizes
        for size, (number, dimension) in self._seen.items():
            sizes[size] = shapes[number][dimension]
        for size in self.made:
            if sizes[size] is None:
                sizes[size] = 0
        if None in sizes:
            self._solve_equalities(sizes)
        known: tuple[int, ...] = tuple(sizes)  # type: ignore[arg-type]
        for number, (want, have) in enumerate(zip(self._input_shapes(*known), shapes)):
            if tuple(want) != tuple(have):
                where = next((d for d, (w, h) in enumerate(zip(want, have)) if w != h))
                raise ArgumentError(f"input {number} has shape {tuple(have)}; its dimension {where} must be {want[where]} "
                                    f"({self.inputs[number]})")
        for size, (low, high) in self.ranges.items():
            if not (low is None or low <= known[size]) or not (high is None or known[size] <= high):
                number, dimension = self._seen.get(size, (0, 0))
                raise ArgumentError(f"dimension {dimension} of input {number} is {known[size]}; '{self.name}' takes "
                                    f"{low if low is not None else 'any'} to {high if high is not None else 'any'}")
        for kind, expression in self._constraints:
            value = _function(self.sizes, expression_text(expression))(*known)
            if (value != 0 if kind == "zero" else value < 0) and not self.made:
                raise ArgumentError(f"sizes {known} disagree: '{self.name}' needs {expression_text(expression)} "
                                    f"{'== 0' if kind == 'zero' else '>= 0'}")
        return known

    def _solve_equalities(self, sizes: list[Optional[int]]) -> None:
        """Fills in what an equality with one unknown size determines."""
        progress = True
        while None in sizes and progress:
            progress = False
            for kind, expression in self._constraints:
                text = expression_text(expression)
                unknown = [i for i in range(self.sizes) if sizes[i] is None and f"n{i}" in _names(text)]
                if kind != "zero" or len(unknown) != 1:
                    continue
                function = _function(self.sizes, text)
                zero, one = (function(*[v if i == unknown[0] else s or 0 for i, s in enumerate(sizes)]) for v in (0, 1))
                slope = one - zero
                if slope == 0 or zero % slope or -zero // slope < 0:
                    continue
                sizes[unknown[0]] = -zero // slope
                progress = True
        if None in sizes:
            raise ArgumentError(f"size n{sizes.index(None)} of '{self.name}' follows from no input; pass sizes=")


def _names(text: str) -> set[str]:
    return set("".join(c if c.isalnum() else " " for c in text).split())
