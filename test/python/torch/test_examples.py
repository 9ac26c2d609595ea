"""The examples run as the README says."""

import os
import subprocess
import sys

import pytest

from settings import SOURCE


@pytest.mark.parametrize("name, word", [("inference", "transformer block: error"), ("training", "loss: first"), ("quantised", "int8 compiled beside")])
def test_example(name, word):
    environment = dict(os.environ, PYTHONPATH=str(SOURCE / "python"), OMP_NUM_THREADS="1")
    done = subprocess.run([sys.executable, SOURCE / f"examples/pytorch/{name}.py"], env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert word in done.stdout
