# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Reductions over windows and short rows against NumPy, bit by bit: the order of the taps is that of the program where
sums may not be reordered. The input ends where a page without access begins."""

import itertools
import random

import numpy as np
import pytest

from conftest import FULL, in_turn
from guarded_calls import TYPES, call

LOW = {"f32": "0xFF800000", "f64": "0xFFF0000000000000", "bf16": "0xFF80", "i8": "-128", "i32": "-2147483648"}
LAYOUTS = ("ncw", "nwc", "nchw", "nhwc", "ncdhw", "ndhwc")


class Window:
    """A window of `kernel` taps at distances `dilations` over `layout`, whose results are `strides` apart."""

    def __init__(self, seed):
        choose = random.Random(seed)
        self.layout, self.kind = LAYOUTS[seed % len(LAYOUTS)], list(TYPES)[seed // len(LAYOUTS) % len(TYPES)]
        self.how = choose.choice(("max", "sum", "mean") if self.kind[0] != "i" else ("max", "sum"))
        space = [letter for letter in self.layout if letter in "dhw"]
        # Beyond the vector registers, the outer taps stay loops.
        large = choose.random() < 0.3
        self.kernel = {x: choose.choice((5, 7, 9) if large else (1, 2, 3)) for x in space}
        self.strides = {x: choose.choice((1, 1, 2, 2, 3, 4, 5)) for x in space}
        self.dilations = {x: choose.choice((1, 1, 1, 2, 3)) for x in space}
        self.out = {x: choose.choice((1, 3, 7, 10)) for x in space}
        self.out["w"] = choose.choice((1, 5, 16, 31, 49, 67))
        self.out |= {"n": choose.choice((1, 2)), "c": choose.choice((1, 3, 8, 21, 35, 64))}
        # The sizes of what no window runs over may be known to the run alone.
        self.open = "nc" if choose.random() < 0.3 else ""
        self.space = space

    def image(self):
        size = lambda x: (self.out[x] - 1) * self.strides[x] + (self.kernel[x] - 1) * self.dilations[x] + 1
        return [size(x) if x in self.space else self.out[x] for x in self.layout]

    def results(self):
        return [self.out[x] for x in self.layout]

    def text(self):
        tensor = lambda sizes: f"tensor<{'x'.join(map(str, sizes))}x{self.kind}>"
        loops = list(self.layout) + [f"k{x}" for x in self.space]
        index = lambda x: f"{x} * {self.strides[x]} + k{x} * {self.dilations[x]}" if x in self.space else x
        image = ", ".join(index(x) for x in self.layout)
        kernel = [self.kernel[x] for x in self.space]
        letter = "i" if self.kind[0] == "i" else "f"
        combine = {"max": {"i": "arith.maxsi", "f": "arith.maximumf"}[letter]}.get(self.how, f"arith.add{letter}")
        start = LOW[self.kind] if self.how == "max" else {"i": "0", "f": "0.0"}[letter]
        taps = int(np.prod(kernel))
        names, axes, all_loops = ", ".join(self.layout), ", ".join(f"k{x}" for x in self.space), ", ".join(loops)
        kinds = ", ".join(['"parallel"'] * len(self.layout))
        window = ", ".join(['"reduction"'] * len(self.space))
        places = [at for at, x in enumerate(self.layout) if x in self.open]
        unknown = lambda sizes: ["?" if at in places else size for at, size in enumerate(sizes)]
        given, wanted, e = tensor(unknown(self.image())), tensor(unknown(self.results())), self.kind
        dims = "".join(f"""
  %at{at} = arith.constant {at} : index
  %size{at} = tensor.dim %x, %at{at} : {given}""" for at in places)
        sizes = ", ".join(f"%size{at}" for at in places)
        mean = f"""
  %n = arith.constant {1 / taps:.17e} : {e}
  %m = linalg.generic {{indexing_maps = [affine_map<({names}) -> ({names})>, affine_map<({names}) -> ({names})>],
      iterator_types = [{kinds}]}} ins(%r : {wanted}) outs(%e : {wanted}) {{
  ^bb0(%a: {e}, %b: {e}):
    %c = arith.mulf %a, %n : {e}
    linalg.yield %c : {e}
  }} -> {wanted}""" if self.how == "mean" else ""
        return f"""func.func @compute(%x: {given}) -> {wanted} {{
  %start = arith.constant {start} : {e}{dims}
  %e = tensor.empty({sizes}) : {wanted}
  %i = linalg.fill ins(%start : {e}) outs(%e : {wanted}) -> {wanted}
  %k = tensor.empty() : {tensor(kernel)}
  %r = linalg.generic {{indexing_maps = [affine_map<({all_loops}) -> ({image})>, affine_map<({all_loops}) -> ({axes})>,
      affine_map<({all_loops}) -> ({names})>], iterator_types = [{kinds}, {window}]}}
      ins(%x, %k : {given}, {tensor(kernel)}) outs(%i : {wanted}) {{
  ^bb0(%a: {e}, %b: {e}, %c: {e}):
    %s = {combine} %c, %a : {e}
    linalg.yield %s : {e}
  }} -> {wanted}{mean}
  return {"%m" if mean else "%r"} : {wanted}
}}
"""

    def expected(self, x):
        sums = {"bf16": np.float32}.get(self.kind, TYPES[self.kind])  # narrow floats are summed up in f32
        combine = np.maximum if self.how == "max" else np.add
        total = None
        for taps in itertools.product(*(range(self.kernel[letter]) for letter in self.space)):
            cut = [slice(None)] * len(self.layout)
            for letter, tap in zip(self.space, taps):
                start = tap * self.dilations[letter]
                end = start + (self.out[letter] - 1) * self.strides[letter] + 1
                cut[self.layout.index(letter)] = slice(start, end, self.strides[letter])
            seen = x[tuple(cut)].astype(sums)
            total = seen if total is None else combine(total, seen)
        if self.how != "mean":
            return total.astype(x.dtype)
        factor = TYPES[self.kind](1 / int(np.prod([self.kernel[letter] for letter in self.space])))
        return (total.astype(x.dtype) * factor).astype(x.dtype)


@pytest.mark.parametrize("seed", range(300 if FULL else 20))
def test_window(tool, tmp_path, seed):
    window = Window(seed)
    numbers = np.random.default_rng(seed)
    shape = window.image()
    kind = TYPES[window.kind]
    x = numbers.integers(-100, 100, shape).astype(kind) if window.kind[0] == "i" else numbers.normal(size=shape).astype(kind)
    found = call(tool, tmp_path, window.text(), x, np.zeros(window.results(), x.dtype), "--fp", "strict",
                 sizes=[window.out[x] for x in window.layout if x in window.open])
    expected = window.expected(x)
    if window.kind == "bf16" and window.how == "mean":  # the sum may stay in f32 until the mean is rounded
        assert np.allclose(found.astype(np.float32), expected.astype(np.float32), rtol=2 ** -7, atol=0)
    else:
        assert np.array_equal(found.view(np.uint8), expected.view(np.uint8)), window.text()


@pytest.mark.parametrize("channels, kind", in_turn((2, 3, 4, 7, 16), ("f32", "i8", "bf16")))
def test_short_rows(tool, tmp_path, kind, channels):
    """Sums of the innermost dimension, as over the channels of a picture."""
    shape = (5, 37, channels)
    x = np.random.default_rng(channels).integers(-4, 5, shape).astype(TYPES[kind])
    given, wanted = f"tensor<5x37x{channels}x{kind}>", f"tensor<5x37x{kind}>"
    add, zero = ("arith.addi", "0") if kind == "i8" else ("arith.addf", "0.0")
    text = f"""func.func @compute(%x: {given}) -> {wanted} {{
  %zero = arith.constant {zero} : {kind}
  %e = tensor.empty() : {wanted}
  %i = linalg.fill ins(%zero : {kind}) outs(%e : {wanted}) -> {wanted}
  %r = linalg.reduce {{ {add} }} ins(%x : {given}) outs(%i : {wanted}) dimensions = [2]
  return %r : {wanted}
}}
"""
    found = call(tool, tmp_path, text, x, np.zeros(shape[:2], x.dtype))
    assert np.array_equal(found.astype(np.float64), x.astype(np.float64).sum(axis=2))
