"""What stands in the object code: innermost loops keep their accumulators in registers, nothing calls a C library.

The code is for a fixed chip and is not executed, so that the tests say the same on every machine.
"""

import re
import subprocess

import pytest

ADDRESS = re.compile(r"\s*([0-9a-f]+):\s+(\S+)\s*(.*)")
UNIT = re.compile(r"vfmadd|vdpbf16ps|vpdpbusd|vpmaddwd")


def product(m, n, k, element, accumulator):
    widen = {"f32": None, "bf16": "extf", "i8": "extsi"}[element]
    casts = (f"""      %xe = arith.{widen} %x : {element} to {accumulator}
      %ye = arith.{widen} %y : {element} to {accumulator}
""" if widen else "")
    x, y = ("%xe", "%ye") if widen else ("%x", "%y")
    suffix, zero = ("i", "0") if accumulator == "i32" else ("f", "0.0")
    a, b, c = f"tensor<{m}x{k}x{element}>", f"tensor<{k}x{n}x{element}>", f"tensor<{m}x{n}x{accumulator}>"
    return f"""func.func @product(%A: {a}, %B: {b}) -> {c} {{
  %zero = arith.constant {zero} : {accumulator}
  %empty = tensor.empty() : {c}
  %init = linalg.fill ins(%zero : {accumulator}) outs(%empty : {c}) -> {c}
  %r = linalg.generic {{indexing_maps = [affine_map<(i, j, k) -> (i, k)>, affine_map<(i, j, k) -> (k, j)>,
                                        affine_map<(i, j, k) -> (i, j)>],
                       iterator_types = ["parallel", "parallel", "reduction"]}}
      ins(%A, %B : {a}, {b}) outs(%init : {c}) {{
    ^bb0(%x: {element}, %y: {element}, %z: {accumulator}):
{casts}      %p = arith.mul{suffix} {x}, {y} : {accumulator}
      %s = arith.add{suffix} %z, %p : {accumulator}
      linalg.yield %s : {accumulator}
  }} -> {c}
  return %r : {c}
}}
"""


def innermost_loops(path):
    """Instructions of each loop without a loop inside, as (operation, operands)."""
    text = subprocess.run(["llvm-objdump-22", "-d", "--no-show-raw-insn", str(path)], check=True, capture_output=True,
                          text=True).stdout
    lines = [match.groups() for match in map(ADDRESS.match, text.splitlines()) if match]
    place = {int(address, 16): number for number, (address, _, _) in enumerate(lines)}
    loops = []
    for number, (_, operation, operands) in enumerate(lines):
        target = re.match(r"0x([0-9a-f]+)", operands) if operation.startswith("j") else None
        start = place.get(int(target.group(1), 16)) if target else None
        if start is not None and start <= number:
            loops.append((start, number))
    inner = [one for one in loops
             if not any(other != one and other[0] >= one[0] and other[1] <= one[1] for other in loops)]
    return [[(operation, operands) for _, operation, operands in lines[start:end + 1]] for start, end in inner]


@pytest.mark.parametrize("chip, shape", [("zen4", (128, 3072, 768, "bf16", "f32")), ("zen4", (128, 4096, 4096, "bf16", "f32")),
                                         ("zen4", (1000, 1000, 1000, "f32", "f32")), ("zen4", (97, 97, 97, "f32", "f32")),
                                         ("zen4", (2048, 2048, 2048, "f32", "f32")), ("zen4", (512, 512, 512, "i8", "i32")),
                                         ("x86-64-v3", (128, 768, 768, "i8", "i32")), ("x86-64-v4", (128, 768, 768, "i8", "i32"))],
                         ids=lambda value: value if isinstance(value, str) else "x".join(map(str, value)))
def test_innermost_loops_do_not_spill(tool, tmp_path, chip, shape):
    """Nor do sums move from one register to another, as they would where a unit of two instructions gives its result in a new one."""
    source, code = tmp_path / "product.mlir", tmp_path / "product.o"
    source.write_text(product(*shape))
    tool("tw-compile", source, "--target", f"cpu:{chip}", "-o", code)
    busy = [loop for loop in innermost_loops(code) if sum(bool(UNIT.match(op)) for op, _ in loop) >= 24]
    assert busy, "no register tile found"
    for loop in busy:
        spilled = [words for words in loop if "(%rsp" in words[1]]
        assert not spilled, f"{len(spilled)} accesses of the stack in a loop of {len(loop)}: {spilled[:3]}"
        moved = [words for words in loop if re.match(r"vmov[au]", words[0]) and "(" not in words[1]]
        assert not moved, f"{len(moved)} moves between registers in a loop of {len(loop)}: {moved[:3]}"


@pytest.mark.parametrize("chip, rows, vectors",
                         [("granite-rapids", *tile) for tile in ((6, 4), (8, 3), (9, 3), (5, 5), (14, 2), (28, 1))] +
                         [("x86-64-v3", *tile) for tile in ((6, 2), (4, 3))])
@pytest.mark.parametrize("packed", [0, 1])
def test_unrolled_steps_do_not_spill(tool, tmp_path, chip, rows, vectors, packed):
    source, code = tmp_path / "product.mlir", tmp_path / "product.o"
    force = f"rows={rows},vectors={vectors},pack_vectors={packed},rows_outside=0"
    source.write_text(f'module attributes {{tilewright.force = "{force}"}} {{\n'
                      f'{product(512, 480, 512, "f32", "f32")}}}\n')
    tool("tw-compile", source, "--target", f"cpu:{chip}", "-o", code)
    busy = [loop for loop in innermost_loops(code)
            if sum(bool(UNIT.match(op)) for op, _ in loop) >= rows * vectors]
    assert busy, "no register tile found"
    assert not [words for loop in busy for words in loop if "(%rsp" in words[1]]


def test_taps_of_neighbouring_rows_do_not_spill(tool, tmp_path):
    """Rows of one tile lie next to each other: their scalars have one base address, so instruction selection may put those of all
    unrolled steps together; and 12 sums leave 4 of 16 registers."""
    source, code = tmp_path / "convolution.mlir", tmp_path / "convolution.o"
    source.write_text("""module attributes {tilewright.force = "rows=6,vectors=2,lanes_on=n,k_unroll=4"} {
func.func @main(%x: tensor<1x34x34x64xf32>, %w: tensor<32x3x3x64xf32>) -> tensor<1x32x32x32xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<1x32x32x32xf32>
  %zeros = linalg.fill ins(%zero : f32) outs(%empty : tensor<1x32x32x32xf32>) -> tensor<1x32x32x32xf32>
  %r = linalg.conv_2d_nhwc_fhwc ins(%x, %w : tensor<1x34x34x64xf32>, tensor<32x3x3x64xf32>)
      outs(%zeros : tensor<1x32x32x32xf32>) -> tensor<1x32x32x32xf32>
  return %r : tensor<1x32x32x32xf32>
}
}
""")
    tool("tw-compile", source, "--target", "cpu:x86-64-v3", "-o", code)
    busy = [loop for loop in innermost_loops(code) if sum(bool(UNIT.match(op)) for op, _ in loop) >= 48]
    assert busy, "no register tile of four steps found"
    assert not [words for loop in busy for words in loop if "(%rsp" in words[1]]


@pytest.mark.parametrize("shape", [(1000, 1000, 1000, "f32", "f32"), (128, 768, 3072, "i8", "i32")],
                         ids=lambda shape: "x".join(map(str, shape)))
def test_sequential_code_needs_no_c_library_for_copies(tool, tmp_path, shape):
    source, code = tmp_path / "product.mlir", tmp_path / "product.o"
    source.write_text(product(*shape))
    tool("tw-compile", source, "--target", "cpu:zen4", "-o", code)
    names = subprocess.run(["llvm-nm-22", "-u", str(code)], check=True, capture_output=True, text=True).stdout.split()
    assert not {"memcpy", "memset", "memmove"} & set(names), names
    for loop in innermost_loops(code):
        assert not any(op.startswith("movzbl") or op.startswith("movzx") for op, _ in loop), "a copy byte by byte"


def test_spilled_vectors_are_aligned(tool, tmp_path):
    """Taps of a convolution with stride 2 share scalars. If LLVM may keep them in registers, a full tile spills some of its sums: they lie
    at multiples of their size, wherever a thread's stack begins."""
    source, code = tmp_path / "convolution.mlir", tmp_path / "convolution.o"
    source.write_text("""module attributes {tilewright.force = "rows=6,vectors=4,lanes_on=n,reread_scalars=0"} {
func.func @main(%x: tensor<1x32x58x58xf32>, %w: tensor<128x32x3x3xf32>) -> tensor<1x128x28x28xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<1x128x28x28xf32>
  %zeros = linalg.fill ins(%zero : f32) outs(%empty : tensor<1x128x28x28xf32>) -> tensor<1x128x28x28xf32>
  %r = linalg.conv_2d_nchw_fchw {strides = dense<2> : tensor<2xi64>} ins(%x, %w : tensor<1x32x58x58xf32>, tensor<128x32x3x3xf32>)
      outs(%zeros : tensor<1x128x28x28xf32>) -> tensor<1x128x28x28xf32>
  return %r : tensor<1x128x28x28xf32>
}
}
""")
    tool("tw-compile", source, "--target", "cpu:zen4", "-o", code)
    text = subprocess.run(["llvm-objdump-22", "-d", "--no-show-raw-insn", str(code)], check=True, capture_output=True, text=True).stdout
    spills = re.findall(r"vmov\w+\s+(?:%zmm\d+, \S*\(%rsp\)|\S*\(%rsp\), %zmm\d+)", text)
    assert spills, "nothing is spilled: this test has to find another program"
    assert not [each for each in spills if "vmovup" in each], spills[:3]
    assert re.search(r"and\w*\s+\$-0x40, %rsp", text)


@pytest.mark.parametrize("stride", (1, 2))
def test_taps_that_rows_share_are_read_again(tool, tmp_path, stride):
    """Neighbouring rows of 4 x 24 sums share what the taps of a 3 x 3 window read, and 16 registers have no room to keep it."""
    side = 31 * stride + 3
    a, w, c = f"tensor<1x32x{side}x{side}xf32>", "tensor<48x32x3x3xf32>", "tensor<1x48x32x32xf32>"
    (tmp_path / "c.mlir").write_text(f"""module attributes {{tilewright.force = "lanes_on=n,rows=4,vectors=3"}} {{
func.func @window(%x: {a}, %w: {w}) -> {c} {{
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : {c}
  %init = linalg.fill ins(%zero : f32) outs(%empty : {c}) -> {c}
  %r = linalg.conv_2d_nchw_fchw {{strides = dense<{stride}> : vector<2xi64>}} ins(%x, %w : {a}, {w}) outs(%init : {c}) -> {c}
  return %r : {c}
}}
}}
""")
    tool("tw-compile", tmp_path / "c.mlir", "--target", "cpu:x86-64-v3", "-o", tmp_path / "c.o")
    loops = [loop for loop in innermost_loops(tmp_path / "c.o") if sum("vfmadd" in op for op, _ in loop) >= 36]
    assert loops, "no loop holds the products of a column of taps"
    for loop in loops:
        products, scalars = (sum(name in op for op, _ in loop) for name in ("vfmadd", "vbroadcastss"))
        assert 3 * scalars == products, (scalars, products)
        assert not [operands for _, operands in loop if "%rsp" in operands or "%rbp" in operands], loop


def test_panels_of_bytes_need_no_branch_for_each(tool, tmp_path):
    """AVX2 has no masks for bytes: what is left of a row is loaded by shorter vectors or, where that depends on the place, as a whole or in a loop."""
    source, code = tmp_path / "convolution.mlir", tmp_path / "convolution.o"
    source.write_text("""func.func @main(%x: tensor<1x8x58x58xi8>, %w: tensor<64x8x3x3xi8>) -> tensor<1x64x28x28xi32> {
  %zero = arith.constant 0 : i32
  %empty = tensor.empty() : tensor<1x64x28x28xi32>
  %zeros = linalg.fill ins(%zero : i32) outs(%empty : tensor<1x64x28x28xi32>) -> tensor<1x64x28x28xi32>
  %r = linalg.conv_2d_nchw_fchw {strides = dense<2> : tensor<2xi64>} ins(%x, %w : tensor<1x8x58x58xi8>, tensor<64x8x3x3xi8>)
      outs(%zeros : tensor<1x64x28x28xi32>) -> tensor<1x64x28x28xi32>
  return %r : tensor<1x64x28x28xi32>
}
""")
    tool("tw-compile", source, "--target", "cpu:x86-64-v3", "-o", code)
    text = subprocess.run(["llvm-objdump-22", "-d", "--no-show-raw-insn", str(code)], check=True, capture_output=True, text=True).stdout
    assert "vpmaddwd" in text
    inserted = len(re.findall(r"vpinsrb|vpextrb", text))
    assert inserted < 32, f"{inserted} bytes are moved one by one"
