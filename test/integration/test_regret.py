"""The search that the chooser's plans are compared with: enough candidates a shape, compiled, checked and timed."""

import argparse
import json
import pathlib
import sys

import pytest
from conftest import BUILD

BENCHMARK = pathlib.Path(__file__).resolve().parents[1] / "benchmark"
sys.path.insert(0, str(BENCHMARK))

import peers  # noqa: E402
import programs  # noqa: E402
import regret  # noqa: E402


@pytest.mark.parametrize("sizes", json.loads((BENCHMARK / "shapes.json").read_text())["f32"]["regret"], ids=str)
def test_every_shape_has_enough_distinct_candidates(sizes):
    m, n, k = sizes
    plans = regret.candidates(dict(m=m, n=n, k=k), 250)
    assert len(plans) == len(set(plans)) and len(plans) >= 200


def test_candidates_are_compiled_kept_and_measured(tmp_path, monkeypatch):
    monkeypatch.setattr(regret, "FOLDER", tmp_path)
    monkeypatch.setattr(peers, "BUILD", tmp_path)
    monkeypatch.setenv("TILEWRIGHT_BUILD", str(BUILD))
    peers.build_worker()
    arguments = argparse.Namespace(target="cpu:host", candidates=3, samples=9, same_code=False, jobs=1)
    shape = regret.shape_of("33x40x24-tn")
    shape["name"] = programs.name(shape)
    assert regret.measure(shape, arguments) is None, "candidates that nobody compiled"
    regret.compile_all([shape], arguments)
    kept = {path: path.stat().st_mtime_ns for path in tmp_path.glob("*.so")}
    assert len(kept) == 3
    regret.compile_all([shape], arguments)
    assert kept == {path: path.stat().st_mtime_ns for path in tmp_path.glob("*.so")}, "compiled again"
    result = regret.measure(shape, arguments)
    assert result["tried"] == 3 and result["best"] in result["others"] and result["choice"]["rows"] > 0
    # What computes something else is found out, not timed.
    wrong = dict(shape, transA=False)
    codes = regret.Codes(wrong, tmp_path / "missing")
    assert codes.sample(next(iter(kept))) == "wrong" and codes.sample(tmp_path / "none.so") == "absent"
    codes.close()
