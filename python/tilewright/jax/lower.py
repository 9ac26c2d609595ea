"""From a jaxpr to a program: StableHLO by JAX, text by the reader, code by the compiler."""

from __future__ import annotations

import functools
import logging
from typing import Any, Sequence

import jax

from .. import stablehlo
from ..options import Options
from ..program import Program

log = logging.getLogger("tilewright.jax")


def _module(closed: Any) -> Any:
    """The jaxpr as StableHLO; its constants stand in it."""
    def function(*arguments):
        return jax.core.eval_jaxpr(closed.jaxpr, closed.consts, *arguments)
    avals = [jax.ShapeDtypeStruct(v.aval.shape, v.aval.dtype) for v in closed.jaxpr.invars]
    return jax.jit(function, keep_unused=True).lower(*avals).compiler_ir("stablehlo")


def text_of_jaxpr(closed: Any, locations: bool = False) -> str:
    return stablehlo.read(_module(closed), "graph", locations)


def text_of(function, *arguments: Any) -> str:
    """The text that is compiled for these arguments (arrays or jax.ShapeDtypeStruct)."""
    return text_of_jaxpr(jax.make_jaxpr(function)(*arguments))


def logged(text: str) -> str:
    log.debug("compiles:\n%s", text)
    return text


class Compiled:
    """A jaxpr with its program; the program is compiled at the first call. Equal where it is the same object, so that JAX
    may keep it as a parameter."""

    def __init__(self, closed: Any, options: Options) -> None:
        self.closed, self.options = closed, options

    @functools.cached_property
    def program(self) -> Program:
        return self.options.compile(lambda places: logged(text_of_jaxpr(self.closed, places)))

    def __call__(self, arrays: Sequence[Any]) -> list:
        """numpy's arrays in, numpy's arrays out."""
        made = [self.program(*arrays)] if len(self.closed.out_avals) == 1 else list(self.program(*arrays) or ())
        return [array.view(aval.dtype) if array.dtype != aval.dtype else array for array, aval in zip(made, self.closed.out_avals)]
