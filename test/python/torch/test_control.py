"""Operations that have graphs as arguments: branches, loops, scans, maps; forward, backward, of dynamic sizes, in packages."""

import logging

import pytest
import tilewright
import torch
from functorch.experimental.control_flow import map as map_rows
from torch import nn
from torch._higher_order_ops.scan import scan
from torch._higher_order_ops.while_loop import while_loop

import tilewright.torch
from settings import FULL


def compiled(function, **options):
    torch._dynamo.reset()
    return torch.compile(function, backend="tilewright", options={"strict": True, **options.pop("options", {})}, **options)


class Choice(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(4, 6), nn.Linear(4, 6)

    def forward(self, x):
        return torch.cond(x.mean() > 0, lambda x: self.a(x).relu(), lambda x: self.b(x).sin(), (x,))


class Images(nn.Module):
    """The sides give results that lie alike in memory, channels last."""

    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Conv2d(3, 5, 3, padding=1), nn.Conv2d(3, 5, 1)

    def forward(self, x):
        return torch.cond(x.mean() > 0, lambda x: self.a(x), lambda x: self.b(x), (x,)) + 1


class Recurrent(nn.Module):
    def __init__(self):
        super().__init__()
        self.cell = nn.GRUCell(4, 8)

    def forward(self, x):
        def step(state, part):
            state = self.cell(part, state)
            return state, state.clone()
        return scan(step, torch.zeros(x.shape[1], 8), x)[1]


class Nested(nn.Module):
    """A branch in each step; in its gradient a side gives one tensor twice."""

    def forward(self, x):
        def step(state, part):
            state = torch.cond(part.sum() > 0, lambda c, e: c + e, lambda c, e: c * 0.5 - e, (state, part))
            return state, state * 2
        return scan(step, torch.zeros(4), x)


class Reversed(nn.Module):
    def forward(self, x):
        return scan(lambda c, e: (c + e, c * e), torch.zeros(4), x, reverse=True)


class Rows(nn.Module):
    def forward(self, x, y):
        return map_rows(lambda r, y: (r @ y).softmax(-1), x, y)


class Doubling(nn.Module):
    """The number of iterations follows from the data."""

    def forward(self, x):
        start = torch.zeros((), dtype=torch.int64)
        return while_loop(lambda i, y: (y.abs().max() < 100) & (i < 50), lambda i, y: (i + 1, y * 1.5 + 1), (start, x))


def inputs_of(model):
    torch.manual_seed(1)
    if isinstance(model, Images):
        return torch.randn(2, 3, 8, 8).to(memory_format=torch.channels_last),
    if isinstance(model, Recurrent):
        return torch.randn(7, 3, 4),
    if isinstance(model, Rows):
        return torch.randn(3, 5, 4), torch.randn(4, 6)
    return torch.randn(6, 4),


MODELS = (Choice, Images, Recurrent, Nested, Reversed, Rows, Doubling)


@pytest.mark.parametrize("of, dynamic", [(of, dynamic) for i, of in enumerate(MODELS) for dynamic in (False, True)
                                         if FULL or dynamic == (i % 2 == 0)])
def test_forward(of, dynamic):
    model, inputs = of(), inputs_of(of())
    torch._dynamo.reset()
    plain = torch.compile(model, backend="eager")  # `while_loop` and `scan` have their meaning under torch.compile alone
    with torch.no_grad():
        for sign in (1, -1):
            signed = [sign * x for x in inputs]
            want = plain(*signed)
            got = compiled(model, dynamic=dynamic, options={"freeze": dynamic})(*signed)
            torch.testing.assert_close(got, want, check_stride=True)


@pytest.mark.parametrize("of", [m for m in MODELS if m not in (Images, Doubling)])
def test_backward(of):
    model, inputs = of(), [x.requires_grad_() for x in inputs_of(of())]

    def gradients(function):
        results = function(*inputs)
        results = results if isinstance(results, (tuple, list)) else [results]
        return torch.autograd.grad(sum(r.pow(2).sum() for r in results), [*inputs, *model.parameters()])
    torch._dynamo.reset()
    want = gradients(torch.compile(model, backend="aot_eager"))
    torch.testing.assert_close(gradients(compiled(model)), want, rtol=1e-4, atol=1e-4)


def test_one_compilation_serves_all_lengths():
    model = Recurrent()
    net = compiled(model, dynamic=True)
    with torch.no_grad():
        for length in (3, 9):
            x = torch.randn(length, 2, 4)
            want, state = [], torch.zeros(2, 8)
            for part in x:
                state = model.cell(part, state)
                want.append(state)
            torch.testing.assert_close(net(x), torch.stack(want))


def test_random_numbers_inside_run_eagerly(caplog):
    """They would be the same in each iteration."""
    torch._dynamo.reset()
    with caplog.at_level(logging.WARNING, "tilewright.torch"), torch.no_grad():
        torch.compile(lambda x: map_rows(lambda r: nn.functional.dropout(r, 0.5, True), x), backend="tilewright")(torch.randn(3, 64))
    assert "higher_order::map_impl" in caplog.text and "random numbers inside of it" in caplog.text
    with pytest.raises(Exception, match="inside of it aten::_fft_r2c: there is no emitter"):
        compiled(lambda x: map_rows(lambda r: torch.fft.rfft(r).real, x))(torch.randn(3, 8))


@pytest.mark.parametrize("of", [Choice, Recurrent, Nested, Doubling])
def test_packages(of, tmp_path):
    model, inputs = of().eval(), inputs_of(of())
    tilewright.torch.export(model, inputs, tmp_path / "m.tw")
    with torch.no_grad():
        want = torch.compile(model, backend="eager")(*inputs)
    got = tilewright.load(tmp_path / "m.tw")(*(x.numpy() for x in inputs))
    for g, w in zip(got, want) if isinstance(want, (tuple, list)) else [(got, want)]:
        torch.testing.assert_close(torch.as_tensor(g), w)
