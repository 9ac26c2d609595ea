"""Functions of single elements that several readers write; `s` is a `Scalars`."""

import math

from . import types


def sigmoid_of(s, a):
    return s.div(1, s.add(s.math("exp", s.neg(a)), 1))


def absolute(s, a):
    if types.is_float(a.type):
        return s.math("absf", a)
    if types.is_unsigned(a.type):
        return a
    return s.max(a, s.neg(a))


def floor_divide(s, a, b):
    """Rounded towards minus infinity. Division of an integer by 0 is undefined here, an error in eager."""
    if types.is_float(a.type):
        remainder = s.binary("rem", a, b)
        quotient = s.div(s.sub(a, remainder), b)
        differs = s.compare("ne", remainder, 0)
        signs = s.binary("xor", s.compare("lt", b, 0), s.compare("lt", remainder, 0))
        quotient = s.select(s.binary("and", differs, signs), s.sub(quotient, 1), quotient)
        floored = s.math("floor", quotient)
        floored = s.select(s.compare("gt", s.sub(quotient, floored), 0.5), s.add(floored, 1), floored)
        zero = s.math("copysign", s.constant(0, a.type), s.div(a, b))
        floored = s.select(s.compare("eq", quotient, 0), zero, floored)
        return s.select(s.compare("eq", b, 0), s.div(a, b), floored)
    if types.is_unsigned(a.type):
        return s.div(a, b)
    return s.op(f"arith.floordivsi {a.name}, {b.name} : {a.type}", a.type)


def remainder_of(s, a, b):
    """With the sign of the divisor."""
    remainder = s.binary("rem", a, b)
    if types.is_unsigned(a.type):
        return remainder
    differs = s.compare("ne", remainder, 0)
    signs = s.binary("xor", s.compare("lt", b, 0), s.compare("lt", remainder, 0))
    return s.select(s.binary("and", differs, signs), s.add(remainder, b), remainder)


def integer_power(s, a, exponent):
    """a to a constant power by squaring."""
    result = None
    while exponent:
        if exponent & 1:
            result = a if result is None else s.mul(result, a)
        exponent >>= 1
        if exponent:
            a = s.mul(a, a)
    return result


def gelu_of(s, a, tanh):
    if tanh:
        inner = s.mul(s.add(a, s.mul(s.mul(s.mul(a, a), a), 0.044715)), math.sqrt(2 / math.pi))
        return s.mul(s.mul(a, 0.5), s.add(s.math("tanh", inner), 1))
    return s.mul(s.mul(a, 0.5), s.add(s.math("erf", s.mul(a, math.sqrt(0.5))), 1))


def to_integer(s, a, type):
    """From float towards 0; NaN is 0, what is beyond becomes the nearest number."""
    a = s.cast(a, types.compute(a.type))
    low, high = types.lowest(type), types.highest(type)
    signed = not types.is_unsigned(type)
    inside = s.binary("and", s.compare("ge", a, float(low)), s.compare("lt", a, float(high + 1)))
    safe = s.select(inside, a, s.constant(0, a.type))
    name = "fptosi" if signed else "fptoui"
    result = s.op(f"arith.{name} {safe.name} : {a.type} to {types.text(type)}", type)
    beyond = s.select(s.compare("lt", a, 0), s.constant(low, type), s.constant(high, type))
    beyond = s.select(s.is_nan(a), s.constant(0, type), beyond)
    return s.select(inside, result, beyond)


def rounded(s, a, type):
    """A number as one of another type; where f8E4M3FN has none as large, NaN, as in XLA (`Scalars.cast` saturates, as PyTorch does)."""
    if type != "f8E4M3FN" or a.type in types.FLOATS8:
        return s.cast(a, type)
    a = s.cast(a, "f32")
    beyond = s.compare("gt", s.math("absf", a), types.LARGEST_E4M3FN + types.STEP_OF_LARGEST_E4M3FN / 2)
    return s.cast(s.select(beyond, s.math("copysign", s.constant(math.nan, "f32"), a), a), type)
