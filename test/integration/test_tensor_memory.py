"""Products on units that add up in a memory of the block: which unit is taken, right results in every order of engines, code
without spills, and what the main loop consists of (docs/simt/tensor-memory.md)."""

import json
import re

import pytest

from conftest import FULL
from lanes import PTXAS, emulate, kernels, report_without_spills
from test_ring_code import product

CHIP = "nvidia:B200"

#: Element, how the unit's name says it, elements of k of an instruction, and whether it must be asked for.
TYPES = {"f16": ("k16_f16_f32", 16), "bf16": ("k16_bf16_f32", 16), "i8": ("k32_i8_i32", 32),
         "f8E4M3FN": ("k32_e4m3_f32", 32), "f8E5M2": ("k32_e5m2_f32", 32)}


def free(text):
    """The program without forced plans."""
    return re.sub(r' attributes \{tilewright.force = "[^"]*"\}', "", text, count=1)


def unit_issues(kernel, unit):
    return sum(each["issues"] for each in kernel["units"] if each["unit"].endswith(unit))


@pytest.mark.parametrize("element", TYPES)
def test_the_compiler_chooses_it(tool, tmp_path, element):
    source = tmp_path / "product.mlir"
    source.write_text(free(product(4096, 4096, 4096, element, True, (128, 256))))
    decisions = json.loads(tool("tw-compile", source, "--target", CHIP, "--explain=json"))
    choice = next(d for d in decisions if d["decision"] == "contraction")["choice"]
    assert re.fullmatch(rf"nvidia\.tcgen05_m128n\d+{TYPES[element][0]}", choice["unit"]), choice
    assert choice["engine"] == "TmaLoad" and choice["persistent_blocks"] > 0, choice


@pytest.mark.parametrize("element, transposed, tile, shape, out", [
    ("f16", True, (128, 128), (256, 256, 256), "f32"),       # whole tiles
    ("f16", False, (256, 64), (300, 136, 200), "f16"),       # two units a step, edges, lines of B along n, converted
    ("bf16", True, (128, 64), (130, 100, 136), "f32"),       # rows of C that no engine stores
    ("i8", False, (128, 128), (200, 256, 272), "f32"),
    ("f8E4M3FN", True, (128, 32), (128, 96, 256), "f16"),
])
def test_right_in_every_mode(tool, tmp_path, element, transposed, tile, shape, out):
    source = tmp_path / "product.mlir"
    source.write_text(product(*shape, element, transposed, tile, out=out))
    report = emulate(tool, source, CHIP, "--modes")
    name, k = TYPES[element]
    m, n, depth = shape
    tiles = -(-m // tile[0]) * -(-n // tile[1])
    steps = -(-depth // (8 * k // 2)) * 4  # 128 bytes of k are four instructions
    assert unit_issues(kernels(report)[0], name) % (tiles * steps * (tile[0] // 128)) == 0, kernels(report)[0]["units"]


def test_two_units_of_a_group(tool, tmp_path):
    """Each adds up in entries of its own, though the sums of both begin as the same zeros."""
    source = tmp_path / "product.mlir"
    source.write_text(product(256, 64, 192, "f16", True, (256, 64)).replace("group=4", "group=4,subgroups_m=1"))
    emulate(tool, source, CHIP)


def test_accumulators_of_several_tiles(tool, tmp_path):
    """Persistent blocks: the next tile's units wait for the lanes that read the last one's."""
    source = tmp_path / "product.mlir"
    text = product(512, 256, 192, "f16", True, (128, 64))
    source.write_text(text.replace("group=4", "group=4,persistent_blocks=2"))
    emulate(tool, source, CHIP, "--modes")


@pytest.mark.skipif(not PTXAS, reason="no ptxas")
@pytest.mark.parametrize("element, tile", [("f16", (128, 256)), ("f16", (256, 256)), ("i8", (128, 128)),
                                           *([("bf16", (256, 128)), ("f8E5M2", (128, 256))] if FULL else [])])
def test_code_of_the_main_loop(tool, tmp_path, element, tile):
    source, ptx = tmp_path / "product.mlir", tmp_path / "product.ptx"
    source.write_text(product(8192, 8192, 8192, element, True, tile))
    tool("tw-compile", source, "--target", CHIP, "-o", ptx)
    report_without_spills(ptx, "sm_100a")
    code = ptx.read_text()
    assert "st.local" not in code and "ld.local" not in code and "wgmma" not in code
    # A step: 128 bytes of k are four instructions for each 128 rows that a group multiplies. One lane waits for the stage, and
    # nothing comes by registers.
    loop = main_loop(code)
    counts = {part: loop.count(part) for part in ("tcgen05.mma", "tcgen05.commit", "mbarrier.try_wait", "tcgen05.fence", "tcgen05.ld",
                                                  "bar.sync", "ld.shared", "st.shared", "mbarrier::arrive")}
    assert counts["tcgen05.mma"] in (4, 8), loop
    assert [counts[part] for part in list(counts)[1:]] == [1, 1, 1, 0, 0, 0, 0, 1], loop  # a commit arrives


def main_loop(code):
    """The shortest loop with units: the instructions from a label to a branch back to it."""
    lines = [line.strip() for line in code.splitlines()]
    labels = {line[:-1]: number for number, line in enumerate(lines) if re.fullmatch(r"\$\w+:", line)}
    loops = []
    for end, line in enumerate(lines):
        branch = re.search(r"\bbra(?:\.uni)?\s+(\$\w+);", line)
        if branch and labels[branch[1]] < end:
            loops.append("\n".join(lines[labels[branch[1]]:end + 1]))
    return min((loop for loop in loops if "tcgen05.mma" in loop), key=len)
