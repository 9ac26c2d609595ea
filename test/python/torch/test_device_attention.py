"""The forms of attention that PyTorch chooses from on a GPU, on tensors of the host: they are compiled as the host's own form is."""

import pytest
import torch
import tilewright.torch  # noqa: F401: the back end
from tilewright.torch import decompositions

aten = torch.ops.aten
FORMS = {
    "efficient": lambda q, k, v, causal: aten._scaled_dot_product_efficient_attention(q, k, v, None, True, 0.0, causal)[0],
    "flash": lambda q, k, v, causal: aten._scaled_dot_product_flash_attention(q, k, v, 0.0, causal)[0],
    "cudnn": lambda q, k, v, causal: aten._scaled_dot_product_cudnn_attention(q, k, v, None, True, 0.0, causal)[0],
}


#: Values with other features than keys: for one form alone.
FEATURES = [(form, 8) for form in FORMS] + [("efficient", 5)]


def inputs(of_values=8):
    torch.manual_seed(1)
    return [torch.randn(2, 3, 17, features, dtype=torch.float32, requires_grad=True) for features in (8, 8, of_values)]


def expected(q, k, v, causal):
    return torch.nn.functional.scaled_dot_product_attention(*(x.double() for x in (q, k, v)), is_causal=causal)


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("form, features", FEATURES)
def test_forms_are_compiled(form, features, causal):
    compiled = torch.compile(lambda q, k, v: FORMS[form](q, k, v, causal), backend="tilewright", options={"strict": True})
    with torch.no_grad():
        q, k, v = inputs(features)
        assert (compiled(q, k, v).double() - expected(q, k, v, causal)).abs().max() < 1e-6


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("form, features", FEATURES)
def test_gradients(form, features, causal):
    q, k, v = inputs(features)
    out = expected(q, k, v, causal)
    gradient = torch.randn(out.shape, dtype=torch.float64)
    wanted = torch.autograd.grad(out, (q, k, v), gradient)
    with torch.no_grad():
        arguments = {"efficient": (None, True), "flash": (), "cudnn": (None, True)}[form]
        result, logs, *rest = getattr(decompositions, f"{form}_attention")(q, k, v, *arguments, 0.0, causal)
        backward = getattr(decompositions, f"{form}_attention_backward")
        g = gradient.float()
        got = {
            "efficient": lambda: backward(g, q, k, v, None, result, logs, *rest, 0.0, [True, True, True, False], causal),
            "flash": lambda: backward(g, q, k, v, result, logs, None, None, 17, 17, 0.0, causal, None, None),
            "cudnn": lambda: backward(g, q, k, v, result, logs, None, None, None, None, None, 17, 17, 0.0, causal),
        }[form]()
    for a, b in zip(got[:3], wanted, strict=True):
        assert (a.double() - b).abs().max() < 1e-5


def test_gradient_of_a_bias_is_refused():
    q, k, v = inputs()
    with pytest.raises(NotImplementedError, match="bias"):
        decompositions.efficient_attention_backward(q, q, k, v, q, q, q, None, None, 0.0, [True] * 4)


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("heads, shared", [(8, 2), (6, 1)])
def test_groups_of_heads(heads, shared, causal):
    """Several heads of queries share one of keys and values, whose gradients are summed over them."""
    torch.manual_seed(2)
    attention = torch.nn.functional.scaled_dot_product_attention
    compiled = torch.compile(lambda q, k, v: attention(q, k, v, is_causal=causal, enable_gqa=True), dynamic=False,
                             backend="tilewright", options={"strict": True})
    values = [torch.randn(2, each, 9, 8) for each in (heads, shared, shared)]
    ours, wide = [x.clone().requires_grad_() for x in values], [x.double().requires_grad_() for x in values]
    got, wanted = compiled(*ours), attention(*wide, is_causal=causal, enable_gqa=True)
    assert (got - wanted).abs().max() < 1e-6
    gradient = torch.randn_like(wanted)
    got.backward(gradient.float())
    wanted.backward(gradient)
    for one, other in zip(ours, wide):
        assert (one.grad - other.grad).abs().max() < 2e-5
