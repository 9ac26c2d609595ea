# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""tw-calibrate: fields of records that kernels measure, on emulators and RTL whose numbers were changed."""

import json
import shutil
import subprocess
import sys

import pytest

from conftest import BUILD, FULL, SOURCE
from page_sessions import run_session

PLUGIN = BUILD / "lib/tilewright/libtilewright-target-accelerator.so"
CHIP = [f"--load-target={PLUGIN}", "--target", "accelerator:npu"]
EXAMPLE = SOURCE / "examples/npu-rtl"
PAGE = SOURCE / "docs/calibrate.md"


def fields(tool, device, *arguments):
    report = json.loads(tool("tw-calibrate", *CHIP, "--device", device, "--json", *arguments))
    return {field["field"]: field for field in report["fields"]}, report["programs"]


def check(found, changed):
    for path, value in changed.items():
        assert abs(found[path]["measured"] - value) <= 0.05 * value, found[path]
    other = [path for path, field in found.items() if field["differs"] and path not in changed]
    assert not other, other


def test_session_of_the_page(tmp_path):
    shutil.copy(SOURCE / "templates/accelerator/test/layer.mlir", tmp_path / "layer.mlir")
    shutil.copy(SOURCE / "examples/mlp-f32.mlir", tmp_path / "mlp.mlir")
    run_session(PAGE, tmp_path, 4, TILEWRIGHT_TARGET_PATH=PLUGIN.parent, TILEWRIGHT_MEASURED=tmp_path / "measured")


def test_an_emulator_with_the_records_numbers_agrees(tool):
    found, programs = fields(tool, "emulator", EXAMPLE / "programs/gemm-i8-64.mlir")
    assert len(found) >= 20
    check(found, {})
    assert programs[0]["explained_by"] == "" and programs[0]["calibrated_seconds"] == programs[0]["predicted_seconds"]


def test_changed_numbers_of_an_emulator_are_found(tool):
    changed = {"copies.DmaIn.latency": 150, "copies.DmaIn.bytesPerClock": 16, "copies.DmaIn.queueDepth": 4,
               "copies.DmaOut.latency": 60, "copies.DmaOut.bytesPerClock": 64, "copies.LoadStore.latency": 40,
               "copies.LoadStore.bytesPerClock": 16, "units.systolic_i8.loadStationary": 16, "units.systolic_i8.issue": 40,
               "units.systolic_bf16.latency": 120, "units.systolic_bf16.queueDepth": 5, "memories.scratchpad.banks": 8}
    found, _ = fields(tool, "emulator@" + ",".join(f"{path}={value}" for path, value in changed.items()))
    check(found, changed)


@pytest.mark.skipif(not FULL or not shutil.which("verilator"), reason="long: full mode, where verilator is installed")
def test_changed_parameters_of_the_rtl_are_found(tool, tmp_path):
    parameters = {"DMA_BYTES": 16, "DMA_LATENCY": 150, "OUT_BYTES": 64, "OUT_LATENCY": 60, "CORE_BYTES": 16, "CORE_LATENCY": 40,
                  "LOAD_BYTES": 64, "BANKS": 8, "QUEUE": 4}
    subprocess.run([EXAMPLE / "build.sh", tmp_path, *(f"-G{name}={value}" for name, value in parameters.items())], check=True)
    device = f"exec:{sys.executable} {EXAMPLE / 'device.py'} {tmp_path / 'libnpu.so'}"
    found, programs = fields(tool, device, EXAMPLE / "programs/gemm-i8-odd.mlir")
    check(found, {"copies.DmaIn.bytesPerClock": 16, "copies.DmaIn.latency": 150, "copies.DmaIn.queueDepth": 4,
                  "copies.DmaOut.bytesPerClock": 64, "copies.DmaOut.latency": 60, "copies.DmaOut.queueDepth": 4,
                  "copies.LoadStore.bytesPerClock": 16, "copies.LoadStore.latency": 40,
                  "units.systolic_i8.loadStationary": 16, "units.systolic_bf16.loadStationary": 32,
                  "units.systolic_i8.queueDepth": 4, "units.systolic_bf16.queueDepth": 4, "memories.scratchpad.banks": 8})
    assert programs[0]["explained_by"] == "copies.LoadStore.latency"


def product(m, n, k):
    a, b, c = f"tensor<{m}x{k}xf32>", f"tensor<{k}x{n}xf32>", f"tensor<{m}x{n}xf32>"
    return f"""func.func @compute(%A: {a}, %B: {b}) -> {c} {{
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : {c}
  %init = linalg.fill ins(%zero : f32) outs(%empty : {c}) -> {c}
  %r = linalg.matmul ins(%A, %B : {a}, {b}) outs(%init : {c}) -> {c}
  return %r : {c}
}}
"""


def plan_of(tool, folder, text, chip):
    """The plan of a program with one product."""
    (folder / "product.mlir").write_text(text)
    words = tool("tw-compile", folder / "product.mlir", "--target", chip, "-o", folder / "product.o", "--explain=json")
    decisions, _ = json.JSONDecoder().raw_decode(words, words.index("["))
    return next(one["choice"] for one in decisions if one["decision"] == "contraction")


#: Fields that decide how a product of two matrices runs.
FIELDS = ["lanes_on", "rows", "vectors", "k_block", "row_block", "lane_block", "k_unroll", "pack_vectors", "pack_scalars", "rows_outside",
          "prefetch_panels", "prefetch_result"]


@pytest.mark.parametrize("shape", [(64, 64, 64), (509, 509, 509), (128, 768, 3072), (128, 3072, 768), (16, 4096, 4096), (1024, 1024, 16)])
def test_plans_without_the_familys_table(tool, tmp_path, monkeypatch, shape):
    """What the machine says of itself leads to plans that the family's table finds nearly as fast as its own. A Zen 4 alone has been compared."""
    monkeypatch.setenv("TILEWRIGHT_RATES", str(tmp_path / "none.json"))
    if "rates of zen4" not in tool("tw-targets"):
        pytest.skip("this machine is no Zen 4")
    text = product(*shape)
    own, generic = (plan_of(tool, tmp_path, text, chip) for chip in ("cpu:host", "cpu:host-generic"))
    forced = ",".join(f"{field}={int(generic[field]) if not isinstance(generic[field], str) else generic[field]}" for field in FIELDS)
    by_table = plan_of(tool, tmp_path, f'module attributes {{tilewright.force = "{forced}"}} {{\n{text}}}\n', "cpu:host")
    assert by_table["seconds"] <= 1.10 * own["seconds"], (own, generic)


@pytest.mark.parametrize("options, message", [
    (["--device", "emulator@copies.DmaIn.latncy=1"], "did you mean 'latency'?"),
    (["--device", "board"], "unknown device 'board'; expected host, emulator, emulator@PATH=VALUE,.. or exec:PROG"),
    (["--device", "emulator@clockMHz=900", "x.mlir"], "an emulator with other numbers runs kernels and no programs"),
    (["--device", "exec:true", "--timeout", "0"], "--timeout expects a positive number of seconds"),
])
def test_messages(options, message):
    done = subprocess.run([BUILD / "bin/tw-calibrate", *CHIP, *options], capture_output=True, text=True, timeout=300)
    assert done.returncode == 1 and message in done.stderr, done.stderr


def test_a_chip_that_was_not_measured(tmp_path):
    done = subprocess.run([BUILD / "bin/tw-targets", f"--load-target={PLUGIN}", "accelerator:npu@measured"], capture_output=True,
                          text=True, timeout=300, env={"TILEWRIGHT_MEASURED": str(tmp_path)})
    assert done.returncode == 1 and "tw-calibrate --target accelerator:npu --save writes it" in done.stderr, done.stderr
