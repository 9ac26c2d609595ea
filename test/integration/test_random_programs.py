"""Random tensor programs against NumPy: random_programs.py with the seeds of CI, or of the full mode."""

import pathlib
import subprocess
import sys

from conftest import BUILD, FULL


def test_random_programs():
    script = pathlib.Path(__file__).with_name("random_programs.py")
    seeds = "0:2000" if FULL else "0:300"
    done = subprocess.run([sys.executable, str(script), "--seeds", seeds, "--tool", str(BUILD / "bin" / "tw-run")],
                          capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
