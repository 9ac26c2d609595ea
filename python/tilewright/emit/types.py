"""Element types of the text.

A type is a string. Integers have no sign in MLIR's text; here they do: `u8` is `i8` in the text, and operations on it are the
unsigned ones. Integers of 2 and 4 bits lie in a byte each.
"""

BITS = {"f64": 64, "f32": 32, "f16": 16, "bf16": 16, "i64": 64, "i32": 32, "i16": 16, "i8": 8, "u64": 64,
        "u32": 32, "u16": 16, "u8": 8, "i1": 1, "index": 64, "i4": 4, "u4": 4, "i2": 2, "u2": 2, "f8E4M3FN": 8, "f8E5M2": 8,
        "f8E4M3FNUZ": 8, "f8E5M2FNUZ": 8}
#: 8-bit floats: those with FN and FNUZ have no infinity.
FLOATS8 = ("f8E4M3FN", "f8E5M2", "f8E4M3FNUZ", "f8E5M2FNUZ")
LARGEST_E4M3FN, STEP_OF_LARGEST_E4M3FN = 448.0, 32.0
FLOATS = ("f64", "f32", "f16", "bf16", *FLOATS8)
UNSIGNED = ("u64", "u32", "u16", "u8", "u4", "u2")


def text(type):
    """The type as MLIR writes it."""
    if type in ("i4", "u4", "i2", "u2"):
        return "i8"
    return f"i{type[1:]}" if type in UNSIGNED else type


def is_float(type):
    return type in FLOATS


def is_integer(type):
    return type not in FLOATS and type != "i1"


def is_unsigned(type):
    return type in UNSIGNED or type == "i1"


def compute(type):
    """The type in which eager computes an operation on `type` and rounds once: f32 for floats of 16 and 8 bits."""
    return "f32" if is_float(type) and BITS[type] < 32 else type


def lowest(type):
    """The value that every maximum starts from."""
    if is_float(type):
        return float("-inf")
    return 0 if is_unsigned(type) else -(1 << (BITS[type] - 1))


def highest(type):
    """The value that every minimum starts from."""
    if is_float(type):
        return float("inf")
    if type == "i1":
        return 1
    return (1 << BITS[type]) - 1 if is_unsigned(type) else (1 << (BITS[type] - 1)) - 1
