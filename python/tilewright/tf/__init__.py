"""TensorFlow: `tilewright.tf.function(function)`."""

from ..emit.context import Unsupported as UnsupportedError
from .function import Function, function

__all__ = ["Function", "UnsupportedError", "function"]
