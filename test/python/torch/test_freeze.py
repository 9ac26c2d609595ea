"""`options={"freeze": True}`: numbers, what is computed once, when it is computed again, and where it is refused."""

import copy

import pytest
import torch
from torch import nn

import tilewright.torch  # noqa: F401 (registers the back end)
from tilewright.torch import freeze


def frozen(model, **options):
    return torch.compile(model, backend="tilewright", options={"strict": True, "freeze": True, **options}, fullgraph=True)


def small():
    model = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1, bias=False), nn.BatchNorm2d(8), nn.ReLU(), nn.Conv2d(8, 4, 3, groups=2),
                          nn.BatchNorm2d(4, affine=False)).eval()
    for norm in (model[1], model[4]):
        norm.running_mean.normal_()
        norm.running_var.uniform_(0.5, 2)
    nn.init.normal_(model[1].weight)
    return model, torch.randn(2, 3, 8, 8)


def error(got, exact):
    distance = (got - exact).abs().max() / exact.abs().max()
    assert not distance.isnan()
    return distance


def test_batch_norms_are_folded(monkeypatch):
    model, x = small()
    parts = []
    whole = freeze.split

    def seen(module, fold):
        constants, inputs = whole(module, fold)
        parts.append((constants, [str(n.target) for n in module.graph.nodes]))
        return constants, inputs
    monkeypatch.setattr(freeze, "split", seen)
    with torch.no_grad():
        got, exact = frozen(model)(x), copy.deepcopy(model).double()(x.double())
        assert error(got, exact) <= 2 * error(model(x), exact) + 8 * torch.finfo(torch.float32).eps
    (constants, rest), = parts
    assert constants is not None
    assert not any("batch_norm" in target for target in rest) and sum("convolution" in target for target in rest) == 2


@pytest.mark.parametrize("write", [
    lambda m: m[0].weight.mul_(2), lambda m: m[4].running_mean.add_(1), lambda m: m[1].load_state_dict(
        {**m[1].state_dict(), "bias": torch.ones(8)}), lambda m: setattr(m[0].weight, "data", torch.ones(8, 3, 3, 3))])
def test_a_weight_that_is_written_to_is_read_again(write):
    model, x = small()
    f = frozen(model)
    with torch.no_grad():
        before = f(x)
        write(model)
        got, exact = f(x), copy.deepcopy(model).double()(x.double())
    assert error(got, exact) < 1e-5 < error(before, exact)


def test_the_constant_part_runs_once(monkeypatch):
    calls = []
    compute = freeze.Held.__init__

    def counted(self, run):
        compute(self, lambda args: calls.append(1) or run(args))
    monkeypatch.setattr(freeze.Held, "__init__", counted)
    model, x = small()
    f = frozen(model)
    with torch.no_grad():
        results = [f(x) for _ in range(3)]
    assert len(calls) == 1
    assert torch.equal(results[0], results[2])


@pytest.mark.parametrize("fp, programs", [("default", 1), ("reproducible", 2)])
def test_the_constant_part_is_compiled_where_sums_have_an_order(fp, programs, monkeypatch):
    import sys
    backend = sys.modules["tilewright.torch.backend"]
    compile_program, texts = backend.compile_program, []
    monkeypatch.setattr(backend, "compile_program", lambda text, options: texts.append(text) or compile_program(text, options))
    model, x = small()
    with torch.no_grad():
        assert error(frozen(model, fp=fp)(x), copy.deepcopy(model).double()(x.double())) < 1e-5
    assert len(texts) == programs


def test_computed_values_lie_as_the_graph_says():
    graph = torch.fx.Graph()
    weight = graph.placeholder("weight")
    copied = graph.call_function(torch.ops.aten.clone.default, (weight,))
    copied.meta["val"] = torch.empty_strided((4, 1, 3), (1, 12, 4))
    graph.output([copied])
    value = torch.arange(12.0).view(4, 1, 3)
    with torch.inference_mode():
        (got,) = freeze.computed(graph)([value])
    assert got.stride() == (1, 12, 4) and torch.equal(got, value) and not got.is_inference()


def test_gradients_are_refused():
    model, x = small()
    with pytest.raises(Exception, match="torch.no_grad"):
        frozen(model)(x)


def test_nothing_to_hold():
    with torch.no_grad():
        x = torch.randn(5)
        torch.testing.assert_close(frozen(lambda x: x.exp() + 1)(x), x.exp() + 1)


def test_strict_arithmetic_folds_nothing():
    model, x = small()
    with torch.no_grad():
        exact = copy.deepcopy(model).double()(x.double())
        assert error(frozen(model, fp="strict")(x), exact) < 1e-5


def test_weights_of_products_are_packed_once(monkeypatch):
    """A linear layer whose weight lies along the summed dimension: the program has a bound input, which follows from the weight alone,
    and is made anew when that is written to, also where the weight is a view that is not dense."""
    import tilewright.torch.launch as launch
    made = []
    whole = launch.bound_address

    def seen(source, program, inputs):
        address = whole(source, program, inputs)
        made.append((program.signature.bind, program.signature.bind_inputs, len(address)))
        return address
    monkeypatch.setattr(launch, "bound_address", seen)
    torch.manual_seed(5)
    model = torch.nn.Sequential(torch.nn.Linear(512, 384), torch.nn.ReLU(), torch.nn.Linear(384, 256, bias=False)).eval()
    model[2].weight = torch.nn.Parameter(torch.randn(256, 768)[:, ::2] / 20)
    x = torch.randn(64, 512)
    f = frozen(model)
    with torch.no_grad():
        for _ in range(2):
            assert error(f(x), copy.deepcopy(model).double()(x.double())) < 1e-5
        model[0].weight.mul_(1.5)
        assert error(f(x), copy.deepcopy(model).double()(x.double())) < 1e-5
    assert len(made) == 1
    bind, inputs, addresses = made[0]
    assert addresses == 1 and len(inputs) == 2 and bind.results[0].fixed[0] >= 4 * (512 * 384 + 384 * 256)


def test_nothing_is_packed_before_without_freeze(monkeypatch):
    import tilewright.torch.launch as launch
    made = []
    whole = launch.bound_address
    monkeypatch.setattr(launch, "bound_address", lambda *args: made.append(args[1].signature.bind) or whole(*args))
    model, x = torch.nn.Linear(512, 384).eval(), torch.randn(64, 512)
    f = torch.compile(model, backend="tilewright", options={"strict": True}, fullgraph=True)
    with torch.no_grad():
        f(x)
    assert made == [None]
