# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Cross entropy over a product, with the target's logit as a sum of choices: one launch whose logits are never in memory."""

import json
import re

import numpy as np
import pytest
from scratchpads import PLUGIN

ROWS, CLASSES, FEATURES = 2048, 1024, 64


def cross_entropy(rows, classes, features):
    logits, row = f"tensor<{rows}x{classes}xf32>", f"tensor<{rows}xf32>"
    both, ofrow = "affine_map<(i, j) -> (i, j)>", "affine_map<(i, j) -> (i)>"

    def generic(name, maps, kind, inputs, types, out, outtype, body):
        return (f'  %{name} = linalg.generic {{indexing_maps = [{", ".join(maps)}], iterator_types = ["parallel", {kind}]}} '
                f'ins({inputs} : {types}) outs({out} : {outtype}) {{\n{body}\n  }} -> {outtype}\n')
    x, w = f"tensor<{rows}x{features}xf16>", f"tensor<{classes}x{features}xf16>"
    maps = ["affine_map<(i, j, k) -> (i, k)>", "affine_map<(i, j, k) -> (j, k)>", "affine_map<(i, j, k) -> (i, j)>"]
    return (
        f"func.func @main(%x: {x}, %w: {w}, %t: tensor<{rows}xi64>) -> {row} {{\n  %zero = arith.constant 0.0 : f32\n"
        f"  %none = arith.constant 0xFF800000 : f32\n  %a = tensor.empty() : {logits}\n  %b = tensor.empty() : {row}\n"
        f"  %zeros = linalg.fill ins(%zero : f32) outs(%a : {logits}) -> {logits}\n"
        f"  %nones = linalg.fill ins(%none : f32) outs(%b : {row}) -> {row}\n  %sums = linalg.fill ins(%zero : f32) outs(%b : {row}) -> {row}\n"
        + generic("s", maps, '"parallel", "reduction"', "%x, %w", f"{x}, {w}", "%zeros", logits,
                  "  ^bb0(%0: f16, %1: f16, %2: f32):\n    %3 = arith.extf %0 : f16 to f32\n    %4 = arith.extf %1 : f16 to f32\n"
                  "    %5 = arith.mulf %3, %4 : f32\n    %6 = arith.addf %2, %5 : f32\n    linalg.yield %6 : f32")
        + generic("m", [both, ofrow], '"reduction"', "%s", logits, "%nones", row,
                  "  ^bb0(%0: f32, %1: f32):\n    %2 = arith.maximumf %1, %0 : f32\n    linalg.yield %2 : f32")
        + generic("d", [both, ofrow, both], '"parallel"', "%s, %m", f"{logits}, {row}", "%a", logits,
                  "  ^bb0(%0: f32, %1: f32, %2: f32):\n    %3 = arith.subf %0, %1 : f32\n    linalg.yield %3 : f32")
        + generic("l", [both, ofrow], '"reduction"', "%d", logits, "%sums", row,
                  "  ^bb0(%0: f32, %1: f32):\n    %2 = math.exp %0 : f32\n    %3 = arith.addf %1, %2 : f32\n    linalg.yield %3 : f32")
        + generic("p", [both, ofrow, ofrow, ofrow], '"reduction"', "%d, %l, %t", f"{logits}, {row}, tensor<{rows}xi64>", "%sums", row,
                  "  ^bb0(%0: f32, %1: f32, %2: i64, %3: f32):\n    %4 = math.log %1 : f32\n    %5 = arith.subf %0, %4 : f32\n"
                  "    %6 = linalg.index 1 : index\n    %7 = arith.index_cast %6 : index to i64\n    %8 = arith.cmpi eq, %7, %2 : i64\n"
                  "    %9 = arith.select %8, %5, %zero : f32\n    %10 = arith.addf %3, %9 : f32\n    linalg.yield %10 : f32")
        + f"  return %p : {row}\n}}\n")


def test_logits_are_never_in_memory(tool, tmp_path):
    random = np.random.default_rng(1)
    x, w = (random.standard_normal((n, FEATURES)).astype(np.float16) for n in (ROWS, CLASSES))
    targets = random.integers(0, CLASSES, ROWS)
    targets[:2] = 0, CLASSES - 1
    path = tmp_path / "p.mlir"
    path.write_text(f'module attributes {{tilewright.force = "chain_rows=64"}} {{\n{cross_entropy(ROWS, CLASSES, FEATURES)}}}\n')
    arguments = []
    for i, value in enumerate((x, w, targets)):
        np.save(tmp_path / f"{i}.npy", value)
        arguments += ["--input", tmp_path / f"{i}.npy"]
    said = json.loads(tool("tw-run", path, "--target", "nvidia:H200", "--device", "emulator", "--json", *arguments,
                           "--output", tmp_path / "out.npy"))
    logits = x.astype(float) @ w.T.astype(float)
    most = logits.max(1)
    wanted = logits[np.arange(ROWS), targets] - most - np.log(np.exp(logits - most[:, None]).sum(1))
    np.testing.assert_allclose(np.load(tmp_path / "out.npy"), wanted, atol=1e-4)
    kernel, = said["emulation"]["kernels"]
    memory = next(each for each in kernel["memories"] if each["memory"] == "global")
    assert memory["written_bytes"] == ROWS * 4
    states = next(each["choice"]["states"] for each in json.loads(tool("tw-compile", path, "--target", "nvidia:H200", "--explain=json",
                                                                       "-o", tmp_path / "p.ll"))
                  if each["decision"] == "dependent-reductions")
    assert [state["rank"] for state in states] == [1, 1, 2]
    assert "at base" in states[1]["certificate"]


def loss(rows, classes):
    """The logarithm of soft-max of logits at an index that is read, as PyTorch's programs have it."""
    logits, row = f"tensor<{rows}x{classes}xf32>", f"tensor<{rows}xf32>"
    both, ofrow = "affine_map<(i, j) -> (i, j)>", "affine_map<(i, j) -> (i)>"
    alike, summed = '"parallel", "parallel"', '"parallel", "reduction"'

    def generic(name, maps, kind, inputs, out, result, body):
        return (f'  %{name} = linalg.generic {{indexing_maps = [{", ".join(maps)}], iterator_types = [{kind}]}} '
                f"ins({inputs}) outs({out} : {result}) {{\n{body}\n  }} -> {result}\n")
    return (
        f"func.func @main(%x: {logits}, %t: tensor<{rows}xi64>) -> {row} {{\n  %zero = arith.constant 0.0 : f32\n"
        f"  %none = arith.constant 0xFF800000 : f32\n  %a = tensor.empty() : {logits}\n  %b = tensor.empty() : {row}\n"
        f"  %nones = linalg.fill ins(%none : f32) outs(%b : {row}) -> {row}\n  %zeros = linalg.fill ins(%zero : f32) outs(%b : {row}) -> {row}\n"
        + generic("m", [both, ofrow], summed, f"%x : {logits}", "%nones", row,
                  "  ^bb0(%0: f32, %1: f32):\n    %2 = arith.maximumf %1, %0 : f32\n    linalg.yield %2 : f32")
        + generic("d", [both, ofrow, both], alike, f"%x, %m : {logits}, {row}", "%a", logits,
                  "  ^bb0(%0: f32, %1: f32, %2: f32):\n    %3 = arith.subf %0, %1 : f32\n    linalg.yield %3 : f32")
        + generic("l", [both, ofrow], summed, f"%d : {logits}", "%zeros", row,
                  "  ^bb0(%0: f32, %1: f32):\n    %2 = math.exp %0 : f32\n    %3 = arith.addf %1, %2 : f32\n    linalg.yield %3 : f32")
        + generic("p", [both, ofrow, both], alike, f"%d, %l : {logits}, {row}", "%a", logits,
                  "  ^bb0(%0: f32, %1: f32, %2: f32):\n    %3 = math.log %1 : f32\n    %4 = arith.subf %0, %3 : f32\n    linalg.yield %4 : f32")
        + generic("y", ["affine_map<(i) -> (i)>"] * 2, '"parallel"', f"%t : tensor<{rows}xi64>", "%b", row,
                  "  ^bb0(%0: i64, %1: f32):\n    %2 = linalg.index 0 : index\n    %3 = arith.index_cast %0 : i64 to index\n"
                  f"    %4 = tensor.extract %p[%2, %3] : {logits}\n    linalg.yield %4 : f32")
        + f"  return %y : {row}\n}}\n")


@pytest.mark.parametrize("target", ["cpu:host", "accelerator:npu"])
def test_one_element_of_a_row_stores_no_rows(tool, tmp_path, target):
    """On chips with caches and with scratchpads: no array of the logits' size is made for the one that is read."""
    rows, classes = 24, 640
    random = np.random.default_rng(1)
    x, targets = random.standard_normal((rows, classes)).astype(np.float32), random.integers(0, classes, rows)
    targets[:2] = 0, classes - 1
    path = tmp_path / "p.mlir"
    path.write_text(loss(rows, classes))
    for name, value in (("x", x), ("t", targets)):
        np.save(tmp_path / f"{name}.npy", value)
    plugin = [] if target == "cpu:host" else [f"--load-target={PLUGIN}"]
    tool("tw-run", path, *plugin, "--target", target, *(["--device", "emulator"] if target != "cpu:host" else []), "--input", tmp_path / "x.npy",
         "--input", tmp_path / "t.npy", "--output", tmp_path / "out.npy")
    wide = x.astype(float)
    wanted = wide[np.arange(rows), targets] - np.log(np.exp(wide).sum(1))
    np.testing.assert_allclose(np.load(tmp_path / "out.npy"), wanted, atol=1e-5)
    tool("tw-compile", path, *plugin, "--target", target, "--dump-stages", tmp_path / "stages", "-o", tmp_path / "p.ll")
    mapped = (tmp_path / "stages/4-map.mlir").read_text()
    assert not re.search(rf"alloc\w*\(\).*memref<{rows}x{classes}xf32", mapped), mapped
