"""Transpositions on lanes: of all element types, with short dimensions inside, of static and dynamic sizes, with other operands.
Both what is read and what is written are walked in full sectors, and no lanes meet in a bank."""

import math

import pytest

from conftest import some
from lane_texts import transposition
from lanes import SECTOR, emulate, kernels, memory, sites, tiles, touched, with_chips

#: In CI each case is on one of them, in turn.
CHIPS = ["nvidia:A100", "amd:MI300X", "amd:RX7900"]

#: Type, shape, order of the dimensions in the result, those that only the call knows. All rows begin at whole sectors.
FULL_ROWS = [
    ("i1", (128, 256), (1, 0), ()), ("i1", (128, 256), (1, 0), (0, 1)), ("i1", (64, 128, 3), (2, 0, 1), ()),
    ("f32", (1024, 3), (1, 0), (0,)), ("f32", (3, 1024), (1, 0), (1,)), ("f64", (320, 6), (1, 0), ()),
    ("f16", (24, 40, 3), (2, 0, 1), ()), ("i8", (24, 40, 3), (2, 0, 1), (0,)), ("i8", (3, 24, 40), (1, 2, 0), ()),
    ("f32", (64, 96, 3), (1, 0, 2), ()), ("f32", (40, 24, 3), (1, 0, 2), (0, 1)), ("f32", (64, 96, 2), (1, 0, 2), ()),
    ("f16", (64, 96, 4), (1, 0, 2), ()), ("i8", (128, 128, 3), (1, 0, 2), ()), ("f32", (2, 7, 8, 64), (0, 3, 1, 2), ()),
    ("f32", (2, 64, 7, 8), (0, 2, 3, 1), ()), ("f32", (2, 32, 32, 3), (0, 3, 1, 2), (0,))]

#: Runs that are even or wider than all banks, whose short dimensions have more than 128 iterations together, or fit no scratchpad.
MIXED = [
    ("f64", (1000, 12, 8), (2, 1, 0), ()), ("f64", (8, 12, 96), (2, 1, 0), ()), ("f32", (64, 8, 32, 8), (3, 2, 1, 0), ()),
    ("f32", (7, 128, 7, 2), (0, 3, 2, 1), ()), ("f32", (2, 5, 96), (2, 0, 1), ()), ("f32", (2, 32, 96), (1, 2, 0), ()),
    ("f16", (64, 64, 12), (0, 2, 1), ()), ("f16", (100, 16, 5), (0, 2, 1), ()), ("f16", (7, 32, 7), (1, 0, 2), ()),
    ("i16", (64, 2, 7), (2, 1, 0), ()), ("i16", (64, 2, 7), (0, 2, 1), ()), ("i8", (12, 64, 128), (2, 1, 0), ()),
    ("i8", (64, 64, 5), (0, 2, 1), ()), ("f16", (64, 12, 8), (1, 0, 2), (1,)), ("f64", (2, 32, 2, 16), (1, 3, 0, 2), ())]

#: Rows that begin inside of sectors: shape, order, and the elements of a row that is read and of one that is written. The 7 x 7 and
#: 14 x 14 points of an image lie behind each other on both sides, so they are one row.
PARTS = [((2, 14, 14, 64), (0, 3, 1, 2), 64, 196), ((2, 64, 7, 7), (0, 2, 3, 1), 49, 64), ((130, 70), (1, 0), 70, 130)]


def run(tool, tmp_path, chip, kind, shape, order, dynamic=(), operand=False, words=()):
    path = tmp_path / "program.mlir"
    path.write_text(transposition(kind, shape, order, dynamic, operand))
    report = emulate(tool, path, chip, *(f"--sizes={shape[d]}" for d in dynamic), *words)
    [kernel] = kernels(report)
    assert memory(kernel, "scratchpad")["conflict_cycles"] == 0
    return kernel


@pytest.mark.parametrize("chip, case", some(with_chips(FULL_ROWS + MIXED, chips=CHIPS)), ids=str)
def test_full_sectors(tool, tmp_path, chip, case):
    kernel = run(tool, tmp_path, chip, *case)
    for writes in (False, True):
        far = sites(kernel, writes)
        assert sum(s["transactions"] for s in far) * SECTOR <= 1.05 * sum(s["bytes"] for s in far)


@pytest.mark.parametrize("chip", CHIPS)
@pytest.mark.parametrize("shape, order, read, written", PARTS, ids=str)
def test_sectors_of_row_pieces(tool, tmp_path, chip, shape, order, read, written):
    """A subgroup takes as many elements of a row at a time as it has lanes, and touches each sector of such a piece once."""
    kernel = run(tool, tmp_path, chip, "f32", shape, order)
    lanes = 64 if chip == "amd:MI300X" else 32
    for writes, row in ((False, read), (True, written)):
        pieces = [range(first + piece.start, first + piece.stop) for first in range(0, math.prod(shape), row)
                  for piece in tiles(row, lanes)]
        assert sum(s["transactions"] for s in sites(kernel, writes)) <= 1.05 * touched(pieces, 4)


@pytest.mark.parametrize("chip", CHIPS)
@pytest.mark.parametrize("case", [("f32", (64, 96, 3), (1, 0, 2), ()), ("f16", (3, 1024), (1, 0), ()), ("f32", (512, 3), (1, 0), ())],
                         ids=str)
def test_other_operands(tool, tmp_path, chip, case):
    """An operand that lies as the result does goes the same way, or is read where it is."""
    kernel = run(tool, tmp_path, chip, *case, operand=True)
    for writes in (False, True):
        far = sites(kernel, writes)
        assert sum(s["transactions"] for s in far) * SECTOR <= 1.05 * sum(s["bytes"] for s in far)


@pytest.mark.parametrize("chip, case", with_chips([
    ("i1", (33, 47), (1, 0), (0, 1)), ("f16", (5, 3, 70), (2, 0, 1), ()), ("i8", (37, 3), (1, 0), (0,)),
    ("f32", (33, 5, 3), (1, 0, 2), (0,)), ("f16", (40, 24, 3), (1, 0, 2), (0, 1)), ("f16", (64, 31, 3), (0, 2, 1), ()),
    ("i8", (31, 5, 31), (1, 2, 0), ()), ("i8", (12, 12, 7), (2, 1, 0), ()), ("f32", (2, 9, 18, 5), (0, 3, 1, 2), ()),
    ("f64", (3, 17, 1, 33), (3, 2, 1, 0), ()), ("i16", (17, 6, 35), (2, 1, 0), (2,))], chips=CHIPS), ids=str)
def test_ends_of_tiles(tool, tmp_path, chip, case):
    """Sizes that fill no tile: right results in every order of lanes and engines, and nothing beyond the ends of arrays."""
    run(tool, tmp_path, chip, *case, words=["--modes"])
