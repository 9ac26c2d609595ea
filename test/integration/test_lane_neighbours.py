# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Element-wise nests whose lanes take several neighbours: how wide their accesses are, and that nothing is lost or written twice
at the ends of rows, in slices, and where some operands are shared."""

import re

import pytest

from conftest import FULL, SOURCE
from lanes import CHIPS, emulate, kernels

#: Element type of the operands and of the result, and the types of loads and stores. Where one is wider than the other, 16 bytes of
#: the wider one are as many as one access writes.
WIDTHS = {("f32", "f32"): ("<4 x float>", "<4 x float>"), ("f16", "f16"): ("<8 x half>", "<8 x half>"),
          ("i8", "i8"): ("<16 x i8>", "<16 x i8>"), ("f16", "f32"): ("<4 x half>", "<4 x float>")}


def program(kind, result, shape, first="%x"):
    """Adds two arrays: `first` is the first argument, `%x`, or as much of it as the second one has, `%cut`."""
    text = "x".join(map(str, shape))
    a, c = f"tensor<{text}x{kind}>", f"tensor<{text}x{result}>"
    add = "addi" if kind.startswith("i") else "addf"
    widen = f"%v = arith.extf %s : {kind} to {result}" if kind != result else ""
    dims = "".join(f"  %c{d} = arith.constant {d} : index\n  %n{d} = tensor.dim %y, %c{d} : {a}\n"
                   for d, size in enumerate(shape) if size == "?")
    named = ", ".join(f"%n{d}" for d, size in enumerate(shape) if size == "?")
    cut = f"  %cut = tensor.extract_slice %x[0, 0] [%n0, %n1] [1, 1] : {a} to {a}\n" if first == "%cut" else ""
    return f"""#id = affine_map<(i, j) -> (i, j)>
func.func @f(%x: {a}, %y: {a}) -> {c} {{
{dims}{cut}  %e = tensor.empty({named}) : {c}
  %r = linalg.generic {{indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]}}
      ins({first}, %y : {a}, {a}) outs(%e : {c}) {{
  ^bb0(%p: {kind}, %q: {kind}, %o: {result}):
    %s = arith.{add} %p, %q : {kind}
    {widen}
    linalg.yield {"%v" if widen else "%s"} : {result}
  }} -> {c}
  return %r : {c}
}}
"""


@pytest.mark.parametrize("chip", CHIPS)
@pytest.mark.parametrize("kinds", WIDTHS)
def test_width(chip, kinds, tool, tmp_path):
    """Of rows of any length where the arrays are one run: in LLVM's language, and as the instructions that the chip has for it."""
    path = tmp_path / "add.mlir"
    path.write_text(program(*kinds, (4096, 1023)))
    tool("tw-compile", str(path), "--target", chip, "-o", str(tmp_path / "add.ll"))
    text = (tmp_path / "add.ll").read_text()
    load, store = WIDTHS[kinds]
    assert re.search(rf"load {load}, ptr addrspace\(1\)", text)
    assert re.search(rf"store {store} %\S+, ptr addrspace\(1\)", text)
    tool("tw-compile", str(path), "--target", chip, "-o", str(tmp_path / ("add.ptx" if "nvidia" in chip else "add.s")))
    code = (tmp_path / ("add.ptx" if "nvidia" in chip else "add.s")).read_text()
    assert re.search(r"st\.global\.v(2\.b64|4\.b32)" if "nvidia" in chip else r"global_store_(dwordx4|b128)", code)
    if kinds[0] == kinds[1]:
        assert re.search(r"ld\.global(\.nc)?\.v(2\.b64|4\.b32)" if "nvidia" in chip else r"global_load_(dwordx4|b128)", code)


@pytest.mark.parametrize("chip", CHIPS if FULL else ["nvidia:A100", "amd:RX9070"])
@pytest.mark.parametrize("kind", ["f16", "f32"] if FULL else ["f16"])
def test_sectors(chip, kind, tool, tmp_path):
    """Lanes side by side fill every sector that they touch, but for the array's last one."""
    path = tmp_path / "add.mlir"
    path.write_text(program(kind, kind, (1023, 1025)))
    [kernel] = kernels(emulate(tool, path, chip))
    lanes = 64 if chip == "amd:MI300X" else 32
    for writes in (False, True):
        sites = [site for site in kernel["sites"] if site["memory"] == "global" and site["writes"] == writes]
        moved = sum(site["bytes"] for site in sites)
        assert sum(site["transactions"] for site in sites) * 32 <= 1.001 * moved
        assert moved / sum(site["executions"] for site in sites) / lanes > 15


#: Shape of the program, sizes of the run, the first operand.
ENDS = [((1531, 1023), "", "%x"), (("?", "?"), "517,1029", "%x"), (("?", "?"), "519,1030,517,1029", "%cut"),
        (("?", 1026), "600", "%x")]


@pytest.mark.parametrize("chip, shape, sizes, first", [
    (chip, *case) for i, case in enumerate(ENDS) for j, chip in enumerate(CHIPS if FULL else ["nvidia:H100", "amd:MI300X"])
    if FULL or (i + j) % 2 == 0])
def test_ends(chip, shape, sizes, first, tool, tmp_path):
    path = tmp_path / "add.mlir"
    path.write_text(program("f16", "f16", shape, first))
    words = ["--sizes", sizes] if sizes else []
    tool("tw-run", str(path), "--target", chip, "--device", "emulator", "--verify", *words)


#: Of an array on memrefs: the one that is written, a part of it, another one.
GATHERED = {"another": ("%t", "%c", True), "itself": ("%c", "%c", False), "a part of it": ("%v", "%c", False),
            "beside its part": ("%t", "%v", True)}


@pytest.mark.parametrize("chip", CHIPS if FULL else ["nvidia:H100", "amd:RX9070"])
@pytest.mark.parametrize("case", GATHERED)
def test_gathers(chip, case, tool, tmp_path):
    """Each element that is looked up has a lane, but for those that another iteration may have written."""
    source, target, parallel = GATHERED[case]
    slice_, whole = "memref<1000xf32, strided<[1], offset: 24>>", "memref<1024xf32>"
    types = {"%t": whole, "%c": whole, "%v": slice_}
    path = tmp_path / "gather.mlir"
    path.write_text(f"""#id = affine_map<(i) -> (i)>
func.func @f(%at: memref<1000xi32>, %t: {whole}, %c: {whole}) {{
  %v = memref.subview %c[24] [1000] [1] : {whole} to {slice_}
  %o = memref.subview {target}[0] [1000] [1] : {types[target]} to memref<1000xf32, strided<[1], offset: {24 if target == "%v" else 0}>>
  linalg.generic {{indexing_maps = [#id, #id], iterator_types = ["parallel"]}}
      ins(%at : memref<1000xi32>) outs(%o : memref<1000xf32, strided<[1], offset: {24 if target == "%v" else 0}>>) {{
  ^bb0(%n: i32, %old: f32):
    %most = arith.constant 511 : i32
    %m = arith.andi %n, %most : i32
    %k = arith.index_cast %m : i32 to index
    %x = memref.load {source}[%k] : {types[source]}
    linalg.yield %x : f32
  }}
  return
}}
""")
    [kernel] = kernels(emulate(tool, path, chip))
    assert (kernel["blocks"] > 1) == parallel


def test_unsharp_mask_is_one_launch(tool, tmp_path):
    """Two blurs and what sharpens: each element of the result from the 25 of the image that it needs."""
    image, wide, result = "tensor<2x20x36xf32>", "tensor<2x20x32xf32>", "tensor<2x16x32xf32>"

    def blur(name, source, kind, axis, to):
        index = ["c", "y", "x"]
        index[axis] += " + k"
        return f"""
  %e{name} = tensor.empty() : {to}
  %f{name} = linalg.fill ins(%z : f32) outs(%e{name} : {to}) -> {to}
  %{name} = linalg.generic {{indexing_maps = [affine_map<(c, y, x, k) -> ({", ".join(index)})>, affine_map<(c, y, x, k) -> (k)>,
      affine_map<(c, y, x, k) -> (c, y, x)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]}}
      ins({source}, %taps : {kind}, tensor<5xf32>) outs(%f{name} : {to}) {{
  ^bb0(%p: f32, %q: f32, %o: f32):
    %m = arith.mulf %p, %q : f32
    %s = arith.addf %o, %m : f32
    linalg.yield %s : f32
  }} -> {to}"""
    path = tmp_path / "unsharp.mlir"
    path.write_text(f"""#id = affine_map<(c, y, x) -> (c, y, x)>
func.func @f(%image: {image}, %taps: tensor<5xf32>) -> {result} {{
  %z = arith.constant 0.0 : f32
  %two = arith.constant 2.0 : f32{blur("across", "%image", image, 2, wide)}{blur("down", "%across", wide, 1, result)}
  %middle = tensor.extract_slice %image[0, 2, 2] [2, 16, 32] [1, 1, 1] : {image} to {result}
  %r = linalg.generic {{indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel", "parallel"]}}
      ins(%middle, %down : {result}, {result}) outs(%edown : {result}) {{
  ^bb0(%p: f32, %q: f32, %o: f32):
    %d = arith.mulf %p, %two : f32
    %s = arith.subf %d, %q : f32
    linalg.yield %s : f32
  }} -> {result}
  return %r : {result}
}}
""")
    for chip in CHIPS:
        assert len(kernels(emulate(tool, path, chip))) == 1


def test_depthwise_before_pointwise_is_one_launch(tool):
    """The element-wise nest behind the depthwise sums takes them in, and the product's tiles compute what is left. (On an RX9070 the
    model expects less of two launches.)"""
    for chip in ("nvidia:H200", "amd:MI300X"):
        assert len(kernels(emulate(tool, SOURCE / "examples/depthwise-pointwise.mlir", chip))) == 1
