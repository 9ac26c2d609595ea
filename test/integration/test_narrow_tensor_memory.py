"""Block-scaled floats of 4 and 6 bits on units that read them packed in the scratchpad: which unit is taken, right results in every
order of engines, signs of scales that the unit does not take, and code without spills (docs/simt/tensor-memory.md)."""

import re

import numpy as np
import pytest

from conftest import some
from float8 import dtype
from lanes import PTXAS, emulate, kernels, report_without_spills
from test_block_scaled import operands_of, program, ragged
from test_float8 import run
from test_scaled_tensor_memory import CHIP, DEVICE, E4, E5, POWER, contraction, forced
from test_tensor_memory import main_loop, unit_issues

F4, F6, B6 = "f4E2M1FN", "f6E2M3FN", "f6E3M2FN"


def sixteens(text, k):
    """The same with a scale of f8E4M3FN for 16 elements."""
    return text.replace("floordiv 32", "floordiv 16").replace(f"x{-(-k // 32)}x{POWER}", f"x{-(-k // 16)}x{E4}").replace(POWER, E4)


def operands_of_sixteens(rows, k, seed=5):
    """Of each sign, too, and both multiplied in float64."""
    random = np.random.default_rng(seed)
    data = random.standard_normal((rows, k)).astype(dtype(F4))
    scale = (random.standard_normal((rows, -(-k // 16))) * 4).astype(dtype(E4))
    return [data, scale], data.astype(np.float64) * np.repeat(scale.astype(np.float64), 16, axis=1)[:, :k]


@pytest.mark.parametrize("types, block, unit", [((F4, F4), 32, "k64_mxf4"), ((F4, F4), 16, "k64_nvf4"),
                                                ((F6, B6), 32, "k32_mx_e2m3_e3m2"), ((F4, E4), 32, "k32_mx_e2m1_e4m3")])
def test_the_compiler_chooses_it(types, block, unit, tool, tmp_path):
    path, text = tmp_path / "program.mlir", program("generic", 4096, 4096, 4096, *types)
    path.write_text(sixteens(text, 4096) if block == 16 else text)
    decision = contraction(tool, path)
    plan = decision["choice"]
    assert re.fullmatch(rf"nvidia\.tcgen05_m128n\d+{unit}_f32", plan["unit"]) and plan["engine"] == "TmaLoad", plan
    # 128 bytes of k, with a word of scales for four blocks of each row.
    rows, columns, depth = plan["block"]
    groups, fours = plan["subgroups"][0], "k64" in unit
    assert depth == (256 if fours else 128)
    assert plan["scale_entries"] == depth // (4 * block) * 4 * (rows // groups // 128 + -(-columns // 128))
    assert rows // 128 * columns + groups * plan["stages"] * plan["scale_entries"] <= 512
    ways = {each["scaled_by"]: each["seconds"] for each in decision["scales"]}
    assert ways["unit"] < ways["buffers"]


#: Rests in m, n and k, with k that ends inside of a line of 16 bytes, of a word of scales and of a block.
SHAPES = [((130, 136, 688), (F4, F4), 32, "block_m=128,block_n=64,stages=2"), ((260, 100, 512), (F4, F4), 32, "block_m=256,block_n=96"),
          ((130, 72, 528), (F4, F4), 16, "block_m=128,block_n=64,stages=2"), ((128, 130, 1040), (F4, F4), 16, "block_m=128,block_n=128"),
          ((150, 100, 208), (F6, B6), 32, "block_m=128,block_n=64"), ((140, 72, 272), (E5, F6), 32, "block_m=128,block_n=64"),
          ((129, 65, 240), (F4, E4), 32, "block_m=128,block_n=64")]
NAMES = {(F4, F4): "k64_mxf4", (F6, B6): "k32_mx_e2m3_e3m2", (E5, F6): "k32_mx_e5m2_e2m3", (F4, E4): "k32_mx_e2m1_e4m3"}


@pytest.mark.parametrize("shape, types, block, tile", some(SHAPES))
def test_right_in_every_mode(shape, types, block, tile, tool, tmp_path):
    path, (m, n, k) = tmp_path / "program.mlir", shape
    # A depth that no unit without scales has: else products as small as these are scaled in buffers.
    text = forced(ragged(m, n, k, *types), f"group=4,{tile},block_k={256 if types == (F4, F4) else 128}")
    scale = POWER
    if block == 16:
        text, scale = sixteens(text, k), E4
        (a, left), (b, right) = (operands_of_sixteens(rows, k, rows) for rows in (m, n))
        operands, wide = [*a, *b], [left, right]
    else:
        operands, wide = operands_of([(m, k, types[0]), (n, k, types[1])])
    exact, size = wide[0] @ wide[1].T, np.abs(wide[0]) @ np.abs(wide[1]).T
    got = run(tool, tmp_path, text, operands, [types[0], scale, types[1], scale], "f32", *DEVICE)
    assert np.all(np.abs(got - exact) <= (k + 2) * 2.0**-23 * size)
    path.write_text(text)
    report = emulate(tool, path, CHIP, "--modes")
    unit = "k64_nvf4" if block == 16 else NAMES[types]
    assert unit_issues(kernels(report)[-1], f"{unit}_f32") > 0, kernels(report)[-1]["units"]


def test_scales_of_nan(tool, tmp_path):
    """Of either sign, beside scales of both signs: the sign goes to elements, of which none is NaN, and the magnitude stays NaN."""
    m, n, k = 130, 72, 528
    (a, left), (b, right) = (operands_of_sixteens(rows, k, rows) for rows in (m, n))
    places = [(a[1], left, 5, 3, 0x7F), (a[1], left, 129, 32, 0xFF), (b[1], right, 7, 0, 0xFF), (b[1], right, 64, 9, 0x7F)]
    for scale, wide, row, block, code in places:
        scale.view(np.uint8)[row, block] = code
        wide[row, 16 * block:16 * block + 16] = np.nan
    exact, size = left @ right.T, np.abs(left) @ np.abs(right).T
    text = sixteens(forced(ragged(m, n, k, F4, F4), "group=4,block_m=128,block_n=64,block_k=256"), k)
    got = run(tool, tmp_path, text, [*a, *b], [F4, E4, F4, E4], "f32", *DEVICE)
    known = np.ones((m, n), bool)
    known[[5, 129], :] = known[:, [7, 64]] = False
    assert np.array_equal(~np.isnan(exact), known) and np.array_equal(~np.isnan(got), known)
    assert np.all(np.abs(got - exact)[known] <= (k + 2) * 2.0**-23 * size[known])
    assert "_nvf4_" in contraction(tool, tmp_path / "program.mlir")["choice"]["unit"]


def test_the_proof(tool, tmp_path):
    path = tmp_path / "program.mlir"
    path.write_text(forced(ragged(150, 100, 544, F4, F4), "group=4,block_m=128,block_n=64,block_k=256"))
    tool("tw-run", path, *DEVICE, "--prove=require")


@pytest.mark.skipif(not PTXAS, reason="no ptxas")
@pytest.mark.parametrize("types, block, kind", [((F4, F4), 32, "mxf4.block_scale.scale_vec::2X"), ((F4, F4), 16, "mxf4nvf4.block_scale.scale_vec::4X"),
                                                ((B6, F4), 32, "mxf8f6f4.block_scale.scale_vec::1X")])
def test_code_of_the_main_loop(types, block, kind, tool, tmp_path):
    path, ptx = tmp_path / "program.mlir", tmp_path / "program.ptx"
    text = forced(program("generic", 8192, 8192, 8192, *types), "group=4,block_m=128,block_n=256")
    path.write_text(sixteens(text, 8192) if block == 16 else text)
    tool("tw-compile", path, "--target", CHIP, "-o", ptx)
    report_without_spills(ptx, "sm_100a")
    loop = main_loop(ptx.read_text())
    mma = re.findall(rf"tcgen05\.mma\.cta_group::1\.kind::{re.escape(kind)} ", loop)
    copies = re.findall(r"tcgen05\.cp\.cta_group::1\.32x128b\.warpx4 ", loop)
    # 128 bytes of k are four instructions; a word of scales holds those of four blocks of a row.
    words = (256 if "mxf4" in kind else 128) // (4 * block)
    assert len(mma) == 4 and len(copies) == 3 * words, loop
