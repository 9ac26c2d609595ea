"""Quantises a trained classifier to int8 for this machine's matrix units, and compares it with the one in f32.

    scripts/run-example.sh --torch examples/pytorch/quantised.py
"""

import logging
import time
import warnings

import torch
from torch import nn

import tilewright.torch  # noqa: F401 (makes the back end known)

warnings.simplefilter("ignore")
logging.getLogger("torchao").setLevel(logging.ERROR)
from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e  # noqa: E402

from tilewright.quant import ChipQuantizer  # noqa: E402


def classifier(width=32):
    def layer(inputs, outputs, stride):
        return nn.Sequential(nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False), nn.BatchNorm2d(outputs), nn.ReLU())
    return nn.Sequential(layer(3, width, 1), layer(width, 2 * width, 2), layer(2 * width, 2 * width, 1), nn.AdaptiveAvgPool2d(1), nn.Flatten(),
                         nn.Linear(2 * width, 4))


def images(count):
    """Stripes in one of four directions under noise."""
    labels = torch.randint(0, 4, (count,))
    along = torch.stack(torch.meshgrid(torch.arange(32.0), torch.arange(32.0), indexing="ij"))
    angles = labels * torch.pi / 4
    waves = torch.sin(0.8 * (angles.cos()[:, None, None] * along[0] + angles.sin()[:, None, None] * along[1]))
    return waves[:, None] + 1.5 * torch.randn(count, 3, 32, 32), labels


def train(model, steps=25):
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    for _ in range(steps):
        x, labels = images(32)
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(x), labels).backward()
        optimizer.step()


def quantise(model, calibration):
    exported = torch.export.export(model, (calibration,), dynamic_shapes=({0: torch.export.Dim("images")},))
    prepared = prepare_pt2e(exported.module(), ChipQuantizer("cpu:host"))
    prepared(calibration)
    return convert_pt2e(prepared)


def milliseconds(function, x):
    times = []
    for _ in range(9):
        start = time.perf_counter()
        function(x)
        times.append(time.perf_counter() - start)
    return sorted(times)[4] * 1e3


if __name__ == "__main__":
    torch.manual_seed(0)
    model = classifier()
    train(model)
    model.eval()
    x, labels = images(128)
    with torch.no_grad():
        reference = quantise(model, images(64)[0])
        wide = torch.compile(model, backend="tilewright", options={"freeze": True})
        narrow = torch.compile(reference, backend="tilewright", options={"freeze": True})
        for name, function in (("f32", wide), ("int8", narrow)):
            right = (function(x).argmax(1) == labels).float().mean()
            print(f"{name}: {right:.1%} of 128 images right, {milliseconds(function, x):.2f} ms")
        error = (narrow(x) - reference(x)).abs().max() / reference(x).abs().max()
        print(f"int8 compiled beside the reference graph in eager: largest difference {error:.1e}")
    assert error < 0.02, "the compiled model is not the reference graph"
