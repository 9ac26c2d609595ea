"""Quantised tensors: to integers and back, scales that follow from data, products and convolutions of integers, products of 8-bit floats."""

from ..emit import types
from ..emit.contract import contract
from ..emit.convolution import convolve, padded_input_with
from ..emit.value import Value
from . import quantised_operations
from .dtypes import OF_TORCH
from .ops_matmul import product_of
from .registry import Unsupported, op

quantised_operations.define()


def quantised(s, steps, zero, low, high, type, rounded_first=True):
    """clamp(round(steps) + zero) in the type of `steps`; PyTorch's operations by rows round after the addition."""
    value = steps
    if rounded_first:
        value = s.math("roundeven", value)
    if zero is not None:
        value = s.add(value, zero)
    if not rounded_first:
        value = s.math("roundeven", value)
    return to_integer(s, s.min(s.max(value, low), high), type)


def to_integer(s, value, type):
    """A whole number in the range of `type` converted: signed bytes by the instruction that vector units of chips have."""
    if types.is_float(type):
        return s.cast(value, type)
    if type == "i8":
        return s.op(f"arith.fptosi {value.name} : {value.type} to i8", "i8")
    return s.cast(s.cast(value, "i32"), type)


def scalar(c, value):
    """A tensor of one element as one of rank 0; numbers stay."""
    return c.f.view(value, ()) if isinstance(value, Value) else value


def quantised_type(dtype):
    if dtype not in OF_TORCH:
        raise Unsupported(f"quantised elements of {dtype} are not compiled")
    return OF_TORCH[dtype]


@op("quantized_decomposed::quantize_per_tensor", "quantized_decomposed::quantize_per_tensor.tensor")
def quantize_per_tensor(c, x, scale, zero, low, high, dtype):
    """clamp(round(x * (1 / scale)) + zero): 1 / scale in float64, rounded to f32, as PyTorch has it."""
    scale, zero = scalar(c, scale), scalar(c, zero)
    inverse = 1.0 / scale if not isinstance(scale, Value) else c.f.map(
        [scale], (), "f32", lambda s, a: s.cast(s.div(1, s.cast(a, "f64")), "f32"))
    return c.map([x, inverse, zero], lambda s, a, i, z: quantised(s, s.mul(a, i), z, low, high, c.type), compute="f32")


@op("quantized_decomposed::quantize_per_channel")
def quantize_per_channel(c, x, scales, zeros, axis, low, high, dtype):
    along = [1] * x.rank
    along[axis] = x.shape[axis]
    scales = c.f.view(scales, along)
    operands = [x, scales] + ([c.f.view(zeros, along)] if zeros is not None else [])
    return c.map(operands, lambda s, a, f, z=None: quantised(s, s.mul(a, s.div(1, f)), z, low, high, c.type), compute="f32")


def dequantised(s, a, scale, zero, type):
    """(a - zero) * scale, rounded to `type` after each operation, as PyTorch has it; computed in f32."""
    value = a if zero is None else s.cast(s.cast(s.sub(a, zero), type), a.type)
    return s.mul(value, scale)


@op("quantized_decomposed::dequantize_per_tensor", "quantized_decomposed::dequantize_per_tensor.tensor")
def dequantize_per_tensor(c, x, scale, zero, low, high, dtype, *, out_dtype=None):
    zero = None if isinstance(zero, (int, float)) and zero == 0 else scalar(c, zero)
    operands = [x, scalar(c, scale)] + ([zero] if zero is not None else [])
    return c.map(operands, lambda s, a, f, z=None: dequantised(s, a, f, z, c.type))


@op("quantized_decomposed::dequantize_per_channel")
def dequantize_per_channel(c, x, scales, zeros, axis, low, high, dtype, *, out_dtype=None):
    along = [1] * x.rank
    along[axis] = x.shape[axis]
    operands = [x, c.f.view(scales, along)] + ([c.f.view(zeros, along)] if zeros is not None else [])
    compute = types.compute(scales.type)
    return c.map(operands, lambda s, a, f, z=None: dequantised(s, a, f, z, scales.type), compute=compute)


@op("quantized_decomposed::convert_element_type.no_fuse")
def convert_element_type(c, x, dtype):
    return c.cast(x, c.type)


# Products of quantised elements: what `integers.py` makes of products of dequantised operands


def sum_type(a):
    return "f32" if types.is_float(a.type) else "i32"


@op("tilewright::quantised_product")
def quantised_product(c, a, b):
    return product_of(c, a, b, sum_type(a))


@op("tilewright::quantised_convolution")
def quantised_convolution(c, x, weight, fill, stride, padding, dilation, groups, taps_first):
    wide = padded_input_with(c, x, padding, padding, fill)
    return convolve(c, wide, weight, stride, dilation, groups, c.shape[2:], sum_type(x), taps_first)


@op("tilewright::grouped_product")
def grouped_product(c, x, weight):
    n, groups, k = weight.shape
    split = c.f.view(x, (x.shape[0], groups, k))
    product = contract(c, split, weight, 4, ["d0", "d2", "d3"], ["d1", "d2", "d3"], ["d0", "d1"], (x.shape[0], n), types.compute(x.type), [2, 3])
    return c.cast(product, c.type)


@op("_scaled_mm")
def scaled_mm(c, a, b, scale_a, scale_b, bias=None, scale_result=None, out_dtype=None, use_fast_accum=False):
    """8-bit floats with sums in f32, times their scales: one number each, or one for each row of a and column of b."""
    for scale, value, axis in ((scale_a, a, 0), (scale_b, b, 1)):
        if scale.type != "f32" or any(n != 1 and (i + 2 - scale.rank != axis or n != value.shape[axis]) for i, n in enumerate(scale.shape)):
            c.refuse("of scaled products, those with one scale for an operand, or for each of its rows (columns of the second), are compiled")
    if scale_result is not None:
        c.refuse("scaled products with a scale of the result are not compiled")
    operands = [product_of(c, a, b, "f32"), scalar_or_same(c, scale_a), scalar_or_same(c, scale_b)] + ([bias] if bias is not None else [])

    def body(s, t, f, g, d=None):
        value = s.mul(t, s.mul(f, g))
        return value if d is None else s.add(value, d)
    return c.map(operands, body, compute="f32")


def scalar_or_same(c, scale):
    return scalar(c, scale) if all(n == 1 for n in scale.shape) else scale
