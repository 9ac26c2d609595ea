"""Attention in f32: compiled code beside PyTorch's eager scaled_dot_product_attention. Run with PyTorch's interpreter:

    build/venv-torch/bin/python test/benchmark/attention.py [--build build/release] [--samples 15] [--threads 1]

Both are called in one process, in turns of one call each; every result is compared with a float64 evaluation first. The ratio is the
median over the turns of PyTorch's time over that of compiled code. docs/fusion.md shows the table.
"""

import argparse
import os
import pathlib
import statistics
import sys
import time

SOURCE = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(SOURCE / "python"))

#: Heads, tokens, features.
SHAPES = [(12, 128, 64), (12, 512, 64), (8, 2048, 64), (4, 4096, 128)]


def seconds(call):
    begin = time.perf_counter()
    call()
    return time.perf_counter() - begin


def measure(shape, samples, threads):
    import tilewright.torch  # noqa: F401: the back end
    import torch
    from torch.nn.functional import scaled_dot_product_attention as attention

    torch.manual_seed(1)
    inputs = [torch.randn(1, *shape) for _ in range(3)]
    compiled = torch.compile(lambda q, k, v: attention(q, k, v), backend="tilewright", options={"threads": threads}, dynamic=False)
    contenders = {"PyTorch": lambda: attention(*inputs), "compiled": lambda: compiled(*inputs)}
    expected = attention(*(x.double() for x in inputs))
    times = {name: [] for name in contenders}
    with torch.no_grad():
        for name, call in contenders.items():
            error = (call().double() - expected).abs().max().item()
            if not error < 1e-5:
                raise SystemExit(f"{name} is wrong at {shape}: error {error}")
        for turn in range(samples):
            for name in sorted(contenders, reverse=turn % 2 == 1):
                times[name].append(seconds(contenders[name]))
    ratio = statistics.median(a / b for a, b in zip(times["PyTorch"], times["compiled"]))
    return [*shape, *(f"{statistics.median(times[name]) * 1e3:.2f}" for name in contenders), f"{ratio:.2f}"]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=pathlib.Path, default=SOURCE / "build/release")
    parser.add_argument("--samples", type=int, default=15)
    parser.add_argument("--threads", type=int, default=1)
    options = parser.parse_args()
    os.environ["TILEWRIGHT_SDK"] = str(options.build)
    import torch
    torch.set_num_threads(options.threads)
    print(f"PyTorch {torch.__version__}, {options.threads} threads, {options.samples} turns\n")
    print("| heads | tokens | features | PyTorch, ms | compiled, ms | PyTorch's time / ours |\n|---|---|---|---|---|---|")
    for shape in SHAPES:
        print("| " + " | ".join(map(str, measure(shape, options.samples, options.threads))) + " |", flush=True)


if __name__ == "__main__":
    main()
