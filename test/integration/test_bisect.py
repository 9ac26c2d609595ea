"""tw-bisect: mistakes that test/plugins/Planted.cpp makes in a pass are found, by their pass, and leave a program of a few lines
that fails alone; the session of docs/bisect.md as it stands there; messages. CI takes some mistakes, the full mode all."""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys

import pytest

from conftest import BUILD, FULL, SOURCE
from page_sessions import run_session

PLANTED = BUILD / "test/plugins/planted/libtilewright-target-planted.so"
ACCELERATOR = BUILD / "lib/tilewright/libtilewright-target-accelerator.so"
PAGE = SOURCE / "docs/bisect.md"

#: A product, a bias, a function and a row sum, of sizes that are no multiples.
PROGRAM = """func.func @chain(%a: tensor<48x40xf32>, %b: tensor<40x33xf32>, %c: tensor<48x33xf32>) -> (tensor<48x33xf32>, tensor<48xf32>) {
  %z = arith.constant 0.0 : f32
  %h = arith.constant dense<0.5> : tensor<48x33xf32>
  %e = tensor.empty() : tensor<48x33xf32>
  %f = linalg.fill ins(%z : f32) outs(%e : tensor<48x33xf32>) -> tensor<48x33xf32>
  %m = linalg.matmul ins(%a, %b : tensor<48x40xf32>, tensor<40x33xf32>) outs(%f : tensor<48x33xf32>) -> tensor<48x33xf32>
  %s = arith.addf %m, %c : tensor<48x33xf32>
  %t = arith.mulf %s, %h : tensor<48x33xf32>
  %x = math.exp %t : tensor<48x33xf32>
  %e1 = tensor.empty() : tensor<48xf32>
  %f1 = linalg.fill ins(%z : f32) outs(%e1 : tensor<48xf32>) -> tensor<48xf32>
  %r = linalg.reduce { arith.addf } ins(%x : tensor<48x33xf32>) outs(%f1 : tensor<48xf32>) dimensions = [1]
  return %x, %r : tensor<48x33xf32>, tensor<48xf32>
}
"""
HOST, EXEC = [], [f"--device=exec:{sys.executable} {SOURCE / 'test/integration/exec_device.py'}"]
NVIDIA, AMD = (["--device=emulator", f"--target={chip}"] for chip in ("nvidia:A100", "amd:MI300X"))
NPU = ["--device=emulator", f"--load-target={ACCELERATOR}", "--target=accelerator:npu"]

#: The mistake, where it runs, the stage, and how it shows.
FAULTS = [
    ("fuse-elementwise:scale", HOST, "import", "wrong result"),
    ("fold-views:offset", HOST, "affine", "wrong result"),
    ("fuse-nests:sub", HOST, "optimise", "wrong result"),
    ("vectorize-nests:sub", HOST, "optimise", "wrong result"),
    ("plan-workspace:crash", HOST, "lower", "crash"),
    ("expand-math:scale", HOST, "lower", "wrong result"),
    ("convert-linalg-to-affine-loops:offset", EXEC, "affine", "wrong result"),
    ("map-contractions:drop=tile.wait", NVIDIA, "optimise", "finding of the emulator"),
    ("distribute-lanes:dropall=nvvm.barrier0", NVIDIA, "lower", "finding of the emulator"),
    ("map-row-programs-to-lanes:hang", AMD, "optimise", "time-out"),
    ("lower-tile-to-engines:drop=func.call", NPU, "lower", "finding of the emulator"),
]
#: Those that CI takes.
SOME = ("plan-workspace", "distribute-lanes")


def bisect(folder, fault, *arguments):
    environment = dict(os.environ, TILEWRIGHT_PLANT=fault)
    return subprocess.run([BUILD / "bin/tw-bisect", f"--load-target={PLANTED}", *map(str, arguments)], cwd=folder, env=environment,
                          capture_output=True, text=True, timeout=300)


@pytest.mark.parametrize("fault, place, stage, verdict", FAULTS, ids=[fault[0] for fault in FAULTS])
def test_planted_mistake_is_found(tmp_path, fault, place, stage, verdict):
    name = fault.split(":")[0]
    if name not in SOME and not FULL:
        pytest.skip("in the full mode")
    (tmp_path / "chain.mlir").write_text(PROGRAM)
    limit = ["--limit=5"] if verdict == "time-out" else []
    done = bisect(tmp_path, fault, "chain.mlir", *place, *limit, "-o", "small.mlir", "--json")
    assert done.returncode == 2, done.stdout + done.stderr
    report = json.loads(done.stdout)
    assert (report["pass"], report["stage"]) == (name, stage)
    # A kernel of the scratchpad chip that reads what nobody wrote may also end the emulator's process.
    assert report["verdict"] == verdict or (place == NPU and report["verdict"] == "crash")
    assert name in [step["pass"] for step in report["suspects"]] and len(report["suspects"]) <= 4
    reproducer = report["reproducer"]
    assert reproducer["fails_alone"] and reproducer["lines"] < 30 and report["seconds"] <= 120
    assert len((tmp_path / "small.mlir").read_text().splitlines()) == reproducer["lines"]
    if report["verdict"] == "finding of the emulator":
        assert re.search(r"lane \d+ of block", report["message"])
    if verdict == "wrong result":
        element = report["element"]
        assert element["wrong"] > 0 and element["got"] != element["expected"]

    # The command of the reproducer shows it, and shows nothing without the mistake.
    command = [BUILD / "bin" / word if word.startswith("tw-") else word for word in shlex.split(reproducer["command"])]
    for plant, fails in ((fault, True), ("", False)):
        environment = dict(os.environ, TILEWRIGHT_PLANT=plant)
        again = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=300)
        assert (again.returncode != 0) == fails, again.stdout + again.stderr


def test_mistake_of_the_device_is_none_of_a_pass(tmp_path):
    (tmp_path / "sum.mlir").write_text("""func.func @sum(%a: tensor<8xi32>, %b: tensor<8xi32>) -> tensor<8xi32> {
  %s = arith.addi %a, %b : tensor<8xi32>
  return %s : tensor<8xi32>
}
""")
    done = bisect(tmp_path, "", "sum.mlir", EXEC[0] + " --fault wrong", "--budget=0", "--json")
    report = json.loads(done.stdout)
    assert done.returncode == 2 and (report["verdict"], report["stage"], report["suspects"]) == ("wrong result", "emit", [])


def test_session_of_the_page(tmp_path):
    shutil.copy(SOURCE / "examples/c-program/mlp.mlir", tmp_path / "mlp.mlir")
    (tmp_path / "planted.so").symlink_to(PLANTED)
    run_session(PAGE, tmp_path, 4)


@pytest.mark.parametrize("arguments, message", [
    (["--device=moon"], "unknown device 'moon'; expected host, emulator, model or exec:PROG"),
    (["--limit=0"], "--limit expects a positive number of seconds"),
    (["--input=none.npy"], "none.npy"),
    (["--target=nowhere"], "unknown target 'nowhere'"),
])
def test_bad_input_is_told(tmp_path, arguments, message):
    (tmp_path / "chain.mlir").write_text(PROGRAM)
    done = bisect(tmp_path, "", "chain.mlir", *arguments)
    assert done.returncode == 1 and message in done.stderr and done.stdout == "", done.stderr
