"""One more multiplying instruction of AMD or NVIDIA is one record: nothing of the compiler is built again for it.

A copy of the target is built against the installation, with a record that the tree does not have, in place of all other units for
its element type. The installed compiler takes it, the installed emulator executes it, and its layout is that of an outside table."""

import csv
import re
import shutil

import pytest

from conftest import FULL, SOURCE
from kit import RELEASE, precompiled, prefix, run  # noqa: F401, two of them fixtures

PROJECT = """cmake_minimum_required(VERSION 3.25)
project(More LANGUAGES C CXX)
find_package(Tilewright REQUIRED)
include_directories(${{PROJECT_SOURCE_DIR}})
set(TILEWRIGHT_INCLUDE_TD ${{TILEWRIGHT_INCLUDE_TD}} -I ${{PROJECT_SOURCE_DIR}})
add_subdirectory(targets/{vendor})
"""

AMD = """def mfma_cdna2_32x32x4_bf16_f32 : Mfma<32, 4, bf16, bf16, f32, 64, "f32.32x32x4bf16"> {
  let a = Carried<bf16, MfmaA<32, 2>, "i16">;
  let b = Carried<bf16, MfmaB<32, 2>, "i16">;
}
"""
NVIDIA = """def mma_m16n8k8_bf16_f32 : Mma<16, 8, bf16, bf16, f32, 2, 4, "bf16">;
"""

#: Vendor and chip; the record and the line of MatrixUnits.td that it stands before; its name in the chip's list in place of others;
#: what code of the kind that LLVM writes has for it; the instruction of test/unit/MatrixOracles.csv whose layouts it has.
CASES = [
    ("amd", "MI250", AMD, "def mfma_16x16_f64_f64 ", "mfma_cdna2_32x32x4_bf16_f32",
     r"mfma_cdna2_16x16_bf16_f32,\s+mfma_cdna2_32x32_bf16_f32", "s", "v_mfma_f32_32x32x4", "cdna2 v_mfma_f32_32x32x4bf16"),
    ("nvidia", "A100", NVIDIA, "def mma_m16n8k4_tf32_f32 ", "mma_m16n8k8_bf16_f32", r"mma_m16n8k16_bf16_f32", "ptx",
     "mma.sync.aligned.m16n8k8.row.col.f32.bf16.bf16.f32", "mma.m16n8k8.row.col.f32.f16.f16.f32"),
][:2 if FULL else 1]  # AMD alone in CI

PRODUCT = """func.func @mm(%a: tensor<70x36xbf16>, %b: tensor<36x50xbf16>) -> tensor<70x50xf32> {
  %z = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<70x50xf32>
  %f = linalg.fill ins(%z : f32) outs(%e : tensor<70x50xf32>) -> tensor<70x50xf32>
  %r = linalg.matmul ins(%a, %b : tensor<70x36xbf16>, tensor<36x50xbf16>) outs(%f : tensor<70x50xf32>) -> tensor<70x50xf32>
  return %r : tensor<70x50xf32>
}
"""


def copied(vendor, folder, record, before, name, listed):
    """A copy of targets/VENDOR below `folder` under another name, since the tools have this one, with one more record."""
    target = f"{vendor}more"
    shutil.copytree(SOURCE / "targets" / vendor, folder / "targets" / vendor)
    for path in (folder / "targets" / vendor).iterdir():
        text = path.read_text()
        if path.suffix in (".cpp", ".h", ".txt"):
            text = re.sub(rf"\b{vendor}(?=::)|(?<=::){vendor}\b", target, text)
            text = re.sub(rf'TableTarget\("{vendor}"|tilewright_target\({vendor}\b|TARGET_PLUGIN\({vendor}\b',
                          lambda found: found.group().replace(vendor, target), text)
        elif path.name == "MatrixUnits.td":
            assert text.count(before) == 1
            text = text.replace(before, record + before)
        elif path.name == "Chips.td":
            text, count = re.subn(listed, name, text)
            assert count >= 1
        path.write_text(text)
    (folder / "CMakeLists.txt").write_text(PROJECT.format(vendor=vendor))
    return target


def bases_of(drawn):
    """Of lanes and of elements as `tw-targets --draw` prints them, in the words of MatrixOracles.csv."""
    return [" ".join(f"{row}:{col}" for row, col in re.findall(rf"{what} bit \d+ \((\d+), (\d+)\)", drawn)) or "-"
            for what in ("lane", "element")]


@pytest.mark.parametrize("vendor, chip, record, before, name, listed, kind, written, outside", CASES, ids=[case[0] for case in CASES])
def test_one_more_record(prefix, precompiled, tmp_path, vendor, chip, record, before, name, listed, kind, written, outside):
    target = copied(vendor, tmp_path, record, before, name, listed)
    # The target's files as one: reading MLIR's headers takes longer than all else, and each file would.
    run("cmake", "-B", tmp_path / "build", *RELEASE, f"-DCMAKE_PREFIX_PATH={prefix}", "-DCMAKE_UNITY_BUILD=ON", "-S", tmp_path,
        env=precompiled)
    run("cmake", "--build", tmp_path / "build", "--parallel", "2", timeout=600)
    plugin = next((tmp_path / "build").rglob(f"libtilewright-target-{target}.so"))
    chosen = [f"--load-target={plugin}", "--target", f"{target}:{chip}"]
    program, code = tmp_path / "mm.mlir", tmp_path / f"mm.{kind}"
    program.write_text(PRODUCT)
    assert f"{target}.{name}" in run(prefix / "bin/tw-compile", program, *chosen, "--explain", "-o", code)
    assert re.search(written, code.read_text())
    report = run(prefix / "bin/tw-run", program, *chosen, "--device", "emulator", "--modes", "--verify")
    assert "largest error" in report, report
    report = run(prefix / "bin/tw-conformance", *chosen, f"--filter=unit/*{name}*")
    assert re.search(r"[1-9]\d* passed, 0 failed", report), report
    with open(SOURCE / "test/unit/MatrixOracles.csv") as file:
        rows = {row[1]: row[2:4] for row in csv.reader(file) if row and row[0] == outside}
    for operand, column in (("a", "A"), ("b", "B"), ("c", "D")):
        drawn = run(prefix / "bin/tw-targets", f"--load-target={plugin}", f"{target}:{chip}", f"--draw={name}:{operand}")
        assert bases_of(drawn) == rows[column], (operand, drawn)
