"""The call of a compiled function as an operation of JAX, so that it stands inside of `jax.jit`, `jax.vmap` and `jax.grad`.

`jax.jit` calls the program through a callback to the host. `jax.vmap` makes a function of the batch and compiles that.
"""

from __future__ import annotations

from typing import Any, Sequence

import jax
import numpy as np
from jax.extend.core import Primitive
from jax.interpreters import batching, mlir

from .lower import Compiled

call = Primitive("tilewright_call")
call.multiple_results = True


def as_arrays(values: Sequence[Any], compiled: Compiled) -> list[np.ndarray]:
    """numpy's arrays of the types that the program takes."""
    return [np.asarray(value, dtype=aval.dtype) for value, aval in zip(values, compiled.closed.in_avals)]


@call.def_impl
def _run(*values: Any, compiled: Compiled) -> list:
    return [jax.numpy.asarray(array) for array in compiled(as_arrays(values, compiled))]


@call.def_abstract_eval
def _shapes(*avals: Any, compiled: Compiled) -> list:
    return list(compiled.closed.out_avals)


def _callback(*values: Any, compiled: Compiled) -> Any:
    compiled.program  # an operation that cannot be compiled is an error of the trace, not of the call
    shapes = [jax.ShapeDtypeStruct(aval.shape, aval.dtype) for aval in compiled.closed.out_avals]
    return jax.pure_callback(lambda *arrays: compiled(as_arrays(arrays, compiled)), shapes, *values)


mlir.register_lowering(call, mlir.lower_fun(_callback, multiple_results=True))


def _batched(values: Sequence[Any], dims: Sequence[Any], *, compiled: Compiled) -> tuple:
    def one(*arguments):
        return jax.core.eval_jaxpr(compiled.closed.jaxpr, compiled.closed.consts, *arguments)
    axes = [d if isinstance(d, int) else None for d in dims]
    shapes = [jax.ShapeDtypeStruct(v.shape, v.dtype) for v in values]
    closed = jax.make_jaxpr(jax.vmap(one, in_axes=axes))(*shapes)
    results = call.bind(*values, compiled=Compiled(closed, compiled.options))
    return results, [0] * len(results)


batching.primitive_batchers[call] = _batched
