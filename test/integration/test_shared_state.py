"""A global that is no constant and that two public functions of a file use: one memory of the loaded program, in the manifests,
in the runtime over a driver, and in programs that are given out as source."""

import base64
import ctypes
import json
import os
import subprocess
import sys

import numpy
import pytest
from conftest import BUILD
from artifacts import DRIVERS, artifact
from scratchpads import compiled  # noqa: F401, a fixture

#: `add` adds its argument to what the file keeps, `get` gives it, `other` keeps one of its own.
KEEPERS = """
memref.global "private" @state : memref<4xf32> = dense<[1.0, 2.0, 3.0, 4.0]>
memref.global "private" @zeros : memref<300xf32> = dense<0.0>
memref.global "private" @own : memref<4xf32> = dense<7.0>
func.func @add(%a: memref<4xf32>) {
  %state = memref.get_global @state : memref<4xf32>
  %zeros = memref.get_global @zeros : memref<300xf32>
  affine.for %i = 0 to 4 {
    %x = affine.load %a[%i] : memref<4xf32>
    %s = affine.load %state[%i] : memref<4xf32>
    %t = arith.addf %x, %s : f32
    affine.store %t, %state[%i] : memref<4xf32>
    affine.store %t, %zeros[%i + 296] : memref<300xf32>
  }
  return
}
func.func @get(%r: memref<4xf32>) {
  %state = memref.get_global @state : memref<4xf32>
  %zeros = memref.get_global @zeros : memref<300xf32>
  affine.for %i = 0 to 4 {
    %s = affine.load %state[%i] : memref<4xf32>
    %z = affine.load %zeros[%i + 296] : memref<300xf32>
    %t = arith.addf %s, %z : f32
    affine.store %t, %r[%i] : memref<4xf32>
  }
  return
}
func.func @other(%r: memref<4xf32>) {
  %own = memref.get_global @own : memref<4xf32>
  affine.for %i = 0 to 4 {
    %s = affine.load %own[%i] : memref<4xf32>
    affine.store %s, %r[%i] : memref<4xf32>
  }
  return
}
"""


@pytest.mark.parametrize("chip", ["nvidia:A100", "amd:MI300X"])
def test_manifests_name_what_programs_share(chip, tool, tmp_path):
    source, out = tmp_path / "keepers.mlir", tmp_path / "keepers.tw"
    source.write_text(KEEPERS)
    tool("tw-compile", source, "--target", chip, "-o", out)
    first, header = out.read_bytes().split(b"\n", 2)[:2]
    assert first.startswith(b"TILEWRIGHT 1 ")
    programs = {program["entry"]: program for program in json.loads(header)["programs"]}
    shared = {name: sorted(each.get("shared", "") for each in program["constants"]) for name, program in programs.items()}
    assert shared == {"add": ["state", "zeros"], "get": ["state", "zeros"], "other": [""]}
    assert {name: program["format"] for name, program in programs.items()} == {"add": 4, "get": 4, "other": 2}


@pytest.mark.parametrize("chip", ["nvidia:A100", "amd:MI300X"])
@pytest.mark.parametrize("name", ["add", "get"])
def test_each_program_runs_under_emulation(name, chip, tool, tmp_path):
    source = tmp_path / "keepers.mlir"
    source.write_text(KEEPERS)
    tool("tw-run", source, "--function", name, "--target", chip, "--device", "emulator", "--verify")


def test_source_has_one_array(compiled):  # noqa: F811
    library, _ = compiled(KEEPERS)
    a = numpy.array([1, 2, 3, 4], numpy.float32)
    pointer = a.ctypes.data_as(ctypes.c_void_p)
    for _ in range(2):
        assert library.add(pointer) == 0
    assert library.get(pointer) == 0
    assert a.tolist() == [6, 12, 18, 24]  # of both arrays
    assert library.other(pointer) == 0
    assert a.tolist() == [7, 7, 7, 7]


def function(name, state, update):
    return f"""
func.func @{name}(%a: memref<4xf32>) {{
  %state = memref.get_global @{state} : memref<4xf32>
  affine.for %i = 0 to 4 {{
    %s = affine.load %state[%i] : memref<4xf32>
{update}
  }}
  return
}}
"""


def adds(name, state):
    """A function that adds its argument to a global."""
    return function(name, state, """    %x = affine.load %a[%i] : memref<4xf32>
    %t = arith.addf %x, %s : f32
    affine.store %t, %state[%i] : memref<4xf32>""")


def gives(name, state):
    """A function that copies a global to its argument."""
    return function(name, state, "    affine.store %s, %a[%i] : memref<4xf32>")


def globals_named(**values):
    return "".join(f'memref.global "private" @{name} : memref<4xf32> = dense<{value}>\n' for name, value in values.items())


#: What `add` and `get` share is named like a function's own constant, like a function behind a prefix, like a launch; what a
#: function of the user's is called. Own constants begin at buffer 1.
NAMESAKES = {
    "constant": (globals_named(constant_1=1.0, w=50.0) + adds("add", "constant_1") + gives("get", "constant_1") + gives("shared", "w"),
                 "shared", 50.0),
    "constant-first": (globals_named(constant_1=1.0, w=50.0) + gives("shared", "w") + adds("add", "constant_1")
                       + gives("get", "constant_1"), "shared", 50.0),
    "function": (globals_named(state=1.0) + adds("add", "state") + gives("shared_state", "state") + gives("get", "state"),
                 "shared_state", 7.0),
    "launch": (globals_named(state=1.0, w=50.0) + adds("add", "state") + gives("get", "state") + gives("add_launch_0", "w"),
               "add_launch_0", 50.0),
    "function-as-constant": (globals_named(state=1.0, w=50.0) + adds("add", "state") + gives("get", "state") + gives("own", "w")
                             + gives("own_constant_1", "state"), "own", 50.0),
    "no-word-of-C": (globals_named(**{'"a.state-1"': 1.0}) + adds("add", '"a.state-1"') + gives("get", '"a.state-1"'), "get", 7.0),
    "own-launch-as-global": (globals_named(add_launch_0=1.0) + adds("add", "add_launch_0") + gives("get", "add_launch_0"), "get", 7.0),
}


@pytest.mark.parametrize("text, name, value", NAMESAKES.values(), ids=NAMESAKES)
def test_names_are_of_no_meaning(text, name, value, compiled):  # noqa: F811
    library, _ = compiled(text)
    a = numpy.full(4, 3, numpy.float32)
    pointer = a.ctypes.data_as(ctypes.c_void_p)
    for _ in range(2):
        assert library.add(pointer) == 0
    assert getattr(library, name)(pointer) == 0
    assert a.tolist() == [value] * 4
    assert library.get(pointer) == 0
    assert a.tolist() == [7] * 4


@pytest.mark.parametrize("chip", ["nvidia:A100", "amd:MI300X"])
def test_launches_take_no_name_of_the_program(chip, tool, tmp_path):
    text, name, _ = NAMESAKES["launch"]
    source, out = tmp_path / "launch.mlir", tmp_path / "launch.tw"
    source.write_text(text)
    tool("tw-compile", source, "--target", chip, "-o", out)
    header = out.read_bytes().split(b"\n", 2)[1]
    launches = [step["launch"] for program in json.loads(header)["programs"] for step in program["steps"]]
    assert len(launches) == 3 and not {"add", "get", name} & set(launches), launches
    assert len(set(launches)) == 2, "two of them are equal"
    for function in ("add", name):
        tool("tw-run", source, "--function", function, "--target", chip, "--device", "emulator", "--verify")


#: Counts down what `a.tw` keeps with the first program, adds it up with the second and the third.
CALLER = """
import ctypes, sys
runtime = ctypes.CDLL("libtilewright-runtime.so")
error = ctypes.create_string_buffer(4096)
def call(name, *arguments):
    function = getattr(runtime, name)
    if function(*arguments, error):
        sys.exit(error.raw[4:].split(b'\\0')[0].decode())  # behind the status
artifact, device, module = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p()
for name in ("tw_artifact_target", "tw_artifact_program"):
    getattr(runtime, name).restype = ctypes.c_void_p
call("tw_artifact_open", sys.argv[1].encode(), ctypes.byref(artifact))
call("tw_device_open", ctypes.c_void_p(runtime.tw_artifact_target(artifact)), 0, ctypes.byref(device))
call("tw_module_load", device, artifact, ctypes.byref(module))
y = ctypes.c_void_p()
call("tw_device_allocate", device, ctypes.c_int64(16), ctypes.byref(y))
for name in ("down", "down", "sum", "own"):
    host = (ctypes.c_float * 4)()
    call("tw_device_copy_in", device, y, host, ctypes.c_int64(16))
    program = ctypes.c_void_p(runtime.tw_artifact_program(artifact, name.encode()))
    call("tw_launch", module, program, None, (ctypes.c_void_p * 1)(y), None, None)
    call("tw_device_wait", device, None)
    call("tw_device_copy_out", device, host, y, ctypes.c_int64(16))
    print(*host)
runtime.tw_module_unload(module)
runtime.tw_device_release(device, y)
runtime.tw_device_close(device)
runtime.tw_artifact_close(artifact)
"""


def keepers(bytes_of_second=16):
    """Programs over 4 floats: `down` lowers the bits of the first one that it keeps, `sum` and `own` give what they keep."""
    data = base64.b64encode(numpy.array([1, 2, 3, 4], numpy.float32).tobytes()).decode()
    y = {"type": "f32", "bytes": 4, "shape": [4], "written": True, "result": False}

    def program(name, kernel, size, **state):
        passed = [{"buffer": 1}] if kernel == "count_down" else [{"buffer": 1}, {"buffer": 0}, {"value": 4}]
        return {"format": 4, "entry": name, "target": "nvidia:H100", "sizes": 0, "buffers": 2, "arguments": [y],
                "constants": [{"buffer": 1, "bytes": size, "data": data, "written": True, **state}], "temporaries": [],
                "steps": [{"launch": kernel, "threads": 32, "grid": [1, 1, 1], "arguments": passed}]}

    return [program("down", "count_down", 16, shared="state"), program("sum", "add_constant", bytes_of_second, shared="state"),
            program("own", "add_constant", 16)]


def call_keepers(tmp_path, programs):
    path, log = artifact(tmp_path / "a.tw", programs), tmp_path / "log"
    environment = {**os.environ, "LD_LIBRARY_PATH": f"{BUILD}/lib:{DRIVERS}", "FAKE_LOG": str(log),
                   "FAKE_KERNELS": str(DRIVERS / "kernels.so")}
    done = subprocess.run([sys.executable, "-c", CALLER, str(path)], capture_output=True, text=True, env=environment)
    return done, log.read_text().splitlines()


pytestmark = pytest.mark.skipif("-fsanitize" in (BUILD / "build.ninja").read_text(), reason="libraries with sanitizers need them first")


def test_programs_share_one_memory(tmp_path):
    done, log = call_keepers(tmp_path, keepers())
    assert done.returncode == 0, done.stderr
    lowered = numpy.array([1], numpy.float32).view(numpy.int32) - 2
    want = [str(float(lowered.view(numpy.float32)[0])), "2.0", "3.0", "4.0"]
    lines = [line.split() for line in done.stdout.splitlines()]
    assert lines[2] == want and lines[3] == ["1.0", "2.0", "3.0", "4.0"], done.stdout
    allocated, freed = (sum(line.startswith(name) for line in log) for name in ("cuMemAlloc", "cuMemFree"))
    assert allocated == freed == 3  # what two programs share, what one has, y


def test_shared_memory_of_two_sizes_is_refused(tmp_path):
    done, _ = call_keepers(tmp_path, keepers(bytes_of_second=32))
    assert done.returncode == 1
    assert done.stderr.strip() == "programs share 'state', which has 16 bytes in one and 32 in another"
