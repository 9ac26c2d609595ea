"""Tests of `tilewright.tf` run with TensorFlow's interpreter: build/venv-tf/bin/python -m pytest test/python/tf."""

import os
import sys

import pytest

from settings import SOURCE

sys.path.insert(0, str(SOURCE / "python"))
os.environ["PYTHONPATH"] = str(SOURCE / "python")
os.environ["TILEWRIGHT_SDK"] = os.environ.get("TILEWRIGHT_BUILD", str(SOURCE / "build/release"))
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
os.environ["CUDA_VISIBLE_DEVICES"] = ""

# The folder of these tests has folders with the names of frameworks, which Keras would take for them.
sys.path[:] = [path for path in sys.path if path != str(SOURCE / "test/python")]

pytest.importorskip("tensorflow", reason="TensorFlow is not installed")


@pytest.fixture(autouse=True)
def own_cache(tmp_path_factory, monkeypatch):
    """No test sees what another session has compiled."""
    monkeypatch.setenv("TILEWRIGHT_CACHE_DIR", str(tmp_path_factory.getbasetemp() / "cache"))
