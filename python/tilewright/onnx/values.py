"""What a name of a graph is held as, and ONNX's element types.

    Value       a tensor of the text (`emit/value.py`)
    Constant    an array that is known when the model is compiled; sizes in it may be expressions over dynamic sizes
    list        a sequence
"""

import numpy as np
import onnx

from ..arrays import numpy_type
from ..emit.context import Unsupported
from ..emit.sizes import plain

T = onnx.TensorProto
OF_ONNX = {
    T.FLOAT: "f32", T.DOUBLE: "f64", T.FLOAT16: "f16", T.BFLOAT16: "bf16", T.INT64: "i64", T.INT32: "i32", T.INT16:
    "i16", T.INT8: "i8", T.UINT64: "u64", T.UINT32: "u32", T.UINT16: "u16", T.UINT8: "u8", T.BOOL: "i1", T.FLOAT8E4M3FN:
    "f8E4M3FN", T.FLOAT8E4M3FNUZ: "f8E4M3FNUZ", T.FLOAT8E5M2: "f8E5M2", T.FLOAT8E5M2FNUZ: "f8E5M2FNUZ", T.INT4: "i4",
    T.UINT4: "u4"
}
OF_ONNX |= {getattr(T, name): type for name, type in (("INT2", "i2"), ("UINT2", "u2")) if hasattr(T, name)}
TO_ONNX = {type: number for number, type in OF_ONNX.items()}


def type_name(number):
    return T.DataType.Name(number).lower() if number in T.DataType.values() else f"number {number}"


def element_type(number):
    """The type in the text of a TensorProto.DataType."""
    if number not in OF_ONNX:
        raise Unsupported(f"elements of {type_name(number)} are not compiled")
    return OF_ONNX[number]


def dtype_of(type):
    """numpy's type of elements of the text; the text's `u8` is `ui8` of a program's signature."""
    if type in NARROW:
        import ml_dtypes
        return np.dtype(getattr(ml_dtypes, NARROW[type]))
    return numpy_type("u" + type.replace("u", "i") if type.startswith("u") else type)


#: ml_dtypes' names of integers that lie in a byte each.
NARROW = {"i4": "int4", "u4": "uint4", "i2": "int2", "u2": "uint2"}


def stored(array, type):
    """The array as programs take it: integers of less than 8 bits in a byte each."""
    return array.astype("uint8" if type[0] == "u" else "int8") if type in NARROW and array.dtype.itemsize else array


def type_of(dtype):
    """The text's type of numpy's; None where there is none."""
    name = np.dtype(dtype).name
    short = {
        "bool": "i1", "bfloat16": "bf16", "float8_e4m3fn": "f8E4M3FN", "float8_e5m2": "f8E5M2", "float8_e4m3fnuz":
        "f8E4M3FNUZ", "float8_e5m2fnuz": "f8E5M2FNUZ"
    }.get(name)
    if short is None and name.startswith(("float", "int", "uint")):
        short = name.replace("float", "f").replace("uint", "u").replace("int", "i")
    return short if short in TO_ONNX else None


class Constant:
    """An array; of integers, its entries may be sympy expressions (then its dtype is object)."""

    __slots__ = ("array", "type", "name", "value")

    def __init__(self, array, type, name=None):
        self.array, self.type, self.name = np.asarray(array), type, name
        self.value = None  # the tensor of the text, once it is written

    @property
    def shape(self):
        return self.array.shape

    @property
    def rank(self):
        return self.array.ndim

    @property
    def is_symbolic(self):
        return self.array.dtype == object

    def splat(self):
        """The number that all elements are, as Python's; None where they differ, or are expressions."""
        if self.array.size == 0 or self.is_symbolic:
            return None
        first, last = self.array.flat[0], self.array.flat[-1]
        if first != last or self.array.size > 2 and not (self.array == first).all():  # of weights the ends differ
            return None
        return bool(first) if self.type == "i1" else float(first) if self.type[0] in "fb" else int(first)


def of_sizes(entries, type="i64"):
    """A constant of sizes; expressions that are numbers become numbers."""
    entries = np.asarray(entries, dtype=object)
    flat = [n if isinstance(n, int) else int(n) if isinstance(n, np.integer) else plain(n) for n in entries.flat]
    symbolic = any(not isinstance(n, int) for n in flat)
    array = np.empty(len(flat), dtype=object)
    array[:] = flat
    return Constant(
        array.reshape(entries.shape) if symbolic else array.astype(dtype_of(type)).reshape(entries.shape), type)


def of_array(array, name=None):
    type = type_of(array.dtype)
    if type is None:
        raise Unsupported(f"elements of {array.dtype} are not compiled")
    return Constant(array, type, name)
