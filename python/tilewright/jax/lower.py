"""From a jaxpr to a program: StableHLO by JAX, text by the reader, code by the compiler."""

from __future__ import annotations

import functools
import logging
import os
from typing import Any, Callable, Container, Iterable, Mapping, Sequence, Union

import jax
import numpy as np
from jax import export, tree_util

from .. import package, stablehlo
from ..options import Options
from ..program import Program
from . import symbolic

log = logging.getLogger("tilewright.jax")

#: Captured arrays of fewer elements stand in the text of a package, where the compiler sees their values.
LEAST_WEIGHT = 64


def _module(closed: Any) -> Any:
    """The jaxpr as StableHLO; its constants stand in it."""
    def function(*arguments):
        return jax.core.eval_jaxpr(closed.jaxpr, closed.consts, *arguments)
    avals = shapes_of(closed.in_avals)
    whole = jax.jit(function, keep_unused=True)
    try:
        if not symbolic.is_symbolic(avals):
            return whole.lower(*avals).compiler_ir("stablehlo")
        return module_of(export.export(whole, platforms=["cpu"])(*avals))
    except NotImplementedError as error:
        raise stablehlo.Unsupported(f"JAX does not lower this function: {error}") from None


def module_of(exported: export.Exported) -> Any:
    """The module of an exported function."""
    from jax.interpreters import mlir
    from jaxlib.mlir.dialects import stablehlo as dialect
    return dialect.deserialize_portable_artifact(mlir.make_ir_context(), exported.mlir_module_serialized)


def shapes_of(avals: Sequence[Any]) -> list:
    return [jax.ShapeDtypeStruct(a.shape, a.dtype) for a in avals]


def text_of_module(module: Any, locations: bool = False, name: str = "graph", constants: Container[int] = ()) -> str:
    with module.context:
        return stablehlo.read(module, name, locations, constants)


def text_of_jaxpr(closed: Any, locations: bool = False, name: str = "graph", constants: Container[int] = ()) -> str:
    """`constants`: the numbers of arguments that are the same in many calls."""
    return text_of_module(_module(closed), locations, name, constants)


def text_of(function, *arguments: Any) -> str:
    """The text that is compiled for these arguments (arrays or jax.ShapeDtypeStruct)."""
    return text_of_jaxpr(jax.make_jaxpr(function)(*arguments))


def logged(text: str) -> str:
    log.debug("compiles:\n%s", text)
    return text


def save(path: Union[str, os.PathLike], write: Callable[[bool], str], options: Options,
         targets: Union[None, str, Iterable[str]], keep_source: bool, weights: Mapping[int, Any] = {}) -> None:
    """Writes a package with the code of a text for some targets, and arrays for some of its inputs."""
    chosen = [targets] if isinstance(targets, str) else list(targets or [options.target])
    package.save(path, package.Entry([options.build(write, target) for target in chosen], weights, keep_source=keep_source))


def with_weights(closed: Any) -> tuple[Any, dict[int, np.ndarray]]:
    """The jaxpr with its larger constants as arguments after the others, and these by the numbers of the arguments."""
    count, large = len(closed.in_avals), [i for i, c in enumerate(closed.consts) if np.size(c) >= LEAST_WEIGHT]

    def function(*values: Any) -> list:
        given = dict(zip(large, values[count:]))
        return jax.core.eval_jaxpr(closed.jaxpr, [given.get(i, c) for i, c in enumerate(closed.consts)], *values[:count])
    weights = [closed.consts[i] for i in large]
    avals = [*shapes_of(closed.in_avals), *(jax.ShapeDtypeStruct(np.shape(w), w.dtype) for w in weights)]
    return jax.make_jaxpr(function)(*avals), {count + i: np.asarray(w) for i, w in enumerate(weights)}


class Compiled:
    """A jaxpr with its program; the program is compiled at the first call. Equal where it is the same object, so that JAX
    may keep it as a parameter. What JAX's transformations make of it is made once, too."""

    def __init__(self, closed: Any, options: Options) -> None:
        self.closed, self.options = closed, options
        self._made: dict = {}

    @functools.cached_property
    def program(self) -> Program:
        return self.options.compile(lambda places: logged(text_of_jaxpr(self.closed, places)))

    def __call__(self, arrays: Sequence[Any]) -> list:
        """numpy's arrays in, numpy's arrays out."""
        made = [self.program(*arrays)] if len(self.closed.out_avals) == 1 else list(self.program(*arrays) or ())
        return [array.view(aval.dtype) if array.dtype != aval.dtype else array for array, aval in zip(made, self.closed.out_avals)]

    def _evaluated(self, *values: Any) -> list:
        return jax.core.eval_jaxpr(self.closed.jaxpr, self.closed.consts, *values)

    def _of(self, function: Callable, avals: Sequence[Any]) -> Compiled:
        return Compiled(jax.make_jaxpr(function)(*shapes_of(avals)), self.options)

    def _once(self, key: tuple, make: Callable[[], Any]) -> Any:
        if key not in self._made:
            self._made[key] = make()
        return self._made[key]

    def batched(self, axes: tuple, size: Any) -> Compiled:
        """The function of a batch: `axes` has for each argument the dimension of the batch, or None."""
        def make() -> Compiled:
            avals = [a if axis is None else jax.ShapeDtypeStruct((*a.shape[:axis], size, *a.shape[axis:]), a.dtype)
                     for a, axis in zip(self.closed.in_avals, axes)]
            return self._of(jax.vmap(self._evaluated, in_axes=list(axes)), avals)
        return self._once(("batched", axes, str(size)), make)

    def linearized(self, moved: tuple) -> tuple[Compiled, Compiled, tuple]:
        """The function that also gives residuals; the linear one that takes these and the tangents of the arguments where
        `moved` says so; which results have tangents, which it gives."""
        def make() -> tuple:
            kept: dict = {}
            sloped = tuple(jax.numpy.issubdtype(a.dtype, jax.numpy.inexact) for a in self.closed.out_avals)

            def forward(*values):
                def part(*some):
                    some = iter(some)
                    return self._evaluated(*[next(some) if is_moved else v for v, is_moved in zip(values, moved)])
                results, push = jax.linearize(part, *[v for v, is_moved in zip(values, moved) if is_moved])
                residuals, kept["tree"] = tree_util.tree_flatten(push)
                return [*results, *residuals]

            def linear(*values):
                count = len(values) - sum(moved)
                slopes = tree_util.tree_unflatten(kept["tree"], values[:count])(*values[count:])
                return [slope for slope, is_sloped in zip(slopes, sloped) if is_sloped]
            primal = self._of(forward, self.closed.in_avals)
            residuals = primal.closed.out_avals[len(sloped):]
            tangents = [a for a, is_moved in zip(self.closed.in_avals, moved) if is_moved]
            return primal, self._of(linear, [*residuals, *tangents]), sloped
        return self._once(("linearized", moved), make)

    def transposed(self, unknown: tuple, given: tuple) -> Compiled:
        """Of a function that is linear in the arguments `unknown`: takes the other arguments and the cotangents of the results
        `given`, and gives the cotangents of those arguments."""
        def make() -> Compiled:
            ins, outs = self.closed.in_avals, self.closed.out_avals
            known = [a for a, u in zip(ins, unknown) if not u]

            def backward(*values):
                rest = values[:len(known)]

                def part(*some):
                    others, these = iter(rest), iter(some)
                    results = self._evaluated(*[next(these) if u else next(others) for u in unknown])
                    return [r for r, g in zip(results, given) if g]
                return list(jax.linear_transpose(part, *shapes_of([a for a, u in zip(ins, unknown) if u]))(list(values[len(known):])))
            return self._of(backward, [*known, *[a for a, g in zip(outs, given) if g]])
        return self._once(("transposed", unknown, given), make)
