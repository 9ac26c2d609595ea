"""The call of a compiled function as an operation of JAX, so that it stands inside of JAX's transformations.

`jax.jit` calls the program through a callback to the host. Each other transformation makes a function, which is compiled:

    vmap     the function of the batch
    jvp      one that also gives residuals, and a linear one that takes these and the tangents
    grad     the same, and the transpose of the linear one instead of it
"""

from __future__ import annotations

from typing import Any, Sequence

import jax
import numpy as np
from jax.extend.core import Primitive
from jax.interpreters import ad, batching, mlir

from ..stablehlo import Unsupported
from . import symbolic
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
    outs = compiled.closed.out_avals
    if not symbolic.is_symbolic(outs):
        return list(outs)
    known = symbolic.solved(compiled.closed.in_avals, [a.shape for a in avals])
    return [jax.core.ShapedArray(symbolic.evaluated(a.shape, known), a.dtype) for a in outs]


def _callback(*values: Any, compiled: Compiled) -> Any:
    if symbolic.is_symbolic(values):
        raise Unsupported("a compiled function is called with symbolic shapes, inside of jax.export; export the function itself, and compile "
                          "what is exported by tilewright.jax.compile")
    compiled.program  # an operation that cannot be compiled is an error of the trace, not of the call
    shapes = [jax.ShapeDtypeStruct(aval.shape, aval.dtype) for aval in _shapes(*values, compiled=compiled)]
    return jax.pure_callback(lambda *arrays: compiled(as_arrays(arrays, compiled)), shapes, *values)


mlir.register_lowering(call, mlir.lower_fun(_callback, multiple_results=True))


def _batched(values: Sequence[Any], dims: Sequence[Any], *, compiled: Compiled) -> tuple:
    axes = tuple(d if isinstance(d, int) else None for d in dims)
    size = next(v.shape[axis] for v, axis in zip(values, axes) if axis is not None)
    results = call.bind(*values, compiled=compiled.batched(axes, size))
    return results, [0] * len(results)


batching.primitive_batchers[call] = _batched


def _is_zero(tangent: Any) -> bool:
    return isinstance(tangent, ad.Zero) or tangent.dtype == jax.dtypes.float0


def _no_slope(result: Any) -> ad.Zero:
    return ad.Zero(jax.typeof(result).to_tangent_aval())


def _pushed(primals: Sequence[Any], tangents: Sequence[Any], *, compiled: Compiled) -> tuple:
    moved = tuple(not _is_zero(t) for t in tangents)
    primal, linear, sloped = compiled.linearized(moved)
    made = call.bind(*primals, compiled=primal)
    results, residuals = made[:len(sloped)], made[len(sloped):]
    slopes = iter(call.bind(*residuals, *[t for t, m in zip(tangents, moved) if m], compiled=linear) if any(sloped) else ())
    return results, [next(slopes) if s else _no_slope(r) for r, s in zip(results, sloped)]


ad.primitive_jvps[call] = _pushed


def _pulled(cotangents: Sequence[Any], *values: Any, compiled: Compiled) -> list:
    unknown, given = tuple(map(ad.is_undefined_primal, values)), tuple(not _is_zero(c) for c in cotangents)
    known = [v for v, u in zip(values, unknown) if not u]
    slopes = iter(call.bind(*known, *[c for c, g in zip(cotangents, given) if g], compiled=compiled.transposed(unknown, given)))
    return [next(slopes) if u else None for u in unknown]


ad.primitive_transposes[call] = _pulled
