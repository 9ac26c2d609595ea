"""`flex_attention`: scores and masks that are functions of the program, against float64."""

import json
import math
import subprocess

import launch_table
import pytest
import tilewright
import torch
from torch import nn
from torch.nn.attention import flex_attention as flex

import tilewright.torch

HEADS, TOKENS, FEATURES = 4, 96, 16
torch.manual_seed(3)
SLOPES, TABLE = torch.randn(HEADS), torch.randn(2 * TOKENS)
DOCUMENTS = torch.randint(0, 3, (TOKENS,)).sort().values

SCORES = {
    "plain": None,
    "slopes": lambda s, b, h, q, k: s + SLOPES[h] * (k - q),
    "cap": lambda s, b, h, q, k: 5 * torch.tanh(s / 5),
    "table": lambda s, b, h, q, k: s + TABLE[q - k + TOKENS],
}
MASKS = {
    "all": None,
    "causal": lambda b, h, q, k: q >= k,
    "window": lambda b, h, q, k: (q >= k) & (q - k < 24),
    "documents": lambda b, h, q, k: (DOCUMENTS[q] == DOCUMENTS[k]) & (q >= k),
    "empty rows": lambda b, h, q, k: (q >= k) & (q > 3),
}


def block_mask(name, tokens=TOKENS):
    return MASKS[name] and flex.create_block_mask(MASKS[name], None, None, tokens, tokens, device="cpu")


def compiled(function, **options):
    torch._dynamo.reset()
    return torch.compile(function, backend="tilewright", options={"strict": True, **options.pop("options", {})}, **options)


def operands(shared=HEADS, batch=1, dtype=torch.float32, tokens=TOKENS, **options):
    return [torch.randn(batch, heads, tokens, FEATURES, dtype=dtype, **options) for heads in (HEADS, shared, shared)]


def reference(q, k, v, score, mask, slopes=SLOPES):
    """(result, logarithms of the sums) in float64."""
    q, k, v = (x.double() for x in (q, k, v))
    k, v = (x.repeat_interleave(q.shape[1] // x.shape[1], 1) for x in (k, v))
    scores = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])
    m, n = torch.arange(q.shape[2])[:, None], torch.arange(k.shape[2])
    if score == "slopes":
        scores = scores + slopes[:, None, None] * (n - m)
    elif score == "cap":
        scores = 5 * torch.tanh(scores / 5)
    elif score == "table":
        scores = scores + TABLE[m - n + TOKENS]
    if mask != "all":
        scores = scores.masked_fill(~MASKS[mask](None, None, m, n), -math.inf)
    return scores.softmax(-1).nan_to_num(0) @ v, scores.logsumexp(-1)


CASES = [(score, "causal") for score in SCORES] + [("plain", mask) for mask in MASKS] + [("cap", "window"), ("table", "documents")]


@pytest.mark.parametrize("score, mask", CASES)
def test_scores_and_masks(score, mask):
    blocks = block_mask(mask)

    def f(q, k, v):
        result, more = flex.flex_attention(q, k, v, score_mod=SCORES[score], block_mask=blocks, return_aux=flex.AuxRequest(lse=True))
        return result, more.lse
    given = operands()
    with torch.no_grad():
        got = compiled(f)(*given)
    for g, w in zip(got, reference(*given, score, mask), strict=True):
        torch.testing.assert_close(g.double(), w, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("dtype, dynamic, freeze", [(torch.float32, True, False), (torch.bfloat16, False, True)])
def test_queries_that_share_keys(dtype, dynamic, freeze):
    blocks = block_mask("causal")
    given = operands(shared=2, batch=2, dtype=dtype)
    with torch.no_grad():
        got = compiled(lambda q, k, v: flex.flex_attention(q, k, v, score_mod=SCORES["cap"], block_mask=blocks, enable_gqa=True),
                       dynamic=dynamic, options={"freeze": freeze})(*given)
    near = 1e-5 if dtype == torch.float32 else 2e-2
    assert got.dtype == dtype
    torch.testing.assert_close(got.double(), reference(*given, "cap", "causal")[0], rtol=near, atol=near)


@pytest.mark.parametrize("shared, score", [(HEADS, "slopes"), (2, "cap")])
def test_gradients(shared, score, monkeypatch):
    """PyTorch refuses gradients on CPUs before any back end is asked; on other devices it does not."""
    monkeypatch.setattr(flex, "_validate_device", lambda *_: None)
    slopes = SLOPES.clone().requires_grad_()
    given = [*operands(shared, batch=2, requires_grad=True), slopes]
    blocks = block_mask("causal")

    def f(q, k, v, slopes):
        own = (lambda s, b, h, q, k: s + slopes[h] * (k - q)) if score == "slopes" else SCORES[score]
        return flex.flex_attention(q, k, v, score_mod=own, block_mask=blocks, enable_gqa=True)
    weights = torch.linspace(-1, 1, 2 * HEADS * TOKENS * FEATURES).view(2, HEADS, TOKENS, FEATURES)
    wide = [x.detach().double().requires_grad_() for x in given]
    want = torch.autograd.grad((reference(*wide[:3], score, "causal", wide[3])[0] * weights).sum(), wide, allow_unused=True)
    got = torch.autograd.grad((compiled(f)(*given) * weights).sum(), given, allow_unused=True)
    for g, w in zip(got, want, strict=True):
        assert (g is None) == (w is None)
        if w is not None:
            torch.testing.assert_close(g.double(), w, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("target, dtype", [("nvidia:H200", torch.float16), ("amd:MI300X", torch.float16)])
def test_on_emulated_devices(target, dtype):
    blocks = block_mask("window")
    given = operands(dtype=dtype)
    with torch.no_grad():
        got = compiled(lambda q, k, v: flex.flex_attention(q, k, v, score_mod=SCORES["cap"], block_mask=blocks),
                       options={"target": target, "device": "emulator"})(*given)
    torch.testing.assert_close(got.double(), reference(*given, "cap", "window")[0], rtol=4e-3, atol=4e-3)


class Attention(nn.Module):
    def __init__(self, score, mask, tokens=TOKENS):
        super().__init__()
        self.score, self.blocks = SCORES[score], block_mask(mask, tokens)

    def forward(self, q, k, v):
        return flex.flex_attention(q, k, v, score_mod=self.score, block_mask=self.blocks)


def test_one_launch(tmp_path):
    text = launch_table.text_of(Attention("cap", "window", 128), operands(dtype=torch.float16, tokens=128))
    for chip in ("nvidia:H200", "amd:MI300X"):
        assert launch_table.launches(tmp_path, text, chip) == 1


def test_masks_are_sets_of_steps(tmp_path):
    """Steps without a key that counts are not there, so that a chain is chosen and priced by those that are left."""
    def seconds(mask):
        (tmp_path / "p.mlir").write_text(launch_table.text_of(Attention("plain", mask, 2048), operands(tokens=2048)))
        run = subprocess.run([launch_table.BUILD / "bin/tw-compile", tmp_path / "p.mlir", "--target", "cpu:zen4", "--explain=json", "-o",
                              tmp_path / "p.o"], check=True, capture_output=True, text=True)
        chain, = [d["choice"] for d in json.loads(run.stdout) if d["decision"] == "schedule-chain"]
        return chain["seconds"], chain.get("passes")
    (every, _), (causal, *passes), (window, *others) = map(seconds, ("all", "causal", "window"))
    assert passes == others == [1] and causal < 0.7 * every and window < 0.25 * every


def test_packages(tmp_path):
    given = operands()
    exported = torch.export.export(Attention("slopes", "window"), tuple(given))
    before = str(exported.graph)
    tilewright.torch.export(exported, tuple(given), tmp_path / "a.tw")
    assert str(exported.graph) == before and not any("tilewright" in name for name, _ in exported.graph_module.named_modules())
    got = tilewright.load(tmp_path / "a.tw")(*(x.numpy() for x in given))
    torch.testing.assert_close(torch.as_tensor(got).double(), reference(*given, "slopes", "window")[0], rtol=1e-4, atol=1e-5)
