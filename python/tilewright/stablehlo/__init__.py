"""Reads StableHLO, as JAX and TensorFlow print it, and writes linalg on tensors.

    text = read(module)        # a jaxlib.mlir.ir.Module with one public function
"""

from .reader import read
from .registry import Unsupported

__all__ = ["Unsupported", "read"]
