"""Instructions of compiled GEMM kernels: matrix instructions are there, and nothing is spilled."""

import json
import re
import shutil
import subprocess

import pytest

from lane_texts import product

PTXAS = shutil.which("ptxas") or shutil.which("/usr/local/cuda/bin/ptxas")


@pytest.fixture
def program(tmp_path):
    path = tmp_path / "mm.mlir"
    path.write_text(product("f16", 1024, 1024, 1024))
    return path


def plan(tool, program, chip):
    decisions = json.loads(tool("tw-compile", program, "--target", chip, "--explain=json"))
    return next(d for d in decisions if d["decision"] == "contraction")["choice"]


@pytest.mark.skipif(not PTXAS, reason="ptxas is not installed")
@pytest.mark.parametrize("chip, architecture", [("A100", "sm_80"), ("H100", "sm_90a"), ("B200", "sm_100a"),
                                                ("RTX5090", "sm_120a")])
def test_registers_by_ptxas(chip, architecture, program, tool, tmp_path):
    ptx = tmp_path / "mm.ptx"
    tool("tw-compile", program, "--target", f"nvidia:{chip}", "-o", ptx)
    assert f".target {architecture}" in ptx.read_text()
    done = subprocess.run([PTXAS, "-v", f"--gpu-name={architecture}", str(ptx), "-o", str(tmp_path / "mm.cubin")],
                          capture_output=True, text=True)
    if "is not defined for option 'gpu-name'" in done.stderr:
        pytest.skip(f"this ptxas does not know {architecture}")
    assert done.returncode == 0, done.stderr
    assert re.findall(r"(\d+) bytes spill", done.stderr) and not re.findall(r"[1-9]\d* bytes spill", done.stderr), done.stderr
    registers = max(map(int, re.findall(r"Used (\d+) registers", done.stderr)))
    # The model leaves room for addresses and counters; more than it says would cost blocks at a time.
    assert registers <= 1.15 * plan(tool, program, f"nvidia:{chip}")["registers"] + 8, done.stderr


@pytest.mark.parametrize("chip, instruction", [("MI250", "v_mfma_f32"), ("MI300X", "v_mfma_f32"), ("MI350", "v_mfma_f32"),
                                               ("RX7900", "v_wmma_f32"), ("RX9070", "v_wmma_f32")])
def test_matrix_instructions_of_a_step(chip, instruction, program, tool, tmp_path):
    assembly = tmp_path / "mm.s"
    tool("tw-compile", program, "--target", f"amd:{chip}", "-o", assembly)
    text = assembly.read_text()
    assert set(re.findall(r"\.[sv]gpr_spill_count: (\d+)", text)) == {"0"}
    assert set(re.findall(r"\.private_segment_fixed_size: (\d+)", text)) == {"0"}
    # The loop over k multiplies all units of a subgroup's tile, once or unrolled.
    choice = plan(tool, program, f"amd:{chip}")
    tiles = choice["units_per_subgroup"][0] * choice["units_per_subgroup"][1]
    count = text.count(instruction)
    assert count >= tiles and count % tiles == 0, (count, choice)
