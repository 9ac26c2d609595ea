# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Nests that are computed in the tiles of another one: forced schedules of every tile against float64, what the model takes,
and chains that must stay apart."""

import json
import re

import numpy as np
import pytest

from conftest import BUILD


def contraction(name, inputs, sizes, maps, kinds, element="f32"):
    (a, a_type), (b, b_type) = inputs
    out = f"tensor<{'x'.join(map(str, sizes))}xf32>"
    widen = "".join(f"""
      %{each}w = arith.extf %{each} : {element} to f32""" for each in "xy") if element != "f32" else ""
    x, y = ("%xw", "%yw") if widen else ("%x", "%y")
    return f"""
  %{name}_e = tensor.empty() : {out}
  %{name}_z = linalg.fill ins(%zero : f32) outs(%{name}_e : {out}) -> {out}
  %{name} = linalg.generic {{indexing_maps = [{', '.join(f'affine_map<{each}>' for each in maps)}],
      iterator_types = [{', '.join(f'"{each}"' for each in kinds)}]}}
      ins({a}, {b} : {a_type}, {b_type}) outs(%{name}_z : {out}) {{
    ^bb0(%x: {element}, %y: {element}, %sum: f32):{widen}
      %p = arith.mulf {x}, {y} : f32
      %s = arith.addf %sum, %p : f32
      linalg.yield %s : f32
  }} -> {out}"""


def narrow(name, value, sizes, element, body=""):
    """`value` in the narrower element type, after `body` of each element %x."""
    dims = ", ".join(f"d{i}" for i in range(len(sizes)))
    shape = "x".join(map(str, sizes))
    return f"""
  %{name}_e = tensor.empty() : tensor<{shape}x{element}>
  %{name} = linalg.generic {{indexing_maps = [affine_map<({dims}) -> ({dims})>, affine_map<({dims}) -> ({dims})>],
      iterator_types = [{', '.join(['"parallel"'] * len(sizes))}]}}
      ins({value} : tensor<{shape}xf32>) outs(%{name}_e : tensor<{shape}x{element}>) {{
    ^bb0(%x: f32, %o: {element}):{body}
      %t = arith.truncf {"%y" if body else "%x"} : f32 to {element}
      linalg.yield %t : {element}
  }} -> tensor<{shape}x{element}>"""


def attention(h, n, d, element="f32", keys=None):
    keys = keys or n
    t, square = f"tensor<{h}x{n}x{d}x{element}>", f"tensor<{h}x{n}x{keys}xf32>"
    u = f"tensor<{h}x{keys}x{d}x{element}>"
    kinds = ("parallel", "parallel", "parallel", "reduction")
    return f"""
func.func @attention(%q: {t}, %k: {u}, %v: {u}) -> tensor<{h}x{n}x{d}xf32> {{
  %zero = arith.constant 0.0 : f32
{contraction("scores", (("%q", t), ("%k", u)), (h, n, keys),
             ("(h, i, j, d) -> (h, i, d)", "(h, i, j, d) -> (h, j, d)", "(h, i, j, d) -> (h, i, j)"), kinds, element)}
  %pe = tensor.empty() : {square}
  %weights = linalg.softmax dimension(2) ins(%scores : {square}) outs(%pe : {square}) -> {square}
{narrow("low", "%weights", (h, n, keys), element) if element != "f32" else ""}
{contraction("out", (("%low" if element != "f32" else "%weights", f"tensor<{h}x{n}x{keys}x{element}>"), ("%v", u)), (h, n, d),
             ("(h, i, d, j) -> (h, i, j)", "(h, i, d, j) -> (h, j, d)", "(h, i, d, j) -> (h, i, d)"), kinds, element)}
  return %out : tensor<{h}x{n}x{d}xf32>
}}
"""


def attention_in_float64(q, k, v):
    q, k, v = (x.astype(np.float64) for x in (q, k, v))
    s = q @ k.transpose(0, 2, 1)
    p = np.exp(s - s.max(axis=-1, keepdims=True))
    return p / p.sum(axis=-1, keepdims=True) @ v


def blurs(n):
    """Two sums of three neighbours along the rows, one after the other."""
    return f"""
func.func @blurs(%a: tensor<{n + 4}x9xf32>) -> tensor<{n}x9xf32> {{
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<{n + 2}x9xf32>
  %w = tensor.empty() : tensor<3xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<{n + 2}x9xf32>) -> tensor<{n + 2}x9xf32>
  %t = linalg.generic {{indexing_maps = [affine_map<(i, j, k) -> (i + k, j)>, affine_map<(i, j, k) -> (k)>,
      affine_map<(i, j, k) -> (i, j)>], iterator_types = ["parallel", "parallel", "reduction"]}}
      ins(%a, %w : tensor<{n + 4}x9xf32>, tensor<3xf32>) outs(%z : tensor<{n + 2}x9xf32>) {{
    ^bb0(%x: f32, %u: f32, %sum: f32):
      %s = arith.addf %sum, %x : f32
      linalg.yield %s : f32
  }} -> tensor<{n + 2}x9xf32>
  %f = tensor.empty() : tensor<{n}x9xf32>
  %y = linalg.fill ins(%zero : f32) outs(%f : tensor<{n}x9xf32>) -> tensor<{n}x9xf32>
  %r = linalg.generic {{indexing_maps = [affine_map<(i, j, k) -> (i + k, j)>, affine_map<(i, j, k) -> (k)>,
      affine_map<(i, j, k) -> (i, j)>], iterator_types = ["parallel", "parallel", "reduction"]}}
      ins(%t, %w : tensor<{n + 2}x9xf32>, tensor<3xf32>) outs(%y : tensor<{n}x9xf32>) {{
    ^bb0(%x: f32, %u: f32, %sum: f32):
      %s = arith.addf %sum, %x : f32
      linalg.yield %s : f32
  }} -> tensor<{n}x9xf32>
  return %r : tensor<{n}x9xf32>
}}
"""


def schedule(affine, cuts, members, memory="l2", step=0):
    """The text of stage 2 with one schedule for all nests of its kernel: `cuts` of the leading loops of the last one, and a
    buffer in a tile for each array that the kernel allocates; `step`: of the common dimension of its reductions."""
    lines, loops, nests, last, first_end = affine.split("\n"), 0, 0, 0, None
    # Scheduled nests are neighbours.
    begin = next(at for at, line in enumerate(lines) if line.startswith("    affine.for"))
    between = [line for line in lines[begin:] if re.match(r"    %\w+ = memref\.alloc", line)]
    lines = lines[:begin] + between + [line for line in lines[begin:] if line not in between]
    for at, line in enumerate(lines):
        if line.startswith("    affine.for"):
            nests, last = nests + 1, loops
        loops += "affine.for" in line
        if line == "    }" and first_end is None:
            first_end = at
    arrays = list(dict.fromkeys(re.findall(r"affine\.(?:load|store %\w+,) ?(%\w+)\[", affine)))
    allocated = re.findall(r"(%\w+) = memref\.alloc\(", affine)
    at = last + len(cuts) - 1
    places = [f'<array = {i}, at = {at}, memory = "{memory}">' for i, each in enumerate(arrays) if each in allocated]
    tiles = [f"<loop = {last + i}, tile = {tile}{', spread = true' if i == 0 else ''}>" for i, tile in enumerate(cuts)]
    lines[first_end] = (f'    }} {{tile.schedule = #tile.schedule<level = "core", members = {members}, ops = {nests}, '
                        f'{f"step = {step}, " if step else ""}'
                        f'loops = [{", ".join(tiles)}], placements = [{", ".join(places)}]>}}')
    return "\n".join(lines)


def run_scheduled(tool, tmp_path, text, function, inputs, cuts, members, memory="l2", chip=(), passes=(), step=0, options=()):
    """The result in such tiles; `passes` of stage 3 come before the schedule."""
    (tmp_path / "p.mlir").write_text(text)
    tool("tw-compile", tmp_path / "p.mlir", *chip, "-o", tmp_path / "p.ll", "--dump-stages", tmp_path / "stages")
    affine = tmp_path / "stages" / "2-affine.mlir"
    if passes:
        tool("tw-opt", affine, f"--pass-pipeline=builtin.module(func.func({','.join(passes)}))", "-o", tmp_path / "affine.mlir")
        affine = tmp_path / "affine.mlir"
    affine = affine.read_text().replace("tilewright.scalar, ", "")
    (tmp_path / "s.mlir").write_text(schedule(affine, cuts, members, memory, step))
    arguments = []
    for i, value in enumerate(inputs):
        name = f"{i}.bf16.npy" if value.dtype == np.uint16 else f"{i}.npy"  # bits of bf16
        np.save(tmp_path / name, value)
        arguments += ["--input", tmp_path / name]
    device = ["--device", "emulator"] if chip else ["--threads", str(members)]
    tool("tw-run", tmp_path / "s.mlir", "--function", function, *chip, *device, *options, *arguments, "--output", tmp_path / "out.npy")
    return np.load(tmp_path / "out.npy")


@pytest.mark.parametrize("cuts, members", [((1, 1), 1), ((1, 6), 2), ((2, 20), 1), ((3, 7), 2), ((1, 19), 3), ((2,), 2)])
def test_attention_in_tiles(tool, tmp_path, cuts, members):
    """Whole tiles and the smaller last ones, of one and of several threads."""
    random = np.random.default_rng(len(cuts) * 100 + cuts[-1])
    inputs = [random.standard_normal((5, 20, 24), dtype=np.float32) for _ in range(3)]
    got = run_scheduled(tool, tmp_path, attention(5, 20, 24), "attention", inputs, cuts, members)
    np.testing.assert_allclose(got, attention_in_float64(*inputs), rtol=2e-5, atol=2e-6)


@pytest.mark.parametrize("cuts, members", [((1, 1), 1), ((1, 6), 3), ((1, 19), 2), ((2, 7), 2), ((3,), 2)])
def test_attention_in_tiles_of_one_array(tool, tmp_path, cuts, members):
    """The quotient is taken of the result, exponentials lie where the scores were, and what tiles share is packed before
    the first of them."""
    random = np.random.default_rng(len(cuts) * 100 + cuts[-1])
    inputs = [random.standard_normal((5, 20, 24), dtype=np.float32) for _ in range(3)]
    got = run_scheduled(tool, tmp_path, attention(5, 20, 24), "attention", inputs, cuts, members,
                        passes=("sink-factors", "share-arrays"))
    text = (tmp_path / "affine.mlir").read_text()
    assert text.count("memref.alloc(") == 3, "scores, maxima, sums"
    np.testing.assert_allclose(got, attention_in_float64(*inputs), rtol=2e-5, atol=2e-6)


@pytest.mark.parametrize("tile, members", [(1, 1), (4, 2), (5, 3), (13, 1)])
def test_neighbours_are_computed_again(tool, tmp_path, tile, members):
    a = np.random.default_rng(tile).integers(-8, 8, (17, 9)).astype(np.float32)
    got = run_scheduled(tool, tmp_path, blurs(13), "blurs", [a], (tile,), members)
    t = a[:-2] + a[1:-1] + a[2:]
    np.testing.assert_array_equal(got, t[:-2] + t[1:-1] + t[2:])


ADDER = BUILD / "test/plugins/adder/libtilewright-target-adder.so"


def on_adder(chip):
    return [f"--load-target={ADDER}", "--target", f"adder:{chip}"]


@pytest.mark.parametrize("n, cuts, members", [(32, (1, 16), 2), (48, (1, 32), 1), (40, (1, 16), 2), (40, (1, 40), 1),
                                              (24, (1, 7), 2), (16, (2, 16), 2)])
def test_attention_in_a_scratchpad(tool, tmp_path, n, cuts, members):
    """Weights are multiplied where they lie, or, where a tile of the unit is not whole, from a copy with zeros; whole tiles
    and smaller last ones."""
    random = np.random.default_rng(n)
    inputs = [random.standard_normal((3, n, 32)).astype(np.float16) for _ in range(3)]
    got = run_scheduled(tool, tmp_path, attention(3, n, 32, "f16"), "attention", inputs, cuts, members, "scratchpad",
                        on_adder("one"))
    np.testing.assert_allclose(got, attention_in_float64(*inputs), rtol=2e-3, atol=2e-3)


def two_products(m, k, h, n):
    """relu(x w) u"""
    kinds, maps = ("parallel", "parallel", "reduction"), ("(i, j, k) -> (i, k)", "(i, j, k) -> (k, j)", "(i, j, k) -> (i, j)")
    x, w, u = f"tensor<{m}x{k}xf16>", f"tensor<{k}x{h}xf16>", f"tensor<{h}x{n}xf16>"
    relu = """
      %y = arith.maximumf %x, %zero : f32"""
    return f"""
func.func @products(%x: {x}, %w: {w}, %u: {u}) -> tensor<{m}x{n}xf32> {{
  %zero = arith.constant 0.0 : f32
{contraction("hidden", (("%x", x), ("%w", w)), (m, h), maps, kinds, "f16")}
{narrow("low", "%hidden", (m, h), "f16", relu)}
{contraction("out", (("%low", f"tensor<{m}x{h}xf16>"), ("%u", u)), (m, n), maps, kinds, "f16")}
  return %out : tensor<{m}x{n}xf32>
}}
""".replace("%x:", "%x0:", 1).replace("ins(%x,", "ins(%x0,", 1)


def test_the_model_keeps_what_a_slow_engine_would_move(tool, tmp_path):
    """Where copies take the time, the hidden values stay in the scratchpad, as fast as the model says; else they go by
    global memory, beside the units' work."""
    text, sizes = two_products(512, 16, 64, 16), ((512, 16), (16, 64), (64, 16))
    assert not chains_of(tool, tmp_path, text, *on_adder("one"))
    chain, = chains_of(tool, tmp_path, text, *on_adder("slow"))
    random = np.random.default_rng(1)
    inputs = [random.integers(-3, 4, size).astype(np.float16) for size in sizes]
    arguments = []
    for i, value in enumerate(inputs):
        np.save(tmp_path / f"{i}.npy", value)
        arguments += ["--input", tmp_path / f"{i}.npy"]
    run = json.loads(tool("tw-run", tmp_path / "p.mlir", *on_adder("slow"), "--device", "emulator", *arguments, "--output",
                          tmp_path / "out.npy", "--json"))
    x, w, u = (each.astype(np.float64) for each in inputs)
    np.testing.assert_array_equal(np.load(tmp_path / "out.npy"), np.maximum(x @ w, 0) @ u)
    kernel, = run["emulation"]["kernels"]
    apart = next(each["seconds"] for each in chain["candidates"] if each["tile"] is None)
    seconds = kernel["cycles"] / kernel["blocks"] / 800e6
    assert seconds == pytest.approx(chain["choice"]["seconds"], rel=0.15)
    assert seconds < apart


def chains_of(tool, tmp_path, text, *target):
    (tmp_path / "p.mlir").write_text(text)
    found = json.loads(tool("tw-compile", tmp_path / "p.mlir", *target, "-o", tmp_path / "p.ll", "--explain=json"))
    return [each for each in found if each["decision"] == "schedule-chain" and each["choice"]["tile"]]


def test_the_model_takes_attention(tool, tmp_path):
    """All nests in tiles of rows: only q, k, v and the result are arrays of the program."""
    chain, = chains_of(tool, tmp_path, attention(8, 2048, 64), "--target", "cpu:x86-64-v4")
    apart = next(each["seconds"] for each in chain["candidates"] if each["tile"] is None)
    assert chain["choice"]["seconds"] < 0.92 * apart
    assert chain["choice"]["seconds"] == min(each["seconds"] for each in chain["candidates"])
    # What fits the cache is handed on in it anyway.
    assert not chains_of(tool, tmp_path, attention(2, 64, 64), "--target", "cpu:x86-64-v4")


def test_tiles_on_all_threads(tool, tmp_path):
    """Long rows, in the tiles that the model takes, on one and on several threads."""
    random = np.random.default_rng(3)
    inputs = [random.standard_normal((2, 768, 32), dtype=np.float32) for _ in range(3)]
    (tmp_path / "p.mlir").write_text(attention(2, 768, 32))
    arguments = []
    for i, value in enumerate(inputs):
        np.save(tmp_path / f"{i}.npy", value)
        arguments += ["--input", tmp_path / f"{i}.npy"]
    for threads in (1, 3):
        tool("tw-run", tmp_path / "p.mlir", "--threads", threads, *arguments, "--output", tmp_path / "out.npy")
        np.testing.assert_allclose(np.load(tmp_path / "out.npy"), attention_in_float64(*inputs), rtol=1e-4, atol=1e-5)


def expanded(images, inputs, channels, size):
    """A 1 x 1 convolution to `channels`, ReLU, a border of zeros, a depthwise 3 x 3 convolution."""
    image = f"{images}x{channels}x{size}x{size}xf32"
    padded = f"{images}x{channels}x{size + 2}x{size + 2}xf32"
    return f"""
func.func @f(%x: tensor<{images}x{inputs}x{size}x{size}xf32>, %w: tensor<{channels}x{inputs}x1x1xf32>,
             %d: tensor<{channels}x3x3xf32>) -> tensor<{image}> {{
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<{image}>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<{image}>) -> tensor<{image}>
  %y = linalg.conv_2d_nchw_fchw ins(%x, %w : tensor<{images}x{inputs}x{size}x{size}xf32>, tensor<{channels}x{inputs}x1x1xf32>)
      outs(%z : tensor<{image}>) -> tensor<{image}>
  %a = linalg.map {{ arith.maximumf }} ins(%y, %z : tensor<{image}>, tensor<{image}>) outs(%e : tensor<{image}>)
  %p = tensor.pad %a low[0, 0, 1, 1] high[0, 0, 1, 1] {{
    ^bb0(%i: index, %j: index, %k: index, %l: index):
      tensor.yield %zero : f32
  }} : tensor<{image}> to tensor<{padded}>
  %r = linalg.generic {{indexing_maps = [
        affine_map<(n, c, i, j, k, l) -> (n, c, i + k, j + l)>, affine_map<(n, c, i, j, k, l) -> (c, k, l)>,
        affine_map<(n, c, i, j, k, l) -> (n, c, i, j)>],
      iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction"]}}
      ins(%p, %d : tensor<{padded}>, tensor<{channels}x3x3xf32>) outs(%z : tensor<{image}>) {{
    ^bb0(%i: f32, %f: f32, %o: f32):
      %t = arith.mulf %i, %f : f32
      %s = arith.addf %o, %t : f32
      linalg.yield %s : f32
  }} -> tensor<{image}>
  return %r : tensor<{image}>
}}
"""


def expanded_in_float64(x, w, d):
    hidden = np.maximum(np.einsum("nihw,ci->nchw", x.astype(np.float64), w[:, :, 0, 0].astype(np.float64)), 0)
    hidden = np.pad(hidden, ((0, 0), (0, 0), (1, 1), (1, 1)))
    rows, columns = x.shape[2:]
    return sum(hidden[:, :, i:i + rows, j:j + columns] * d[None, :, i, j, None, None].astype(np.float64)
               for i in range(3) for j in range(3))


@pytest.mark.parametrize("cuts, members", [((1,), 2), ((2, 4), 1), ((1, 5), 3), ((1, 1), 1)])
@pytest.mark.parametrize("passes", [(), ("read-through-padding",)], ids=["filled", "border"])
def test_channels_of_a_padded_array(tool, tmp_path, cuts, members, passes):
    """Tiles of images and channels reach beyond what the 1 x 1 convolution writes: other nests write the border, in each tile."""
    random = np.random.default_rng(5)
    inputs = [random.standard_normal(size, dtype=np.float32) for size in ((3, 5, 9, 9), (11, 5, 1, 1), (11, 3, 3))]
    result = run_scheduled(tool, tmp_path, expanded(3, 5, 11, 9), "f", inputs, cuts, members, passes=passes)
    np.testing.assert_allclose(result, expanded_in_float64(*inputs), rtol=1e-5, atol=1e-5)


def test_the_model_takes_channels_of_large_images(tool, tmp_path):
    """What a 1 x 1 convolution makes of images goes to a depthwise one in the second cache, some channels at a time: 40 MB
    stay out of memory. Of small images it stays near anyway."""
    target = ("--target", "cpu:x86-64-v3")
    chain, = chains_of(tool, tmp_path, expanded(8, 16, 96, 112), *target)
    assert chain["choice"]["loop"] == 1 and chain["choice"]["tile"] < 96
    assert any("such as padding" in reason for reason in chain["refused"])  # rows of an image would need a part of the border
    assert not chains_of(tool, tmp_path, expanded(1, 16, 96, 28), *target)


def test_windows_are_cut_last(tool, tmp_path):
    """Channels are tiled where they are the innermost loop of the last nest, too: rows, around them, share what they read."""
    text = expanded(8, 16, 96, 112)
    image, padded = "tensor<8x96x112x112xf32>", "tensor<8x96x114x114xf32>"
    begin, end = text.index("  %r = linalg.generic"), text.index("  return %r")
    named = f"""  %r = linalg.depthwise_conv_2d_nchw_chw ins(%p, %d : {padded}, tensor<96x3x3xf32>) outs(%z : {image}) -> {image}\n"""
    chain, = chains_of(tool, tmp_path, text[:begin] + named + text[end:], "--target", "cpu:x86-64-v3")
    assert chain["choice"]["loop"] == 3 and chain["choice"]["tile"] < 96


def test_padding_is_not_cut(tool, tmp_path):
    """A nest that writes the inside of a padded array has no iterations for its border: the padded convolution before a
    pooling stays whole, and is right."""
    text = """
func.func @f(%x: tensor<1x24x60x60xf32>, %w: tensor<32x24x3x3xf32>) -> tensor<1x32x30x30xf32> {
  %zero = arith.constant 0.0 : f32
  %least = arith.constant 0xFF800000 : f32
  %p = tensor.pad %x low[0, 0, 1, 1] high[0, 0, 1, 1] {
    ^bb0(%a: index, %b: index, %c: index, %d: index):
      tensor.yield %zero : f32
  } : tensor<1x24x60x60xf32> to tensor<1x24x62x62xf32>
  %e = tensor.empty() : tensor<1x32x60x60xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<1x32x60x60xf32>) -> tensor<1x32x60x60xf32>
  %y = linalg.conv_2d_nchw_fchw ins(%p, %w : tensor<1x24x62x62xf32>, tensor<32x24x3x3xf32>)
      outs(%z : tensor<1x32x60x60xf32>) -> tensor<1x32x60x60xf32>
  %f = tensor.empty() : tensor<1x32x30x30xf32>
  %l = linalg.fill ins(%least : f32) outs(%f : tensor<1x32x30x30xf32>) -> tensor<1x32x30x30xf32>
  %k = tensor.empty() : tensor<2x2xf32>
  %r = linalg.pooling_nchw_max {strides = dense<2> : tensor<2xi64>} ins(%y, %k : tensor<1x32x60x60xf32>, tensor<2x2xf32>)
      outs(%l : tensor<1x32x30x30xf32>) -> tensor<1x32x30x30xf32>
  return %r : tensor<1x32x30x30xf32>
}
"""
    for chain in chains_of(tool, tmp_path, text, "--target", "cpu:host"):
        assert chain["inputs"]["nests"] < 6
    tool("tw-run", tmp_path / "p.mlir", "--verify")  # fails where an element is wrong
