"""What the tests of 8-bit floats share: the types, their numbers, and arrays of them as files."""

import ml_dtypes
import numpy as np

#: MLIR's name -> NumPy's type.
TYPES = {"f8E4M3FN": ml_dtypes.float8_e4m3fn, "f8E5M2": ml_dtypes.float8_e5m2,
         "f8E4M3FNUZ": ml_dtypes.float8_e4m3fnuz, "f8E5M2FNUZ": ml_dtypes.float8_e5m2fnuz}
#: The type of scales, a power of two without a sign; not one of the types above, to which conversions round.
SCALE = ml_dtypes.float8_e8m0fnu
#: Floats of 4 and 6 bits, which programs pass as bytes of i8.
NARROW = {"f4E2M1FN": ml_dtypes.float4_e2m1fn, "f6E2M3FN": ml_dtypes.float6_e2m3fn, "f6E3M2FN": ml_dtypes.float6_e3m2fn}
WIDE = {"f64": np.float64, "f32": np.float32, "f16": np.float16, "bf16": ml_dtypes.bfloat16}


def dtype(kind):
    return np.dtype(TYPES.get(kind) or NARROW.get(kind) or WIDE.get(kind) or {"f8E8M0FNU": SCALE}[kind])


def save(folder, name, array, kind):
    """An array as tools read it: 8-bit floats are bytes, bf16 is its bits in a file of that name."""
    path = folder / (f"{name}.bf16.npy" if kind == "bf16" else f"{name}.npy")
    bits = {1: np.uint8, 2: np.uint16}.get(array.dtype.itemsize) if kind in TYPES or kind == "bf16" else None
    bits = np.int8 if kind in NARROW else bits
    np.save(path, array.view(bits) if bits else array)
    return path


def load(path, kind):
    array = np.load(path)
    return array.view(dtype(kind)) if kind in TYPES or kind in NARROW or kind == "bf16" else array


def all_codes(kind):
    return np.arange(2 ** int(kind[1]), dtype=np.uint8).view(dtype(kind)) if kind in NARROW else np.arange(256, dtype=np.uint8).view(dtype(kind))


def same_bits(got, expected):
    """Equal, or both NaN: which NaN it is says nothing."""
    got, expected = (np.asarray(x) for x in (got, expected))
    nan = np.isnan(expected.astype(np.float64))
    bits = {1: np.uint8, 2: np.uint16, 4: np.uint32, 8: np.uint64}[got.dtype.itemsize]
    return np.array_equal(np.isnan(got.astype(np.float64)), nan) and np.array_equal(got.view(bits)[~nan],
                                                                                     expected.view(bits)[~nan])


def around_ties(kind, wide):
    """Numbers of `wide` at, just below and just above every tie and every number of the 8-bit type, and beyond."""
    values = all_codes(kind).astype(np.float64)
    values = np.unique(values[np.isfinite(values)])
    step = values[-1] - values[-2]
    beyond = [s * min(values[-1] + x * step, 60000) if wide == "f16" else s * (values[-1] + x * step)
              for s in (1, -1) for x in (0.5, 1, 2, 100)]
    ties = np.concatenate([values, (values[1:] + values[:-1]) / 2, beyond]).astype(dtype(wide))
    up, down = (np.nextafter(ties, ties.dtype.type(s * np.inf)) if wide != "bf16" else ties for s in (1, -1))
    special = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1e-8, -1e-8]).astype(dtype(wide))
    return np.concatenate([ties, up, down, special])
