"""Every operation of PyTorch's own list of samples: compiled without falling back, and right; or named in not-compiled.txt."""

import pathlib
import warnings

import pytest
import torch

from settings import FULL

warnings.simplefilter("ignore")
common = pytest.importorskip("torch.testing._internal.common_methods_invocations", reason="PyTorch's samples need expecttest")
from op_samples import check, check_operation, samples_of  # noqa: E402

HERE = pathlib.Path(__file__).parent
NOT_COMPILED = set((HERE / "not-compiled.txt").read_text().split())

#: Results that no comparison with eager can judge: random numbers, memory without content.
WITHOUT_REFERENCE = {
    "bernoulli", "cauchy", "exponential", "geometric", "log_normal", "multinomial", "nn.functional.alpha_dropout",
    "nn.functional.dropout", "nn.functional.dropout2d", "nn.functional.dropout3d", "nn.functional.feature_alpha_dropout.with_train",
    "nn.functional.feature_alpha_dropout.without_train", "nn.functional.fractional_max_pool2d", "nn.functional.fractional_max_pool3d",
    "nn.functional.rrelu", "normal", "normal.in_place", "normal.number_mean", "rand_like", "randint", "randint_like", "randn", "randn_like",
    "uniform", "empty", "empty_like", "empty_permuted", "empty_strided", "new_empty", "new_empty_strided",
    "nn.functional.multi_head_attention_forward", "nn.functional.scaled_dot_product_attention",
}

#: Operations of which some samples are not compiled, with words of the reason.
PARTLY = {
    "argsort": "sorting rows", "as_strided.partial_views": "outside", "index_put": "booleans", "linalg.matrix_power": "linalg_inv_ex",
    "linalg.matrix_rank": "linalg_svd", "linalg.matrix_rank.hermitian": "linalg_eigh", "msort": "sorting rows",
    "nn.functional.linear_cross_entropy.chunked": "chunked", "nn.functional.linear_cross_entropy.chunked_none": "chunked",
    "searchsorted": "sorter", "sort": "sorting rows",
}


def full_name(info):
    return info.name + (f".{info.variant_test_name}" if info.variant_test_name else "")


OPERATIONS = {full_name(info): info for info in common.op_db}
COMPILED = sorted(set(OPERATIONS) - NOT_COMPILED - WITHOUT_REFERENCE)


def first_type(info):
    return next(d for d in (torch.float32, torch.int64, torch.bool) if d in info.dtypes)


def verify(name, dtype, count):
    compiled, unsupported, wrong = check_operation(OPERATIONS[name], dtype, count)
    assert not wrong, f"{len(wrong)} samples of {name} are wrong:\n" + "\n".join(f"{s}\n  {m}" for s, m in wrong[:3])
    unexpected = [m for m in unsupported if name not in PARTLY or PARTLY[name] not in m]
    assert not unexpected, unexpected[:3]


#: What most programs are made of: CI takes these in several types, and some of the rest.
OFTEN = [
    "add", "sub", "mul", "div.no_rounding_mode", "div.floor_rounding", "remainder", "maximum", "neg", "abs", "exp", "log", "sqrt", "rsqrt", "tanh", "sigmoid",
    "eq", "lt", "where", "clamp", "masked_fill", "sum", "mean", "amax", "argmax", "max.reduction_with_dim", "any", "all", "prod",
    "var", "softmax", "log_softmax", "logsumexp", "cumsum", "cat", "stack", "permute", "expand", "repeat", "flip", "roll", "tril", "gather",
    "index_select", "scatter_add", "topk", "sort", "mm", "bmm", "addmm", "matmul", "einsum", "nn.functional.linear", "nn.functional.gelu",
    "nn.functional.silu", "nn.functional.layer_norm", "nn.functional.group_norm", "nn.functional.conv2d", "nn.functional.max_pool2d",
    "nn.functional.avg_pool2d", "nn.functional.embedding", "nn.functional.pad.constant",
]
JUDGED = COMPILED if FULL else sorted({*OFTEN, *COMPILED[::6]} - set(PARTLY))

#: Operations of one graph, so that the compiler starts seldom.
TOGETHER = 10


@pytest.mark.parametrize("first", range(0, len(JUDGED), TOGETHER), ids=lambda i: f"{JUDGED[i]}..")
def test_operations(first):
    names = JUDGED[first:first + TOGETHER]
    if FULL:
        for name in names:
            verify(name, first_type(OPERATIONS[name]), None)
        return
    samples = [s for name in names for s in samples_of(OPERATIONS[name], first_type(OPERATIONS[name]), 2)]
    try:
        wrong = check(samples)
    except Exception:
        wrong = None
    if wrong is None or wrong:
        for name in names:
            verify(name, first_type(OPERATIONS[name]), 2)
    assert not wrong, wrong


@pytest.mark.parametrize("name", sorted(PARTLY) if FULL else ["sort", "index_put"])
def test_operations_that_are_compiled_in_part(name):
    verify(name, first_type(OPERATIONS[name]), None if FULL else 4)


TYPES = [torch.bfloat16, torch.int64, torch.bool] + [torch.float64, torch.float16, torch.int32, torch.int16, torch.int8, torch.uint8] * FULL


@pytest.mark.parametrize("dtype", TYPES, ids=lambda d: str(d)[6:])
def test_types(dtype):
    names = [n for n in OFTEN if dtype in OPERATIONS[n].dtypes]
    if not FULL:
        names = names[::2]  # all of them have their first type above
        samples = [s for name in names for s in samples_of(OPERATIONS[name], dtype, 2) if max([t.numel() for t in s.tensors] + [0]) < 4000]
        try:
            if not check(samples):
                return
        except Exception:
            pass
    for name in names:
        verify(name, dtype, None if FULL else 2)


def test_the_list_of_what_is_not_compiled_is_exact():
    """Every name in it is one of PyTorch's; in full runs: nothing in it compiles."""
    assert sorted(NOT_COMPILED - set(OPERATIONS)) == []
    if not FULL:
        return
    compiled = []
    for name in sorted(NOT_COMPILED):
        count, unsupported, wrong = check_operation(OPERATIONS[name], first_type(OPERATIONS[name]), 4)
        if count and not unsupported and not wrong:
            compiled.append(name)
    assert not compiled, f"these compile: take them out of not-compiled.txt: {compiled}"
