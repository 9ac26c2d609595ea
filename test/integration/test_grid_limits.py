# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Grids that devices can start: batches, rows and images by the hundred thousand, with sizes in the program or in the call."""

import json
import math

import pytest

from conftest import FULL
from lane_texts import convolution, product, tensor
from lanes import emulate

MOST = (2**31 - 1, 65535, 65535)


def transpose(shape, order, kind):
    """The array with its dimensions in another order; a size of None is dynamic."""
    x, y = tensor(shape, kind), tensor([shape[d] for d in order], kind)
    lines = [f"%c{d} = arith.constant {d} : index\n  %s{d} = tensor.dim %x, %c{d} : {x}" for d, n in enumerate(shape) if n is None]
    shown = ", ".join(f"%s{d}" for d in order if shape[d] is None)
    return "\n  ".join([f"func.func @f(%x: {x}) -> {y} {{", *lines, f"%e = tensor.empty({shown}) : {y}",
                        f"%r = linalg.transpose ins(%x : {x}) outs(%e : {y}) permutation = {list(order)}",
                        f"return %r : {y}\n}}\n"])


def batch_of_size(m, n, k):
    """As many products as the call has."""
    a, b, c = (tensor([None, *shape], kind) for shape, kind in (((m, k), "f16"), ((k, n), "f16"), ((m, n), "f32")))
    return (f"func.func @f(%a: {a}, %b: {b}, %c: {c}) -> {c} {{\n"
            f"  %r = linalg.batch_matmul ins(%a, %b : {a}, {b}) outs(%c : {c}) -> {c}\n  return %r : {c}\n}}\n")


def images(text, count):
    """The convolution of so many images instead of two."""
    return text.replace("tensor<2x", f"tensor<{count}x").replace(f"tensor<{count}xi64>", "tensor<2xi64>")


def value(expression, sizes):
    if isinstance(expression, int):
        return expression
    if isinstance(expression, dict):
        return sizes[expression["size"]]
    a, b = (value(each, sizes) for each in expression[1:])
    return {"*": a * b, "+": a + b, "-": a - b, "max": max(a, b), "min": min(a, b), "ceildiv": -(-a // b) if b else 0,
            "floordiv": a // b if b else 0, "mod": a % b if b else 0}[expression[0]]


def launches(tool, path, chip):
    """All launches of the artifact of a program."""
    artifact = path.with_suffix(".tw")
    tool("tw-compile", path, "--target", chip, "-o", artifact)
    first, _, rest = artifact.read_bytes().partition(b"\n")
    header = json.loads(rest[:int(first.split()[2])])

    def among(steps):
        for step in steps:
            if "launch" in step:
                yield step
            for part in ("then", "else", "before", "do"):
                yield from among(step.get(part, []))

    return [step for each in header["programs"] for step in among(each["steps"])]


def stem(layout, kind, count):
    return images(convolution(layout, kind, 2, 1, 1, 0, taps=7, channels=3, filters=64, points=(229, 229)), count)


#: program, sizes of a call, chips, whether the longest grid is one dimension
LARGE = {
    "batch": (product("f16", 16, 16, 16, batch=100000), (), ("nvidia:A100", "amd:MI300X", "amd:RX7900"), True),
    "largest-batch": (product("f16", 16, 16, 16, batch=65535), (), ("nvidia:A100", "amd:MI300X"), False),
    "tall": (product("f16", 33554432, 16, 16), (), ("nvidia:A100", "nvidia:H200"), True),
    "windows": (product("f16", 64, 64, 32, batch=98304, trans_b=True), (), ("nvidia:H200", "amd:MI300X"), True),
    "dynamic": (product("f16", 16, 16, 16, batch=1, dynamic=True), (70000, 16, 16, 16), ("nvidia:A100", "amd:MI300X"), True),
    "batch-of-size": (batch_of_size(64, 64, 64), (70000,), ("nvidia:H200", "amd:RX7900"), True),
    "stem": (stem("nhwc", "f16", 1024), (), ("nvidia:A100",), True),
    "rows-turned": (transpose([64, 5000000], [1, 0], "f32"), (), ("nvidia:A100", "amd:MI300X"), True),
    "matrices-turned": (transpose([100000, 40, 40], [0, 2, 1], "f32"), (), ("nvidia:T4", "amd:MI300X"), True),
    "turned-by-sizes": (transpose([None, None, None], [0, 2, 1], "f32"), (100000, 40, 40), ("nvidia:A100",), True),
}


@pytest.mark.parametrize("name, chip", [(name, chip) for name, case in LARGE.items() for chip in case[2]])
def test_grids_fit(name, chip, tool, tmp_path):
    text, sizes, _, flat = LARGE[name]
    path = tmp_path / "p.mlir"
    path.write_text(text)
    grids = [[value(extent, sizes) for extent in step["grid"]] for step in launches(tool, path, chip)]
    assert grids and all(extent <= most for grid in grids for extent, most in zip(grid, MOST)), grids
    largest = max(grids, key=math.prod)
    assert (largest[1:] == [1, 1]) == flat, grids
    assert math.prod(largest) >= 65535, grids


#: What the emulator runs: program, sizes of a call, chip. In CI a batch of known size, a transposition of dynamic sizes, and clusters.
RUN = {
    "scalars": (product("f16", 1, 1, 1, batch=65536), (), "nvidia:A100"),
    "batch": (product("f16", 4, 4, 4, batch=65536), (), "amd:MI300X"),
    "batch-of-size": (batch_of_size(4, 4, 4), (70000,), "nvidia:A100"),
    "turned": (transpose([2, 2100000], [1, 0], "i8"), (), "nvidia:A100"),
    "turned-of-size": (transpose([2, None], [1, 0], "i8"), (2100000,), "amd:MI300X"),
}

RUN["clusters"] = (f'module attributes {{tilewright.force = "group=4,block_m=128,block_n=128,cluster=2"}} {{\n'
                   f'{batch_of_size(384, 256, 128)}}}', (3,), "nvidia:H200")


@pytest.mark.parametrize("name", RUN if FULL else ["scalars", "turned-of-size", "clusters"])
def test_values(name, tool, tmp_path):
    text, sizes, chip = RUN[name]
    path = tmp_path / "p.mlir"
    path.write_text(text)
    emulate(tool, path, chip, *([f"--sizes={','.join(map(str, sizes))}"] if sizes else []))
