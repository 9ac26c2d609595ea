"""Transposed convolutions and gradients of convolutions with strides: each phase of the results has its own taps (split-phases)."""

import pytest
import torch
import torch.nn.functional as F

import tilewright.torch  # noqa: F401 (the back end)

#: positions, taps, stride, padding, output padding, dilation
ONE_DIMENSION = [(8, 2, 2, 0, 0, 1), (8, 4, 2, 1, 0, 1), (7, 3, 2, 1, 1, 1), (7, 3, 2, 1, 0, 1), (9, 5, 3, 2, 1, 1), (6, 1, 2, 0, 1, 1),
                 (6, 3, 2, 1, 0, 2), (6, 3, 3, 2, 2, 3), (5, 4, 3, 0, 0, 2), (5, 6, 3, 0, 0, 1), (1, 3, 2, 1, 1, 1), (4, 2, 5, 0, 3, 1)]


def check(call, *inputs):
    compiled = torch.compile(call, backend="tilewright", options={"strict": True}, fullgraph=True, dynamic=False)
    expected = call(*(x.double() for x in inputs))
    torch.testing.assert_close(compiled(*inputs).double(), expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("size, taps, stride, padding, more, dilation", ONE_DIMENSION)
def test_one_dimension(size, taps, stride, padding, more, dilation):
    torch.manual_seed(size * taps)
    check(lambda x, w: F.conv_transpose1d(x, w, None, stride, padding, more, dilation=dilation), torch.randn(2, 5, size), torch.randn(5, 3, taps))


@pytest.mark.parametrize("shape, weight, options", [
    ((2, 6, 5, 7), (6, 4, 3, 2), {"stride": (2, 3), "padding": (1, 0)}),
    ((1, 6, 5, 5), (6, 2, 4, 4), {"stride": 2, "padding": 1, "groups": 3}),
    ((2, 8, 5, 5), (8, 1, 4, 4), {"stride": 2, "padding": 1, "groups": 8}),
    ((1, 3, 4, 5, 3), (3, 4, 2, 3, 2), {"stride": (2, 1, 2), "padding": (0, 1, 0)}),
])
def test_more_dimensions(shape, weight, options):
    torch.manual_seed(1)
    call = {4: F.conv_transpose2d, 5: F.conv_transpose3d}[len(shape)]
    check(lambda x, w: call(x, w, torch.ones(weight[1] * options.get("groups", 1), dtype=x.dtype), **options), torch.randn(shape), torch.randn(weight))


@pytest.mark.parametrize("pads", [(1, 0), (0, 2), (2, 1)])
def test_padded_image(pads):
    """A border before elements that are spread takes part in the spreading."""
    torch.manual_seed(1)
    check(lambda x, w: F.conv_transpose1d(F.pad(x, pads), w, stride=2, padding=1), torch.randn(2, 3, 7), torch.randn(3, 4, 5))


def test_channels_last():
    torch.manual_seed(1)
    inputs = [torch.randn(shape).to(memory_format=torch.channels_last) for shape in ((2, 6, 5, 5), (6, 4, 4, 4))]
    check(lambda x, w: F.conv_transpose2d(x, w, stride=2, padding=1), *inputs)


@pytest.mark.parametrize("taps, stride, padding", [(3, 2, 1), (1, 2, 0), (7, 3, 3)])
def test_gradients(taps, stride, padding):
    torch.manual_seed(1)
    x, w = torch.randn(2, 4, 9, 9), torch.randn(6, 4, taps, taps)

    def gradients(x, w, call):
        x, w = (t.clone().requires_grad_() for t in (x, w))
        call(x, w).square().sum().backward()
        return x.grad, w.grad

    def call(x, w):
        return F.conv2d(x, w, stride=stride, padding=padding)
    compiled = torch.compile(call, backend="tilewright", options={"strict": True}, fullgraph=True, dynamic=False)
    for found, expected in zip(gradients(x, w, compiled), gradients(x.double(), w.double(), call)):
        torch.testing.assert_close(found.double(), expected, rtol=1e-4, atol=1e-4)


def test_infinite_weights():
    """A zero between two elements takes no part: eager's results are finite or infinite there, not NaN."""
    x, w = torch.ones(1, 1, 4), torch.tensor([[[1.0, float("inf")]]])
    compiled = torch.compile(lambda x, w: F.conv_transpose1d(x, w, stride=2), backend="tilewright", dynamic=False)
    torch.testing.assert_close(compiled(x, w), F.conv_transpose1d(x, w, stride=2))
