"""Calls of exported functions: arguments and results as the function that was exported has them. A front end keeps in a package, as
the entry's `data["call"]`:

    {"parameters": ["x", "mask"],            names of the positional arguments
     "arguments": {"tuple": [0, 1]},         trees of leaves (trees.py)
     "keywords": {"dict": []},
     "leaves": [{"name": "x", "input": 0, "order": [0, 2, 1]},     an array: the program's input, its dimensions from the outermost
                {"name": "n", "input": 3, "scalar": "int"},        to the innermost in memory; or a number that is passed as an array;
                {"name": "mask", "value": null}],                  or what the function was exported for
     "results": {"tuple": [0, 1]},
     "made": [{"result": 0, "order": [0, 1], "dtype": "uint32"},   "dtype": where it is another of the same width than the program's
              {"result": 1, "scalar": "int"}, {"value": null}],
     "written": [{"leaf": 0, "result": 2, "order": [0, 1]},        arguments that the function writes to; or
                 {"weight": "counter", "result": 3, "order": []}], weights that it writes to
     "weights": {"layer.weight": {"input": 1, "order": [0, 1]}},   inputs that the package does not have
     "seed": 4}                              the input that random numbers begin with
"""

from __future__ import annotations

import os
from typing import Any, Mapping, Optional

import numpy as np

from . import arrays, trees
from .errors import ArgumentError
from .program import Program


def _permuted(array: Any, order: list[int]) -> Any:
    """A view with the dimensions of `order`, of an array of numpy or a tensor of PyTorch."""
    if order == list(range(len(order))):
        return array
    return array.permute(order) if arrays.is_tensor(array) else array.transpose(order)


def _inverse(order: list[int]) -> list[int]:
    return [order.index(i) for i in range(len(order))]


class Call:
    """A program as the function that it was made of. Called with arrays of numpy or tensors of PyTorch."""

    def __init__(self, program: Program, facts: Mapping[str, Any]) -> None:
        self.program = program
        self.parameters: list[str] = facts["parameters"]
        self._arguments, self._keywords = facts["arguments"], facts["keywords"]
        self._leaves, self._results, self._made = facts["leaves"], facts["results"], facts["made"]
        self._written, self.weights = facts.get("written", []), dict(facts.get("weights", {}))
        self._seed: Optional[int] = facts.get("seed")
        self._count = len(program.signature.inputs)

    def __repr__(self) -> str:
        return f"<Call ({', '.join([*self.parameters, *[key for key, _ in self._keywords['dict']]])}) of {self.program}>"

    def _split(self, given: tuple, named: Mapping[str, Any]) -> list[Any]:
        """The leaves of the arguments."""
        named, wanted = dict(named), self._arguments["tuple"]
        if len(given) > len(wanted):
            raise ArgumentError(f"the function was exported with {len(wanted)} arguments by position "
                                f"({', '.join(self.parameters)}), {len(given)} were given")
        values = list(given)
        for name in self.parameters[len(given):]:
            if name not in named:
                raise ArgumentError(f"argument '{name}' is missing")
            values.append(named.pop(name))
        known = [key for key, _ in self._keywords["dict"]]
        for name in named:
            if name not in known:
                raise ArgumentError(f"the function was exported without an argument '{name}'; it has "
                                    f"{', '.join([*self.parameters, *known]) or 'none'}")
        leaves: list[Any] = [None] * len(self._leaves)
        for name, tree, value in zip(self.parameters, wanted, values):
            trees.split(tree, value, leaves, f"argument '{name}'")
        for name, tree in self._keywords["dict"]:
            if name not in named:
                raise ArgumentError(f"argument '{name}' is missing")
            trees.split(tree, named[name], leaves, f"argument '{name}'")
        return leaves

    def _input(self, fact: Mapping[str, Any], value: Any) -> Any:
        """A leaf as the program takes it."""
        if "scalar" in fact:
            return np.array(value, np.int64)
        if not hasattr(value, "shape"):
            value = np.asarray(value, arrays.numpy_type(self.program.signature.inputs[fact["input"]].type))
        if len(value.shape) != len(fact["order"]):
            raise ArgumentError(f"argument '{fact['name']}' has {len(value.shape)} dimensions; the function was exported for "
                                f"{len(fact['order'])}")
        return _permuted(value, fact["order"])

    def __call__(self, *given: Any, weights: Optional[Mapping[str, Any]] = None, seed: Optional[int] = None, **named: Any) -> Any:
        """`weights`: arrays by name, of a package without them; `seed`: of the random numbers, another one at each call without it."""
        leaves = self._split(given, named)
        inputs: list[Any] = [None] * self._count
        for fact, value in zip(self._leaves, leaves):
            if "input" in fact:
                inputs[fact["input"]] = self._input(fact, value)
            elif isinstance(fact["value"], (bool, int, float, str, type(None))) and value != fact["value"]:
                raise ArgumentError(f"argument '{fact['name']}' is {trees.described(value)}; the function was exported for {fact['value']!r}")
        self._give_weights(inputs, weights or {})
        if self._seed is not None:
            inputs[self._seed] = np.array(int.from_bytes(os.urandom(8), "little", signed=True) if seed is None else seed, np.int64)
        example = next((value for value in inputs if arrays.is_tensor(value)), None)
        if example is not None and example.device.type != "cpu":
            inputs = [value if arrays.is_tensor(value) else _moved(value, example) for value in inputs]
        made = self.program(*inputs)
        made = [made] if len(self.program.signature.results) == 1 else list(made or ())
        for fact in self._written:
            array, name = (leaves[fact["leaf"]], self._leaves[fact["leaf"]]["name"]) if "leaf" in fact else \
                ((weights or {})[fact["weight"]], fact["weight"])
            _write(array, _permuted(made[fact["result"]], _inverse(fact["order"])), name)
        return trees.join(self._results, [self._result(fact, made) for fact in self._made])

    def _give_weights(self, inputs: list[Any], weights: Mapping[str, Any]) -> None:
        missing = [name for name in self.weights if name not in weights]
        if missing:
            raise ArgumentError(f"the package has no weights of its own; give {', '.join(missing[:4])}"
                                f"{f' and {len(missing) - 4} more' if len(missing) > 4 else ''} by name: weights={{..}}")
        for name, fact in self.weights.items():
            inputs[fact["input"]] = self._input({**fact, "name": name}, weights[name])

    def _result(self, fact: Mapping[str, Any], made: list[Any]) -> Any:
        if "result" not in fact:
            return fact["value"]
        if "scalar" in fact:
            return int(made[fact["result"]])
        array = made[fact["result"]]
        if "dtype" in fact and isinstance(array, np.ndarray):
            array = array.view(fact["dtype"])
        return _permuted(array, _inverse(fact["order"]))


def _moved(value: np.ndarray, example: Any) -> Any:
    import torch

    return torch.from_numpy(value).to(example.device)


def _write(array: Any, value: Any, name: str) -> None:
    """New contents of an argument that the function writes to."""
    if arrays.is_tensor(array):
        array.detach().copy_(value)
    elif isinstance(array, np.ndarray) and array.flags.writeable:
        array[...] = value
    else:
        raise ArgumentError(f"the function writes to argument '{name}'; {trees.described(array)} cannot be written")


def of(program: Program) -> Optional[Call]:
    """The call that a front end kept with the program of a package; None where there is none."""
    facts = program.data.get("call") if isinstance(program.data, dict) else None
    return None if facts is None else Call(program, facts)
