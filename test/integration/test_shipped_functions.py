# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Instructions unlike all others of the tree, by records alone (examples/power): accumulators that are vectors of bits, read
as four vectors, operands that are pairs of registers, and moves and products that are functions beside the records. On this
machine, by the functional models, and under the emulator of the processor."""

import json
import pathlib
import re
import shutil
import subprocess

import pytest

from conftest import BUILD, FULL, SOURCE

RECORDS = SOURCE / "examples/power"
PLUGIN = BUILD / "test/plugins/power/libtilewright-target-power.so"
SYSROOT = pathlib.Path("/usr/powerpc64le-linux-gnu")


def conformance(tool, chip, *options):
    """The report of a run in which nothing failed; its cases by name."""
    report = json.loads(tool("tw-conformance", f"--load-target={PLUGIN}", "--target", f"power:{chip}", "--json", *options))
    bad = [(case["name"], case.get("message")) for case in report["cases"] if case["status"] in ("failed", "refused")]
    assert not bad and report["passed"] > 0
    return {case["name"]: case for case in report["cases"]}


def test_functions_run_against_the_model_of_their_unit(tool):
    """Every unit is filled, computed and read by what its records ship, on this machine; programs of all families use them."""
    cases = conformance(tool, "here", "--device", "host", *([] if FULL else ["--filter=unit/*", "--filter=contraction/matmul/*f*/33x47x29/*"]))
    units = [case for name, case in cases.items() if name.startswith("unit/")]
    assert len(units) == 15 and all(case["status"] == "passed" for case in units)


def test_accumulators_that_cannot_be_filled(tool):
    """Products that are added to an array begin with zeros."""
    cases = conformance(tool, "out", "--device", "host", "--filter=contraction/matmul/f32*-accumulate", "--filter=unit/*outer_out*")
    assert [case["status"] for name, case in cases.items() if name.endswith("-accumulate")] == ["passed"] * 2
    assert cases["unit/power.outer_out/f32.f32.f32/4x4x1/run"]["status"] == "skipped"


@pytest.mark.parametrize("chip", ("here", "power10", "calls"))
def test_models_stand_for_functions(tool, chip):
    """With --device model no function of a record goes to the code generator of the host, whatever it calls."""
    cases = conformance(tool, chip, "--device", "model", *([] if FULL else ["--filter=contraction/matmul/*f*/7x13x5/*"]))
    assert any(case["status"] == "passed" for case in cases.values())


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """The device of examples/device-server, for this processor."""
    if not shutil.which("qemu-ppc64le") or not (SYSROOT / "lib/crt1.o").exists():
        pytest.skip("needs the packages qemu-user and libc6-dev-ppc64el-cross")
    path = tmp_path_factory.mktemp("power") / "device"
    subprocess.run([SOURCE / "examples/device-server/build.sh", path, "powerpc64le"], check=True)
    return path


def test_instructions_under_the_emulator_of_the_processor(tool, server):
    some = ["--filter=unit/*", "--filter=contraction/matmul/*/nn", "--filter=epilogue/*"]
    cases = conformance(tool, "power10", "--device", f"exec:qemu-ppc64le -L {SYSROOT} -cpu power10 {server}",
                        *([] if FULL else some))
    run = [name for name, case in cases.items() if re.match(r"unit/.*/run$", name) and case["status"] == "passed"]
    assert len(run) == 8


def product(folder, kind, sums):
    """A program with one product of 24 x 32 x 40."""
    path = folder / f"{kind}.mlir"
    path.write_text(f"""func.func @product(%A: tensor<24x40x{kind}>, %B: tensor<40x32x{kind}>) -> tensor<24x32x{sums}> {{
  %zero = arith.constant 0.0 : {sums}
  %empty = tensor.empty() : tensor<24x32x{sums}>
  %init = linalg.fill ins(%zero : {sums}) outs(%empty : tensor<24x32x{sums}>) -> tensor<24x32x{sums}>
  %r = linalg.matmul ins(%A, %B : tensor<24x40x{kind}>, tensor<40x32x{kind}>)
      outs(%init : tensor<24x32x{sums}>) -> tensor<24x32x{sums}>
  return %r : tensor<24x32x{sums}>
}}
""")
    return path


def candidates(tool, folder, chip, kind, sums):
    """What --explain=json says of the plans of that product."""
    text = tool("tw-compile", product(folder, kind, sums), f"--load-target={PLUGIN}", f"--target=power:{chip}", "--explain=json",
                "-o", folder / "product.ll")
    found = []

    def visit(value):
        if isinstance(value, dict):
            found.extend([value] if "vectors" in value and "rows" in value else [])
            value = list(value.values())
        for each in value if isinstance(value, list) else ():
            visit(each)

    visit(json.loads(text))
    return found


def test_programs_use_the_unit(tool, tmp_path):
    """Accumulators stay in registers: set to zero once, no function is called, and results leave by one intrinsic."""
    tool("tw-compile", product(tmp_path, "f64", "f64"), f"--load-target={PLUGIN}", "--target=power:power10", "-o",
         tmp_path / "product.o")
    code = subprocess.run(["/usr/lib/llvm-22/bin/llvm-objdump", "-d", "--mcpu=pwr10", tmp_path / "product.o"],
                          capture_output=True, text=True, check=True).stdout
    assert all(instruction in code for instruction in ("xvf64gerpp", "xxsetaccz", "xxmfacc")) and "update_f64" not in code


def test_accumulators_share_the_file_of_vectors(tool, tmp_path):
    """An accumulator covers four registers of the file: plans count them beside those of the operands."""
    def registers(chip):
        plans = candidates(tool, tmp_path, chip, "f32", "f32")
        assert len(plans) > 4 and all(plan["unit"] == "power.xvf32gerpp" for plan in plans)
        assert max(plan["rows"] * plan["vectors"] for plan in plans) <= 8
        return max(4 * plan["rows"] * plan["vectors"] + plan["vectors"] + 1 for plan in plans)

    assert registers("narrow") <= 36 < registers("power10") <= 64


def test_registers_that_move_whole_rows_are_packed(tool, tmp_path):
    """The register of A holds four rows of two elements side by side, as no row-major array does."""
    plans = [plan for plan in candidates(tool, tmp_path, "here", "f16", "f32") if plan["unit"] == "power.outer_factors"]
    assert plans and all(plan["pack_scalars"] for plan in plans)
    tool("tw-run", product(tmp_path, "f16", "f32"), f"--load-target={PLUGIN}", "--target=power:here", "--verify")


def test_records_and_functions_are_short():
    """At most 15 lines a record, 20 lines a function, none of core."""
    records = re.findall(r"^(?:class|def) (?:[^\n{]*;$|[^\n]*\}$|.*?^\})", (RECORDS / "MatrixUnits.td").read_text(), re.M | re.S)
    functions = [each for name in ("update.ll", "rows.ll", "rows.mlir")
                 for each in re.findall(r"^(?:define|llvm\.func) .*?^\}", (RECORDS / name).read_text(), re.M | re.S)]
    assert len(records) == len(re.findall(r"^(?:class|def) ", (RECORDS / "MatrixUnits.td").read_text(), re.M))
    assert 7 <= max(len(each.splitlines()) for each in records) <= 15
    assert len(functions) > 8 and max(len(each.splitlines()) for each in functions) <= 20
    named = re.compile(r"\b(?:power10|llvm\.ppc|xv\w+ger\w*|xxsetaccz)", re.I)
    assert not [path for path in (SOURCE / "core").rglob("*.*") if path.is_file() and named.search(path.read_text(errors="replace"))]


def test_the_page_shows_what_is_tested():
    """The records and the function of docs/chip-description.md are those of the target of the tests, but for comments."""
    page = (SOURCE / "docs/chip-description.md").read_text()
    page = page[page.index("### Moves of registers"):page.index("## What is checked")]
    blocks = re.findall(r"^```(?:tablegen|llvm)\n(.*?)^```", page, re.M | re.S)
    tested = "".join((RECORDS / name).read_text() for name in ("MatrixUnits.td", "update.ll"))
    bare = {re.sub(r" *//.*| */\*.*?\*/", "", line).strip() for line in tested.splitlines()}
    shown = [re.sub(r" *//.*| */\*.*?\*/", "", line).strip() for block in blocks for line in block.splitlines()]
    assert len(blocks) == 3 and not [line for line in shown if line not in bare]
