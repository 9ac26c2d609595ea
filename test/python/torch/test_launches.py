"""Variants of attention, normalisations and a layer of a network, compiled for lanes: how many launches each is, by the compiler's
own count, and results on the emulator."""

import copy
import os
import pathlib
import re
import subprocess
import sys

import networks
import pytest
import torch
import tilewright.torch  # noqa: F401: the back end
from launch_table import LAYERS, Layer, launches as launches_of_call
from torch import nn
from torch.nn.functional import scaled_dot_product_attention as attention

BUILD = pathlib.Path(os.environ["TILEWRIGHT_SDK"])
FULL = os.environ.get("TILEWRIGHT_FULL") == "1"
CHIPS = ["nvidia:H200", "amd:MI300X"]
HALF = torch.float16


def chips_of(cases, name, also=0):
    """Where the case `name` of `cases` runs: on each chip in the full mode, else on one, in turn; `also` is counted in."""
    return CHIPS if FULL else [CHIPS[(list(cases).index(name) + also) % len(CHIPS)]]


def tensors(*shapes):
    torch.manual_seed(3)
    return [torch.randn(*shape, dtype=HALF) for shape in shapes]


def soft(scores, v):
    return torch.softmax(scores, -1).to(HALF) @ v


def soft_cap(q, k, v):
    return soft(50 * torch.tanh((q @ k.transpose(-1, -2)).float() / 400), v)


def window(q, k, v):
    at = torch.arange(128)
    far = (at[:, None] - at[None, :]).abs() > 16
    return soft((q @ k.transpose(-1, -2)).float().masked_fill(far, -torch.inf) / 8, v)


def slopes(q, k, v):
    at = torch.arange(128)
    return soft((q @ k.transpose(-1, -2)).float() / 8 - 0.25 * (at[:, None] - at[None, :]).abs(), v)


HEADS = [(1, 2, 128, 64)] * 3
PATCHES = [(1, 3, 197, 64)] * 3
OTHER = [(1, 2, 128, 64)] * 2 + [(1, 2, 128, 32)]
FEW = [(2, 128, 64)] * 3
CASES = {
    "plain": (lambda q, k, v: attention(q, k, v), HEADS),
    "causal": (lambda q, k, v: attention(q, k, v, is_causal=True), HEADS),
    "197 tokens": (lambda q, k, v: attention(q, k, v), PATCHES),
    "197 tokens, causal": (lambda q, k, v: attention(q, k, v, is_causal=True), PATCHES),
    "80 features": (lambda q, k, v: attention(q, k, v), [(1, 2, 128, 80)] * 3),
    "window": (window, FEW),
    "slopes": (slopes, FEW),
    "more keys": (lambda q, k, v: attention(q, k, v), [(1, 2, 128, 64)] + [(1, 2, 256, 64)] * 2),
    "groups": (lambda q, k, v: attention(q, k, v, enable_gqa=True), [(1, 4, 128, 64)] + [(1, 2, 128, 64)] * 2),
    "causal groups": (lambda q, k, v: attention(q, k, v, enable_gqa=True, is_causal=True),
                      [(1, 4, 128, 64)] + [(1, 2, 128, 64)] * 2),
    "heads inside": (lambda q, k, v: attention(*(x.transpose(1, 2) for x in (q, k, v))).transpose(1, 2), [(1, 128, 2, 64)] * 3),
    "bias": (lambda q, k, v, m: attention(q, k, v, attn_mask=m), HEADS + [(1, 1, 128, 128)]),
    "mask": (lambda q, k, v, m: attention(q, k, v, attn_mask=m > 0), HEADS + [(1, 1, 128, 128)]),
    "other features of values": (lambda q, k, v: attention(q, k, v), OTHER),
    "other features of values, causal": (lambda q, k, v: attention(q, k, v, is_causal=True), OTHER),
    "other features of values, mask": (lambda q, k, v, m: attention(q, k, v, attn_mask=m > 0), OTHER + [(1, 1, 128, 128)]),
    "other features of values, groups": (lambda q, k, v: attention(q, k, v, enable_gqa=True), [(1, 4, 128, 64), *OTHER[1:]]),
    "three dimensions": (lambda q, k, v: attention(q, k, v), FEW),
    "five dimensions": (lambda q, k, v: attention(q, k, v), [(2, 1, 2, 128, 64)] * 3),
    "keys of one head": (lambda q, k, v: attention(q, k, v), [(1, 4, 128, 64)] + [(1, 1, 128, 64)] * 2),
    "keys for all of a batch": (lambda q, k, v: attention(q, k, v), [(2, 2, 128, 64)] + [(1, 2, 128, 64)] * 2),
    "soft cap": (soft_cap, FEW),
    "layer norm": (lambda x: nn.functional.layer_norm(x, (128,)), [(1, 64, 128)]),
    "layer norm of one row": (lambda x: nn.functional.layer_norm(x, (128,)), [(1, 128)]),
}


def compiled_text(function, inputs, dynamic=False, training=False, backward=False):
    """The program that the back end writes, in training that of the forward pass or of the `backward` one, and what it gives on the
    host, there the gradients."""
    backend = sys.modules["tilewright.torch.backend"]
    texts, write = [], backend.stage_text

    def noted(*args, **kwargs):
        result = write(*args, **kwargs)
        texts.append(result[0])
        return result
    backend.stage_text = noted
    try:
        torch.compiler.reset()
        with torch.set_grad_enabled(training):
            got = torch.compile(function, backend="tilewright", dynamic=None if dynamic else False, options={"strict": True})(*inputs)
            if backward:
                got = torch.autograd.grad(got, inputs, torch.linspace(-1, 1, got.numel()).view(got.shape).to(got.dtype))
    finally:
        backend.stage_text = write
    assert training or len(texts) == 1
    return texts[-1 if backward else 0], got


def launches(tmp_path, text, chip, sizes=(), verify=True):
    """Launches of a run on the emulator, whose results are compared with float64; `sizes`: the dynamic ones."""
    (tmp_path / "p.mlir").write_text(text)
    done = subprocess.run([BUILD / "bin/tw-run", tmp_path / "p.mlir", "--target", chip, "--device", "emulator",
                           *(["--verify"] if verify else []), *(f"--sizes={size}" for size in sizes)], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout[-1500:] + done.stderr[-1500:]
    return sum(map(int, re.findall(r"^kernel \S+: launches: (\d+)", done.stdout, re.MULTILINE)))


#: Combinations of two of the others.
COMBINED = {"causal groups", "other features of values, causal", "other features of values, mask", "other features of values, groups",
            "197 tokens", "five dimensions", "keys for all of a batch"}


@pytest.mark.parametrize("name", [name for name in CASES if FULL or name not in COMBINED])
def test_one_launch(tmp_path, name):
    function, shapes = CASES[name]
    inputs = tensors(*shapes)
    text, got = compiled_text(function, inputs)
    with torch.no_grad():
        wanted = function(*inputs)
    assert (got.double() - wanted.double()).abs().max() < 4e-3
    for chip in chips_of(CASES, name):
        assert launches(tmp_path, text, chip) == 1, chip


QUERY = [(1, 8, 1, 64)]
ONE_QUERY = {
    "plain": (lambda q, k, v: attention(q, k, v), QUERY + [(1, 8, 512, 64)] * 2),
    "groups": (lambda q, k, v: attention(q, k, v, enable_gqa=True), QUERY + [(1, 2, 512, 64)] * 2),
    "mask": (lambda q, k, v, m: attention(q, k, v, attn_mask=m > 0), QUERY + [(1, 8, 512, 64)] * 2 + [(1, 1, 1, 512)]),
}


@pytest.mark.parametrize("name", ONE_QUERY)
def test_one_query_is_two_launches(tmp_path, name):
    """Parts of the keys, and what puts them together."""
    function, shapes = ONE_QUERY[name]
    text, _ = compiled_text(function, tensors(*shapes))
    for chip in chips_of(ONE_QUERY, name):
        assert launches(tmp_path, text, chip) == 2, chip


@pytest.mark.parametrize("causal", [False, True])
def test_what_training_keeps_is_no_launch_of_its_own(tmp_path, causal):
    """The logarithms of the sums, beside the result."""
    inputs = [x.requires_grad_() for x in tensors(*HEADS)]
    text, _ = compiled_text(lambda q, k, v: attention(q, k, v, is_causal=causal), inputs, training=True)
    assert "math.log" in text and "tensor<1x128x2xf32>" in text.split("return ")[-1]
    for chip in chips_of([False, True], causal):
        assert launches(tmp_path, text, chip) == 1, chip


# Attention, shapes, type. One launch is for the gradients of queries, the other for those of keys and values.
GRADIENTS = {
    "causal": (lambda q, k, v: attention(q, k, v, is_causal=True), HEADS, HALF),
    "197 tokens": (lambda q, k, v: attention(q, k, v), [(1, 1, 197, 64)] * 3, HALF),
    "more keys": (lambda q, k, v: attention(q, k, v), [(1, 1, 128, 64)] + [(1, 1, 192, 64)] * 2, torch.bfloat16),
}


@pytest.mark.parametrize("name", [name for name in GRADIENTS if FULL or name != "197 tokens"])
def test_gradients_of_attention_are_two_launches(tmp_path, name):
    """Both compute the scores again, and none of their arrays is in memory."""
    function, shapes, dtype = GRADIENTS[name]
    inputs = [x.to(dtype).requires_grad_() for x in tensors(*shapes)]
    text, got = compiled_text(function, inputs, training=True, backward=True)
    doubles = [x.detach().double().requires_grad_() for x in inputs]
    out = function(*doubles)
    for mine, wanted in zip(got, torch.autograd.grad(out, doubles, torch.linspace(-1, 1, out.numel()).view(out.shape).to(dtype).double())):
        assert (mine.double() - wanted).abs().max() < (4e-3 if dtype is HALF else 3e-2)
    for chip in chips_of(GRADIENTS, name):
        assert launches(tmp_path, text, chip) == 2, chip


# Function, shapes, which dimension of each input is dynamic, and sizes: of no tile, of whole tiles, less than one, none.
DYNAMIC = {
    "tokens": (lambda q, k, v: attention(q, k, v), PATCHES, (2, 2, 2), [(197, 300), (64, 128), (1, 5), (5, 0), (0, 5)]),
    "causal tokens": (lambda q, k, v: attention(q, k, v, is_causal=True), PATCHES, (2, 2, 2), [(197, 197), (300, 128), (3, 3)]),
    "mask": (lambda q, k, v, m: attention(q, k, v, attn_mask=m > 0), [*PATCHES, (1, 1, 197, 197)], (2, 2, 2, (2, 3)),
             [(70, 197), (128, 256)]),
    "batch": (lambda q, k, v: attention(q, k, v), [(2, 3, 128, 64)] * 3, (0, 0, 0), [(1,), (3,)]),
}


@pytest.mark.parametrize("name", [name for name in DYNAMIC if FULL or name != "tokens"])  # CI: causal ones
def test_one_launch_for_all_sizes(tmp_path, name):
    function, shapes, dimensions, sizes = DYNAMIC[name]
    inputs = tensors(*shapes)
    for x, dimension in zip(inputs, dimensions):
        torch._dynamo.mark_dynamic(x, dimension)
    text, _ = compiled_text(function, inputs, dynamic=True)
    assert "x?x" in text.split("->")[0] or "<?x" in text.split("->")[0]
    for i, each in enumerate(sizes):
        for chip in chips_of(DYNAMIC, name, i):
            assert launches(tmp_path, text, chip, each) == min(1, each[0]), (chip, each)  # nothing to compute: no launch


def targets():
    """Classes of 128 rows, some of which do not count."""
    torch.manual_seed(3)
    at = torch.randint(0, 512, (128,))
    at[::5] = -100
    return at


# Function, shapes, launches forward and backward: one over rows and one of their sums.
LOSSES = {
    "mean": (lambda x, t: nn.functional.cross_entropy(x, t), [(128, 512)], 2, 2),
    "sum": (lambda x, t: nn.functional.cross_entropy(x, t, reduction="sum"), [(128, 512)], 2, 2),
    "none": (lambda x, t: nn.functional.cross_entropy(x, t, reduction="none"), [(128, 512)], 2, 2),
    "log of probabilities": (lambda x, t: nn.functional.nll_loss(torch.log_softmax(x, -1), t), [(128, 512)], 2, 2),
    "element": (lambda x, t: torch.log_softmax(x, -1).gather(1, t.clamp(0)[:, None]), [(128, 512)], 2, 4),  # backward adds at indices, in a loop
}


@pytest.mark.parametrize("name", [name for name in LOSSES if FULL or name != "sum"])
def test_losses_are_launches_over_rows_and_their_sums(tmp_path, name):
    """The target's logit is a term of the launch over its row; the second launch sums over rows, and finds targets out of range."""
    function, shapes, forward, backward = LOSSES[name]
    at = targets()
    inputs = [x.float().requires_grad_() for x in tensors(*shapes)]
    doubles = [x.detach().double().requires_grad_() for x in inputs]
    wanted = function(*doubles, at)
    gradients = torch.autograd.grad(wanted, doubles, torch.linspace(-1, 1, wanted.numel()).view(wanted.shape).double())
    text, got = compiled_text(lambda *x: function(*x, at), inputs)
    assert (got.double() - wanted).abs().max() < 1e-5 * wanted.abs().max()
    back, got = compiled_text(lambda *x: function(*x, at), inputs, training=True, backward=True)
    for mine, expected in zip(got, gradients, strict=True):
        assert (mine.double() - expected).abs().max() < 1e-5
    for chip in chips_of(LOSSES, name):
        assert launches(tmp_path, text, chip) <= forward, chip
        assert launches(tmp_path, back, chip) <= backward, chip


# Function, shapes: one launch over rows for the gradient of the input, two for sums over rows in parts.
NORMS = {
    "layer norm": (lambda x, w, b: nn.functional.layer_norm(x, (512,), w, b), [(128, 512), (512,), (512,)]),
    "layer norm of short rows": (lambda x, w, b: nn.functional.layer_norm(x, (96,), w, b), [(2, 50, 96), (96,), (96,)]),
    "RMS norm": (lambda x, w: nn.functional.rms_norm(x, (512,), w), [(128, 512), (512,)]),
}


@pytest.mark.parametrize("name", NORMS)
def test_gradients_of_norms_are_three_launches(tmp_path, name):
    function, shapes = NORMS[name]
    inputs = [x.requires_grad_() for x in tensors(*shapes)]
    text, got = compiled_text(function, inputs, training=True, backward=True)
    doubles = [x.detach().double().requires_grad_() for x in inputs]
    out = function(*doubles)
    for mine, wanted in zip(got, torch.autograd.grad(out, doubles, torch.linspace(-1, 1, out.numel()).view(out.shape).half().double()),
                            strict=True):
        assert (mine.double() - wanted).abs().max() < 2e-3 * max(1, wanted.abs().max())
    for chip in chips_of(NORMS, name):
        assert launches(tmp_path, text, chip) <= 3, chip


#: Layers of BERT's kind whose queries, keys and values are one product, or three, which are one launch.
PRODUCTS = {"one": (lambda: networks.Block(128, 2, before=False), 7), "three": (Layer, 7)}


@pytest.mark.parametrize("products", PRODUCTS if FULL else ["three"])
def test_launches_of_a_layer(tmp_path, products):
    torch.manual_seed(3)
    model, most = PRODUCTS[products]
    text, _ = compiled_text(model().to(HALF), [torch.randn(1, 128, 128, dtype=HALF)])
    assert launches(tmp_path, text, "nvidia:H200") <= most


#: On MI300X the map after attention of dynamic sizes is a launch of its own.
MORE = {(next(name for name in LAYERS if "LLaMA" in name), "amd:MI300X"): 1}


@pytest.mark.parametrize("name", [name for name in LAYERS if FULL or name != "GPT-2"])  # CI: BERT and LLaMA
def test_layers_of_any_batch_and_length_are_no_more_launches(tmp_path, name):
    """Of [batch, tokens, features], whose products are of [batch tokens, features]."""
    torch.manual_seed(3)
    model, x = LAYERS[name]().eval(), torch.randn(2, 64, 128)
    with torch.no_grad():
        wanted = copy.deepcopy(model).double()(x.double())
    texts = []
    for dimensions in ((), (0,), (0, 1)) if FULL else ((), (0, 1)):
        for dtype, bound in ((torch.float32, 1e-5), (HALF, 1e-2)) if FULL else ((HALF, 1e-2),):
            own = x.to(dtype, copy=True)
            for dimension in dimensions:
                torch._dynamo.mark_dynamic(own, dimension)
            text, got = compiled_text(copy.deepcopy(model).to(dtype), [own], dynamic=bool(dimensions))
            assert ("tensor<?x" in text.split("->")[0]) == bool(dimensions)
            assert (got.double() - wanted).abs().max() < bound
        texts.append(text)
    for chip in ("nvidia:H200", "amd:MI300X") if FULL else ("nvidia:H200",):
        known, *others = (launches_of_call(tmp_path, text, chip) for text in texts)
        assert max(others) <= known + MORE.get((name, chip), 0), (chip, known, others)


class Separable(nn.Module):
    """A depthwise convolution and a pointwise one."""

    def __init__(self):
        super().__init__()
        self.depthwise, self.pointwise = nn.Conv2d(64, 64, 3, 1, 1, groups=64), nn.Conv2d(64, 128, 1)

    def forward(self, x):
        return self.pointwise(torch.relu(self.depthwise(x)))


#: By their names in the table of docs/simt/padding.md: a module and the shape of its input.
PADDED = {
    "maximum of 3 x 3": (lambda: nn.MaxPool2d(3, 2, 1), (2, 8, 28, 28)),
    "mean of 3 x 3": (lambda: nn.AvgPool2d(3, 1, 1), (2, 8, 28, 28)),
    "mean of what is inside": (lambda: nn.AvgPool2d(3, 1, 1, count_include_pad=False), (2, 8, 28, 28)),
    "depthwise convolution": (lambda: nn.Conv2d(32, 32, 3, 1, 1, groups=32), (1, 32, 28, 28)),
    "depthwise and pointwise convolution": (Separable, (1, 64, 28, 28)),
    "first layers of ResNet": (lambda: nn.Sequential(nn.Conv2d(3, 32, 7, 2, 3), nn.ReLU(), nn.MaxPool2d(3, 2, 1)), (1, 3, 32, 32)),
    "ResNet of four blocks": (lambda: networks.resnet()[0], (1, 3, 32, 32)),
    "MobileNetV3 of three blocks": (lambda: networks.mobilenet()[0], (1, 3, 32, 32)),
}
#: Rows that take long to emulate.
LONG = {"ResNet of four blocks", "MobileNetV3 of three blocks"}


def documented_launches():
    """Of each row the launches with guarded reads."""
    page = (pathlib.Path(__file__).resolve().parents[3] / "docs/simt/padding.md").read_text()
    return {row[1]: int(row[3]) for row in re.finditer(r"^\| ([^|]+) \| (\d+) \| (\d+) \|$", page, re.MULTILINE)}


def test_table_of_padded_programs_is_complete():
    assert documented_launches().keys() == PADDED.keys()


@pytest.mark.parametrize("name", sorted(PADDED if FULL else PADDED.keys() - LONG))
def test_padding_is_no_launch(tmp_path, name):
    module, shape = PADDED[name]
    torch.manual_seed(3)
    model, x = module().eval().to(HALF), torch.randn(*shape, dtype=HALF)
    text, got = compiled_text(model, [x])
    with torch.no_grad():
        wanted = model(x)
    assert (got.double() - wanted.double()).abs().max() < 2e-2
    # Bounds of halves through a whole network are wider than its results.
    assert launches(tmp_path, text, "nvidia:H200", verify=name not in LONG) <= documented_launches()[name]
