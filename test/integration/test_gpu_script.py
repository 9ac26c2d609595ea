"""test/gpu: the artifacts that it compiles and the script that runs them, with the drivers of test/driver in a device's
place."""

import json
import os
import re
import subprocess
import sys

import numpy
import pytest

from conftest import BUILD, FULL, SOURCE
from artifacts import DRIVERS, LAUNCH, artifact, program

SCRIPT = SOURCE / "test" / "gpu" / "run.py"
#: A PyTorch over the drivers of the tests.
TORCH = SOURCE / "test" / "driver" / "python"
LIBRARY = BUILD / "lib" / "libtilewright-runtime.so"
COLUMNS = "program us speed model us error/tol. libraries us torch.compile us of libraries of the best"


def run(folder, *arguments, without=("torch",), expect=0, **variables):
    """Standard output of run.py; `without`: modules that are not installed."""
    hide = "".join(f"sys.modules[{name!r}] = None; " for name in without)
    hide += f"sys.path[:0] = [{str(SCRIPT.parent)!r}, {str(TORCH)!r}]; "
    environment = {**os.environ, "LD_LIBRARY_PATH": str(DRIVERS), "FAKE_KERNELS": str(DRIVERS / "kernels.so"), **variables}
    result = subprocess.run(
        [sys.executable, "-c", f"import sys, runpy; {hide}sys.argv[0] = 'run.py'; "
         f"runpy.run_path({str(SCRIPT)!r}, run_name='__main__')", str(folder), *map(str, arguments)],
        capture_output=True, text=True, env=environment, timeout=300)
    assert result.returncode == expect, result.stdout + result.stderr
    return result.stdout, result.stderr


TOOLS = ("--launch", LAUNCH, "--library", LIBRARY)


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
                       "arguments": [{"array": 0}, {"array": 1}, {"array": 2}, *({"value": value} for value in (m, n, k))]
                       if entry == "gemm_f32" else [{"array": 0}, {"array": 2}, {"value": m * n}]}])])
        shapes.append({"name": name, "kind": "gemm", "type": "f32", "m": m, "n": n, "k": k})
    shapes[1:] = [shapes[1], {**shapes[1], "name": "missing"}]
    (tmp_path / "index.json").write_text(json.dumps(shapes))
    return tmp_path


@pytest.mark.parametrize("without", [("torch",), ("torch", "numpy")])
def test_results_are_checked_and_shown(gemms, without):
    out, _ = run(gemms, *TOOLS, "--only", "right", "--json", gemms / "out.json", without=without)
    machine, *lines = out.splitlines()
    assert re.fullmatch(r"device: Fake GPU, sm_90; driver: .+; libraries: none; date: \d{4}-\d\d-\d\d", machine), machine
    assert lines[0].split() == COLUMNS.split()
    assert lines[1].split()[:2] == ["right", "1000.0"] and "WRONG" not in lines[1]
    assert lines[2] == "PyTorch is not installed or sees no device: no columns of libraries"
    said = json.loads((gemms / "out.json").read_text())
    assert said["machine"]["device"] == "Fake GPU, sm_90"
    record = said["programs"][0]
    assert 0 < record["error_over_tolerance"] < 0.1 and abs(record["seconds"] - 1e-3) < 1e-6
    out, errors = run(gemms, *TOOLS, without=without, expect=2)
    assert "WRONG" in out.splitlines()[3] and out.splitlines()[4].split() == ["missing", "failed"]
    assert errors == "missing: was not compiled\n"


def test_failures_are_told(gemms):
    _, errors = run(gemms, *TOOLS, "--only", "right", expect=1, FAKE_ARCHITECTURE="80")
    assert errors == "right: the artifact's cubin is for sm_90a, which Fake GPU (sm_80) does not run: compile for its chip\n"


def test_libraries_are_measured_in_the_same_process(gemms):
    """The artifact gets PyTorch's addresses and its stream; samples take turns; the mean is over what is right."""
    log = gemms / "log"
    out, errors = run(gemms, *TOOLS, "--only", "right", "--json", gemms / "out.json", "--page", gemms / "page.md", without=(),
                      FAKE_LOG=str(log))
    machine, *lines = out.splitlines()
    assert "libraries: PyTorch 2.0, cuda 13.0" in machine
    page = (gemms / "page.md").read_text()
    assert machine in page and "| right | 1000.0 | 0.00 Tflop/s |" in page and f"- {lines[2]}" in page
    assert lines[1].split() == ["right", "1000.0", "0.00", "Tflop/s", lines[1].split()[4], "900.0", "0.90", "0.90"]
    assert lines[2] == ("products against cuBLASLt or hipBLASLt: geometric mean 0.900 of 1 (goal 0.90), least 0.900 (right)")
    assert errors == "torch.compile: right: no Triton\n"
    launches = [line for line in log.read_text().splitlines() if line.startswith("cuLaunchKernel")]
    assert sum(line.endswith("stream 0x77") for line in launches) >= 10, "PyTorch's stream"
    (record,) = json.loads((gemms / "out.json").read_text())["programs"]
    assert record["peers"] == {"libraries": pytest.approx(9e-4)} and record["seconds"] == pytest.approx(1e-3)
    out, errors = run(gemms, *TOOLS, "--only", "right", "--only", "nothing", "--no-compiler", "--jobs", 2, without=())
    assert errors == "" and "geometric mean 0.900 of 1" in out  # libraries, and nobody asked for Triton
    out, _ = run(gemms, *TOOLS, "--only", "right", "--no-peers", without=())
    assert "geometric mean" not in out and "PyTorch is not" not in out
    # A wrong result is in no mean.
    out, _ = run(gemms, *TOOLS, "--only", "wrong", without=(), expect=2)
    assert "WRONG" in out and "geometric mean" not in out


def test_what_is_missing_is_told(gemms):
    _, errors = run(gemms, "--launch", LAUNCH, expect=2)
    assert "no libtilewright-runtime.so (--library) in FOLDER or on the path; name it" in errors
    _, errors = run(gemms, expect=2, PATH="/nowhere")
    assert "no tw-launch (--launch) in FOLDER or on the path; name it" in errors


def test_binding_calls_the_library(gemms):
    """Each function that the script uses, and the message of a failure; in a process of its own, for the drivers."""
    header = (SOURCE / "core/include/tilewright/tilewright_runtime.h").read_text()
    script = f"""
import sys
sys.path.insert(0, {str(SCRIPT.parent)!r})
import device
library = device.Library({str(LIBRARY)!r})
assert set(device.CALLS) <= set({re.findall(r'TW_API [^;]*?(tw_[a-z_]+)[(]', header)!r})
gpu = device.Device(library, "nvidia:H100")
program = device.Program(gpu, {str(gemms / 'right.tw')!r})
assert [each[:2] for each in program.arguments] == [("f32", (20, 16)), ("f32", (16, 24)), ("f32", (20, 24))], program.arguments
assert [each[2:] for each in program.arguments] == [(1280, False), (1536, False), (1920, True)]
assert program.workspace() == 0 and gpu.name.startswith("Fake GPU")
place = gpu.array(b"abcd")
assert gpu.bytes_of(place, 4) == b"abcd"
call = program.call([gpu.array(bytes(each[2])) for each in program.arguments])
assert abs(gpu.seconds(lambda: [call(), call()]) - 2e-3) < 1e-9
gpu.release(place)
for wrong, says in ((lambda: device.Program(gpu, "nowhere.tw"), "nowhere.tw"), (lambda: program.call([1]), "1 arrays for 3"),
                    (program.call([0, 0, 0]), "null"), (lambda: device.Library("nowhere.so"), "nowhere.so"),
                    (lambda: device.Device(library, "acme:one"), "acme")):
    try:
        wrong()
    except device.Failure as problem:
        assert says in str(problem), problem
    else:
        raise AssertionError(says)
program.close()
gpu.close()
"""
    environment = {**os.environ, "LD_LIBRARY_PATH": str(DRIVERS), "FAKE_KERNELS": str(DRIVERS / "kernels.so")}
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, env=environment, timeout=120)
    assert done.returncode == 0, done.stderr


def make(folder, *words):
    made = subprocess.run([str(SOURCE / "test/gpu/make-artifacts.sh"), str(folder), *words],
                          capture_output=True, text=True, env={**os.environ, "TILEWRIGHT_BUILD": str(BUILD)}, timeout=1800)
    assert made.returncode == 0, made.stdout + made.stderr


def test_artifacts_are_made_and_loaded(tmp_path):
    """From the script that compiles to the script that runs. Nothing computes: every result is reported as wrong."""
    make(tmp_path, "--small", "nvidia:A100", "amd:MI300X")
    for chip, architecture in (("nvidia-A100", "80"), ("amd-MI300X", "gfx942")):
        folder = tmp_path / chip
        names = [shape["name"] for shape in json.loads((folder / "index.json").read_text())]
        assert names == ["gemm-f16-64x128x64", "gemm-bias-relu-bf16-128x64x64", "conv-f16-1x6x6x16-16x3x3-1", "softmax-f32-8x64",
                         "layernorm-f32-8x64", "attention-f16-2x64x32", "attention-f16-2x64x32-causal"]
        out, errors = run(folder, expect=2, FAKE_ARCHITECTURE=architecture)
        assert errors == "" and [line.split()[0] for line in out.splitlines()[2:2 + len(names)]] == names


def choices(folder):
    """Name of a program -> the choice of its contraction."""
    found = {}
    for path in folder.glob("*.json"):
        decisions = json.loads(path.read_text())
        found.update({path.stem: each["choice"] for each in decisions if each.get("decision") == "contraction"})
    return found


@pytest.mark.parametrize("small", [False] if FULL else [True])
def test_experiments_are_what_they_are_called(small, tmp_path):
    """The compiler took the plans that experiments force, for an H200."""
    make(tmp_path, *(["--small"] if small else []), "--experiments", "nvidia:H200")
    folder = tmp_path / "nvidia-H200"
    shapes = {shape["name"]: shape for shape in json.loads((folder / "index.json").read_text())}
    taken = choices(folder)
    forced = {name: dict(field.split("=") for field in shape["force"].split(","))
              for name, shape in shapes.items() if shape.get("force")}
    assert len(forced) >= 12
    for name, fields in forced.items():
        if shapes[name]["group"] == "chains":
            chosen = {each["decision"]: each["choice"] for each in json.loads((folder / f"{name}.json").read_text()) if "choice" in each}
            chain, program = chosen["schedule-chain"], chosen["tile-program"]
            have = {"chain_rows": chain["tile"], "chain_step": chain["step"], "chain_engine": int(bool(program["engine"])),
                    "chain_turns": int(program["in_turns"])}
            assert have == {field: int(value) for field, value in fields.items()}, (name, chain, program)
            continue
        choice = taken[name]
        have = {"block_m": choice["block"][0], "block_n": choice["block"][1], "cluster": choice["cluster"],
                "stages": choice["stages"], "rasterisation_rows": choice["rasterisation_rows"], "persistent_blocks": choice["persistent_blocks"],
                "group": 4 if choice["engine"] else 1}
        for field, value in fields.items():
            assert have[field] == int(value), (name, field, choice)
    assert all((folder / f"{name}.tw").exists() for name in shapes)
    if small:
        out, _ = run(folder, "--only", "launch", expect=2, FAKE_ARCHITECTURE="90")
        assert out.splitlines()[1] == "" and out.splitlines()[2].startswith("launch: seconds of a launch that does nothing")


def test_every_program_is_written(tmp_path):
    """Squares, both 16-bit types of all model shapes, convolutions: the full list, without compiling it."""
    subprocess.run([sys.executable, str(SCRIPT.parent / "programs.py"), str(tmp_path), "--experiments"], check=True)
    shapes = json.loads((tmp_path / "index.json").read_text())
    names = [shape["name"] for shape in shapes]
    assert len(set(names)) == len(names) and all((tmp_path / f"{name}.mlir").exists() for name in names)
    products = [(s["type"], s["m"], s["n"], s["k"]) for s in shapes if s["kind"] == "gemm" and "group" not in s]
    for kind in ("f16", "bf16"):
        assert {(kind, size, size, size) for size in (4096, 8192)} <= set(products)
        assert sum(each[0] == kind for each in products) == 14  # and those of 12 layers
        assert sum(s["kind"] == "conv" and s["type"] == kind for s in shapes) == 6


def test_convolutions_are_checked(tmp_path):
    """The sample of a convolution against one computed by definition."""
    sys.path.insert(0, str(SCRIPT.parent))
    try:
        import checks
    finally:
        sys.path.pop(0)
    shape = {"kind": "conv", "type": "f32", "images": 2, "h": 5, "w": 6, "c": 3, "f": 4, "taps": 3, "stride": 2, "padding": 1,
             "terms": 27}
    generator = numpy.random.default_rng(1)
    x, w = (generator.standard_normal(size).astype(numpy.float32) for size in ((2, 5, 6, 3), (3, 3, 3, 4)))
    padded = numpy.pad(x, ((0, 0), (1, 1), (1, 1), (0, 0)))
    y = numpy.zeros((2, 3, 3, 4), numpy.float32)
    for i in range(3):
        for j in range(3):
            y[:, i, j] = numpy.einsum("npqc,pqcf->nf", padded[:, 2 * i:2 * i + 3, 2 * j:2 * j + 3], w)
    for spoil, right in ((0, True), (0.1, False)):
        for name, data in (("x", x), ("w", w), ("y", y + numpy.float32(spoil))):
            numpy.save(tmp_path / f"{name}.npy", data)
        arrays = [checks.Array(tmp_path / f"{name}.npy", "f32") for name in ("x", "w", "y")]
        assert (checks.worst(shape, checks.pairs(shape, arrays[:2], arrays[2])) <= 1) is right
