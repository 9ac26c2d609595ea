"""Element-wise operations: arithmetic, comparison, selection, functions of one variable, activations, conversions."""

import math

from ..emit import special, types
from ..emit.elements import absolute, floor_divide, gelu_of, integer_power, remainder_of, sigmoid_of
from ..emit.value import Value
from . import dtypes
from .registry import op

# Functions of one variable


def _float_function(name, body):
    """A function whose result is a float, also of integers."""
    op(name)(lambda c, x: c.map([x], body))


for _name in ("exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sqrt", "rsqrt", "sin", "cos", "tan", "asin", "acos",
              "atan", "sinh", "cosh", "tanh", "asinh", "acosh", "atanh", "erf", "erfc"):
    _float_function(_name, lambda s, a, name=_name: s.math(name, a))


_float_function("sigmoid", sigmoid_of)
_float_function("erfinv", special.erf_inv)
_float_function("lgamma", special.lgamma)
_float_function("digamma", special.digamma)
_float_function("reciprocal", lambda s, a: s.div(1, a))
_float_function("deg2rad", lambda s, a: s.mul(a, math.pi / 180))
_float_function("rad2deg", lambda s, a: s.mul(a, 180 / math.pi))


def _rounding(name, function):
    @op(name)
    def emit(c, x):
        return c.map([x], lambda s, a: s.math(function, a) if types.is_float(a.type) else a)


for _name, _function in (("floor", "floor"), ("ceil", "ceil"), ("trunc", "trunc"), ("round", "roundeven")):
    _rounding(_name, _function)


@op("frac")
def frac(c, x):
    return c.map([x], lambda s, a: s.sub(a, s.math("trunc", a)))


@op("round.decimals")
def round_decimals(c, x, *, decimals=0):
    scale = 10.0 ** abs(decimals)
    if decimals >= 0:
        return c.map([x], lambda s, a: s.div(s.math("roundeven", s.mul(a, scale)), scale))
    return c.map([x], lambda s, a: s.mul(s.math("roundeven", s.div(a, scale)), scale))


@op("neg")
def neg(c, x):
    return c.map([x], lambda s, a: s.neg(a))


@op("abs")
def abs_(c, x):
    return c.map([x], lambda s, a: absolute(s, a))


@op("sign", "sgn")
def sign(c, x):
    def body(s, a):
        if a.type == "i1":
            return a
        zero, one = s.constant(0, a.type), s.constant(1, a.type)
        positive = s.select(s.compare("gt", a, 0), one, zero)
        return positive if types.is_unsigned(a.type) else s.select(s.compare("lt", a, 0), s.constant(-1, a.type), positive)
    return c.map([x], body)


@op("square")
def square(c, x):
    return c.map([x], lambda s, a: s.mul(a, a))


def _test(name, of_float, of_integer):
    @op(name)
    def emit(c, x):
        return c.map([x], lambda s, a: of_float(s, a) if types.is_float(a.type) else s.constant(of_integer, "i1"),
                     compute=types.compute(x.type))


_test("isnan", lambda s, a: s.is_nan(a), False)
_test("isinf", lambda s, a: s.compare("eq", s.math("absf", a), math.inf), False)
_test("isfinite", lambda s, a: s.compare("lt", s.math("absf", a), math.inf), True)
_test("isposinf", lambda s, a: s.compare("eq", a, math.inf), False)
_test("isneginf", lambda s, a: s.compare("eq", a, -math.inf), False)


@op("signbit")
def signbit(c, x):
    def body(s, a):
        if not types.is_float(a.type):
            return s.compare("lt", a, 0)
        return s.compare("lt", s.math("copysign", s.constant(1, a.type), a), 0)
    return c.map([x], body, compute=types.compute(x.type))


# Arithmetic of two operands


@op("add.Tensor", "add.Scalar")
def add(c, x, y, *, alpha=1):
    return c.map([x, y], lambda s, a, b: s.add(a, b if alpha == 1 else s.mul(b, alpha)))


@op("sub.Tensor", "sub.Scalar")
def sub(c, x, y, *, alpha=1):
    return c.map([x, y], lambda s, a, b: s.sub(a, b if alpha == 1 else s.mul(b, alpha)))


@op("rsub.Tensor", "rsub.Scalar")
def rsub(c, x, y, *, alpha=1):
    return c.map([x, y], lambda s, a, b: s.sub(b, a if alpha == 1 else s.mul(a, alpha)))


@op("mul.Tensor", "mul.Scalar")
def mul(c, x, y):
    return c.map([x, y], lambda s, a, b: s.mul(a, b))


@op("div.Tensor", "true_divide.Tensor", "div.Scalar")
def div(c, x, y):
    return c.map([x, y], lambda s, a, b: s.div(a, b))


@op("div.Tensor_mode", "div.Scalar_mode")
def div_mode(c, x, y, *, rounding_mode=None):
    def body(s, a, b):
        if rounding_mode == "floor":
            return floor_divide(s, a, b)
        quotient = s.div(a, b)
        return s.math("trunc", quotient) if rounding_mode == "trunc" and types.is_float(a.type) else quotient
    return c.map([x, y], body)


@op("floor_divide", "floor_divide.Scalar")
def floor_divide_(c, x, y):
    return c.map([x, y], floor_divide)


@op("remainder.Tensor", "remainder.Scalar", "remainder.Scalar_Tensor")
def remainder(c, x, y):
    return c.map([x, y], remainder_of)


@op("fmod.Tensor", "fmod.Scalar")
def fmod(c, x, y):
    return c.map([x, y], lambda s, a, b: s.binary("rem", a, b))


@op("maximum")
def maximum(c, x, y):
    return c.map([x, y], lambda s, a, b: s.max(a, b))


@op("minimum")
def minimum(c, x, y):
    return c.map([x, y], lambda s, a, b: s.min(a, b))


@op("fmax")
def fmax(c, x, y):
    def body(s, a, b):
        if not types.is_float(a.type):
            return s.max(a, b)
        return s.select(s.is_nan(a), b, s.select(s.is_nan(b), a, s.max(a, b)))
    return c.map([x, y], body)


@op("fmin")
def fmin(c, x, y):
    def body(s, a, b):
        if not types.is_float(a.type):
            return s.min(a, b)
        return s.select(s.is_nan(a), b, s.select(s.is_nan(b), a, s.min(a, b)))
    return c.map([x, y], body)


@op("atan2")
def atan2(c, x, y):
    return c.map([x, y], lambda s, a, b: s.math("atan2", a, b))


@op("copysign.Tensor", "copysign.Scalar")
def copysign(c, x, y):
    return c.map([x, y], lambda s, a, b: s.math("copysign", a, b))


@op("angle")
def angle(c, x):
    """Of real numbers: pi for negative ones."""
    def body(s, a):
        return s.select(s.is_nan(a), a, s.select(s.compare("lt", a, 0), s.constant(math.pi, a.type), s.constant(0, a.type)))
    return c.map([x], body)


@op("hypot")
def hypot(c, x, y):
    def body(s, a, b):
        # Scaled by the larger magnitude, so that squares neither overflow nor vanish.
        a, b = s.math("absf", a), s.math("absf", b)
        large, small = s.max(a, b), s.min(a, b)
        ratio = s.div(small, large)
        length = s.mul(large, s.math("sqrt", s.add(s.mul(ratio, ratio), 1)))
        plain = s.binary("or", s.compare("eq", small, 0), s.compare("eq", large, math.inf))
        return s.select(plain, large, length)
    return c.map([x, y], body)


@op("logaddexp")
def logaddexp(c, x, y):
    def body(s, a, b):
        large = s.max(a, b)
        sum_ = s.add(large, s.math("log1p", s.math("exp", s.neg(absolute(s, s.sub(a, b))))))
        same = s.binary("and", s.compare("eq", a, b), s.compare("eq", absolute(s, a), math.inf))
        return s.select(same, a, sum_)
    return c.map([x, y], body)


@op("xlogy.Tensor", "xlogy.Scalar_Other", "xlogy.Scalar_Self")
def xlogy(c, x, y):
    def body(s, a, b):
        product = s.mul(a, s.math("log", b))
        return s.select(s.is_nan(b), b, s.select(s.compare("eq", a, 0), s.constant(0, a.type), product))
    return c.map([x, y], body)


def power(s, a, exponent):
    """a to a constant power: eager's own short cuts, which change the last bits."""
    if types.is_float(a.type):
        if exponent == 0.5:
            return s.math("sqrt", a)
        if exponent in (0, 1):
            return s.constant(1, a.type) if exponent == 0 else a
        if exponent in (2, 3):
            return integer_power(s, a, int(exponent))
        if exponent in (-1, -2):
            return s.div(1, integer_power(s, a, int(-exponent)))
        if exponent == -0.5:
            return s.math("rsqrt", a)
        return s.math("powf", a, float(exponent))
    if exponent >= 0:
        return integer_power(s, a, int(exponent)) if exponent else s.constant(1, a.type)
    # Integers to negative powers: only 1 and -1 have one.
    one = s.constant(1, a.type)
    if types.is_unsigned(a.type):
        return s.select(s.compare("eq", a, 1), one, s.constant(0, a.type))
    negative = s.constant(-1 if exponent % 2 else 1, a.type)
    return s.select(s.compare("eq", a, 1), one, s.select(s.compare("eq", a, -1), negative, s.constant(0, a.type)))


@op("pow.Tensor_Scalar")
def pow_scalar(c, x, exponent):
    return c.map([x], lambda s, a: power(s, a, exponent))


@op("pow.Tensor_Tensor", "pow.Scalar")
def pow_tensor(c, x, exponent):
    if not types.is_float(c.type):
        c.refuse("powers of integers whose exponent is an integer tensor are not compiled")
    return c.map([x, exponent], lambda s, a, b: s.math("powf", a, b))


@op("lerp.Scalar", "lerp.Tensor")
def lerp(c, x, end, weight):
    def body(s, a, b, w):
        near = s.add(a, s.mul(w, s.sub(b, a)))
        far = s.sub(b, s.mul(s.sub(b, a), s.sub(1, w)))
        return s.select(s.compare("lt", absolute(s, w), 0.5), near, far)
    return c.map([x, end, weight], body)


@op("addcmul")
def addcmul(c, x, a, b, *, value=1):
    return c.map([x, a, b], lambda s, x, a, b: s.add(x, s.mul(s.mul(a, value) if value != 1 else a, b)))


@op("addcdiv")
def addcdiv(c, x, a, b, *, value=1):
    return c.map([x, a, b], lambda s, x, a, b: s.add(x, s.mul(s.div(a, b), value) if value != 1 else s.div(a, b)))


@op("prims::fma")
def fma(c, a, b, x):
    """What Dynamo makes of `addcmul_`, `addcdiv_` and `add_` whose factor is an argument, so of all optimisers."""
    return c.map([a, b, x], lambda s, a, b, x: s.add(s.mul(a, b), x))


# Comparison, logic, selection


def _comparison(test):
    @op(f"{test}.Tensor", f"{test}.Scalar")
    def emit(c, x, y):
        return c.map([x, y], lambda s, a, b: s.compare(test, a, b), compute=c.promoted())


for _name in ("eq", "ne", "lt", "le", "gt", "ge"):
    _comparison(_name)


def _logical(name, kind):
    @op(f"logical_{name}")
    def emit(c, x, y):
        return c.map([c.cast(x, "i1"), c.cast(y, "i1")], lambda s, a, b: s.binary(kind, a, b), compute="i1")


for _name in ("and", "or", "xor"):
    _logical(_name, _name)


@op("logical_not")
def logical_not(c, x):
    return c.map([c.cast(x, "i1")], lambda s, a: s.logical_not(a), compute="i1")


def _bitwise(name):
    @op(f"bitwise_{name}.Tensor", f"bitwise_{name}.Scalar", f"bitwise_{name}.Scalar_Tensor")
    def emit(c, x, y):
        return c.map([x, y], lambda s, a, b: s.binary(name, a, b))


for _name in ("and", "or", "xor"):
    _bitwise(_name)


@op("bitwise_not")
def bitwise_not(c, x):
    return c.map([x], lambda s, a: s.binary("xor", a, 1 if a.type == "i1" else -1))


def _shift(name, kind, operator):
    @op(f"{name}.Tensor", f"{name}.Tensor_Scalar", f"{name}.Scalar_Tensor", f"{operator}.Tensor", f"{operator}.Scalar")
    def emit(c, x, y):
        def body(s, a, b):
            bits = types.BITS[a.type]
            inside = s.compare("lt", b, bits)
            if not types.is_unsigned(a.type):
                inside = s.binary("and", inside, s.compare("ge", b, 0))
            safe = s.select(inside, b, s.constant(bits - 1, a.type))
            shifted = s.binary(kind, a, safe)
            beyond = s.constant(0, a.type) if kind == "shl" or types.is_unsigned(a.type) else shifted
            return s.select(inside, shifted, beyond)
        return c.map([x, y], body)


_shift("bitwise_left_shift", "shl", "__lshift__")
_shift("bitwise_right_shift", "shr", "__rshift__")


def _cast_scalar(c, scalar_or_value):
    return scalar_or_value if not isinstance(scalar_or_value, Value) else c.cast(scalar_or_value, c.type)


@op("where.self", "where.ScalarOther", "where.ScalarSelf", "where.Scalar")
def where(c, condition, x, y):
    condition = c.cast(condition, "i1")
    x, y = _cast_scalar(c, x), _cast_scalar(c, y)
    type = c.type

    def body(s, test, *rest):
        rest = iter(rest)
        a = next(rest) if isinstance(x, Value) else s.constant(x, type)
        b = next(rest) if isinstance(y, Value) else s.constant(y, type)
        return s.select(test, a, b)
    return c.f.map([condition] + [v for v in (x, y) if isinstance(v, Value)], c.shape, type, body)


@op("masked_fill.Scalar", "masked_fill.Tensor")
def masked_fill(c, x, mask, value):
    return where(c, mask, value, x)


def clamped(s, a, low, high):
    if low is not None:
        a = s.max(a, low)
    if high is not None:
        a = s.min(a, high)
    return a


@op("clamp", "clamp.Tensor")
def clamp(c, x, low=None, high=None):
    bounds = [b for b in (low, high) if b is not None]

    def body(s, a, *bounds):
        bounds = iter(bounds)
        return clamped(s, a, next(bounds) if low is not None else None, next(bounds) if high is not None else None)
    return c.map([x, *bounds], body)


@op("clamp_min", "clamp_min.Tensor")
def clamp_min(c, x, low):
    return clamp(c, x, low)


@op("clamp_max", "clamp_max.Tensor")
def clamp_max(c, x, high):
    return clamp(c, x, None, high)


@op("nan_to_num")
def nan_to_num(c, x, nan=None, posinf=None, neginf=None):
    import torch
    limits = torch.finfo(dtypes.TO_TORCH[c.type]) if types.is_float(c.type) else None

    def body(s, a):
        if limits is None:
            return a
        b = s.select(s.compare("eq", a, math.inf), s.constant(limits.max if posinf is None else posinf, a.type), a)
        b = s.select(s.compare("eq", a, -math.inf), s.constant(limits.min if neginf is None else neginf, a.type), b)
        return s.select(s.is_nan(a), s.constant(nan or 0.0, a.type), b)
    return c.map([x], body)


# Activations


@op("relu")
def relu(c, x):
    return c.map([x], lambda s, a: s.max(a, 0))


@op("leaky_relu")
def leaky_relu(c, x, slope=0.01):
    return c.map([x], lambda s, a: s.select(s.compare("gt", a, 0), a, s.mul(a, slope)))


@op("hardtanh")
def hardtanh(c, x, low=-1, high=1):
    return clamp(c, x, low, high)


@op("relu6")
def relu6(c, x):
    return clamp(c, x, 0, 6)


def relu6_of(s, a):
    return s.min(s.max(a, 0), 6)


@op("hardsigmoid")
def hardsigmoid(c, x):
    return c.map([x], lambda s, a: s.div(relu6_of(s, s.add(a, 3)), 6))


@op("hardswish")
def hardswish(c, x):
    return c.map([x], lambda s, a: s.div(s.mul(a, relu6_of(s, s.add(a, 3))), 6))


@op("hardshrink")
def hardshrink(c, x, lambd=0.5):
    def body(s, a):
        inside = s.binary("and", s.compare("ge", a, -lambd), s.compare("le", a, lambd))
        return s.select(inside, s.constant(0, a.type), a)
    return c.map([x], body)


@op("softshrink")
def softshrink(c, x, lambd=0.5):
    def body(s, a):
        low = s.select(s.compare("lt", a, -lambd), s.add(a, lambd), s.mul(a, 0))
        return s.select(s.compare("gt", a, lambd), s.sub(a, lambd), low)
    return c.map([x], body)


@op("threshold")
def threshold(c, x, threshold, value):
    return c.map([x], lambda s, a: s.select(s.compare("le", a, threshold), s.constant(value, a.type), a))


@op("silu")
def silu(c, x):
    return c.map([x], lambda s, a: s.div(a, s.add(s.math("exp", s.neg(a)), 1)))


@op("elu")
def elu(c, x, alpha=1, scale=1, input_scale=1):
    def body(s, a):
        below = s.mul(s.math("expm1", s.mul(a, input_scale) if input_scale != 1 else a), alpha * scale)
        return s.select(s.compare("lt", a, 0), below, s.mul(a, scale) if scale != 1 else a)
    return c.map([x], body)


@op("softplus")
def softplus(c, x, beta=1, threshold=20):
    def body(s, a):
        scaled = s.mul(a, beta)
        return s.select(s.compare("gt", scaled, threshold), a, s.div(s.math("log1p", s.math("exp", scaled)), beta))
    return c.map([x], body)


@op("mish")
def mish(c, x):
    return c.map([x], lambda s, a: s.mul(a, s.math("tanh", s.math("log1p", s.math("exp", a)))))


@op("log_sigmoid_forward")
def log_sigmoid(c, x):
    value = c.map([x], lambda s, a: s.sub(s.min(a, 0), s.math("log1p", s.math("exp", s.neg(absolute(s, a))))),
                  type=x.type, shape=x.shape)
    return value, c.f.empty(tuple(c.result(1).shape), x.type)


@op("gelu")
def gelu(c, x, *, approximate="none"):
    return c.map([x], lambda s, a: gelu_of(s, a, approximate == "tanh"))


@op("_prelu_kernel")
def prelu(c, x, weight):
    return c.map([x, weight], lambda s, a, w: s.select(s.compare("gt", a, 0), a, s.mul(a, w)))


# Conversions and copies


@op("_to_copy")
def to_copy(c, x, **options):
    return c.cast(x, c.type) if isinstance(x, Value) else c.map([x], lambda s, a: a)


@op("clone", "alias", "alias_copy", "detach", "detach_copy", "lift_fresh_copy", "contiguous", "lift_fresh", "prims::device_put")
def same(c, x, *_, **options):
    return x


@op("copy")
def copy(c, x, source, non_blocking=False):
    return c.broadcast(c.cast(source, c.type), c.shape)


@op("prims::convert_element_type")
def convert_element_type(c, x, dtype):
    return c.cast(x, c.type)


@op("fill.Scalar", "fill.Tensor")
def fill(c, x, value):
    if isinstance(value, Value):
        return c.broadcast(c.cast(value, c.type), c.shape)
    return c.f.fill(c.shape, c.type, value)
