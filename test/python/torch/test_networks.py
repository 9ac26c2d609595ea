"""Networks with random weights: forward and backward compiled whole, without an operation that runs eagerly; the error against float64 at
most twice that of eager; one compilation for several batches."""

import copy

import pytest
import torch

import tilewright.torch  # noqa: F401 (registers the back end)
from settings import FULL
from networks import NETWORKS


def as_list(result):
    return list(result) if isinstance(result, (tuple, list)) else [result]


def doubled(values):
    return [v.double() if v.is_floating_point() else v for v in values]


def verify(got, want, reference, what):
    """No farther from float64 than twice eager's distance, and a few roundings of the largest element of all (a gradient may be exactly 0)."""
    scale = max(r.abs().max() for r in reference)
    for i, (g, w, r) in enumerate(zip(got, want, reference, strict=True)):
        assert (g.shape, g.dtype, g.stride()) == (w.shape, w.dtype, w.stride()), what
        ours, theirs = (g - r).abs().max(), (w - r).abs().max()
        limit = 2 * theirs + 8 * torch.finfo(g.dtype).eps * scale
        assert ours <= limit, f"{what} {i}: error {ours:.3g}, eager's {theirs:.3g}, scale {scale:.3g}"


def build(name):
    torch.manual_seed(1)
    model, arguments = NETWORKS[name]()
    return model, arguments


#: What CI takes; the full mode takes all.
FORWARD = NETWORKS if FULL else ["resnet", "swin", "llama"]
BACKWARD = ["resnet", "mobilenet", "unet", "vit", "bert", "gpt2", "llama", "lstm_cell", "mixer", "dlrm", "autoencoder", "convnext"]


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


@pytest.mark.parametrize("options", [{}, {"num_layers": 2, "bidirectional": True, "batch_first": True}])
def test_lstm_layers_stay_whole(options):
    """Inference alone; with gradients they run eagerly."""
    model = torch.nn.LSTM(8, 16, **options)
    exact, x = copy.deepcopy(model).double(), torch.randn(3, 5, 8)
    with torch.no_grad(), torch._dynamo.config.patch(allow_rnn=True):
        results = [[y, *state] for y, state in (
            torch.compile(model, backend="tilewright", options={"strict": True})(x), model(x), exact(x.double()))]
    verify(*results, "result")


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
