"""JAX: `tilewright.jax.jit(function)`."""

from ..stablehlo import Unsupported as UnsupportedError
from .function import Function, jit
from .lower import text_of

__all__ = ["Function", "UnsupportedError", "jit", "text_of"]
