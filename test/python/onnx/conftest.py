"""Tests of `tilewright.onnx` run with ONNX's interpreter: build/venv-onnx/bin/python -m pytest test/python/onnx."""

import os
import sys

import pytest

from settings import SOURCE

sys.path.insert(0, str(SOURCE / "python"))
os.environ["PYTHONPATH"] = str(SOURCE / "python")
os.environ["TILEWRIGHT_SDK"] = os.environ.get("TILEWRIGHT_BUILD", str(SOURCE / "build/release"))

pytest.importorskip("onnx", reason="ONNX is not installed")


@pytest.fixture(autouse=True)
def own_cache(tmp_path_factory, monkeypatch):
    """No test sees what another session has compiled."""
    monkeypatch.setenv("TILEWRIGHT_CACHE_DIR", str(tmp_path_factory.getbasetemp() / "cache"))
