"""Padding that nests read through on SIMT targets: no padded copy in memory, and no launch that would write one. With caches the padded
array stays, and nothing is computed beside it."""

import numpy as np
import pytest

from conftest import SOURCE
from lanes import emulate, kernels

CHIPS = ["nvidia:H200", "amd:MI300X"]
LOWEST = {"f32": "0xFF800000", "f16": "0xFC00", "i32": "-2147483648"}


def padded(source, value, element, shape, low, high):
    result = [n + a + b for n, a, b in zip(shape, low, high)]
    types = ["x".join(map(str, sizes)) + f"x{element}" for sizes in (shape, result)]
    indices = ", ".join(f"%i{d}: index" for d in range(len(shape)))
    return result, f"""tensor.pad {source} low{low} high{high} {{
      ^bb0({indices}):
        tensor.yield {value} : {element}
      }} : tensor<{types[0]}> to tensor<{types[1]}>"""


def pooling(kind, element, shape, size, stride, low, high):
    """`kind` is a pooling of linalg; "max" has the lowest number around, sums zero."""
    channels_first = "nchw" in kind
    space = (2, 3) if channels_first else (1, 2)
    around = LOWEST[element] if "max" in kind else "0" if element[0] == "i" else "0.0"
    zero = [0] * 4
    lows, highs = ([side[space.index(d)] if d in space else 0 for d, _ in enumerate(zero)] for side in (low, high))
    whole, pad = padded("%x", "%a", element, shape, lows, highs)
    out = [(n - size) // stride + 1 if d in space else n for d, n in enumerate(whole)]
    given, all_, result = ("x".join(map(str, sizes)) + f"x{element}" for sizes in (shape, whole, out))
    return f"""func.func @f(%x: tensor<{given}>) -> tensor<{result}> {{
      %a = arith.constant {around} : {element}
      %p = {pad}
      %e = tensor.empty() : tensor<{result}>
      %i = linalg.fill ins(%a : {element}) outs(%e : tensor<{result}>) -> tensor<{result}>
      %w = tensor.empty() : tensor<{size}x{size}x{element}>
      %r = linalg.{kind} {{dilations = dense<1> : tensor<2xi64>, strides = dense<{stride}> : tensor<2xi64>}}
        ins(%p, %w : tensor<{all_}>, tensor<{size}x{size}x{element}>) outs(%i : tensor<{result}>) -> tensor<{result}>
      return %r : tensor<{result}>
    }}"""


POOLINGS = {
    "maximum, channels first": ("pooling_nchw_max", "f32", (2, 5, 14, 13), 3, 2, (1, 1), (1, 1)),
    "maximum, channels last": ("pooling_nhwc_max", "f16", (1, 9, 14, 16), 3, 2, (1, 1), (1, 1)),
    "maximum of integers": ("pooling_nhwc_max", "i32", (1, 9, 14, 3), 3, 1, (1, 1), (1, 1)),
    "sum": ("pooling_nhwc_sum", "f32", (2, 9, 14, 16), 3, 1, (1, 1), (1, 1)),
    "sides that differ": ("pooling_nchw_sum", "f32", (1, 3, 13, 8), 5, 2, (0, 3), (2, 0)),
    "more around than inside": ("pooling_nchw_max", "f32", (1, 3, 2, 1), 5, 1, (4, 4), (4, 4)),
}


@pytest.mark.parametrize("chip", CHIPS)
@pytest.mark.parametrize("name", POOLINGS)
def test_pooling_is_one_launch(name, chip, tool, tmp_path):
    path = tmp_path / "program.mlir"
    path.write_text(pooling(*POOLINGS[name]))
    (kernel,) = kernels(emulate(tool, path, chip))
    # What is read is the array alone: no element of a padded buffer is written before.
    stored = sum(site["bytes"] for site in kernel["sites"] if site["memory"] == "global" and site["writes"])
    _, element, shape, size, stride, low, high = POOLINGS[name]
    space = (2, 3) if "nchw" in POOLINGS[name][0] else (1, 2)
    points = 1
    for d, n in enumerate(shape):
        points *= (n + low[space.index(d)] + high[space.index(d)] - size) // stride + 1 if d in space else n
    assert stored == points * int(element[1:]) // 8


STEM = """func.func @f(%x: tensor<1x3x32x32xf16>, %w: tensor<32x3x7x7xf16>, %bias: tensor<32xf32>) -> tensor<1x32x8x8xf16> {{
  %z = arith.constant 0.0 : f32
  %zh = arith.constant 0.0 : f16
  %mh = arith.constant 0xFC00 : f16
  %p = {image}
  %e = tensor.empty() : tensor<1x32x16x16xf32>
  %i = linalg.fill ins(%z : f32) outs(%e : tensor<1x32x16x16xf32>) -> tensor<1x32x16x16xf32>
  %r = linalg.conv_2d_nchw_fchw {{dilations = dense<1> : tensor<2xi64>, strides = dense<2> : tensor<2xi64>}}
    ins(%p, %w : tensor<1x3x38x38xf16>, tensor<32x3x7x7xf16>) outs(%i : tensor<1x32x16x16xf32>) -> tensor<1x32x16x16xf32>
  %e2 = tensor.empty() : tensor<1x32x16x16xf16>
  %q = linalg.generic {{indexing_maps = [affine_map<(n,c,y,x) -> (n,c,y,x)>, affine_map<(n,c,y,x) -> (c)>,
                                        affine_map<(n,c,y,x) -> (n,c,y,x)>],
                       iterator_types = ["parallel","parallel","parallel","parallel"]}}
    ins(%r, %bias : tensor<1x32x16x16xf32>, tensor<32xf32>) outs(%e2 : tensor<1x32x16x16xf16>) {{
  ^bb0(%a: f32, %b: f32, %o: f16):
    %s = arith.addf %a, %b : f32
    %t = arith.maximumf %s, %z : f32
    %u = arith.truncf %t : f32 to f16
    linalg.yield %u : f16
  }} -> tensor<1x32x16x16xf16>
  %pp = {sums}
  %e3 = tensor.empty() : tensor<1x32x8x8xf16>
  %i3 = linalg.fill ins(%mh : f16) outs(%e3 : tensor<1x32x8x8xf16>) -> tensor<1x32x8x8xf16>
  %win = tensor.empty() : tensor<3x3xf16>
  %m = linalg.pooling_nchw_max {{dilations = dense<1> : tensor<2xi64>, strides = dense<2> : tensor<2xi64>}}
    ins(%pp, %win : tensor<1x32x18x18xf16>, tensor<3x3xf16>) outs(%i3 : tensor<1x32x8x8xf16>) -> tensor<1x32x8x8xf16>
  return %m : tensor<1x32x8x8xf16>
}}"""


@pytest.mark.parametrize("chip", CHIPS)
def test_stem_of_a_network_is_two_launches(chip, tool, tmp_path):
    """A padded convolution with bias and ReLU on its sums, and a padded maximum: nothing but these."""
    _, image = padded("%x", "%zh", "f16", [1, 3, 32, 32], [0, 0, 3, 3], [0, 0, 3, 3])
    _, sums = padded("%q", "%mh", "f16", [1, 32, 16, 16], [0, 0, 1, 1], [0, 0, 1, 1])
    path = tmp_path / "program.mlir"
    path.write_text(STEM.format(image=image, sums=sums))
    first, second = kernels(emulate(tool, path, chip))
    assert first["units"] and not second["units"]
    # The activation is computed with the sums, so that the maximum reads halves.
    written = sum(site["bytes"] for site in first["sites"] if site["memory"] == "global" and site["writes"])
    assert written == 32 * 16 * 16 * 2


@pytest.mark.parametrize("chip", ["cpu:zen4", "cpu:sapphire-rapids"])
def test_with_caches_sums_are_computed_into_the_padded_buffer(chip, tool, tmp_path):
    """The buffer's border is filled alone, and the sums of the convolution are in no array of their own."""
    _, image = padded("%x", "%zh", "f16", [1, 3, 32, 32], [0, 0, 3, 3], [0, 0, 3, 3])
    _, sums = padded("%q", "%mh", "f16", [1, 32, 16, 16], [0, 0, 1, 1], [0, 0, 1, 1])
    path = tmp_path / "program.mlir"
    path.write_text(STEM.format(image=image, sums=sums))
    tool("tw-compile", path, "--target", chip, f"--dump-stages={tmp_path}", "-o", tmp_path / "x.o")
    text = (tmp_path / "3-optimise.mlir").read_text()
    assert "memref<1x32x18x18xf16>" in text and "memref<1x32x16x16xf" not in text
    tool("tw-run", path, "--target", "cpu:host", "--verify", "--verify-stages")


def stencil(border):
    """A blur along rows, then one along columns, and what sharpens, each with or without a border of zeros."""
    pad = [border, border]
    _, first = padded("%x", "%zero", "f32", [40, 36], [0, border], [0, border])
    columns = 36 + 2 * border - 2
    _, second = padded("%t", "%zero", "f32", [40, columns], [border, 0], [border, 0])
    rows = 40 + 2 * border - 2
    sizes = f"{rows}x{columns}"
    window = """linalg.generic {{indexing_maps = [affine_map<(y,x,k) -> ({index})>, affine_map<(y,x,k) -> (k)>,
        affine_map<(y,x,k) -> (y,x)>], iterator_types = ["parallel","parallel","reduction"]}}
      ins({source}, %k : tensor<{given}xf32>, tensor<3xf32>) outs({init} : tensor<{result}xf32>) {{
      ^bb0(%a: f32, %b: f32, %s: f32):
        %m = arith.mulf %a, %b : f32
        %n = arith.addf %s, %m : f32
        linalg.yield %n : f32
      }} -> tensor<{result}xf32>"""
    along = window.format(index="y, x + k", source="%p", given=f"40x{36 + 2 * border}", init="%f1", result=f"40x{columns}")
    across = window.format(index="y + k, x", source="%q", given=f"{40 + 2 * border}x{columns}", init="%f2", result=sizes)
    return f"""func.func @f(%x: tensor<40x36xf32>, %k: tensor<3xf32>) -> tensor<{sizes}xf32> {{
      %zero = arith.constant 0.0 : f32
      %p = {first if pad != [0, 0] else "tensor.cast %x : tensor<40x36xf32> to tensor<40x36xf32>"}
      %e1 = tensor.empty() : tensor<40x{columns}xf32>
      %f1 = linalg.fill ins(%zero : f32) outs(%e1 : tensor<40x{columns}xf32>) -> tensor<40x{columns}xf32>
      %t = {along}
      %q = {second if pad != [0, 0] else f"tensor.cast %t : tensor<40x{columns}xf32> to tensor<40x{columns}xf32>"}
      %e2 = tensor.empty() : tensor<{sizes}xf32>
      %f2 = linalg.fill ins(%zero : f32) outs(%e2 : tensor<{sizes}xf32>) -> tensor<{sizes}xf32>
      %r = {across}
      return %r : tensor<{sizes}xf32>
    }}"""


@pytest.mark.parametrize("chip", CHIPS)
@pytest.mark.parametrize("border", [0, 1])
def test_blurs_with_a_border_are_one_launch(border, chip, tool, tmp_path):
    path = tmp_path / "program.mlir"
    path.write_text(stencil(border))
    assert len(kernels(emulate(tool, path, chip))) == 1


@pytest.mark.parametrize("chip", CHIPS)
def test_padded_depthwise_before_pointwise_is_one_launch(chip, tool, tmp_path):
    """The example with zeros around its image: fragments are loaded behind guards."""
    _, pad = padded("%inside", "%none", "f16", [64, 28, 28], [0, 1, 1], [0, 1, 1])
    text = (SOURCE / "examples/depthwise-pointwise.mlir").read_text()
    text = text.replace("%image: tensor<64x30x30xf16>", "%inside: tensor<64x28x28xf16>")
    text = text.replace("  %zero =", f"  %none = arith.constant 0.0 : f16\n  %image = {pad}\n  %zero =", 1)
    path = tmp_path / "program.mlir"
    path.write_text(text)
    (kernel,) = kernels(emulate(tool, path, chip))
    assert kernel["units"]


@pytest.mark.parametrize("stride, low", [(1, 2), (2, 1), (3, 2)])
def test_padded_tensor_that_is_inserted_with_strides(stride, low, tool, tmp_path):
    """Every border element takes a stride's room too. Upstream's canonicalisation forgets it, in the reference of `--verify` as well."""
    count = 4 + low
    whole, pad = padded("%x", "%zero", "f32", [4], [low], [0])
    room = (count - 1) * stride + 2
    path = tmp_path / "program.mlir"
    path.write_text(f"""func.func @f(%x: tensor<4xf32>) -> tensor<{room}xf32> {{
      %zero = arith.constant 0.0 : f32
      %p = {pad}
      %e = tensor.empty() : tensor<{room}xf32>
      %z = linalg.fill ins(%zero : f32) outs(%e : tensor<{room}xf32>) -> tensor<{room}xf32>
      %r = tensor.insert_slice %p into %z[1] [{count}] [{stride}] : tensor<{whole[0]}xf32> into tensor<{room}xf32>
      return %r : tensor<{room}xf32>
    }}""")
    x, expected = np.arange(1, 5, dtype=np.float32), np.zeros(room, np.float32)
    expected[1 + low * stride::stride] = x
    np.save(tmp_path / "x.npy", x)
    tool("tw-run", path, "--input", tmp_path / "x.npy", "--output", tmp_path / "y.npy")
    np.testing.assert_array_equal(np.load(tmp_path / "y.npy"), expected)
