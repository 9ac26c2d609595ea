"""tw-launch and the runtime library, without a device: artifacts written by hand or by tw-compile go through drivers that
the build makes for tests (test/driver), which run kernels as functions of the host, log every call, and fail on request."""

import base64
import json
import os
import re
import shutil
import subprocess

import ml_dtypes
import numpy
import pytest

from artifacts import DRIVERS, LAUNCH, artifact, program
from conftest import BUILD

MATMUL = """
func.func @mm(%a: tensor<?x64xf16>, %b: tensor<64x?xf16>, %c: tensor<?x?xf16>) -> tensor<?x?xf16> {
  %r = linalg.matmul ins(%a, %b : tensor<?x64xf16>, tensor<64x?xf16>) outs(%c : tensor<?x?xf16>) -> tensor<?x?xf16>
  return %r : tensor<?x?xf16>
}
"""


@pytest.fixture
def launch(tmp_path):
    """launch(ARGUMENTS..., expect=0, FAKE_...=...) runs tw-launch with the drivers of the tests; its standard output, or
    its message where it fails. `launch.log()`: what the driver was asked."""

    def run(*arguments, expect=0, drivers=DRIVERS, **variables):
        log = tmp_path / "log"
        log.unlink(missing_ok=True)
        environment = {**os.environ, "LD_LIBRARY_PATH": str(drivers), "FAKE_LOG": str(log),
                       "FAKE_KERNELS": str(DRIVERS / "kernels.so"), **{k: str(v) for k, v in variables.items()}}
        result = subprocess.run([str(LAUNCH), *map(str, arguments)], capture_output=True, text=True, env=environment,
                                timeout=120)
        assert result.returncode == expect, f"{arguments}: {result.returncode}\n{result.stdout}{result.stderr}"
        if expect == 1:
            assert result.stdout == ""
            assert result.stderr.startswith("tw-launch: error: ")
            return result.stderr.removeprefix("tw-launch: error: ").rstrip("\n")
        return result.stdout

    run.log = lambda: (tmp_path / "log").read_text().splitlines()
    return run


def test_arrays_go_to_the_device_and_come_back(launch, tmp_path):
    path = artifact(tmp_path / "four.tw", [program()])
    x = numpy.arange(70, dtype=numpy.float32)
    numpy.save(tmp_path / "x.npy", x)
    launch(path, "--input", tmp_path / "x.npy", "--output", tmp_path / "y.npy")
    assert (numpy.load(tmp_path / "y.npy") == 4 * x).all()
    log = launch.log()
    # The kernel gets the largest scratchpad that a launch gives, and each launch its own.
    assert "cuModuleGetFunction twice" in log and log.count("cuFuncSetAttribute 8 65536") == 1
    launches = [line for line in log if line.startswith("cuLaunchKernel")]
    assert [line.split(" stream")[0] for line in launches] == [
        "cuLaunchKernel grid 3 1 1 block 64 1 1 shared 0", "cuLaunchKernel grid 3 1 1 block 64 1 1 shared 65536"]
    # Outputs too go there first, as NaN: what no kernel writes shows.
    assert log.count("cuMemcpyHtoD_v2 280") == 2 and log.count("cuMemcpyDtoH_v2 280") == 1
    allocated = sum(line.startswith("cuMemAlloc") for line in log)
    assert allocated == 3 == sum(line.startswith("cuMemFree") for line in log)  # x, y, the workspace


def test_other_driver(launch, tmp_path):
    path = artifact(tmp_path / "four.tw", [program()], [("hsaco", b"\x7fELF"), ("s", b"text")], "amd:MI300X", "gfx942")
    x = numpy.ones(5, numpy.float32)
    numpy.save(tmp_path / "x.npy", x)
    out = launch(path, "--input", tmp_path / "x.npy", "--output", tmp_path / "y.npy")
    assert out.startswith("four on Fake gfx1 GPU, gfx942\noutput 0: f32[5] = 4 4 4 4 4\n")
    assert (numpy.load(tmp_path / "y.npy") == 4 * x).all()


def test_lanes_that_packets_of_a_launch_do_not_count(launch, tmp_path):
    """AMD's devices count lanes along the first dimension of a grid in 32 bits."""
    n = {"size": 0}
    x = {"type": "i8", "bytes": 1, "shape": [4], "written": True, "result": False}
    step = {"kernel": "twice", "threads": 1024, "scratchpad": 0, "grid": [["floordiv", n, 1024], 1, 1], "arguments": []}
    programs = [program(arguments=[x], temporaries=[], launches=[step])]
    path = artifact(tmp_path / "amd.tw", programs, [("hsaco", b"\x7fELF")], "amd:MI300X", "gfx942")
    assert launch(path, "--size", 2**32, expect=1) == (
        "kernel 'twice' needs 4294967296 lanes along dimension 0 of its grid, Fake gfx1 GPU has 4294967295")


def test_random_inputs_are_those_of_tw_run(launch, tool, tmp_path):
    source = tmp_path / "p.mlir"
    types = ["f32", "f16", "bf16", "f64", "i8", "i32", "ui8", "f8E4M3FN", "f8E5M2", "f8E4M3FNUZ", "f8E5M2FNUZ", "f8E8M0FNU"]
    arguments = ", ".join(f"%a{i}: memref<33x{t}>, %b{i}: memref<33x{t}>" for i, t in enumerate(types))
    copies = "\n".join(f"memref.copy %a{i}, %b{i} : memref<33x{t}> to memref<33x{t}>" for i, t in enumerate(types))
    source.write_text(f"func.func @p({arguments}) {{\n{copies}\nreturn\n}}\n")
    names = [[tmp_path / f"{who}{i}{'.bf16' if t == 'bf16' else ''}.npy" for i, t in enumerate(types)]
             for who in ("run", "launch")]
    tool("tw-run", source, "--seed", 7, *(f"--output={name}" for name in names[0]))
    array = {"shape": [33], "written": True, "result": False}
    widths = {"f32": 4, "f16": 2, "bf16": 2, "f64": 8, "i32": 4}
    both = [{**array, "type": t, "bytes": widths.get(t, 1), "written": written} for t in types for written in (False, True)]
    path = artifact(tmp_path / "p.tw", [program(sizes=0, arguments=both, temporaries=[], launches=[])])
    skipped = tmp_path / "skipped.npy"
    saved = [f"--save-input={name if half == 0 else skipped}" for name in names[1] for half in (0, 1)]
    launch(path, "--seed", 7, *saved)
    for a, b in zip(*names):
        a, b = numpy.load(a), numpy.load(b)
        assert a.dtype == b.dtype and (a == b).all()


def steps_program(constant):
    """y = 2 x, then a constant of four numbers as often as a counter says, over memory that each turn allocates."""
    n = {"size": 0}
    array = {"type": "f32", "bytes": 4, "shape": [n], "written": False, "result": False}
    counter = {"type": "i32", "bytes": 4, "shape": [1], "written": True, "result": False}
    steps = [
        {"launch": "twice", "threads": 32, "grid": [1, 1, 1], "arguments": [{"buffer": 0}, {"buffer": 1}, {"value": n}]},
        {"while": ["<", 0, {"variable": 0}],
         "before": [{"read": 0, "buffer": 2, "offset": 0, "bytes": 4}],
         "do": [{"allocate": 4, "bytes": 64},
                {"launch": "add_constant", "threads": 32, "grid": [1, 1, 1],
                 "arguments": [{"buffer": 3}, {"buffer": 1}, {"value": n}]},
                {"launch": "count_down", "threads": 32, "grid": [1, 1, 1], "arguments": [{"buffer": 2}]}]}]
    return program(format=2, entry="steps", variables=1, buffers=5, temporaries=[],
                   arguments=[array, {**array, "written": True, "result": True}, counter], launches=[], steps=steps,
                   constants=[{"buffer": 3, "bytes": 16, **constant}])


NUMBERS = numpy.array([1, 2, 3, 4], numpy.float32).tobytes()


@pytest.mark.parametrize("constant, data", [
    ({"data": base64.b64encode(NUMBERS).decode()}, None), ({"at": 64}, bytes(64) + NUMBERS),
    ({"at": 0, "stored": 16}, NUMBERS + bytes(1 << 20))], ids=["text", "data", "much data"])
def test_steps_and_constants(launch, tmp_path, constant, data):
    path = artifact(tmp_path / "steps.tw", [steps_program(constant)], data=data)
    x = numpy.arange(8, dtype=numpy.float32)
    numpy.save(tmp_path / "x.npy", x)
    numpy.save(tmp_path / "n.npy", numpy.array([3], numpy.int32))
    launch(path, "--input", tmp_path / "x.npy", "--input", tmp_path / "n.npy", "--output", tmp_path / "y.npy",
           "--output", tmp_path / "m.npy")
    assert (numpy.load(tmp_path / "y.npy") == 2 * x + 3 * numpy.tile([1, 2, 3, 4], 2)).all()
    assert numpy.load(tmp_path / "m.npy")[0] == 0
    # Memory of a turn is used again by the next: one allocation, beside three arguments and the constant.
    assert sum(line.startswith("cuMemAlloc") for line in launch.log()) == 5


def test_constants_that_the_data_lacks(launch, tmp_path):
    path = tmp_path / "bad.tw"
    start = f"'{path}' cannot be loaded: the manifest of program 'steps' has a constant "
    for constant, what in [({"at": 16}, "that lies outside of the artifact's data"),
                           ({"at": 2**62, "stored": 2**62}, "that lies outside of the artifact's data"),
                           ({"at": 0, "stored": -1}, "that lies outside of the artifact's data"),
                           ({"at": 0, "stored": 3}, "whose bytes are no multiple of its data"),
                           ({}, "without 'buffer', 'bytes' or 'data'")]:
        artifact(path, [steps_program(constant)], data=NUMBERS)
        assert launch(path, expect=1) == start + what
    whole = artifact(path, [steps_program({"at": 0})], data=NUMBERS).read_bytes()
    for contents, what in [(whole[:-1], "it ends inside the data of its constants"),
                           (whole[:-17], "it ends inside the data of its constants"),
                           (whole + b"x", "bytes follow the data of its constants")]:
        path.write_bytes(contents)
        assert launch(path, expect=1) == f"'{path}' is no intact artifact: {what}"


WEIGHTS = """
func.func @first(%x: tensor<4x64xf32>) -> tensor<4x64xf32> {{
  %w = arith.constant dense<{weights}> : tensor<64x64xf32>
  %zero = arith.constant dense<0.0> : tensor<4x64xf32>
  %y = linalg.matmul ins(%x, %w : tensor<4x64xf32>, tensor<64x64xf32>) outs(%zero : tensor<4x64xf32>) -> tensor<4x64xf32>
  return %y : tensor<4x64xf32>
}}
func.func @second(%x: tensor<8x64xf32>) -> tensor<8x64xf32> {{
  %w = arith.constant dense<{weights}> : tensor<64x64xf32>
  %zero = arith.constant dense<0.0> : tensor<8x64xf32>
  %y = linalg.matmul ins(%x, %w : tensor<8x64xf32>, tensor<64x64xf32>) outs(%zero : tensor<8x64xf32>) -> tensor<8x64xf32>
  return %y : tensor<8x64xf32>
}}
"""


@pytest.mark.parametrize("chip", ["nvidia:A100", "amd:MI300X"])
def test_constants_lie_in_the_artifact_once_and_aligned(chip, tmp_path):
    weights = numpy.arange(64 * 64, dtype=numpy.float32).tobytes()
    (tmp_path / "w.mlir").write_text(WEIGHTS.format(weights=f'"0x{weights.hex()}"'))
    subprocess.run([BUILD / "bin/tw-compile", tmp_path / "w.mlir", "--target", chip, "-o", tmp_path / "w.tw"], check=True,
                   capture_output=True, timeout=120)
    whole = (tmp_path / "w.tw").read_bytes()
    assert whole.startswith(b"TILEWRIGHT 5 ") and whole.count(weights) == 1 and whole.index(weights) % 64 == 0
    header = json.loads(whole.split(b"\n", 2)[1])
    assert header["data"] == {"bytes": len(weights)}
    assert [[(one["at"], one["bytes"], one["stored"]) for one in each["constants"] if "at" in one]
            for each in header["programs"]] == [[(0, len(weights), len(weights))]] * 2


def test_tensor_maps_and_clusters(launch, tmp_path):
    n = {"size": 0}
    numpy.save(tmp_path / "x.npy", numpy.arange(8, dtype=numpy.float32))
    tensor = {"array": 0, "type": "f16", "bytes": 2, "sizes": [64, n], "pitches": [128], "box": [64, 8], "swizzle": 128}
    path = artifact(tmp_path / "map.tw", [program(temporaries=[], launches=[
        {"kernel": "read_map", "threads": 128, "cluster": 2, "scratchpad": 100, "grid": [4, 1, 1],
         "arguments": [{"tensor_map": tensor}, {"array": 1}]}])])
    launch(path, "--input", tmp_path / "x.npy", "--output", tmp_path / "y.npy")
    assert numpy.load(tmp_path / "y.npy")[:3].tolist() == [64, 8, 0]
    log = launch.log()
    assert "cuTensorMapEncodeTiled type 6 rank 2 sizes 64 8 pitch 128 box 64 8 swizzle 3 aligned 1" in log
    assert "cuLaunchKernelEx grid 4 1 1 block 128 shared 100 attributes 1: 4 = 2 1 1" in log


def test_comparison_and_json(launch, tmp_path):
    path = artifact(tmp_path / "four.tw", [program()])
    x = numpy.linspace(-1, 1, 9, dtype=numpy.float32)
    numpy.save(tmp_path / "x.npy", x)
    numpy.save(tmp_path / "right.npy", 4 * x.astype(numpy.float64))
    wrong = 4 * x
    wrong[3] += 0.5
    numpy.save(tmp_path / "wrong.npy", wrong)
    call = [path, "--input", tmp_path / "x.npy", "--json"]
    right = json.loads(launch(*call, "--check-against", tmp_path / "right.npy", "--benchmark"))
    assert right["check"] == [{"passed": True, "max_error": 0, "error_over_tolerance": 0, "worst_index": 0}]
    assert right["sizes"] == [9] and right["program"] == "four" and right["device"] == "Fake GPU, sm_90"
    assert right["benchmark"]["seconds"] == pytest.approx(2e-3, rel=1e-3)  # two launches of a millisecond
    assert len(right["benchmark"]["samples"]) == 9 and right["benchmark"]["bytes"] == 72
    bad = json.loads(launch(*call, "--check-against", tmp_path / "wrong.npy", expect=2))["check"][0]
    assert not bad["passed"] and bad["worst_index"] == 3 and bad["max_error"] == pytest.approx(0.5)
    assert "WRONG: element 3 " in launch(*call[:-1], "--check-against", tmp_path / "wrong.npy", expect=2)
    launch(*call, "--check-against", tmp_path / "wrong.npy", "--tolerance", "0,0.6")
    for none in ("nan", "inf", "-1", "0,nan", "0,inf", "", "1,", "x", "1e-3 "):
        assert launch(*call, f"--tolerance={none}", expect=1) == (
            f"--tolerance={none} is none; expected R or R,A, finite numbers of 0 or more")
    numpy.save(tmp_path / "nan.npy", numpy.full(9, numpy.nan))
    assert launch(*call[:-1], "--check-against", tmp_path / "nan.npy", expect=2).endswith(
        f"check: WRONG: element 0 of '{tmp_path}/nan.npy' is NaN, which nothing can be compared with\n")
    x[5] = numpy.nan
    numpy.save(tmp_path / "x.npy", x)
    assert "WRONG" in launch(*call[:-1], "--check-against", tmp_path / "right.npy", expect=2)


def test_tolerance_follows_what_is_summed(launch, tmp_path):
    """The manifest says how long sums are; without it the longest dimension counts, as a sum over all of it."""
    x = numpy.linspace(1, 2, 4096, dtype=numpy.float32)
    numpy.save(tmp_path / "x.npy", x)
    numpy.save(tmp_path / "near.npy", 4 * x.astype(numpy.float64) * (1 + 4e-5))
    call = ["--input", tmp_path / "x.npy", "--check-against", tmp_path / "near.npy", "--json"]
    over = []
    for changes in ({}, {"roundings": ["*", {"size": 0}, 1]}, {"roundings": 2}, {"roundings": ["*", {"size": 0}, 1 << 60]}):
        path = artifact(tmp_path / "four.tw", [program(**changes)])
        out = json.loads(launch(path, *call, expect=2 if changes.get("roundings") == 2 else 0))
        over.append(out["check"][0]["error_over_tolerance"])
    assert over[0] == over[1] and over[3] < over[0] < 1 and over[2] > 10
    path = artifact(tmp_path / "four.tw", [program(roundings={"variable": 0}, variables=1)])
    launch(path, *call)
    path = artifact(tmp_path / "four.tw", [program(roundings="many")])
    assert launch(path, *call, expect=1) == (
        f"'{path}' cannot be loaded: the manifest of program 'four' has something where an expression belongs")


def test_short_floats_are_bytes_and_may_be_neighbours(launch, tmp_path):
    array = {"type": "f8E4M3FN", "bytes": 1, "shape": [6], "written": True, "result": False}
    path = artifact(tmp_path / "same.tw", [program(entry="same", sizes=0, arguments=[array], temporaries=[], launches=[])])
    x = numpy.array([1, -2, 0, 448, 0.001953125, numpy.nan], numpy.float32).astype(ml_dtypes.float8_e4m3fn)
    numpy.save(tmp_path / "x.npy", x.view(numpy.uint8))
    wide = x.astype(numpy.float64)
    numpy.save(tmp_path / "near.npy", wide + [0.125, -0.25, 0.001953125, -32, 0, 0])
    numpy.save(tmp_path / "far.npy", wide + [0.5, 0, 0, 0, 0, 0])
    call = [path, "--input", tmp_path / "x.npy", "--output", tmp_path / "y.npy", "--check-against"]
    launch(*call, tmp_path / "near.npy")
    assert "WRONG: element 0 " in launch(*call, tmp_path / "far.npy", expect=2)
    assert (numpy.load(tmp_path / "y.npy") == x.view(numpy.uint8)).all()
    numpy.save(tmp_path / "x.npy", numpy.zeros(6, numpy.float32))
    assert launch(*call, tmp_path / "near.npy", expect=1).endswith("input 0 of 'same' is f8E4M3FN (bytes, u1)")


def test_samples_last_a_millisecond(launch, tmp_path):
    path = artifact(tmp_path / "four.tw", [program()])
    out = json.loads(launch(path, "--size", 1, "--benchmark", "--json", FAKE_KERNEL_SECONDS="1e-6"))
    assert out["benchmark"]["seconds"] == pytest.approx(2e-6, rel=1e-2)
    assert sum(line.startswith("cuLaunchKernel") for line in launch.log()) > 9 * 2 * 500


def damaged_artifacts():
    good = json.dumps({"format": 2, "target": "nvidia:H100", "programs": [], "images": []})
    yield b"", "is no artifact: it does not begin with 'TILEWRIGHT '; tw-compile -o NAME.tw writes one"
    yield b"\x7fELF....", "is no artifact: it does not begin with 'TILEWRIGHT '; tw-compile -o NAME.tw writes one"
    yield (b"TILEWRIGHT 6 10\n", "has format 6; this library (0.1.0) reads formats up to 5: take a newer one, or compile "
                                 "again")
    yield b"TILEWRIGHT x 10\n", "is no intact artifact: it ends inside its header"
    yield b"TILEWRIGHT 1 100\n{}", "is no intact artifact: it ends inside its header"
    yield b"TILEWRIGHT 1 3\n{]}\n", "is no intact artifact: its header cannot be read: expected a string at byte 1"
    yield b"TILEWRIGHT 1 6\n{\"ab: \n", "is no intact artifact: its header cannot be read: a string without an end at byte 2"
    yield b"TILEWRIGHT 1 2\n{}\n", "is no intact artifact: its header lacks 'target', 'programs' or 'images'"
    yield (f"TILEWRIGHT 1 {len(good)}\n{good}\nmore".encode(), "is no intact artifact: bytes follow the code")


@pytest.mark.parametrize("contents, message", damaged_artifacts())
def test_damaged_artifacts(launch, tmp_path, contents, message):
    path = tmp_path / "bad.tw"
    path.write_bytes(contents)
    assert launch(path, expect=1) == f"'{path}' {message}"


def test_cut_artifacts_are_refused_everywhere(launch, tmp_path):
    whole = artifact(tmp_path / "four.tw", [program()]).read_bytes()
    path = tmp_path / "cut.tw"
    for length in range(0, len(whole), 37):
        path.write_bytes(whole[:length])
        launch(path, "--size", 1, expect=1)


def test_unreadable_artifacts(launch, tmp_path):
    assert launch(tmp_path / "none.tw", expect=1) == f"cannot read '{tmp_path}/none.tw': No such file or directory"
    assert launch(tmp_path, expect=1) == f"cannot read '{tmp_path}': Is a directory"


def test_kernels_that_the_image_lacks(launch, tmp_path):
    path = artifact(tmp_path / "a.tw", [program()], [("ptx", b".visible .entry twice_more(.visible .entry once(")])
    assert launch(path, "--size", 4, expect=1).startswith(
        "the driver of NVIDIA cannot find kernel 'twice': ")
    path = artifact(tmp_path / "a.tw", [program()], [("ptx", b".visible .entry twice(")])
    launch(path, "--size", 4)


def test_another_chip(launch, tmp_path):
    both = [("ptx", b"ptx"), ("cubin", b"cubin")]
    path = artifact(tmp_path / "a.tw", [program()], both)
    call = [path, "--size", 4]
    assert launch(*call, expect=1, FAKE_ARCHITECTURE="80") == (
        "the artifact's ptx is for sm_90a, which Fake GPU (sm_80) does not run: compile for its chip")
    launch(*call, expect=1, FAKE_ARCHITECTURE="100")  # the a says: on 9.0 alone
    launch(*call)
    assert "cuModuleLoadDataEx cubin" in launch.log()
    path = artifact(tmp_path / "a.tw", [program()], both, "nvidia:A100", "sm_80")
    launch(*call, FAKE_ARCHITECTURE="86")
    assert "cuModuleLoadDataEx cubin" in launch.log()
    launch(*call, FAKE_ARCHITECTURE="90")  # another major: the driver compiles the text
    assert "cuModuleLoadDataEx ptx" in launch.log()
    assert "is for sm_80, which Fake GPU (sm_75) does not run" in launch(*call, expect=1, FAKE_ARCHITECTURE="75")
    artifact(path, [program()], [("hsaco", b"code")], "amd:MI300X", "gfx942")
    assert launch(*call, expect=1, FAKE_ARCHITECTURE="gfx90a") == (
        "the artifact's hsaco is for gfx942, which Fake gfx1 GPU (gfx90a) does not run: compile for its chip")
    artifact(path, [program()], [], "amd:MI300X", "gfx942")
    assert launch(*call, expect=1) == "the artifact for amd:MI300X holds no code for Fake gfx1 GPU, gfx942"
    artifact(path, [program()], [], "acme:one", "one")
    message = launch(*call, expect=1)
    assert re.fullmatch(r"this runtime library has no driver for target 'acme' \(it has: .*nvidia.*\)", message)


def amd_artifact(path):
    return artifact(path, [program()], [("hsaco", b"\x7fELF")], "amd:MI300X", "gfx942")


#: Vendor, an artifact for it, its driver's library, the first function of it, and the library of another.
VENDORS = [("NVIDIA", lambda path: artifact(path, [program()]), "libcuda.so.1", "cuInit", "libamdhip64.so"),
           ("AMD", amd_artifact, "libamdhip64.so", "hipInit", "libcuda.so.1")]


@pytest.mark.parametrize("vendor, make, library, first, other", VENDORS, ids=[each[0] for each in VENDORS])
def test_no_driver(launch, tmp_path, vendor, make, library, first, other):
    call = [make(tmp_path / "a.tw"), "--size", 4]
    empty = tmp_path / "empty"
    empty.mkdir()
    message = launch(*call, expect=1, drivers=empty)
    assert message.startswith(f"no driver of {vendor} on this machine: {library}")
    assert "cannot open shared object file" in message
    assert launch(*call, expect=1, FAKE_DEVICES=0) == f"the driver of {vendor} finds no device on this machine"
    assert launch(*call, expect=1, FAKE_FAIL=f"{first}:100") == f"the driver of {vendor} finds no device on this machine"
    assert launch(*call, "--device", 3, expect=1, FAKE_DEVICES=2) == (
        f"there is no device 3 of {vendor} on this machine; it has 2, from 0")
    shutil.copy(DRIVERS / other, empty / library)
    assert launch(*call, expect=1, drivers=empty) == f"the driver of {vendor} on this machine is too old: it lacks {first}"


@pytest.mark.parametrize("failure, message", [
    ("cuInit:3", "cannot start: FAKE_ERROR (as the test wants)"),
    ("cuDevicePrimaryCtxRetain:2", "cannot open the device: FAKE_OUT_OF_MEMORY (as the test wants)"),
    ("cuModuleLoadDataEx:218",
     "cannot load the artifact's code: FAKE_ERROR (as the test wants): ptxas fatal : not today"),
    ("cuModuleGetFunction:500", "cannot find kernel 'twice': FAKE_ERROR (as the test wants)"),
    ("cuFuncSetAttribute:1", "cannot give kernel 'twice' 65536 bytes of shared memory: FAKE_ERROR (as the test wants)"),
    ("cuMemAlloc_v2:2:2", "cannot allocate 16 bytes: FAKE_OUT_OF_MEMORY (as the test wants)"),
    ("cuMemAlloc_v2:2:3", "cannot allocate 256 bytes: FAKE_OUT_OF_MEMORY (as the test wants)"),
    ("cuMemcpyHtoD_v2:700", "cannot copy to the device: FAKE_ERROR (as the test wants)"),
    ("cuLaunchKernel:719:2",
     "cannot launch kernel 'twice' on 1 x 1 x 1 blocks of 64 threads: FAKE_LAUNCH_FAILED (as the test wants)"),
    ("cuStreamSynchronize:719", "cannot end the launches: FAKE_LAUNCH_FAILED (as the test wants)"),
    ("cuMemcpyDtoH_v2:719", "cannot copy from the device: FAKE_LAUNCH_FAILED (as the test wants)"),
    ("cuEventRecord:719", "cannot record an event: FAKE_LAUNCH_FAILED (as the test wants)"),
    ("hipInit:3", "cannot start: FAKE_ERROR (as the test wants)"),
    ("hipModuleLoadData:218", "cannot load the artifact's code: FAKE_ERROR (as the test wants)"),
    ("hipModuleLoadData:209", "cannot load the artifact's code: FAKE_ERROR (as the test wants)"),
    ("hipModuleGetFunction:500", "cannot find kernel 'twice': FAKE_ERROR (as the test wants)"),
    ("hipMalloc:2:2", "cannot allocate 16 bytes: FAKE_OUT_OF_MEMORY (as the test wants)"),
    ("hipMalloc:2:3", "cannot allocate 256 bytes: FAKE_OUT_OF_MEMORY (as the test wants)"),
    ("hipMemcpyHtoD:700", "cannot copy to the device: FAKE_ERROR (as the test wants)"),
    ("hipModuleLaunchKernel:719:2",
     "cannot launch kernel 'twice' on 1 x 1 x 1 blocks of 64 threads: FAKE_LAUNCH_FAILED (as the test wants)"),
    ("hipStreamSynchronize:719", "cannot end the launches: FAKE_LAUNCH_FAILED (as the test wants)"),
    ("hipMemcpyDtoH:719", "cannot copy from the device: FAKE_LAUNCH_FAILED (as the test wants)"),
    ("hipEventRecord:719", "cannot record an event: FAKE_LAUNCH_FAILED (as the test wants)"),
])
def test_errors_of_the_driver(launch, tmp_path, failure, message):
    vendor, make, *_ = VENDORS[failure.startswith("hip")]
    path = make(tmp_path / "a.tw")
    assert launch(path, "--size", 4, "--benchmark", expect=1, FAKE_FAIL=failure) == f"the driver of {vendor} {message}"


def test_too_little_memory(launch, tmp_path):
    for vendor, make, *_ in VENDORS:
        assert launch(make(tmp_path / "a.tw"), "--size", 1000, expect=1, FAKE_MEMORY=10000) == (
            f"the driver of {vendor} cannot allocate 4096 bytes: FAKE_OUT_OF_MEMORY (as the test wants)")


def test_driver_without_clusters(launch, tmp_path):
    """A driver from before the call that launches them, and chips that have none."""
    clusters = [program(launches=[{"kernel": "twice", "threads": 64, "cluster": 2, "scratchpad": 0, "grid": [2, 1, 1],
                                   "arguments": [{"array": 0}, {"array": 1}, {"value": {"size": 0}}]}], temporaries=[])]
    old = tmp_path / "old"
    old.mkdir()
    driver = (DRIVERS / "libcuda.so.1").read_bytes()
    assert b"cuLaunchKernelEx\0" in driver
    (old / "libcuda.so.1").write_bytes(driver.replace(b"cuLaunchKernelEx\0", b"cuLaunchKernelNo\0"))
    path = artifact(tmp_path / "n.tw", clusters)
    launch(path, "--size", 4)
    assert launch(path, "--size", 4, expect=1, drivers=old) == (
        "the driver of NVIDIA on this machine is too old: it launches no clusters")
    path = artifact(tmp_path / "a.tw", clusters, [("hsaco", b"\x7fELF")], "amd:MI300X", "gfx942")
    assert launch(path, "--size", 4, expect=1) == "kernel 'twice' wants clusters of 2 blocks; Fake gfx1 GPU has none"


def test_bad_sizes_and_inputs(launch, tmp_path):
    path = artifact(tmp_path / "a.tw", [program()])
    numpy.save(tmp_path / "x.npy", numpy.ones((2, 2), numpy.float32))
    numpy.save(tmp_path / "i.npy", numpy.ones(2, numpy.int32))
    numpy.save(tmp_path / "f.npy", numpy.ones(2, numpy.float32))
    assert launch(path, expect=1) == (
        "size 0 of 1 is not known; give the inputs (--input) or all sizes (--size, one each) of 'four'")
    assert launch(path, "--size", -1, expect=1) == "--size=-1 is no size; expected a whole number, 0 or more"
    assert launch(path, "--size", 1, "--size", 2, expect=1) == "'four' has 1 dynamic sizes; --size gives 2"
    assert launch(path, "--size", 2**61, expect=1) == (
        "the sizes of program 'four' make something too large to count")
    assert launch(path, "--input", tmp_path / "x.npy", expect=1) == (
        f"'{tmp_path}/x.npy' has 2 dimensions; input 0 of 'four' has 1")
    assert launch(path, "--input", tmp_path / "i.npy", expect=1) == (
        f"'{tmp_path}/i.npy' holds i32; input 0 of 'four' is f32")
    assert launch(path, "--input", tmp_path / "f.npy", "--size", 3, expect=1) == (
        "size 0 is 3 by --size, but the inputs say 2")
    assert launch(path, *["--input", tmp_path / "f.npy"] * 2, expect=1) == "'four' has 1 inputs; 2 files were given"
    assert launch(path, "--program", "five", "--size", 1, expect=1) == (
        f"'{path}' has no program 'five' (known: four)")
    assert launch(path, "--size", 1, *["--output", tmp_path / "o.npy"] * 2, expect=1) == (
        "the program has 1 outputs; 2 files were given")
    assert launch(path, "--size", 1, "--output", "/none/o.npy", expect=1) == (
        "cannot write '/none/o.npy': No such file or directory")
    assert launch("--wat=1", path, expect=1).startswith("unknown option '--wat'\nusage: tw-launch ")
    artifact(path, [program(), program(entry="other")])
    assert launch(path, "--size", 1, expect=1) == f"'{path}' has 2 programs (four, other); name one with --program"


def test_real_artifacts(launch, tool, tmp_path):
    """What tw-compile writes can be loaded: every kernel that the manifest names, dynamic sizes, constraints."""
    source = tmp_path / "mm.mlir"
    source.write_text(MATMUL)
    for chip, architecture in (("nvidia:A100", "80"), ("amd:MI300X", "gfx942")):
        path = tmp_path / "mm.tw"
        tool("tw-compile", source, "--target", chip, "-o", path)
        out = json.loads(launch(path, "--size", 96, "--size", 128, "--json", FAKE_ARCHITECTURE=architecture))
        assert [a["shape"] for a in out["arguments"]] == [[96, 64], [64, 128], [96, 128], [96, 128]]
        assert any("LaunchKernel" in line for line in launch.log())
        assert "does not run" in launch(path, "--size", 1, "--size", 1, expect=1, FAKE_ARCHITECTURE="gfx1201"
                                        if chip.startswith("amd") else "70")


def test_tw_run_on_a_device(tmp_path):
    """tw-run compiles into memory and takes the same way; the driver of the tests computes nothing, which --verify sees."""
    source = tmp_path / "mm.mlir"
    source.write_text(MATMUL)
    empty = tmp_path / "empty"
    empty.mkdir()

    def run(*arguments, expect, drivers=DRIVERS):
        environment = {**os.environ, "LD_LIBRARY_PATH": str(drivers), "FAKE_ARCHITECTURE": "80"}
        result = subprocess.run([str(BUILD / "bin" / "tw-run"), str(source), "--device", "gpu", *arguments],
                                capture_output=True, text=True, env=environment, timeout=300)
        assert result.returncode == expect, result.stdout + result.stderr
        return result.stdout + result.stderr

    sizes = "--sizes=64,64"
    assert "error: no driver of NVIDIA on this machine: libcuda.so.1: cannot open shared object file" in run(
        "--target=nvidia:A100", sizes, expect=1, drivers=empty)
    assert "is for sm_90a, which Fake GPU (sm_80) does not run" in run("--target=nvidia:H100", sizes, expect=1)
    assert "error: 'cpu:x86-64' runs programs on the host; a device runs those of chips whose programs are launches" in run(
        "--target=cpu:x86-64", sizes, expect=1)
    report = json.loads(run("--target=nvidia:A100", sizes, "--json", "--benchmark", expect=0))
    assert report["device"] == {"name": "Fake GPU, sm_80"} and len(report["benchmark"]["samples"]) == 9
    assert "WRONG" in run("--target=nvidia:A100", sizes, "--verify", expect=2)
