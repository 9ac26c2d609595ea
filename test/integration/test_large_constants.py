"""Constants of many bytes: they lie in what is written once and aligned, in text, as resources and in bytecode, with several in one
program and data of LLVM's own beside them; what they take of memory and time, and what is said of those that are damaged."""

import ctypes
import shutil
import subprocess
import sys

import numpy as np
import pytest

from conftest import BUILD, FULL

ALIGNMENT = 64
ROWS = 64  # 64 x 301 numbers of f32 are 77,056 bytes


def numbers(columns, seed=0):
    return np.random.default_rng(seed).integers(-99, 99, (ROWS, columns)).astype(np.float32) / 8


def program(columns, constants, resources="", function="math.absf"):
    """y = function(x) * w + v, with w and v of the texts `constants`, and a function whose numbers LLVM keeps in memory."""
    tensor = f"tensor<{ROWS}x{columns}xf32>"
    same = "affine_map<(i, j) -> (i, j)>"
    return f"""func.func @f(%x: {tensor}) -> {tensor} {{
  %w = arith.constant {constants[0]} : {tensor}
  %v = arith.constant {constants[1]} : {tensor}
  %e = tensor.empty() : {tensor}
  %y = linalg.generic {{indexing_maps = [{same}, {same}, {same}, {same}], iterator_types = ["parallel", "parallel"]}}
      ins(%x, %w, %v : {tensor}, {tensor}, {tensor}) outs(%e : {tensor}) {{
  ^bb0(%a: f32, %b: f32, %c: f32, %o: f32):
    %t = {function} %a : f32
    %p = arith.mulf %t, %b : f32
    %s = arith.addf %p, %c : f32
    linalg.yield %s : f32
  }} -> {tensor}
  return %y : {tensor}
}}
{resources}"""


def digits(array):
    return array.tobytes().hex().upper()


def section(**arrays):
    entries = ",\n".join(f'      {name}: "0x40000000{digits(array)}"' for name, array in arrays.items())
    return f"{{-#\n  dialect_resources: {{\n    builtin: {{\n{entries}\n    }}\n  }}\n#-}}\n"


def written(form, w, v, path, function):
    """A file with the program in one of its forms."""
    columns = w.shape[1]
    if form.startswith("dense"):
        path.write_text(program(columns, [f'dense<"0x{digits(w)}">', f'dense<"0x{digits(v)}">'], function=function))
    else:
        path.write_text(program(columns, ["dense_resource<w>", "dense_resource<v>"], section(w=w, v=v), function))
    if form.endswith("bytecode"):
        subprocess.run([BUILD / "bin/tw-opt", path, "--emit-bytecode", "-o", path], check=True)


def call(library, x):
    y = np.zeros_like(x)
    assert ctypes.CDLL(str(library)).f(ctypes.c_void_p(x.ctypes.data), ctypes.c_void_p(y.ctypes.data)) == 0
    return y


@pytest.mark.parametrize("form", ["dense", "resource", "dense bytecode", "resource bytecode"])
@pytest.mark.parametrize("function", ["math.absf", "math.exp"])
def test_once_and_aligned(form, function, tool, tmp_path):
    """In a library and in an object file, which the system's linker takes; exp has tables of its own, so that the sections lie in
    another order."""
    w, v, x = numbers(301), numbers(301, 1), numbers(301, 2)
    text = tmp_path / "f.mlir"
    written(form, w, v, text, function)
    want = (np.exp(x) if function == "math.exp" else np.abs(x)).astype(np.float64) * w + v
    for kind in ("so", "o"):
        file = tmp_path / f"f.{kind}"
        tool("tw-compile", text, "-o", file)
        contents = file.read_bytes()
        for array in (w, v):
            assert contents.count(array.tobytes()) == 1
            assert contents.index(array.tobytes()) % ALIGNMENT == 0
        assert len(contents) < w.nbytes + v.nbytes + 40000
        library = file
        if kind == "o":
            if shutil.which("cc") is None:
                continue
            library = tmp_path / "linked.so"
            subprocess.run(["cc", "-shared", "-o", library, file, "-lm"], check=True)
        np.testing.assert_allclose(call(library, x), want, rtol=1e-5, atol=1e-5)


MAIN = """#include <stdio.h>
int f(const float *, float *);
static float x[64 * 301], y[64 * 301];
int main(void) {
  for (int i = 0; i < 64 * 301; ++i) x[i] = -1;
  int status = f(x, y);
  fwrite(y, 1, sizeof y, stdout);
  return status;
}
"""


@pytest.mark.parametrize("chip, compiler, run", [("neoverse-v1", "aarch64-linux-gnu-gcc", ["qemu-aarch64", "-cpu", "max"]), ("x86-64", "cc", [])])
def test_another_machine(chip, compiler, run, tool, tmp_path):
    """An object file for another processor, run where the machine has one."""
    w, v = numbers(301), numbers(301, 1)
    written("dense", w, v, tmp_path / "f.mlir", "math.absf")
    tool("tw-compile", tmp_path / "f.mlir", "--target", f"cpu:{chip}", "-o", tmp_path / "f.o")
    assert (tmp_path / "f.o").read_bytes().count(w.tobytes()) == 1
    if not shutil.which(compiler) or not all(map(shutil.which, run[:1])):
        pytest.skip(f"{compiler} and {' '.join(run[:1])} are not installed")
    (tmp_path / "main.c").write_text(MAIN)
    subprocess.run([compiler, "-static", tmp_path / "main.c", tmp_path / "f.o", "-o", tmp_path / "main", "-lm"], check=True)
    result = subprocess.run([*run, tmp_path / "main"], check=True, capture_output=True).stdout
    assert np.array_equal(np.frombuffer(result, np.float32).reshape(w.shape), w + v)


@pytest.mark.parametrize("type, bytes", [("bf16", 2), ("f8E4M3FN", 1), ("f16", 2), ("i8", 1), ("i1", 1)])
def test_types(type, bytes, tool, tmp_path):
    """The text's elements are those of the list, whatever reads them; booleans are packed in a `dense`."""
    count = 1 << 20 if type == "i1" else 70000 // bytes
    values = np.random.default_rng(3).integers(0, 60, count * bytes, np.uint8)
    if type == "i1":
        bits = (values[:count] > 29).astype(np.uint8)
        values, want = np.packbits(bits, bitorder="little"), bits
    else:
        want = values
    text = tmp_path / "f.mlir"
    text.write_text(f"""func.func @f() -> tensor<{count}x{type}> {{
  %w = arith.constant dense<"0x{digits(values)}"> : tensor<{count}x{type}>  // "0x
  return %w : tensor<{count}x{type}>
}}
""")
    tool("tw-compile", text, "-o", tmp_path / "f.so")
    y = np.zeros(count * bytes, np.uint8)
    assert ctypes.CDLL(str(tmp_path / "f.so")).f(ctypes.c_void_p(y.ctypes.data)) == 0
    assert np.array_equal(y, want)


def test_one_number_is_not_written_out(tool, tmp_path):
    """A literal whose elements are all the same takes no room."""
    w, v, x = np.full((ROWS, 301), 2.5, np.float32), numbers(301, 1), numbers(301, 2)
    written("dense", w, v, tmp_path / "f.mlir", "math.absf")
    tool("tw-compile", tmp_path / "f.mlir", "-o", tmp_path / "f.so")
    assert (tmp_path / "f.so").stat().st_size < v.nbytes + 40000
    np.testing.assert_allclose(call(tmp_path / "f.so", x), np.abs(x) * w + v, rtol=1e-6)


def refusal(text, tmp_path):
    (tmp_path / "f.mlir").write_text(text)
    run = subprocess.run([BUILD / "bin/tw-compile", tmp_path / "f.mlir", "-o", tmp_path / "f.so"], capture_output=True, text=True)
    assert run.returncode == 1 and not (tmp_path / "f.so").exists()
    assert len(run.stderr) < 2000 or "0x" in run.stderr
    return run.stderr


def test_bad_constants(tmp_path):
    w, v = numbers(301), numbers(301, 1)
    for constants, resources in (([f'dense<"0x{digits(w)[:-8]}">', "dense<1.0>"], ""),
                                 (["dense_resource<w>", "dense<1.0>"], section(w=w.reshape(-1)[:-1]))):
        message = refusal(program(301, constants, resources), tmp_path)
        assert "f.mlir:2:8: error: 'arith.constant' op has a constant of 77052 bytes; its type 'tensor<64x301xf32>' takes 77056" in message
    bad = digits(w)[:-2] + "G0"
    assert "hex" in refusal(program(301, [f'dense<"0x{bad}">', "dense<1.0>"]), tmp_path)
    assert "f.mlir:2:" in refusal(program(301, [f'dense<"0x{digits(w)[:-1]}">', "dense<1.0>"]), tmp_path)
    assert "f.mlir:" in refusal(program(301, [f'dense<"0x{digits(w)}', "dense<1.0>"]), tmp_path)


def usage(path, folder):
    """Seconds of the processor and bytes of memory of one compilation."""
    script = ("import resource, subprocess, sys\nsubprocess.run(sys.argv[1:], check=True)\nuse = resource.getrusage(resource.RUSAGE_CHILDREN)\n"
              "print(use.ru_utime + use.ru_stime, use.ru_maxrss * 1024)")
    run = subprocess.run([sys.executable, "-c", script, BUILD / "bin/tw-compile", path, "-o", folder / "f.so"], check=True,
                         capture_output=True, text=True)
    return tuple(map(float, run.stdout.split()))


@pytest.mark.parametrize("form", ["dense", "resource", "resource bytecode"] if FULL else ["dense"])
def test_memory_and_time(form, tmp_path):
    """At most 1.5 x their size of memory; in the full mode, at 100 and more megabytes, at least 300 MB/s of processor time."""
    small, columns = numbers(301), 500_000 if FULL else 125_000
    written(form, small, small + 1, tmp_path / "f.mlir", "math.absf")
    base = usage(tmp_path / "f.mlir", tmp_path)
    w, v = (np.random.default_rng(seed).standard_normal((ROWS, columns), np.float32) for seed in range(2))
    written(form, w, v, tmp_path / "f.mlir", "math.absf")
    samples = [usage(tmp_path / "f.mlir", tmp_path) for _ in range(5 if FULL else 1)]
    size = w.nbytes + v.nbytes
    assert min(memory for _, memory in samples) - base[1] <= 1.5 * size
    if FULL:
        assert size / (min(seconds for seconds, _ in samples) - base[0]) >= 300e6
    assert (tmp_path / "f.so").stat().st_size < size + 40000
