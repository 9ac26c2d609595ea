"""JAX: `tilewright.jax.jit(function)`; `tilewright.jax.compile(exported)` for functions of `jax.export`."""

from ..stablehlo import Unsupported as UnsupportedError
from .exported import Exported, compile
from .function import Function, jit
from .lower import text_of

__all__ = ["Exported", "Function", "UnsupportedError", "compile", "jit", "text_of"]
