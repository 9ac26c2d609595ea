"""Quantisation: to integers and back, and operations on quantised operands. Quotients are rounded to even, and
saturate."""

from ..emit import types
from .ops_contract import convolution, less_zero, matrices
from .ops_elementwise import of_8_bits
from .registry import op
from .values import element_type


def spread_over(c, value, x, axis, block):
    """A scale or zero point as it is read beside x: one for all, for each position of an axis, or for each block
    along it."""
    if value is None or value.rank == 0 or value.shape == (1,) and not block:
        return value if value is None or value.rank == 0 else c.f.view(value, ())
    if not block:
        return c.f.view(value, [value.shape[0] if i == axis else 1 for i in range(x.rank)])
    wide = (*value.shape[:axis + 1], block, *value.shape[axis + 1:])
    held = c.broadcast(c.f.view(value, (*value.shape[:axis + 1], 1, *value.shape[axis + 1:])), wide)
    made = c.f.view(held, (*value.shape[:axis], value.shape[axis] * block, *value.shape[axis + 1:]))
    return made if made.shape == x.shape else c.f.slice(made, [0] * x.rank, list(x.shape))


def quantised(s, a, scale, zero, type):
    """saturate(round(a / scale) + zero)"""
    low, high = types.lowest(type), types.highest(type)
    wide = "i64" if types.BITS[type] > 16 else "i32"
    a = s.math("roundeven", s.div(a, scale))
    limit = float(1 << 24)  # beyond the range of the integers, inside of that of the conversion
    a = s.select(s.is_nan(a), s.constant(0, a.type), s.max(s.min(a, limit), -limit)) if types.BITS[type] <= 16 else a
    whole = s.cast(a, wide)
    whole = s.add(whole, s.cast(zero, wide)) if zero is not None else whole
    return s.cast(s.min(s.max(whole, low), high), type)


def quantise(c, x, scale, zero, type, axis=1, block=0):
    if type not in types.FLOATS8 and (types.is_float(type) or types.BITS[type] > 16):
        c.refuse(f"quantising to {type} is not compiled")
    compute = "f64" if x.type == "f64" else "f32"
    scale, zero = spread_over(c, scale, x, axis, block), spread_over(c, zero, x, axis, block)

    def body(s, a, b, *z):
        if types.is_float(type):  # zero points of floats are 0
            real = s.div(s.cast(a, compute), s.cast(b, compute))
            return of_8_bits(s, s.cast(real, "f32"), type, c.attribute("saturate", 1))
        return quantised(s, s.cast(a, compute), s.cast(b, compute), z[0] if z else None, type)
    return c.f.map([x, scale] + ([zero] if zero is not None else []), x.shape, type, body)


@op("QuantizeLinear")
def quantize_linear(c, x, scale, zero=None):
    type = zero.type if zero is not None else element_type(c.attribute("output_dtype", 0) or 2)
    return quantise(c, x, scale, zero, type, c.axis(c.attribute("axis", 1), x.rank), c.attribute("block_size", 0))


def dequantise(c, x, scale, zero, type, axis=1, block=0):
    """(x - zero) * scale"""
    compute = types.compute(type)
    scale, zero = spread_over(c, scale, x, axis, block), spread_over(c, zero, x, axis, block)

    def body(s, a, b, *z):
        if types.is_float(a.type):
            whole = s.sub(s.cast(a, compute), s.cast(z[0], compute)) if z else s.cast(a, compute)
        else:
            wide = "i32" if types.BITS[a.type] < 32 else "i64"
            whole = s.cast(s.sub(s.cast(a, wide), s.cast(z[0], wide)) if z else a, compute)
        return s.cast(s.mul(whole, s.cast(b, compute)), type)
    return c.f.map([x, scale] + ([zero] if zero is not None else []), x.shape, type, body)


@op("DequantizeLinear")
def dequantize_linear(c, x, scale, zero=None):
    wanted = c.attribute("output_dtype", 0)
    return dequantise(c, x, scale, zero,
                      element_type(wanted) if wanted else scale.type, c.axis(c.attribute("axis", 1), x.rank),
                      c.attribute("block_size", 0))


@op("DynamicQuantizeLinear")
def dynamic_quantize_linear(c, x):
    """The range of the elements, widened to hold 0, on 0 to 255."""
    ends = [
        c.f.reduce([x], range(x.rank), "f32", 0, (lambda s, a, m: s.max(m, a)) if largest else
                   (lambda s, a, m: s.min(m, a))) for largest in (True, False)
    ]
    scale = c.map(ends, lambda s, high, low: s.div(s.sub(high, low), 255.0))

    def point(s, low, b):
        made = s.math("roundeven", s.div(s.neg(low), b))
        made = s.select(s.compare("eq", b, 0), s.constant(0, "f32"), made)
        return s.cast(s.max(s.min(made, 255), 0), "u8")
    zero = c.f.map([ends[1], scale], (), "u8", point)
    return quantise(c, x, scale, zero, "u8"), scale, zero


def requantised(c, total, scales, zero, result_axis):
    """Sums in i32 times (a_scale * b_scale / y_scale), as the output's integers."""
    a_scale, b_scale, y_scale = scales
    if b_scale.rank == 1 and b_scale.shape[0] != 1:
        b_scale = c.f.view(b_scale, [b_scale.shape[0] if i == result_axis else 1 for i in range(total.rank)])
    operands = [total] + [v if v.shape != (1,) else c.f.view(v, ()) for v in (a_scale, b_scale, y_scale)]
    zero = c.f.view(zero, ()) if zero.shape == (1,) else zero

    def body(s, t, a, b, y, z):
        a, b, y = (s.cast(v, "f32") for v in (a, b, y))
        real = s.mul(s.cast(t, "f32"), s.div(s.mul(a, b), y))
        return quantised(s, real, s.constant(1, "f32"), z, zero.type)
    return c.f.map([*operands, zero], total.shape, zero.type, body)


@op("QLinearMatMul")
def qlinear_matmul(c, a, a_scale, a_zero, b, b_scale, b_zero, y_scale, y_zero):
    if a_scale.rank and a_scale.shape != (1,):
        c.refuse("a scale for each row of the first operand is not compiled")
    total = matrices(c, less_zero(c, a, a_zero), less_zero(c, b, b_zero, b.rank - 1), "i32")
    return requantised(c, total, (a_scale, b_scale, y_scale), y_zero, total.rank - 1)


@op("QLinearConv")
def qlinear_conv(c, x, x_scale, x_zero, weight, w_scale, w_zero, y_scale, y_zero, bias=None):
    total = convolution(c, less_zero(c, x, x_zero), less_zero(c, weight, w_zero, 0), "i32")
    if bias is not None:
        total = c.map([total, c.f.view(bias, (*bias.shape, *[1] * (total.rank - 2)))], lambda s, a, b: s.add(a, b))
    return requantised(c, total, (x_scale, w_scale, y_scale), y_zero, 1)
