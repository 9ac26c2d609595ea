"""Quantised operations and networks: element-wise operations bit by bit, products of integers against exact sums, networks against PyTorch's
reference graph run eagerly."""

import json
import os
import pathlib
import subprocess
import sys
import tempfile

import pytest
import torch
import torch.nn.functional as F
from torch import nn

import tilewright.torch  # noqa: F401 (registers the back end)
from networks import NETWORKS
from quantised import compiled, quantise, rewrites, x86
from settings import FULL
from tilewright import describe
from tilewright.errors import OptionError
from tilewright.quant import ChipQuantizer, operand_types

ops = torch.ops.quantized_decomposed


def same(got, want):
    assert got.dtype == want.dtype and got.shape == want.shape and got.stride() == want.stride()
    wide = (lambda t: t.float()) if got.dtype.itemsize == 1 and got.is_floating_point() else (lambda t: t)
    assert torch.equal(wide(got), wide(want)), (wide(got) - wide(want)).abs().max()


def ties():
    """Values whose steps lie on, just below and just above halves, beyond the range, and zeros of both signs."""
    halves = (torch.arange(-300, 300) + 0.5) * 0.25
    x = torch.cat([halves, torch.nextafter(halves, torch.tensor(9e9)), torch.nextafter(halves, -torch.tensor(9e9)), torch.randn(192) * 30,
                   torch.tensor([0.0, -0.0, 1e30, -1e30, float("inf"), -float("inf"), 1e-40, 3.0])])
    return x.reshape(-1, 16)


#: Scales: an exact power of 2, and one whose inverse is rounded.
@pytest.mark.parametrize("fp", ["strict", "default"])
def test_elementwise_operations_are_exact(fp):
    x = ties()
    scales, zeros = torch.rand(16) + 0.05, torch.randint(-20, 20, (16,))
    rows, row_zeros = torch.rand(x.shape[0], 1) + 0.05, torch.randint(-9, 9, (x.shape[0], 1), dtype=torch.int32)
    one, zero = torch.tensor([0.1703]), torch.tensor([7])

    def function(x, scales, zeros, rows, row_zeros, one, zero):
        results = []
        for scale in (0.25, 0.1703):
            for point, low, high, dtype in ((3, -128, 127, torch.int8), (0, -127, 127, torch.int8), (131, 0, 255, torch.uint8),
                                            (-5, -32768, 32767, torch.int16), (0, -8, 7, torch.int8)):
                q = ops.quantize_per_tensor(x, scale, point, low, high, dtype)
                results += [q, ops.dequantize_per_tensor(q, scale, point, low, high, dtype)]
        q = ops.quantize_per_tensor(x.bfloat16(), 0.1703, 131, 0, 255, torch.uint8)
        results += [q, ops.dequantize_per_tensor(q, 0.1703, 131, 0, 255, torch.uint8, out_dtype=torch.bfloat16)]
        q = ops.quantize_per_tensor.tensor(x, one, zero, -128, 127, torch.int8)
        results += [q, ops.dequantize_per_tensor.tensor(q, one, zero, -128, 127, torch.int8)]
        q = ops.quantize_per_channel(x, scales, zeros, 1, -128, 127, torch.int8)
        results += [q, ops.dequantize_per_channel(q, scales, zeros, 1, -128, 127, torch.int8),
                    ops.dequantize_per_channel(q, scales, None, 1, -128, 127, torch.int8)]
        q = ops.quantize_per_token(x, rows, row_zeros, -128, 127, torch.int8)
        results += [q, ops.dequantize_per_token(q, rows, row_zeros, -128, 127, torch.int8, torch.float32)]
        return results
    values = (x, scales, zeros, rows, row_zeros, one, zero)
    for got, want in zip(compiled(function, fp=fp)(*values), function(*values), strict=True):
        same(got, want)


def test_scales_from_data_are_exact():
    x, groups, zeros = torch.randn(6, 32) * 3, torch.rand(6, 4) + 0.1, torch.randint(-2, 2, (6, 4))

    def function(x, groups, zeros):
        results = [*ops.choose_qparams.tensor(x, -128, 127, 1e-5, torch.int8), *ops.choose_qparams.tensor(x, 0, 255, 1e-5, torch.uint8),
                   *ops.choose_qparams_symmetric.tensor(x, -127, 127, 1e-5, torch.int8), *ops.choose_qparams_per_token(x, torch.int8),
                   *ops.choose_qparams_per_token_asymmetric(x, torch.int8)]
        q = ops.quantize_per_channel_group(x, groups, zeros, -8, 7, torch.int8, 8)
        return [*results, q, ops.dequantize_per_channel_group(q, groups, zeros, -8, 7, torch.int8, 8, torch.float32)]
    for got, want in zip(compiled(function, fp="strict")(x, groups, zeros), function(x, groups, zeros), strict=True):
        torch.testing.assert_close(got, want.to(got.dtype), rtol=0, atol=0)


# Products


def integers_of(shape, dtype, low=None, high=None):
    info = torch.iinfo(dtype)
    return torch.randint(info.min if low is None else low, (info.max if high is None else high) + 1, shape, dtype=dtype)


def exact_product(total, scale_x, scale_w, bias=None):
    """What the integer form is defined as: the exact sum rounded to f32, times scale_x * scale_w rounded to f32, plus the bias."""
    value = total.to(torch.float32) * (torch.tensor(scale_x, dtype=torch.float32) * scale_w)
    return value if bias is None else value + bias


@pytest.mark.parametrize("x_type", [torch.uint8, torch.int8])
@pytest.mark.parametrize("zeros", [False, True], ids=["symmetric", "affine"])
def test_linear_is_exact(x_type, zeros):
    x, w = integers_of((2, 5, 40), x_type), integers_of((24, 40), torch.int8)
    zx = 117 if x_type == torch.uint8 else -9
    sx, sw = 0.0173, torch.rand(24) * 0.01 + 0.001
    zw = torch.randint(-9, 9, (24,)) if zeros else torch.zeros(24, dtype=torch.int64)
    bias, info = torch.randn(24), torch.iinfo(x_type)

    def function(x, w, sw, zw, bias):
        a = ops.dequantize_per_tensor(x, sx, zx, info.min, info.max, x_type)
        b = ops.dequantize_per_channel(w, sw, zw, 0, -128, 127, torch.int8)
        return F.linear(a, b, bias), F.linear(a, b)
    with rewrites() as seen:
        got = compiled(function, fp="strict")(x, w, sw, zw, bias)
    assert seen == [(2, 2)]
    total = (x.double() - zx) @ (w.double() - zw[:, None].double()).t()
    for result, addend, eager in zip(got, (bias, None), function(x, w, sw, zw, bias)):
        same(result, exact_product(total, sx, sw, addend))
        torch.testing.assert_close(result, eager, rtol=1e-5, atol=1e-5)


CONVOLUTIONS = {
    "3x3": dict(x=(2, 5, 9, 7), w=(8, 5, 3, 3), stride=2, padding=1), "dilated": dict(x=(1, 4, 9, 9), w=(6, 4, 3, 3), dilation=2, padding=(2, 1)),
    "groups": dict(x=(2, 8, 6, 6), w=(12, 4, 3, 3), groups=2, padding=1), "depthwise": dict(x=(2, 6, 8, 8), w=(6, 1, 3, 3), groups=6, padding=1),
    "1x1": dict(x=(1, 16, 5, 5), w=(8, 16, 1, 1)), "1-D": dict(x=(2, 4, 15), w=(6, 4, 5), padding=2),
    "3-D": dict(x=(1, 3, 5, 5, 5), w=(4, 3, 2, 2, 2)),
}


@pytest.mark.parametrize("zeros", [False, True], ids=["symmetric", "affine"])
def test_convolutions_are_exact(zeros):
    """Borders hold the zero point; all in one graph."""
    values, totals, scales = [], [], []
    sx, zx = 0.0173, 117
    for case in CONVOLUTIONS.values():
        x, w = integers_of(case["x"], torch.uint8), integers_of(case["w"], torch.int8)
        channels = case["w"][0]
        zw = torch.randint(-9, 9, (channels,)) if zeros else torch.zeros(channels, dtype=torch.int64)
        sw = torch.rand(channels) * 0.01 + 0.001
        values += [x, w, sw, zw]
        options = {k: v for k, v in case.items() if k not in "xw"}
        along = [-1] + [1] * (w.dim() - 1)
        convolve = (F.conv1d, F.conv2d, F.conv3d)[w.dim() - 3]
        totals.append(convolve(x.double() - zx, w.double() - zw.view(along), **options))
        scales.append(sw.view([-1] + [1] * (w.dim() - 2)))

    def function(*values):
        results = []
        for i, case in enumerate(CONVOLUTIONS.values()):
            x, w, sw, zw = values[4 * i:4 * i + 4]
            a = ops.dequantize_per_tensor(x, sx, zx, 0, 255, torch.uint8)
            b = ops.dequantize_per_channel(w, sw, zw, 0, -128, 127, torch.int8)
            convolve = (F.conv1d, F.conv2d, F.conv3d)[w.dim() - 3]
            results.append(convolve(a, b, **{k: v for k, v in case.items() if k not in "xw"}))
        return results
    with rewrites() as seen:
        got = compiled(function, fp="strict")(*values)
    assert seen == [(len(CONVOLUTIONS),) * 2]
    for name, result, total, scale in zip(CONVOLUTIONS, got, totals, scales):
        want = exact_product(total, sx, scale)
        assert torch.equal(result, want), (name, (result - want).abs().max())


def test_operations_in_eager():
    """The kernels for graphs of which a part runs eagerly."""
    quantised = torch.ops.tilewright
    x, w = integers_of((2, 6, 7, 8), torch.uint8), integers_of((4, 3, 3, 2), torch.int8)
    want = F.conv2d(F.pad(x.double(), (0, 0, 1, 1), value=9), w.double(), None, (2, 1), 0, (1, 2), 2).to(torch.int32)
    for weight, taps_first in (w, False), (w.permute(0, 2, 3, 1), True):
        options = 9, [2, 1], [1, 0], [1, 2], 2, taps_first
        same(quantised.quantised_convolution(x, weight, *options), want)
        assert quantised.quantised_convolution(x.to("meta"), weight.to("meta"), *options).shape == want.shape
    a, b = integers_of((5, 7), torch.uint8), integers_of((7, 3), torch.int8)
    same(quantised.quantised_product(a, b), (a.double() @ b.double()).to(torch.int32))
    f, g = torch.randn(5, 12), torch.randn(4, 3, 4)
    torch.testing.assert_close(quantised.grouped_product(f, g), f @ g.reshape(4, 12).t())


def test_batches_and_rows_with_scales_of_their_own():
    """Both operands per tensor (attention); scales and zero points by row, from arithmetic alone."""
    q, k = integers_of((2, 3, 7, 16), torch.int8), integers_of((2, 3, 9, 16), torch.uint8)
    x, w = integers_of((6, 32), torch.int8), integers_of((10, 32), torch.int8)
    rows, row_zeros, columns = torch.rand(6, 1), torch.randint(-5, 5, (6, 1), dtype=torch.int8), torch.rand(10, 1)

    def function(q, k, x, w, rows, row_zeros, columns):
        scores = ops.dequantize_per_tensor(q, 0.02, -3, -128, 127, torch.int8) @ \
            ops.dequantize_per_tensor(k, 0.03, 100, 0, 255, torch.uint8).transpose(2, 3)
        return scores, ((x.float() - row_zeros.float()) * rows) @ (w.float() * columns).t()
    values = (q, k, x, w, rows, row_zeros, columns)
    with rewrites() as seen:
        scores, product = compiled(function, fp="strict")(*values)
    assert seen == [(2, 2)]
    same(scores, exact_product((q.double() + 3) @ (k.double() - 100).transpose(2, 3), 0.02, torch.tensor(0.03)))
    exact = ((x.double() - row_zeros) * rows) @ (w.double() * columns).t()
    torch.testing.assert_close(product.double(), exact, rtol=1e-6, atol=1e-6 * float(exact.abs().max()))


def test_what_has_no_integer_form_stays():
    """Scales that change along the sums, sums that could leave i32, other types: products of floats, and right."""
    x, w = integers_of((4, 12), torch.int8), integers_of((6, 12), torch.int8)
    long_x, long_w = torch.full((1, 140000), 127, dtype=torch.int8), torch.full((1, 140000), 127, dtype=torch.int8)
    inner = torch.rand(12)

    def function(x, w, inner, long_x, long_w):
        return (x.float() * inner) @ w.float().t(), x.float() @ w.float().t() * 0.5, long_x.float() @ long_w.float().t(), \
            x.double() @ w.double().t(), x.bfloat16() @ w.bfloat16().t(), F.conv_transpose1d(x.float()[:, :, None], w.float().t()[:, :, None])
    values = (x, w, inner, long_x, long_w)
    with rewrites() as seen:
        got = compiled(function)(*values)
    assert seen == [(6, 1)]
    x, w, inner = (v.double() for v in (x, w, inner))
    exact = (x * inner) @ w.t(), x @ w.t() * 0.5, long_x.double() @ long_w.double().t(), x @ w.t(), x @ w.t(), \
        F.conv_transpose1d(x[:, :, None], w.t()[:, :, None])
    for result, want in zip(got, exact, strict=True):
        precision = torch.finfo(result.dtype).eps * (100 if want.numel() == 1 else 1)
        torch.testing.assert_close(result.double(), want, rtol=8 * precision, atol=8 * precision * float(want.abs().max()))


@pytest.mark.parametrize("freeze", [False, True])
def test_zero_points_that_are_written_to(freeze):
    """The program for zero points that are 0 serves as long as they are."""
    model = nn.Module()
    model.w, model.s = nn.Buffer(integers_of((8, 16), torch.int8)), nn.Buffer(torch.rand(8))
    model.z = nn.Buffer(torch.zeros(8, dtype=torch.int64))
    model.forward = lambda x: F.linear(ops.dequantize_per_tensor(ops.quantize_per_tensor(x, 0.1, 5, -128, 127, torch.int8), 0.1, 5, -128, 127,
                                                                 torch.int8),
                                       ops.dequantize_per_channel(model.w, model.s, model.z, 0, -128, 127, torch.int8))
    x = torch.randn(3, 16)
    with torch.no_grad(), torch._dynamo.config.patch(error_on_recompile=True):
        f = compiled(model, freeze=freeze)
        for value in (0, 3, 0):
            model.z.fill_(value)
            torch.testing.assert_close(f(x), model(x), rtol=1e-5, atol=1e-4)


def test_a_quantised_result_is_eagers_but_for_ties():
    """Integers of a requantised convolution: those of eager, except where eager's own error decides, and there the next one."""
    torch.manual_seed(3)
    x, w = integers_of((2, 16, 12, 12), torch.uint8), integers_of((16, 16, 3, 3), torch.int8)
    sw, bias, sx, zx, sy = torch.rand(16) * 0.01 + 0.001, torch.randn(16), 0.02, 120, 1.7

    def function(x, w, sw, bias):
        y = F.conv2d(ops.dequantize_per_tensor(x, sx, zx, 0, 255, torch.uint8),
                     ops.dequantize_per_channel(w, sw, None, 0, -128, 127, torch.int8), bias, padding=1)
        return ops.quantize_per_tensor(torch.relu(y), sy, 0, 0, 255, torch.uint8)
    got, eager = compiled(function)(x, w, sw, bias), function(x, w, sw, bias)
    exact = F.conv2d((x.double() - zx) * sx, w.double() * sw.double()[:, None, None, None], bias.double(), padding=1).relu() / sy
    steps = exact.round().clamp(0, 255)
    # An f32 evaluation lies within this of the exact steps: 16 * 9 products, each with 3 roundings.
    bound = 16 * 9 * 3 * 2.0**-24 * F.conv2d((x.double() - zx).abs() * sx, w.double().abs() * sw.double()[:, None, None, None], padding=1) / sy + 1e-6
    near = ((exact - exact.floor() - 0.5).abs() <= bound) & (exact < 255.6)
    assert near.double().mean() < 0.01
    for result in (got, eager):
        assert torch.equal(result[~near].double(), steps[~near])
    assert ((got.double() - eager.double()).abs() <= 1).all()
    # The integer form rounds 4 times, whatever the number of products.
    close = (exact - exact.floor() - 0.5).abs() <= 4 * 2.0**-23 * exact + 1e-6
    assert torch.equal(got[~close].double(), steps[~close])


@pytest.mark.parametrize("freeze", [False, True] if FULL else [True])
def test_sizes_may_be_dynamic(freeze):
    """One compilation for batches and lengths: of an exported convolutional network, and of products by rows."""
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.a, self.b, self.c = nn.Conv2d(3, 8, 3, padding=1), nn.Conv2d(8, 8, 3, 2, groups=2), nn.Linear(8, 5)

        def forward(self, x):
            return self.c(F.relu(self.b(F.relu(self.a(x)))).mean((2, 3)))
    batch, side = torch.export.Dim("batch", min=2, max=64), torch.export.Dim("side", min=6, max=64)
    model = quantise(Net().eval(), [torch.randn(4, 3, 12, 14)], dynamic=({0: batch, 3: side},))
    with torch.no_grad(), torch._dynamo.config.patch(error_on_recompile=True), rewrites() as seen:
        f = torch.compile(model, backend="tilewright", options={"strict": True, "freeze": freeze}, fullgraph=True, dynamic=True)
        for shape in (4, 3, 12, 14), (5, 3, 12, 9):
            x = torch.randn(shape)
            assert difference(f(x), model(x)) < 0.02
    assert seen == [(3, 3)]


def test_activations_are_quantised_by_their_own_extent():
    """PT2E with dynamic activations: scales follow from each input."""
    from torchao.quantization.pt2e.quantizer.x86_inductor_quantizer import X86InductorQuantizer, get_default_x86_inductor_quantization_config
    quantizer = X86InductorQuantizer().set_global(get_default_x86_inductor_quantization_config(is_dynamic=True))
    model = quantise(nn.Sequential(nn.Linear(32, 64), nn.ReLU(), nn.Linear(64, 16)).eval(), [torch.randn(8, 32)], quantizer)
    with torch.no_grad(), rewrites() as seen:
        f = compiled(model)
        for scale in (0.01, 1, 100):
            x = scale * torch.randn(8, 32)
            assert difference(f(x), model(x)) < 1e-5
    assert seen == [(2, 2)]


# Weights alone, 8-bit floats


def weight_configs():
    from torchao import quantization as q
    return {
        "int8": (q.Int8WeightOnlyConfig(), 0), "int8 dynamic": (q.Int8DynamicActivationInt8WeightConfig(), 0),
        "int4 groups": (q.IntxWeightOnlyConfig(weight_dtype=torch.int4, granularity=q.PerGroup(32)), 0),
        "int4 rows": (q.IntxWeightOnlyConfig(weight_dtype=torch.int4, granularity=q.PerAxis(0)), 0),
        "int8 by int8 rows": (q.Int8DynamicActivationIntxWeightConfig(weight_dtype=torch.int8, weight_granularity=q.PerAxis(0)), 2),
        "f8": (q.Float8WeightOnlyConfig(), 0),
    }


@pytest.mark.parametrize("name", ["int8", "int8 dynamic", "int4 groups", "int4 rows", "int8 by int8 rows", "f8"])
def test_weights_alone(name, monkeypatch):
    """Weights that products of floats read are converted in the order of their memory: nothing wide is transposed."""
    from torchao.quantization import quantize_
    seen_texts = texts(monkeypatch)
    config, products = weight_configs()[name]
    model, x = nn.Sequential(nn.Linear(64, 96), nn.ReLU(), nn.Linear(96, 16)).eval(), torch.randn(5, 64)
    quantize_(model, config)
    with torch.no_grad():
        for freeze in (False, True):
            torch._dynamo.reset()
            with rewrites() as seen:
                got = compiled(model, freeze=freeze)(x)
            assert [made for _, made in seen] == [products]
            torch.testing.assert_close(got, model(x), rtol=1e-5, atol=1e-6)
    transposed = [line for text in seen_texts for line in text.splitlines() if "linalg.transpose" in line]
    assert products or name == "int8 dynamic" or not transposed, transposed
    if name == "int4 groups":  # no row is put together from its groups
        assert not any("collapse_shape" in line and "x32xf32" in line for text in seen_texts for line in text.splitlines())


def test_unpacked_weights_are_not_held(monkeypatch):
    """Frozen weights of 8 bits stay as narrow as they are."""
    from tilewright.torch import freeze
    held, split = [], freeze.split

    def seen(module, fold):
        constants, inputs = split(module, fold)
        if constants is not None:
            held.extend(n.meta["val"] for n in next(n for n in constants.graph.nodes if n.op == "output").args[0])
        return constants, inputs
    monkeypatch.setattr(freeze, "split", seen)
    from torchao.quantization import quantize_
    model = nn.Sequential(nn.Linear(64, 96), nn.Linear(96, 16)).eval()
    quantize_(model, weight_configs()["int4 rows"][0])
    with torch.no_grad():
        compiled(model, freeze=True)(torch.randn(5, 64))
    assert all(v.numel() < 200 for v in held)


FLOATS8 = [torch.float8_e4m3fn, torch.float8_e5m2, torch.float8_e4m3fnuz, torch.float8_e5m2fnuz]


def test_8_bit_floats_are_converted_as_in_eager():
    """All 256 to f32; f32 with ties, overflow, denormals and infinities to each."""
    edges = torch.tensor([0.0, -0.0, 240, 248, 447, 448, 464, 465, 480, 500, 57344, 61439, 61440, 65536, 1e9, -1e9, float("inf"), -float("inf"),
                          float("nan"), 2.0**-9, 2.0**-10, 1.5 * 2**-10, 2.0**-16, 2.0**-17, 1.5 * 2.0**-17, 2.0**-18, 1e-30])
    x = torch.cat([torch.randn(997) * 100, torch.randn(1000) * 0.01, edges])
    codes = torch.arange(256, dtype=torch.uint8)

    def function(x, *patterns):
        return [x.to(t).float() for t in FLOATS8] + [x.bfloat16().to(t).float() for t in FLOATS8] + [p.float() for p in patterns] + \
            [p.to(torch.bfloat16) for p in patterns]
    values = [x, *(codes.view(t) for t in FLOATS8)]
    for got, want in zip(compiled(function)(*values), function(*values), strict=True):
        assert torch.equal(got.isnan(), want.isnan())
        same(got.nan_to_num(nan=3.0, posinf=7e9, neginf=-7e9), want.nan_to_num(nan=3.0, posinf=7e9, neginf=-7e9))


@pytest.mark.parametrize("rows", [False, True], ids=["one scale", "scale by row"])
def test_scaled_products(rows):
    a, b = torch.randn(16, 32).to(torch.float8_e4m3fn), torch.randn(48, 32).to(torch.float8_e5m2).t()
    s, t = (torch.rand(16, 1), torch.rand(1, 48)) if rows else (torch.tensor(0.3), torch.tensor(2.7))
    bias = torch.randn(48).bfloat16()
    got = compiled(lambda *v: torch._scaled_mm(*v[:4], bias=v[4], out_dtype=torch.bfloat16))(a, b, s, t, bias)
    exact = (a.double() @ b.double()) * s.double() * t.double() + bias.double()
    assert ((got.double() - exact).abs() <= 2.0**-8 * exact.abs() + 1e-5 * exact.abs().max()).all()
    torch.testing.assert_close(got, torch._scaled_mm(a, b, s, t, bias=bias, out_dtype=torch.bfloat16), rtol=2**-6, atol=1e-3)


def test_scaled_8_bit_floats_on_a_unit_for_them(monkeypatch):
    """Dequantised by a row's scale, and as a scaled product: H200's units for 8-bit floats, scales in the epilogue."""
    a, b, s, t = torch.randn(32, 64).to(torch.float8_e4m3fn), torch.randn(48, 64).to(torch.float8_e5m2), torch.rand(32, 1), torch.rand(48, 1)
    texts_seen = texts(monkeypatch)
    exact = (a.double() @ b.double().t()) * s * t.t()
    for function in (lambda a, b, s, t: (a.float() * s) @ (b.float() * t).t(),
                     lambda a, b, s, t: torch._scaled_mm(a, b.t(), s, t.t(), out_dtype=torch.float32)):
        torch._dynamo.reset()
        got = compiled(function, target="nvidia:H200", device="emulator")(a, b, s, t)
        assert ((got.double() - exact).abs() <= 1e-5 * exact.abs().max()).all()
    for text in texts_seen:
        (unit, steps), = units_of(text, "nvidia:H200")
        assert "e4m3_e5m2" in unit and steps >= 1, (unit, steps)


# Networks


def difference(got, want):
    got, want = ([r] if isinstance(r, torch.Tensor) else list(r) for r in (got, want))
    for g, w in zip(got, want, strict=True):
        assert g.shape == w.shape and g.dtype == w.dtype and g.isfinite().all()
    return max(float((g - w).abs().max() / w.abs().max()) for g, w in zip(got, want))


@pytest.mark.parametrize("name, products", [("resnet", 16), ("bert", 9), *([("mobilenet", 18)] if FULL else [])])
def test_networks(name, products):
    """Every product runs on integers, nothing runs eagerly, and the result is the reference graph's but for single steps of activations that
    lie on a tie."""
    torch.manual_seed(1)
    model, arguments = NETWORKS[name]()
    values = arguments(2)
    model = quantise(model.eval(), values, calibration=[arguments(2)])
    with torch.no_grad(), rewrites() as seen:
        got, want = compiled(model)(*values), model(*values)
    assert seen == [(products, products)]
    assert difference(got, want) < 0.01


# Chips


def npu():
    """The template's chip, whose systolic unit takes i8 alone."""
    plugin = pathlib.Path(os.environ["TILEWRIGHT_SDK"]) / "lib/tilewright/libtilewright-target-accelerator.so"
    if not plugin.exists():
        pytest.skip(f"there is no {plugin}")
    return "accelerator:npu", [str(plugin)]


def units_of(text, target, plugins=()):
    """The units that the contractions of a program use, as tw-compile --explain=json says it, and how many steps follow in the same
    kernel; a tile program, of a product and sums for its zero points, has them all."""
    with tempfile.TemporaryDirectory() as folder:
        source = pathlib.Path(folder) / "program.mlir"
        source.write_text(text)
        output = next(kind for kind in describe(target, plugins=plugins)["outputs"] if kind in ("so", "tw", "c"))
        compiler = pathlib.Path(os.environ["TILEWRIGHT_SDK"]) / "bin/tw-compile"
        command = [compiler, *(f"--load-target={p}" for p in plugins), source, "--target", target, "-o", source.with_suffix("." + output),
                   "--explain=json"]
        decisions = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    return [(d["choice"]["unit"], d.get("fused_steps", 1)) for d in decisions if d["decision"] in ("contraction", "tile-program")]


def texts(monkeypatch):
    """The texts that are compiled from now on."""
    from tilewright.torch import program
    seen, module = [], sys.modules["tilewright.torch.backend"]
    monkeypatch.setattr(module, "compile_program", lambda text, options: seen.append(text) or program.compile_program(text, options))
    return seen


class Layers(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Linear(64, 96), nn.Linear(96, 32)

    def forward(self, x):
        return self.second(F.relu(self.first(x)))


@pytest.mark.parametrize("chip, unit, quantizer", [
    (chip, unit, quantizer) for i, (chip, unit) in enumerate([("npu", "systolic_i8"), ("nvidia:H200", "_i8_i32"), ("amd:MI300X", "_i8_i32")])
    for j, quantizer in enumerate([x86, ChipQuantizer]) if FULL or i == 0 or i % 2 == j], ids=lambda value: getattr(value, "__name__", value))
def test_units_of_chips(chip, unit, quantizer, monkeypatch):
    """Both layers run on the chip's unit for integers, with all that follows in their epilogues; PyTorch's unsigned activations too. Right
    on the emulator."""
    target, plugins = npu() if chip == "npu" else (chip, [])
    values = [torch.randn(128 if chip == "npu" else 32, 64)]  # with few rows, cores of the NPU take less than bringing weights to the unit
    model = quantise(Layers().eval(), values, quantizer() if quantizer is x86 else quantizer(target, plugins=plugins))
    seen = texts(monkeypatch)
    with torch.no_grad():
        got = compiled(model, target=target, device="emulator", plugins=plugins)(*values)
        assert difference(got, model(*values)) < 0.01
    assert len(seen) == 1
    units = units_of(seen[0], target, plugins)
    assert len(units) == 2 and all(unit in name and steps >= 1 for name, steps in units), units


@pytest.mark.parametrize("name, quantizer", [(n, q) for n in ("mobilenet", "resnet", "bert") for q in (x86, ChipQuantizer)][:6 if FULL else 1])
def test_networks_on_a_chip(name, quantizer):
    """Convolutions of unsigned activations on a unit for signed ones, too."""
    target, plugins = npu()
    torch.manual_seed(1)
    model, arguments = NETWORKS[name]()
    values = arguments(1)
    model = quantise(model.eval(), values, x86() if quantizer is x86 else ChipQuantizer(target, plugins=plugins))
    with torch.no_grad(), rewrites() as seen:
        got = compiled(model, target=target, device="emulator", plugins=plugins)(*values)
        assert difference(got, model(*values)) < 0.01
    assert seen[0][0] == seen[0][1] > 0


def test_types_follow_from_records():
    assert operand_types("cpu:zen4") == ("u8", "i8") and operand_types("nvidia:H200") == ("i8", "i8")
    spec = ChipQuantizer("nvidia:H200").activation
    assert (spec.dtype, spec.quant_min, spec.quant_max) == (torch.int8, -128, 127)
    assert operand_types("cpu:x86-64-v3") == ("u8", "i8")
    with pytest.raises(OptionError, match=r"no matrix unit of 'cpu:armv8-a' multiplies signed 8-bit weights.*f32 x f32 -> f32.*Int8WeightOnlyConfig"):
        ChipQuantizer("cpu:armv8-a")


def test_residuals_and_pools_are_stored_quantised():
    """Between layers there are integers alone: what the residual and the pool read has the scale of the products."""
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.a, self.b, self.c = nn.Conv2d(3, 8, 3), nn.Conv2d(8, 8, 3, padding=1), nn.Conv2d(8, 4, 1)

        def forward(self, x):
            x = F.max_pool2d(F.relu(self.a(x)), 2)
            return self.c(F.relu(x + self.b(x)))
    values = [torch.randn(2, 3, 12, 12)]
    model = quantise(Net().eval(), values, ChipQuantizer("nvidia:H200"))
    for node in model.graph.nodes:
        if node.target in (torch.ops.aten.max_pool2d.default, torch.ops.aten.add.Tensor):
            assert node.args[0].target is ops.dequantize_per_tensor.default
    pool = next(n for n in model.graph.nodes if n.target is torch.ops.aten.max_pool2d.default)
    assert next(iter(pool.users)).args[1:3] == pool.args[0].args[1:3]
    with torch.no_grad(), rewrites() as seen:
        assert difference(compiled(model)(*values), model(*values)) < 0.02
    assert seen == [(3, 3)]
