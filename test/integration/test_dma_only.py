"""A scratchpad chip whose cores reach no memory but their own, as `tw-new-target --no-global-access` writes it: every array
comes and goes by DMA, also where no matrix unit is concerned."""

import json
import os
import subprocess

import pytest
from conftest import BUILD, FULL, SOURCE
from scratchpads import as_library

PLUGIN = BUILD / "test/plugins/dmaonly/libtilewright-target-dmaonly.so"
CHIP = [f"--load-target={PLUGIN}", "--target", "dmaonly:npu"]

SOFTMAX = """func.func @f(%x: tensor<{0}xf32>) -> tensor<{0}xf32> {{
  {1}
  %r = linalg.softmax dimension(1) ins(%x : tensor<{0}xf32>) outs(%e : tensor<{0}xf32>) -> tensor<{0}xf32>
  return %r : tensor<{0}xf32>
}}"""
STATIC = "%e = tensor.empty() : tensor<{0}xf32>"
DYNAMIC = """%c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %m = tensor.dim %x, %c0 : tensor<?x?xf32>
  %n = tensor.dim %x, %c1 : tensor<?x?xf32>
  %e = tensor.empty(%m, %n) : tensor<?x?xf32>"""


def run(tool, program, tmp_path, *options):
    path = tmp_path / "program.mlir"
    path.write_text(program)
    report = json.loads(tool("tw-run", path, *CHIP, "--device", "emulator", "--verify", "--json", *options))
    assert report["emulation"]["findings"] == []
    return report["emulation"]["kernels"]


def test_quick_conformance(tool):
    """Everything that the quick run has works, in CI the programs of f32 and bf16; nothing is refused."""
    some = [] if FULL else ["--filter=unit/*", "--filter=*/f32*", "--filter=*/bf16*"]
    result = subprocess.run([BUILD / "bin/tw-conformance", *CHIP, "--device", "emulator", "--quick", "--json", *some],
                            capture_output=True, text=True)
    report = json.loads(result.stdout)
    bad = [case for case in report["cases"] if case["status"] not in ("passed", "skipped")]
    assert not bad and result.returncode == 0, bad[:5]
    assert sum(case["status"] == "passed" for case in report["cases"]) >= (200 if FULL else 70)


@pytest.mark.parametrize("shape", ["100x300", "3x400000"])
def test_soft_max_of_rows_short_and_longer_than_the_scratchpad(tool, tmp_path, shape):
    kernel, = run(tool, SOFTMAX.format(shape, STATIC.format(shape)), tmp_path)
    engines = {engine["engine"]: engine for engine in kernel["engines"]}
    rows, cols = map(int, shape.split("x"))
    # Rows that fit come once and go once; the others come for the maximum, for the sum and for the quotient, and e^x goes
    # out and comes back.
    passes = (1, 1) if rows * cols < 100000 else (3, 2)
    assert engines["copy"]["bytes"] == passes[0] * rows * cols * 4
    assert engines["store"]["bytes"] == passes[1] * rows * cols * 4


def test_sizes_that_only_the_run_knows(tool, tmp_path):
    run(tool, SOFTMAX.format("?x?", DYNAMIC), tmp_path, "--sizes", "37,333")
    # As C, in which the core has no pointer to an array that engines alone reach: no warning.
    chip = PLUGIN, "dmaonly:npu", BUILD / "test/plugins/dmaonly-build"
    as_library(tool, tmp_path, tmp_path / "program.mlir", "c", chip)


SUM = """func.func @f(%x: tensor<512x1024xf32>, %y: tensor<512x1024xf32>) -> tensor<512x1024xf32> {
  %e = tensor.empty() : tensor<512x1024xf32>
  %r = linalg.add ins(%x, %y : tensor<512x1024xf32>, tensor<512x1024xf32>) outs(%e : tensor<512x1024xf32>) -> tensor<512x1024xf32>
  return %r : tensor<512x1024xf32>
}"""


def test_copies_run_beside_the_work(tool, tmp_path):
    """A sum of two arrays is bound by what moves: the engines work together with the core for most of the time."""
    kernel, = run(tool, SUM, tmp_path)
    busy = {engine["engine"]: engine["busy_cycles"] for engine in kernel["engines"]}
    assert sum(busy.values()) >= 1.4 * kernel["cycles"]


def test_results_leave_from_where_operands_came(tool, tmp_path):
    """The copy of the next tile must not run beside the work on this one."""
    run(tool, """func.func @f(%a: memref<512x1024xf32>, %x: memref<512x1024xf32>) {
  affine.for %i = 0 to 512 {
    affine.for %j = 0 to 1024 {
      %u = affine.load %a[%i, %j] : memref<512x1024xf32>
      %v = affine.load %x[%i, %j] : memref<512x1024xf32>
      %s = arith.addf %u, %v : f32
      affine.store %s, %a[%i, %j] : memref<512x1024xf32>
    }
  }
  return
}""", tmp_path)


ROWS = """func.func @f(%x: tensor<1024x512xf32>) -> tensor<{0}xf32> {{
  %z = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<{0}xf32>
  %i = linalg.fill ins(%z : f32) outs(%e : tensor<{0}xf32>) -> tensor<{0}xf32>
  %r = linalg.reduce ins(%x : tensor<1024x512xf32>) outs(%i : tensor<{0}xf32>) dimensions = [{1}] (%a: f32, %b: f32) {{
    %s = arith.addf %a, %b : f32
    linalg.yield %s : f32
  }}
  return %r : tensor<{0}xf32>
}}"""
#: The nests of the table in docs/scratchpads.md.
NESTS = {
    "sum of two 512 x 1024 arrays": SUM,
    "transpose of 512 x 384": """func.func @f(%x: tensor<512x384xf32>) -> tensor<384x512xf32> {
  %e = tensor.empty() : tensor<384x512xf32>
  %r = linalg.transpose ins(%x : tensor<512x384xf32>) outs(%e : tensor<384x512xf32>) permutation = [1, 0]
  return %r : tensor<384x512xf32>
}""",
    "max-pool 3 x 3 / 2 of 57 x 57 x 64": """func.func @f(%x: tensor<1x57x57x64xf32>) -> tensor<1x28x28x64xf32> {
  %m = arith.constant 0xFF800000 : f32
  %w = tensor.empty() : tensor<3x3xf32>
  %e = tensor.empty() : tensor<1x28x28x64xf32>
  %i = linalg.fill ins(%m : f32) outs(%e : tensor<1x28x28x64xf32>) -> tensor<1x28x28x64xf32>
  %r = linalg.pooling_nhwc_max {dilations = dense<1> : tensor<2xi64>, strides = dense<2> : tensor<2xi64>}
      ins(%x, %w : tensor<1x57x57x64xf32>, tensor<3x3xf32>) outs(%i : tensor<1x28x28x64xf32>) -> tensor<1x28x28x64xf32>
  return %r : tensor<1x28x28x64xf32>
}""",
    "sums of 1024 rows of 512": ROWS.format("1024", 1),
    "sums of 512 columns of 1024": ROWS.format("512", 0),
    "soft-max of 1024 rows of 512": SOFTMAX.format("1024x512", STATIC.format("1024x512")),
}


@pytest.mark.parametrize("name", NESTS)
def test_the_clocks_of_the_page(name, tool, tmp_path):
    row, = (line for line in (SOURCE / "docs/scratchpads.md").read_text().splitlines() if line.startswith(f"| {name} |"))
    stated = [int(cell.replace(",", "")) for cell in row.strip("| ").split("|")[1:]]
    path = tmp_path / "program.mlir"
    path.write_text(NESTS[name])
    counted = []
    for chip in ([f"--load-target={BUILD / 'lib/tilewright/libtilewright-target-accelerator.so'}", "--target", "accelerator:npu"],
                 CHIP):
        report = json.loads(tool("tw-run", path, *chip, "--device", "emulator", "--verify", "--json"))
        counted.append(sum(kernel["cycles"] for kernel in report["emulation"]["kernels"]))
    assert stated == pytest.approx(counted, rel=0.01), counted


ALIGNED = "dmaonly:npu@copies.DmaIn.alignBytes=32,copies.DmaOut.alignBytes=32"
PRODUCT = """func.func @f(%a: tensor<{0}x{1}xf32>, %b: tensor<{1}x{2}xf32>) -> tensor<{0}x{2}xf32> {{
  %z = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<{0}x{2}xf32>
  %i = linalg.fill ins(%z : f32) outs(%e : tensor<{0}x{2}xf32>) -> tensor<{0}x{2}xf32>
  %r = linalg.matmul ins(%a, %b : tensor<{0}x{1}xf32>, tensor<{1}x{2}xf32>) outs(%i : tensor<{0}x{2}xf32>) -> tensor<{0}x{2}xf32>
  return %r : tensor<{0}x{2}xf32>
}}"""


@pytest.mark.parametrize("name", [*NESTS, "product"])
def test_engines_that_move_aligned_rows_alone(name, tool, tmp_path):
    """Arrays begin where devices allocate them, and tiles at rows that engines can address; the emulator finds any other."""
    path = tmp_path / "program.mlir"
    path.write_text(NESTS.get(name, PRODUCT.format(96, 72, 40)))
    report = json.loads(tool("tw-run", path, CHIP[0], "--target", ALIGNED, "--device", "emulator", "--verify", "--json"))
    assert report["emulation"]["findings"] == []
    assert sum(kernel["cycles"] for kernel in report["emulation"]["kernels"]) > 0


def test_the_emulator_finds_rows_that_engines_cannot_address(tmp_path):
    """Code for engines that address every byte, on a chip whose engines do not."""
    path = tmp_path / "program.mlir"
    path.write_text(SOFTMAX.format("19x37", STATIC.format("19x37")))
    result = subprocess.run([BUILD / "bin/tw-run", path, *CHIP, "--device",
                             f"exec:{BUILD / 'bin/tilewright-emulated-device'} {ALIGNED}"],
                            capture_output=True, text=True, env={**os.environ, "TILEWRIGHT_TARGET_PATH": str(PLUGIN.parent)})
    assert result.returncode == 1 and "misaligned: kernel f_launch_0, tilewright.primitive.copy_2d" in result.stderr, result.stderr


@pytest.mark.parametrize("program, reason", [
    (PRODUCT.format(33, 47, 29), "engines move rows that begin at multiples of 32 bytes"),
    (SOFTMAX.format("?x?", DYNAMIC), "(arrays begin at multiples of 64)"),
])
def test_rows_that_engines_cannot_address_are_refused(program, reason, tmp_path):
    path = tmp_path / "program.mlir"
    path.write_text(program)
    result = subprocess.run([BUILD / "bin/tw-compile", CHIP[0], "--target", ALIGNED, path, "-o", tmp_path / "program.c"],
                            capture_output=True, text=True)
    assert result.returncode == 1 and reason in result.stderr, result.stderr


def test_a_gather_is_refused_with_its_reason(tmp_path):
    path = tmp_path / "program.mlir"
    path.write_text("""func.func @f(%x: tensor<64x8xf32>, %at: tensor<5xi32>) -> tensor<5x8xf32> {
  %e = tensor.empty() : tensor<5x8xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (i, j)>],
                       iterator_types = ["parallel", "parallel"]} ins(%at : tensor<5xi32>) outs(%e : tensor<5x8xf32>) {
  ^bb0(%n: i32, %o: f32):
    %p = arith.index_cast %n : i32 to index
    %j = linalg.index 1 : index
    %v = tensor.extract %x[%p, %j] : tensor<64x8xf32>
    linalg.yield %v : f32
  } -> tensor<5x8xf32>
  return %r : tensor<5x8xf32>
}""")
    result = subprocess.run([BUILD / "bin/tw-run", path, *CHIP, "--device", "emulator"], capture_output=True, text=True)
    assert result.returncode != 0
    assert "program.mlir:3:8: error:" in result.stderr and 'do not reach the memory "global"' in result.stderr, result.stderr


def test_the_scaffold_says_so_in_one_line(tool, tmp_path):
    tool("tw-new-target", "acme", "--kind", "scratchpad", "--no-global-access", "--dir", tmp_path / "acme")
    tool("tw-new-target", "acme", "--kind", "scratchpad", "--dir", tmp_path / "other")
    one, other = ((tmp_path / name / "Chips.td").read_text().splitlines() for name in ("acme", "other"))
    assert [pair for pair in zip(one, other) if pair[0] != pair[1]] == [
        ("defvar reachesGlobal = 0;", "defvar reachesGlobal = 1;")]
    tool("tw-tblgen", "-check", "-target=acme", f"-I={SOURCE}", f"-I={tmp_path / 'acme'}", tmp_path / "acme/Chips.td")
    refused = subprocess.run([BUILD / "bin/tw-new-target", "acme", "--kind", "simd", "--no-global-access", "--dir",
                              tmp_path / "none"], capture_output=True, text=True)
    assert refused.returncode == 1 and "--no-global-access is for --kind scratchpad" in refused.stderr
    assert not (tmp_path / "none").exists()
