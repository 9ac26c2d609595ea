"""Sizes that follow from data: the caller's arrays have them, and operands agree, or the call ends and nothing is written."""

import ctypes
import json
import mmap
import subprocess
import sys

import numpy as np
import pytest

from conftest import BUILD
from scratchpads import PLUGIN, as_library

#: A loop that drops elements from the front and doubles the others until `k` are left: the result is what it carried last.
SHRINK = """
func.func @shrink(%a: tensor<?xf32>, %k: tensor<1xi64>) -> tensor<?xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %two = arith.constant 2.0 : f32
  %read = tensor.extract %k[%c0] : tensor<1xi64>
  %index = arith.index_cast %read : i64 to index
  %n = arith.maxsi %index, %c0 : index
  %r = scf.while (%x = %a) : (tensor<?xf32>) -> tensor<?xf32> {
    %d = tensor.dim %x, %c0 : tensor<?xf32>
    %more = arith.cmpi sgt, %d, %n : index
    scf.condition(%more) %x : tensor<?xf32>
  } do {
  ^bb0(%y: tensor<?xf32>):
    %d = tensor.dim %y, %c0 : tensor<?xf32>
    %m = arith.subi %d, %c1 : index
    %u = tensor.extract_slice %y[1] [%m] [1] : tensor<?xf32> to tensor<?xf32>
    %w = arith.addf %u, %u : tensor<?xf32>
    scf.yield %w : tensor<?xf32>
  }
  return %r : tensor<?xf32>
}"""


def shrunk(a, k):
    return a[len(a) - k:] * 2.0 ** (len(a) - k) if k < len(a) else a


#: A size that is read: computed in place, in the caller's array.
ROWS = """
func.func @rows(%k: tensor<2xi64>, %s: tensor<5xf32>) -> (tensor<?x5xf32>, tensor<?xi64>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %k0 = tensor.extract %k[%c0] : tensor<2xi64>
  %k1 = tensor.extract %k[%c1] : tensor<2xi64>
  %n = arith.index_cast %k0 : i64 to index
  %m = arith.index_cast %k1 : i64 to index
  %e = tensor.empty(%n) : tensor<?x5xf32>
  %b = linalg.broadcast ins(%s : tensor<5xf32>) outs(%e : tensor<?x5xf32>) dimensions = [0]
  %r = arith.mulf %b, %b : tensor<?x5xf32>
  %i = tensor.generate %m {
  ^bb0(%j: index):
    %v = arith.index_cast %j : index to i64
    tensor.yield %v : i64
  } : tensor<?xi64>
  return %r, %i : tensor<?x5xf32>, tensor<?xi64>
}"""

#: The product of two sizes, which no affine equality says, and a scalar argument.
FLAT = """
func.func @flat(%a: tensor<?x?xf32>, %n: index) -> (tensor<?xf32>, tensor<?xf32>) {
  %one = arith.constant 1.0 : f32
  %x = arith.addf %a, %a : tensor<?x?xf32>
  %c = tensor.collapse_shape %x [[0, 1]] : tensor<?x?xf32> into tensor<?xf32>
  %e = tensor.empty(%n) : tensor<?xf32>
  %f = linalg.fill ins(%one : f32) outs(%e : tensor<?xf32>) -> tensor<?xf32>
  return %c, %f : tensor<?xf32>, tensor<?xf32>
}"""


class Guarded:
    """Room for `count` elements that ends at a page nobody may touch; canary bytes before it."""

    def __init__(self, count, kind):
        kind, page = np.dtype(kind), mmap.PAGESIZE
        bytes_ = count * kind.itemsize
        pages = (bytes_ + page - 1) // page + 1
        self.memory = mmap.mmap(-1, (pages + 1) * page)
        self.whole = np.frombuffer(self.memory, np.uint8)
        libc = ctypes.CDLL(None, use_errno=True)
        assert libc.mprotect(ctypes.c_void_p(self.whole.ctypes.data + pages * page), page, 0) == 0
        start = pages * page - bytes_
        self.before, self.array = self.whole[:start], self.whole[start:pages * page].view(kind)
        self.whole[:pages * page] = 0xA5

    def untouched(self):
        return (self.before == 0xA5).all()

    def unwritten(self):
        return self.untouched() and (self.array.view(np.uint8) == 0xA5).all()


def pointer(array):
    return array.ctypes.data_as(ctypes.c_void_p)


size = ctypes.c_int64


def compiled(tool, folder, text, name, *options):
    source = folder / f"{name}.mlir"
    source.write_text(text)
    tool("tw-compile", source, *options, "-o", folder / f"{name}.so", "--header", folder / f"{name}.h")
    return ctypes.CDLL(str(folder / f"{name}.so"))


def check_shrink(library):
    """Calls with the right size and with wrong ones: only the right one is accepted, and nothing beyond it is written."""
    a = np.arange(9, dtype="f4")
    for k in (0, 1, 4, 9):
        for n in range(12):
            out = Guarded(n, "f4")
            status = library.shrink(size(9), size(n), pointer(a), pointer(np.array([k], "i8")), pointer(out.array))
            assert status == (n != k), (k, n)
            assert out.untouched() if n == k else out.unwritten(), (k, n)
            assert n != k or (out.array == shrunk(a, k)).all()


@pytest.mark.parametrize("threads", [1, 2])
def test_a_loop_that_shrinks(tool, tmp_path, threads):
    library = compiled(tool, tmp_path, SHRINK, "shrink", f"--threads={threads}")
    check_shrink(library)
    assert "requires n1 to be what the program makes of its data" in (tmp_path / "shrink.h").read_text()


@pytest.mark.parametrize("threads", [1, 2])
def test_a_size_that_is_read(tool, tmp_path, threads):
    """In place; of two results the second may be refused when the first has been written, and the other way round."""
    library = compiled(tool, tmp_path, ROWS, "rows", f"--threads={threads}")
    s = np.array([1, 2, 3, 4, 5], "f4")
    for k, m in ((0, 0), (3, 7), (1000, 1), (-1, 4), (1 << 62, 3), (3, -(1 << 63))):
        for n, o in {(k, m), (k + 1, m), (k - 1, m), (k, m + 1), (k, m - 1), (0, 0), (5, 5)}:
            if not (0 <= n <= 2000 and 0 <= o <= 2000):
                continue
            rows, numbers = Guarded(5 * n, "f4"), Guarded(o, "i8")
            status = library.rows(size(n), size(o), pointer(np.array([k, m], "i8")), pointer(s), pointer(rows.array),
                                  pointer(numbers.array))
            assert status == ((n, o) != (k, m)), (k, m, n, o)
            assert rows.untouched() and numbers.untouched()
            assert n == k or rows.unwritten()
            assert o == m or numbers.unwritten()
            if status == 0:
                assert (rows.array.reshape(n, 5) == s * s).all() and (numbers.array == np.arange(m)).all()


def test_sizes_that_no_equality_ties(tool, tmp_path):
    library = compiled(tool, tmp_path, FLAT, "flat")
    a = np.arange(12, dtype="f4").reshape(3, 4)
    for first in range(15):
        for second in (0, 6, 7, 8):
            flat, ones = Guarded(first, "f4"), Guarded(second, "f4")
            status = library.flat(size(3), size(4), size(first), size(second), pointer(a), pointer(np.array([7], "i8")),
                                  pointer(flat.array), pointer(ones.array))
            assert status == ((first, second) != (12, 7))
            assert flat.untouched() and ones.untouched()
            assert first == 12 or flat.unwritten()
            assert second == 7 or ones.unwritten()
            assert status or ((flat.array == 2 * a.reshape(-1)).all() and (ones.array == 1).all())


@pytest.fixture(params=["c", "ll"])
def source_of(request, tool, tmp_path):
    """Compiles a program for a scratchpad chip, its host's part written out in C or LLVM IR."""
    if not PLUGIN.exists():
        pytest.skip(f"{PLUGIN} was not built")

    def compile(text, name):
        program = tmp_path / f"{name}.mlir"
        program.write_text(text)
        return as_library(tool, tmp_path, program, request.param)[0]

    return compile


def test_code_for_other_compilers(source_of):
    library = source_of(ROWS, "rows")
    s = np.array([1, 2, 3, 4, 5], "f4")
    for n, o in ((3, 7), (2, 7), (4, 7), (3, 6), (3, 8), (0, 0)):
        rows, numbers = Guarded(5 * n, "f4"), Guarded(o, "i8")
        status = library.rows(size(n), size(o), pointer(np.array([3, 7], "i8")), pointer(s), pointer(rows.array),
                              pointer(numbers.array))
        assert status == ((n, o) != (3, 7))
        assert n == 3 or rows.unwritten()
        assert o == 7 or numbers.unwritten()
        assert status or ((rows.array.reshape(n, 5) == s * s).all() and (numbers.array == np.arange(7)).all())


def test_a_loop_that_shrinks_in_source(source_of, tmp_path):
    """Arrays whose sizes follow from data, which a loop allocates and hands on; nothing is left behind, also of refused calls."""
    library = source_of(SHRINK, "shrink")
    check_shrink(library)
    result = subprocess.run([sys.executable, "-c", LEAKS, library._name], capture_output=True, text=True)
    assert result.stdout == "ok\n", result


#: Sizes that are compared in each turn of a loop, and on one side of a branch inside of it.
WINDOWS = """
func.func @windows(%a: tensor<?xf32>, %k: tensor<?xi64>, %c: tensor<?xf32>) -> tensor<?xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c5 = arith.constant 5 : index
  %turns = tensor.dim %k, %c0 : tensor<?xi64>
  %r = scf.for %i = %c0 to %turns step %c1 iter_args(%x = %c) -> tensor<?xf32> {
    %ki = tensor.extract %k[%i] : tensor<?xi64>
    %n = arith.index_cast %ki : i64 to index
    %small = arith.cmpi sle, %n, %c5 : index
    %y = scf.if %small -> tensor<?xf32> {
      %s = tensor.extract_slice %a[1] [%n] [1] : tensor<?xf32> to tensor<?xf32>
      %z = arith.addf %s, %x : tensor<?xf32>
      scf.yield %z : tensor<?xf32>
    } else {
      scf.yield %x : tensor<?xf32>
    }
    scf.yield %y : tensor<?xf32>
  }
  return %r : tensor<?xf32>
}"""


def check_windows(library):
    a, c = np.arange(8, dtype="f4"), np.full(4, 100, "f4")
    for sizes in ([], [4], [4, 4, 6], [3], [4, 5, 4], [7, 7, 4], [6, 6, 1], [-1]):
        out, numbers = Guarded(4, "f4"), np.array(sizes, "i8")
        status = library.windows(size(8), size(len(sizes)), size(4), pointer(a), pointer(numbers), pointer(c), pointer(out.array))
        assert status == any(n <= 5 and n != 4 for n in sizes), sizes
        assert out.untouched() if status == 0 else out.unwritten(), sizes
        assert status or (out.array == c + sizes.count(4) * a[1:5]).all(), sizes


def test_sizes_compared_inside_of_control_flow(tool, tmp_path):
    check_windows(compiled(tool, tmp_path, WINDOWS, "windows"))


def test_sizes_compared_inside_of_control_flow_in_source(source_of):
    check_windows(source_of(WINDOWS, "windows"))


def test_too_much_memory_in_source(source_of):
    """As test_temporaries_too_large_to_count: bytes do not wrap."""
    library = source_of(TEMPORARY.replace("-> f32", "-> tensor<1xf32>").replace(
        "return %r : f32", "%o = tensor.from_elements %r : tensor<1xf32>\n  return %o : tensor<1xf32>"), "temporary")
    for n, expected in ((5, 0), (1 << 60, 2), ((1 << 62) + 2, 2), (1 << 58, 2), (-1, 1), (5, 0)):
        out = np.zeros(1, "f4")
        assert library.temporary(pointer(np.array([n], "i8")), pointer(np.array([1], "i8")), pointer(out)) == expected, n
        assert abs(out[0] - (np.exp(1.5) if n == 5 else 0)) < 1e-5


#: Operands whose sizes a program makes of its data or of its arguments' sizes, and argument `c`. All results are of c's size.
OPERANDS = {
    "read": ("""
      %k0 = tensor.extract %k[%c0] : tensor<1xi64>
      %n = arith.index_cast %k0 : i64 to index
      %s = tensor.extract_slice %a[0] [%n] [1] : tensor<?xf32> to tensor<?xf32>""", lambda a, k: a[:k]),
    "empty": ("""
      %k0 = tensor.extract %k[%c0] : tensor<1xi64>
      %n = arith.index_cast %k0 : i64 to index
      %e = tensor.empty(%n) : tensor<?xf32>
      %s = linalg.fill ins(%one : f32) outs(%e : tensor<?xf32>) -> tensor<?xf32>""", lambda a, k: np.ones(k)),
    "branch": ("""
      %k0 = tensor.extract %k[%c0] : tensor<1xi64>
      %n = arith.index_cast %k0 : i64 to index
      %large = arith.cmpi sgt, %n, %c3 : index
      %s = scf.if %large -> tensor<?xf32> {
        %t = tensor.extract_slice %a[0] [3] [1] : tensor<?xf32> to tensor<3xf32>
        %u = arith.addf %t, %t : tensor<3xf32>
        %v = tensor.cast %u : tensor<3xf32> to tensor<?xf32>
        scf.yield %v : tensor<?xf32>
      } else {
        scf.yield %a : tensor<?xf32>
      }""", lambda a, k: 2 * a[:3] if k > 3 else a),
    "selection": ("""
      %k0 = tensor.extract %k[%c0] : tensor<1xi64>
      %n = arith.index_cast %k0 : i64 to index
      %large = arith.cmpi sgt, %n, %c3 : index
      %t = tensor.extract_slice %a[1] [3] [1] : tensor<?xf32> to tensor<3xf32>
      %v = tensor.cast %t : tensor<3xf32> to tensor<?xf32>
      %s = scf.if %large -> tensor<?xf32> {
        scf.yield %v : tensor<?xf32>
      } else {
        scf.yield %a : tensor<?xf32>
      }""", lambda a, k: a[1:4] if k > 3 else a),
    "loop": ("""
      %k0 = tensor.extract %k[%c0] : tensor<1xi64>
      %n = arith.index_cast %k0 : i64 to index
      %s = scf.for %i = %c0 to %n step %c1 iter_args(%x = %a) -> tensor<?xf32> {
        %d = tensor.dim %x, %c0 : tensor<?xf32>
        %m = arith.subi %d, %c1 : index
        %y = tensor.extract_slice %x[1] [%m] [1] : tensor<?xf32> to tensor<?xf32>
        %z = arith.addf %y, %y : tensor<?xf32>
        scf.yield %z : tensor<?xf32>
      }""", lambda a, k: a[k:] * 2.0**k),
    "inner": ("""
      %d = tensor.dim %a, %c0 : tensor<?xf32>
      %m = arith.subi %d, %c3 : index
      %s = tensor.extract_slice %a[2] [%m] [1] : tensor<?xf32> to tensor<?xf32>""", lambda a, k: a[2:-1]),
}


def operands(name):
    return f"""
    func.func @sum(%a: tensor<?xf32>, %k: tensor<1xi64>, %c: tensor<?xf32>) -> tensor<?xf32> {{
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c3 = arith.constant 3 : index
      %one = arith.constant 1.0 : f32
      {OPERANDS[name][0]}
      %r = arith.addf %s, %c : tensor<?xf32>
      return %r : tensor<?xf32>
    }}"""


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("name", OPERANDS)
def test_operands(tool, tmp_path, name, threads):
    """No array is read or written beyond its end where the operands' sizes differ."""
    library = compiled(tool, tmp_path, operands(name), "sum", f"--threads={threads}")
    library.sum.restype = ctypes.c_int
    a = Guarded(8, "f4")
    a.array[:] = np.arange(8)
    for k in (0, 3, 5, 8):
        expected = OPERANDS[name][1](a.array, k)
        for m in range(0, 11):
            c, out = Guarded(m, "f4"), Guarded(m, "f4")
            c.array[:] = 100
            sizes = [size(8), size(m)]
            result = library.sum(*sizes, pointer(a.array), pointer(np.array([k], "i8")), pointer(c.array), pointer(out.array))
            assert result == (m != len(expected)), (k, m)
            assert out.untouched() if result == 0 else out.unwritten(), (k, m)
            assert result or (out.array == expected + 100).all(), (k, m)


@pytest.mark.parametrize("name", OPERANDS)
def test_operands_in_source(source_of, name):
    library, a = source_of(operands(name), "sum"), np.arange(8, dtype="f4")
    for k in (0, 5, 8):
        expected = OPERANDS[name][1](a, k)
        for m in {len(expected) - 1, len(expected), len(expected) + 1} - {-1}:
            c, out = np.full(m, 100, "f4"), Guarded(m, "f4")
            status = library.sum(size(8), size(m), pointer(a), pointer(np.array([k], "i8")), pointer(c), pointer(out.array))
            assert status == (m != len(expected)), (k, m)
            assert out.untouched() if status == 0 else out.unwritten(), (k, m)
            assert status or (out.array == expected + 100).all(), (k, m)


@pytest.mark.parametrize("place", ["host", "lanes", "scratchpad"])
def test_operands_elsewhere(tool, tmp_path, place):
    if place == "scratchpad" and not PLUGIN.exists():
        pytest.skip(f"{PLUGIN} was not built")
    source, out = tmp_path / "sum.mlir", tmp_path / "out.npy"
    a = np.arange(8, dtype="f4")
    for name in ("read", "branch", "loop"):
        source.write_text(operands(name))
        expected = OPERANDS[name][1](a, 5)
        for m in (len(expected), len(expected) + 1):
            words = inputs(tmp_path, a=a, k=np.array([5], "i8"), c=np.full(m, 100, "f4")) + PLACES[place]
            if m == len(expected):
                tool("tw-run", source, *words, "--output", out)
                assert (np.load(out) == expected + 100).all()
                continue
            result = subprocess.run([str(w) for w in [BUILD / "bin" / "tw-run", source, *words]], capture_output=True, text=True)
            message = ("status 1: the program refuses its sizes 8 " if place == "host" else
                       f"sizes inside of program 'sum' disagree: it makes {m - 1} of its data where an operation needs {m}")
            assert result.returncode == 1 and message in result.stderr, result


#: Inputs of a concatenation: two arguments, and one of a size that is read. Beside the dimension that grows they must agree.
JOIN = """
func.func @join(%a: tensor<?x?xf32>, %b: tensor<?x?xf32>, %k: tensor<1xi64>) -> tensor<?x?xf32> {
  %c0 = arith.constant 0 : index
  %k0 = tensor.extract %k[%c0] : tensor<1xi64>
  %n = arith.index_cast %k0 : i64 to index
  %s = tensor.extract_slice %b[0, 0] [%n, 2] [1, 1] : tensor<?x?xf32> to tensor<?x2xf32>
  %r = tensor.concat dim(1) %a, %b, %s : (tensor<?x?xf32>, tensor<?x?xf32>, tensor<?x2xf32>) -> tensor<?x?xf32>
  return %r : tensor<?x?xf32>
}"""


@pytest.mark.parametrize("threads", [1, 2])
def test_concatenation(tool, tmp_path, threads):
    """Rows that disagree: the call is refused, and nothing is read or written beyond an array's end."""
    library = compiled(tool, tmp_path, JOIN, "join", f"--threads={threads}")
    for rows, read in ((4, 4), (4, 3), (4, 0), (4, 5), (3, 900), (0, 0)):
        a, b, out = Guarded(rows * 3, "f4"), Guarded(rows * 5, "f4"), Guarded(rows * 10, "f4")
        a.array[:], b.array[:] = 1 + np.arange(rows * 3), 100 + np.arange(rows * 5)
        status = library.join(size(rows), size(3), size(5), size(10), pointer(a.array), pointer(b.array),
                              pointer(np.array([read], "i8")), pointer(out.array))
        assert status == (rows != read), (rows, read)
        if status:
            assert out.unwritten(), (rows, read)
            continue
        a, b = a.array.reshape(rows, 3), b.array.reshape(rows, 5)
        assert out.untouched() and (out.array.reshape(rows, 10) == np.concatenate([a, b, b[:, :2]], 1)).all()


@pytest.mark.parametrize("rows", [3, 5])
def test_arrays_that_are_concatenated_disagree(tmp_path, rows):
    """Rows of arguments are one size: a call with two is refused before it begins."""
    source = tmp_path / "join.mlir"
    source.write_text(JOIN)
    words = inputs(tmp_path, a=np.ones((4, 3), "f4"), b=np.ones((rows, 5), "f4"), k=np.array([4], "i8"))
    result = subprocess.run([BUILD / "bin" / "tw-run", source, *words], capture_output=True, text=True)
    assert result.returncode == 1, result
    message = f"input 1 is f32[{rows},5], but its dimension 0 must equal dimension 0 of input 0, which is 4"
    assert message in result.stderr, result


#: Runs in a process of its own whose address space is limited: refused calls give back what they have allocated.
LEAKS = """
import ctypes, resource, sys
import numpy as np
shrink = ctypes.CDLL(sys.argv[1]).shrink
pointer = lambda array: array.ctypes.data_as(ctypes.c_void_p)
a, out, size = np.ones(1 << 20, "f4"), np.zeros(1 << 20, "f4"), ctypes.c_int64
used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + (200 << 20), used + (200 << 20)))
for left in [(1 << 20) - 8] * 40:                        # eight buffers of 4 MiB a call
    for n in (left, left - 1):
        status = shrink(size(1 << 20), size(n), pointer(a), pointer(np.array([left], "i8")), pointer(out))
        assert status == (n != left), status
print("ok")
"""


def test_refused_calls_leak_nothing(tool, tmp_path):
    compiled(tool, tmp_path, SHRINK, "shrink")
    result = subprocess.run([sys.executable, "-c", LEAKS, tmp_path / "shrink.so"], capture_output=True, text=True)
    assert result.stdout == "ok\n", result


#: A temporary of n x 4 floats, n read, which a loop carries: its bytes wrap to few, or to none.
TEMPORARY = """
func.func @temporary(%k: tensor<1xi64>, %rounds: tensor<1xi64>) -> f32 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %x = arith.constant 1.5 : f32
  %k0 = tensor.extract %k[%c0] : tensor<1xi64>
  %n = arith.index_cast %k0 : i64 to index
  %r0 = tensor.extract %rounds[%c0] : tensor<1xi64>
  %m = arith.index_cast %r0 : i64 to index
  %e = tensor.empty(%n) : tensor<?x4xf32>
  %f = linalg.fill ins(%x : f32) outs(%e : tensor<?x4xf32>) -> tensor<?x4xf32>
  %g = scf.for %i = %c0 to %m step %c1 iter_args(%t = %f) -> tensor<?x4xf32> {
    %u = math.exp %t : tensor<?x4xf32>
    scf.yield %u : tensor<?x4xf32>
  }
  %r = tensor.extract %g[%c1, %c0] : tensor<?x4xf32>
  return %r : f32
}"""


def test_temporaries_too_large_to_count(tool, tmp_path):
    library = compiled(tool, tmp_path, TEMPORARY, "temporary")
    for n, expected in ((5, 0), (1 << 60, 2), ((1 << 60) + 2, 2), ((1 << 62) + 2, 2), (1 << 58, 2), (5, 0)):
        out = np.zeros(1, "f4")
        words = pointer(np.array([n], "i8")), pointer(np.array([1], "i8")), pointer(out)
        assert library.temporary(*words) == expected, n
        assert abs(out[0] - (np.exp(1.5) if n == 5 else 0)) < 1e-5


def test_from_c(tool, tmp_path):
    """The header and an object file, from C."""
    compiled(tool, tmp_path, SHRINK, "shrink")
    (tmp_path / "main.c").write_text("""
      #include "shrink.h"
      #include <stdio.h>
      int main(void) {
        float a[9] = {0, 1, 2, 3, 4, 5, 6, 7, 8}, out[11];
        int64_t k = 4;
        for (int n = 3; n <= 5; ++n) {
          for (int i = 0; i < 11; ++i)
            out[i] = -1;
          printf("%d", shrink(9, n, a, &k, out + 3));
          for (int i = 0; i < 11; ++i)
            printf(" %g", out[i]);
          printf("\\n");
        }
        return 0;
      }""")
    tool("tw-compile", tmp_path / "shrink.mlir", "-o", tmp_path / "shrink.o")
    subprocess.run(["cc", "-Wall", "-Werror", "main.c", "shrink.o", "-o", "main"], cwd=tmp_path, check=True)
    result = subprocess.run([tmp_path / "main"], capture_output=True, text=True, check=True)
    assert result.stdout.splitlines() == ["1" + 11 * " -1", "0 -1 -1 -1 160 192 224 256 -1 -1 -1 -1", "1" + 11 * " -1"]


def inputs(folder, **arrays):
    words = []
    for name, array in arrays.items():
        np.save(folder / f"{name}.npy", array)
        words += ["--input", folder / f"{name}.npy"]
    return words


#: The host, lanes on the emulator, a chip with a scratchpad on the emulator.
PLACES = {
    "host": [],
    "threads": ["--threads=2"],
    "lanes": ["--target=nvidia:A100", "--device=emulator"],
    "scratchpad": [f"--load-target={PLUGIN}", "--target=accelerator:npu", "--device=emulator"],
}


@pytest.mark.parametrize("place", PLACES)
def test_tw_run_finds_the_size(tool, tmp_path, place):
    """Without it, with it, with another one; two results one after the other."""
    if place == "scratchpad" and not PLUGIN.exists():
        pytest.skip(f"{PLUGIN} was not built")
    a = np.arange(9, dtype="f4")
    source, words = tmp_path / "shrink.mlir", inputs(tmp_path, a=a, k=np.array([4], "i8")) + PLACES[place]
    source.write_text(SHRINK)
    out = tmp_path / "out.npy"
    for sizes in ([], ["--sizes=9"], ["--sizes=9,4"]):
        tool("tw-run", source, *words, *sizes, "--output", out)
        assert (np.load(out) == shrunk(a, 4)).all()
    if place == "lanes":  # calls that ask for the size are not counted
        asked, given = (json.loads(tool("tw-run", source, *words, *sizes, "--json"))["emulation"]["kernels"]
                        for sizes in ([], ["--sizes=9,4"]))
        for kernel in asked + given:
            del kernel["emulation_seconds"]
        assert asked == given
    for wrong in (0, 3, 5):
        command = [BUILD / "bin" / "tw-run", source, *words, f"--sizes=9,{wrong}"]
        result = subprocess.run([str(word) for word in command], capture_output=True, text=True)
        assert result.returncode == 1, result
        expected = ("status 1: the program refuses its sizes 9 %d: they disagree, are negative, or make an array that no "
                    "memory holds; of its data it makes 4 of size 1" if place in ("host", "threads") else
                    "argument 2 of program 'shrink' has extent %d in dimension 0, but the program makes 4 of its data")
        assert expected % wrong in result.stderr, result.stderr

    source, words = tmp_path / "rows.mlir", inputs(tmp_path, k=np.array([3, 7], "i8"), s=np.arange(5, dtype="f4"))
    source.write_text(ROWS)
    second = tmp_path / "second.npy"
    tool("tw-run", source, *words, *PLACES[place], "--output", out, "--output", second)
    assert (np.load(out) == np.arange(5) ** 2 * np.ones((3, 1))).all() and (np.load(second) == np.arange(7)).all()


def test_sizes_that_cannot_be_asked_for(tool, tmp_path):
    source = tmp_path / "shrink.mlir"
    source.write_text(SHRINK)
    for words, message in [
        (["--sizes=1,2,3"], "'shrink' has 2 dynamic sizes (1 without those that follow from data); --sizes gives 3"),
        ([], "size 0 of 2 is not known; give the inputs (--input) or all sizes (--sizes) of 'shrink'"),
    ]:
        result = subprocess.run([str(BUILD / "bin" / "tw-run"), str(source), *words], capture_output=True, text=True)
        assert result.returncode == 1 and message in result.stderr, result
