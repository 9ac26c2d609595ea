"""JAX: `tilewright.jax.jit(function)`; `tilewright.jax.compile(exported)` for functions of `jax.export`; `export` for packages that
run without JAX."""

from ..stablehlo import Unsupported as UnsupportedError
from .ahead_of_time import export
from .exported import Exported, compile
from .function import Function, jit
from .lower import text_of

__all__ = ["Exported", "Function", "UnsupportedError", "compile", "export", "jit", "text_of"]
