# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Soft-max between two products where comparisons of indices select what counts: forced steps and what the model takes against
float64; steps that a mask leaves out are not computed, on CPUs and on lanes."""

import json
import re

import numpy as np
import pytest

from conftest import FULL
from lanes import with_chips
from test_chains import contraction, narrow, run_scheduled

# Of query i and key j: the text that computes %c, and the same in numpy.
MASKS = {
    "causal": ("%c = arith.cmpi sle, %j, %i : index", lambda i, j: j <= i),
    "causal, keys before": ("%seven = arith.constant 7 : index\n %key = arith.addi %i, %seven : index\n"
                            "%c = arith.cmpi sle, %j, %key : index", lambda i, j: j <= i + 7),
    "not after": ("%n = arith.cmpi sgt, %j, %i : index\n %t = arith.constant true\n %c = arith.xori %n, %t : i1",
                  lambda i, j: j <= i),
    "from a key on": ("%five = arith.constant 5 : index\n %c = arith.cmpi sge, %j, %five : index", lambda i, j: j + 0 * i >= 5),
    "window": ("%six = arith.constant 6 : index\n %key = arith.subi %i, %six : index\n %a = arith.cmpi sle, %j, %i : index\n"
               "%b = arith.cmpi sgt, %j, %key : index\n %c = arith.andi %a, %b : i1", lambda i, j: (j <= i) & (j > i - 6)),
    "two windows": ("%six = arith.constant 6 : index\n %key = arith.subi %i, %six : index\n %a = arith.cmpi slt, %j, %six : index\n"
                    "%b = arith.cmpi sgt, %j, %key : index\n %c = arith.ori %a, %b : i1", lambda i, j: (j < 6) | (j > i - 6)),
    "rows without a key": ("%five = arith.constant 5 : index\n %key = arith.subi %i, %five : index\n"
                           "%c = arith.cmpi slt, %j, %key : index", lambda i, j: j < i - 5),
    "every second key": ("%two = arith.constant 2 : index\n %r = arith.remui %j, %two : index\n %zero_i = arith.constant 0 : index\n"
                         "%c = arith.cmpi eq, %r, %zero_i : index", lambda i, j: j % 2 + 0 * i == 0),
    "every second 64 keys": ("%long = arith.constant 64 : index\n %two = arith.constant 2 : index\n %q64 = arith.divui %j, %long : index\n"
                             "%r = arith.remui %q64, %two : index\n %zero_i = arith.constant 0 : index\n"
                             "%c = arith.cmpi eq, %r, %zero_i : index", lambda i, j: j // 64 % 2 + 0 * i == 0),
    "none": ("%c = arith.constant true", lambda i, j: j + i >= 0),
    "one key": ("%c = arith.cmpi eq, %j, %i : index", lambda i, j: j == i),
}


def masked_attention(h, n, d, mask, element="f32", keys=None, narrow_result=False):
    keys = keys or n
    t, u = f"tensor<{h}x{n}x{d}x{element}>", f"tensor<{h}x{keys}x{d}x{element}>"
    square = f"tensor<{h}x{n}x{keys}xf32>"
    result = f"tensor<{h}x{n}x{d}x{element if narrow_result else 'f32'}>"
    kinds = ("parallel", "parallel", "parallel", "reduction")
    low = element != "f32"
    rounded = narrow("rounded", "%out", (h, n, d), element) if narrow_result else ""
    return f"""
func.func @attention(%q: {t}, %k: {u}, %v: {u}) -> {result} {{
  %zero = arith.constant 0.0 : f32
  %none = arith.constant 0xFF800000 : f32
  %scale = arith.constant 0.25 : f32
{contraction("scores", (("%q", t), ("%k", u)), (h, n, keys),
             ("(h, i, j, d) -> (h, i, d)", "(h, i, j, d) -> (h, j, d)", "(h, i, j, d) -> (h, i, j)"), kinds, element)}
  %me = tensor.empty() : {square}
  %masked = linalg.generic {{indexing_maps = [affine_map<(h, i, j) -> (h, i, j)>, affine_map<(h, i, j) -> (h, i, j)>],
      iterator_types = ["parallel", "parallel", "parallel"]}} ins(%scores : {square}) outs(%me : {square}) {{
    ^bb0(%x: f32, %o: f32):
      %i = linalg.index 1 : index
      %j = linalg.index 2 : index
      {MASKS[mask][0]}
      %s = arith.mulf %x, %scale : f32
      %y = arith.select %c, %s, %none : f32
      linalg.yield %y : f32
  }} -> {square}
  %pe = tensor.empty() : {square}
  %weights = linalg.softmax dimension(2) ins(%masked : {square}) outs(%pe : {square}) -> {square}
{narrow("low", "%weights", (h, n, keys), element) if low else ""}
{contraction("out", (("%low" if low else "%weights", f"tensor<{h}x{n}x{keys}x{element}>"), ("%v", u)), (h, n, d),
             ("(h, i, d, j) -> (h, i, j)", "(h, i, d, j) -> (h, j, d)", "(h, i, d, j) -> (h, i, d)"), kinds, element)}{rounded}
  return {"%rounded" if narrow_result else "%out"} : {result}
}}
"""


def in_float64(q, k, v, mask):
    q, k, v = (x.astype(np.float64) for x in (q, k, v))
    i, j = np.indices((q.shape[1], k.shape[1]))
    s = np.where(MASKS[mask][1](i, j), q @ k.transpose(0, 2, 1) / 4, -np.inf)
    with np.errstate(invalid="ignore"):
        p = np.exp(s - s.max(axis=-1, keepdims=True))
        return p / p.sum(axis=-1, keepdims=True) @ v


def inputs(h, n, d, element=np.float32, keys=None):
    random = np.random.default_rng(n)
    return [random.standard_normal((h, rows, d)).astype(element) for rows in (n, keys or n, keys or n)]


#: Tiles, members and steps: in CI two of them for each mask, in turn.
CUTS = [((1, 4), 1, 4), ((2, 6), 2, 5), ((1, 20), 1, 16), ((1, 1), 2, 1)]


@pytest.mark.parametrize("mask, cuts, members, step", [(mask, *cuts) for i, mask in enumerate(MASKS) for j, cuts in enumerate(CUTS)
                                                      if FULL or (i + j) % 4 == 0])
def test_masks_in_steps(tool, tmp_path, mask, cuts, members, step):
    """Steps that a mask leaves out, cuts and does not touch, whole and smaller ones; rows that no key is left for are NaN, as
    without steps."""
    arrays = inputs(3, 20, 8)
    got = run_scheduled(tool, tmp_path, masked_attention(3, 20, 8, mask), "attention", arrays, cuts, members, step=step)
    np.testing.assert_allclose(got, in_float64(*arrays, mask), rtol=2e-5, atol=2e-6)


def steps_of(tool, tmp_path, mask):
    """Bounds of the loops over steps of 4 keys, in tiles of 4 rows."""
    path = tmp_path / "p.mlir"
    path.write_text(masked_attention(1, 20, 8, mask))
    run_scheduled(tool, tmp_path, path.read_text(), "attention", inputs(1, 20, 8), (1, 4), 1, step=4)
    out = tool("tw-opt", tmp_path / "s.mlir", "--pass-pipeline=builtin.module(func.func(tile-and-fuse))")
    maps = dict(re.findall(r"^(#map\d*) = (affine_map<.*>)$", out, re.MULTILINE))
    loops, found = [], []
    for line in out.split("\n"):
        if "affine.for" in line:
            loops.append(line.strip())
        elif line.strip().startswith("}") and loops:
            head = loops.pop()
            if "tile.at = -2" in line:
                found.append(re.sub(r"#map\d*", lambda name: maps[name[0]], head))
    return found


def test_a_causal_mask_ends_the_steps(tool, tmp_path):
    """Full steps carry no test, those behind the rows are not there."""
    full, partly = steps_of(tool, tmp_path, "causal")
    assert "min" in full and "max" not in full
    assert "max" in partly and "min" in partly
    text = tool("tw-opt", tmp_path / "s.mlir", "--pass-pipeline=builtin.module(func.func(tile-and-fuse))")
    # One nest of the program becomes two, of which one selects.
    assert text.count("arith.cmpi") == 1 and text.count("math.exp") > 2


@pytest.mark.parametrize("mask", ["two windows", "every second key"])
def test_masks_without_bounds_are_tested_in_all_steps(tool, tmp_path, mask):
    steps, = steps_of(tool, tmp_path, mask)
    assert " = 0 to 5 " in steps


def test_a_window_has_three_kinds_of_steps(tool, tmp_path):
    assert len(steps_of(tool, tmp_path, "window")) == 3


def test_the_model_takes_steps_for_a_causal_mask(tool, tmp_path):
    """On a CPU: the model counts the steps that are left."""
    (tmp_path / "p.mlir").write_text(masked_attention(2, 1024, 64, "causal"))
    said = json.loads(tool("tw-compile", tmp_path / "p.mlir", "--target", "cpu:x86-64-v3", "--threads", "1", "-o",
                           tmp_path / "p.ll", "--explain=json"))
    chain = next(each for each in said if each["decision"] == "schedule-chain")
    assert chain["choice"]["step"] > 0
    whole = [each["seconds"] for each in chain["candidates"] if each.get("step") == 0]
    assert chain["choice"]["seconds"] < 0.75 * min(whole)


#: In CI one of them for each mask and size, in turn.
LANES = ["nvidia:H200", "nvidia:T4", "amd:MI300X"]


@pytest.mark.parametrize("n", [128, 197])
def test_packed_copies_of_steps_that_begin_late(tool, tmp_path, n):
    """On the host: steps that a mask cuts begin where a tile does, the smaller last one behind all others; their packed operands are
    counted from the first step on."""
    (tmp_path / "p.mlir").write_text(masked_attention(2, n, 64, "causal", "f16", narrow_result=True))
    tool("tw-run", tmp_path / "p.mlir", "--verify")


@pytest.mark.parametrize("chip, case", with_chips([
    ("causal", 128, 128, 32), ("causal, keys before", 128, 128, 32), ("window", 128, 128, 32), ("rows without a key", 128, 128, 32),
    ("two windows", 128, 128, 32), ("none", 197, 197, 64), ("none", 64, 197, 80), ("causal", 197, 197, 72), ("window", 100, 133, 40),
    ("rows without a key", 150, 77, 64), ("two windows", 197, 300, 64)], chips=LANES))
def test_masks_on_lanes(tool, tmp_path, chip, case):
    """One launch; results as float64; NaN where no key is left. Tiles, steps and units that the sizes are no multiples of."""
    h, (mask, n, keys, d) = 2, case
    arrays = inputs(h, n, d, np.float16, keys)
    path = tmp_path / "p.mlir"
    path.write_text(masked_attention(h, n, d, mask, "f16", keys, narrow_result=True))
    arguments = []
    for i, value in enumerate(arrays):
        np.save(tmp_path / f"{i}.npy", value)
        arguments += ["--input", tmp_path / f"{i}.npy"]
    said = json.loads(tool("tw-run", path, "--target", chip, "--device", "emulator", "--json", *arguments, "--output",
                           tmp_path / "out.npy"))
    np.testing.assert_allclose(np.load(tmp_path / "out.npy"), in_float64(*arrays, mask), rtol=4e-3, atol=4e-3)
    assert len(said["emulation"]["kernels"]) == 1 and not said["emulation"]["findings"]


def test_a_causal_mask_halves_the_bytes_on_lanes(tool, tmp_path):
    """Each block reads its queries once, and keys and values up to its last row."""
    n, d = 256, 64
    path = tmp_path / "p.mlir"
    path.write_text(masked_attention(1, n, d, "causal", "f16", narrow_result=True))
    run = json.loads(tool("tw-run", path, "--target", "nvidia:H200", "--device", "emulator", "--json"))
    said = json.loads(tool("tw-compile", path, "--target", "nvidia:H200", "-o", tmp_path / "p.ll", "--explain=json"))
    choice = next(each for each in said if each["decision"] == "schedule-chain")["choice"]
    tile, step, row = choice["tile"], choice["step"], d * 2
    kernel, = run["emulation"]["kernels"]
    memory = next(each for each in kernel["memories"] if each["memory"] == "global")
    keys = sum(-(-(block + 1) * tile // step) * step for block in range(n // tile))
    assert memory["read_bytes"] == n * row + 2 * keys * row
