# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Arguments marked `tilewright.constant`: what is packed of them is bound by a function of its own. Numbers beside a float64 evaluation,
for types and forms of operands, parts of panels, several cores; what the C interface and the header say."""

import ctypes
import json

import numpy as np
import pytest

from conftest import FULL

BIND = "bound_vectors=1"


def product(m, n, k, type="f32", sums="f32", turned=False, force="", constant="b", result="i, j"):
    """result = A B + bias; the operands named in `constant` are marked. `turned`: B lies with k last. `result`: "j, i" transposed."""
    shapes = {"a": f"{m}x{k}", "b": f"{n}x{k}" if turned else f"{k}x{n}"}
    mark = {name: " {tilewright.constant}" if name in constant else "" for name in "ab"}
    c = f"tensor<{m if result == 'i, j' else n}x{n if result == 'i, j' else m}x{sums}>"
    cast, x, y = "", "%x", "%y"
    if type != sums:
        word = "arith.extsi" if sums == "i32" else "arith.extf"
        cast, x, y = f"    %xw = {word} %x : {type} to {sums}\n    %yw = {word} %y : {type} to {sums}\n", "%xw", "%yw"
    mul, add = ("arith.muli", "arith.addi") if sums == "i32" else ("arith.mulf", "arith.addf")
    zero = "0" if sums == "i32" else "0.0"
    b = "j, k" if turned else "k, j"
    return f"""module attributes {{tilewright.force = "{force}"}} {{
func.func @layer(%A: tensor<{shapes['a']}x{type}>{mark['a']}, %B: tensor<{shapes['b']}x{type}>{mark['b']}, %bias: tensor<{n}x{sums}>) -> {c} {{
  %zero = arith.constant {zero} : {sums}
  %e = tensor.empty() : {c}
  %f = linalg.fill ins(%zero : {sums}) outs(%e : {c}) -> {c}
  %p = linalg.generic {{indexing_maps = [affine_map<(i, j, k) -> (i, k)>, affine_map<(i, j, k) -> ({b})>, affine_map<(i, j, k) -> ({result})>],
      iterator_types = ["parallel", "parallel", "reduction"]}}
      ins(%A, %B : tensor<{shapes['a']}x{type}>, tensor<{shapes['b']}x{type}>) outs(%f : {c}) {{
  ^bb0(%x: {type}, %y: {type}, %z: {sums}):
{cast}    %m = {mul} {x}, {y} : {sums}
    %s = {add} %z, %m : {sums}
    linalg.yield %s : {sums}
  }} -> {c}
  %r = linalg.generic {{indexing_maps = [affine_map<(i, j) -> ({result})>, affine_map<(i, j) -> (j)>, affine_map<(i, j) -> ({result})>],
      iterator_types = ["parallel", "parallel"]}} ins(%p, %bias : {c}, tensor<{n}x{sums}>) outs(%e : {c}) {{
  ^bb0(%x: {sums}, %y: {sums}, %o: {sums}):
    %s = {add} %x, %y : {sums}
    linalg.yield %s : {sums}
  }} -> {c}
  return %r : {c}
}}
}}
"""


def decisions(tool, path, tmp_path, *options):
    text = tool("tw-compile", path, *options, "-o", tmp_path / "product.so", "--explain=json", "--header", tmp_path / "product.h")
    return [one["choice"] for one in json.loads(text[text.index("["):]) if one["decision"] == "contraction"]


@pytest.mark.parametrize("sizes, options", [
    ((64, 96, 128), {}),
    ((67, 83, 97), {}),                                            # a partial last vector and panel
    ((67, 83, 97), {"turned": True}),
    ((67, 83, 97), {"turned": True, "force": "rows=4,vectors=2"}),
    ((40, 600, 700), {"force": "k_block=128"}),                    # several blocks of k of one buffer
    ((40, 600, 700), {"turned": True, "force": "k_block=128,rows_outside=1"}),
    ((40, 96, 64), {"turned": True, "constant": "ab"}),
    ((96, 40, 64), {"constant": "a", "force": "lanes_on=m"}),
    ((96, 40, 64), {"constant": "a", "force": "lanes_on=m", "result": "j, i"}),
    ((64, 96, 128), {"type": "bf16"}),
    ((67, 83, 98), {"type": "bf16", "turned": True}),
    ((67, 83, 70), {"type": "i8", "sums": "i32", "turned": True}),
], ids=str)
@pytest.mark.parametrize("threads", [1, 3] if FULL else [3])
def test_numbers(tool, tmp_path, sizes, options, threads):
    path = tmp_path / "product.mlir"
    forced = ",".join(filter(None, [options.get("force", ""), BIND]))
    path.write_text(product(*sizes, **{**options, "force": forced}))
    if options.get("type", "f32") == "f32":  # of other types it depends on the units of the host
        assert all(one.get("bound_vectors") for one in decisions(tool, path, tmp_path, "--threads", threads))
    else:
        path.write_text(product(*sizes, **options))
    tool("tw-run", path, "--threads", threads, "--verify")


@pytest.mark.parametrize("type, cast, product", [("f32", "", "%x, %y"), ("bf16", """    %xw = arith.extf %x : bf16 to f32
    %yw = arith.extf %y : bf16 to f32
""", "%xw, %yw")], ids=["f32", "bf16"])
@pytest.mark.parametrize("threads", [1, 3] if FULL else [1])
def test_dynamic_rows(tool, tmp_path, type, cast, product, threads):
    """Only what is packed needs known sizes; the rows may be any number."""
    path = tmp_path / "rows.mlir"
    force = BIND if type == "f32" else "" # of other types it depends on the units of the host
    path.write_text(f"""module attributes {{tilewright.force = "{force}"}} {{
func.func @layer(%A: tensor<?x200x{type}>, %B: tensor<90x200x{type}> {{tilewright.constant}}) -> tensor<?x90xf32> {{
  %zero = arith.constant 0.0 : f32
  %c0 = arith.constant 0 : index
  %m = tensor.dim %A, %c0 : tensor<?x200x{type}>
  %e = tensor.empty(%m) : tensor<?x90xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<?x90xf32>) -> tensor<?x90xf32>
  %p = linalg.generic {{indexing_maps = [affine_map<(i, j, k) -> (i, k)>, affine_map<(i, j, k) -> (j, k)>, affine_map<(i, j, k) -> (i, j)>],
      iterator_types = ["parallel", "parallel", "reduction"]}}
      ins(%A, %B : tensor<?x200x{type}>, tensor<90x200x{type}>) outs(%f : tensor<?x90xf32>) {{
  ^bb0(%x: {type}, %y: {type}, %z: f32):
{cast}    %m1 = arith.mulf {product} : f32
    %s = arith.addf %z, %m1 : f32
    linalg.yield %s : f32
  }} -> tensor<?x90xf32>
  return %p : tensor<?x90xf32>
}}
}}
""")
    if type == "f32":
        assert all(one.get("bound_vectors") for one in decisions(tool, path, tmp_path, "--threads", threads))
    for rows in (0, 1, 5, 64, 131):
        tool("tw-run", path, "--sizes", rows, "--threads", threads, "--verify")


@pytest.mark.parametrize("features, vectors", [(64, 3), (24, 3), (40, 2), (16, 1)])
def test_filters_that_go_through_another_buffer(tool, tmp_path, features, vectors):
    """Filters of a transposed convolution lie with the features of the image first: each tap's are gathered into rows, which squares of
    vectors turn into panels, the narrow last one too."""
    image, filters, result = "tensor<1x16x10x10xf32>", f"tensor<16x{features}x3x3xf32>", f"tensor<1x{features}x8x8xf32>"
    path = tmp_path / "program.mlir"
    path.write_text(f"""module attributes {{tilewright.force = "{BIND},lanes_on=n,vectors={vectors}"}} {{
func.func @f(%x: {image}, %w: {filters} {{tilewright.constant}}) -> {result} {{
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : {result}
  %z = linalg.fill ins(%zero : f32) outs(%e : {result}) -> {result}
  %r = linalg.generic {{indexing_maps = [affine_map<(b, f, i, j, c, p, q) -> (b, c, i + p, j + q)>,
                                       affine_map<(b, f, i, j, c, p, q) -> (c, f, p, q)>,
                                       affine_map<(b, f, i, j, c, p, q) -> (b, f, i, j)>],
      iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]}}
      ins(%x, %w : {image}, {filters}) outs(%z : {result}) {{
  ^bb0(%a: f32, %b: f32, %s: f32):
    %m = arith.mulf %a, %b : f32
    %t = arith.addf %s, %m : f32
    linalg.yield %t : f32
  }} -> {result}
  return %r : {result}
}}
}}
""")
    (choice,) = decisions(tool, path, tmp_path)
    assert choice["bound_vectors"]
    tool("tw-run", path, "--verify")


def test_c_interface(tool, tmp_path):
    """The packed form is made once; a change of the weights shows after the next bind alone; arguments keep their places."""
    path = tmp_path / "product.mlir"
    path.write_text(product(48, 160, 96, force=BIND))
    assert decisions(tool, path, tmp_path)[0].get("bound_vectors")
    header = (tmp_path / "product.h").read_text()
    assert "int layer_bind(const float *in0, int8_t *out0);" in header
    assert "int layer(const float *in0, const float *in1, const float *in2, const int8_t *in3, float *out0);" in header
    assert "layer_bind is called before the first call of layer, and after a change of what it reads." in header
    assert f"in3: i8 [{160 * 96 * 4}], filled by layer_bind" in header
    library = ctypes.CDLL(str(tmp_path / "product.so"))
    random = np.random.default_rng(1)
    a, b, bias = (random.standard_normal(s, dtype=np.float32) for s in ((48, 96), (96, 160), (160,)))
    bound, got = np.zeros(160 * 96 * 4, np.int8), np.zeros((48, 160), np.float32)

    def address(array):
        return ctypes.c_void_p(array.ctypes.data)

    def call():
        assert library.layer(*map(address, (a, b, bias, bound, got))) == 0
        return np.abs(got - (a.astype(np.float64) @ b + bias)).max()
    assert library.layer_bind(address(b), address(bound)) == 0
    assert call() < 1e-4
    b *= 2
    assert call() > 1
    assert library.layer_bind(address(b), address(bound)) == 0
    assert call() < 1e-4


def test_two_products_share_one_array(tool, tmp_path):
    """Each buffer has a place of its own; a weight that two products read is packed for each."""
    path = tmp_path / "products.mlir"
    path.write_text("""module attributes {tilewright.force = "bound_vectors=1"} {
func.func @both(%x: tensor<64x64xf32>, %w: tensor<64x64xf32> {tilewright.constant}, %v: tensor<64x80xf32> {tilewright.constant})
    -> tensor<64x80xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<64x64xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<64x64xf32>) -> tensor<64x64xf32>
  %p = linalg.matmul ins(%x, %w : tensor<64x64xf32>, tensor<64x64xf32>) outs(%f : tensor<64x64xf32>) -> tensor<64x64xf32>
  %q = linalg.matmul ins(%p, %w : tensor<64x64xf32>, tensor<64x64xf32>) outs(%f : tensor<64x64xf32>) -> tensor<64x64xf32>
  %g = tensor.empty() : tensor<64x80xf32>
  %h = linalg.fill ins(%zero : f32) outs(%g : tensor<64x80xf32>) -> tensor<64x80xf32>
  %r = linalg.matmul ins(%q, %v : tensor<64x64xf32>, tensor<64x80xf32>) outs(%h : tensor<64x80xf32>) -> tensor<64x80xf32>
  return %r : tensor<64x80xf32>
}
}
""")
    tool("tw-compile", path, "-o", tmp_path / "products.so", "--header", tmp_path / "products.h")
    assert "int both_bind(const float *in0, const float *in1, int8_t *out0);" in (tmp_path / "products.h").read_text()
    tool("tw-run", path, "--verify")


@pytest.mark.parametrize("target, end", [("nvidia:H200", "tw"), ("amd:MI300X", "tw")])
def test_launches_take_constants_as_they_are(tool, tmp_path, target, end):
    path = tmp_path / "product.mlir"
    path.write_text(product(64, 96, 128))
    tool("tw-compile", path, "--target", target, "-o", tmp_path / f"product.{end}")
    tool("tw-run", path, "--target", target, "--device", "emulator", "--verify")


def test_nothing_to_bind(tool, tmp_path):
    """A mark alone changes no interface: nothing is packed of a bias."""
    path = tmp_path / "product.mlir"
    path.write_text(product(64, 96, 128, constant="").replace("%bias: tensor<96xf32>", "%bias: tensor<96xf32> {tilewright.constant}"))
    decisions(tool, path, tmp_path)
    assert "bind" not in (tmp_path / "product.h").read_text()


@pytest.mark.parametrize("m", [1, 200])
def test_model_decides(tool, tmp_path, m):
    """Weights that lie along k are bound, for one row and for many."""
    path = tmp_path / "product.mlir"
    path.write_text(product(m, 1024, 1024, turned=True))
    choice = decisions(tool, path, tmp_path, "--target=cpu:sapphire-rapids")
    assert (choice[0].get("bound_vectors", False) if choice else None) == (None if m == 1 else True)
