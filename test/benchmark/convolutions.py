"""Convolutions: compiled code beside PyTorch's eager ones (oneDNN). Run with PyTorch's interpreter:

    build/venv-torch/bin/python test/benchmark/convolutions.py [--build build/release] [--samples 15] [--only 3x3] [--write]

Both are called in one process, in turns; every result is compared with a float64 evaluation first. Images and weights are arguments of
both, so whatever either packs, it packs in each call. The ratio is the median over the turns of PyTorch's time over that of compiled
code. docs/performance-convolutions.md has a section for each processor (--write).
"""

import argparse
import dataclasses
import math
import os
import pathlib
import statistics
import sys
import time

SOURCE = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(SOURCE / "python"), str(pathlib.Path(__file__).resolve().parent)]

import sections  # noqa: E402: beside this file

PAGE = SOURCE / "docs/performance-convolutions.md"
TOLERANCES = {"float32": 2e-5, "bfloat16": 2e-2}  # of the largest element of the result


@dataclasses.dataclass(frozen=True)
class Layer:
    """A convolution of `channels` to `filters` channels with windows of `window` on images of `image`."""
    network: str
    channels: int
    filters: int
    image: tuple
    window: tuple
    padding: int = 0
    stride: int = 1
    dilation: int = 1
    groups: int = 1
    batch: int = 1
    last: bool = False          # channels last
    transposed: bool = False
    dtype: str = "float32"

    def inputs(self, torch):
        kind, rank = getattr(torch, self.dtype), len(self.image)
        image = torch.randn(self.batch, self.channels, *self.image).to(kind)
        pair = (self.channels, self.filters) if self.transposed else (self.filters, self.channels // self.groups)
        weights = (torch.randn(*pair, *self.window) / math.sqrt(math.prod(self.window) * self.channels / self.groups)).to(kind)
        if not self.last:
            return [image, weights]
        order = torch.channels_last if rank == 2 else torch.channels_last_3d
        return [image.to(memory_format=order), weights.to(memory_format=order)]

    def call(self, functional):
        name = f"conv{'_transpose' * self.transposed}{len(self.image)}d"
        options = {"padding": self.padding, "stride": self.stride, "dilation": self.dilation, "groups": self.groups}
        return lambda image, weights: getattr(functional, name)(image, weights, **options)

    def what(self):
        def by(sizes):
            return " x ".join(map(str, sizes))
        parts = [by(self.window)] + [f"{name} {value}" for name, value, usual in (
            ("stride", self.stride, 1), ("dilation", self.dilation, 1), ("padding", self.padding, 0)) if value != usual]
        parts += [f"{self.groups} groups"] * (self.groups > 1) + ["transposed"] * self.transposed
        return [self.network, ", ".join(parts), f"{self.channels} to {self.filters}", by(self.image), self.batch,
                "last" if self.last else "first", self.dtype]


LAYERS = [
    Layer("ResNet-50", 3, 64, (224, 224), (7, 7), padding=3, stride=2),
    Layer("ResNet-50", 64, 256, (56, 56), (1, 1)),
    Layer("ResNet-50", 64, 64, (56, 56), (3, 3), padding=1),
    Layer("ResNet-50", 64, 64, (56, 56), (3, 3), padding=1, last=True),
    Layer("ResNet-50", 128, 128, (56, 56), (3, 3), padding=1, stride=2),
    Layer("ResNet-50", 128, 128, (28, 28), (3, 3), padding=1),
    Layer("ResNet-50", 128, 128, (28, 28), (3, 3), padding=1, batch=8),
    Layer("ResNet-50", 256, 256, (14, 14), (3, 3), padding=1),
    Layer("ResNet-50", 256, 256, (14, 14), (3, 3), padding=1, last=True),
    Layer("ResNet-50", 256, 256, (14, 14), (3, 3), padding=1, last=True, dtype="bfloat16"),
    Layer("ResNet-50", 256, 1024, (14, 14), (1, 1)),
    Layer("ResNet-50", 512, 1024, (28, 28), (1, 1), stride=2),
    Layer("ResNet-50", 512, 512, (7, 7), (3, 3), padding=1),
    Layer("ResNet-50", 512, 512, (7, 7), (3, 3), padding=1, batch=8),
    Layer("ResNet-50", 512, 512, (7, 7), (3, 3), padding=1, last=True),
    Layer("ResNeXt-50", 256, 256, (14, 14), (3, 3), padding=1, groups=32),
    Layer("MobileNetV3", 16, 16, (112, 112), (3, 3), padding=1, groups=16),
    Layer("MobileNetV3", 72, 72, (56, 56), (5, 5), padding=2, stride=2, groups=72),
    Layer("MobileNetV3", 672, 672, (14, 14), (5, 5), padding=2, groups=672, last=True),
    Layer("MobileNetV3", 112, 672, (14, 14), (1, 1), last=True),
    Layer("VGG-16", 3, 64, (224, 224), (3, 3), padding=1),
    Layer("VGG-16", 256, 256, (56, 56), (3, 3), padding=1),
    Layer("UNet", 64, 32, (128, 128), (3, 3), padding=1, last=True),
    Layer("UNet", 128, 64, (32, 32), (2, 2), stride=2, transposed=True),
    Layer("DeepLabV3", 256, 256, (28, 28), (3, 3), padding=2, dilation=2),
    Layer("1-D", 256, 256, (1000,), (5,), padding=2),
    Layer("1-D", 64, 128, (4000,), (3,), padding=4, dilation=4, batch=8),
    Layer("3-D", 32, 64, (16, 28, 28), (3, 3, 3), padding=1),
]


def seconds(call, clock, calls):
    begin = clock()
    for _ in range(calls):
        call()
    return (clock() - begin) / calls


def measure(layer, samples, threads):
    """Milliseconds of both, and the ratio."""
    import tilewright.torch  # noqa: F401: the back end
    import torch

    torch.manual_seed(1)
    inputs, call = layer.inputs(torch), layer.call(torch.nn.functional)
    torch.compiler.reset()
    compiled = torch.compile(call, backend="tilewright", options={"threads": threads}, dynamic=False)
    contenders = {"PyTorch": lambda: call(*inputs), "compiled": lambda: compiled(*inputs)}
    times = {name: [] for name in contenders}
    # One thread's own time leaves out what other processes of the machine take; of several, only the wall's is theirs.
    clock = time.thread_time if threads == 1 else time.perf_counter
    with torch.no_grad():
        expected = call(*(x.double() for x in inputs))
        for name, each in contenders.items():
            error = ((each().double() - expected).abs().max() / expected.abs().max()).item()
            if not error < TOLERANCES[layer.dtype]:
                raise SystemExit(f"{name} is wrong at {layer}: error {error}")
        calls = max(1, int(2e-3 / seconds(contenders["PyTorch"], clock, 2)))
        for turn in range(samples):
            for name in sorted(contenders, reverse=turn % 2 == 1):
                contenders[name]()  # its own data is in the caches again
                times[name].append(seconds(contenders[name], clock, calls))
    ratio = statistics.median(a / b for a, b in zip(times["PyTorch"], times["compiled"]))
    return [statistics.median(times[name]) * 1e3 for name in contenders], ratio


INTRODUCTION = """# Convolutions beside PyTorch

How fast are convolutions, compared with PyTorch's eager ones (oneDNN)? Each section is generated on its processor by
`test/benchmark/convolutions.py --write`. How they are compiled: [convolutions.md](convolutions.md).

Both are called in one process in turns. Images and weights are arguments of both, so what either packs or reorders, it does in each call. Times (of one thread: the
processor's, of the calling thread; else of the wall) are medians, ratios are medians of the turns' ratios. Every result was compared with a float64 evaluation: the
largest error is below 2e-5 of the largest element, of bfloat16 below 2e-2. Compiled code is called as users call it, through `torch.compile`, whose guards
and wrappers are in its time: of an image of 4 x 4 with 4 channels a call takes 37 us so, 4 us eager, 67 us with Inductor (Xeon with AMX, family 6, model 167; by hand).
Where a layer leaves nothing of PyTorch's code in the caches it is more: of 1 x 1, 112 to 672, a call of the compiled program alone takes 354 us, through
`torch.compile` 431, PyTorch 385 (EPYC, family 25, model 1; medians of 31 turns; by hand).
"""


def section(torch, options, rows, ratios):
    header = ("| network | window | channels | image | batch | channels | type | PyTorch, ms | compiled, ms | PyTorch's time / ours |\n"
              "|---|---|---|---|---|---|---|---|---|---|")
    return f"""PyTorch {torch.__version__}, {options.samples} turns.

{header}
{chr(10).join(rows)}

Geometric mean of the ratios: {statistics.geometric_mean(ratios):.2f}; the least: {min(ratios):.2f}.
"""


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=pathlib.Path, default=SOURCE / "build/release")
    parser.add_argument("--samples", type=int, default=15)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--only", default="", help="layers whose row contains this text")
    parser.add_argument("--write", action="store_true", help=f"write {PAGE.relative_to(SOURCE)}")
    options = parser.parse_args()
    if options.write and options.only:
        parser.error("--write shows all layers; leave out --only")
    os.environ["TILEWRIGHT_SDK"] = str(options.build)
    import torch
    torch.set_num_threads(options.threads)
    rows, ratios = [], []
    for layer in LAYERS:
        row = "| " + " | ".join(map(str, layer.what())) + " |"
        if options.only not in row:
            continue
        times, ratio = measure(layer, options.samples, options.threads)
        rows.append(f"{row} {times[0]:.3f} | {times[1]:.3f} | {ratio:.2f} |")
        ratios.append(ratio)
        print(rows[-1], file=sys.stderr, flush=True)
    if not rows:
        raise SystemExit(f"no layer's row contains '{options.only}'")
    text = section(torch, options, rows, ratios)
    if options.write:
        sections.write(PAGE, INTRODUCTION, text, sections.cores(options.threads))
    else:
        print(text)


if __name__ == "__main__":
    main()
