"""Operations that are taken apart by formulas of our own (`formulas.py`), with their gradients, and emitters that PyTorch's samples do not judge."""

import math

import pytest
import torch
from torch.nn import functional

import tilewright.torch  # noqa: F401 (registers the back end)
from settings import FULL


def wide(x):
    return x.detach().double().requires_grad_(x.requires_grad) if isinstance(x, torch.Tensor) and x.is_floating_point() else x


def leaves(inputs):
    return [x for x in inputs if isinstance(x, torch.Tensor) and x.requires_grad]


def compare(function, *inputs, dynamic=None):
    """Results and gradients beside those of float64; nothing runs eagerly."""
    def run(function, inputs):
        results = function(*inputs)
        if leaves(inputs):
            sum((r * torch.arange(1, r.numel() + 1, dtype=r.dtype).view(r.shape).cos()).sum() for r in results if r.requires_grad).backward()
        return [*results, *(x.grad for x in leaves(inputs))]
    got = run(torch.compile(function, backend="tilewright", options={"strict": True}, dynamic=dynamic), inputs)
    for g, w in zip(got, run(function, [wide(x) for x in inputs]), strict=True):
        torch.testing.assert_close(g, w.to(g.dtype), rtol=2e-5, atol=2e-5, equal_nan=True)


def learned(*shape):
    return torch.randn(shape, requires_grad=True)


@pytest.fixture(autouse=True)
def seed():
    torch.manual_seed(0)


def test_distances():
    def f(x, y, many):
        return [torch.cdist(x, y, p=p) for p in (0., 1., 1.5, 2., 3., math.inf)] + [torch.cdist(many, many[:, :20] * 1.1)]
    compare(f, learned(3, 7, 5), learned(3, 6, 5), learned(2, 30, 4))


def test_bags_of_embeddings():
    def f(table, indices, offsets, weights):
        bag = functional.embedding_bag
        return (bag(indices, table, offsets, mode="sum", padding_idx=3, per_sample_weights=weights), bag(indices.view(5, 6), table, mode="max"),
                bag(indices, table, torch.cat([offsets, offsets.new_tensor([30])]), mode="mean", include_last_offset=True))
    compare(f, learned(9, 4), torch.randint(0, 9, (30, )), torch.tensor([0, 4, 4, 20]), learned(30))


def test_weights_with_a_norm():
    """On the host `torch._weight_norm` has an operation of its own for the first and the last dimension."""
    compare(lambda v, g, first: (torch._weight_norm(v, g, 2), torch._weight_norm(v, first, 0)), learned(5, 3, 4), learned(1, 1, 4), learned(5, 1, 1))


def test_values_at_the_places_of_a_mask():
    def f(x, mask, source):
        return x.masked_scatter(mask, source), x.masked_scatter(mask[:, :1], source)
    compare(f, learned(6, 8), torch.rand(6, 8) > 0.6, learned(60))


# The modes of PyTorch, of which each pair is there; CI takes each mode.
GRIDS = [("bilinear", "zeros", False), ("bilinear", "border", True), ("bilinear", "reflection", False), ("nearest", "zeros", True),
         ("nearest", "border", False), ("bicubic", "zeros", True), ("bicubic", "reflection", True), ("bicubic", "border", False)]


@pytest.mark.parametrize("modes", [GRIDS[:4], GRIDS[4:] if FULL else GRIDS[4:6]], ids=["first", "rest"])
def test_samples_of_images_at_grids(modes):
    def f(x, grid):
        return [functional.grid_sample(x, grid, mode=mode, padding_mode=padding, align_corners=align) for mode, padding, align in modes]
    compare(f, learned(2, 3, 6, 7), (torch.rand(2, 4, 5, 2) * 3 - 1.5).requires_grad_())


def test_samples_of_volumes_at_grids():
    def f(x, grid):
        return [functional.grid_sample(x, grid, padding_mode=padding, align_corners=align) for padding, align in (("zeros", False), ("reflection", True))]
    compare(f, learned(1, 2, 4, 5, 3), (torch.rand(1, 3, 2, 4, 3) * 3 - 1.5).requires_grad_())


def test_means_of_scattered_elements():
    def f(x, places):
        zeros = torch.full((9, 4), 2., dtype=x.dtype)
        rows = places[:, None].expand_as(x)
        return [*(zeros.scatter_reduce(0, rows, x, "mean", include_self=include) for include in (True, False)),
                *(zeros.index_reduce(0, places, x.detach(), "mean", include_self=include) for include in (True, False)),
                torch.full((9, 4), 7).scatter_reduce(0, rows, (x * 10).long(), "mean")]
    compare(f, learned(30, 4), torch.randint(0, 8, (30, )))


def test_scatters_into_dimensions_of_dynamic_extents():
    def f(x, places):
        return torch.zeros(9, 3, x.shape[2], dtype=x.dtype).scatter_add(0, places[:, None, None].expand_as(x), x)
    compare(f, learned(30, 3, 5), torch.randint(0, 9, (30, )), dynamic=True)


def test_special_functions():
    special = torch.tensor([0., -0., 1, 2, -1, -2, math.inf, -math.inf, math.nan, 1e-3, 1e4, .5, -.25, -1.5, -2.75])
    x, y = torch.cat([torch.rand(100) * 10 + 0.1, special]), torch.cat([torch.rand(100) * 2 - 1, torch.tensor([0., 1, -1, .999999])])
    compare(lambda x, y: (x.lgamma(), x.digamma(), y.erfinv(), y.angle()), x, y)


@pytest.mark.parametrize("count", [1, 63, 64, 65, 200])
def test_places_among_boundaries(count):
    """Counted up to 64, halved beyond, in rows too."""
    boundaries = torch.randint(-40, 40, (2, count)).sort(-1)[0].float()
    values = torch.cat([torch.randint(-45, 45, (2, 50)).float(), torch.tensor([[math.inf, -math.inf, math.nan]] * 2)], -1)

    def f(boundaries, values):
        return [search(right) for right in (False, True) for search in (
            lambda right: torch.searchsorted(boundaries, values, right=right), lambda right: torch.bucketize(values, boundaries[0], right=right),
            lambda right: torch.searchsorted(boundaries.long(), values.nan_to_num(0, 50, -50).long(), right=right, out_int32=True))]
    compare(f, boundaries, values)


def test_shifts_by_operators():
    compare(lambda a: (a << 2, a >> 1, a << a.abs() % 5), torch.randint(-100, 100, (20, )))


def test_optimisers():
    """Dynamo writes `prims::fma` for additions in place whose factor is a number or a tensor."""
    def f(x, g, m, v):
        m = m.lerp(g, 0.1)
        v = (v * 0.9).addcmul_(g, g, value=0.1)
        return m, v, x.clone().addcdiv_(m, v.sqrt().add_(1e-3), value=-0.01), x.clone().add_(g, alpha=torch.tensor(0.5))
    compare(f, *(torch.randn(8, 3) for _ in range(3)), torch.rand(8, 3))


def test_lists_of_tensors():
    """Optimisers on lists, as they are on a GPU by default; the norms of gradients."""
    def f(x, y, g, h):
        ps, gs, factors = [x.clone(), y.clone()], [g, h], torch.tensor([0.5, 2.0])
        torch._foreach_mul_(ps, 0.9)
        torch._foreach_lerp_(ps, gs, 0.1)
        torch._foreach_addcmul_(ps, gs, gs, value=0.1)
        torch._foreach_addcdiv_(ps, gs, torch._foreach_add(torch._foreach_abs(ps), 1), [0.1, 0.2])
        torch._foreach_add_(ps, gs, alpha=2)
        torch._foreach_sub_(ps, [1., 2.])
        torch._foreach_mul_(ps, factors[0])
        return [*ps, *torch._foreach_norm(gs), *torch._foreach_maximum(ps, 0.5), *torch._foreach_minimum(ps, gs), *torch._foreach_pow(2., ps),
                *torch._foreach_sqrt(torch._foreach_abs(ps)), *torch._foreach_max(ps), *torch._foreach_clone(ps)]
    compare(f, torch.randn(8, 3), torch.randn(5), torch.randn(8, 3), torch.randn(5))
