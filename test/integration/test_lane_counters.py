"""What the emulator counts for compiled kernels: no bank conflicts, whole sectors, and what the cost model predicted."""

import re
import subprocess

import pytest

from conftest import BUILD, FULL, SOURCE
from lanes import emulate, kernels, with_chips


def product(kind, m, n, k, trans_a=False, trans_b=False):
    wide = {"f16": "f32", "bf16": "f32", "i8": "i32"}.get(kind, kind)
    ext, mul, add = ("extsi", "muli", "addi") if kind[0] == "i" else ("extf", "mulf", "addf")
    a, b = (f"{k}x{m}" if trans_a else f"{m}x{k}"), (f"{n}x{k}" if trans_b else f"{k}x{n}")
    widen = "" if wide == kind else f"%xw = arith.{ext} %x : {kind} to {wide}\n%yw = arith.{ext} %y : {kind} to {wide}"
    x, y = ("%x", "%y") if wide == kind else ("%xw", "%yw")
    return f"""
    func.func @mm(%a: tensor<{a}x{kind}>, %b: tensor<{b}x{kind}>) -> tensor<{m}x{n}x{wide}> {{
      %z = arith.constant {"0" if kind[0] == "i" else "0.0"} : {wide}
      %e = tensor.empty() : tensor<{m}x{n}x{wide}>
      %f = linalg.fill ins(%z : {wide}) outs(%e : tensor<{m}x{n}x{wide}>) -> tensor<{m}x{n}x{wide}>
      %r = linalg.generic {{indexing_maps = [affine_map<(i, j, k) -> ({"k, i" if trans_a else "i, k"})>,
          affine_map<(i, j, k) -> ({"j, k" if trans_b else "k, j"})>, affine_map<(i, j, k) -> (i, j)>],
          iterator_types = ["parallel", "parallel", "reduction"]}}
          ins(%a, %b : tensor<{a}x{kind}>, tensor<{b}x{kind}>) outs(%f : tensor<{m}x{n}x{wide}>) {{
        ^bb0(%x: {kind}, %y: {kind}, %s: {wide}):
          {widen}
          %p = arith.{mul} {x}, {y} : {wide}
          %t = arith.{add} %s, %p : {wide}
          linalg.yield %t : {wide}
      }} -> tensor<{m}x{n}x{wide}>
      return %r : tensor<{m}x{n}x{wide}>
    }}"""


def memory(kernel, name):
    return next(m for m in kernel["memories"] if (m["memory"] == "global") == (name == "global"))


#: Type and transpositions; all of them in the full mode.
PRODUCTS = [("f16", False, False), ("f16", False, True), ("bf16", True, False), ("i8", False, True), ("f32", False, False)]
if FULL:
    PRODUCTS = [(kind, a, b) for kind in ("f16", "bf16", "i8", "f32", "f64") for a in (False, True) for b in (False, True)]


@pytest.mark.parametrize("chip, case", with_chips(PRODUCTS, each=2))
def test_product(chip, case, tool, tmp_path):
    kind, trans_a, trans_b = case
    path = tmp_path / "mm.mlir"
    path.write_text(product(kind, 128, 128, 128, trans_a, trans_b))
    report = emulate(tool, path, chip)
    kernel = next(k for k in kernels(report) if "predicted" in k)
    predicted = kernel["predicted"]
    pad, far = memory(kernel, "scratchpad"), memory(kernel, "global")
    assert pad["conflict_cycles"] == 0, [s for s in kernel["sites"] if s.get("conflict_cycles")]
    # Copies take whole sectors of global memory.
    copies = [s for s in kernel["sites"] if s["memory"] == "global" and not s["writes"]]
    assert sum(s["transactions"] for s in copies) * 32 <= 1.05 * sum(s["bytes"] for s in copies)
    # The cost model's counts.
    assert far["read_bytes"] == pytest.approx(predicted["global_read_bytes"], rel=0.05)
    assert pad["written_bytes"] == pytest.approx(predicted["scratchpad_written_bytes"], rel=0.05)
    assert kernel["blocks"] == predicted["blocks"]
    units = kernel["units"]
    assert [u["unit"] for u in units] == [predicted["unit"]]
    assert units[0]["issues"] == predicted["unit_issues"]


def test_the_command_of_the_readme():
    (command,) = re.findall(r"^for chip in .*--device emulator.*$", (SOURCE / "README.md").read_text(), re.M)
    done = subprocess.run(["bash", "-ec", command], capture_output=True, text=True, cwd=SOURCE,
                          env={"PATH": f"{BUILD / 'bin'}:/usr/bin:/bin"})
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("verify: output 0: largest error") == 2
    assert done.stdout.count("predicted: ") == 2
    assert "0 of conflicts" in done.stdout
