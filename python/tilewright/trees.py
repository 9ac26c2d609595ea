"""Nested arguments and results as JSON, so that a package gives back what the exported function gave, without its framework.

    ({"x": a, "mask": b}, None)   <->   {"tuple": [{"dict": [["x", 0], ["mask", 1]]}, 2]},   leaves a, b, None

Leaves are numbers in order. Nodes: tuple, list, dict (pairs of key and tree, in order), namedtuple (its name, its fields, its items), and none,
which has no leaves, for frameworks to which None is a node.
"""

from __future__ import annotations

import collections
import functools
from typing import Any, Callable, Sequence, Union

from .errors import ArgumentError

Tree = Union[int, dict]


@functools.lru_cache(maxsize=None)
def _namedtuple(name: str, fields: tuple[str, ...]) -> Any:
    return collections.namedtuple(name, fields)


def encode(value: Any, what: str, refusal: Callable[[str], Exception]) -> Tree:
    """The tree of a nested value whose leaves are numbers. `what` it is and the error's class, for values of other classes."""
    if isinstance(value, int):
        return value
    if value is None:
        return {"none": None}
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return {"namedtuple": type(value).__name__, "fields": list(value._fields), "items": [encode(v, what, refusal) for v in value]}
    if isinstance(value, dict) and all(isinstance(key, (str, int)) for key in value):
        return {"dict": [[key, encode(v, what, refusal)] for key, v in value.items()]}
    if isinstance(value, (tuple, list)):
        return {"tuple" if isinstance(value, tuple) else "list": [encode(v, what, refusal) for v in value]}
    raise refusal(f"{what} have a {type(value).__name__}, which a package cannot give back without its class; "
                  "export a function that takes and returns tuples, lists and dicts")


def names(tree: Tree, name: str) -> dict[int, str]:
    """Names of the leaves by number, as Python writes their places: `name['key'][0]`."""
    if isinstance(tree, int):
        return {tree: name}
    if "dict" in tree:
        parts = [(each, f"{name}[{key!r}]") for key, each in tree["dict"]]
    elif "namedtuple" in tree:
        parts = [(each, f"{name}.{field}") for each, field in zip(tree["items"], tree["fields"])]
    else:
        parts = [(each, f"{name}[{i}]") for i, each in enumerate(next(iter(tree.values())) or ())]
    return {number: text for each, inner in parts for number, text in names(each, inner).items()}


def join(tree: Tree, leaves: Sequence[Any]) -> Any:
    """The nested value."""
    if isinstance(tree, int):
        return leaves[tree]
    kind, content = next(iter(tree.items()))
    if kind == "none":
        return None
    if kind == "dict":
        return {key: join(each, leaves) for key, each in content}
    if kind == "namedtuple":
        return _namedtuple(content, tuple(tree["fields"]))(*[join(each, leaves) for each in tree["items"]])
    return {"tuple": tuple, "list": list}[kind]([join(each, leaves) for each in content])


def split(tree: Tree, value: Any, leaves: list[Any], where: str) -> None:
    """Puts the leaves of a value of this form into `leaves`; `where` names it in messages."""
    if isinstance(tree, int):
        leaves[tree] = value
        return
    kind, content = next(iter(tree.items()))
    if kind == "none":
        if value is not None:
            raise ArgumentError(f"{where} is {described(value)}; it has to be None")
        return
    if kind == "dict":
        wanted = [key for key, _ in content]
        if not isinstance(value, dict) or set(value) != set(wanted):
            raise ArgumentError(f"{where} is {described(value)}; it has to be a dict with {', '.join(map(repr, wanted)) or 'no keys'}")
        for key, each in content:
            split(each, value[key], leaves, f"{where}[{key!r}]")
        return
    items = tree["items"] if kind == "namedtuple" else content
    if not isinstance(value, (tuple, list)) or len(value) != len(items):
        raise ArgumentError(f"{where} is {described(value)}; it has to be a {'list' if kind == 'list' else 'tuple'} of {len(items)}")
    for number, (each, item) in enumerate(zip(items, value)):
        split(each, item, leaves, f"{where}[{number}]")


def described(value: Any) -> str:
    """The form of a value, for messages."""
    if isinstance(value, dict):
        return f"a dict with {', '.join(map(repr, value)) or 'no keys'}"
    if isinstance(value, (tuple, list)):
        return f"a {type(value).__name__} of {len(value)}"
    return f"an array of shape {tuple(value.shape)}" if hasattr(value, "shape") else repr(value)
