"""Each wait, barrier, fence, bound, offset, swizzle, zero fill and scale that is removed or changed is found by the
proof or by a run (docs/trust.md): some in CI, all in the full mode."""

import importlib.util
import pathlib

import pytest

from conftest import BUILD, FULL, SANITIZERS

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "scripts/mutations.py"
spec = importlib.util.spec_from_file_location("mutations", SCRIPT)
mutations = importlib.util.module_from_spec(spec)
spec.loader.exec_module(mutations)
CHIPS = list(mutations.CHIPS) if FULL else ["nvidia:A100", "accelerator:npu"]


@pytest.mark.skipif(SANITIZERS, reason="hundreds of runs")
@pytest.mark.parametrize("chip", CHIPS)
def test_mistakes_are_found(chip):
    found = mutations.mutants(BUILD, chip, 1 if FULL else 9, mutations.CASES if FULL else mutations.CASES[:1])
    survivors = [each for each in found if not each.found and not mutations.reason(each)]
    # At least 99 % of those that can be seen.
    assert found and len(survivors) <= len(found) // 100, survivors


@pytest.mark.skipif(SANITIZERS, reason="dozens of runs")
@pytest.mark.parametrize("chip, kind, operation", [("amd:MI350", "scale-lane", ""), ("amd:RX9070", "offset", "tile.load")])
def test_what_lanes_load_for_a_unit_is_found(chip, kind, operation):
    """Scales of the next row or column, and the next places of a sparse operand, wherever a unit's are loaded."""
    lanes = [each for each in mutations.mutants(BUILD, chip, 1) if each.kind == kind and operation in each.op]
    assert lanes and all(each.found for each in lanes), lanes
