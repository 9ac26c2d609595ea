# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The RTL of examples/npu-rtl behind the pipe protocol: numbers and clocks of programs that the code generator made."""

import json
import shutil
import subprocess
import sys

import numpy
import pytest

from conftest import BUILD, FULL, SOURCE

EXAMPLE = SOURCE / "examples/npu-rtl"
PLUGIN = BUILD / "lib/tilewright/libtilewright-target-accelerator.so"
CHIP = [f"--load-target={PLUGIN}", "--target", "accelerator:npu"]


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    if not shutil.which("verilator"):
        pytest.skip("verilator is not installed (Debian's package; scripts/install-deps.sh asks for it)")
    folder = tmp_path_factory.mktemp("npu")
    subprocess.run([EXAMPLE / "build.sh", folder], check=True)
    return folder / "libnpu.so"


def device(library, *log):
    return " ".join(["exec:" + sys.executable, str(EXAMPLE / "device.py"), str(library), *map(str, log)])


@pytest.mark.parametrize("name, bound", [("gemm-i8-64", 0.01), ("gemm-bf16-128", 0.01)])
def test_a_product_is_right_and_takes_the_emulators_clocks(tool, library, tmp_path, name, bound):
    program, log = EXAMPLE / "programs" / f"{name}.mlir", tmp_path / "log"
    # --verify: a result that is not the float64 one makes the tool fail.
    tool("tw-run", program, *CHIP, "--device", device(library, log), "--verify")
    launches = [json.loads(line) for line in log.read_text().splitlines()]
    clocks = sum(core["clocks"] for launch in launches for core in launch["cores"])
    assert sum(core["array"] for launch in launches for core in launch["cores"]) > 0
    emulated = json.loads(tool("tw-run", program, *CHIP, "--device", "emulator", "--json"))["emulation"]["kernels"]
    assert abs(sum(kernel["cycles"] for kernel in emulated) / clocks - 1) < bound


def test_sizes_that_are_not_known(tool, library, tmp_path):
    program, array = tmp_path / "twice.mlir", tmp_path / "array.npy"
    program.write_text("""
    func.func @twice(%a: tensor<?x17xf32>) -> tensor<?x17xf32> {
      %c0 = arith.constant 0 : index
      %n = tensor.dim %a, %c0 : tensor<?x17xf32>
      %e = tensor.empty(%n) : tensor<?x17xf32>
      %s = linalg.add ins(%a, %a : tensor<?x17xf32>, tensor<?x17xf32>) outs(%e : tensor<?x17xf32>) -> tensor<?x17xf32>
      return %s : tensor<?x17xf32>
    }""")
    numpy.save(array, numpy.arange(5 * 17, dtype=numpy.float32).reshape(5, 17))
    tool("tw-run", program, *CHIP, "--device", device(library), "--input", array, "--verify")


@pytest.mark.skipif(not FULL, reason="long: full mode")
def test_quick_conformance(library):
    command = [BUILD / "bin/tw-conformance", *CHIP, "--device", device(library), "--quick", "--json", "--timeout=600"]
    result = subprocess.run(command, capture_output=True, text=True)
    report = json.loads(result.stdout)
    bad = [case for case in report["cases"] if case["status"] not in ("passed", "skipped")]
    assert not bad and result.returncode == 0, bad[:5]
    assert sum(case["status"] == "passed" for case in report["cases"]) >= 200
