"""Products with scales on units that find them in a memory of the block: which unit is taken, right results of all forms in every
order of engines, code without spills, and what a step consists of (docs/simt/tensor-memory.md)."""

import json
import re

import numpy as np
import pytest

from conftest import FULL, some
from lanes import PTXAS, emulate, kernels, report_without_spills, sites
from test_block_scaled import RELU, operands_of, program, ragged
from test_float8 import run
from test_tensor_memory import main_loop, unit_issues

CHIP = "nvidia:B200"
DEVICE = ["--target", CHIP, "--device", "emulator"]
E4, E5, POWER = "f8E4M3FN", "f8E5M2", "f8E8M0FNU"
NAMES = {(E4, E4): "e4m3", (E5, E5): "e5m2", (E4, E5): "e4m3_e5m2", (E5, E4): "e5m2_e4m3"}


def contraction(tool, path, *options):
    decisions = json.loads(tool("tw-compile", path, "--target", CHIP, "--explain=json", *options))
    return next(d for d in decisions if d["decision"] == "contraction")


@pytest.mark.parametrize("form", ["chain", "generic", "tosa"])
def test_the_compiler_chooses_it(form, tool, tmp_path):
    path = tmp_path / "program.mlir"
    path.write_text(program(form, 4096, 4096, 4096, E4, E4))
    decision = contraction(tool, path)
    plan = decision["choice"]
    assert re.fullmatch(r"nvidia\.tcgen05_m128n\d+k32_mx_e4m3_f32", plan["unit"]) and plan["engine"] == "TmaLoad", plan
    # Four entries for 128 rows of A or columns of B; a block has 512 for accumulators and the scales of all stages.
    rows, columns, depth = plan["block"]
    groups = plan["subgroups"][0]
    assert depth == 128 and plan["scale_entries"] == 4 * (rows // groups // 128 + -(-columns // 128))
    assert rows // 128 * columns + groups * plan["stages"] * plan["scale_entries"] <= 512
    ways = {each["scaled_by"]: each["seconds"] for each in decision["scales"]}
    assert ways["unit"] < ways["buffers"]
    assert "_mx_" not in contraction(tool, path, "--fp=strict")["choice"]["unit"]


def forced(text, fields):
    return f'module attributes {{tilewright.force = "{fields}"}} {{\n{text}\n}}'


#: Whole tiles; rests in m, n and k with one and two groups; k that ends inside of a block; a tile that no power of two is.
SHAPES = [((128, 64, 256), (E4, E4), "block_m=128,block_n=64,stages=2"), ((300, 136, 208), (E4, E5), "block_m=256,block_n=64"),
          ((130, 100, 144), (E4, E4), "block_m=128,block_n=32"), ((257, 200, 400), (E5, E5), "block_m=128,block_n=96"),
          ((150, 260, 272), (E5, E4), "block_m=256,block_n=128,subgroups_m=1")]


@pytest.mark.parametrize("shape, types, tile", some(SHAPES))
def test_right_in_every_mode(shape, types, tile, tool, tmp_path):
    path, (m, n, k) = tmp_path / "program.mlir", shape
    text = forced(ragged(m, n, k, *types), f"group=4,{tile}")
    operands, wide = operands_of([(m, k, types[0]), (n, k, types[1])])
    exact, size = wide[0] @ wide[1].T, np.abs(wide[0]) @ np.abs(wide[1]).T
    got = run(tool, tmp_path, text, operands, [types[0], POWER, types[1], POWER], "f32", *DEVICE)
    assert np.all(np.abs(got - exact) <= (k + 2) * 2.0**-23 * size)
    path.write_text(text)
    report = emulate(tool, path, CHIP, "--modes")
    of_scales, product = kernels(report)[:-1], kernels(report)[-1]
    assert len(of_scales) == 2
    # Each writes whole words of images, once.
    for kernel, rows, edge in zip(of_scales, (m, n), [int(each.partition("=")[2]) for each in tile.split(",")[:2]]):
        images = -(-rows // edge) * (-(-edge // 128)) * -(-k // 128)
        assert sum(site["bytes"] for site in sites(kernel, writes=True)) == images * 512, kernel
    assert unit_issues(product, f"k32_mx_{NAMES[types]}_f32") > 0, product["units"]


@pytest.mark.parametrize("form", ["chain", "tosa"])
def test_other_forms(form, tool, tmp_path):
    m, n, k = 200, 96, 256
    text = forced(program(form, m, n, k, E5, E5), "group=4,block_m=128,block_n=32")
    operands, wide = operands_of([(m, k, E5), (n, k, E5)])
    if form == "tosa":
        operands = [x[None] for x in operands]
    got = run(tool, tmp_path, text, operands, [E5, POWER, E5, POWER], "f32", *DEVICE).reshape(m, n)
    assert np.all(np.abs(got - wide[0] @ wide[1].T) <= (k + 2) * 2.0**-23 * (np.abs(wide[0]) @ np.abs(wide[1]).T))
    assert contraction(tool, tmp_path / "program.mlir")["choice"]["unit"] == "nvidia.tcgen05_m128n32k32_mx_e5m2_f32"


def test_accumulators_of_several_tiles(tool, tmp_path):
    """Persistent blocks: stages and their entries go on from one tile to the next."""
    path = tmp_path / "program.mlir"
    path.write_text(forced(ragged(512, 256, 320, E4, E4), "group=4,block_m=128,block_n=64,persistent_blocks=2,stages=2"))
    emulate(tool, path, CHIP, "--modes")


def test_the_proof(tool, tmp_path):
    path = tmp_path / "program.mlir"
    path.write_text(forced(ragged(150, 100, 208, E4, E5), "group=4,block_m=128,block_n=64"))
    tool("tw-run", path, *DEVICE, "--prove=require")


def test_scales_of_nan_larger_blocks_and_an_epilogue(tool, tmp_path):
    operands, wide = operands_of([(64, 512, E4), (48, 512, E4)], block=64)
    for i in (0, 1):  # of one sign, so that no infinities cancel to NaN
        operands[2 * i], wide[i] = abs(operands[2 * i]), abs(wide[i])
    operands[1][5, 3] = 255
    wide[0][5, 192:256] = np.nan
    exact, size = np.maximum(wide[0] @ wide[1].T, 0), np.abs(wide[0]) @ np.abs(wide[1]).T
    text = ragged(64, 48, 512, E4, E4, RELU).replace("floordiv 32", "floordiv 64").replace("x16xf8E8M0FNU", "x8xf8E8M0FNU")
    text = forced(text, "group=4,block_m=128,block_n=32")
    got = run(tool, tmp_path, text, operands, [E4, POWER, E4, POWER], "f32", *DEVICE)
    assert np.array_equal(np.isnan(got), np.isnan(exact))
    finite = ~np.isnan(exact)
    assert np.all(np.abs(got - exact)[finite] <= (514 * 2.0**-23 * size)[finite])
    assert "_mx_" in contraction(tool, tmp_path / "program.mlir")["choice"]["unit"]


@pytest.mark.skipif(not PTXAS, reason="no ptxas")
@pytest.mark.parametrize("types, tile", [((E4, E4), (128, 256)), ((E4, E5), (256, 128)), *([((E5, E4), (256, 192))] if FULL else [])])
def test_code_of_the_main_loop(types, tile, tool, tmp_path):
    path, ptx = tmp_path / "program.mlir", tmp_path / "program.ptx"
    path.write_text(forced(program("generic", 8192, 8192, 8192, *types), f"group=4,block_m={tile[0]},block_n={tile[1]}"))
    tool("tw-compile", path, "--target", CHIP, "-o", ptx)
    report_without_spills(ptx, "sm_100a")
    # A step: an image of the scales of 128 rows, or columns, is copied once; four instructions take a byte of its words each.
    loop = main_loop(ptx.read_text())
    mma = re.findall(r"tcgen05\.mma\.cta_group::1\.kind::mxf8f6f4\.block_scale\.scale_vec::1X ", loop)
    copies = re.findall(r"tcgen05\.cp\.cta_group::1\.32x128b\.warpx4 ", loop)
    counts = {part: loop.count(part) for part in ("tcgen05.commit", "mbarrier.try_wait", "tcgen05.fence", "tcgen05.ld", "ld.shared")}
    assert len(mma) in (4, 8) and len(copies) == len(mma) // 4 + -(-tile[1] // 128), loop
    assert list(counts.values()) == [1, 1, 1, 0, 0], loop
