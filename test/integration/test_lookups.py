"""Rows of tables at indices that are checked, as embeddings and DLRM's tables have them: on SIMT targets tables share launches, and the host
asks whether indices were right at the end."""

import subprocess

import numpy as np
import pytest

from conftest import BUILD
from lanes import emulate, kernels

CHIPS = ["nvidia:H200", "amd:MI300X"]
WIDTH = 16


def lookup(number, samples, rows):
    """The row of table `number` that column `number` of the indices names; a negative one, which is right as in PyTorch, names the first."""
    return f"""
  %c{number} = tensor.extract_slice %ids[0, {number}] [{samples}, 1] [1, 1] : tensor<{samples}x{len(rows)}xi64> to tensor<{samples}xi64>
  %n{number} = arith.constant {rows[number]} : i64
  %m{number} = arith.constant {rows[number] - 1} : i64
  %l{number} = arith.constant {-rows[number]} : i64
  %b{number} = linalg.generic {{indexing_maps = [#id, #none], iterator_types = ["reduction"]}}
      ins(%c{number} : tensor<{samples}xi64>) outs(%good : tensor<i1>) {{
  ^bb0(%at: i64, %held: i1):
    %below = arith.cmpi slt, %at, %n{number} : i64
    %above = arith.cmpi sge, %at, %l{number} : i64
    %inside = arith.andi %below, %above : i1
    %all = arith.andi %held, %inside : i1
    linalg.yield %all : i1
  }} -> tensor<i1>
  %a{number} = tensor.extract %b{number}[] : tensor<i1>
  cf.assert %a{number}, "an index of table {number} is out of range"
  %e{number} = tensor.empty() : tensor<{samples}x{WIDTH}xf32>
  %r{number} = linalg.generic {{indexing_maps = [#rows, #id2], iterator_types = ["parallel", "parallel"]}}
      ins(%c{number} : tensor<{samples}xi64>) outs(%e{number} : tensor<{samples}x{WIDTH}xf32>) {{
  ^bb0(%at: i64, %old: f32):
    %low = arith.minsi %at, %m{number} : i64
    %kept = arith.maxsi %low, %zero : i64
    %row = arith.index_cast %kept : i64 to index
    %column = linalg.index 1 : index
    %x = tensor.extract %t{number}[%row, %column] : tensor<{rows[number]}x{WIDTH}xf32>
    linalg.yield %x : f32
  }} -> tensor<{samples}x{WIDTH}xf32>"""


def program(samples, rows):
    tables = "".join(f", %t{i}: tensor<{n}x{WIDTH}xf32>" for i, n in enumerate(rows))
    part = f"tensor<{samples}x{WIDTH}xf32>"
    whole = f"tensor<{samples}x{len(rows) * WIDTH}xf32>"
    return f"""#id = affine_map<(i) -> (i)>
#none = affine_map<(i) -> ()>
#id2 = affine_map<(i, j) -> (i, j)>
#rows = affine_map<(i, j) -> (i)>
func.func @f(%ids: tensor<{samples}x{len(rows)}xi64>{tables}) -> {whole} {{
  %zero = arith.constant 0 : i64
  %yes = arith.constant true
  %start = tensor.empty() : tensor<i1>
  %good = linalg.fill ins(%yes : i1) outs(%start : tensor<i1>) -> tensor<i1>
  {"".join(lookup(i, samples, rows) for i in range(len(rows)))}
  %all = tensor.concat dim(1) {", ".join(f"%r{i}" for i in range(len(rows)))} : ({", ".join([part] * len(rows))}) -> {whole}
  return %all : {whole}
}}"""


#: Samples, rows of each table, launches: checks of the first parts of the samples, of what these give, rows of the first table, whose
#: place needs no sum, and of the others.
CASES = {"one": (64, [50], 2), "four": (64, [50] * 4, 4), "eight of many rows": (300, [1000] * 8, 4)}


@pytest.mark.parametrize("chip", CHIPS)
@pytest.mark.parametrize("case", CASES)
def test_tables_share_their_launches(tmp_path, tool, chip, case):
    samples, rows, launches = CASES[case]
    path = tmp_path / "program.mlir"
    path.write_text(program(samples, rows))
    assert sum(kernel["launches"] for kernel in kernels(emulate(tool, path, chip))) == launches
    emulate(tool, path, chip, "--modes", "--prove")


@pytest.mark.parametrize("place", [["cpu:host"], *([chip, "--device", "emulator"] for chip in CHIPS)], ids=lambda place: place[0])
def test_a_bad_index_is_named_by_its_table(tmp_path, place):
    samples, rows = 5, [50, 50, 50]
    (tmp_path / "program.mlir").write_text(program(samples, rows))
    rng = np.random.default_rng(1)
    tables = [rng.integers(-8, 8, (n, WIDTH)).astype(np.float32) for n in rows]
    for i, table in enumerate(tables):
        np.save(tmp_path / f"t{i}.npy", table)

    def run(ids):
        np.save(tmp_path / "ids.npy", ids)
        return subprocess.run([BUILD / "bin/tw-run", tmp_path / "program.mlir", "--target", *place, "--input", tmp_path / "ids.npy",
                               *(word for i in range(len(rows)) for word in ("--input", tmp_path / f"t{i}.npy")),
                               "--output", tmp_path / "r.npy"], capture_output=True, text=True, timeout=300)
    ids = rng.integers(0, 50, (samples, len(rows)))
    done = run(ids)
    assert done.returncode == 0, done.stdout + done.stderr
    assert np.array_equal(np.load(tmp_path / "r.npy"), np.concatenate([table[ids[:, i]] for i, table in enumerate(tables)], 1))
    for table, index in ((0, -51), (1, 50), (2, 2**40)):
        wrong = ids.copy()
        wrong[3, table] = index
        done = run(wrong)
        assert done.returncode == 1 and f"an index of table {table} is out of range" in done.stderr, done.stdout + done.stderr
