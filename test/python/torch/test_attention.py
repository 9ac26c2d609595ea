"""Forms of scaled_dot_product_attention that PyTorch takes apart: each arrives at the importer as one operation, in eager's layout, and
agrees with float64; what is left to PyTorch agrees, too."""

import collections
import math

import pytest
import torch
import tilewright.torch  # noqa: F401: the back end
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.functional import scaled_dot_product_attention as attention
from settings import FULL
from tilewright.torch import registry

WHOLE = ("tilewright::attention", "aten::_scaled_dot_product_flash_attention_for_cpu")
TOLERANCE = {torch.float64: 1e-12, torch.float32: 5e-6, torch.float16: 4e-3, torch.bfloat16: 4e-2}
OTHER = [(2, 3, 9, 8), (2, 3, 7, 8), (2, 3, 7, 5)]
GROUPS = [(2, 6, 9, 8), (2, 2, 7, 8), (2, 2, 7, 5)]


def visible(*shape):
    """A mask of booleans with a row that sees nothing."""
    mask = torch.randn(*shape) > 0
    mask[..., 1, :] = False
    return mask


def hidden(*shape):
    return torch.randn(*shape).masked_fill(~visible(*shape), -math.inf)


def transposed(q, k, v):
    """Heads next to features, and the view of the result that needs eager's layout."""
    return attention(*(x.transpose(1, 2) for x in (q, k, v))).flatten(0, 2)


# Function, shapes of queries, keys and values, and the mask.
FORMS = {
    "other features": (attention, OTHER, None),
    "causal": (lambda q, k, v: attention(q, k, v, is_causal=True), OTHER, None),
    "scale": (lambda q, k, v: attention(query=q, key=k, value=v, scale=-0.3), OTHER, None),
    "transposed": (transposed, [(2, 9, 3, 8), (2, 7, 3, 8), (2, 7, 3, 5)], None),
    "transposed last": (lambda q, k, v: attention(q.mT, k, v), [(2, 3, 8, 9), *OTHER[1:]], None),
    "booleans": (attention, OTHER, lambda: visible(9, 7)),
    "booleans of a batch": (attention, OTHER, lambda: torch.arange(7) < torch.tensor([5, 3])[:, None, None, None]),
    "added": (attention, OTHER, lambda: hidden(2, 1, 9, 7)),
    "mask of heads": (attention, [(2, 3, 9, 8)] * 3, lambda: hidden(3, 9, 9)),
    "groups": (lambda q, k, v: attention(q, k, v, enable_gqa=True), GROUPS, None),
    "groups, mask": (lambda q, k, v, m: attention(q, k, v, m, enable_gqa=True), GROUPS, lambda: visible(2, 6, 9, 7)),
    "groups, three dimensions": (lambda q, k, v: attention(q, k, v, enable_gqa=True), [s[1:] for s in GROUPS], None),
    "groups, five dimensions": (lambda q, k, v: attention(q, k, v, is_causal=True, enable_gqa=True), [(2, *s) for s in GROUPS], None),
    "two dimensions": (attention, [s[2:] for s in OTHER], None),
    "three dimensions": (attention, [(3, 9, 8), (3, 7, 8), (3, 7, 8)], lambda: visible(9, 7)),
    "five dimensions": (attention, [(3, 2, 2, 7, 8)] * 3, lambda: visible(2, 1, 7, 7)),
    "five dimensions, mask of each": (attention, [(3, 2, 2, 7, 8)] * 3, lambda: hidden(3, 1, 2, 7, 7)),
    "keys of one head": (attention, [(2, 6, 9, 8), (2, 1, 7, 8), (2, 1, 7, 8)], None),
    "keys for all of a batch": (attention, [(2, 3, 9, 8), (1, 3, 7, 8), (1, 1, 7, 8)], None),
    "queries for all of a batch": (attention, [(3, 9, 8), (2, 3, 7, 8), (2, 3, 7, 5)], None),
}


def tensors(shapes, mask, dtype=torch.float32):
    torch.manual_seed(4)
    inputs = [torch.randn(*shape).to(dtype) for shape in shapes]
    return inputs + ([mask()] if mask else [])


@pytest.fixture
def calls(monkeypatch):
    """How often each emitter has written."""
    registry.load()
    counts = collections.Counter()

    def counted(name, emitter):
        def run(*args, **kwargs):
            counts[name] += 1
            return emitter(*args, **kwargs)
        return run
    for name, emitter in list(registry.EMITTERS.items()):
        monkeypatch.setitem(registry.EMITTERS, name, counted(name, emitter))
    return counts


def wide(x):
    return x.detach().double() if x.is_floating_point() else x


def compare(function, inputs, learned=(), **options):
    """Result and gradients beside float64; the layout beside eager's."""
    for i in learned:
        inputs[i].requires_grad_()
    exact = [wide(x).requires_grad_(x.requires_grad) for x in inputs]
    got = torch.compile(function, backend="tilewright", options={"strict": True}, **options)(*inputs)
    wanted, eager = function(*exact), function(*inputs)
    assert (got.dtype, got.shape, got.stride()) == (eager.dtype, eager.shape, eager.stride())
    pairs = [(got, wanted)]
    if learned:
        gradient = torch.randn(wanted.shape).to(got.dtype)
        pairs += zip(torch.autograd.grad(got, [inputs[i] for i in learned], gradient),
                     torch.autograd.grad(wanted, [exact[i] for i in learned], gradient.double()), strict=True)
    for one, other in pairs:
        assert torch.isfinite(one).all()
        assert (one.double() - other).abs().max() <= TOLERANCE[got.dtype] * max(1, other.abs().max())


@pytest.mark.parametrize("name", FORMS)
def test_arrives_whole(calls, name):
    function, shapes, mask = FORMS[name]
    with torch.no_grad():
        compare(function, tensors(shapes, mask), dynamic=False)
    assert calls["tilewright::attention"] > 0 and not calls["aten::bmm"] and not calls["aten::_safe_softmax"]


@pytest.mark.parametrize("name", FORMS if FULL else [*FORMS][::2])
def test_gradients(calls, name):
    function, shapes, mask = FORMS[name]
    compare(function, tensors(shapes, mask), learned=(0, 1, 2), dynamic=False)
    assert calls["tilewright::attention_backward"] > 0 and not calls["aten::bmm"]


@pytest.mark.parametrize("dtype", TOLERANCE)
def test_types(calls, dtype):
    compare(attention, tensors(OTHER, lambda: torch.randn(9, 7).to(dtype), dtype), learned=(0, 1, 2), dynamic=False)
    assert calls["tilewright::attention"] > 0


@pytest.mark.parametrize("name", ["other features", "added", "groups", *(["booleans", "three dimensions", "five dimensions"] if FULL else [])])
def test_dynamic_sizes(calls, name):
    """All of them, the features too, of which the scale is made; the second call compiles nothing."""
    function, shapes, mask = FORMS[name]
    compiled = torch.compile(function, backend="tilewright", dynamic=True, options={"strict": True})
    with torch.no_grad():
        for more in (0, 2):
            sizes = [(*s[:-2], s[-2] + more, s[-1] + more) for s in shapes]
            given = (lambda: torch.nn.functional.pad(mask(), (0, more, 0, more))) if mask else None
            inputs = tensors(sizes, given)
            assert (compiled(*inputs).double() - function(*map(wide, inputs))).abs().max() < 5e-6
            written = written if more else calls["tilewright::attention"]
    assert written == calls["tilewright::attention"] > 0


def test_features_of_the_kernels_own_form_are_dynamic(calls):
    with torch.no_grad():
        compare(attention, tensors([(2, 3, 9, 8)] * 3, None), dynamic=True)
    assert calls["aten::_scaled_dot_product_flash_attention_for_cpu"] > 0


def test_exported(calls):
    """The same operation in a graph of torch.export, which is compiled as a module."""
    class Module(torch.nn.Module):
        def forward(self, q, k, v):
            return attention(q, k, v)
    inputs = tensors(OTHER, None)
    program = torch.export.export(Module(), tuple(inputs))
    with torch.no_grad():
        compare(program.module(), inputs)
    assert calls["tilewright::attention"] > 0


def test_inside_of_checkpoints(calls):
    def function(q, k, v):
        return torch.utils.checkpoint.checkpoint(lambda *x: attention(*x).sin(), q, k, v, use_reentrant=False)
    compare(function, tensors(OTHER, None), learned=(0, 1, 2))
    assert calls["tilewright::attention_backward"] > 0


def test_the_kernels_own_form_inside_of_checkpoints(calls):
    """PyTorch runs it under a saved state of the generator, for a dropout that is not there."""
    def function(q, k, v):
        return torch.utils.checkpoint.checkpoint(lambda *x: attention(*x).sin(), q, k, v, use_reentrant=False)
    compare(function, tensors([(2, 3, 9, 8)] * 3, None), learned=(0, 1, 2))
    assert calls["aten::_scaled_dot_product_flash_attention_for_cpu"] > 0


def test_autocast(calls):
    """Operands are narrow, the mask too, as autocast narrows them."""
    def function(*inputs):
        with torch.autocast("cpu", torch.bfloat16):
            return attention(*inputs)
    inputs = tensors(OTHER, lambda: torch.randn(9, 7))
    with torch.no_grad():
        got = torch.compile(function, backend="tilewright", options={"strict": True})(*inputs)
        wanted = function(*inputs)
    assert got.dtype == wanted.dtype == torch.bfloat16 and (got - wanted).abs().max() < 4e-2
    assert calls["tilewright::attention"] > 0


def by_kernel(q, k, v):
    with sdpa_kernel(SDPBackend.MATH):
        return attention(q, k, v)


# Function, shapes, mask, and which inputs have gradients.
APART = {
    "heads of keys and values differ": (lambda q, k, v: attention(q, k, v, enable_gqa=True), [(2, 6, 9, 8), (2, 2, 7, 8), (2, 3, 7, 8)],
                                        None, (0, 1, 2)),
    "gradient of the mask": (attention, OTHER, lambda: torch.randn(3, 9, 7), (0, 1, 2, 3)),
    "kernels turned off": (by_kernel, [(2, 3, 9, 8)] * 3, None, (0, 1, 2)),
    "vmap": (torch.vmap(attention, in_dims=(0, None, None)), [(4, 3, 9, 8), (3, 7, 8), (3, 7, 5)], None, (0, 1, 2)),
    "no keys": (attention, [(2, 3, 9, 8), (2, 3, 0, 8), (2, 3, 0, 5)], None, ()),
    "no features": (attention, [(2, 3, 9, 0), (2, 3, 7, 0), (2, 3, 7, 5)], None, ()),
}


@pytest.mark.parametrize("name", APART)
def test_left_to_pytorch(calls, name):
    function, shapes, mask, learned = APART[name]
    compare(function, tensors(shapes, mask), learned=learned, dynamic=False)
    assert not any(calls[each] for each in WHOLE)


def test_a_scale_of_features_whose_number_is_not_known_is_left_to_pytorch(calls):
    """The form that PyTorch writes out multiplies by a number that follows from a dynamic size; such products run eagerly."""
    def written_out(q, k, v):
        with sdpa_kernel(SDPBackend.MATH):
            return attention(q, k, v)
    inputs = tensors([(2, 3, 9, 8)] * 3, None)
    with torch.no_grad():
        got = torch.compile(written_out, backend="tilewright", dynamic=True)(*inputs)
        assert (got.double() - written_out(*map(wide, inputs))).abs().max() < 5e-6
    assert not any(calls[each] for each in WHOLE)


def test_dropout_is_left_to_pytorch(calls):
    """Half of the weights are 0, others twice as large."""
    q, k = torch.zeros(1, 1, 64, 8), torch.zeros(1, 1, 16, 8)
    compiled = torch.compile(lambda q, k, v: attention(q, k, v, dropout_p=0.5), backend="tilewright", dynamic=False)
    with torch.no_grad():
        weights = compiled(q, k, torch.eye(16)[None, None])
    assert set(weights.unique().tolist()) == {0.0, 0.125} and 0.3 < (weights > 0).float().mean() < 0.7
    assert not any(calls[each] for each in WHOLE)


def test_a_mask_that_learns_is_whole_where_nothing_learns(calls):
    with torch.no_grad():
        compare(attention, tensors(OTHER, lambda: torch.randn(3, 9, 7).requires_grad_()), dynamic=False)
    assert calls["tilewright::attention"] > 0


@pytest.mark.parametrize("causal, mask", [(False, None), (True, None), (False, visible), (False, hidden)])
def test_kernels(causal, mask):
    """What runs where a part of a graph runs eagerly, and the shapes and gradients that PyTorch's tracer sees."""
    registry.load()
    q, k, v = (torch.randn(*s, dtype=torch.float64, requires_grad=True) for s in GROUPS)
    given = (mask(2, 1, 9, 7).double() if mask is hidden else mask(1, 6, 9, 7)) if mask else None
    torch.library.opcheck(torch.ops.tilewright.attention.default, (q, k, v, given, causal, None))
    got, _ = torch.ops.tilewright.attention(q, k, v, given, causal, None)
    wanted = attention(q, k, v, given, is_causal=causal, enable_gqa=True)
    gradient = torch.randn_like(wanted)
    for one, other in zip((got, *torch.autograd.grad(got, (q, k, v), gradient)),
                          (wanted, *torch.autograd.grad(wanted, (q, k, v), gradient)), strict=True):
        assert (one - other).abs().max() < 1e-12
