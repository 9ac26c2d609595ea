"""docs/onnx.md names what the reader has; the example runs."""

import os
import subprocess
import sys

import operations_table
from settings import SOURCE


def test_the_page_names_every_operation():
    assert operations_table.PAGE.read_text() == operations_table.page(
    ), "write the page again: operations_table.py --write"


def test_the_example(tmp_path):
    environment = dict(os.environ, PYTHONPATH=str(SOURCE / "python"))
    done = subprocess.run([sys.executable, SOURCE / "examples/onnx/inference.py"], env=environment, capture_output=True,
                          text=True, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "error of the package" in done.stdout
