"""A unit that always adds to C (test/plugins/adder): the cores clear the accumulators, beside the unit's work. A unit that
reads several rows in a clock."""

import json

import numpy
import pytest
from conftest import BUILD
from scratchpads import as_library, gemm, pointer

PLUGIN = BUILD / "test/plugins/adder/libtilewright-target-adder.so"
CHIP = PLUGIN, "adder:one", BUILD / "test/plugins/adder"


@pytest.mark.parametrize("m, n, k, modes", [(64, 64, 64, ["--modes"]), (50, 33, 70, ["--modes"]), (192, 160, 96, [])])
def test_products_on_the_emulator(tool, tmp_path, m, n, k, modes):
    """Several tiles a core, so that accumulators are used again; every order of the engines."""
    program = tmp_path / "mm.mlir"
    program.write_text(gemm(m, n, k, "i8"))
    common = [program, f"--load-target={PLUGIN}", "--target", "adder:one"]
    decisions = json.loads(tool("tw-compile", *common, "--explain=json"))
    plan = next(one for one in decisions if one["decision"] == "contraction")["choice"]
    assert plan["unit"] == "adder.adds_i8", plan
    report = json.loads(tool("tw-run", *common, "--device", "emulator", "--verify", "--json", *modes))
    assert not report["emulation"]["findings"]


def test_the_model_counts_the_clearing(tool, tmp_path):
    program = tmp_path / "mm.mlir"
    program.write_text(gemm(256, 256, 256, "i8"))
    common = [program, f"--load-target={PLUGIN}", "--target", "adder:one"]
    decisions = json.loads(tool("tw-compile", *common, "--explain=json"))
    plan = next(one for one in decisions if one["decision"] == "contraction")["choice"]
    report = json.loads(tool("tw-run", *common, "--device", "emulator", "--json"))
    kernel, = report["emulation"]["kernels"]
    assert kernel["cycles"] / 2 == pytest.approx(plan["clocks"], rel=0.15)


@pytest.mark.parametrize("form", ["c", "ll"])
def test_source_calls_the_unit_without_a_flag(tool, tmp_path, form):
    program = tmp_path / "mm.mlir"
    m, n, k = 96, 80, 64
    program.write_text(gemm(m, n, k, "i8"))
    library, source = as_library(tool, tmp_path, program, form, CHIP)
    assert "adder_multiply_i8(" in source
    random = numpy.random.default_rng(1)
    a, b = (random.integers(-128, 128, shape, dtype=numpy.int8) for shape in ((m, k), (k, n)))
    bias, result = random.integers(-999, 999, n, dtype=numpy.int32), numpy.full((m, n), -1, dtype=numpy.int32)
    for _ in range(2):  # what the call before left in the accumulators is cleared
        assert library.mm(pointer(a), pointer(b), pointer(bias), pointer(result)) == 0
        assert (result == numpy.maximum(a.astype(numpy.int32) @ b.astype(numpy.int32) + bias, 0)).all()


def test_rows_that_a_unit_reads_together_lie_in_different_banks(tool, tmp_path):
    """8 rows a clock, 128 bytes apart, would be in 4 of 16 banks of 32 bytes: 2 clocks for each. Tiles of such rows are forced: of 64 bytes
    they need no distance, and are about as fast."""
    program = tmp_path / "mm.mlir"
    force = 'module attributes {tilewright.force = "tile_m=256,tile_n=128,tile_k=128"} { func.func'
    program.write_text(gemm(512, 512, 512, "i8").replace("func.func", force, 1) + "}")
    chip = "accelerator:npu@units.systolic_i8.issue=4,memories.scratchpad.bankBytes=32"
    common = [program, f"--load-target={BUILD / 'lib/tilewright/libtilewright-target-accelerator.so'}", "--target", chip]
    decisions = json.loads(tool("tw-compile", *common, "--explain=json"))
    plan = next(one for one in decisions if one["decision"] == "contraction")["choice"]
    a, b = plan["row_pitches"]
    rows, banks = 8, 16
    assert len({row * a // 32 % banks for row in range(rows)}) == rows, plan
    report = json.loads(tool("tw-run", *common, "--device", "emulator", "--verify", "--json"))
    kernel, = report["emulation"]["kernels"]
    unit, = (engine for engine in kernel["engines"] if engine["engine"] == "unit")
    issues = 512 ** 3 // 32 ** 3
    assert unit["busy_cycles"] < issues * (2 * 4 - 0.5), "rows of one bank"
