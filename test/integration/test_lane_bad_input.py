"""What goes wrong on SIMT targets: a missing unit, too little scratchpad, a faulty kernel. One message, and a correct
result where there is one. What the runtime library refuses: test_runtime.py."""

import json
import subprocess

import pytest

from conftest import BUILD
from lane_texts import product

FAULTS = BUILD / "test/plugins/faults/libtilewright-target-faults.so"


def run(path, *words):
    done = subprocess.run([str(BUILD / "bin" / "tw-run"), str(path), "--device", "emulator", "--verify", *words], text=True,
                          capture_output=True, timeout=300)
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize("chip, kind, force, message", [
    ("nvidia:T4", "bf16", None, "no unit of the chip computes these element types"),
    ("nvidia:T4", "f16", "block_m=256,block_n=128,block_k=64",
     "the forced tile (block_m = 256, block_n = 128, block_k = 64) needs 98304 bytes of the scratchpad; a block has 65536"),
    ("amd:MI300X", "f16", "block_m=48", "the forced plan (block_m = 48) is none that units of the chip can take")])
def test_falls_back_and_says_so(chip, kind, force, message, tmp_path):
    path = tmp_path / "mm.mlir"
    text = product(kind, 256, 128, 64)
    path.write_text(f'module attributes {{tilewright.force = "{force}"}} {{\n{text}}}\n' if force else text)
    status, out, errors = run(path, "--target", chip)
    assert status == 0, out + errors
    assert errors.count("remark: ") == 1 and f"contraction is not mapped to a matrix unit: {message}" in errors, errors
    assert "verify: output 0: largest error" in out


@pytest.mark.parametrize("fault, kind", [("missing-wait", "missing-wait"), ("missing-barrier", "race")])
def test_findings_make_the_run_fail(fault, kind, tmp_path):
    """Status 3, or 3 with the 2 of a wrong result; each finding names kernel, op and place."""
    if not FAULTS.exists():
        pytest.skip("the plugins of the tests were not built")
    path = tmp_path / "mm.mlir"
    path.write_text(product("f16", 128, 128, 128))
    words = ["--load-target", str(FAULTS), "--target", f"faults:{fault}"]
    status, out, errors = run(path, *words)
    assert status in (3, 3 | 2), out + errors
    assert f"{path}:" in errors and f": {kind}: kernel f_launch_0, " in errors, errors
    status, out, _ = run(path, *words, "--json")
    findings = json.loads(out)["emulation"]["findings"]
    assert status in (3, 3 | 2) and findings and any(each["kind"] == kind for each in findings), findings
    status, out, errors = run(path, "--load-target", str(FAULTS), "--target", "faults:sound-a100")
    assert status == 0 and not errors, errors
