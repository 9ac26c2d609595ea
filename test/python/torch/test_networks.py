"""Networks with random weights: forward and backward compiled whole, without an operation that runs eagerly; the error against float64 at
most twice that of eager; one compilation for several batches."""

import copy
import functools
import sys

import pytest
import torch
from torch import nn

import tilewright.torch  # noqa: F401 (registers the back end)
from settings import FULL, SOURCE
from full_networks import LARGE
from networks import NETWORKS


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
#: Networks whose dynamic sizes PyTorch needs 20 seconds for: CI has them with static ones.
STATIC = set() if FULL else {"swin"}
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
    f = torch.compile(model, backend="tilewright", options={"strict": True}, dynamic=name not in STATIC, fullgraph=True)
    with torch.no_grad(), torch._dynamo.config.patch(error_on_recompile=True):
        for batch in (2,) if name in STATIC else (2, 3):
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


@pytest.mark.parametrize("name", NETWORKS if FULL else ["mixer"])
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


RECURRENT = {"gru": nn.GRU, "lstm": nn.LSTM, "tanh": nn.RNN, "relu": functools.partial(nn.RNN, nonlinearity="relu")}
TWO_LAYERS = {"num_layers": 2, "bidirectional": True, "batch_first": True}


@pytest.mark.skipif(not FULL, reason="a minute")
@pytest.mark.parametrize("name", ["resnet50", "bert_base"])
def test_second_process(name):
    """From the cache, what is not PyTorch's takes at most half a second."""
    sys.path.append(str(SOURCE / "test/benchmark"))
    import torch_networks
    _, again = torch_networks.first_calls([name], freeze=True)[name]["tilewright"]
    assert again["own"] <= 0.5


def results_of(y):
    out, state = y
    return [out, *(state if isinstance(state, tuple) else [state])]


ONE_LAYER = {"bias": False}
IN_CI = {kind: TWO_LAYERS if kind == "tanh" else ONE_LAYER for kind in RECURRENT}
CASES = [(kind, options) for kind in RECURRENT for options in (ONE_LAYER, TWO_LAYERS) if FULL or options is IN_CI[kind]]


@pytest.mark.parametrize("kind, options", CASES, ids=[f"{kind} {'one layer' if options is ONE_LAYER else 'two layers'}" for kind, options in CASES])
def test_recurrent_layers_stay_whole(kind, options, monkeypatch):
    """Results, last states and all gradients, of the input too; each layer and direction is one operation in both passes. One
    compilation serves several lengths; a single time is right, too."""
    from tilewright.torch import registry
    registry.load()
    calls = {"recurrent_layer": 0, "recurrent_layer_backward": 0}
    for name in calls:
        def counted(*args, name=name, emitter=registry.EMITTERS[f"tilewright::{name}"], **kwargs):
            calls[name] += 1
            return emitter(*args, **kwargs)
        monkeypatch.setitem(registry.EMITTERS, f"tilewright::{name}", counted)
    model = RECURRENT[kind](8, 16, **options)
    exact, eager = copy.deepcopy(model).double(), copy.deepcopy(model)
    dynamic = options is TWO_LAYERS
    f = torch.compile(model, backend="tilewright", options={"strict": True}, fullgraph=True, dynamic=dynamic)

    def run(call, module, x):
        x = x.detach().requires_grad_()
        module.zero_grad()
        made = results_of(call(x))
        sum((v * (i + 1)).sin().mean() for i, v in enumerate(made)).backward()
        return [v.detach() for v in made], [x.grad, *(p.grad for p in module.parameters())]
    for time in (5, 7) if dynamic else (5,):
        x = torch.randn(3, time, 8) if "batch_first" in options else torch.randn(time, 3, 8)
        for got, want, reference, what in zip(run(f, model, x), run(eager, eager, x), run(exact, exact, x.double()), ("result", "gradient")):
            verify(got, want, reference, what)
    assert calls["recurrent_layer"] > 0 and calls["recurrent_layer_backward"] > 0
    with torch.no_grad():
        x = torch.randn(1, 1, 8)
        verify(results_of(f(x)), results_of(eager(x)), results_of(exact(x.double())), "result")


@pytest.mark.parametrize("kind", RECURRENT)
def test_recurrent_layers_in_eager(kind):
    """The kernels for graphs of which a part runs eagerly are PyTorch's layers, gradients too."""
    from tilewright.torch import recurrent
    recurrent.define()
    model, x = RECURRENT[kind](4, 6, **TWO_LAYERS).double(), torch.randn(2, 5, 4, dtype=torch.float64)
    states = [torch.randn(4, 2, 6, dtype=torch.float64) for _ in range(2 if kind == "lstm" else 1)]
    function = {"gru": torch.gru, "lstm": torch.lstm, "tanh": torch.rnn_tanh, "relu": torch.rnn_relu}[kind]

    def run(call):
        leaves = [v.detach().requires_grad_() for v in (x, *states, *model.parameters())]
        x_, states_, weights = leaves[0], leaves[1:1 + len(states)], leaves[1 + len(states):]
        made = call(x_, tuple(states_) if kind == "lstm" else states_[0], weights, True, 2, 0.0, False, True, True)
        return [*made, *torch.autograd.grad(sum((v * (i + 1)).sin().sum() for i, v in enumerate(made)), leaves)]
    for got, want in zip(run(recurrent.WHOLE[function]), run(function), strict=True):
        torch.testing.assert_close(got, want, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("name", BACKWARD if FULL else ["gpt2"])  # CI: convolutions in test_channels_last.py
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
