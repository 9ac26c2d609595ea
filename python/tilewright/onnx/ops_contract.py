"""Contractions: products of matrices, sums of products by letters, convolutions, also of integers. 16-bit floats
accumulate in f32."""

from ..emit import types
from ..emit.contract import contract
from ..emit.convolution import convolve, padded_input, transposed_convolve
from .ops_shape import rounded_down, total
from .reader import broadcast
from .registry import op


def letters(rank, first=0):
    return [f"d{first + i}" for i in range(rank)]


def matrices(c, a, b, type):
    """numpy's matmul, accumulated in `type`."""
    if a.rank == 1:
        made = matrices(c, c.f.view(a, (1, *a.shape)), b, type)
        return c.f.view(made, (*made.shape[:-2], made.shape[-1]) if b.rank > 1 else made.shape[:-1])
    if b.rank == 1:
        made = matrices(c, a, c.f.view(b, (*b.shape, 1)), type)
        return c.f.view(made, made.shape[:-1])
    if b.rank > 2 and all(n == 1 for n in b.shape[:-2]) and a.rank >= b.rank:
        b = c.f.view(b, b.shape[-2:])
    lead = broadcast(c, [a.shape[:-2], b.shape[:-2]])
    shape, count = (*lead, a.shape[-2], b.shape[-1]), len(lead)
    if 0 in a.shape or 0 in b.shape:
        return c.f.fill(shape, type, 0)
    m, n, k = (f"d{count + i}" for i in range(3))

    def batch(x):
        own = x.shape[:-2]
        return [
            "0" if size == 1 and lead[count - len(own) + i] != 1 else f"d{count - len(own) + i}"
            for i, size in enumerate(own)
        ]

    return contract(c, a, b, count + 3, [*batch(a), m, k], [*batch(b), k, n], letters(count + 2), shape, type,
                    [count + 2])


@op("MatMul")
def matmul(c, a, b):
    return c.cast(matrices(c, a, b, types.compute(a.type)), a.type)


@op("Gemm")
def gemm(c, a, b, addend=None):
    a = c.f.transpose(a, [1, 0]) if c.attribute("transA", 0) else a
    b = c.f.transpose(b, [1, 0]) if c.attribute("transB", 0) else b
    alpha, beta = float(c.attribute("alpha", 1.0)), float(c.attribute("beta", 1.0))
    whole = not types.is_float(a.type)
    product = matrices(c, a, b, types.compute(a.type))

    def scaled(s, value, factor):
        return value if factor == 1 else s.mul(value, int(factor) if whole else factor)
    if whole and (alpha != int(alpha) or beta != int(beta)):
        c.refuse("a product of integers with a factor that is no whole number is not compiled")
    if addend is None or beta == 0:
        return c.cast(product, a.type) if alpha == 1 else c.map([product], lambda s, p: scaled(s, p, alpha),
                                                                type=a.type)
    return c.map([product, addend], lambda s, p, t: s.add(scaled(s, p, alpha), scaled(s, t, beta)), type=a.type,
                 shape=product.shape)


@op("Einsum")
def einsum(c, *inputs):
    equation = c.attribute("equation").replace(" ", "")
    terms, _, result = equation.partition("->")
    terms, free = terms.split(","), iter("ABCDEFGHIJ")
    wide = max((x.rank - len(t.replace("...", "")) for t, x in zip(terms, inputs) if "..." in t), default=0)
    spread = "".join(next(free) for _ in range(wide))
    terms = [t.replace("...", spread[len(spread) - (x.rank - len(t) + 3):]) for t, x in zip(terms, inputs)]
    if "->" not in equation:
        every = "".join(terms)
        result = spread + "".join(sorted(n for n in set(every) if every.count(n) == 1 and n not in spread))
    result = result.replace("...", spread)
    sizes = {}
    for term, x in zip(terms, inputs):
        for name, n in zip(term, x.shape):
            sizes[name] = n if sizes.get(name, 1) == 1 else sizes[name]
    order = result + "".join(sorted(set("".join(terms)) - set(result)))
    loop = {name: f"d{i}" for i, name in enumerate(order)}
    maps = [["0" if n == 1 and sizes[name] != 1 else loop[name] for name, n in zip(term, x.shape)]
            for term, x in zip(terms, inputs)]
    type, shape = types.compute(inputs[0].type), tuple(sizes[n] for n in result)
    if any(0 in x.shape for x in inputs):
        return c.f.fill(shape, inputs[0].type, 0)

    def body(s, *elements):
        product = None
        for each in elements[:-1]:
            each = s.cast(each, type)
            product = each if product is None else s.mul(product, each)
        return s.add(elements[-1], product)
    made = c.f.generic(len(order), list(zip(inputs, maps)), [(c.f.fill(shape, type, 0), letters(len(result)))], body,
                       set(range(len(result), len(order))))
    return c.cast(made, inputs[0].type)


# Convolutions


class Taps:
    """The attributes of windows: `low` and `high` are borders, `outputs` the number of windows along each dimension."""

    def __init__(self, c, sizes, kernel, ceil=False):
        spatial = len(kernel)
        self.kernel = list(kernel)
        self.stride = c.attribute("strides", [1] * spatial)
        self.dilation = c.attribute("dilations", [1] * spatial)
        reach = [d * (k - 1) + 1 for d, k in zip(self.dilation, self.kernel)]
        pads = c.attribute("pads", [0] * (2 * spatial))
        self.low, self.high = list(pads[:spatial]), list(pads[spatial:])
        mode = c.attribute("auto_pad", "NOTSET")
        if mode in ("SAME_UPPER", "SAME_LOWER"):
            for i, n in enumerate(sizes):
                if not isinstance(n, int) and self.stride[i] != 1:
                    c.refuse("the padding SAME over dynamic positions is not compiled for all sizes")
                rest = reach[i] - 1 if not isinstance(n, int) else max(
                    (-(-n // self.stride[i]) - 1) * self.stride[i] + reach[i] - n, 0)
                less, more = rest // 2, rest - rest // 2
                self.low[i], self.high[i] = (less, more) if mode == "SAME_UPPER" else (more, less)
        elif mode == "VALID":
            self.low, self.high = [0] * spatial, [0] * spatial
        self.outputs, self.inner = [], list(self.high)
        for i, n in enumerate(sizes):
            span = total(n, self.low[i], self.high[i], -reach[i])
            if not ceil:
                self.outputs.append(total(rounded_down(span, self.stride[i]), 1))
                continue
            if not isinstance(span, int):
                c.refuse("windows with ceil_mode over dynamic positions are not compiled for all sizes")
            count = -(-span // self.stride[i]) + 1
            if (count - 1) * self.stride[i] >= n + self.low[i]:  # the last window would begin beyond the elements
                count -= 1
            self.outputs.append(count)
            self.high[i] = max((count - 1) * self.stride[i] + reach[i] - n - self.low[i], 0)


def with_bias(c, y, bias, type):
    if bias is None:
        return c.cast(y, type)
    return c.map([y, c.f.view(bias, (*bias.shape, *[1] * (y.rank - 2)))], lambda s, a, b: s.add(a, b), type=type,
                 shape=y.shape)


def convolution(c, x, weight, type):
    kernel = c.attribute("kernel_shape", list(weight.shape[2:]))
    taps, groups = Taps(c, x.shape[2:], kernel), c.attribute("group", 1)
    shape = (x.shape[0], weight.shape[0], *taps.outputs)
    if 0 in x.shape or 0 in weight.shape or 0 in shape:
        return c.f.fill(shape, type, 0)
    return convolve(c, padded_input(c, x, taps.low, taps.high), weight, taps.stride, taps.dilation, groups,
                    taps.outputs, type)


@op("Conv")
def conv(c, x, weight, bias=None):
    return with_bias(c, convolution(c, x, weight, types.compute(x.type)), bias, x.type)


@op("ConvTranspose")
def conv_transpose(c, x, weight, bias=None):
    spatial = x.rank - 2
    kernel = list(weight.shape[2:])
    stride, dilation = c.attribute("strides", [1] * spatial), c.attribute("dilations", [1] * spatial)
    extra, pads = c.attribute("output_padding", [0] * spatial), list(c.attribute("pads", [0] * (2 * spatial)))
    mode, wanted = c.attribute("auto_pad", "NOTSET"), c.attribute("output_shape")
    full = [total(stride[i] * (n - 1), extra[i], (kernel[i] - 1) * dilation[i] + 1) for i, n in enumerate(x.shape[2:])]
    if wanted is not None or mode in ("SAME_UPPER", "SAME_LOWER"):
        wanted = wanted[-spatial:] if wanted is not None else [n * s for n, s in zip(x.shape[2:], stride)]
        if not all(isinstance(n, int) for n in (*full, *wanted)):
            c.refuse(
                "a transposed convolution with a given shape of the result over dynamic positions is not compiled "
                "for all sizes"
            )
        for i in range(spatial):
            rest = max(full[i] - wanted[i], 0)
            first = rest - rest // 2 if mode == "SAME_LOWER" else rest // 2
            pads[i], pads[spatial + i] = first, rest - first
        outputs = wanted
    else:
        if mode == "VALID":
            pads = [0] * (2 * spatial)
        outputs = [total(n, -a, -b) for n, a, b in zip(full, pads[:spatial], pads[spatial:])]
    y = transposed_convolve(c, x, weight, stride, pads[:spatial], dilation, c.attribute("group", 1), outputs,
                            types.compute(x.type))
    return with_bias(c, y, bias, x.type)


# Integers: what the zero points are taken from is accumulated in i32


def less_zero(c, x, zero, axis=None):
    """x - zero as i32; `axis`: along which zero points differ."""
    if zero is None:
        return c.cast(x, "i32")
    if zero.rank == 1 and axis is not None and zero.shape[0] != 1:
        zero = c.f.view(zero, [zero.shape[0] if i == axis else 1 for i in range(x.rank)])
    elif zero.rank <= 1:
        zero = c.f.view(zero, [1] * x.rank)
    return c.map([x, zero], lambda s, a, z: s.sub(a, z), compute="i32", type="i32", shape=x.shape)


@op("MatMulInteger")
def matmul_integer(c, a, b, a_zero=None, b_zero=None):
    return matrices(c, less_zero(c, a, a_zero, a.rank - 2), less_zero(c, b, b_zero, b.rank - 1), "i32")


@op("ConvInteger")
def conv_integer(c, x, weight, x_zero=None, weight_zero=None):
    """Borders are what the zero point stands for."""
    return convolution(c, less_zero(c, x, x_zero), less_zero(c, weight, weight_zero, 0), "i32")
