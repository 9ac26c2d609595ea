"""Complex arithmetic is compiled as that of pairs of real numbers (`complex_pairs.py`); what has no rule runs eagerly on complex tensors."""

import logging
import sys

import numpy
import pytest
import torch
from torch import nn

import tilewright
import tilewright.torch

backend = sys.modules["tilewright.torch.backend"]  # the package has a function of this name


def wide(x):
    return x.detach().to(torch.complex128 if x.is_complex() else torch.float64).requires_grad_(x.requires_grad) \
        if x.is_complex() or x.is_floating_point() else x


def compare(function, *inputs, strict=True, **options):
    """Results and gradients beside those of float64; types and strides beside eager's."""
    compiled = torch.compile(function, backend="tilewright", options={"strict": strict}, **options)
    given = [x.detach().clone().requires_grad_(x.requires_grad) for x in inputs]
    got, eager, exact = compiled(*given), function(*inputs), function(*(exact_inputs := [wide(x) for x in inputs]))
    for g, e, x in zip(got, eager, exact, strict=True):
        assert (g.dtype, g.shape, g.stride()) == (e.dtype, e.shape, e.stride())
        torch.testing.assert_close(g, x.to(g.dtype), rtol=2e-5, atol=2e-5)
    learned = [(one, other) for one, other in zip(given, exact_inputs) if one.requires_grad]
    if learned:
        for results, leaves in ((got, [one for one, _ in learned]), (exact, [other for _, other in learned])):
            sum((r.abs() ** 2).sum() for r in results).backward()
            assert all(leaf.grad is not None for leaf in leaves)
        for one, other in learned:
            torch.testing.assert_close(one.grad, other.grad.to(one.grad.dtype), rtol=2e-5, atol=2e-5)


def complex_tensors(*shapes):
    torch.manual_seed(0)
    return [torch.randn(shape, dtype=torch.complex64) for shape in shapes]


def rotated(x, frequencies):
    pairs = torch.view_as_complex(x.unflatten(-1, (-1, 2)))
    return torch.view_as_real(pairs * frequencies[:, None]).flatten(-2)


def test_rotations_are_one_program_with_what_is_around_them(monkeypatch):
    """An argument that is complex is looked at before anything runs, so that it parts no program."""
    texts = []
    compile_program = backend.compile_program
    monkeypatch.setattr(backend, "compile_program", lambda text, options: texts.append(text) or compile_program(text, options))
    torch.manual_seed(0)
    x, frequencies = torch.randn(2, 5, 3, 8), torch.polar(torch.ones(5, 4), torch.rand(5, 4))
    with torch.no_grad():
        compare(lambda x, f: (rotated(x.exp(), f).sin(), ), x, frequencies)
    assert len(texts) == 1


def test_arithmetic():
    def f(z, w, x):
        return (z * w + z.conj(), z / w, 1 / w, z - 1j, 2 - z, z * (1 + 2j), x * z, z + x, z.abs(), z.angle(), z.real, z.imag, z.sgn(), (z * 0.1).exp(),
                z.log(), z ** 3, z == w, z != z, z @ w.mH, torch.addmm(z, w, z), torch.polar(x, x), torch.complex(x, 2 * x))
    z, w = complex_tensors((4, 4), (4, 4))
    compare(f, z, w, torch.rand(4, 4))


@pytest.mark.parametrize("dynamic", [False, True])
def test_moves(dynamic):
    def f(z, w):
        y = z.clone()
        y[:, 1] = 0
        y[0] += w[0]
        return (z.mT.contiguous(), (z * 1j).mT, torch.cat([z, w]), torch.stack([z, w.conj()], 1), z.flip(0)[1:], torch.where(z.real > 0, z, w), z.sum(0),
                z.mean(), z[:, None].expand(-1, 2, -1) * 2, y, torch.zeros_like(z) + w, z.roll(1, 0), torch.view_as_real(z * w), z.to(torch.complex128))
    compare(f, *complex_tensors((3, 5), (3, 5)), dynamic=dynamic)


def test_gradients():
    def f(x, w, angle):
        z = torch.complex(x, x.flip(-1)) @ torch.view_as_complex(w)
        z = z * torch.polar(torch.ones_like(angle), angle)
        return z.abs(), z.real.tanh(), (z * 0.1).exp().imag, z / (z.conj() + 3)
    torch.manual_seed(0)
    compare(f, *(torch.randn(shape, requires_grad=True) for shape in ((5, 4), (4, 6, 2), (6, ))))


def test_gradients_of_complex_arguments():
    compare(lambda z, w: ((z * w).exp(), z.abs()), *(z.requires_grad_() for z in complex_tensors((3, 2), (3, 2))))


def test_conjugated_views_arrive():
    z, w = complex_tensors((3, 2), (2, 3))
    compare(lambda a, b: (a * b, a.conj() + b), z.conj(), w.mH)


def test_transforms_run_eagerly_and_products_between_them_do_not(caplog):
    def f(x, w):
        return (torch.fft.irfft(torch.fft.rfft(x) * w), )
    with caplog.at_level(logging.WARNING, "tilewright.torch"):
        compare(f, torch.randn(3, 8), *complex_tensors((5, )), strict=False)
    line, = (r.getMessage() for r in caplog.records)
    assert "_fft_r2c" in line and "_fft_c2r" in line and "mul" not in line and "view_as" not in line and line.startswith("2 ")


class Rotation(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("frequencies", torch.polar(torch.ones(5, 4), torch.rand(5, 4)))

    def forward(self, x):
        return rotated(x, self.frequencies)


def test_packages_have_complex_weights(tmp_path):
    model, x = Rotation(), torch.randn(2, 5, 3, 8)
    tilewright.torch.export(model, (x, ), tmp_path / "net.tw")
    numpy.testing.assert_allclose(tilewright.load(tmp_path / "net.tw")(x.numpy()), model(x), rtol=1e-5, atol=1e-5)


class Scaled(nn.Module):
    def forward(self, z):
        return z * 2


def test_packages_take_no_complex_arguments(tmp_path):
    with pytest.raises(Exception, match=r"(?s)aten::view_as_real at .*test_complex.py:\d+: a complex tensor is an argument or a result of the program; "
                                        r"pass torch.view_as_real.*aten::view_as_complex at .*test_complex.py"):
        tilewright.torch.export(Scaled(), tuple(complex_tensors((5, 4))), tmp_path / "net.tw")
