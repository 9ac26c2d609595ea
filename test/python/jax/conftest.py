"""Tests of `tilewright.jax` run with JAX's interpreter: build/venv-jax/bin/python -m pytest test/python/jax."""

import os
import sys

import pytest

from settings import SOURCE

sys.path.insert(0, str(SOURCE / "python"))
os.environ["PYTHONPATH"] = str(SOURCE / "python")
os.environ["TILEWRIGHT_SDK"] = os.environ.get("TILEWRIGHT_BUILD", str(SOURCE / "build/release"))
os.environ["JAX_PLATFORMS"] = "cpu"

jax = pytest.importorskip("jax", reason="JAX is not installed")
jax.config.update("jax_enable_x64", True)


@pytest.fixture(autouse=True)
def own_cache(tmp_path_factory, monkeypatch):
    """No test sees what another session has compiled."""
    monkeypatch.setenv("TILEWRIGHT_CACHE_DIR", str(tmp_path_factory.getbasetemp() / "cache"))
