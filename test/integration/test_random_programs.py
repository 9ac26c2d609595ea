"""Random tensor programs against NumPy: the package random_programs with the seeds of CI, or of the full mode."""

import pathlib
import subprocess
import sys

import pytest

from conftest import BUILD, FULL
from scratchpads import PLUGIN

HERE = pathlib.Path(__file__).parent
#: What loads the chip with scratchpads.
LOADS = {"accelerator:npu": [f"--load-target={PLUGIN}"]}


def run(seeds, *words):
    command = [sys.executable, "-m", "random_programs", "--seeds", seeds, "--tool", str(BUILD / "bin" / "tw-run")]
    done = subprocess.run(command + list(words), capture_output=True, text=True, cwd=HERE)
    assert done.returncode == 0, done.stdout + done.stderr


def run_on_the_emulator(chip, first, count, *words, modes=False):
    run(f"{first}:{first + count}", *words, "--", *LOADS.get(chip, []), "--target", chip, "--device", "emulator", *(["--modes"] if modes else []))


def test_on_the_host():
    run("0:2000" if FULL else "0:100")


#: A chip with asynchronous copies, one without, lanes in subgroups of 64 and 32, one with units of 8-bit floats, one with scratchpads.
@pytest.mark.parametrize("chip, first", [("nvidia:A100", 0), ("nvidia:T4", 500), ("amd:MI300X", 1000), ("amd:RX9070", 1500),
                                         ("nvidia:H100", 2000), ("accelerator:npu", 4080)])
def test_on_the_emulator(chip, first):
    run_on_the_emulator(chip, first, 200 if FULL else 8, "--small")


#: Chains over rows, in every order of lanes and engines; the seeds begin where the other chip's end.
@pytest.mark.parametrize("chip, first", [("nvidia:A100", 0), ("amd:MI300X", 500), ("amd:RX7900", 1000), ("nvidia:H200", 1500),
                                         ("accelerator:npu", 2000)])
def test_rows_on_the_emulator(chip, first):
    run_on_the_emulator(chip, first, 500 if FULL else 8, "--rows", *([] if FULL else ["--small"]), modes=True)


def test_rows_on_the_host():
    run("0:300" if FULL else "0:20", "--rows")


#: Products over windows, strided, reversed and cut rows, in every order of lanes and engines.
@pytest.mark.parametrize("chip, first", [("nvidia:A100", 0), ("nvidia:T4", 300), ("nvidia:H100", 600), ("amd:MI300X", 900), ("amd:MI350", 1200),
                                         ("amd:MI250", 1500), ("amd:RX7900", 1800), ("amd:RX9070", 2100), ("accelerator:npu", 2400)])
def test_windows_on_the_emulator(chip, first):
    run_on_the_emulator(chip, first, 300 if FULL else 6, "--windows", *([] if FULL else ["--small"]), modes=True)


def test_windows_on_the_host():
    run("0:600" if FULL else "0:24", "--windows")


def test_after_each_stage():
    """Programs run as each stage leaves them, too. The judge is float64: seeds whose floats become integers near a tie are
    left to the comparisons above."""
    run("0:170" if FULL else "0:10", "--", "--verify-stages")
