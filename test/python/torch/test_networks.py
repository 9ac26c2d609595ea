"""Networks with random weights: forward and backward compiled whole, without an operation that runs eagerly; the error against float64 at
most twice that of eager; one compilation for several batches."""

import copy

import pytest
import torch

import tilewright.torch  # noqa: F401 (registers the back end)
from settings import FULL
from networks import LARGE, NETWORKS


def as_list(result):
    return list(result) if isinstance(result, (tuple, list)) else [result]


def doubled(values):
    return [v.double() if v.is_floating_point() else v for v in values]


def verify(got, want, reference, what, computed=None):
    """No farther from float64 than twice eager's distance, and a few roundings of the largest element of all (a gradient may be exactly 0),
    in the type that is computed in, if that is not the results'."""
    scale = max(r.abs().max() for r in reference)
    for i, (g, w, r) in enumerate(zip(got, want, reference, strict=True)):
        assert (g.shape, g.dtype, g.stride()) == (w.shape, w.dtype, w.stride()), what
        ours, theirs = (g - r).abs().max(), (w - r).abs().max()
        limit = 2 * theirs + 8 * torch.finfo(computed or g.dtype).eps * scale
        assert ours <= limit, f"{what} {i}: error {ours:.3g}, eager's {theirs:.3g}, scale {scale:.3g}"


def build(name):
    torch.manual_seed(1)
    model, arguments = {**NETWORKS, **LARGE}[name]()
    return model, arguments


#: What CI takes; the full mode takes all.
FORWARD = NETWORKS if FULL else ["resnet", "swin", "llama"]
BACKWARD = ["resnet", "mobilenet", "unet", "vit", "bert", "gpt2", "llama", "lstm", "gru", "lstm_cell", "mixer", "dlrm", "autoencoder",
            "convnext", "efficientnet", "t5", "wavenet", "swin", "densenet", "diffusion"]


@pytest.fixture(autouse=True)
def whole_recurrent_layers():
    with torch._dynamo.config.patch(allow_rnn=True):
        yield


@pytest.mark.parametrize("name", FORWARD)
def test_forward(name):
    model, arguments = build(name)
    model.eval()
    exact = copy.deepcopy(model).double()
    f = torch.compile(model, backend="tilewright", options={"strict": True}, dynamic=True, fullgraph=True)
    with torch.no_grad(), torch._dynamo.config.patch(error_on_recompile=True):
        for batch in (2, 3):
            values = arguments(batch)
            verify(as_list(f(*values)), as_list(model(*values)), as_list(exact(*doubled(values))), "result")


#: Arguments of other lengths, for a batch of 2. (Images stay square: PyTorch takes equal sizes of the first call for one.)
LONGER = {
    "bert": lambda: [torch.randint(1, 100, (2, 15)), torch.randint(0, 2, (2, 15)), torch.ones(2, 15, dtype=torch.int64)],
    "gpt2": lambda: [torch.randint(0, 100, (2, 21))],
    "llama": lambda: [torch.randint(0, 100, (2, 21))],
    "t5": lambda: [torch.randint(0, 100, (2, 14)), torch.randint(0, 100, (2, 9))],
    "wavenet": lambda: [torch.randn(2, 1, 37)],
    "resnet": lambda: [torch.randn(2, 3, 48, 48)],
}


@pytest.mark.parametrize("name", LONGER if FULL else ["wavenet"])
def test_lengths(name):
    """One compilation serves other lengths as well."""
    model, arguments = build(name)
    model.eval()
    exact = copy.deepcopy(model).double()
    f = torch.compile(model, backend="tilewright", options={"strict": True}, dynamic=True, fullgraph=True)
    with torch.no_grad(), torch._dynamo.config.patch(error_on_recompile=True):
        for values in (arguments(2), LONGER[name]()):
            verify(as_list(f(*values)), as_list(model(*values)), as_list(exact(*doubled(values))), "result")


@pytest.mark.parametrize("name", [n for n in NETWORKS if n not in ("lstm", "gru")] if FULL else ["mixer"])
def test_autocast(name):
    """AMP: products in bf16, the rest as PyTorch's list of operations says."""
    model, arguments = build(name)
    model.eval()
    exact = copy.deepcopy(model).double()
    f = torch.compile(model, backend="tilewright", options={"strict": True}, fullgraph=True)
    values = arguments(2)
    with torch.no_grad():
        reference = as_list(exact(*doubled(values)))
        with torch.autocast("cpu", torch.bfloat16):
            got, want = as_list(f(*values)), as_list(model(*values))
    verify(got, want, reference, "result", torch.bfloat16)


@pytest.mark.skipif(not FULL, reason="minutes")
@pytest.mark.parametrize("name", LARGE)
def test_full_size(name):
    model, arguments = build(name)
    model.eval()
    exact = copy.deepcopy(model).double()
    values = arguments(1)
    f = torch.compile(model, backend="tilewright", options={"strict": True}, fullgraph=True)
    with torch.no_grad():
        verify(as_list(f(*values)), as_list(model(*values)), as_list(exact(*doubled(values))), "result")


@pytest.mark.parametrize("options", [{}, {"num_layers": 2, "bidirectional": True, "batch_first": True}])
def test_lstm_layers_stay_whole(options):
    model = torch.nn.LSTM(8, 16, **options)
    exact, x = copy.deepcopy(model).double(), torch.randn(3, 5, 8)
    with torch.no_grad(), torch._dynamo.config.patch(allow_rnn=True):
        results = [[y, *state] for y, state in (
            torch.compile(model, backend="tilewright", options={"strict": True})(x), model(x), exact(x.double()))]
    verify(*results, "result")


@pytest.mark.parametrize("options", [{"bias": False}, {"bidirectional": True, "batch_first": True}])
def test_gradients_of_lstm_layers(options, monkeypatch):
    """Of results and last states; the layer stays whole in both passes."""
    from tilewright.torch import registry
    registry.load()
    name, calls = "aten::mkldnn_rnn_layer_backward", []
    emitter = registry.EMITTERS[name]
    monkeypatch.setitem(registry.EMITTERS, name, lambda *a, **k: calls.append(1) or emitter(*a, **k))
    model = torch.nn.LSTM(8, 16, **options)
    x = torch.randn(3, 5, 8)

    def gradients(call, module, x):
        y, (h, c) = call(x)
        (y.square().mean() + h.sin().mean() + c.exp().mean()).backward()
        return [p.grad for p in module.parameters()]
    exact, eager = copy.deepcopy(model).double(), copy.deepcopy(model)
    got = gradients(torch.compile(model, backend="tilewright", options={"strict": True}, fullgraph=True), model, x)
    assert calls
    verify(got, gradients(eager, eager, x), gradients(exact, exact, x.double()), "gradient")


@pytest.mark.parametrize("name", BACKWARD if FULL else ["unet", "gpt2"])
def test_backward(name):
    model, arguments = build(name)
    exact = copy.deepcopy(model).double()
    eager = copy.deepcopy(model)
    values = arguments(2)
    f = torch.compile(model, backend="tilewright", options={"strict": True}, fullgraph=True)

    def gradients(call, module, values):
        sum(r.square().mean() for r in as_list(call(*values))).backward()
        return [p.grad for p in module.parameters() if p.grad is not None] + [b for b in module.buffers() if b.is_floating_point()]
    got, want = gradients(f, model, values), gradients(eager, eager, values)
    verify(got, want, gradients(exact, exact, doubled(values)), "gradient")
