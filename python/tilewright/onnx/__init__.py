"""ONNX: `tilewright.onnx.load("model.onnx")`."""

from ..emit.context import Unsupported as UnsupportedError
from .model import Model, load

__all__ = ["Model", "UnsupportedError", "load"]
