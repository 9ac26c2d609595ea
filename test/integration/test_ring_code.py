"""Code of products through a ring: what the assembler says of registers, spills and serialised units.

Needs `ptxas` on the path or under CUDA_ROOT, CUDA_HOME, CUDA_PATH or /usr/local/cuda; without it the tests are skipped.
"""

import json
import os
import pathlib
import re
import shutil
import subprocess

import pytest


def assembler():
    roots = [os.environ.get(name) for name in ("CUDA_ROOT", "CUDA_HOME", "CUDA_PATH")] + ["/usr/local/cuda"]
    places = [shutil.which("ptxas")] + [str(pathlib.Path(root) / "bin" / "ptxas") for root in roots if root]
    return next((place for place in places if place and os.access(place, os.X_OK)), None)


def product(m, n, k, element, transposed, tile, out="f32"):
    """C = A B with B of k x n, or of n x k if it is transposed, in a block tile of `tile`; `out` f16 converts C."""
    widen, accumulator = ("extsi", "i32") if element in ("i8", "u8") else ("extf", "f32")
    suffix, zero = ("i", "0") if accumulator == "i32" else ("f", "0.0")
    a, c = f"tensor<{m}x{k}x{element}>", f"tensor<{m}x{n}x{accumulator}>"
    b, order = (f"tensor<{n}x{k}x{element}>", "(j, k)") if transposed else (f"tensor<{k}x{n}x{element}>", "(k, j)")
    result = f"tensor<{m}x{n}x{out}>" if out == "f16" else c
    tail = f"return %r : {c}" if out != "f16" else f"""%eh = tensor.empty() : {result}
  %h = linalg.generic {{indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>],
                       iterator_types = ["parallel", "parallel"]}} ins(%r : {c}) outs(%eh : {result}) {{
    ^bb0(%x: f32, %y: f16):
      %t = arith.truncf %x : f32 to f16
      linalg.yield %t : f16
  }} -> {result}
  return %h : {result}"""
    return f"""module attributes {{tilewright.force = "group=4,block_m={tile[0]},block_n={tile[1]}"}} {{
func.func @product(%A: {a}, %B: {b}) -> {result} {{
  %zero = arith.constant {zero} : {accumulator}
  %empty = tensor.empty() : {c}
  %init = linalg.fill ins(%zero : {accumulator}) outs(%empty : {c}) -> {c}
  %r = linalg.generic {{indexing_maps = [affine_map<(i, j, k) -> (i, k)>, affine_map<(i, j, k) -> {order}>,
                                        affine_map<(i, j, k) -> (i, j)>],
                       iterator_types = ["parallel", "parallel", "reduction"]}}
      ins(%A, %B : {a}, {b}) outs(%init : {c}) {{
    ^bb0(%x: {element}, %y: {element}, %z: {accumulator}):
      %xe = arith.{widen} %x : {element} to {accumulator}
      %ye = arith.{widen} %y : {element} to {accumulator}
      %p = arith.mul{suffix} %xe, %ye : {accumulator}
      %s = arith.add{suffix} %z, %p : {accumulator}
      linalg.yield %s : {accumulator}
  }} -> {c}
  {tail}
}}
}}
"""


def assemble(tool, tmp_path, text):
    """The PTX of a program, and what the assembler says of it."""
    program = assembler()
    if not program:
        pytest.skip("no ptxas")
    source, ptx = tmp_path / "product.mlir", tmp_path / "product.ptx"
    source.write_text(text)
    tool("tw-compile", source, "--target", "nvidia:H100", "-o", ptx)
    result = subprocess.run([program, "-v", "-arch=sm_90a", "-O3", str(ptx), "-o", str(tmp_path / "product.cubin")],
                            capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    return ptx.read_text(), result.stdout + result.stderr


@pytest.mark.parametrize("transposed", [True, False])
@pytest.mark.parametrize("tile", [(128, 256), (256, 128), (128, 128)])
def test_large_tiles_keep_their_sums(tool, tmp_path, tile, transposed):
    ptx, messages = assemble(tool, tmp_path, product(8192, 8192, 8192, "f16", transposed, tile))
    # Entry registers of 384 lanes; the groups get more with setmaxnreg.
    assert re.search(r"Used 168 registers", messages), messages
    assert "0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads" in messages, messages
    assert not re.search(r"C7[56]\d\d", messages), messages
    units = tile[0] // 128 * 4
    assert len(re.findall(r"wgmma\.mma_async", ptx)) == units, "products of one step"
    assert len(re.findall(r"wgmma\.wait_group", ptx)) == 2
    assert len(re.findall(r"setmaxnreg", ptx)) == 2
    assert "st.local" not in ptx and "ld.local" not in ptx


@pytest.mark.parametrize("chip", ["H100", "H200"])
@pytest.mark.parametrize("element", ["f16", "bf16", "i8", "f8E4M3FN"])
def test_the_compiler_chooses_it(tool, tmp_path, chip, element):
    source = tmp_path / "product.mlir"
    text = product(4096, 4096, 4096, element, True, (128, 256))
    source.write_text(re.sub(r' attributes \{tilewright.force = "[^"]*"\}', "", text, count=1))
    decisions = json.loads(tool("tw-compile", source, "--target", f"nvidia:{chip}", "--explain=json"))
    choice = next(d for d in decisions if d["decision"] == "contraction")["choice"]
    assert choice["unit"].startswith("nvidia.wgmma_") and choice["engine"] == "TmaLoad", choice
    assert choice["block"][:2] in ([128, 256], [256, 128]) and choice["persistent_blocks"] > 0, choice


@pytest.mark.parametrize("element", ["bf16", "i8", "f8E4M3FN", "f8E5M2"])
def test_other_elements(tool, tmp_path, element):
    ptx, messages = assemble(tool, tmp_path, product(4096, 4096, 4096, element, True, (128, 256)))
    assert "0 bytes spill stores, 0 bytes spill loads" in messages, messages
    assert not re.search(r"C7[56]\d\d", messages), messages


@pytest.mark.parametrize("shape", [(4104, 4100, 4096), (200, 136, 72)])
def test_edges(tool, tmp_path, shape):
    ptx, messages = assemble(tool, tmp_path, product(*shape, "f16", True, (128, 128), out="f16"))
    assert "0 bytes spill stores, 0 bytes spill loads" in messages, messages
    assert not re.search(r"C7[56]\d\d", messages), messages
