"""--check-indices: an index made of data that lies outside of its array is an error of the call, on every kind of chip."""

import ctypes
import json
import subprocess

import numpy as np
import pytest

from conftest import BUILD
from scratchpads import PLUGIN

#: Where programs run: as code of this process, and launches of three chips on the emulator.
PLACES = {
    "host": ["--target", "cpu:host"],
    "nvidia": ["--target", "nvidia:H200", "--device", "emulator"],
    "amd": ["--target", "amd:MI300X", "--device", "emulator"],
    "npu": ["--target", "accelerator:npu", "--load-target", PLUGIN, "--device", "emulator"],
}

#: Rows of a table.
ROWS = """
func.func @rows(%table: tensor<50x16xf32> loc("weight"), %ids: tensor<?xi64>) -> tensor<?x16xf32> {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %ids, %c0 : tensor<?xi64>
  %e = tensor.empty(%n) : tensor<?x16xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (i, j)>],
                       iterator_types = ["parallel", "parallel"]} ins(%ids : tensor<?xi64>) outs(%e : tensor<?x16xf32>) {
  ^bb0(%id: i64, %out: f32):
    %row = arith.index_cast %id : i64 to index
    %col = linalg.index 1 : index
    %x = tensor.extract %table[%row, %col] : tensor<50x16xf32>
    linalg.yield %x : f32
  } -> tensor<?x16xf32>
  return %r : tensor<?x16xf32>
}"""

#: The same where no size of the table is known.
ANY_ROWS = ROWS.replace("50x16", "?x16")

#: Elements that are added at indices, one after the other.
ADD = """
func.func @add(%a: tensor<20xf32>, %at: tensor<7xi32>) -> tensor<20xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c7 = arith.constant 7 : index
  %one = arith.constant 1.0 : f32
  %r = scf.for %i = %c0 to %c7 step %c1 iter_args(%state = %a) -> tensor<20xf32> {
    %k = tensor.extract %at[%i] : tensor<7xi32>
    %p = arith.index_cast %k : i32 to index
    %x = tensor.extract %state[%p] : tensor<20xf32>
    %y = arith.addf %x, %one : f32
    %next = tensor.insert %y into %state[%p] : tensor<20xf32>
    scf.yield %next : tensor<20xf32>
  }
  return %r : tensor<20xf32>
}"""

#: An element that only some iterations read.
SOME = """
func.func @some(%a: tensor<9xf32>, %at: tensor<6xi32>) -> tensor<6xf32> {
  %e = tensor.empty() : tensor<6xf32>
  %none = arith.constant -1 : i32
  %zero = arith.constant 0.0 : f32
  %r = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
      ins(%at : tensor<6xi32>) outs(%e : tensor<6xf32>) {
  ^bb0(%k: i32, %out: f32):
    %is = arith.cmpi ne, %k, %none : i32
    %v = scf.if %is -> f32 {
      %p = arith.index_cast %k : i32 to index
      %x = tensor.extract %a[%p] : tensor<9xf32>
      scf.yield %x : f32
    } else {
      scf.yield %zero : f32
    }
    linalg.yield %v : f32
  } -> tensor<6xf32>
  return %r : tensor<6xf32>
}"""


def added(a, at):
    result = a.copy()
    np.add.at(result, at, np.float32(1))
    return result


#: The program, its array, indices that are inside, the result, indices of which one is outside, and what the call says.
CASES = {
    "rows": (ROWS, (50, 16), np.array([0, 49, 7, 49, 3], np.int64), lambda a, at: a[at],
             {50: "index 50 is outside of dimension 0 of argument 0 ('weight', tensor<50x16xf32>), whose extent is 50",
              -1: "index -1 is outside of dimension 0 of argument 0", 2**40: f"index {2**40} is outside"}),
    "any rows": (ANY_ROWS, (33, 16), np.array([0, 32, 7], np.int64), lambda a, at: a[at],
                 {33: "index 33 is outside of dimension 0 of argument 0 ('weight', tensor<?x16xf32>), whose extent is 33"}),
    "add": (ADD, (20,), np.array([0, 19, 3, 3, 3, 1, 0], np.int32), added,
            {20: "index 20 is outside of dimension 0 of argument 0 (tensor<20xf32>), whose extent is 20", -3: "index -3 is outside"}),
    "some": (SOME, (9,), np.array([8, -1, 0, -1, 2, 2], np.int32), lambda a, at: np.where(at < 0, 0, a[at]),
             {9: "index 9 is outside of dimension 0", -2: "index -2 is outside"}),
}


def run(directory, case, place, indices, *options):
    text, shape, *_ = CASES[case]
    program = directory / "program.mlir"
    program.write_text(text)
    rng = np.random.default_rng(1)
    array = rng.integers(-8, 8, shape).astype(np.float32)
    np.save(directory / "a.npy", array)
    np.save(directory / "at.npy", indices)
    command = [BUILD / "bin" / "tw-run", program, *PLACES[place], "--check-indices", "--input", directory / "a.npy", "--input",
               directory / "at.npy", "--output", directory / "r.npy", *options]
    return array, subprocess.run(list(map(str, command)), capture_output=True, text=True, timeout=300)


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("case", CASES)
def test_indices_inside_are_right_and_others_are_named(tmp_path, case, place):
    *_, inside, expected, outside = CASES[case]
    array, result = run(tmp_path, case, place, inside)
    assert result.returncode == 0, result.stdout + result.stderr
    assert np.array_equal(np.load(tmp_path / "r.npy"), expected(array, inside))
    for index, message in outside.items():
        wrong = inside.copy()
        if not np.iinfo(wrong.dtype).min <= index <= np.iinfo(wrong.dtype).max:
            continue
        wrong[-2] = index
        _, result = run(tmp_path, case, place, wrong)
        assert result.returncode == 1, result.stdout + result.stderr  # 3 would be a finding of the emulator
        assert message in result.stderr and "program.mlir:" in result.stderr, result.stderr


@pytest.mark.parametrize("place", PLACES)
def test_checked_programs_are_in_bounds_without_assumption(tmp_path, place):
    program = tmp_path / "program.mlir"
    for case in ("rows", "add", "some"):
        program.write_text(CASES[case][0])
        command = [BUILD / "bin" / "tw-compile", program, *PLACES[place][:-2 if place != "host" else None], "--check-indices", "--prove=json"]
        result = subprocess.run(list(map(str, command)), capture_output=True, text=True, timeout=300)
        assert result.returncode == 0, result.stdout + result.stderr
        proof = json.loads(result.stdout)
        assert proof["bounds"]["verdict"] == "proved", (case, proof["findings"])


def test_a_library_tells_what_it_found(tmp_path):
    """The C interface: a status, a header that says so, and a message for the thread that called."""
    (tmp_path / "rows.mlir").write_text(ROWS)
    subprocess.run([str(BUILD / "bin" / "tw-compile"), str(tmp_path / "rows.mlir"), "--check-indices", "-o", str(tmp_path / "rows.so"),
                    "--header", str(tmp_path / "rows.h")], check=True)
    header = (tmp_path / "rows.h").read_text()
    assert "9 = an index lies outside of its array" in header and "const char *rows_failure(int64_t found[2]);" in header
    library = ctypes.CDLL(str(tmp_path / "rows.so"))
    library.rows_failure.restype = ctypes.c_char_p
    table, out = np.zeros((50, 16), np.float32), np.empty((3, 16), np.float32)
    found = (ctypes.c_int64 * 2)()

    def call(*ids):
        ids = np.array(ids, np.int64)
        return library.rows(ctypes.c_int64(len(ids)), *(ctypes.c_void_p(a.ctypes.data) for a in (table, ids, out)))
    assert call(0, 49, 3) == 0 and library.rows_failure(found) is None
    assert call(0, 50, 3) == 9
    message = library.rows_failure(found)
    assert b"index {index} is outside of dimension 0" in message and (found[0] - 1, found[1]) == (50, 50)
    assert library.rows_failure(found) is None  # told once
    assert call(0, -7, 3) == 9 and library.rows_failure(found) == message and found[0] == -7


def test_without_the_option_code_is_as_before(tmp_path):
    """What is not asked for costs nothing: no check, no function, the same code but for nothing."""
    (tmp_path / "rows.mlir").write_text(ROWS)
    subprocess.run([str(BUILD / "bin" / "tw-compile"), str(tmp_path / "rows.mlir"), "-o", str(tmp_path / "rows.ll")], check=True)
    code = (tmp_path / "rows.ll").read_text()
    assert "failure" not in code and "setjmp" not in code
