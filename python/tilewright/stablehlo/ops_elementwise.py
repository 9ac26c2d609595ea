"""Element-wise operations: arithmetic, comparison, selection, functions of one variable, bits, conversions."""

import math

from jaxlib.mlir import ir

from ..emit import special, types
from ..emit.elements import rounded, to_integer
from .attributes import enum, shape_and_type
from .registry import Unsupported, element, op


def result_type(op):
    return shape_and_type(op.results[0].type)[1]


# Functions of one variable


def _function(names, body):
    element(*names)(lambda s, op, a: body(s, a))


for _name, _math in (("exponential", "exp"), ("exponential_minus_one", "expm1"), ("log", "log"), ("log_plus_one", "log1p"), ("sqrt", "sqrt"),
                     ("rsqrt", "rsqrt"), ("sine", "sin"), ("cosine", "cos"), ("tan", "tan"), ("tanh", "tanh"), ("floor", "floor"),
                     ("ceil", "ceil"), ("round_nearest_even", "roundeven"), ("round_nearest_afz", "round")):
    _function([f"stablehlo.{_name}"], lambda s, a, name=_math: s.math(name, a))
for _name in ("erf", "erfc", "sinh", "cosh", "asinh", "acosh", "atanh", "asin", "acos", "atan", "tan"):
    _function([f"chlo.{_name}", f"mhlo.{_name}"], lambda s, a, name=_name: s.math(name, a))
_function(["stablehlo.logistic"], lambda s, a: s.div(1, s.add(s.math("exp", s.neg(a)), 1)))
_function(["chlo.square"], lambda s, a: s.mul(a, a))
_function(["stablehlo.negate"], lambda s, a: s.neg(a))
_function(["stablehlo.is_finite"], lambda s, a: s.compare("lt", s.math("absf", a), math.inf))
_function(["chlo.is_inf"], lambda s, a: s.compare("eq", s.math("absf", a), math.inf))
_function(["chlo.is_pos_inf"], lambda s, a: s.compare("eq", a, math.inf))
_function(["chlo.is_neg_inf"], lambda s, a: s.compare("eq", a, -math.inf))


@element("stablehlo.abs")
def absolute(s, op, a):
    if types.is_float(a.type):
        return s.math("absf", a)
    return a if types.is_unsigned(a.type) else s.max(a, s.neg(a))


@element("stablehlo.sign")
def sign(s, op, a):
    zero, one = s.constant(0, a.type), s.constant(1, a.type)
    if types.is_unsigned(a.type):
        return s.select(s.compare("ne", a, 0), one, zero)
    if types.is_float(a.type):  # NaN and both zeros are themselves
        return s.select(s.binary("or", s.is_nan(a), s.compare("eq", a, 0)), a, s.math("copysign", one, a))
    return s.select(s.compare("gt", a, 0), one, s.select(s.compare("lt", a, 0), s.constant(-1, a.type), zero))


@element("stablehlo.cbrt")
def cbrt(s, op, a):
    magnitude = s.math("absf", a)
    root = s.math("powf", magnitude, 1.0 / 3)
    # One step of Newton's: the power's last bits are those of 1/3 rounded.
    better = s.sub(root, s.div(s.sub(root, s.div(magnitude, s.mul(root, root))), 3))
    plain = s.binary("or", s.compare("eq", magnitude, 0), s.compare("eq", magnitude, math.inf))
    return s.math("copysign", s.select(plain, magnitude, better), a)


for _name, _function in (("erf_inv", special.erf_inv), ("lgamma", special.lgamma), ("digamma", special.digamma)):
    element(f"chlo.{_name}")(lambda s, op, a, function=_function: function(s, a))


@element("stablehlo.reduce_precision")
def reduce_precision(s, op, a):
    exponent, mantissa = (ir.IntegerAttr(op.attributes[name]).value for name in ("exponent_bits", "mantissa_bits"))
    bits = {(11, 52): "f64", (8, 23): "f32", (5, 10): "f16", (8, 7): "bf16"}
    if (exponent, mantissa) not in bits:
        raise Unsupported(f"rounding to {exponent} bits of exponent and {mantissa} of mantissa is not compiled")
    narrow = bits[exponent, mantissa]
    return a if types.BITS[narrow] >= types.BITS[a.type] else s.cast(s.cast(a, narrow), a.type)


# Arithmetic of two operands


def _binary(name, kind):
    element(f"stablehlo.{name}")(lambda s, op, a, b: s.binary(kind, a, b))


for _name, _kind in (("add", "add"), ("subtract", "sub"), ("multiply", "mul"), ("maximum", "max"), ("minimum", "min"), ("and", "and"),
                     ("or", "or"), ("xor", "xor")):
    _binary(_name, _kind)


def _safe_divisor(s, a, b):
    """A divisor that no machine traps on, and whether it stands for 0, and for -1 under the smallest number."""
    zero = s.compare("eq", b, 0)
    overflow = None
    if not types.is_unsigned(a.type):
        overflow = s.binary("and", s.compare("eq", a, types.lowest(a.type)), s.compare("eq", b, -1))
    bad = zero if overflow is None else s.binary("or", zero, overflow)
    return s.select(bad, s.constant(1, a.type), b), zero


@element("stablehlo.divide")
def divide(s, op, a, b):
    """Of integers: by 0 it is -1 (all bits), as XLA has it."""
    if types.is_float(a.type):
        return s.div(a, b)
    divisor, zero = _safe_divisor(s, a, b)
    return s.select(zero, s.constant(-1, a.type), s.div(a, divisor))


@element("stablehlo.remainder")
def remainder(s, op, a, b):
    """Of integers: by 0 it is the dividend."""
    if types.is_float(a.type):
        return s.binary("rem", a, b)
    divisor, zero = _safe_divisor(s, a, b)
    return s.select(zero, a, s.binary("rem", a, divisor))


@element("stablehlo.power")
def power(s, op, a, b):
    if types.is_float(a.type):
        return s.math("powf", a, b)
    result, square = s.constant(1, a.type), a
    for bit in range(types.BITS[a.type] - (0 if types.is_unsigned(a.type) else 1)):
        taken = s.compare("ne", s.binary("and", b, 1 << bit), 0)
        result = s.select(taken, s.mul(result, square), result)
        square = s.mul(square, square)
    if types.is_unsigned(a.type):
        return result
    # Negative powers: only 1 and -1 have one.
    odd = s.compare("ne", s.binary("and", b, 1), 0)
    unit = s.select(odd, a, s.constant(1, a.type))
    is_unit = s.binary("or", s.compare("eq", a, 1), s.compare("eq", a, -1))
    return s.select(s.compare("lt", b, 0), s.select(is_unit, unit, s.constant(0, a.type)), result)


@element("stablehlo.atan2")
def atan2(s, op, a, b):
    return s.math("atan2", a, b)


@element("stablehlo.clamp")
def clamp(s, op, low, a, high):
    return s.min(s.max(a, low), high)


@element("chlo.next_after")
def next_after(s, op, a, b):
    """The neighbour of `a` towards `b`: its bits as an integer count magnitudes."""
    integer = f"i{types.BITS[a.type]}"

    def compared(test, x, y):
        return s.compare(test, s.cast(x, types.compute(x.type)), s.cast(y, types.compute(y.type)))
    zero = s.constant(0, a.type)
    bits = s.op(f"arith.bitcast {a.name} : {a.type} to {integer}", integer)
    inwards = s.binary("xor", compared("gt", b, a), compared("gt", a, zero))
    moved = s.add(bits, s.select(inwards, s.constant(-1, integer), s.constant(1, integer)))
    smallest = s.select(compared("gt", b, zero), s.constant(1, integer), s.constant(types.lowest(integer) + 1, integer))
    moved = s.select(compared("eq", a, zero), smallest, moved)
    result = s.op(f"arith.bitcast {moved.name} : {integer} to {a.type}", a.type)
    result = s.select(compared("eq", a, b), b, result)
    return s.select(compared("ne", a, a), a, s.select(compared("ne", b, b), b, result))


# Comparison and selection


def total_order(s, a):
    """An integer that orders as IEEE's total order does: -NaN, -inf, .., -0, 0, .., inf, NaN."""
    a = s.cast(a, types.compute(a.type))
    integer = f"i{types.BITS[a.type]}"
    bits = s.op(f"arith.bitcast {a.name} : {a.type} to {integer}", integer)
    return s.binary("xor", bits, s.binary("and", s.binary("shr", bits, types.BITS[integer] - 1), types.highest(integer)))


@element("stablehlo.compare")
def compare(s, op, a, b):
    if types.is_float(a.type) and "compare_type" in op.attributes and enum(op.attributes["compare_type"]) == "TOTALORDER":
        a, b = total_order(s, a), total_order(s, b)
    a, b = s.cast(a, types.compute(a.type)), s.cast(b, types.compute(b.type))
    return s.compare(enum(op.attributes["comparison_direction"]).lower(), a, b)


@element("stablehlo.select")
def select(s, op, condition, a, b):
    return s.select(condition, a, b)


# Bits


@element("stablehlo.not")
def not_(s, op, a):
    return s.binary("xor", a, 1 if a.type == "i1" else -1)


def _shift(name, kind):
    @element(f"stablehlo.{name}")
    def emit(s, op, a, b):
        bits = types.BITS[a.type]
        inside = s.compare("lt", b, bits)
        if not types.is_unsigned(b.type):
            inside = s.binary("and", inside, s.compare("ge", b, 0))
        shifted = s.binary(kind, a, s.select(inside, b, s.constant(bits - 1, a.type)))
        if name == "shift_right_arithmetic":
            return shifted
        return s.select(inside, shifted, s.constant(0, a.type))


_shift("shift_left", "shl")
_shift("shift_right_logical", "shr_logical")


@element("stablehlo.shift_right_arithmetic")
def shift_right_arithmetic(s, op, a, b):
    bits = types.BITS[a.type]
    inside = s.compare("lt", b, bits)
    if not types.is_unsigned(b.type):
        inside = s.binary("and", inside, s.compare("ge", b, 0))
    amount = s.select(inside, b, s.constant(bits - 1, a.type))
    text = types.text(a.type)
    return s.op(f"arith.shrsi {a.name}, {amount.name} : {text}", a.type)


def ones_of(s, a):
    """How many bits are set: sums of neighbouring fields, whose widths double."""
    bits = types.BITS[a.type]

    def repeated(field, width):
        return sum(field << at for at in range(0, bits, width))
    width = 1
    while width < bits:
        mask = repeated((1 << width) - 1, 2 * width)
        a = s.add(s.binary("and", a, mask), s.binary("and", s.binary("shr_logical", a, width), mask))
        width *= 2
    return a


@element("stablehlo.popcnt")
def popcnt(s, op, a):
    return ones_of(s, a)


@element("stablehlo.count_leading_zeros")
def count_leading_zeros(s, op, a):
    shift = 1
    while shift < types.BITS[a.type]:
        a = s.binary("or", a, s.binary("shr_logical", a, shift))
        shift *= 2
    return ones_of(s, s.binary("xor", a, -1))


# Conversions


@element("stablehlo.convert")
def convert(s, op, a):
    type = result_type(op)
    if types.is_float(a.type) and not types.is_float(type) and type != "i1":
        return to_integer(s, a, type)
    return rounded(s, a, type)


@element("stablehlo.bitcast_convert")
def bitcast_of_element(s, op, a):
    return bits_as(s, a, result_type(op))


def bits_as(s, a, type):
    if "i1" in (type, a.type) and type != a.type:
        raise Unsupported(f"a bitcast from {a.type} to {type} is not compiled")
    if types.text(type) == types.text(a.type):
        return s.cast(a, type)
    return s.op(f"arith.bitcast {a.name} : {types.text(a.type)} to {types.text(type)}", type)


@op("stablehlo.bitcast_convert")
def bitcast_convert(c):
    """A wider element is several of a last dimension of the other side, the lowest bits first."""
    held, last = c.held(0), len(c.shape) - 1
    width, made_width = types.BITS[held.type], types.BITS[c.type]
    if width == made_width:
        return c.reader.element_wise(c.op, c.shape, c.type)
    if "i1" in (held.type, c.type):
        c.refuse(f"a bitcast from {held.type} to {c.type} is not compiled")
    x = c.value(0)

    def part(s, a):
        shifted = s.binary("shr_logical", bits_as(s, a, f"u{width}"), s.cast(s.mul(s.index(last), made_width), f"u{width}"))
        return bits_as(s, s.cast(shifted, f"u{made_width}"), c.type)

    def whole(s, *_):
        made, place = None, [s.index(i) for i in range(len(c.shape))]
        for i in range(made_width // width):
            bits = s.cast(bits_as(s, s.extract(x, [*place, i]), f"u{width}"), f"u{made_width}")
            made = bits if made is None else s.binary("or", made, s.binary("shl", bits, i * width))
        return bits_as(s, made, c.type)
    if width > made_width:
        loops = [f"d{i}" for i in range(len(c.shape))]
        return c.f.generic(len(loops), [(x, loops[:-1])], [(c.f.empty(c.shape, c.type), loops)], lambda s, a, _: part(s, a))
    return c.f.map([], c.shape, c.type, whole)
