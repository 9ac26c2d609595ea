"""Tests of `tilewright.torch` run with PyTorch's interpreter: build/venv-torch/bin/python -m pytest test/python/torch."""

import os
import sys

import pytest

from settings import SOURCE

sys.path.insert(0, str(SOURCE / "python"))
os.environ["PYTHONPATH"] = str(SOURCE / "python")
os.environ["TILEWRIGHT_SDK"] = os.environ.get("TILEWRIGHT_BUILD", str(SOURCE / "build/release"))

torch = pytest.importorskip("torch", reason="PyTorch is not installed")
torch.set_num_threads(1)


@pytest.fixture(autouse=True)
def fresh():
    """No test sees what another has compiled."""
    torch._dynamo.reset()
    torch.manual_seed(0)
