"""Types and attributes of StableHLO as Python values."""

import math
import pathlib
import re

from jaxlib.mlir import ir

from ..emit.types import FLOATS8
from .registry import Unsupported

ELEMENT_TYPES = {"f64": "f64", "f32": "f32", "f16": "f16", "bf16": "bf16", "i64": "i64", "i32": "i32", "i16": "i16", "i8": "i8",
                 "i1": "i1", "ui64": "u64", "ui32": "u32", "ui16": "u16", "ui8": "u8", **{name: name for name in FLOATS8}}

#: Where the files of this package are.
PACKAGE = str(pathlib.Path(__file__).resolve().parents[1])


def shape_and_type(type):
    """Sizes and element type of a ranked tensor; everything else is refused. Dynamic sizes are None."""
    if not isinstance(type, ir.RankedTensorType):
        try:
            type = ir.RankedTensorType(type)
        except ValueError:
            raise Unsupported(f"a value of type {type} is not compiled") from None
    name = str(type.element_type)
    if name not in ELEMENT_TYPES:
        hint = "; pass real and imaginary parts as two arrays" if name.startswith("complex") else ""
        raise Unsupported(f"elements of {name} are not compiled{hint}")
    return tuple(None if type.is_dynamic_dim(d) else type.get_dim_size(d) for d in range(type.rank)), ELEMENT_TYPES[name]


def integers(attribute):
    """A list of integers from any of the forms in which attributes hold them; nested for a matrix."""
    text = str(attribute)
    body = text.split(" : ")[0] if text.startswith("dense") else text.partition(":")[2]
    found = [{"true": 1, "false": 0}[n] if n in ("true", "false") else int(n) for n in re.findall(r"true|false|-?\d+", body)]
    if not text.startswith("dense"):
        return found
    shape = list(ir.DenseElementsAttr(attribute).type.shape)
    found = found * math.prod(shape) if len(found) == 1 else found
    return [found[i * shape[1]:(i + 1) * shape[1]] for i in range(shape[0])] if len(shape) == 2 else found


def splat_number(attribute):
    """The number that all elements of a dense attribute are; None where they differ."""
    if not attribute.is_splat:
        return None
    value = attribute.get_splat_value()
    if str(value) in ("true", "false"):
        return str(value) == "true"
    text = str(value)
    if text.split(" ")[0].startswith("0x") or "." in text.split(" ")[0] or "e" in text.split(" ")[0]:
        return ir.FloatAttr(value).value
    return int(text.split(" ")[0])


def is_splat_of(value, number):
    """Whether a value of the module is a constant of this number."""
    owner = value.owner
    if isinstance(owner, ir.Block):
        return False
    owner = getattr(owner, "operation", owner)
    if owner.name != "stablehlo.constant":
        return False
    return splat_number(ir.DenseElementsAttr(owner.attributes["value"])) == number


def enum(attribute):
    """`LT` of `#stablehlo<comparison_direction LT>`."""
    return str(attribute).rstrip(">").split()[-1]


def operation_name(location):
    """`MatMul`: the name of the framework's operation, where a location has one and no line."""
    found = re.match(r'loc\((?:fused\[)?"([^"]+)"(?!:)', str(location))
    return found[1] if found else None


def source_line(location):
    """`model.py:12`: the innermost line that a location names; None where it names none but the framework's own and this package's."""
    found = re.findall(r'"([^"<][^"]*)":(\d+)', str(location))
    found = [line for line in found if "/tensorflow/python/" not in line[0] and not line[0].startswith(PACKAGE)]
    return f"{found[0][0]}:{found[0][1]}" if found else None
