"""Arrays of any kind as addresses: numpy's, what has __array_interface__, DLPack, or data_ptr() as PyTorch's tensors."""

from __future__ import annotations

import functools
import sys
from typing import Any, Optional

import numpy as np

from .errors import ArgumentError
from .signature import Argument

_NUMPY = {"i1": "bool", "i8": "int8", "i16": "int16", "i32": "int32", "i64": "int64", "ui8": "uint8", "ui16": "uint16",
          "ui32": "uint32", "ui64": "uint64", "index": "int64", "f16": "float16", "f32": "float32", "f64": "float64"}
#: Types that numpy knows by a package of its own, and the bytes that stand for them without it.
_EXTENDED = {"bf16": ("bfloat16", "uint16"), "f8E4M3FN": ("float8_e4m3fn", "uint8"), "f8E5M2": ("float8_e5m2", "uint8"),
             "f8E4M3FNUZ": ("float8_e4m3fnuz", "uint8"), "f8E5M2FNUZ": ("float8_e5m2fnuz", "uint8"),
             "f8E8M0FNU": ("float8_e8m0fnu", "uint8")}


@functools.lru_cache(maxsize=None)
def numpy_type(type: str) -> np.dtype:
    """numpy's type for an element type; bf16 and 8-bit floats are those of ml_dtypes, or bits where it is not there."""
    if type in _NUMPY:
        return np.dtype(_NUMPY[type])
    if type not in _EXTENDED:
        raise ArgumentError(f"numpy has no type for elements of type {type}")
    name, bits = _EXTENDED[type]
    try:
        import ml_dtypes
    except ImportError:
        return np.dtype(bits)
    return np.dtype(getattr(ml_dtypes, name, bits))  # older versions lack some


@functools.lru_cache(maxsize=None)
def _accepted(type: str) -> frozenset:
    """Types of arrays that hold elements of `type`: integers of one width differ only in how they are read."""
    own = numpy_type(type)
    types = {own}
    if own.kind in "iu" and type != "index":
        types |= {np.dtype(f"int{8 * own.itemsize}"), np.dtype(f"uint{8 * own.itemsize}")}
    if type in _EXTENDED:
        types.add(np.dtype(_EXTENDED[type][1]))
    return frozenset(types)


def torch_type(type: str) -> Any:
    """PyTorch's type for an element type."""
    import torch

    name = _EXTENDED[type][0] if type in _EXTENDED else _NUMPY[type]
    return getattr(torch, name)


def has_torch() -> bool:
    return "torch" in sys.modules


def is_tensor(value: Any) -> bool:
    """Whether `value` is a tensor of PyTorch, which this package never imports by itself."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(value, torch.Tensor)


def _describe(array: np.ndarray) -> str:
    return f"{array.dtype}[{','.join(map(str, array.shape))}]"


def as_array(value: Any, argument: Argument, what: str) -> np.ndarray:
    """A dense row-major array of the argument's type over the memory of `value`, or a copy where that is laid out
    otherwise and the program only reads it."""
    array: Optional[np.ndarray] = value if type(value) is np.ndarray else None
    if array is None and is_tensor(value):
        array = _of_tensor(value, argument, what)
    if array is None:
        try:
            array = np.from_dlpack(value) if hasattr(value, "__dlpack__") and not hasattr(value, "__array_interface__") \
                else np.asarray(value, dtype=numpy_type(argument.type) if np.isscalar(value) else None)
        except (TypeError, ValueError, RuntimeError, BufferError) as error:
            raise ArgumentError(f"{what} is no array that numpy can see ({error}); the program takes {argument}") from None
    if array.dtype not in _accepted(argument.type):
        raise ArgumentError(f"{what} is {_describe(array)}; the program takes {argument}"
                            f" ({numpy_type(argument.type)} in numpy)")
    if not array.flags.c_contiguous:
        if argument.is_written:
            raise ArgumentError(f"{what} is written, so it has to be dense and row-major; its strides are {array.strides}")
        array = np.ascontiguousarray(array)
    if argument.is_written and not array.flags.writeable:
        raise ArgumentError(f"{what} is written by the program, but the array is read-only")
    return array


def _of_tensor(tensor: Any, argument: Argument, what: str) -> np.ndarray:
    if tensor.device.type != "cpu":
        raise ArgumentError(f"{what} is on {tensor.device}; the program takes arrays of the host")
    tensor = tensor.detach().resolve_conj().resolve_neg()
    try:
        return tensor.numpy()
    except TypeError: # bf16 and 8-bit floats: numpy has their bits only
        import torch

        if str(tensor.dtype).removeprefix("torch.") != _EXTENDED.get(argument.type, ("", ""))[0]:
            raise ArgumentError(f"{what} is {tensor.dtype}; the program takes {argument}") from None
        bits = torch.int16 if tensor.element_size() == 2 else torch.uint8
        return tensor.view(bits).numpy().view(_EXTENDED[argument.type][1])


def like(array: np.ndarray, argument: Argument, example: Any) -> Any:
    """A result as the caller's kind of array: over the same memory."""
    if not is_tensor(example):
        return array
    import torch

    if argument.type in _EXTENDED:
        bits = array.view(np.int16 if argument.itemsize == 2 else np.uint8)
        return torch.from_numpy(bits).view(getattr(torch, _EXTENDED[argument.type][0]))
    return torch.from_numpy(array)
