"""What the tests of SIMT targets share: which chips, and a run on the emulator that has to be right."""

import json
import re
import shutil
import subprocess

import pytest

from conftest import FULL

#: One chip per kind: asynchronous copies and loads of matrices, neither, wavefronts of 64 lanes, of 32.
CHIPS = ["nvidia:A100", "nvidia:T4", "nvidia:H100", "amd:MI300X", "amd:RX9070"]

#: Type and transpositions of products; all of them in the full mode.
PRODUCTS = [("f16", False, False), ("f16", False, True), ("bf16", True, False), ("i8", False, True), ("f32", False, False)]
if FULL:
    PRODUCTS = [(kind, a, b) for kind in ("f16", "bf16", "i8", "f32", "f64") for a in (False, True) for b in (False, True)]

#: What NVIDIA's assembler calls the architecture of a chip.
ARCHITECTURES = {"T4": "sm_75", "A100": "sm_80", "A10": "sm_86", "L4": "sm_89", "L40S": "sm_89", "RTX4090": "sm_89", "H100": "sm_90a",
                 "H200": "sm_90a", "B200": "sm_100a", "RTX5090": "sm_120a"}

#: NVIDIA's assembler; None where it is not installed.
PTXAS = shutil.which("ptxas") or shutil.which("/usr/local/cuda/bin/ptxas")


def report_without_spills(ptx, architecture):
    """What ptxas says of the kernels in the file `ptx`, none of which spills a register; skips the test where it does not know
    `architecture`."""
    done = subprocess.run([PTXAS, "-v", f"--gpu-name={architecture}", str(ptx), "-o", str(ptx.with_suffix(".cubin"))],
                          capture_output=True, text=True)
    if "is not defined for option 'gpu-name'" in done.stderr:
        pytest.skip(f"this ptxas does not know {architecture}")
    assert done.returncode == 0, done.stderr
    assert re.findall(r"(\d+) bytes spill", done.stderr) and not re.findall(r"[1-9]\d* bytes spill", done.stderr), done.stderr
    return done.stderr


def with_chips(cases, each=1, chips=CHIPS):
    """(chip, case) for `each` chips a case, in turn: all cases and, where there are as many, all chips occur. For all chips
    in the full mode."""
    cases = list(cases)
    if FULL:
        return [(chip, case) for case in cases for chip in chips]
    return [(chips[(i * each + j) % len(chips)], case) for i, case in enumerate(cases) for j in range(each)]


def emulate(tool, path, chip, *words):
    """Runs a program on the emulated chip; its report. Fails on a wrong result, a race or any other finding."""
    report = json.loads(tool("tw-run", path, "--target", chip, "--device", "emulator", "--verify", "--json", *words))
    assert report["verify"]["passed"], report["verify"]
    assert report["emulation"]["findings"] == []
    return report


def kernels(report):
    return report["emulation"]["kernels"]


def memory(kernel, name):
    """The counters of a kernel's "global" memory, or of its scratchpad."""
    return next(m for m in kernel["memories"] if (m["memory"] == "global") == (name == "global"))


#: Bytes that accesses of lanes are gathered into.
SECTOR = 32


def touched(pieces, size):
    """Distinct sectors of row pieces, each given as the elements of `size` bytes of an array that it consists of."""
    return sum(len({x * size // SECTOR for x in piece}) for piece in pieces)


def tiles(extent, size):
    """The parts of `size`, the last one shorter, of 0 .. extent."""
    return [range(first, min(extent, first + size)) for first in range(0, extent, size)]


def sites(kernel, writes):
    """Counters of the sites of a kernel in global memory that read, or that write."""
    return [site for site in kernel["sites"] if site["memory"] == "global" and site["writes"] == writes]
