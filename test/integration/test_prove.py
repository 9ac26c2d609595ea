"""tw-compile --prove on the conformance programs (docs/trust.md): a sample of them in CI, all in the full mode."""

import importlib.util
import pathlib

import pytest

from conftest import BUILD, FULL

SOURCE = pathlib.Path(__file__).resolve().parents[2]
EVERY = 1 if FULL else 45
UNPROVED = 0.05  # of all programs, at most

spec = importlib.util.spec_from_file_location("proofs", SOURCE / "scripts/proofs.py")
proofs = importlib.util.module_from_spec(spec)
spec.loader.exec_module(proofs)


@pytest.mark.parametrize("chip", proofs.CHIPS)
def test_nothing_is_disproved_and_most_is_proved(chip):
    results = proofs.proofs(pathlib.Path(BUILD), chip, EVERY)
    known = {name: proof for name, proof in results.items() if proof}
    assert len(known) > len(results) * 0.9, f"refused: {sorted(set(results) - set(known))}"
    wrong = {name: proof["findings"] for name, proof in known.items()
             if any(proof[each]["verdict"] == "disproved" for each in proofs.PROPERTIES)}
    assert not wrong
    unproved = {name: proof["findings"] for name, proof in known.items() if not proof["holds"]}
    assert not {name for name in unproved if "?" not in name}, unproved  # of static sizes, all four hold
    assert len(unproved) <= max(1, len(known) * UNPROVED), unproved


#: Sums of 4000 and 64 terms, and a division by one of them.
ROWS = """func.func @main(%x: tensor<33x4000xf32>, %w: tensor<64x32xf32>, %a: tensor<33x64xf32>) -> (tensor<33x4000xf32>, tensor<33x32xf32>) {
  %z = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<33x4000xf32>
  %e1 = tensor.empty() : tensor<33xf32>
  %e2 = tensor.empty() : tensor<33x32xf32>
  %f1 = linalg.fill ins(%z : f32) outs(%e1 : tensor<33xf32>) -> tensor<33xf32>
  %s = linalg.reduce { arith.addf } ins(%x : tensor<33x4000xf32>) outs(%f1 : tensor<33xf32>) dimensions = [1]
  %b = linalg.broadcast ins(%s : tensor<33xf32>) outs(%e : tensor<33x4000xf32>) dimensions = [1]
  %y = linalg.div ins(%x, %b : tensor<33x4000xf32>, tensor<33x4000xf32>) outs(%e : tensor<33x4000xf32>) -> tensor<33x4000xf32>
  %f2 = linalg.fill ins(%z : f32) outs(%e2 : tensor<33x32xf32>) -> tensor<33x32xf32>
  %m = linalg.matmul ins(%a, %w : tensor<33x64xf32>, tensor<64x32xf32>) outs(%f2 : tensor<33x32xf32>) -> tensor<33x32xf32>
  return %y, %m : tensor<33x4000xf32>, tensor<33x32xf32>
}
"""


@pytest.mark.parametrize("chip", ["cpu:zen4", "nvidia:H200"])
def test_the_order_of_sums(chip, tmp_path):
    (tmp_path / "rows.mlir").write_text(ROWS)
    sums = {fp: proofs.prove(pathlib.Path(BUILD), chip, tmp_path / "rows.mlir", f"--fp={fp}")["sums"] for fp in ("default", "strict")}
    rows = {each["location"].split(":", 1)[1]: each for each in sums["default"]["rewrites"]}
    (line,) = [place for place in rows if place.startswith("7:")]
    assert rows[line]["reassociated"] and rows[line]["additions"]["before"] == 4000 and rows[line]["additions"]["after"] < 1000
    assert rows[line]["bound"]["after"] == rows[line]["additions"]["after"] * 2.0**-24
    assert sums["default"]["reassociated"] == 1  # the product has 64 terms in a row
    assert not sums["default"]["not_counted"] and not sums["strict"]["not_counted"]
    assert sums["strict"]["holds"] and sums["strict"]["reassociated"] == 0 and sums["strict"]["contract"] == "strict"


@pytest.mark.parametrize("chip", proofs.CHIPS)
def test_strict_sums_keep_their_order(chip):
    results = proofs.proofs(pathlib.Path(BUILD), chip, EVERY * 2 if not FULL else 1, "--fp=strict")
    wrong = {name: proof["sums"] for name, proof in results.items() if proof and not proof["sums"]["holds"]}
    assert not wrong
    assert not {name for name, proof in results.items() if proof and proof["sums"]["not_counted"]}
