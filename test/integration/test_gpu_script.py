"""test/gpu: the artifacts that it compiles and the script that runs them, with the drivers of test/driver in a device's
place."""

import json
import os
import subprocess
import sys

import pytest

from conftest import BUILD, SOURCE
from test_runtime import DRIVERS, LAUNCH, artifact, program

SCRIPT = SOURCE / "test" / "gpu" / "run.py"


def run(folder, *arguments, without=(), expect=0, **variables):
    """Standard output of run.py; `without`: modules that are not installed."""
    hide = "".join(f"sys.modules[{name!r}] = None; " for name in (*without, "torch"))
    environment = {**os.environ, "LD_LIBRARY_PATH": str(DRIVERS), "FAKE_KERNELS": str(DRIVERS / "kernels.so"), **variables}
    result = subprocess.run(
        [sys.executable, "-c", f"import sys, runpy; {hide}sys.argv[0] = 'run.py'; "
         f"runpy.run_path({str(SCRIPT)!r}, run_name='__main__')", str(folder), *map(str, arguments)],
        capture_output=True, text=True, env=environment, timeout=300)
    assert result.returncode == expect, result.stdout + result.stderr
    return result.stdout, result.stderr


@pytest.fixture
def gemms(tmp_path):
    """A folder with two products whose kernels the drivers of the tests run; one is wrong."""
    shapes = []
    for name, m, n, k, entry in (("right", 20, 24, 16, "gemm_f32"), ("wrong", 4, 4, 4, "twice")):
        array = {"type": "f32", "bytes": 4, "written": False, "result": False}
        artifact(tmp_path / f"{name}.tw", [program(
            sizes=0, temporaries=[],
            arguments=[{**array, "shape": [m, k]}, {**array, "shape": [k, n]},
                       {**array, "shape": [m, n], "written": True, "result": True}],
            launches=[{"kernel": entry, "threads": 32, "scratchpad": 0, "grid": [1, 1, 1],
                       "arguments": [{"array": 0}, {"array": 1 if entry == "gemm_f32" else 2}, {"array": 2}]
                       + [{"value": value} for value in (m, n, k)]}])])
        shapes.append({"name": name, "kind": "gemm", "type": "f32", "m": m, "n": n, "k": k})
    shapes[1:] = [shapes[1], {**shapes[1], "name": "missing"}]
    (tmp_path / "index.json").write_text(json.dumps(shapes))
    return tmp_path


@pytest.mark.parametrize("without", [(), ("numpy",)])
def test_results_are_checked_and_shown(gemms, without):
    out, _ = run(gemms, "--launch", LAUNCH, "--only", "right", "--json", gemms / "out.json", without=without)
    lines = out.splitlines()
    assert lines[0].split() == ["program", "us", "speed", "error/tol.", "libraries", "us", "torch.compile", "us", "of",
                                "the", "best"]
    assert lines[1].split()[:2] == ["right", "1000.0"] and "WRONG" not in lines[1]
    assert lines[2] == "PyTorch is not installed or sees no device: no columns of libraries"
    record = json.loads((gemms / "out.json").read_text())[0]
    assert 0 < record["error_over_tolerance"] < 0.1 and abs(record["seconds"] - 1e-3) < 1e-6
    out, errors = run(gemms, "--launch", LAUNCH, without=without, expect=2)
    assert "WRONG" in out.splitlines()[2] and out.splitlines()[3].split() == ["missing", "failed"]
    assert errors == "missing: was not compiled\n"


def test_failures_are_told(gemms):
    _, errors = run(gemms, "--launch", LAUNCH, "--only", "right", expect=1, FAKE_ARCHITECTURE="80")
    assert errors == "right: the artifact's cubin is for sm_90a, which Fake GPU (sm_80) does not run: compile for its chip\n"


def test_artifacts_are_made_and_loaded(tmp_path):
    """From the script that compiles to the script that runs. Nothing computes: every result is reported as wrong."""
    made = subprocess.run([str(SOURCE / "test/gpu/make-artifacts.sh"), str(tmp_path), "--small", "nvidia:A100", "amd:MI300X"],
                          capture_output=True, text=True, env={**os.environ, "TILEWRIGHT_BUILD": str(BUILD)}, timeout=600)
    assert made.returncode == 0, made.stdout + made.stderr
    for chip, architecture in (("nvidia-A100", "80"), ("amd-MI300X", "gfx942")):
        folder = tmp_path / chip
        names = [shape["name"] for shape in json.loads((folder / "index.json").read_text())]
        assert names == ["gemm-f16-64x128x64", "gemm-bias-relu-bf16-128x64x64", "softmax-f32-8x64", "layernorm-f32-8x64"]
        out, errors = run(folder, expect=2, FAKE_ARCHITECTURE=architecture)
        assert errors == "" and [line.split()[0] for line in out.splitlines()[1:5]] == names
