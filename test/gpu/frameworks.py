"""CUDA tensors of PyTorch through `torch.compile(backend="tilewright")` on the device of this machine: results beside float64, times beside
eager PyTorch and its own compiler.

  TILEWRIGHT_SDK=PREFIX python3 frameworks.py [--target nvidia:H200] [--no-compiler] [--json FILE]

The folder `python` of the source has to be on PYTHONPATH. A result is right if its error is at most twice eager's own, or 1e-5 of the largest
element. The exit status is 2 if one is wrong, 1 if one failed.
"""

import argparse
import json
import sys
import time
import traceback

import torch
from torch import nn


class Block(nn.Module):
    """A transformer layer of 12 heads and 768 features, normalised before its halves."""

    def __init__(self):
        super().__init__()
        self.first, self.second = nn.LayerNorm(768), nn.LayerNorm(768)
        self.queries, self.out = nn.Linear(768, 3 * 768), nn.Linear(768, 768)
        self.up, self.down = nn.Linear(768, 3072), nn.Linear(3072, 768)

    def forward(self, x):
        q, k, v = self.queries(self.first(x)).unflatten(-1, (3, 12, 64)).permute(2, 0, 3, 1, 4)
        attended = nn.functional.scaled_dot_product_attention(q, k, v)
        x = x + self.out(attended.transpose(1, 2).flatten(2))
        return x + self.down(nn.functional.gelu(self.up(self.second(x))))


class Bottleneck(nn.Module):
    def __init__(self, width=256, inner=64):
        super().__init__()
        def step(a, b, taps): return [nn.Conv2d(a, b, taps, padding=taps // 2, bias=False), nn.BatchNorm2d(b)]
        self.body = nn.Sequential(*step(width, inner, 1), nn.ReLU(), *step(inner, inner, 3), nn.ReLU(), *step(inner, width, 1))

    def forward(self, x):
        return nn.functional.relu(x + self.body(x))


def cases():
    """(name, module, shape of its input, whether gradients are compared)"""
    yield "layer norm", nn.LayerNorm(1024), (4096, 1024), False
    yield "soft-max", nn.Softmax(-1), (4096, 2048), False
    yield "two layers, GELU", nn.Sequential(nn.Linear(512, 2048), nn.GELU(), nn.Linear(2048, 512)), (1024, 512), False
    yield "transformer layer", Block(), (4, 256, 768), False
    yield "bottleneck", Bottleneck(), (8, 256, 28, 28), False
    yield "two layers, gradients", nn.Sequential(nn.Linear(256, 512), nn.Tanh(), nn.Linear(512, 64)), (128, 256), True


def results(call, module, x, gradients):
    """The output, and the gradients of the parameters where asked."""
    if not gradients:
        with torch.no_grad():
            return [call(x)]
    module.zero_grad()
    out = call(x)
    out.square().sum().backward()
    return [out.detach(), *(p.grad.clone() for p in module.parameters())]


def error(got, expected):
    """The largest error over the largest element; infinite if something is NaN that should not be."""
    worst = 0.0
    for a, b in zip(got, expected, strict=True):
        difference = ((a.double() - b).abs().max() / b.abs().max()).item()
        worst = max(worst, difference if difference == difference else float("inf"))
    return worst


def microseconds(call, count=50):
    for _ in range(5):
        call()
    times = []
    for _ in range(9):
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        for _ in range(count):
            call()
        end.record()
        end.synchronize()
        times.append(begin.elapsed_time(end) / count * 1e3)
    return sorted(times)[4]


def device_microseconds(call, count=10):
    """Of the kernels of one call, without what the host takes to start them; None where the profiler sees none."""
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as profile:
        for _ in range(count):
            call()
        torch.cuda.synchronize()
    total = sum(event.self_device_time_total for event in profile.key_averages()) / count
    return round(total, 1) if total else None


def run(name, module, shape, gradients, options):
    torch.manual_seed(1)
    module = module.eval().cuda()
    x = torch.randn(*shape, device="cuda")
    wide = results(module.double(), module, x.double(), gradients)
    module.float()
    eager = error(results(module, module, x, gradients), wide)
    begin = time.perf_counter()
    compiled = torch.compile(module, backend="tilewright", options={"target": options.target, "strict": True})
    got = results(compiled, module, x, gradients)
    record = {"name": name, "seconds of compilation": round(time.perf_counter() - begin, 2), "error": error(got, wide), "error of eager": eager}
    record["right"] = record["error"] <= max(2 * eager, 1e-5)
    calls = {"tilewright": compiled, "eager": module}
    if not options.no_compiler:
        torch._dynamo.reset()
        calls["inductor"] = torch.compile(module)
    if not gradients:
        with torch.no_grad():
            record["us"] = {who: round(microseconds(lambda call=call: call(x)), 1) for who, call in calls.items()}
            record["us of kernels"] = {who: device_microseconds(lambda call=call: call(x)) for who, call in calls.items()}
    return record


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--target", default="nvidia:H200")
    parser.add_argument("--no-compiler", action="store_true")
    parser.add_argument("--json")
    options = parser.parse_args()
    import tilewright.torch  # noqa: F401: the back end
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False
    records, status = [], 0
    for name, module, shape, gradients in cases():
        torch._dynamo.reset()
        try:
            records.append(run(name, module, shape, gradients, options))
            status = status if records[-1]["right"] else 2
        except Exception as problem:  # each case is told, the others go on
            traceback.print_exc()
            records.append({"name": name, "problem": str(problem)})
            status = status or 1
        print(json.dumps(records[-1]), flush=True)
    if options.json:
        with open(options.json, "w") as file:
            json.dump(records, file, indent=1)
    return status


if __name__ == "__main__":
    sys.exit(main())
