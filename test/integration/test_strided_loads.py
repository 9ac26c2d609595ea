# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Every second to fifth element as lanes: slices, interleaved channels, pooling. The input ends where a page without access
begins, so a load beyond the last element that is wanted ends the process."""

import json

import numpy as np
import pytest

from conftest import FULL
from guarded_calls import TYPES, call


def values(kind, shape):
    """Small integers: every type holds them and their sums."""
    return np.random.default_rng(1).integers(-4, 5, shape).astype(TYPES[kind])


def slices(kind, count, stride, total):
    """The sum of the elements at the first and the last place of each group of `stride`."""
    x, y = f"tensor<{total}x{kind}>", f"tensor<{count}x{kind}>"
    add = "arith.addi" if kind.startswith("i") else "arith.addf"
    same = "affine_map<(i) -> (i)>"
    return f"""func.func @compute(%x: {x}) -> {y} {{
  %a = tensor.extract_slice %x[0] [{count}] [{stride}] : {x} to {y}
  %b = tensor.extract_slice %x[{stride - 1}] [{count}] [{stride}] : {x} to {y}
  %e = tensor.empty() : {y}
  %r = linalg.generic {{indexing_maps = [{same}, {same}, {same}], iterator_types = ["parallel"]}}
      ins(%a, %b : {y}, {y}) outs(%e : {y}) {{
  ^bb0(%p: {kind}, %q: {kind}, %o: {kind}):
    %s = {add} %p, %q : {kind}
    linalg.yield %s : {kind}
  }} -> {y}
  return %r : {y}
}}
"""


@pytest.mark.parametrize("kind, stride, count", [
    (kind, stride, count) for i, kind in enumerate(TYPES) for stride in (2, 3, 4, 5) for j, count in enumerate((16, 97))
    if FULL or (i + stride + j) % 2 == 0])
def test_slices(tool, tmp_path, kind, stride, count):
    x = values(kind, count * stride)
    found = call(tool, tmp_path, slices(kind, count, stride, count * stride), x, np.zeros(count, x.dtype))
    expected = x[::stride] + x[stride - 1::stride]
    assert np.array_equal(found.astype(np.float64), expected.astype(np.float64))


@pytest.mark.parametrize("channels", (2, 3, 4))
@pytest.mark.parametrize("kind", ("f32", "i8"))
def test_interleaved_channels(tool, tmp_path, channels, kind):
    """The last channel of frames, as in complex numbers, colours and audio."""
    frames = 131
    x = values(kind, (frames, channels))
    text = f"""func.func @compute(%x: tensor<{frames}x{channels}x{kind}>) -> tensor<{frames}x{kind}> {{
  %c = tensor.extract_slice %x[0, {channels - 1}] [{frames}, 1] [1, 1] : tensor<{frames}x{channels}x{kind}> to tensor<{frames}x{kind}>
  %e = tensor.empty() : tensor<{frames}x{kind}>
  %r = linalg.generic {{indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}}
      ins(%c : tensor<{frames}x{kind}>) outs(%e : tensor<{frames}x{kind}>) {{
  ^bb0(%p: {kind}, %o: {kind}):
    %s = {"arith.addi" if kind == "i8" else "arith.addf"} %p, %p : {kind}
    linalg.yield %s : {kind}
  }} -> tensor<{frames}x{kind}>
  return %r : tensor<{frames}x{kind}>
}}
"""
    found = call(tool, tmp_path, text, x, np.zeros(frames, x.dtype))
    assert np.array_equal(found, 2 * x[:, -1])


@pytest.mark.parametrize("name, shape", [("nchw", (2, 3, 14, 70)), ("nhwc", (2, 14, 70, 3)), ("nhwc", (1, 8, 36, 1))])
def test_pooling(tool, tmp_path, name, shape):
    """The maximum of windows of 2 x 2 at a distance of two."""
    rows, columns = (2, 3) if name == "nchw" else (1, 2)
    out = list(shape)
    out[rows] //= 2
    out[columns] //= 2
    x = values("f32", shape)
    kind = lambda sizes: f"tensor<{'x'.join(map(str, sizes))}xf32>"
    text = f"""func.func @compute(%x: {kind(shape)}) -> {kind(out)} {{
  %low = arith.constant 0xFF800000 : f32
  %e = tensor.empty() : {kind(out)}
  %i = linalg.fill ins(%low : f32) outs(%e : {kind(out)}) -> {kind(out)}
  %w = tensor.empty() : tensor<2x2xf32>
  %r = linalg.pooling_{name}_max {{strides = dense<2> : tensor<2xi64>}}
      ins(%x, %w : {kind(shape)}, tensor<2x2xf32>) outs(%i : {kind(out)}) -> {kind(out)}
  return %r : {kind(out)}
}}
"""
    found = call(tool, tmp_path, text, x, np.zeros(out, np.float32))
    split = list(shape)
    split[columns:columns + 1] = [out[columns], 2]
    split[rows:rows + 1] = [out[rows], 2]
    assert np.array_equal(found, x.reshape(split).max(axis=(rows + 1, columns + 2)))


def convolution(order, kind, channels, results, dynamic):
    """3 x 3 windows of 5 x 5 pixels with channels last; dimensions of the weights in `order`."""
    total, multiply, add, zero = {"i8": ("i32", "arith.muli", "arith.addi", "0")}.get(kind, ("f32", "arith.mulf", "arith.addf", "0.0"))
    widen = {"i8": "arith.extsi", "bf16": "arith.extf", "f32": ""}[kind]
    sizes = {"o": results, "c": "?" if dynamic else channels, "p": 3, "q": 3}
    x, y = f"tensor<7x7x{sizes['c']}x{kind}>", f"tensor<5x5x{results}x{total}>"
    w = f"tensor<{'x'.join(str(sizes[d]) for d in order)}x{kind}>"
    widened = [f"%{name} = {widen} %{name}0 : {kind} to {total}" for name in "ab"] if widen else []
    suffix = "0" if widen else ""
    loops = "affine_map<(h, v, o, p, q, c) -> "
    return f"""func.func @convolution(%x: {x}, %w: {w}) -> {y} {{
  %z = arith.constant {zero} : {total}
  %e = tensor.empty() : {y}
  %f = linalg.fill ins(%z : {total}) outs(%e : {y}) -> {y}
  %r = linalg.generic {{indexing_maps = [{loops}(h + p, v + q, c)>, {loops}({', '.join(order)})>, {loops}(h, v, o)>],
      iterator_types = ["parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]}}
      ins(%x, %w : {x}, {w}) outs(%f : {y}) {{
  ^bb0(%a{suffix}: {kind}, %b{suffix}: {kind}, %s: {total}):
    {"; ".join(widened).replace("; ", chr(10) + "    ")}
    %m = {multiply} %a, %b : {total}
    %t = {add} %s, %m : {total}
    linalg.yield %t : {total}
  }} -> {y}
  return %r : {y}
}}
"""


#: Where a fragment's words are transposed, where a group of k is a vector, scalars beside vectors; sizes around both.
STRIDED_WEIGHTS = [("cpu:sapphire-rapids", "i8", "ocpq", 61, 37, False), ("cpu:sapphire-rapids", "bf16", "copq", 70, 33, True),
                   ("cpu:neoverse-v1", "i8", "ocpq", 70, 33, True), ("cpu:neoverse-v1", "bf16", "cqop", 64, 5, False),
                   ("cpu:zen4", "i8", "ocpq", 130, 48, False), ("cpu:zen4", "f32", "ocpq", 61, 37, False)]


@pytest.mark.parametrize("chip, kind, order, channels, results, dynamic", STRIDED_WEIGHTS)
def test_weights_whose_rows_and_channels_are_strided(tool, tmp_path, chip, kind, order, channels, results, dynamic):
    """They are packed over rows that have been made contiguous, and the unit is that of contiguous weights."""
    path, units = tmp_path / "convolution.mlir", []
    for each in (order, "opqc"):
        path.write_text(convolution(each, kind, channels, results, dynamic))
        made = json.loads(tool("tw-compile", path, "--target", chip, "--explain=json"))
        units.append([one["choice"]["unit"] for one in made if one["decision"] == "contraction"])
    assert units[0] == units[1] and len(units[0]) == 1
    path.write_text(convolution(order, kind, channels, results, dynamic))
    sizes = [f"--sizes={channels}"] if dynamic else []
    report = json.loads(tool("tw-run", path, "--target", chip, "--device", "model", "--verify", "--json", *sizes))
    assert report["verify"]["passed"], report["verify"]
