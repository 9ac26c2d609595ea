"""The C interface in shared libraries and objects: called from Python and C, linked without gaps, for other chips too."""

import ctypes
import itertools
import os
import platform
import shutil
import subprocess
import sys
import threading

import numpy as np
import pytest

from conftest import BUILD, SOURCE

EXAMPLE = SOURCE / "examples" / "c-program"


def reference(x, w1, b1, w2, b2):
    hidden = np.maximum(x.astype("f8") @ w1 + b1, 0)
    return hidden @ w2 + b2


def arguments(n):
    random = np.random.default_rng(n)
    shapes = [(n, 64), (64, 128), (128,), (128, 10), (10,)]
    return [random.integers(-8, 8, shape).astype("f4") / 8 for shape in shapes]


def pointers(*arrays):
    return [array.ctypes.data_as(ctypes.c_void_p) for array in arrays]


@pytest.mark.parametrize("threads", [1, 2])
def test_shared_library(tool, tmp_path, threads):
    path = tmp_path / "mlp.so"
    tool("tw-compile", EXAMPLE / "mlp.mlir", f"--threads={threads}", "-o", path)
    needed = subprocess.run(["ldd", path], capture_output=True, text=True).stdout
    assert ("libomp" in needed) <= (threads > 1), needed
    assert "libgcc" not in needed and "MLIR" not in needed and "stdc++" not in needed, needed
    library = ctypes.CDLL(str(path))
    library.mlp_workspace.restype = ctypes.c_int64
    for n in (0, 1, 37, 128):
        inputs = arguments(n)
        out, again = (np.full((n, 10), np.nan, "f4") for _ in range(2))
        assert library.mlp(ctypes.c_int64(n), *pointers(*inputs, out)) == 0
        np.testing.assert_allclose(out, reference(*inputs), rtol=1e-6)
        workspace = np.zeros(library.mlp_workspace(ctypes.c_int64(n)) + 64, "u1")
        start = ctypes.c_void_p((workspace.ctypes.data + 63) // 64 * 64)
        assert library.mlp_in(ctypes.c_int64(n), *pointers(*inputs, again), start) == 0
        assert out.tobytes() == again.tobytes()
    assert library.mlp(ctypes.c_int64(-1), *pointers(*inputs, out)) == 1


def test_threads_of_the_caller(tool, tmp_path):
    """Each calling thread has an arena of its own."""
    path = tmp_path / "mlp.so"
    tool("tw-compile", EXAMPLE / "mlp.mlir", "-o", path)
    library = ctypes.CDLL(str(path))
    wrong = []

    def work(n):
        inputs = arguments(n)
        for _ in range(50):
            out = np.full((n, 10), np.nan, "f4")
            status = library.mlp(ctypes.c_int64(n), *pointers(*inputs, out))
            if status or not np.allclose(out, reference(*inputs), rtol=1e-6):
                wrong.append(n)

    workers = [threading.Thread(target=work, args=(n,)) for n in (5, 64, 33, 17)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert not wrong


def test_same_bytes_for_any_number_of_threads(tool, tmp_path):
    results = []
    for threads in (1, 2, 3):
        path = tmp_path / f"{threads}.npy"
        tool("tw-run", EXAMPLE / "mlp.mlir", "--sizes=61", f"--threads={threads}", "--output", path)
        results.append(path.read_bytes())
    assert results[0] == results[1] == results[2]


def test_sizes_that_no_memory_holds(tool, tmp_path):
    """Products of sizes beyond 64 bits: too large arrays disagree, too large temporaries are out of memory; nothing is read."""
    source = tmp_path / "wide.mlir"
    source.write_text("""
      func.func @wide(%a: tensor<?x1xf32>, %b: tensor<1x?xf32>, %c: tensor<?x1xf32>) -> tensor<?x1xf32> {
        %c0 = arith.constant 0 : index
        %c1 = arith.constant 1 : index
        %zero = arith.constant 0.0 : f32
        %m = tensor.dim %a, %c0 : tensor<?x1xf32>
        %n = tensor.dim %b, %c1 : tensor<1x?xf32>
        %e = tensor.empty(%m, %n) : tensor<?x?xf32>
        %f = linalg.fill ins(%zero : f32) outs(%e : tensor<?x?xf32>) -> tensor<?x?xf32>
        %t = linalg.matmul ins(%a, %b : tensor<?x1xf32>, tensor<1x?xf32>) outs(%f : tensor<?x?xf32>) -> tensor<?x?xf32>
        %e2 = tensor.empty(%m) : tensor<?x1xf32>
        %f2 = linalg.fill ins(%zero : f32) outs(%e2 : tensor<?x1xf32>) -> tensor<?x1xf32>
        %r = linalg.matmul ins(%t, %c : tensor<?x?xf32>, tensor<?x1xf32>) outs(%f2 : tensor<?x1xf32>) -> tensor<?x1xf32>
        return %r : tensor<?x1xf32>
      }
      func.func @copy(%x: tensor<?x?xf32>) -> tensor<?x?xf32> {
        %y = arith.negf %x : tensor<?x?xf32>
        return %y : tensor<?x?xf32>
      }""")
    tool("tw-compile", source, "-o", tmp_path / "wide.so")
    library = ctypes.CDLL(tmp_path / "wide.so")
    size, null = ctypes.c_int64, ctypes.c_void_p(0)
    library.wide_workspace.restype = ctypes.c_int64
    assert library.wide_workspace(size(1000), size(1000)) >= 4_000_000
    for m, n in ((2**33, 2**33), (2**32, 2**32), (2**40, 2**40), (2**31, 2**33), (1, 2**60)):
        assert library.wide_workspace(size(m), size(n)) > 2**48
        assert library.wide(size(m), size(n), null, null, null, null) in (1, 2)
    assert library.wide(size(2**33), size(2**33), null, null, null, null) == 2
    for m, n in ((2**32, 2**32), (2**62, 4), (4, 2**62), (2**40, 2**40)):
        assert library.copy(size(m), size(n), null, null) == 1


@pytest.mark.parametrize("element, chip", [
    *itertools.product(["bf16", "f16"], ["x86-64", "x86-64-v3", "zen4", "sapphire-rapids"])])
def test_no_missing_builtins(tool, tmp_path, element, chip):
    """Narrow floats without instructions of the chip: every function must be found at link time (-z defs)."""
    source = tmp_path / "narrow.mlir"
    source.write_text(
        f"""func.func @narrow(%a: tensor<?x{element}>, %d: tensor<?xf64>, %n: tensor<?xi32>, %c: i1, %x: {element})
    -> (tensor<?x{element}>, tensor<?x{element}>, tensor<?x{element}>, {element}, {element}) {{
  %e = math.exp %a : tensor<?x{element}>
  %s = arith.addf %e, %a : tensor<?x{element}>
  %t = arith.truncf %d : tensor<?xf64> to tensor<?x{element}>
  %i = arith.sitofp %n : tensor<?xi32> to tensor<?x{element}>
  %zero = arith.constant 0.0 : {element}
  %one = arith.constant 1.0 : {element}
  %greatest = arith.maximumf %x, %one : {element}
  %init = tensor.splat %zero : tensor<{element}>
  %sum = linalg.reduce ins(%a : tensor<?x{element}>) outs(%init : tensor<{element}>) dimensions = [0]
    (%in: {element}, %out: {element}) {{
      %y = arith.addf %in, %out : {element}
      linalg.yield %y : {element}
    }}
  %total = tensor.extract %sum[] : tensor<{element}>
  %chosen = scf.if %c -> {element} {{
    scf.yield %total : {element}
  }} else {{
    %half = arith.divf %greatest, %x : {element}
    scf.yield %half : {element}
  }}
  return %s, %t, %i, %greatest, %chosen : tensor<?x{element}>, tensor<?x{element}>, tensor<?x{element}>, {element}, {element}
}}
func.func @widened(%a: tensor<{element}>) -> (tensor<{element}>, tensor<f64>) {{
  %e = math.erf %a : tensor<{element}>
  %w = arith.extf %e : tensor<{element}> to tensor<f64>
  %s = math.sin %w : tensor<f64>
  return %e, %s : tensor<{element}>, tensor<f64>
}}"""
    )
    tool("tw-compile", source, "--target", f"cpu:{chip}", "-o", tmp_path / "narrow.so")
    if chip in ("x86-64", "x86-64-v3") and platform.machine() == "x86_64":
        tool("tw-run", source, "--function=narrow", "--target", f"cpu:{chip}", "--sizes=53,77,19", "--verify")


#: Doubles an array `steps` times: sizes known only inside the loop, buffers carried around it.
GROW = """func.func @grow(%x: tensor<?xf32>, %steps: index) -> tensor<?xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %grown = scf.for %i = %c0 to %steps step %c1 iter_args(%t = %x) -> (tensor<?xf32>) {
    %n = tensor.dim %t, %c0 : tensor<?xf32>
    %m = arith.muli %n, %c2 : index
    %d = tensor.generate %m {
    ^bb0(%j: index):
      %h = arith.divui %j, %c2 : index
      %v = tensor.extract %t[%h] : tensor<?xf32>
      tensor.yield %v : f32
    } : tensor<?xf32>
    scf.yield %d : tensor<?xf32>
  }
  %n = tensor.dim %x, %c0 : tensor<?xf32>
  %part = tensor.extract_slice %grown[0] [%n] [1] : tensor<?xf32> to tensor<?xf32>
  return %part : tensor<?xf32>
}"""

#: Runs in a process of its own, whose address space is limited.
OUT_OF_MEMORY = """
import ctypes, resource, sys
import numpy as np
mlp, grow = (ctypes.CDLL(path) for path in sys.argv[1:])
def pointer(array):
    return array.ctypes.data_as(ctypes.c_void_p)
used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + (600 << 20), used + (600 << 20)))

# The workspace of 2^33 rows cannot be had: status 2 before any array is touched, and the thread's arena still works.
some = np.zeros(64 * 128, "f4")
def call_mlp(n, out):
    return mlp.mlp(ctypes.c_int64(n), *[pointer(some)] * 5, pointer(out))
out = np.ones((3, 10), "f4")
for n, status in ((3, 0), (1 << 33, 2), (3, 0), (1 << 33, 2)):
    assert call_mlp(n, out) == status, (n, status)

# Inside the body: what the call had allocated until then is freed, else the later calls would not find room.
x = np.arange(1 << 20, dtype="f4")
def call_grow(steps):
    y = np.full_like(x, np.nan)
    n = ctypes.c_int64(len(x))
    return grow.grow(n, pointer(x), pointer(np.array([steps], "i8")), pointer(y)), y
for round in range(6):
    assert call_grow(20)[0] == 2
    status, y = call_grow(5)   # 4 MiB x (2 + 4 + ... + 32) = 248 MiB
    assert status == 0 and (y == np.arange(1 << 20) // 32).all()
print("ok")
"""


def test_out_of_memory(tool, tmp_path):
    """Status 2 where memory cannot be had, for the workspace and for allocations inside the body; nothing leaks."""
    source = tmp_path / "grow.mlir"
    source.write_text(GROW)
    tool("tw-compile", EXAMPLE / "mlp.mlir", "-o", tmp_path / "mlp.so")
    tool("tw-compile", source, "-o", tmp_path / "grow.so")
    result = subprocess.run([sys.executable, "-c", OUT_OF_MEMORY, tmp_path / "mlp.so", tmp_path / "grow.so"],
                            capture_output=True, text=True)
    assert result.stdout == "ok\n", result


def test_two_programs_in_one_executable(tool, tmp_path):
    """Objects show the C interface and nothing else, so that they can be linked together."""
    for name in ("first", "second"):
        source = tmp_path / f"{name}.mlir"
        source.write_text((EXAMPLE / "mlp.mlir").read_text().replace("@mlp", f"@{name}"))
        tool("tw-compile", source, "-o", tmp_path / f"{name}.o")
    symbols = subprocess.run(["/usr/lib/llvm-22/bin/llvm-nm", "--defined-only", "--extern-only", "-j", tmp_path / "first.o"],
                             capture_output=True, text=True, check=True).stdout.split()
    assert sorted(symbols) == ["first", "first_in", "first_packed", "first_workspace"]
    subprocess.run(["ld.lld-22", "-shared", tmp_path / "first.o", tmp_path / "second.o", "-o", tmp_path / "both.so"],
                   check=True)


def test_c_program_through_the_installed_package(tmp_path):
    if not (BUILD / "CMakeCache.txt").exists() or not shutil.which("cmake"):
        pytest.skip("no build tree to install from")
    prefix = tmp_path / "prefix"
    subprocess.run(["cmake", "--install", BUILD, "--prefix", prefix], check=True, capture_output=True)
    configure = ["cmake", "-S", EXAMPLE, "-B", tmp_path / "build", f"-DCMAKE_PREFIX_PATH={prefix}"]
    subprocess.run(configure, check=True, capture_output=True)
    subprocess.run(["cmake", "--build", tmp_path / "build"], check=True, capture_output=True)
    result = subprocess.run([tmp_path / "build" / "classify"], capture_output=True, text=True)
    assert result.returncode == 0 and result.stdout.startswith("ok: status 0, 0 of 370 elements wrong"), result


@pytest.mark.skipif(
    not shutil.which("qemu-aarch64") or not shutil.which("clang-22") or platform.machine() == "aarch64",
    reason="needs an emulator and a cross compiler",
)
def test_aarch64_ahead_of_time(tool, tmp_path):
    if not os.path.exists("/usr/aarch64-linux-gnu/lib/libc.so.6"):
        pytest.skip("no AArch64 C library")
    tool("tw-compile", EXAMPLE / "mlp.mlir", "--target=cpu:neoverse-v1", "-o", tmp_path / "mlp.so",
         "--header", tmp_path / "mlp.h")
    program = tmp_path / "classify"
    gcc = shutil.which("aarch64-linux-gnu-gcc")
    if not gcc:
        pytest.skip("no aarch64-linux-gnu-gcc")
    subprocess.run([gcc, "-I", tmp_path, EXAMPLE / "main.c", tmp_path / "mlp.so", "-lm", "-o", program], check=True)
    result = subprocess.run(["qemu-aarch64", "-cpu", "max", "-L", "/usr/aarch64-linux-gnu", "-E",
                             f"LD_LIBRARY_PATH={tmp_path}", program], capture_output=True, text=True)
    assert result.returncode == 0 and result.stdout.startswith("ok"), result
