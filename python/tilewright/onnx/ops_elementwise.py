"""Element-wise operations: arithmetic, comparison, selection, functions of one variable, activations, conversions."""

import math

from ..emit import types
from ..emit.elements import absolute, gelu_of, integer_power, remainder_of, sigmoid_of, to_integer
from ..emit.value import Value
from .reader import broadcast
from .registry import op
from .values import Constant, dtype_of, element_type

# Functions of one variable


def function(name, body):
    op(name, raw=True)(lambda c, x, *_: c.map([x], body))


for _name, _math in (("Acos", "acos"), ("Acosh", "acosh"), ("Asin", "asin"), ("Asinh", "asinh"), ("Atan", "atan"),
                     ("Atanh", "atanh"), ("Ceil", "ceil"), ("Cos", "cos"), ("Cosh", "cosh"), ("Erf", "erf"),
                     ("Exp", "exp"), ("Floor", "floor"), ("Log", "log"), ("Round", "roundeven"), ("Sin", "sin"),
                     ("Sinh", "sinh"), ("Sqrt", "sqrt"), ("Tan", "tan"), ("Tanh", "tanh")):
    function(_name, lambda s, a, name=_math: s.math(name, a))
function("Abs", absolute)
function("Neg", lambda s, a: s.neg(a))
function("Reciprocal", lambda s, a: s.div(1, a))
function("Sigmoid", sigmoid_of)
function("Softplus", lambda s, a: softplus_of(s, a))
function("Softsign", lambda s, a: s.div(a, s.add(s.math("absf", a), 1)))
function("Relu", lambda s, a: s.max(a, 0))
function("Mish", lambda s, a: s.mul(a, s.math("tanh", softplus_of(s, a))))
function("Not", lambda s, a: s.logical_not(a))
function("BitwiseNot", lambda s, a: s.binary("xor", a, -1))


def softplus_of(s, a):
    """log(1 + exp(a)), of the negative magnitude alone, so that nothing overflows."""
    return s.add(s.max(a, 0), s.math("log1p", s.math("exp", s.neg(s.math("absf", a)))))


@op("Identity", raw=True)
def identity(c, x):
    return x


@op("Sign", raw=True)
def sign(c, x):
    def body(s, a):
        zero, one = s.constant(0, a.type), s.constant(1, a.type)
        positive = s.select(s.compare("gt", a, 0), one, zero)
        if types.is_unsigned(a.type):
            return positive
        made = s.select(s.compare("lt", a, 0), s.constant(-1, a.type), positive)
        return s.select(s.is_nan(a), a, made) if types.is_float(a.type) else made
    return c.map([x], body)


@op("IsNaN", raw=True)
def is_nan(c, x):
    return c.map([x], lambda s, a: s.is_nan(a), type="i1", compute=types.compute(x.type))


@op("IsInf", raw=True)
def is_inf(c, x):
    ends = [
        end for name, end in (("detect_positive", math.inf), ("detect_negative", -math.inf)) if c.attribute(name, 1)
    ]

    def body(s, a):
        found = s.constant(False, "i1")
        for end in ends:
            found = s.binary("or", found, s.compare("eq", a, end))
        return found
    return c.map([x], body, type="i1", compute=types.compute(x.type))


# Activations with attributes; recurrent layers have them, too


def _attributes(c, **defaults):
    return [float(c.attribute(name, value)) for name, value in defaults.items()]


@op("LeakyRelu", raw=True)
def leaky_relu(c, x):
    slope, = _attributes(c, alpha=0.01)
    return c.map([x], lambda s, a: s.select(s.compare("lt", a, 0), s.mul(a, slope), a))


def elu_of(s, a, alpha, gamma=1.0):
    below = s.mul(s.math("expm1", a), alpha * gamma)
    return s.select(s.compare("gt", a, 0), s.mul(a, gamma) if gamma != 1 else a, below)


@op("Elu", raw=True)
def elu(c, x):
    alpha, = _attributes(c, alpha=1.0)
    return c.map([x], lambda s, a: elu_of(s, a, alpha))


@op("Selu", raw=True)
def selu(c, x):
    alpha, gamma = _attributes(c, alpha=1.67326319217681884765625, gamma=1.05070102214813232421875)
    return c.map([x], lambda s, a: elu_of(s, a, alpha, gamma))


@op("Celu", raw=True)
def celu(c, x):
    alpha, = _attributes(c, alpha=1.0)
    return c.map([x], lambda s, a: s.add(s.max(a, 0), s.min(s.mul(s.math("expm1", s.div(a, alpha)), alpha), 0)))


@op("Gelu", raw=True)
def gelu(c, x):
    tanh = c.attribute("approximate", "none") == "tanh"
    return c.map([x], lambda s, a: gelu_of(s, a, tanh))


def hard_sigmoid_of(s, a, alpha, beta):
    return s.max(s.min(s.add(s.mul(a, alpha), beta), 1), 0)


@op("HardSigmoid", raw=True)
def hard_sigmoid(c, x):
    alpha, beta = _attributes(c, alpha=0.2, beta=0.5)
    return c.map([x], lambda s, a: hard_sigmoid_of(s, a, alpha, beta))


@op("HardSwish", raw=True)
def hard_swish(c, x):
    return c.map([x], lambda s, a: s.mul(a, hard_sigmoid_of(s, a, 1 / 6, 0.5)))


@op("Swish", raw=True)
def swish(c, x):
    alpha, = _attributes(c, alpha=1.0)
    return c.map([x], lambda s, a: s.mul(a, sigmoid_of(s, s.mul(a, alpha) if alpha != 1 else a)))


@op("ThresholdedRelu", raw=True)
def thresholded_relu(c, x):
    alpha, = _attributes(c, alpha=1.0)
    return c.map([x], lambda s, a: s.select(s.compare("gt", a, alpha), a, s.constant(0, a.type)))


@op("Shrink", raw=True)
def shrink(c, x):
    limit, bias = _attributes(c, lambd=0.5, bias=0.0)

    def body(s, a):
        above = s.select(s.compare("gt", a, limit), s.sub(a, bias), s.constant(0, a.type))
        return s.select(s.compare("lt", a, -limit), s.add(a, bias), above)
    return c.map([x], body, compute=types.compute(x.type) if types.is_float(x.type) else "f32")


@op("PRelu", raw=True)
def prelu(c, x, slope):
    return c.map([x, slope], lambda s, a, w: s.select(s.compare("lt", a, 0), s.mul(a, w), a), shape=x.shape)


@op("Clip", raw=True)
def clip(c, x, low=None, high=None):
    if c.version < 11:
        low, high = (c.attribute("min"), c.attribute("max"))
    bounds = [b for b in (low, high) if b is not None]

    def body(s, a, *bounds):
        bounds = iter(bounds)
        if low is not None:
            a = s.max(a, next(bounds))
        return s.min(a, next(bounds)) if high is not None else a
    return c.map([x, *bounds], body, shape=x.shape) if bounds else x


# Arithmetic of two operands and more


def binary(name, body):
    op(name, raw=True)(lambda c, x, y: c.map([x, y], body))


binary("Add", lambda s, a, b: s.add(a, b))
binary("Sub", lambda s, a, b: s.sub(a, b))
binary("Mul", lambda s, a, b: s.mul(a, b))
for _name in ("And", "Or", "Xor"):
    binary(_name, lambda s, a, b, kind=_name.lower(): s.binary(kind, a, b))
    binary(f"Bitwise{_name}", lambda s, a, b, kind=_name.lower(): s.binary(kind, a, b))


def quotient(s, a, b):
    """Of integers towards 0. A division by 0 is undefined; it gives -1, and traps on no machine."""
    if types.is_float(a.type):
        return s.div(a, b)
    zero = s.compare("eq", b, 0)
    bad = zero
    if not types.is_unsigned(a.type):
        bad = s.binary("or", zero, s.binary("and", s.compare("eq", a, types.lowest(a.type)), s.compare("eq", b, -1)))
    made = s.div(a, s.select(bad, s.constant(1, a.type), b))
    return s.select(zero, s.constant(-1, a.type), made)


binary("Div", quotient)


@op("Mod", raw=True)
def mod(c, x, y):
    truncated = c.attribute("fmod", 0)

    def body(s, a, b):
        if not types.is_float(a.type):
            b = s.select(s.compare("eq", b, 0), s.constant(1, b.type), b)
        return s.binary("rem", a, b) if truncated else remainder_of(s, a, b)
    return c.map([x, y], body)


@op("Pow", raw=True)
def power(c, x, y):
    """The result has the type of the base. A constant whole exponent is a chain of products."""
    number = y.splat() if isinstance(y, Constant) else None
    if number is not None and number == int(number) and 0 <= number <= 16:
        n = int(number)
        return c.map([x], lambda s, a: integer_power(s, a, n)
                     if n else s.constant(1, a.type), shape=broadcast(c, [x.shape, y.shape]))
    if types.is_float(x.type):
        if number == 0.5:
            return c.map([x, y], lambda s, a, _: s.math("sqrt", a))
        return c.map([x, y], lambda s, a, b: s.math("powf", a, b))
    if types.is_float(y.type):
        return c.map([x, y], lambda s, a, b: s.math("powf", a, b), compute="f64")

    def by_squaring(s, a, b):
        result = s.constant(1, a.type)
        for bit in range(types.BITS[a.type] - (0 if types.is_unsigned(y.type) else 1)):
            taken = s.compare("ne", s.binary("and", b, 1 << bit), 0)
            result, a = s.select(taken, s.mul(result, a), result), s.mul(a, a)
        return result
    return c.map([x, y], by_squaring)


def _folded(name, body, last=lambda s, total, count: total):
    @op(name, raw=True)
    def emit(c, *inputs):
        def all_of(s, first, *rest):
            for each in rest:
                first = body(s, first, each)
            return last(s, first, len(inputs))
        return c.map(list(inputs), all_of)


_folded("Sum", lambda s, a, b: s.add(a, b))
_folded("Mean", lambda s, a, b: s.add(a, b), lambda s, total, count: s.div(total, float(count)))
_folded("Max", lambda s, a, b: s.max(a, b))
_folded("Min", lambda s, a, b: s.min(a, b))


@op("BitShift", raw=True)
def bit_shift(c, x, y):
    kind = "shl" if c.attribute("direction") == "LEFT" else "shr"

    def body(s, a, b):
        bits = types.BITS[a.type]
        inside = s.compare("lt", b, bits)
        shifted = s.binary(kind, a, s.select(inside, b, s.constant(bits - 1, a.type)))
        return shifted if kind == "shr" and not types.is_unsigned(a.type) else s.select(
            inside, shifted, s.constant(0, a.type))
    return c.map([x, y], body)


# Comparison and selection


def _comparison(name, test):
    op(name, raw=True)(lambda c, x, y: c.map([x, y], lambda s, a, b: s.compare(test, a, b), type="i1", compute=types.
                                             compute(x.type)))


for _name, _test in (("Equal", "eq"), ("Less", "lt"), ("LessOrEqual", "le"), ("Greater", "gt"), ("GreaterOrEqual",
                                                                                                 "ge")):
    _comparison(_name, _test)


@op("Where", raw=True)
def where(c, condition, x, y):
    shape = broadcast(c, [condition.shape, x.shape, y.shape])
    return selected(c, condition, x, y, shape)


def selected(c, condition, x, y, shape):
    """Elements of x where the condition holds, else of y; neither is converted on the way."""
    operands = [(v, v.splat() if isinstance(v, Constant) else None) for v in (condition, x, y)]
    reads = [c.tensor(v) for v, number in operands if number is None]

    def body(s, *elements):
        elements = iter(elements)
        test, a, b = (next(elements) if number is None else s.constant(number, v.type) for v, number in operands)
        return s.select(test, a, b)
    return c.f.map(reads, shape, x.type, body)


# Conversions


def converted(c, x, type):
    """A conversion of a float to an integer saturates, and of NaN gives 0, where ONNX leaves it open."""
    if isinstance(x, Constant):
        x = c.tensor(x)
    if types.is_float(x.type) and types.is_integer(type):
        wide = type if types.BITS[type] >= 8 else "i32"
        return c.f.map([x], x.shape, type, lambda s, a: s.cast(to_integer(s, a, wide), type))
    if type in types.FLOATS8:
        return c.f.map([x], x.shape, type,
                       lambda s, a: of_8_bits(s, s.cast(a, "f32"), type, c.attribute("saturate", 1)))
    return c.f.cast(x, type)


def of_8_bits(s, a, type, saturate):
    """A float of 8 bits: the largest one for what is beyond, infinity too; or infinity, and NaN where the type has
    none."""
    if not saturate:
        return s.op(f"arith.truncf {a.name} : f32 to {type}", type)
    import ml_dtypes
    limit = float(ml_dtypes.finfo(dtype_of(type)).max)
    return s.cast(s.select(s.is_nan(a), a, s.max(s.min(a, limit), -limit)), type)


@op("Cast", raw=True)
def cast(c, x):
    return converted(c, x, element_type(c.attribute("to")))


@op("CastLike", raw=True)
def cast_like(c, x, like):
    return converted(c, x, like.type)


@op("BitCast", raw=True)
def bit_cast(c, x):
    type, x = element_type(c.attribute("to")), c.tensor(x)
    if types.BITS[type] != types.BITS[x.type] or "i1" in (type, x.type):
        c.refuse(f"a bitcast from {x.type} to {type} is not compiled")
    if types.text(type) == types.text(x.type):
        return Value(x.name, x.shape, type)
    return c.f.map([x], x.shape, type, lambda s, a: s.op(
        f"arith.bitcast {a.name} : {types.text(a.type)} to {types.text(type)}", type))


@op("Dropout", raw=True)
def dropout(c, x, ratio=None, training=None):
    """Outside of training it does nothing."""
    if training is not None and c.static(2).any() and (ratio is None or c.static(1).any()):
        c.refuse("dropout in training is not compiled; pass the mask as an input and multiply")
    return (x, c.fill(x.shape, "i1", True)) if c.wants(1) else x
