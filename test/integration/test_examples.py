"""Runs the programs of examples/ and compares them with float64 evaluations in NumPy."""

import math
import pathlib

import ml_dtypes
import numpy
import pytest

EXAMPLES = pathlib.Path(__file__).resolve().parents[2] / "examples"

bf16 = ml_dtypes.bfloat16
float8 = ml_dtypes.float8_e4m3fn
erf = numpy.vectorize(math.erf, otypes=[numpy.float64])


def wide(array):
    return array.astype(numpy.float64)


def gelu(v):
    return v / 2 * (1 + erf(v / math.sqrt(2)))


def layer_norm(v, gain, shift, epsilon):
    centred = v - v.mean(axis=1, keepdims=True)
    return centred / numpy.sqrt((centred**2).mean(axis=1, keepdims=True) + epsilon) * wide(gain) + wide(shift)


def normal(random, *shape, scale=1.0, kind=numpy.float32):
    return (random.standard_normal(shape) * scale).astype(kind)


def feed_forward(random, kind):
    x = normal(random, 128, 768, kind=kind)
    w1, b1 = normal(random, 768, 3072, scale=768**-0.5, kind=kind), normal(random, 3072)
    w2, b2 = normal(random, 3072, 768, scale=3072**-0.5, kind=kind), normal(random, 768)
    gain, shift = normal(random, 768), normal(random, 768)
    # What is stored is rounded to the storage type; everything between is exact here.
    h = wide(gelu(wide(x) @ wide(w1) + b1).astype(kind))
    y = layer_norm(wide(x) + h @ wide(w2) + b2, gain, shift, 1e-12)
    return [x, w1, b1, w2, b2, gain, shift], y


def feed_forward_int8(random):
    def quantised(*shape):
        return numpy.clip(numpy.rint(random.standard_normal(shape) * 32), -128, 127).astype(numpy.int8)

    x, w1, w2 = quantised(128, 768), quantised(768, 3072), quantised(3072, 768)
    s1 = (random.uniform(0.5, 1, 3072) / 32 / 768**0.5).astype(numpy.float32)
    s2 = (random.uniform(0.5, 1, 768) / 32 / 3072**0.5).astype(numpy.float32)
    b1, b2 = normal(random, 3072), normal(random, 768)
    gain, shift = normal(random, 768), normal(random, 768)
    v = wide(x) @ wide(w1) / 32 * wide(s1) + b1
    h = numpy.clip(numpy.rint(gelu(v) * 64), -128, 127)
    y = layer_norm(wide(x) / 32 + h @ wide(w2) / 64 * wide(s2) + b2, gain, shift, 1e-12)
    return [x, w1, s1, b1, w2, s2, b2, gain, shift], y


def mlp(random):
    inputs, h = [normal(random, 256, 1024)], None
    h = wide(inputs[0])
    for _ in range(3):
        w, b = normal(random, 1024, 1024, scale=1024**-0.5), normal(random, 1024)
        inputs += [w, b]
        h = numpy.maximum(h @ wide(w) + b, 0)
    return inputs, h


def attention_scores(random):
    q, k = normal(random, 12, 128, 64), normal(random, 12, 128, 64)
    s = wide(q) @ wide(k).transpose(0, 2, 1) / 8
    e = numpy.exp(s - s.max(axis=2, keepdims=True))
    return [q, k], e / e.sum(axis=2, keepdims=True)


def blur(random):
    image = random.uniform(0, 1, (1084, 1924)).astype(numpy.float32)
    weight = numpy.array([1, 4, 6, 4, 1]) / 16
    rows = sum(weight[t] * wide(image)[:, t : t + 1920] for t in range(5))
    return [image], sum(weight[t] * rows[t : t + 1080, :] for t in range(5))


def gemm_bias_gelu(random):
    a, b, bias = normal(random, 512, 1024, kind=numpy.float16), normal(random, 1024, 768, kind=numpy.float16), normal(random, 768)
    return [a, b, bias], gelu(wide(a) @ wide(b) + bias)


def swiglu(random):
    half = numpy.float16
    x, gate, up = (normal(random, *shape, scale=shape[0]**-0.5 if shape[0] == 256 else 1, kind=half)
                   for shape in ((64, 256), (256, 704), (256, 704)))
    down = normal(random, 704, 256, scale=704**-0.5, kind=half)
    g = wide(x) @ wide(gate)
    h = g / (1 + numpy.exp(-g)) * (wide(x) @ wide(up))
    return [x, gate, up, down], wide(h.astype(half)) @ wide(down)


def depthwise_pointwise(random):
    half = numpy.float16
    image, filters = normal(random, 64, 30, 30, kind=half), normal(random, 64, 3, 3, scale=1 / 3, kind=half)
    weights = normal(random, 128, 64, scale=1 / 8, kind=half)
    sums = sum(wide(filters)[:, p, q, None, None] * wide(image)[:, p : p + 28, q : q + 28] for p in range(3) for q in range(3))
    middle = wide(numpy.maximum(sums, 0).astype(half))
    return [image, filters, weights], numpy.einsum("oc,cyx->oyx", wide(weights), middle)


def gemm_f8(random):
    a, b = normal(random, 128, 256, kind=float8), normal(random, 192, 256, kind=float8)
    scales, bias = random.uniform(0.5, 1, 192).astype(numpy.float32), normal(random, 192)
    v = wide(a) @ wide(b).T / 16 * scales + bias
    return [a, b, scales, bias], numpy.clip(32 * v / (1 + numpy.exp(-v)), -448, 448)


def transformer_block(random):
    x = normal(random, 211, 64)
    gain1, shift1, gain2, shift2 = (normal(random, 64) for _ in range(4))
    qkv, project = normal(random, 64, 192, scale=1 / 8), normal(random, 64, 64, scale=1 / 8)
    w1, w2 = normal(random, 64, 256, scale=1 / 8), normal(random, 256, 64, scale=1 / 16)
    q, k, v = (layer_norm(wide(x), gain1, shift1, 1e-5) @ wide(qkv)).reshape(211, 3, 4, 16).transpose(1, 2, 0, 3)
    s = numpy.where(numpy.tri(211, dtype=bool), q @ k.transpose(0, 2, 1) / 4, -numpy.inf)
    e = numpy.exp(s - s.max(axis=2, keepdims=True))
    seen = (e / e.sum(axis=2, keepdims=True) @ v).transpose(1, 0, 2).reshape(211, 64)
    y = wide(x) + seen @ wide(project)
    y = y + gelu(layer_norm(y, gain2, shift2, 1e-5) @ wide(w1)) @ wide(w2)
    return [x, gain1, shift1, qkv, project, gain2, shift2, w1, w2], y


#: File, generator of inputs and result, and the error allowed at any point. A step of i8 in the hidden layer that falls
#: on the other side of a tie changes a sum by |weight| * scale: a few of them stay below the bound of int8.
CASES = {
    "feed-forward-f32": (lambda r: feed_forward(r, numpy.float32), 2e-5),
    "feed-forward-bf16": (lambda r: feed_forward(r, bf16), 6e-2),
    "feed-forward-int8": (feed_forward_int8, 5e-3),
    "mlp-f32": (mlp, 2e-5),
    "attention-scores": (attention_scores, 2e-6),
    "blur": (blur, 1e-6),
    "gemm-bias-gelu": (gemm_bias_gelu, 1 / 16 + 1e-3),  # half of the step between 128 and 256
    "swiglu": (swiglu, 4e-3),
    "depthwise-pointwise": (depthwise_pointwise, 4e-3),
    "gemm-f8": (gemm_f8, 8 + 1e-3),  # half of the step between 128 and 256
    "transformer-block": (transformer_block, 2e-5),
}


def save(folder, name, array):
    """NumPy has no name for bf16: its bits stand in a u2 file whose name says so. 8-bit floats are bytes."""
    path = folder / (f"{name}.bf16.npy" if array.dtype == bf16 else f"{name}.npy")
    bits = {bf16: numpy.uint16, float8: numpy.uint8}.get(array.dtype.type)
    numpy.save(path, array.view(bits) if bits else array)
    return path


@pytest.mark.parametrize("name", CASES)
def test_example(name, tool, tmp_path):
    make, bound = CASES[name]
    inputs, expected = make(numpy.random.default_rng(1))
    words = []
    for number, array in enumerate(inputs):
        words += ["--input", save(tmp_path, f"input{number}", array)]
    low = inputs[0].dtype == bf16
    output = tmp_path / ("output.bf16.npy" if low else "output.npy")
    tool("tw-run", EXAMPLES / f"{name}.mlir", *words, "--output", output)
    actual = numpy.load(output)
    actual = wide(actual.view(bf16) if low else actual.view(float8) if actual.dtype == numpy.uint8 else actual)
    assert actual.shape == expected.shape
    difference = numpy.abs(actual - expected)
    assert difference.max() <= bound, f"largest difference {difference.max():.3g} of at most {bound:.3g}"
