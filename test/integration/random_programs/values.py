"""Tensors of a random program: values in float64 with the roundings of their types, and bounds of their errors."""

import ml_dtypes
import numpy as np

FLOATS8 = {"f8E4M3FN": ml_dtypes.float8_e4m3fn, "f8E5M2": ml_dtypes.float8_e5m2,
           "f8E4M3FNUZ": ml_dtypes.float8_e4m3fnuz, "f8E5M2FNUZ": ml_dtypes.float8_e5m2fnuz}
#: Spacing of a type's numbers around 1.
FLOATS = {"f64": 2.0**-52, "f32": 2.0**-23, "f16": 2.0**-10, "bf16": 2.0**-7, "f8E4M3FN": 2.0**-3, "f8E5M2": 2.0**-2,
          "f8E4M3FNUZ": 2.0**-3, "f8E5M2FNUZ": 2.0**-2}
#: Types with arithmetic of their own, or that every program may have; the others are types of storage.
USUAL = [kind for kind in FLOATS if kind not in FLOATS8]
TINY = {"f64": 2.0**-1022, "f32": 2.0**-126, "f16": 2.0**-24, "bf16": 2.0**-126, "f8E4M3FN": 2.0**-9, "f8E5M2": 2.0**-16,
        "f8E4M3FNUZ": 2.0**-10, "f8E5M2FNUZ": 2.0**-17}
INTS = {"i8": np.int8, "i32": np.int32, "i1": np.bool_}
LIMIT = 256.0  # programs keep floats below this magnitude, so that f16 never overflows
LIMITS = {"f8E4M3FN": 192.0, "f8E4M3FNUZ": 192.0}  # of types whose largest number is below it, or near
SIZES = [0, 1, 2, 3, 4, 5, 7, 8, 13, 16, 17, 31, 32, 33, 48, 64, 97]


def store(values, kind):
    """`values` (float64) rounded to `kind`."""
    if kind == "f64":
        return values
    if kind in FLOATS8:
        return values.astype(np.float32).astype(FLOATS8[kind]).astype(np.float64)
    if kind in ("f32", "f16"):
        return values.astype({"f32": np.float32, "f16": np.float16}[kind]).astype(np.float64)
    bits = values.astype(np.float32).view(np.uint32).astype(np.uint64)
    one, half = np.uint64(1), np.uint64(16)  # NumPy 1 shifts a 64-bit scalar only by its own type
    bits = (bits + np.uint64(0x7FFF) + ((bits >> half) & one)) & np.uint64(0xFFFF0000)
    return bits.astype(np.uint32).view(np.float32).astype(np.float64)


class Axis:
    """A dimension: its size, and the name of the index value that holds it where it is dynamic."""

    def __init__(self, size, name=None):
        self.size, self.name = size, name


class Value:
    """A tensor of a program: its SSA name, axes, element type, values and error bounds."""

    def __init__(self, name, axes, kind, data, error=None):
        self.name, self.axes, self.kind, self.data = name, axes, kind, data
        self.error = np.zeros(data.shape) if error is None else error

    def type(self):
        return "tensor<" + "".join(("?" if a.name else str(a.size)) + "x" for a in self.axes) + self.kind + ">"


class Reject(Exception):
    """The operation drawn does not fit the values drawn; another is drawn."""


def save(path, value):
    if value.kind == "bf16":
        np.save(path, (value.data.astype(np.float32).view(np.uint32) >> np.uint32(16)).astype(np.uint16))
    elif value.kind in FLOATS8:
        np.save(path, value.data.astype(FLOATS8[value.kind]).view(np.uint8))
    elif value.kind in FLOATS:
        np.save(path, value.data.astype({"f64": np.float64, "f32": np.float32, "f16": np.float16}[value.kind]))
    else:
        np.save(path, value.data)


def load(path, value):
    data = np.load(path)
    if value.kind in FLOATS8:
        return data.view(FLOATS8[value.kind]).astype(np.float64)
    if value.kind == "bf16":
        bits = np.frombuffer(data.tobytes(), np.uint16).astype(np.uint32) << np.uint32(16)
        return bits.view(np.float32).astype(np.float64).reshape(data.shape)
    return data.astype(np.float64) if value.kind in FLOATS else data


def compare(got, want):
    """What is wrong with `got`, or None."""
    if got.shape != want.data.shape:
        return f"shape {got.shape}, expected {want.data.shape}"
    if want.kind in FLOATS:
        wrong = ~(np.abs(got - want.data) <= want.error)
        wrong &= np.isfinite(want.error)  # infinite: any value may come; NaN (infinite times 0): the bound is not known
    else:
        wrong = (got != want.data) & (want.error == 0)
    if not wrong.any():
        return None
    at = tuple(int(i) for i in np.unravel_index(np.argmax(wrong), wrong.shape))
    return (f"{int(wrong.sum())} of {wrong.size} elements wrong; at {at}: {got[at]}, expected {want.data[at]} "
            f"within {want.error[at]:.3g}")
