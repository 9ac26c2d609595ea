# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Convolutions of 1 to 3 dimensions against NumPy, bit by bit, with the plans of the cost model and with vectors that run through whole
images. The image ends where a page without access begins."""

import json
import random

import numpy as np
import pytest

from conftest import FULL
from guarded_calls import TYPES, call

#: What the cost model chooses, vectors of results in several rows of the image, the plan's rows in several, vectors of weights.
PLANS = ("", "lane_dims=2", "lane_dims=2,vectors=1", "lane_dims=2,rows=3", "row_dims=2", "lanes_on=n,row_dims=2,rows=3", "lanes_on=m",
         "lanes_on=n")
SEEDS = 64


class Convolution:
    """Windows of `kernel` over `space` dimensions, from `channels` to `filters` in each of `groups`."""

    def __init__(self, seed):
        choose = random.Random(seed)
        self.kind = ("f32", "bf16", "i8")[seed % 3]
        self.sums = "i32" if self.kind == "i8" else "f32"
        self.space = choose.choice((1, 2, 2, 2, 3))
        self.last = choose.random() < 0.4
        self.kernel = [choose.choice((1, 2, 3, 3)) for _ in range(self.space)]
        self.strides = [choose.choice((1, 1, 1, 2, 3)) for _ in range(self.space)]
        self.dilations = [choose.choice((1, 1, 2)) for _ in range(self.space)]
        self.out = [choose.choice((1, 2, 3, 5, 7, 9, 14, 17, 33)) for _ in range(self.space)]
        self.batch, self.channels = choose.choice((1, 1, 3)), choose.choice((1, 3, 8, 17))
        self.filters = choose.choice((3, 5, 16, 24, 40))
        self.plan = choose.choice(PLANS if min(self.out) > 1 and self.space > 1 else PLANS[:1] + PLANS[-2:])
        # Around the results; vectors do not run through several rows of such an array.
        self.border = choose.choice((0, 1)) if "lane_dims" not in self.plan else 0

    def shapes(self):
        image = [(out - 1) * stride + (taps - 1) * apart + 1
                 for out, stride, taps, apart in zip(self.out, self.strides, self.kernel, self.dilations)]
        arrange = lambda channels, sizes: [self.batch, *sizes, channels] if self.last else [self.batch, channels, *sizes]
        return arrange(self.channels, image), [self.filters, self.channels, *self.kernel], arrange(self.filters, self.out)

    def bordered(self):
        """The shape of what is returned, and the border before and behind each of its dimensions."""
        results = self.shapes()[2]
        border = [self.border if d - (1 if self.last else 2) in range(self.space) else 0 for d in range(len(results))]
        return [size + 2 * each for size, each in zip(results, border)], border

    def text(self):
        tensor = lambda sizes, kind: f"tensor<{'x'.join(map(str, sizes))}x{kind}>"
        (x, w, z), dims = self.shapes(), range(self.space)
        space, taps = [f"y{i}" for i in dims], [f"t{i}" for i in dims]
        at = [f"y{i} * {self.strides[i]} + t{i} * {self.dilations[i]}" for i in dims]
        arrange = lambda channel, places: ", ".join(["n", *places, channel] if self.last else ["n", channel, *places])
        loops = ", ".join(["n", "o", *space, "c", *taps])
        maps = [arrange("c", at), ", ".join(["o", "c", *taps]), arrange("o", space)]
        kinds = ", ".join(['"parallel"'] * (2 + self.space) + ['"reduction"'] * (1 + self.space))
        wide, letter = self.sums, "i" if self.kind == "i8" else "f"
        widen = lambda name: (f"%{name}", "") if self.kind == wide else (
            f"%w{name}", f"    %w{name} = arith.ext{'si' if letter == 'i' else 'f'} %{name} : {self.kind} to {wide}\n")
        (a, wide_a), (b, wide_b) = widen("a"), widen("b")
        whole, border = self.bordered()
        indices = ", ".join(f"%p{d}: index" for d in range(len(z)))
        pad = f"""  %q = tensor.pad %r low{border} high{border} {{
  ^bb0({indices}):
    tensor.yield %zero : {wide}
  }} : {tensor(z, wide)} to {tensor(whole, wide)}
""" if self.border else ""
        return f"""module attributes {{tilewright.force = "{self.plan}"}} {{
func.func @compute(%x: {tensor(x, self.kind)}, %y: {tensor(w, self.kind)}) -> {tensor(whole, wide)} {{
  %zero = arith.constant {'0' if letter == 'i' else '0.0'} : {wide}
  %e = tensor.empty() : {tensor(z, wide)}
  %i = linalg.fill ins(%zero : {wide}) outs(%e : {tensor(z, wide)}) -> {tensor(z, wide)}
  %r = linalg.generic {{indexing_maps = [{', '.join(f'affine_map<({loops}) -> ({each})>' for each in maps)}],
      iterator_types = [{kinds}]}} ins(%x, %y : {tensor(x, self.kind)}, {tensor(w, self.kind)}) outs(%i : {tensor(z, wide)}) {{
  ^bb0(%a: {self.kind}, %b: {self.kind}, %c: {wide}):
{wide_a}{wide_b}    %p = arith.mul{letter} {a}, {b} : {wide}
    %s = arith.add{letter} %c, %p : {wide}
    linalg.yield %s : {wide}
  }} -> {tensor(z, wide)}
{pad}  return {'%q' if pad else '%r'} : {tensor(whole, wide)}
}}
}}
"""

    def expected(self, x, w):
        channels = -1 if self.last else 1
        x, w = np.moveaxis(x.astype(np.float64), channels, 1), w.astype(np.float64)
        total = 0.0
        for taps in np.ndindex(*self.kernel):
            cut = tuple(slice(tap * apart, tap * apart + (out - 1) * stride + 1, stride)
                        for tap, apart, out, stride in zip(taps, self.dilations, self.out, self.strides))
            total = total + np.einsum("nc...,oc->no...", x[(slice(None), slice(None), *cut)], w[(slice(None), slice(None), *taps)])
        return np.pad(np.moveaxis(total, 1, channels), [(each, each) for each in self.bordered()[1]])


#: Seeds of CI: those whose vectors or rows run through several dimensions, and every second of the others.
RUN = [seed for seed in range(SEEDS) if seed % 2 == 0 or "_dims" in Convolution(seed).plan]


@pytest.mark.parametrize("seed", range(300) if FULL else RUN[::2])
def test_convolution(tool, tmp_path, seed):
    """Sums of small integers are exact in any order."""
    convolution = Convolution(seed)
    numbers = np.random.default_rng(seed)
    image, weights, _ = convolution.shapes()
    x, w = (numbers.integers(-4, 5, shape).astype(TYPES[convolution.kind]) for shape in (image, weights))
    found = call(tool, tmp_path, convolution.text(), x, np.full(convolution.bordered()[0], 77, TYPES[convolution.sums]), others=[w])
    assert np.array_equal(found.astype(np.float64), convolution.expected(x, w)), convolution.text()


def chosen(tool, tmp_path, convolution, chip):
    (tmp_path / "c.mlir").write_text(convolution.text())
    told = tool("tw-compile", tmp_path / "c.mlir", "--target", chip, "-o", tmp_path / "c.ll", "--explain=json")
    return next(each["choice"] for each in json.loads(told) if each["decision"] == "contraction")


@pytest.mark.parametrize("chip", ("cpu:zen4", "cpu:granite-rapids"))
@pytest.mark.parametrize("side, lane_dims", ((7, 2), (14, 2), (64, None)))
def test_small_images_fill_vectors(tool, tmp_path, chip, side, lane_dims):
    """Rows of 7 or 14 results leave lanes idle, so that vectors run through the whole image or through output channels; rows of 64 fill
    them. Sums run through the weights as they lie."""
    convolution = Convolution(0)
    convolution.__dict__.update(kind="f32", sums="f32", space=2, last=False, kernel=[3, 3], strides=[1, 1], dilations=[1, 1],
                                out=[side, side], batch=1, channels=256, filters=256, plan="", border=0)
    choice = chosen(tool, tmp_path, convolution, chip)
    assert choice.get("lane_dims") == lane_dims or choice["lanes_on"] == "n", choice
    assert choice["taps_inside"], choice


def test_forced_plans_reach_windows(tool, tmp_path):
    """Of the random convolutions above, enough have vectors that the copy of the image fills from several of its rows, and rows of the plan
    that run through several."""
    windows, rows = 0, 0
    for seed in range(SEEDS):
        convolution = Convolution(seed)
        if "_dims" in convolution.plan:
            (tmp_path / "c.mlir").write_text(convolution.text())
            told = json.loads(tool("tw-compile", tmp_path / "c.mlir", "--target", "cpu:granite-rapids", "-o", tmp_path / "c.ll", "--explain=json"))
            choices = [each["choice"] for each in told if each["decision"] == "contraction"]
            windows += any(choice.get("lane_dims") for choice in choices)
            rows += any(choice.get("row_dims") for choice in choices)
    assert windows >= 5 and rows >= 6, (windows, rows)


def deep(plan=""):
    """512 channels on eight images of 7 x 7: the images are more than the columns of one."""
    convolution = Convolution(0)
    convolution.__dict__.update(kind="f32", sums="f32", space=2, last=False, kernel=[3, 3], strides=[1, 1], dilations=[1, 1],
                                out=[7, 7], batch=8, channels=16 if plan else 512, filters=24 if plan else 512, plan=plan, border=0)
    return convolution


def test_rows_are_neighbours_in_the_result(tool, tmp_path):
    """Images as rows would be longer, but store each element by itself."""
    choice = chosen(tool, tmp_path, deep(), "cpu:x86-64-v3")
    assert choice["lanes_on"] == "n" and choice.get("neighbour_rows"), choice


@pytest.mark.parametrize("neighbours", (0, 1))
def test_numbers_of_rows(tool, tmp_path, neighbours):
    convolution = deep(f"lanes_on=n,neighbour_rows={neighbours},k_block=8")
    image, weights, _ = convolution.shapes()
    numbers = np.random.default_rng(neighbours)
    x, w = (numbers.integers(-4, 5, shape).astype(np.float32) for shape in (image, weights))
    found = call(tool, tmp_path, convolution.text(), x, np.full(convolution.bordered()[0], 77, np.float32), others=[w])
    assert np.array_equal(found.astype(np.float64), convolution.expected(x, w))
