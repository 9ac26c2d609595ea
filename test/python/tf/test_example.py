"""The example runs."""

import os
import subprocess
import sys

from settings import SOURCE


def test_the_example():
    environment = dict(os.environ, PYTHONPATH=str(SOURCE / "python"))
    done = subprocess.run([sys.executable, SOURCE / "examples/tensorflow/training.py"], env=environment,
                          capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "loss: first" in done.stdout
