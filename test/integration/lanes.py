"""What the tests of chips that run lanes share: which chips, and a run on the emulator that has to be right."""

import json

from conftest import FULL

#: One chip per kind: asynchronous copies and loads of matrices, neither, wavefronts of 64 lanes, of 32.
CHIPS = ["nvidia:A100", "nvidia:T4", "nvidia:H100", "amd:MI300X", "amd:RX9070"]


def with_chips(cases, each=1):
    """(chip, case) for `each` chips a case, in turn; for all chips in the full mode."""
    cases = list(cases)
    if FULL:
        return [(chip, case) for case in cases for chip in CHIPS]
    return [(CHIPS[(i * each + j) % len(CHIPS)], case) for i, case in enumerate(cases) for j in range(each)]


def emulate(tool, path, chip, *words):
    """Runs a program on the emulated chip; its report. Fails on a wrong result, a race or any other finding."""
    report = json.loads(tool("tw-run", path, "--target", chip, "--device", "emulator", "--verify", "--json", *words))
    assert report["verify"]["passed"], report["verify"]
    assert report["emulation"]["findings"] == []
    return report


def kernels(report):
    return report["emulation"]["kernels"]
