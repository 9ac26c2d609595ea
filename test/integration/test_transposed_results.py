"""Contractions whose lanes are not along the contiguous dimension of the result: its rows are transposed in registers.

The numbers are compared with float64 on this machine. The code is for fixed chips and is not executed: what is stored or loaded
element by element is counted in the object code.
"""

import re
import subprocess

import pytest

#: A store from registers of vectors: its operation, its registers.
STORE = re.compile(r"\s+(v\w+)\s+(?:\$\S+, )?%([xyz]mm)\d+, \S*\(%r[^s]\w*[,)]")


def product(m, n, k, element, force, beside=False, accumulate=False):
    """C[j, i] (+)= A[i, l] B[l, j] with m rows i, n lanes j; `beside`: max(0, C + bias[j] + residual[j, i]), in the element type."""
    total = {"bf16": "f32", "f16": "f32"}.get(element, element)
    widen = element != total
    a, b, c, d = f"tensor<{m}x{k}x{element}>", f"tensor<{k}x{n}x{element}>", f"tensor<{n}x{m}x{total}>", f"tensor<{n}x{m}x{element}>"
    casts = f"%xe = arith.extf %x : {element} to {total}\n%ye = arith.extf %y : {element} to {total}" if widen else ""
    x, y = ("%xe", "%ye") if widen else ("%x", "%y")
    more = f", %before: {c}" if accumulate else ""
    initial = "%before" if accumulate else "%zeros"
    finish, result, arguments = "", f"return %c : {c}", ""
    if beside or widen:
        arguments = f", %bias: tensor<{n}x{total}>, %residual: {d}"
        wide = f"%re = arith.extf %r : {element} to {total}" if widen else ""
        narrow = f"%o = arith.truncf %q : {total} to {element}" if widen else ""
        finish = f"""
  %out = tensor.empty() : {d}
  %d = linalg.generic {{indexing_maps = [affine_map<(j, i) -> (j, i)>, affine_map<(j, i) -> (j)>, affine_map<(j, i) -> (j, i)>,
                                        affine_map<(j, i) -> (j, i)>], iterator_types = ["parallel", "parallel"]}}
      ins(%c, %bias, %residual : {c}, tensor<{n}x{total}>, {d}) outs(%out : {d}) {{
    ^bb0(%s: {total}, %b: {total}, %r: {element}, %unused: {element}):
      {wide}
      %t = arith.addf %s, %b : {total}
      %u = arith.addf %t, {"%re" if widen else "%r"} : {total}
      %q = arith.maximumf %u, %zero : {total}
      {narrow}
      linalg.yield {"%o" if widen else "%q"} : {element}
  }} -> {d}"""
        result = f"return %d : {d}"
    return f"""module attributes {{tilewright.force = "lanes_on=n,{force}"}} {{
func.func @product(%A: {a}, %B: {b}{arguments}{more}) -> {d if finish else c} {{
  %zero = arith.constant 0.0 : {total}
  %empty = tensor.empty() : {c}
  %zeros = linalg.fill ins(%zero : {total}) outs(%empty : {c}) -> {c}
  %c = linalg.generic {{indexing_maps = [affine_map<(i, j, l) -> (i, l)>, affine_map<(i, j, l) -> (l, j)>,
                                        affine_map<(i, j, l) -> (j, i)>],
                       iterator_types = ["parallel", "parallel", "reduction"]}}
      ins(%A, %B : {a}, {b}) outs({initial} : {c}) {{
    ^bb0(%x: {element}, %y: {element}, %z: {total}):
      {casts}
      %p = arith.mulf {x}, {y} : {total}
      %s = arith.addf %z, %p : {total}
      linalg.yield %s : {total}
  }} -> {c}{finish}
  {result}
}}
}}
"""


#: rows, lanes, steps, type, forced plan, epilogue, added to what C held; no rows, lanes or steps are multiples of the tile's.
CASES = [
    (29, 37, 40, "f32", "rows=12,vectors=1", False, False),
    (29, 37, 40, "f32", "rows=7,vectors=1", True, False),
    (29, 37, 96, "f32", "rows=13,vectors=1,k_block=32", True, False),
    (29, 37, 40, "f32", "rows=6,vectors=2", False, True),
    (29, 37, 40, "f64", "rows=11,vectors=1", True, False),
    (29, 37, 64, "bf16", "rows=9,vectors=1", True, False),
    (29, 37, 64, "f16", "rows=9,vectors=1", True, False),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: "-".join(map(str, case)))
def test_numbers(tool, tmp_path, case):
    source = tmp_path / "product.mlir"
    source.write_text(product(*case))
    tool("tw-run", source, "--verify")


@pytest.mark.parametrize("target", ["cpu:x86-64-v3", "cpu:neoverse-v1"])
@pytest.mark.parametrize("case", CASES[2:4] + CASES[6:], ids=lambda case: "-".join(map(str, case)))
def test_numbers_of_other_chips(tool, tmp_path, case, target):
    source = tmp_path / "product.mlir"
    source.write_text(product(*case))
    tool("tw-run", source, "--verify", "--target", target, "--device", "model")


@pytest.mark.parametrize("target, rows, stores", [
    ("cpu:zen4", 12, {"ymm": 32, "xmm": 32}),         # 2 vectors of 16 lanes: blocks of 8 and 4 rows
    ("cpu:x86-64-v3", 4, {"xmm": 16}),                # 2 vectors of 8 lanes, one block of 4 rows
])
def test_no_element_is_stored_by_itself(tool, tmp_path, target, rows, stores):
    source, code = tmp_path / "product.mlir", tmp_path / "product.o"
    source.write_text(product(4 * rows, 64, 64, "f32", f"rows={rows},vectors=2,pack_vectors=0,rows_outside=0"))
    tool("tw-compile", source, "--target", target, "-o", code)
    text = subprocess.run(["llvm-objdump-22", "-d", "--no-show-raw-insn", str(code)], check=True, capture_output=True, text=True).stdout
    found = [match.groups() for match in map(STORE.search, text.splitlines()) if match]
    assert not [operation for operation, _ in found if operation in ("vmovss", "vextractps", "vmovd")], found
    # A part of a wider register is named by its instruction.
    parts = [{"vextractf64x4": "ymm", "vextractf32x4": "xmm", "vextractf128": "xmm"}.get(operation, register) for operation, register in found]
    # In how many tiles they are written out, LLVM decides.
    assert set(parts) == set(stores) and len({parts.count(size) / stores[size] for size in stores}) == 1, found
    assert all(parts.count(size) % stores[size] == 0 for size in stores), found
