"""Programs of one or few operations, by family: (name, function, arguments). Arguments of floats are f32 where a case names no type."""

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from settings import FULL

R = np.random.default_rng(0)


def normal(*shape):
    return R.standard_normal(shape).astype(np.float32)


def uniform(low, high, *shape):
    return R.uniform(low, high, shape).astype(np.float32)


def integers(low, high, *shape, dtype=np.int32):
    return R.integers(low, high, shape, dtype=dtype)


def unary():
    everywhere = ["exp", "expm1", "sin", "cos", "tan", "tanh", "sinh", "cosh", "arcsinh", "arctan", "floor", "ceil", "round", "abs",
                  "negative", "sign", "square", "cbrt", "isfinite"]
    for name in everywhere:
        yield name, getattr(jnp, name), [uniform(-3, 3, 5, 7)]
    for name in ("erf", "erfc", "logistic", "is_finite"):
        yield f"lax.{name}", getattr(lax, name), [uniform(-3, 3, 5, 7)]
    for name in ("log", "log1p", "sqrt"):
        yield name, getattr(jnp, name), [uniform(0.1, 3, 5, 7)]
    yield "rsqrt", lax.rsqrt, [uniform(0.1, 3, 5, 7)]
    for name in ("arcsin", "arccos", "arctanh"):
        yield name, getattr(jnp, name), [uniform(-0.9, 0.9, 5, 7)]
    yield "arccosh", jnp.arccosh, [uniform(1.1, 3, 5, 7)]
    yield "erf_inv", lax.erf_inv, [uniform(-0.99, 0.99, 64)]
    yield "erf_inv of f64", lax.erf_inv, [np.concatenate([R.uniform(-1, 1, 64), [0.999999, -1 + 1e-12, 1e-9]])]
    yield "gamma", lambda x: (lax.lgamma(x), lax.digamma(x)), [np.concatenate([R.normal(size=64) * 5, [0.5, 1, 2, 30, -0.3, np.inf, np.nan]]).astype(np.float32)]
    yield "round half away", lambda x: lax.round(x, lax.RoundingMethod.AWAY_FROM_ZERO), [np.array([0.5, 1.5, -0.5, -2.5, 0.4], np.float32)]
    yield "round half even", jnp.round, [np.array([0.5, 1.5, -0.5, -2.5, 0.4], np.float32)]
    yield "sign of ints", jnp.sign, [integers(-2, 3, 9)]
    yield "abs of ints", jnp.abs, [integers(-9, 9, 9, dtype=np.int8)]
    yield "gelu", jax.nn.gelu, [normal(4, 6)]
    yield "softplus", jax.nn.softplus, [normal(4, 6)]
    special = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0], np.float32)
    yield "specials", lambda x: [jnp.sign(x), jnp.isnan(x), jnp.isinf(x), jnp.isposinf(x), lax.is_finite(x), jnp.exp(x), jnp.abs(x)], [special]
    yield "reduce_precision", lambda x: lax.reduce_precision(x, 8, 7) + lax.reduce_precision(x, 5, 10), [normal(9)]


def binary():
    a, b = normal(4, 6), normal(4, 6)
    for name in ("add", "subtract", "multiply", "divide", "maximum", "minimum", "arctan2", "remainder", "fmod", "hypot", "logaddexp"):
        yield name, getattr(jnp, name), [a, b]
    yield "power", jnp.power, [np.abs(a) + 0.1, b]
    yield "broadcast", lambda x, y: x[:, None] * y + 2, [normal(4), normal(6)]
    yield "nan in maximum", lambda x, y: [jnp.maximum(x, y), jnp.minimum(x, y)], [np.array([np.nan, 1, 2], np.float32),
                                                                                 np.array([1, np.nan, 3], np.float32)]
    ends = np.array([1, -1, 0, 0, 2, np.nan, 0.5, -np.inf, 3], np.float32), np.array([2, 5, 1, -1, 2, 1, 0.25, 0, np.inf], np.float32)
    yield "nextafter", lambda x, y: [lax.bitcast_convert_type(jnp.nextafter(x.astype(t), y.astype(t)), u) for t, u in (
        (jnp.float32, jnp.int32), (jnp.float16, jnp.int16), (jnp.bfloat16, jnp.int16))], ends
    yield "clamp", lambda x: lax.clamp(x.dtype.type(-0.5), x, x.dtype.type(0.5)), [a]
    yield "clamp by arrays", lax.clamp, [a - 1, b, a + 1]
    yield "select", lambda x, y: [jnp.where(x > y, x, y), jnp.where(x > 0, x, 0)], [a, b]
    yield "compare", lambda x, y: [x < y, x <= y, x > y, x >= y, x == y, x != y], [a.round(), b.round()]
    i, j = integers(-9, 9, 4, 6), integers(-5, 5, 4, 6)
    yield "ints", lambda x, y: [x + y, x - y, x * y, lax.div(x, y), lax.rem(x, y), x // y, x % y, jnp.maximum(x, y)], [i, j]
    yield "smallest int", lambda x, y: [lax.div(x, y), lax.rem(x, y)], [np.full(2, -2**31, np.int32), np.array([-1, 0], np.int32)]
    yield "powers of ints", lambda x, y: [x ** jnp.abs(y), x ** 3], [i, j]
    u, v = integers(0, 2**32, 12, dtype=np.uint32), integers(0, 40, 12, dtype=np.uint32)
    yield "unsigned", lambda x, y: [x + y, x * y, x // (y + 1), x % (y + 1), x > y, jnp.maximum(x, y), x.astype(jnp.float32)], [u, v]
    yield "bits", lambda x, y: [x & y, x | y, x ^ y, ~x, lax.shift_left(x, y), lax.shift_right_logical(x, y),
                                lax.shift_right_arithmetic(x, y), lax.population_count(x), lax.clz(x)], [u, v]
    yield "signed bits", lambda x, y: [x & y, ~x, lax.shift_left(x, y), lax.shift_right_logical(x, y),
                                       lax.shift_right_arithmetic(x, y), lax.population_count(x), lax.clz(x)], [i, np.abs(j) * 9]
    yield "booleans", lambda x, y: [x & y, x | y, x ^ y, ~x, x.any(), y.all(0)], [a > 0, b > 0]
    yield "f16 and bf16", lambda x, y: [(x + y) * y, (x.astype(jnp.bfloat16) * y.astype(jnp.bfloat16)).astype(jnp.float32)], \
        [a.astype(np.float16), b.astype(np.float16)]
    wide = np.array([1e20, -1e20, np.nan, 3.7, -3.7, 2**31, 300, -1], np.float32)
    yield "float to int", lambda x: [x.astype(t) for t in (jnp.int32, jnp.int64, jnp.int8, jnp.uint8, jnp.uint32, jnp.bool_)], [wide]
    yield "int to float", lambda x: [x.astype(jnp.float32), x.astype(jnp.int8), x.astype(jnp.uint8), x.astype(jnp.bool_)], [integers(-300, 300, 12)]
    yield "bitcast", lambda x: [lax.bitcast_convert_type(x, jnp.uint32), lax.bitcast_convert_type(x, jnp.int32)], [a]
    cast = lax.bitcast_convert_type
    yield "bitcast to another width", lambda x: [cast(x, jnp.uint8), cast(x, jnp.int16), cast(cast(x, jnp.uint8), jnp.float32),
                                                 cast(x.reshape(2, 3, 2, 2), jnp.float64), cast(cast(x, jnp.bfloat16), jnp.uint32)], \
        [integers(1 << 20, 1 << 30, 3, 2, 4)]


def shapes():
    x = normal(4, 6)
    yield "reshape", lambda x: [x.reshape(3, 8), x.reshape(2, 2, 6).transpose(2, 0, 1), x.T, x.ravel()], [x]
    yield "slice", lambda x: [x[1:3, ::2], x[::-1], x[:, ::-2], x[2], x[:, 3:3]], [x]
    yield "concatenate", lambda x: [jnp.concatenate([x, x + 1], 1), jnp.stack([x, x * 2]), jnp.concatenate([x, x[:0]])], [x]
    yield "pad", lambda x: [lax.pad(x, x.dtype.type(7), [(1, 2, 0), (-1, 3, 2)]), lax.pad(x, x.dtype.type(0), [(-2, -1, 1), (0, 0, 0)]),
                            lax.pad(x, x[0, 0], [(-4, 2, 0), (1, -7, 0)])], [x]
    yield "iota", lambda x: [jnp.arange(5), jnp.eye(3), lax.broadcasted_iota(jnp.int32, (2, 3, 4), 1), jnp.tril(x), jnp.linspace(0, 1, 5)], [x]
    yield "broadcast", lambda x: [jnp.broadcast_to(x, (3, 4, 6)), jnp.broadcast_to(x[:, :1], (4, 6)).T, jnp.tile(x, (2, 1)),
                                  jnp.repeat(x, 2, 1)], [x]
    yield "roll", lambda x: [jnp.roll(x, 2, 1), jnp.flip(x)], [x]
    yield "constant", lambda x: x + np.arange(24, dtype=np.float32).reshape(4, 6), [x]
    yield "empty", lambda x: [x[:0].sum(0), x[:0] @ jnp.ones((6, 2), x.dtype), x[:, :0] @ jnp.ones((0, 3), x.dtype)], [x]
    yield "dynamic slice", lambda x, i: [lax.dynamic_slice(x, (i, i + 1), (2, 3)), lax.dynamic_update_slice(x, x[:2, :2] + 5, (i, i))], \
        [x, np.int32(3)]
    yield "dynamic slice, negative", lambda x, i: lax.dynamic_slice(x, (i, 1 - i), (2, 3)), [x, np.int32(-9)]


def contractions():
    yield "matmul", jnp.matmul, [normal(5, 7), normal(7, 3)]
    yield "batched", lambda a, b: [a @ b, jnp.einsum("bij,bkj->kbi", a, jnp.swapaxes(b, 1, 2))], [normal(2, 5, 7), normal(2, 7, 3)]
    yield "dots", lambda a, b: [jnp.dot(a, a), jnp.outer(a, b), jnp.tensordot(b.reshape(3, 2), a.reshape(2, 4), ((1,), (0,)))], [normal(8), normal(6)]
    yield "dot of ints", lambda a, b: lax.dot(a, b, preferred_element_type=jnp.int32), \
        [integers(-9, 9, 4, 5, dtype=np.int8), integers(-9, 9, 5, 3, dtype=np.int8)]
    yield "bf16 matmul", lambda a, b: (a.astype(jnp.bfloat16) @ b.astype(jnp.bfloat16)).astype(jnp.float32), \
        [integers(-3, 4, 4, 8).astype(np.float32), integers(-3, 4, 8, 3).astype(np.float32)]

    def conv(numbers=("NHWC", "HWIO", "NHWC"), strides=(1, 1), padding="SAME", **others):
        return lambda x, w: lax.conv_general_dilated(x, w, strides, padding, dimension_numbers=numbers, **others)
    x, w = normal(2, 7, 6, 4), normal(3, 3, 4, 6)
    yield "conv", conv(), [x, w]
    yield "conv, strides", conv(strides=(2, 1), padding=((1, 2), (-1, 0)), rhs_dilation=(1, 2)), [x, w]
    yield "conv, lhs_dilation", conv(lhs_dilation=(2, 3), padding=((0, 1), (2, 0))), [x, w]
    yield "conv, groups", conv(feature_group_count=2), [x, normal(3, 3, 2, 6)]
    yield "conv, depthwise", conv(feature_group_count=4), [x, normal(3, 3, 1, 8)]
    yield "conv, batch groups", conv(batch_group_count=2), [x, w]
    yield "conv, NCHW", conv(("NCHW", "OIHW", "NCHW")), [normal(2, 4, 5, 6), normal(3, 4, 3, 2)]
    yield "conv, CHWN", conv(("CHWN", "IHWO", "HWNC")), [normal(4, 5, 6, 2), normal(4, 3, 2, 3)]
    yield "conv, 1 dimension", conv(("NHC", "HIO", "NHC"), (1,)), [normal(2, 9, 4), normal(3, 4, 5)]
    yield "conv, 3 dimensions", conv(("NDHWC", "DHWIO", "NDHWC"), (1, 2, 1)), [normal(1, 4, 5, 4, 2), normal(2, 3, 2, 2, 3)]
    gradient = jax.grad(lambda x, w: (conv(strides=(2, 2), feature_group_count=2)(x, w) ** 2).sum(), (0, 1))
    yield "conv, gradients", gradient, [x, normal(3, 3, 2, 6)]
    yield "conv transpose", lambda x, w: lax.conv_transpose(x, w, (2, 2), "SAME", transpose_kernel=True), [normal(1, 4, 5, 6), normal(3, 3, 4, 6)]


def reductions():
    x = normal(4, 6)
    yield "sums", lambda x: [x.sum(), x.sum(0), x.mean(1), x.prod(1), x.max(0), x.min(), x.var(1), x.std()], [x]
    yield "arg", lambda x: [x.argmax(1), x.argmin(0), x.argmax()], [x]
    yield "arg with NaN", lambda x: [x.argmax(), x.max()], [np.array([1, np.nan, 3], np.float32)]
    yield "logsumexp", lambda x: [jax.nn.logsumexp(x, 1), jax.nn.softmax(x), jax.nn.log_softmax(x, 0)], [x]
    yield "ints", lambda x: [x.sum(0), x.prod(1), x.max(), (x > 2).any(1), (x > -9).all()], [integers(-5, 5, 4, 6)]
    yield "several", lambda x, y: lax.reduce((x, y), (x.dtype.type(0), x.dtype.type(1)), lambda a, b: (a[0] + b[0], a[1] * b[1]), (1,)), [x, normal(4, 6)]
    yield "running", lambda x: [jnp.cumsum(x, 1), jnp.cumprod(x, 0), lax.cummax(x, 1), lax.cummin(x, 0), lax.cumsum(x, 1, reverse=True)], [x]
    yield "running logsumexp", lambda x: lax.cumlogsumexp(x, 1), [x]
    image = normal(2, 7, 6, 3)

    def window(init, kind, size, stride, padding, **others):
        return lambda x: lax.reduce_window(x, init, kind, size, stride, padding, **others)
    yield "max pool", window(-np.inf, lax.max, (1, 3, 2, 1), (1, 2, 2, 1), "SAME"), [image]
    yield "average pool", window(0.0, lax.add, (1, 2, 2, 1), (1, 2, 1, 1), "VALID"), [image]
    yield "windows, dilated", window(0.0, lax.add, (1, 2, 2, 1), (1, 1, 1, 1), ((0, 0), (1, 2), (0, 1), (0, 0)),
                                     base_dilation=(1, 2, 1, 1), window_dilation=(1, 1, 2, 1)), [image]
    pool = window(-np.inf, lax.max, (1, 3, 2, 1), (1, 2, 2, 1), "SAME")
    yield "max pool, gradient", jax.grad(lambda x: (pool(x) ** 2).sum()), [image]


def indices():
    x, i = normal(7, 5), integers(0, 7, 4)
    yield "take", lambda x, i: [x[i], jnp.take(x, i % 5, 1), x[i, i % 5], x.at[i, 0].get(), x[i[:2, None], i[None, :2] % 5]], [x, i]
    yield "take, out of range", lambda x, i: [jnp.take(x, i, 0, mode="fill"), jnp.take(x, i, 0, mode="clip"), x[i]], [x, np.array([9, -1, 3, -20], np.int32)]
    yield "take along", lambda x, i: [jnp.take_along_axis(x, i, 1), jnp.take_along_axis(x, i[:, :1], 1)], [x, integers(0, 5, 7, 5)]
    yield "batched take", jax.vmap(lambda row, i: row[i]), [normal(3, 6), integers(0, 6, 3, 4)]
    yield "slices at indices", jax.vmap(lambda x, i: lax.dynamic_slice(x, (i,), (3,)), (None, 0)), [normal(9), integers(-2, 9, 5)]

    def scatters(x, i, u):
        return [getattr(x.at[i], name)(u) for name in ("add", "multiply", "min", "max")] + [x.at[i].set(0), x.at[i, 1].add(u[:, 0])]
    yield "scatter", scatters, [x, i, normal(4, 5)]
    yield "scatter, out of range", lambda x, i, u: [x.at[i].add(u), x.at[i].add(u, mode="clip")], [x, np.array([9, -1, 3, 7], np.int32), normal(4, 5)]
    yield "scatter of boxes", lambda x, u: [x.at[2:4, 1:3].set(u), x.at[1::2].add(1)], [x, normal(2, 2)]
    yield "scatter, batched", jax.vmap(lambda row, i, u: row.at[i].add(u)), [normal(3, 6), integers(0, 8, 3, 4), normal(3, 4)]
    yield "scatter of windows", jax.vmap(lambda x, i, u: lax.dynamic_update_slice(x, u, (i, jnp.int32(0)))), [normal(3, 5, 4), integers(-1, 6, 3), normal(3, 2, 4)]
    yield "scatter of ints", lambda i: jnp.zeros(7, jnp.int32).at[i].add(1), [i]
    yield "take, gradient", jax.grad(lambda x, i: (x[i] ** 2).sum()), [x, i]
    yield "one hot", lambda i: jax.nn.one_hot(i, 7), [i]


def order():
    x = normal(4, 6)
    yield "sort", lambda x: [jnp.sort(x, 1), jnp.sort(x, 0, descending=True), jnp.argsort(x, 1), jnp.median(x, 1)], [x]
    yield "sort, ties and NaN", lambda x: [jnp.sort(x), jnp.argsort(x)], [np.array([2, np.nan, 1, 2, -0.0, 0, -np.inf, 1], np.float32)]
    yield "sort of pairs", lambda x, y: lax.sort((x, y), num_keys=2), [integers(0, 3, 12), integers(0, 9, 12)]
    yield "sort of unsigned", jnp.sort, [integers(0, 2**32, 9, dtype=np.uint32)]
    yield "top_k", lambda x: lax.top_k(x, 3), [x]
    yield "searchsorted", lambda x, y: jnp.searchsorted(x, y), [np.sort(normal(9)), normal(4)]
    yield "unique counts", lambda x: jnp.bincount(x, length=6), [integers(0, 6, 20)]


def float8():
    """Conversions beyond the largest numbers and on ties, arithmetic, which is rounded after each operation, products."""
    ends = np.array([0, 448, 463, 464, 465, 500, 1e9, np.inf, np.nan, 240, 247, 248, 249, 57344, 61440, 61441, 65536, 1e-3, 1e-9], np.float32)
    for name in ("float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz", "float8_e5m2fnuz"):
        def cast(x, type=getattr(jnp, name)):
            return lax.bitcast_convert_type(x.astype(type), jnp.uint8)

        def wide(x, type=getattr(jnp, name)):
            return x.astype(type).astype(x.dtype)

        def arithmetic(x, type=getattr(jnp, name)):
            y = x.astype(type)
            return [(y * 300).astype(jnp.float32), (y + y.T).astype(jnp.float32), y.max(0).astype(jnp.float32), jnp.where(y > 0, y, -y).astype(jnp.float32),
                    jnp.dot(y, y, preferred_element_type=jnp.float32), jnp.arange(470).astype(type).astype(jnp.float32)]
        yield f"to {name}", cast, [np.concatenate([ends, -ends[:-2]])]
        yield f"through {name}", lambda x: wide(wide(x) * 2), [integers(-9, 9, 4, 4).astype(np.float32)]
        yield f"{name}", arithmetic, [integers(-9, 9, 4, 4).astype(np.float32) / 8]


def control():
    x = normal(4)
    yield "fori", lambda x: lax.fori_loop(0, 5, lambda i, v: v * 0.5 + i, x), [x]
    yield "fori from 2", lambda x, n: lax.fori_loop(2, n, lambda i, v: v + i, x), [x, np.int32(6)]
    yield "while", lambda x: lax.while_loop(lambda v: v[0].sum() < 50, lambda v: (v[0] * 2 + 1, v[1] + 1), (jnp.abs(x), 0)), [x]
    yield "cond", lambda x, p: [lax.cond(p, lambda v: v * 2, lambda v: v - 1, x), lax.cond(~p, lambda v: (v, v.sum()), lambda v: (v + 1, v[0]), x)], [x, np.bool_(True)]
    yield "switch", lambda x, i: [lax.switch(i + k, [lambda v: v, lambda v: v * 2, lambda v: -v], x) for k in (-5, 0, 1, 9)], [x, np.int32(1)]
    yield "scan", lambda x, w: lax.scan(lambda h, a: (jnp.tanh(h @ w + a), h.sum()), x[0], x), [normal(6, 4), normal(4, 4)]
    yield "scan, reversed", lambda x: lax.scan(lambda h, a: (h + a, h * a), x.dtype.type(0), x, reverse=True), [x]
    yield "while in scan", lambda x: lax.scan(lambda h, a: lax.while_loop(lambda v: v[0] < 9, lambda v: (v[0] * 2 + 1, v[1] + v[0]), (jnp.abs(a), h)), x[0], x), [x]
    yield "while in for", lambda x: lax.fori_loop(0, 3, lambda i, v: lax.while_loop(
        lambda s: s[0] <= i, lambda s: (s[0] + 1, s[1] + i * s[0]), (0, v))[1], x), [x]
    yield "while of pairs", lambda x: lax.while_loop(lambda s: s[0].sum() < 99, lambda s: (s[1] + 1, s[0] * 2), (jnp.abs(x), jnp.abs(x) + 1)), [x]
    grown = lambda v: lax.while_loop(lambda s: s.sum() < 9, lambda s: s + 1, v)
    yield "while in for, of what it carries", lambda x: lax.fori_loop(0, 3, lambda i, v: lax.while_loop(
        lambda s: s.sum() < 9 * (i + 1), lambda s: s + 1, v), x), [x]
    yield "while in for, and what it began with", lambda x: lax.fori_loop(0, 3, lambda i, c: (grown(c[0]), c[0]), (x, x * 2)), [x]
    yield "while in for, exchanged", lambda x: lax.fori_loop(0, 3, lambda i, c: lax.while_loop(
        lambda s: s[0].sum() < 9, lambda s: (s[1] + 1, s[0] * 0.5 + 1), (c[1], c[0])), (x, x * 2)), [x]
    yield "while in branches", lambda x: lax.fori_loop(0, 4, lambda i, c: lax.cond(
        i % 2 == 0, lambda a, b: (grown(a), a), lambda a, b: (b, grown(b - 5)), *c), (x, x * 2)), [x]
    yield "while in while", lambda x: lax.while_loop(lambda s: s[1] < 3, lambda s: (grown(s[0] - 1), s[1] + 1), (x, 0)), [x]
    yield "map", lambda x: lax.map(lambda a: jnp.sin(a) + 1, x), [x]
    yield "associative scan", lambda x: lax.associative_scan(jnp.add, x), [x]
    yield "nested loops", lambda x: lax.fori_loop(0, 3, lambda i, v: lax.fori_loop(0, i + 1, lambda j, w: w + i * j, v), x), [x]


def random():
    key = np.array([3, 7], np.uint32)
    yield "uniform", lambda k: [jax.random.uniform(k, (5, 3), jnp.float32), jax.random.bits(k, (4,), jnp.uint32)], [key]
    yield "normal", lambda k: jax.random.normal(jax.random.split(k)[0], (33,), jnp.float32), [key]
    yield "integers", lambda k: [jax.random.randint(k, (9,), 0, 100), jax.random.permutation(k, 8)], [key]
    yield "choice", lambda k: [jax.random.bernoulli(k, 0.3, (9,)), jax.random.categorical(k, jnp.zeros((4, 5), jnp.float32))], [key]
    for impl in ("rbg", "unsafe_rbg"):
        yield impl, lambda k: [jax.random.uniform(k, (5, 3), jnp.float32), jax.random.normal(jax.random.split(k)[1], (33,), jnp.float32),
                               jax.random.bits(jax.random.fold_in(k, 3), (4, 2), jnp.uint8), jax.random.randint(k, (9,), 0, 100)], \
            [jax.random.key(7, impl=impl)]
    bits = (jnp.uint8, jnp.uint16, jnp.uint32, jnp.uint64)
    yield "bits of a state", lambda *states: [lax.rng_bit_generator(s, (3, 7), t, algorithm=lax.RandomAlgorithm.RNG_PHILOX) for s in states
                                              for t in bits], [np.array([1, 2, 3, 4], np.uint32), np.full(4, 2**32 - 1, np.uint32)]
    yield "truncated normal", lambda k: jax.random.truncated_normal(k, -1, 1, (9,), jnp.float32), [key]


def dtypes():
    """The same operations on every type of elements; small integers, so that all is exact."""
    def some(x, y, i):
        return [x + y, x - y, x * y, jnp.maximum(x, y), x < y, x.sum(0, dtype=x.dtype), x.max(), x.argmax(1), jnp.cumsum(x, 1, dtype=x.dtype),
                jnp.sort(x, 0), x[i], x.at[i].add(y[:2]), jnp.where(x > y, x, y), x.astype(jnp.float32), lax.dynamic_slice(x, (i[0], i[1]), (2, 2)),
                lax.pad(x, x[0, 0], [(1, 1, 1), (0, -1, 0)]), lax.dot(x, y.T), lax.top_k(x, 2), jnp.flip(x, 1)]
    every = ("float64", "float16", "bfloat16", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
    for name in every if FULL else ("float64", "bfloat16", "int8", "int64", "uint32"):
        x, y = (jnp.asarray(integers(0, 4, 4, 5)).astype(name) for _ in range(2))
        yield name, some, [x, y, integers(0, 4, 2)]


FAMILIES = (unary, binary, shapes, contractions, reductions, indices, order, float8, control, random, dtypes)
