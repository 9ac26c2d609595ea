"""Images whose channels lie last in memory: no activation is transposed between convolutions, strides are those of eager, and whatever
reads elements by their indices reads the right ones."""

import sys

import pytest
import tilewright.torch  # noqa: F401: the back end
import torch
from settings import FULL
from test_launches import compiled_text, launches
from torch import nn
from torch.nn import functional as F

LAST = torch.channels_last


class Bottleneck(nn.Module):
    """Of ResNet, norms folded."""

    def __init__(self, width=32, inner=16):
        super().__init__()
        self.body = nn.Sequential(nn.Conv2d(width, inner, 1), nn.ReLU(), nn.Conv2d(inner, inner, 3, padding=1), nn.ReLU(),
                                  nn.Conv2d(inner, width, 1))

    def forward(self, x):
        return torch.relu(x + self.body(x))


class Inverted(nn.Module):
    """Of MobileNet, norms folded."""

    def __init__(self, width=16, inner=64):
        super().__init__()
        self.body = nn.Sequential(nn.Conv2d(width, inner, 1), nn.ReLU6(), nn.Conv2d(inner, inner, 3, padding=1, groups=inner), nn.ReLU6(),
                                  nn.Conv2d(inner, width, 1))

    def forward(self, x):
        return x + self.body(x)


def images(*shape, dtype=torch.float32):
    torch.manual_seed(5)
    return torch.randn(*shape, dtype=dtype).to(memory_format=LAST)


# Block, its input, launches: one for each convolution, and for MobileNet one that lays the depthwise filter out as the channels lie.
BLOCKS = {"ResNet": (Bottleneck, (1, 32, 8, 8), 3), "MobileNet": (Inverted, (1, 16, 8, 8), 4)}


@pytest.mark.parametrize("name", BLOCKS)
def test_no_activation_is_transposed(tmp_path, name):
    block, shape, count = BLOCKS[name]
    torch.manual_seed(3)
    model, x = block().eval().half().to(memory_format=LAST), images(*shape, dtype=torch.float16)
    text, got = compiled_text(model, [x])
    with torch.no_grad():
        wanted = model(x)
    assert got.stride() == wanted.stride() and got.is_contiguous(memory_format=LAST)
    assert (got.double() - wanted.double()).abs().max() < 2e-2
    assert "linalg.transpose" not in text
    for chip in ("nvidia:H200", "amd:MI300X"):
        assert launches(tmp_path, text, chip) == count, chip


#: Functions of an image of (2, 6, 5, 4), with what reads its elements, or its shape, in other ways than element by element.
READERS = {
    "index": lambda x: x[:, torch.tensor([3, 0, 5])],
    "indices": lambda x: x[torch.tensor([1, 0]), :, torch.tensor([4, 2])],
    "gather": lambda x: x.gather(1, torch.arange(80).view(2, 2, 5, 4) % 6),
    "scatter": lambda x: x.scatter_add(2, torch.arange(48).view(2, 6, 1, 4) % 5, torch.ones(2, 6, 1, 4)),
    "put": lambda x: x.index_put((torch.tensor([0, 1]), torch.tensor([2, 3])), torch.zeros(2, 5, 4)),
    "sort": lambda x: x.sort(1).values,
    "largest": lambda x: x.topk(2, 2).values,
    "position": lambda x: x.argmax(1),
    "positions": lambda x: F.max_pool2d(x, 2, return_indices=True)[1],
    "running sum": lambda x: x.cumsum(1),
    "flip": lambda x: x.flip(1, 3),
    "roll": lambda x: x.roll((1, 2), (1, 2)),
    "reflect": lambda x: F.pad(x, (1, 2, 1, 1), mode="reflect"),
    "pad": lambda x: F.pad(x, (1, 0, 2, 1), value=3),
    "cut": lambda x: F.pad(x, (-1, 2, 1, -1)),
    "triangle": lambda x: x.tril(),
    "diagonal": lambda x: x.diagonal(dim1=1, dim2=2) + 1,
    "repeat": lambda x: x.repeat(1, 2, 1, 1) + 1,
    "strides": lambda x: x[:, ::2, 1:, 1::2] * 2,
    "row": lambda x: x[1, :, 2] * 2,
    "flat": lambda x: x.flatten(1) + 1,
    "flat in two orders": lambda x: torch.cat([x.flatten(1), x.mT.flatten(1)]),
    "channels flat": lambda x: x.flatten(2).transpose(1, 2) + 1,
    "groups": lambda x: (x.view(2, 3, 2, 5, 4) * 2).sum(2),
    "shuffle": lambda x: F.channel_shuffle(x, 3) + 1,
    "pixels": lambda x: F.pixel_shuffle(x[:, :4], 2),
    "pooled": lambda x: F.adaptive_avg_pool2d(x, 1).flatten(1),
    "pooled parts": lambda x: F.adaptive_avg_pool2d(x, (2, 3)),
    "largest parts": lambda x: F.adaptive_max_pool2d(x, (2, 3)),
    "windows": lambda x: F.unfold(x, 2),
    "mean of windows": lambda x: F.avg_pool2d(x, 3, 2, 1, count_include_pad=False),
    "nearest": lambda x: F.interpolate(x, scale_factor=2),
    "linear": lambda x: F.interpolate(x, size=(7, 9), mode="bilinear"),
    "cubic": lambda x: F.interpolate(x, size=(7, 9), mode="bicubic"),
    "join": lambda x: torch.cat([x, x * 2], 1),
    "join with planes": lambda x: torch.cat([x, torch.zeros(2, 1, 5, 4)], 1),
    "with planes": lambda x: x + torch.arange(240.).view(2, 6, 5, 4),
    "planes first": lambda x: torch.arange(240.).view(2, 6, 5, 4) * x,
    "with a row": lambda x: x * torch.arange(4.),
    "with channels": lambda x: x * torch.arange(6.).view(6, 1, 1),
    "soft-max": lambda x: x.softmax(1),
    "norm": lambda x: F.layer_norm(x, (5, 4)),
    "group norm": lambda x: F.group_norm(x, 3),
    "batch norm": lambda x: F.batch_norm(x, torch.zeros(6), torch.ones(6)),
    "sum of squares": lambda x: (x * x).sum((1, 3)),
    "product": lambda x: x @ x.transpose(2, 3),
    "linear layer": lambda x: F.linear(x.permute(0, 2, 3, 1), torch.arange(18.).view(3, 6)),
    "convolution": lambda x: F.conv2d(x, torch.arange(108.).view(2, 6, 3, 3) / 50, padding=1, stride=2),
    "groups of channels": lambda x: F.conv2d(x, torch.arange(36.).view(6, 3, 2, 1) / 9, groups=2),
    "one filter a channel": lambda x: F.conv2d(x, torch.arange(24.).view(6, 1, 2, 2) / 9, groups=6),
    "transposed": lambda x: F.conv_transpose2d(x, torch.arange(72.).view(6, 2, 3, 2) / 50, stride=2, padding=1),
    "where": lambda x: torch.where(x > 0, x, x.flip(1)),
    "copy": lambda x: x.contiguous(),
    "random places": lambda x: F.embedding(torch.tensor([1, 0]), x[0, :, :, 0].contiguous()),
}


@pytest.mark.parametrize("part", range(6))
def test_readers(part):
    """Several in one graph, of an image that was computed, in the full mode also of one that arrives."""
    names = sorted(READERS)[part::6]

    def all_of(x):
        y = x * 2 + 1
        return [READERS[name](v) for name in names for v in ((x, y) if FULL else (y,))]
    x = images(2, 6, 5, 4)
    wanted = all_of(x)
    torch.compiler.reset()
    got = torch.compile(all_of, backend="tilewright", dynamic=False)(x)
    for i, (mine, expected) in enumerate(zip(got, wanted, strict=True)):
        name = names[i // 2 if FULL else i]
        torch.testing.assert_close(mine, expected, rtol=1e-4, atol=1e-4, msg=lambda text: f"{name}: {text}")


@pytest.mark.parametrize("name", BLOCKS)
def test_gradients(name):
    block, shape, _ = BLOCKS[name]
    torch.manual_seed(3)
    model = block().to(memory_format=LAST)
    x = images(*shape).requires_grad_()
    torch.compiler.reset()
    compiled = torch.compile(model, backend="tilewright", dynamic=False, options={"strict": True})
    results = []
    for function in (model, compiled):
        y = function(x)
        results.append([y, *torch.autograd.grad((y * torch.linspace(-1, 1, y.numel()).view(y.shape)).sum(), [x, *model.parameters()])])
    for mine, wanted in zip(results[1], results[0], strict=True):
        torch.testing.assert_close(mine, wanted, rtol=1e-4, atol=1e-4)
    assert results[1][0].stride() == results[0][0].stride()


def test_dynamic_sizes():
    model = Bottleneck().eval().to(memory_format=LAST)
    torch.compiler.reset()
    compiled = torch.compile(model, backend="tilewright", dynamic=True, options={"strict": True})
    with torch.no_grad():
        for shape in (2, 32, 8, 9), (3, 32, 5, 7):
            x = images(*shape)
            got, wanted = compiled(x), model(x)
            torch.testing.assert_close(got, wanted, rtol=1e-4, atol=1e-4)
            assert got.stride() == wanted.stride()


def test_frozen_filters_lie_as_the_channels(tmp_path, monkeypatch):
    """What lays the depthwise filter out is computed once, not at each call."""
    backend = sys.modules["tilewright.torch.backend"]
    texts, write = [], backend.stage_text
    monkeypatch.setattr(backend, "stage_text", lambda *args: texts.append(write(*args)) or texts[-1])
    model, x = Inverted().eval().to(memory_format=LAST), images(1, 16, 8, 8)
    compiled = torch.compile(model, backend="tilewright", dynamic=False, options={"strict": True, "freeze": True})
    with torch.no_grad():
        for _ in range(2):
            got, wanted = compiled(x), model(x)
            torch.testing.assert_close(got, wanted, rtol=1e-4, atol=1e-4)
            assert got.stride() == wanted.stride()
            model.body[2].weight.mul_(2)
    text = max((text for text, _ in texts), key=len)
    assert "tensor<1x3x3x64xf32>" in text.splitlines()[0]
    assert launches(tmp_path, text, "nvidia:H200") == 3


def test_weights_alone(tmp_path):
    """Where only weights have their channels last, eager's results have them so, too."""
    model = Bottleneck().eval().to(memory_format=LAST)
    x = torch.randn(2, 32, 8, 8)
    text, got = compiled_text(model, [x])
    with torch.no_grad():
        wanted = model(x)
    torch.testing.assert_close(got, wanted, rtol=1e-4, atol=1e-4)
    assert got.stride() == wanted.stride() and "tensor<2x10x10x16xf32>" in text


def test_mean_of_an_image_of_dynamic_sizes():
    """PyTorch gives the mean of all positions strides of its own, with `as_strided`."""
    model = nn.Sequential(nn.Conv2d(6, 5, 3), nn.AdaptiveAvgPool2d(1), nn.Conv2d(5, 4, 1)).to(memory_format=LAST)
    f = torch.compile(model, backend="tilewright", dynamic=True, options={"strict": True}, fullgraph=True)
    with torch.no_grad():
        for batch, height in ((2, 5), (3, 7)):
            x = images(batch, 6, height, 4)
            torch.testing.assert_close(f(x), model(x), rtol=1e-4, atol=1e-4)
