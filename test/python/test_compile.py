"""Compiling and calling: values, types, sizes, layouts, messages."""

import concurrent.futures
import gc
import os
import shutil
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

import tilewright
from conftest import BUILD
from sample_programs import LINEAR, MATMUL, elementwise

RANDOM = np.random.default_rng(1)


def data(*shape, dtype=np.float32):
    """Exactly representable values, so that results are too."""
    return (RANDOM.integers(-8, 8, shape) / (1 if np.dtype(dtype).kind in "iu" else 8)).astype(dtype)


def test_dynamic_sizes():
    program = tilewright.compile(LINEAR)
    w, b = data(8, 4), data(4)
    for rows in (3, 1, 0, 17):
        x = data(rows, 8)
        y = program(x, w, b)
        assert y.dtype == np.float32 and y.shape == (rows, 4)
        assert np.array_equal(y, x @ w + b)


def test_signature():
    signature = tilewright.compile(LINEAR).signature
    assert (signature.name, signature.sizes) == ("linear", 1)
    assert [str(a) for a in signature.inputs] == ["f32[n0,8]", "f32[8,4]", "f32[4]"]
    assert [a.extents(5) for a in signature.results] == [(5, 4)]
    assert signature.solve([(5, 8), (8, 4), (4,)]) == (5,)


@pytest.mark.parametrize("width", (112, 100, 8, 1026))
@pytest.mark.parametrize("offset", (0, 4, 16, 32, 60))
def test_large_results_wherever_they_begin(width, offset):
    """Stores that go past the caches are of whole lines; rows begin where the array and their length have it."""
    rows = (8 << 20) // 4 // width
    inner, whole = f"tensor<{rows}x{width}xf32>", f"tensor<{rows}x{width + 2}xf32>"
    program = tilewright.compile(f"""func.func @inner(%x: {whole}) -> {inner} {{
  %part = tensor.extract_slice %x[0, 1] [{rows}, {width}] [1, 1] : {whole} to {inner}
  %empty = tensor.empty() : {inner}
  %sum = linalg.add ins(%part, %part : {inner}, {inner}) outs(%empty : {inner}) -> {inner}
  return %sum : {inner}
}}
""", target="cpu:host", threads=1)
    x = data(rows, width + 2)
    memory = np.full(rows * width * 4 + 256, 77, np.uint8)
    begin = -memory.ctypes.data % 64 + offset
    program(x, out=memory[begin:begin + rows * width * 4].view(np.float32).reshape(rows, width))
    assert np.array_equal(memory[begin:begin + rows * width * 4].view(np.float32).reshape(rows, width), 2 * x[:, 1:-1])
    assert (memory[:begin] == 77).all() and (memory[begin + rows * width * 4:] == 77).all(), "written beside the result"


@pytest.mark.parametrize("type, operation", [
    ("f32", "arith.addf"), ("f64", "arith.addf"), ("f16", "arith.addf"), ("i8", "arith.addi"), ("i16", "arith.addi"),
    ("i32", "arith.addi"), ("i64", "arith.addi")])
def test_types(type, operation):
    program = tilewright.compile(elementwise(type, operation=operation))
    dtype = {"f": "float", "i": "int"}[type[0]] + type[1:]
    a, b = data(4, 8, dtype=dtype), data(4, 8, dtype=dtype)
    result = program(a, b)
    assert result.dtype == a.dtype and np.array_equal(result, a + b)


def with_constant(constant, type, count, resources=""):
    """x + constant, both of `count` elements."""
    operation, tensor = "addf" if type.startswith("f") else "addi", f"tensor<{count}x{type}>"
    return f"""func.func @f(%x: {tensor}) -> {tensor} {{
  %c = arith.constant {constant} : {tensor}
  %e = tensor.empty() : {tensor}
  %y = linalg.generic {{indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>, affine_map<(i) -> (i)>],
                       iterator_types = ["parallel"]}} ins(%x, %c : {tensor}, {tensor}) outs(%e : {tensor}) {{
  ^bb0(%a: {type}, %b: {type}, %o: {type}):
    %s = arith.{operation} %a, %b : {type}
    linalg.yield %s : {type}
  }} -> {tensor}
  return %y : {tensor}
}}
{resources}"""


@pytest.mark.parametrize("type", ["f64", "f32", "f16", "i64", "i32", "i16", "i8"])
@pytest.mark.parametrize("bytes", [4000, 80000], ids=["small", "large"])
def test_constants(type, bytes):
    """Large constants go to the object file as bytes, small ones as numbers."""
    dtype = np.dtype({"f": "float", "i": "int"}[type[0]] + type[1:])
    count = bytes // dtype.itemsize
    c, x = data(count, dtype=dtype), data(count, dtype=dtype)
    x[:9] = 0
    words = c.tobytes().hex().upper()
    listed = "dense<[" + ", ".join(str(n) if dtype.kind == "i" else f"{n:.6f}" for n in c.tolist()) + "]>"
    blob = f'{{-#\n  dialect_resources: {{ builtin: {{ c: "0x{8:02X}000000{words}" }} }}\n#-}}\n'
    for constant, resources in ((listed, ""), (f'dense<"0x{words}">', ""), ("dense_resource<c>", blob), ("dense<3>" if dtype.kind == "i" else
                                                                                                      "dense<3.0>", "")):
        result = tilewright.compile(with_constant(constant, type, count, resources))(x)
        want = x + (3 if constant.startswith("dense<3") else c)
        assert result.dtype == dtype and np.array_equal(result, want.astype(dtype))


ASSERTED = """#id = affine_map<(d0) -> (d0)>
func.func @f(%x: tensor<?xf32>, %i: tensor<?xi64>) -> tensor<?xf32> {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0 : i64
  %n = tensor.dim %x, %c0 : tensor<?xf32>
  %e = tensor.empty(%n) : tensor<?xf32>
  %y = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel"]}
      ins(%x, %i : tensor<?xf32>, tensor<?xi64>) outs(%e : tensor<?xf32>) {
  ^bb0(%a: f32, %j: i64, %o: f32):
    %k = linalg.index 0 : index
    %p = arith.index_cast %k : index to i64
    %s = arith.addi %j, %p : i64
    %ok = arith.cmpi sge, %s, %zero : i64
    cf.assert %ok, "an index is negative"
    %r = arith.addf %a, %a : f32
    linalg.yield %r : f32
  } -> tensor<?xf32>
  return %y : tensor<?xf32>
}
"""


@pytest.mark.parametrize("target, device", [("cpu:host", "host"), ("nvidia:H200", "emulator")])
def test_assertions_inside_of_nests(target, device):
    """As torch-mlir writes them; the condition is one of the element and of its position."""
    program = tilewright.compile(ASSERTED, target=target, device=device)
    x = data(40)
    assert np.array_equal(program(x, -np.arange(40)), x + x)
    assert program(x[:0], np.arange(0)).shape == (0,)
    for place in (0, 39):
        indices = -np.arange(40)
        indices[place] -= 1
        with pytest.raises(tilewright.CallError):
            program(x, indices)


def test_large_constants_are_bytes(tmp_path):
    for count, expected in ((1000, b"[1000 x float]"), (20000, b"[80000 x i8]")):
        (tmp_path / "c.mlir").write_text(with_constant(f'dense<"0x{data(count).tobytes().hex()}">', "f32", count))
        compiler = os.path.join(os.environ["TILEWRIGHT_SDK"], "bin/tw-compile")
        subprocess.run([compiler, tmp_path / "c.mlir", "-o", tmp_path / "c.ll"], capture_output=True, check=True)
        assert expected in (tmp_path / "c.ll").read_bytes()


def test_bytecode(tmp_path):
    """Bytecode holds constants as they lie in memory."""
    c, x = data(20000), data(20000)
    text = tmp_path / "c.mlir"
    text.write_text(with_constant(f'dense<"0x{c.tobytes().hex()}">', "f32", 20000))
    bytecode = subprocess.run([os.path.join(os.environ["TILEWRIGHT_SDK"], "bin/tw-opt"), "--emit-bytecode", text], capture_output=True, check=True)
    assert np.array_equal(tilewright.compile(bytecode.stdout)(x), x + c)


def test_bfloat16_is_that_of_ml_dtypes():
    import ml_dtypes

    program = tilewright.compile(elementwise("bf16"))
    a, b = (data(4, 8).astype(ml_dtypes.bfloat16) for _ in range(2))
    result = program(a, b)
    assert result.dtype == ml_dtypes.bfloat16 and np.array_equal(result, a + b)


def test_scales_are_those_of_ml_dtypes():
    import ml_dtypes

    text = """func.func @main(%a: tensor<4x8xf8E8M0FNU>, %b: tensor<4x8xf8E8M0FNU>) -> tensor<4x8xf8E8M0FNU> {
      %r = arith.mulf %a, %b : tensor<4x8xf8E8M0FNU>
      return %r : tensor<4x8xf8E8M0FNU>
    }"""
    exponents = np.arange(32).reshape(4, 8) - 16
    a, b = ((2.0**exponents).astype(ml_dtypes.float8_e8m0fnu) for _ in range(2))
    result = tilewright.compile(text)(a, b)
    assert result.dtype == ml_dtypes.float8_e8m0fnu and np.array_equal(result.astype(float), 2.0**(2 * exponents))


def test_booleans_and_unsigned_integers():
    program = tilewright.compile(elementwise("i1", operation="arith.xori"))
    a, b = data(4, 8, dtype=int) > 0, data(4, 8, dtype=int) > 0
    assert np.array_equal(program(a, b), a ^ b)
    program = tilewright.compile(elementwise("i8", operation="arith.addi"))
    a = np.full((4, 8), 200, np.uint8) # integers of one width differ only in how they are read
    assert np.array_equal(program(a, a).view(np.uint8), a + a)


def test_scalars_and_empty_arrays():
    program = tilewright.compile(elementwise(shape=""))
    assert program(np.float32(2), 3.0) == 5
    program = tilewright.compile(elementwise(shape="0x8"))
    assert program(data(0, 8), data(0, 8)).shape == (0, 8)


def test_strided_and_read_only_inputs():
    program = tilewright.compile(elementwise())
    a, b = data(8, 4).T, data(8, 16)[::2, ::2]
    b.flags.writeable = False
    assert np.array_equal(program(a, b), a + b)


class Foreign:
    """An array of somebody else's, by its interface alone."""

    def __init__(self, array):
        self._array = array
        self.__array_interface__ = array.__array_interface__


class ForeignDlpack:
    def __init__(self, array):
        self._array = array

    def __dlpack__(self, **keywords):
        return self._array.__dlpack__(**keywords)

    def __dlpack_device__(self):
        return self._array.__dlpack_device__()


def test_arrays_of_others():
    program = tilewright.compile(elementwise())
    a, b = data(4, 8), data(4, 8)
    assert np.array_equal(program(Foreign(a), ForeignDlpack(b)), a + b)


def test_given_results():
    program = tilewright.compile(elementwise())
    a, b, out = data(4, 8), data(4, 8), np.zeros((4, 8), np.float32)
    assert program(a, b, out=out) is out and np.array_equal(out, a + b)
    with pytest.raises(tilewright.ArgumentError, match="out 0 shares memory with an input"):
        program(a, b, out=a)
    with pytest.raises(tilewright.ArgumentError, match=r"out 0 has shape \(4, 4\); the program makes \(4, 8\)"):
        program(a, b, out=np.zeros((4, 4), np.float32))


def test_addresses():
    program = tilewright.compile(LINEAR)
    x, w, b, y = data(5, 8), data(8, 4), data(4), np.empty((5, 4), np.float32)
    assert program.launch(5, *(array.ctypes.data for array in (x, w, b, y))) is None
    assert np.array_equal(y, x @ w + b)
    with pytest.raises(tilewright.CallError, match="status 1: the program refuses its sizes -1") as caught:
        program.launch(-1, *(array.ctypes.data for array in (x, w, b, y)))
    assert caught.value.status == 1


ELEMENTS = """
func.func @elements(%a: tensor<9xf32>, %at: tensor<6xi32>) -> tensor<6xf32> {
  %e = tensor.empty() : tensor<6xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
      ins(%at : tensor<6xi32>) outs(%e : tensor<6xf32>) {
  ^bb0(%k: i32, %out: f32):
    %p = arith.index_cast %k : i32 to index
    %x = tensor.extract %a[%p] : tensor<9xf32>
    linalg.yield %x : f32
  } -> tensor<6xf32>
  return %r : tensor<6xf32>
}"""


@pytest.mark.parametrize("place", [{}, {"target": "nvidia:H200", "device": "emulator"}])
def test_check_indices(place):
    program = tilewright.compile(ELEMENTS, name="elements.mlir", check_indices=True, **place)
    a, at = data(9), np.array([8, 0, 3, 3, 1, 7], np.int32)
    assert np.array_equal(program(a, at), a[at])
    at[2] = 9
    message = r"elements.mlir:8:10: index 9 is outside of dimension 0 of argument 0 \(tensor<9xf32>\), whose extent is 9"
    with pytest.raises(tilewright.CallError, match=message) as caught:
        program(a, at)
    assert place or caught.value.status == 9


@pytest.mark.parametrize("inputs, message", [
    (lambda: (data(5, 8), data(8, 4)), "'linear' takes 3 inputs, 2 were given"),
    (lambda: (data(5, 8, dtype=np.float64), data(8, 4), data(4)), r"input 0 is float64\[5,8\]; the program takes f32\[n0,8\]"),
    (lambda: (data(5, 7), data(8, 4), data(4)), r"input 0 has shape \(5, 7\); its dimension 1 must be 8"),
    (lambda: (data(5), data(8, 4), data(4)), "input 0 has 1 dimensions"),
    (lambda: ("text", data(8, 4), data(4)), "input 0 is"),
    (lambda: (data(5, 8), None, data(4)), "input 1 is object"),
])
def test_wrong_arrays(inputs, message):
    program = tilewright.compile(LINEAR)
    with pytest.raises(tilewright.ArgumentError, match=message):
        program(*inputs())


def test_sizes_that_disagree():
    text = elementwise(shape="?x8").replace("tensor.empty()", "tensor.empty(%n)").replace(
        "  %e =", "  %c0 = arith.constant 0 : index\n  %n = tensor.dim %a0, %c0 : tensor<?x8xf32>\n  %e =")
    program = tilewright.compile(text)
    assert program(data(3, 8), data(3, 8)).shape == (3, 8)
    with pytest.raises(tilewright.ArgumentError):
        program(data(3, 8), data(2, 8))


def test_diagnostics_have_places():
    text = elementwise().replace("arith.addf %v0", "arith.addf %nothing")
    with pytest.raises(tilewright.CompileError) as caught:
        tilewright.compile(text, name="model.mlir")
    first = caught.value.diagnostics[0]
    assert (first.severity, first.file) == ("error", "model.mlir") and first.line == 7 and first.column > 0
    assert "undeclared SSA value" in first.message
    assert "model.mlir:7:" in str(caught.value)


def test_places_of_the_user_reach_diagnostics():
    """An importer writes where an operation came from; an error names that place."""
    text = """
    func.func @f(%a: tensor<4xcomplex<f32>> loc("model.py":12:3)) -> tensor<4xcomplex<f32>> {
      return %a : tensor<4xcomplex<f32>>
    }
    """
    with pytest.raises(tilewright.CompileError) as caught:
        tilewright.compile(text)
    assert ("model.py", 12) in [(d.file, d.line) for d in caught.value.diagnostics], caught.value.diagnostics


@pytest.mark.parametrize("text, message", [
    ("", "is empty; expected MLIR text with a function"),
    ("module {}", "no function"),
    (b"\0\1\2", "is binary; expected MLIR text or MLIR bytecode"),
    ("func.func private @f()", "no public function"),
])
def test_programs_that_are_none(text, message):
    with pytest.raises(tilewright.CompileError, match=message):
        tilewright.compile(text)


@pytest.mark.parametrize("options, message", [
    ({"target": "cpx:host"}, "unknown target 'cpx'; did you mean 'cpu'?"),
    ({"target": "nvidia:H20"}, "unknown chip of target 'nvidia' 'H20'; did you mean 'H200'"),
    ({"fp": "fats"}, "unknown value of 'fp' 'fats'; did you mean 'fast'?"),
    ({"threads": 0}, "threads=0 is out of range; expected 1 to 1024"),
    ({"device": "gpux"}, "unknown device 'gpux'"),
    ({"target": "nvidia:H200", "device": "host"}, "programs of 'nvidia:H200' do not run here"),
    ({"plugins": ["/nowhere.so"]}, "cannot load target plugin '/nowhere.so'"),
])
def test_bad_options(options, message):
    with pytest.raises(tilewright.OptionError, match=message):
        tilewright.compile(LINEAR, **options)


def test_functions_are_chosen():
    text = elementwise(name="f") + elementwise(operation="arith.mulf", name="g")
    a, b = data(4, 8), data(4, 8)
    assert np.array_equal(tilewright.compile(text, function="g")(a, b), a * b)
    with pytest.raises(tilewright.OptionError, match=r"has 2 public functions \(f, g\); name one with function="):
        tilewright.compile(text)
    with pytest.raises(tilewright.CompileError, match="unknown function 'h'"):
        tilewright.compile(text, function="h")


def test_several_threads():
    """Compilations and calls at once."""
    programs = [elementwise(shape=f"{n}x{m}") for n in (1, 3) for m in (8, 16)] * 2

    def run(number):
        program = tilewright.compile(programs[number], cache=False)
        a, b = (np.full(program.signature.inputs[0].fixed, value, np.float32) for value in (number, 1))
        return all(np.all(program(a, b) == number + 1) for _ in range(100))

    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        assert all(pool.map(run, range(len(programs))))


def test_one_program_in_several_threads():
    program = tilewright.compile(LINEAR)
    w, b = data(8, 4), data(4)

    def run(rows):
        x = np.full((rows, 8), rows, np.float32)
        return all(np.array_equal(program(x, w, b), x @ w + b) for _ in range(200))

    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        assert all(pool.map(run, range(1, 9)))


def test_other_threads_run_during_a_call():
    program = tilewright.compile(elementwise(shape="4096x4096"), cache=False)
    a = np.ones((4096, 4096), np.float32)
    ticks, stop = [], threading.Event()

    def tick():
        while not stop.is_set():
            ticks.append(time.perf_counter())
            time.sleep(0.001)

    thread = threading.Thread(target=tick)
    thread.start()
    begin = time.perf_counter()
    for _ in range(5):
        program(a, a)
    end = time.perf_counter()
    stop.set()
    thread.join()
    assert sum(begin < t < end for t in ticks) > 5


@pytest.mark.parametrize("target", ["nvidia:H200", "amd:MI300X"])
def test_the_emulator(target):
    program = tilewright.compile(MATMUL, target=target, device="emulator")
    a, b = data(64, 32, dtype=np.float16), data(32, 64, dtype=np.float16)
    c = program(a, b)
    assert np.array_equal(c, a.astype(np.float32) @ b.astype(np.float32))
    assert program.device == "emulator" and program.target == target


def test_sizes_that_the_program_makes():
    """A result whose size is data: called again with arrays that fit."""
    text = """
    func.func @f(%n: tensor<1xindex>) -> tensor<?xf32> {
      %c0 = arith.constant 0 : index
      %size = tensor.extract %n[%c0] : tensor<1xindex>
      %one = arith.constant 1.0 : f32
      %e = tensor.empty(%size) : tensor<?xf32>
      %r = linalg.fill ins(%one : f32) outs(%e : tensor<?xf32>) -> tensor<?xf32>
      return %r : tensor<?xf32>
    }"""
    program = tilewright.compile(text)
    assert program.signature.made == (0,)
    for size in (3, 7, 0):
        result = program(np.array([size]))
        assert result.shape == (size,) and np.all(result == 1)


def test_worker_process():
    program = tilewright.compile(LINEAR, cache=False, in_process=False)
    assert program(data(2, 8), data(8, 4), data(4)).shape == (2, 4)
    with pytest.raises(tilewright.CompileError) as caught:
        tilewright.compile(elementwise().replace("arith.addf", "arith.nothing"), cache=False, in_process=False)
    assert caught.value.diagnostics[0].line == 7


def test_worker_that_dies_is_replaced():
    from tilewright import compiler

    tilewright.compile(LINEAR, cache=False, in_process=False)
    emulated = tilewright.compile(LINEAR, target="nvidia:H200", device="emulator", in_process=False)
    os.kill(compiler._worker.process.pid, signal.SIGKILL)
    compiler._worker.process.wait()
    x, w, b = data(2, 8), data(8, 4), data(4)
    for program in (tilewright.compile(LINEAR, cache=False, in_process=False), emulated):
        np.testing.assert_allclose(program(x, w, b), x.astype(np.float64) @ w + b, rtol=1e-5, atol=1e-5)


def test_emulated_programs_in_the_worker():
    """Sizes of arrays follow those of a call; a refusal comes back as the error that it is; what nobody holds is dropped."""
    from tilewright import compiler

    program = tilewright.compile(LINEAR, target="amd:MI300X", device="emulator", in_process=False)
    w, b = data(8, 4), data(4)
    for rows in (3, 1, 0):
        x = data(rows, 8)
        np.testing.assert_allclose(program(x, w, b), x.astype(np.float64) @ w + b, rtol=1e-5, atol=1e-5)
    with pytest.raises(tilewright.CompileError) as caught:
        tilewright.compile(elementwise().replace("arith.addf", "arith.nothing"), target="amd:MI300X", device="emulator",
                           in_process=False)
    assert caught.value.diagnostics[0].line == 7
    number = program._code._number
    del program
    gc.collect()
    assert compiler._worker.dropped == [number]


def test_description():
    chip = tilewright.describe("nvidia:H200")
    assert chip["form"] == "launches" and "tw" in chip["outputs"] and chip["units"]
    assert tilewright.describe("cpu:host")["refusal"] == ""


def python(code, **environment):
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120,
                          env={**os.environ, **environment})


def test_no_sdk():
    result = python("import tilewright; tilewright.version()", TILEWRIGHT_SDK="/nowhere")
    assert "SdkError: TILEWRIGHT_SDK is '/nowhere', which has no libTilewright.so.0" in result.stderr


def test_frameworks_are_not_imported():
    result = python("import sys, tilewright; print([m for m in ('torch', 'jax', 'tensorflow', 'ml_dtypes') if m in sys.modules])")
    assert result.stdout.strip() == "[]", result


PLUGIN = """
import sys, tilewright
print(tilewright.describe("accelerator", plugins=[sys.argv[1]])["chip"], tilewright.describe("accelerator", plugins=[sys.argv[1]])["target"])
"""


def test_plugin_of_the_search_path():
    """A plugin that TILEWRIGHT_TARGET_PATH has loaded may be named, too."""
    folder = BUILD / "lib/tilewright"
    result = subprocess.run([sys.executable, "-c", PLUGIN, str(folder / "libtilewright-target-accelerator.so")], capture_output=True, text=True,
                            timeout=60, env={**os.environ, "TILEWRIGHT_TARGET_PATH": str(folder)})
    assert result.stdout.split()[1:] == ["accelerator"], result


def test_runtime_without_compiler(tmp_path):
    """A prefix with the runtime alone runs packages; what needs the compiler says what is missing."""
    (tmp_path / "lib").mkdir()
    shutil.copy(BUILD / "lib" / "libtilewright-runtime.so.0", tmp_path / "lib")
    result = python("from tilewright import _sdk; _sdk.load_runtime(); print('loaded'); _sdk.load_compiler()", TILEWRIGHT_SDK=str(tmp_path))
    assert result.stdout == "loaded\n"
    assert f"SdkError: TILEWRIGHT_SDK is '{tmp_path}', which has no libTilewright.so.0" in result.stderr


def test_bound_constants():
    """A program with a marked argument takes what `bind` makes of it as its last input."""
    text = """module attributes {tilewright.force = "bound_vectors=1"} {
func.func @product(%x: tensor<16x64xf32>, %w: tensor<64x48xf32> {tilewright.constant}) -> tensor<16x48xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<16x48xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<16x48xf32>) -> tensor<16x48xf32>
  %r = linalg.matmul ins(%x, %w : tensor<16x64xf32>, tensor<64x48xf32>) outs(%f : tensor<16x48xf32>) -> tensor<16x48xf32>
  return %r : tensor<16x48xf32>
}
}
"""
    program = tilewright.compile(text)
    signature = program.signature
    assert [a.is_bound for a in signature.inputs] == [False, False, True] and signature.bind_inputs == (1,)
    assert [str(a) for a in signature.bind.inputs] == ["f32[64,48]"] and signature.bind.results[0].fixed == (64 * 48 * 4,)
    x, w = data(16, 64), data(64, 48)
    bytes = np.empty(signature.bind.results[0].fixed, np.int8)
    program.bind(w.ctypes.data, bytes.ctypes.data)
    assert np.array_equal(program(x, w, bytes), x @ w)
    with pytest.raises(tilewright.ArgumentError, match="'mm' has no bound input: no argument is marked"):
        tilewright.compile(MATMUL).bind(w.ctypes.data, bytes.ctypes.data)
