"""docs/jax.md names what the reader has; the example runs."""

import os
import subprocess
import sys

import pytest

import operations_table
from settings import SOURCE


def test_the_page_names_every_operation():
    assert operations_table.PAGE.read_text() == operations_table.page(), "write the page again: operations_table.py --write"


@pytest.mark.parametrize("name, says", [("training", "loss: first"), ("dynamic_sizes", "package, 7 sequences of 33: error")])
def test_the_examples(name, says):
    environment = dict(os.environ, PYTHONPATH=str(SOURCE / "python") + os.pathsep + os.environ.get("PYTHONPATH", ""))
    done = subprocess.run([sys.executable, SOURCE / f"examples/jax/{name}.py"], env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert says in done.stdout
