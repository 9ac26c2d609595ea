"""A crash of the compiler is an error; the process goes on, with the compiler in a process of its own."""

import os
import subprocess
import sys

import pytest

from conftest import BUILD, SOURCE

FAULTY = BUILD / "test/plugins/faulty/libtilewright-target-faulty.so"

CODE = r"""
import sys
sys.path.insert(0, sys.argv[1])
import numpy as np
import tilewright
from sample_programs import elementwise

text = elementwise().replace("-> tensor<4x8xf32> {", '-> tensor<4x8xf32> attributes {faulty.crash = "after-optimise"} {', 1)
options = {"target": "faulty", "plugins": [sys.argv[2]], "in_process": sys.argv[3] == "here", "cache": False}
for _ in range(2):
    try:
        tilewright.compile(text, **options)
    except tilewright.CompilerCrash as error:
        print("crash:", error)
a = np.ones((4, 8), np.float32)
assert np.all(tilewright.compile(elementwise(), cache=False)(a, a) == 2)
print("still here")
"""


@pytest.mark.parametrize("where", ["here", "worker"])
def test_a_crash_is_an_error(where, tmp_path):
    result = subprocess.run([sys.executable, "-c", CODE, str(SOURCE / "test/python"), str(FAULTY), where], capture_output=True,
                            text=True, timeout=120, env=os.environ, cwd=tmp_path)
    crashes = [line for line in result.stdout.splitlines() if line.startswith("crash:")]
    assert len(crashes) == 2 and "stage 3 (optimise) of the compiler crashed" in crashes[0], result
    assert result.stdout.splitlines()[-1] == "still here" and result.returncode == 0, result
