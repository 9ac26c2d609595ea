"""`tilewright.jax.export`: a function as one file, which runs without JAX and without a compiler.

    tilewright.jax.export(lambda x: apply(parameters, x), (x,), "net.tw", dynamic_shapes=("b, ...",), constraints=["b <= 64"])
    y = tilewright.load("net.tw")(x)

Arrays that the function has captured are weights of the package. Arguments of the program: the leaves of the arguments in JAX's order, then
these arrays.
"""

from __future__ import annotations

import inspect
import os
import re
from typing import Any, Callable, Iterable, Mapping, Optional, Sequence, Union

import jax
import numpy as np
from jax import tree_util

from .. import bounds, package, trees
from ..arrays import numpy_type
from ..compiler import build
from ..errors import OptionError
from ..options import with_places
from ..stablehlo import Unsupported
from .function import Function, jit
from .lower import text_of_jaxpr, with_weights

NAME = "forward"


def export(function: Callable, args: Sequence[Any], path: Union[str, os.PathLike], *, kwargs: Optional[Mapping[str, Any]] = None,
           target: Union[str, Iterable[str]] = "cpu:host", dynamic_shapes: Any = None, constraints: Iterable[str] = (),
           fp: str = "default", threads: Optional[int] = None, keep_source: bool = False, plugins: Sequence[str] = ()) -> None:
    """Writes a package with a function.

    function        of pytrees of arrays; what `jit` gave brings its own sizes and static arguments
    args, kwargs    example arguments
    path            the file
    target          the chip, or a list of chips (`tw-targets` lists them)
    dynamic_shapes  sizes that are left open, and `constraints` on them, as for `jit`; "b >= 2" and "b <= 64" are bounds that callers keep
    fp, threads     as for `jit`
    keep_source     the text goes along, so that `load` can compile it for other targets and for the emulator
    plugins         files of target plugins, for a target that is none of the SDK's own
    """
    targets = [target] if isinstance(target, str) else list(target)
    if not targets:
        raise OptionError("target=[] names no chip; name one as target='cpu:host', or several in a list")
    if not isinstance(function, Function):
        function = jit(function, dynamic_shapes=dynamic_shapes, constraints=tuple(constraints), fp=fp, target=targets[0],
                       **({} if threads is None else {"threads": threads}))
    elif dynamic_shapes is not None or constraints:
        raise OptionError("a function of tilewright.jax.jit has its own dynamic_shapes and constraints; give them there")
    traced, leaves, tree = function.traced(tuple(args), dict(kwargs or {}))
    closed, weights = with_weights(traced.forward.closed)

    def artifact(one: str) -> Any:
        count = function.options.threads if one.startswith("cpu") else 1
        return with_places(lambda text: build(text, target=one, fp=function.options.fp, threads=count, plugins=plugins, name=NAME),
                           lambda places: text_of_jaxpr(closed, places, NAME, weights))
    artifacts = [artifact(one) for one in targets]
    signature = artifacts[0].signature
    if signature.made:
        raise Unsupported("a result has a size that follows from values of the arguments; return an array whose size an argument shows")
    shapes = [[n if isinstance(n, int) else str(n) for n in aval.shape] for aval in closed.in_avals]
    held, ranges = bounds.of(signature, shapes, lambda size: size.isidentifier(), lambda size, first: first.get(size), _bounds(function.constraints))
    call, names = _call(function, tree, traced, len(leaves), len(args), signature)
    entry = package.Entry([bounds.hold(one, held) for one in artifacts], weights,
                          names + [f"captured.{i}" for i in range(len(weights))], ranges, {"call": call}, keep_source)
    package.save(path, {NAME: entry})


def _bounds(constraints: Iterable[str]) -> Callable[[str], bounds.Bounds]:
    """Bounds of a variable from constraints like `b <= 64`; sizes that are left open are at least 1."""
    known: dict[str, list] = {}
    for constraint in constraints:
        match = re.fullmatch(r"\s*([A-Za-z_]\w*)\s*(>=|<=|==)\s*(\d+)\s*", constraint)
        if match:
            low, high = known.setdefault(match[1], [1, None])
            number = int(match[3])
            known[match[1]] = [max(low, number) if match[2] != "<=" else low, number if match[2] != ">=" else high]
    return lambda name: tuple(known.get(name, (1, None)))  # type: ignore[return-value]


def _call(function: Function, tree: Any, traced: Any, count: int, positional: int, signature: Any) -> tuple[dict, list[str]]:
    """What `calls.py` reads, and names of the leaves."""
    arguments, keywords = tree_util.tree_unflatten(tree, range(count))
    arguments = trees.encode(tuple(arguments), "the arguments of the function", Unsupported)
    keywords = trees.encode(keywords, "the arguments of the function", Unsupported)
    try:
        known = [p.name for p in inspect.signature(function.function).parameters.values() if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    except (TypeError, ValueError):
        known = []
    known = [name for i, name in enumerate(known) if i not in function.static_argnums]
    parameters = [*known, *(f"arg{i}" for i in range(len(known), len(arguments["tuple"])))][:len(arguments["tuple"])]
    texts: dict[int, str] = {}
    for name, each in [*zip(parameters, arguments["tuple"]), *keywords["dict"]]:
        texts |= trees.names(each, name)
    leaves = [{"name": texts[i], "input": i, "order": list(range(signature.inputs[i].rank))} for i in range(count)]
    made = []
    for i, (aval, result) in enumerate(zip(traced.forward.closed.out_avals, signature.results)):
        other = np.dtype(aval.dtype) != numpy_type(result.type)
        made.append({"result": i, "order": list(range(result.rank)), **({"dtype": np.dtype(aval.dtype).name} if other else {})})
    results = trees.encode(tree_util.tree_unflatten(traced.out_tree, range(len(made))), "the results of the function", Unsupported)
    return {"parameters": parameters, "arguments": arguments, "keywords": keywords, "leaves": leaves, "results": results, "made": made}, \
        [texts[i] for i in range(count)]
