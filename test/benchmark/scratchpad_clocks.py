#!/usr/bin/env python3
# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The clocks of docs/scratchpads.md: products with bias, ReLU and residual on accelerator:npu, counted by the emulator.

    test/benchmark/scratchpad_clocks.py [BUILD]      BUILD: build/release

The first table has clocks of the slowest core, which is how long a launch takes, and of the mean of the four, beside those of
the plan; the second one clocks of static sizes over those of the same sizes where they are dynamic, of the slowest core and
of all cores together. Results are compared with float64."""

import json
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "test" / "integration"))
from dynamic_programs import product, sizes_of  # noqa: E402

BUILD = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ROOT / "build" / "release")
CHIP = [f"--load-target={BUILD}/lib/tilewright/libtilewright-target-accelerator.so", "--target=accelerator:npu"]
CORES = 4

#: Name, kind, sizes m, n, k, and which operands are stored transposed.
PLANS = [("1024 x 1024 x 1024 i8", "i8", (1024, 1024, 1024), {}), ("1024 x 1024 x 1024 bf16", "bf16", (1024, 1024, 1024), {}),
         ("1000 x 1000 x 1000 bf16", "bf16", (1000, 1000, 1000), {}), ("500 x 500 x 500 i8", "i8", (500, 500, 500), {}),
         ("512 x 512 x 512 i8, A stored as K x M", "i8", (512, 512, 512), {"trans_a": True}),
         ("256 x 256 x 256 i8, B stored as N x K", "i8", (256, 256, 256), {"trans_b": True}),
         ("256 x 256 x 256 bf16, both", "bf16", (256, 256, 256), {"trans_a": True, "trans_b": True})]
DYNAMIC = [(kind, sizes) for kind in ("bf16", "i8")
           for sizes in ((64, 64, 64), (100, 72, 40), (16, 512, 256), (128, 768, 768), (1, 1024, 1024), (512, 512, 512))]


def run(tool, path, *words):
    done = subprocess.run([BUILD / "bin" / tool, path, *CHIP, *words], capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"scratchpad_clocks: {tool}: {done.stderr.strip()[:2000]}")
    return json.loads(done.stdout)


def measured(path, text, *words):
    """Clocks of the slowest core of each launch, those of all cores, and the share of the latter in which the unit is busy."""
    path.write_text(text)
    report = run("tw-run", path, "--device=emulator", "--verify", "--json", *words)
    kernels = report["emulation"]["kernels"]
    if not report["verify"]["passed"]:
        sys.exit(f"scratchpad_clocks: wrong results: {report['verify']}")
    clocks = sum(kernel["cycles"] for kernel in kernels)
    busy = sum(engine["busy_cycles"] for kernel in kernels for engine in kernel["engines"] if engine["engine"] == "unit")
    return sum(kernel["slowest_block_cycles"] for kernel in kernels), clocks, busy / clocks


def planned(path):
    return sum(decision["choice"]["clocks"] for decision in run("tw-compile", path, "--explain=json")
               if decision["decision"] == "contraction")


def main():
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "product.mlir"
        print("| product | slowest core | mean of the cores | the plan says | unit busy |\n|---|---|---|---|---|")
        for name, kind, sizes, layout in PLANS:
            slowest, clocks, busy = measured(path, product(kind, *sizes, **layout))
            print(f"| {name} | {slowest:,.0f} | {clocks / CORES:,.0f} | {planned(path):,.0f} | {busy:.3f} |", flush=True)
        print("\n| product | m | k | m, n and k | all cores: m | k | m, n and k |\n|---|---|---|---|---|---|---|")
        for kind, (m, n, k) in DYNAMIC:
            static = measured(path, product(kind, m, n, k))
            runs = [measured(path, product(kind, m, n, k, dynamic), *sizes_of("mkkn", dynamic, m=m, n=n, k=k))
                    for dynamic in ("m", "k", "mnk")]
            ratios = [static[which] / each[which] for which in (0, 1) for each in runs]
            print(f"| {m} x {n} x {k} {kind} | " + " | ".join(f"{ratio:.2f}" for ratio in ratios) + " |", flush=True)


if __name__ == "__main__":
    main()
