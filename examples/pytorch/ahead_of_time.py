"""A classifier in one file: exported for this processor and an H200, then run by a process that has no PyTorch.

    scripts/run-example.sh --torch examples/pytorch/ahead_of_time.py

ahead_of_time.c beside this file runs the package from C.
"""

import pathlib
import subprocess
import sys
import tempfile

import numpy as np
import torch
from torch import nn
from torch.export import Dim

import tilewright.torch

#: What the other process does: it loads neither PyTorch nor the compiler.
RUN = """
import sys, time
sys.modules["torch"] = None
import numpy, tilewright
start = time.perf_counter()
classify = tilewright.load(sys.argv[1])
scores = classify(numpy.load(sys.argv[2]))
print(f"from the file to the first result without PyTorch: {(time.perf_counter() - start) * 1e3:.1f} ms")
numpy.save(sys.argv[3], scores)
"""


def classifier():
    return nn.Sequential(
        nn.Conv2d(3, 32, 3, 2, 1, bias=False), nn.BatchNorm2d(32), nn.ReLU(), nn.Conv2d(32, 64, 3, 2, 1, bias=False), nn.BatchNorm2d(64), nn.ReLU(),
        nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, 10), nn.Softmax(-1))


def main(folder):
    torch.manual_seed(0)
    model, images = classifier().eval(), torch.randn(8, 3, 64, 64)
    package = folder / "classifier.tw"
    tilewright.torch.export(model, (images,), package, target=["cpu:host", "nvidia:H200"], dynamic_shapes=({0: Dim("batch", max=256)},))
    print(f"{package.name}: {package.stat().st_size / 1e3:.0f} kB, weights {sum(t.nbytes for t in model.state_dict().values()) / 1e3:.0f} kB")

    few = images[:3]
    np.save(folder / "images.npy", few.numpy())
    subprocess.run([sys.executable, "-c", RUN, package, folder / "images.npy", folder / "scores.npy"], check=True)
    with torch.no_grad():
        error = float((torch.from_numpy(np.load(folder / "scores.npy")) - model.double()(few.double())).abs().max())
    print(f"largest error against float64: {error:.1e}")
    assert error < 1e-6, "the package is wrong"


if __name__ == "__main__":
    if len(sys.argv) > 1:
        main(pathlib.Path(sys.argv[1]))
    else:
        with tempfile.TemporaryDirectory() as temporary:
            main(pathlib.Path(temporary))
