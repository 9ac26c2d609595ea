"""A convolutional classifier and a transformer block, compiled in one line each and compared with eager in float64.

    scripts/run-example.sh --torch
"""

import copy
import time

import torch
from torch import nn

import tilewright.torch  # noqa: F401 (makes the back end known)


class Block(nn.Module):
    """Attention and feed-forward with residuals."""

    def __init__(self, width=256, heads=4):
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, x):
        n, t, c = x.shape
        q, k, v = self.qkv(self.norm1(x)).view(n, t, 3, self.heads, c // self.heads).permute(2, 0, 3, 1, 4).unbind(0)
        y = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(y.transpose(1, 2).reshape(n, t, c))
        return x + self.mlp(self.norm2(x))


def classifier():
    return nn.Sequential(
        nn.Conv2d(3, 32, 3, 2, 1, bias=False), nn.BatchNorm2d(32), nn.ReLU(), nn.Conv2d(32, 64, 3, 2, 1, bias=False), nn.BatchNorm2d(64), nn.ReLU(),
        nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, 10), nn.Softmax(-1))


def seconds(function, *arguments):
    function(*arguments)
    times = []
    for _ in range(9):
        start = time.perf_counter()
        function(*arguments)
        times.append(time.perf_counter() - start)
    return sorted(times)[4]


def show(name, model, x):
    model.eval()
    exact = copy.deepcopy(model).double()
    fast = torch.compile(model, backend="tilewright")
    with torch.no_grad():
        start = time.perf_counter()
        got = fast(x)
        compiled = time.perf_counter() - start
        want = exact(x.double())
        errors = [float((y - want).abs().max()) for y in (got, model(x))]
        times = [seconds(f, x) for f in (fast, model)]
    print(f"{name}: error {errors[0]:.1e} (eager {errors[1]:.1e}), {times[0] * 1e3:.2f} ms (eager {times[1] * 1e3:.2f} ms), compiled in {compiled:.1f} s")
    assert errors[0] <= 2 * errors[1] + 1e-6, "the compiled model is wrong"


if __name__ == "__main__":
    torch.manual_seed(0)
    show("classifier", classifier(), torch.randn(8, 3, 64, 64))
    show("transformer block", Block(), torch.randn(2, 64, 256))
