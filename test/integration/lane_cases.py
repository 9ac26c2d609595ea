"""What the tests of emulated results share: chips, covering arrays of cases, and a run in all modes."""

import functools
import json
import subprocess

import pytest

from conftest import BUILD, FULL
from covering import pairwise
from lanes import emulate, kernels


@functools.cache
def described(*name):
    """What `tw-targets --json` says of a chip, or of all targets; asked once, since modules ask for all chips when they are loaded."""
    return json.loads(subprocess.run([str(BUILD / "bin" / "tw-targets"), *name, "--json"], check=True, text=True,
                                     capture_output=True).stdout)


@functools.cache
def lane_chips():
    """Chips that run lanes; without the full mode the first of each distinct set of units and size of a subgroup."""
    chips = {}
    for target in described()["targets"]:
        for chip in target["chips"]:
            name = f"{target['target']}:{chip}"
            facts = described(name)
            levels = {level["kind"]: level["count"] for level in facts["levels"]}
            if {"parallel", "concurrent", "lockstep"} <= levels.keys():
                key = (name,) if FULL else (*sorted(unit["name"] for unit in facts["units"]), levels["lockstep"])
                chips.setdefault(key, name)
    return list(chips.values())


def cases(chip_types, factors, allowed=lambda case: True):
    """Pairs of chip and type with the other factors."""
    chips, types = chip_types
    if not FULL:
        return [pytest.param(case, id="-".join(str(v) for v in case.values()))
                for case in pairwise({"chip": chips, "kind": types, **factors}, allowed)]
    arrays = {kind: pairwise(factors, lambda case, kind=kind: allowed({"kind": kind, **case})) for kind in types}
    return [pytest.param({"chip": chip, "kind": kind, **case}, id="-".join(map(str, [chip, kind, *case.values()])))
            for chip in chips for kind in types for case in arrays[kind]]


def conflicts(report):
    """Bank cycles beyond those that the bytes need, of kernels that use matrix units."""
    return [site for kernel in kernels(report) if kernel["units"]
            for site in kernel["sites"] if site.get("conflict_cycles")]


def run(tool, folder, chip, text, *words):
    path = folder / "program.mlir"
    path.write_text(text)
    return emulate(tool, path, chip, "--modes", *words)
