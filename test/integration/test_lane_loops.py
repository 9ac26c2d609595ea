"""Main loops of compiled products: how many instructions stand beside those of the matrix unit."""

import json
import re
import struct
import subprocess

import pytest

from conftest import FULL, some
from lane_texts import product
from lanes import PTXAS


def forced(tmp_path, kind, fields, trans_a=False, trans_b=False):
    path = tmp_path / "mm.mlir"
    path.write_text(f'module attributes {{tilewright.force = "{fields}"}} {{{product(kind, 8192, 8192, 8192, trans_a, trans_b)}}}')
    return path


def amd_loop(assembly, matrix):
    """Instructions of the loop that holds the most of `matrix`."""
    lines = [line.split(";")[0].strip() for line in assembly.splitlines()]
    labels = {line[:-1]: i for i, line in enumerate(lines) if re.fullmatch(r"\.LBB\w+:", line)}
    loops = []
    for i, line in enumerate(lines):
        branch = re.match(r"s_c?branch\w*\s+(\.LBB\w+)", line)
        if branch and labels.get(branch.group(1), i) < i:
            body = [l for l in lines[labels[branch.group(1)]:i + 1] if re.match(r"[a-z]\w+", l)]
            loops.append(body)
    return max(loops, key=lambda body: sum(matrix in line for line in body))


#: Clocks of the 32 x 32 unit of a chip for 16-bit and for 8-bit elements.
CLOCKS = {"MI250": 64, "MI300X": 32, "MI350": 32}
#: Chip, element type, tile, transpositions of A and B, and the share that its main loop has at least. Both operands are turned
#: where A is transposed and B is not. Those below 0.80 are bytes that lanes transpose in registers: docs/simt/measurements.md counts them.
BOTH, TILES = (False, True), ((256, 128), (256, 256))
SHARES = [("MI300X", "f16", (256, 128), (False, True), 0.88), ("MI300X", "i8", (256, 256), (True, False), 0.80),
          ("MI300X", "f16", (256, 256), (True, False), 0.86), ("MI300X", "f16", (256, 128), (False, False), 0.85),
          ("MI300X", "i8", (256, 128), (False, False), 0.82), ("MI250", "f16", (256, 128), (True, False), 0.89),
          ("MI250", "bf16", (256, 256), (False, False), 0.90), ("MI250", "i8", (256, 128), (True, False), 0.89),
          ("MI350", "f16", (256, 128), (True, False), 0.82), ("MI350", "f16", (256, 128), (False, False), 0.84),
          ("MI350", "i8", (256, 128), (True, True), 0.84), ("MI350", "f16", (256, 256), (True, False), 0.84),
          ("MI300X", "f16", (256, 128), (True, False), 0.80), ("MI300X", "i8", (256, 128), (True, False), 0.72),
          ("MI300X", "i8", (128, 256), (True, True), 0.82),
          ("MI350", "i8", (256, 256), (False, False), 0.86)]
if FULL:
    SHARES = [("MI250", kind, tile, (a, b), 0.89) for kind in ("f16", "bf16", "i8") for tile in TILES for a in BOTH for b in BOTH]
    SHARES += [("MI350", kind, tile, (a, b), 0.82) for kind in ("f16", "bf16", "i8") for tile in TILES for a in BOTH for b in BOTH]
    SHARES += [("MI300X", kind, tile, (a, b), 0.80) for kind in ("f16", "bf16") for tile in TILES for a in BOTH for b in BOTH]
    SHARES += [("MI300X", "i8", (256, 256), (a, b), 0.81) for a in BOTH for b in BOTH]
    SHARES += [("MI300X", "i8", (256, 128), (False, b), 0.82) for b in BOTH]
    SHARES += [("MI300X", "i8", (256, 128), (True, True), 0.78), ("MI300X", "i8", (256, 128), (True, False), 0.72)]
    SHARES += [("MI300X", "i8", (128, 256), (True, True), 0.82), ("MI300X", "i8", (128, 256), (False, False), 0.78)]


#: What `main_loop` found: several tests ask for the same.
LOOPS = {}


def main_loop(chip, kind, tile, orders, tool, tmp_path, more=""):
    """What the compiler decided for a product in this block tile, and the instructions of its main loop."""
    name = chip, kind, tile, orders, more
    if name not in LOOPS:
        LOOPS[name] = compiled_loop(chip, kind, tile, orders, tool, tmp_path, more)
    return LOOPS[name]


def compiled_loop(chip, kind, tile, orders, tool, tmp_path, more):
    program, assembly = forced(tmp_path, kind, f"block_m={tile[0]},block_n={tile[1]}{more}", *orders), tmp_path / "mm.s"
    decisions = json.loads(tool("tw-compile", program, "--target", f"amd:{chip}", "-o", assembly, "--explain=json"))
    choice = next(d for d in decisions if d["decision"] == "contraction")["choice"]
    text = assembly.read_text()
    assert not re.search(r"spill_count: +[1-9]", text), "registers are spilled"
    return choice, amd_loop(text, "v_mfma_")


@pytest.mark.parametrize("chip, kind, tile, orders, least", some(SHARES))
def test_share_of_mfma(chip, kind, tile, orders, least, tool, tmp_path):
    """Cycles of products, of those and four for every other instruction of a wave: nothing overlaps inside it."""
    _, loop = main_loop(chip, kind, tile, orders, tool, tmp_path)
    assert all("32x32" in line for line in loop if "v_mfma" in line)
    products = CLOCKS[chip] * sum("v_mfma" in line for line in loop)
    others = 4 * sum("v_mfma" not in line for line in loop)
    assert products / (products + others) >= least, "\n".join(loop)


#: The same where launches turn these operands before: 1 is A, 2 is B.
TURNED_BEFORE = [("MI300X", "i8", (256, 128), (True, False), 3, 0.88), ("MI300X", "i8", (256, 128), (True, False), 1, 0.82),
                 ("MI300X", "i8", (256, 128), (True, True), 1, 0.88), ("MI300X", "f16", (256, 128), (True, False), 3, 0.88)]
if FULL:
    TURNED_BEFORE += [(chip, kind, tile, orders, orders[0] + 2 * (not orders[1]), least)
                      for chip, least in (("MI250", 0.95), ("MI300X", 0.88), ("MI350", 0.86)) for kind in ("f16", "bf16", "i8")
                      for tile in TILES for orders in ((True, False), (True, True), (False, False))]


@pytest.mark.parametrize("chip, kind, tile, orders, which, least", TURNED_BEFORE)
def test_share_where_launches_turn_operands(chip, kind, tile, orders, which, least, tool, tmp_path):
    """The loop of operands in order, then: lanes permute what is left alone."""
    choice, loop = main_loop(chip, kind, tile, orders, tool, tmp_path, f",transpose_before={which}")
    assert choice["transpose_before"] == which
    if which == orders[0] + 2 * (not orders[1]):
        assert not any("v_perm" in line for line in loop), "\n".join(loop)
    products = CLOCKS[chip] * sum("v_mfma" in line for line in loop)
    others = 4 * sum("v_mfma" not in line for line in loop)
    assert products / (products + others) >= least, "\n".join(loop)


#: Shapes of products by which plans are chosen: squares, those of language models, few rows, columns or products.
SHAPES = [(1024, 1024, 1024), (2048, 2048, 2048), (3072, 3072, 3072), (4096, 4096, 4096), (8192, 8192, 8192), (4096, 11008, 4096),
          (4096, 4096, 11008), (2048, 128256, 4096), (8192, 1280, 8192), (16384, 16384, 512), (8192, 28672, 8192)]
#: Sizes that no tile divides, and rows that begin at 8 elements, at two, and anywhere.
SHAPES += [(4000, 5000, 3000), (2050, 4098, 1030), (2049, 4097, 1031), (4001, 5003, 3001)]
CHOSEN = [("MI300X", "i8", (True, False), [(4096, 4096, 4096), (2048, 128256, 4096)]), ("MI250", "f16", (True, True), [(16384, 16384, 512)]),
          ("MI300X", "f8E4M3FNUZ", (False, False), [(4096, 4096, 4096)]), ("MI350", "i8", (True, False), [(4000, 5000, 3000), (2050, 4098, 1030), (2049, 4097, 1031)]),
          ("MI300X", "f16", (False, False), [(4096, 4096, 4096)]), ("MI350", "bf16", (True, False), [(4096, 4096, 4096)]),
          ("MI350", "i8", (False, True), [(8192, 8192, 8192)]), ("MI350", "f8E4M3FN", (True, False), [(4096, 4096, 4096)])]
if FULL:
    KINDS = {"MI250": (), "MI300X": ("f8E4M3FNUZ",), "MI350": ("f8E4M3FN",)}
    CHOSEN = [(chip, kind, (a, b), SHAPES) for chip in CLOCKS for kind in ("f16", "bf16", "f32", "i8", *KINDS[chip]) for a in BOTH for b in BOTH]


@pytest.mark.parametrize("chip, kind, orders, shapes", some(CHOSEN))
def test_share_of_chosen_plans(chip, kind, orders, shapes, tool, tmp_path):
    """Blocks from 256 x 128 on that the model takes by itself: each wave alone, whatever others do beside it on its SIMD."""
    units = {unit["name"]: unit["issue"] for unit in json.loads(tool("tw-targets", f"amd:{chip}", "--json"))["units"]}
    program, assembly, shares = tmp_path / "mm.mlir", tmp_path / "mm.s", {}
    for shape in shapes:
        program.write_text(product(kind, *shape, *orders))
        decisions = json.loads(tool("tw-compile", program, "--target", f"amd:{chip}", "--explain=json"))
        choice = next(d for d in decisions if d["decision"] == "contraction")["choice"]
        block = choice["block"]
        if min(block[:2]) < 128 or max(block[:2]) < 256:
            continue
        odd = tuple(size % tile for size, tile in zip(shape, block))
        plan = (choice["unit"], *block, *choice["subgroups"], choice["subgroups_k"], choice["stages"], choice["transpose_before"], odd)
        if plan not in shares:
            tool("tw-compile", program, "--target", f"amd:{chip}", "-o", assembly)
            loop = amd_loop(assembly.read_text(), "v_mfma_")
            products = units[choice["unit"]] * sum("v_mfma" in line for line in loop)
            shares[plan] = products / (products + 4 * sum("v_mfma" not in line for line in loop))
        assert shares[plan] >= 0.80, (shape, plan, shares[plan])
    if FULL and not shares:
        pytest.skip("no product takes such a block")
    assert shares, "choose shapes that take such blocks"


@pytest.mark.parametrize("chip, kind, orders", [("MI350", "i8", (False, True)), ("MI350", "i8", (True, False)),
                                                ("MI300X", "f16", (False, False)), ("RX9070", "f16", (True, True))])
def test_sizes_that_tiles_do_not_divide(chip, kind, orders, tool, tmp_path):
    """Lanes beyond the arrays load from behind their range: the loop branches for nothing but its next iteration, and compares nothing."""
    program, assembly = tmp_path / "mm.mlir", tmp_path / "mm.s"
    program.write_text(product(kind, 4000, 5000, 3000, *orders))
    tool("tw-compile", program, "--target", f"amd:{chip}", "-o", assembly)
    loop = amd_loop(assembly.read_text(), "v_wmma" if chip.startswith("RX") else "v_mfma_")
    assert not [line for line in loop if line.startswith(("v_cmp", "v_cndmask", "s_and_saveexec", "s_or_b64"))], "\n".join(loop)
    assert sum("branch" in line for line in loop) == 1, "\n".join(loop)
    if kind == "i8" and not orders[0]:  # rows of A begin at multiples of 8 bytes, vectors of it have 16
        assert sum(line.startswith("buffer_load_dwordx4") for line in loop) >= 8, "\n".join(loop)


@pytest.mark.parametrize("kind, orders", [("i8", (True, False)), ("f16", (False, False)), ("f8E4M3FN", (True, True))])
def test_rows_that_begin_anywhere(kind, orders, tool, tmp_path):
    """Lanes load 16 bytes all the same, in the loop and behind it."""
    program, assembly = tmp_path / "mm.mlir", tmp_path / "mm.s"
    program.write_text(product(kind, 4001, 5003, 3001, *orders))
    tool("tw-compile", program, "--target", "amd:MI350", "-o", assembly)
    text = assembly.read_text()
    assert len(re.findall(r"buffer_load_dwordx4", text)) >= 24
    assert not re.findall(r"buffer_load_(?!dwordx4)\w+", text)


@pytest.mark.parametrize("pitch", [1032, 1025])
def test_rows_that_end_inside_of_a_vector(pitch, tool, tmp_path):
    """A longer pitch than the rows have, of whole vectors, takes no shorter loads than rows that begin anywhere."""
    program, assembly = tmp_path / "mm.mlir", tmp_path / "mm.s"
    program.write_text(f"""func.func @f(%A: memref<1000x{pitch}xf16>, %B: memref<1000x1024xf16>, %C: memref<1025x1024xf32>) {{
      affine.for %i = 0 to 1025 {{ affine.for %j = 0 to 1024 {{ affine.for %k = 0 to 1000 {{
        %a = affine.load %A[%k, %i] : memref<1000x{pitch}xf16>
        %b = affine.load %B[%k, %j] : memref<1000x1024xf16>
        %c = affine.load %C[%i, %j] : memref<1025x1024xf32>
        %x = arith.extf %a : f16 to f32
        %y = arith.extf %b : f16 to f32
        %p = arith.mulf %x, %y : f32
        %s = arith.addf %c, %p : f32
        affine.store %s, %C[%i, %j] : memref<1025x1024xf32>
      }} }} }}
      return
    }}""")
    tool("tw-compile", program, "--target", "amd:MI350", "-o", assembly)
    loads = re.findall(r"buffer_load_\w+", assembly.read_text())
    assert loads and set(loads) == {"buffer_load_dwordx4"}, loads


def alone(loop, clocks):
    """Clocks of an iteration if nothing else runs on the SIMD: one instruction every four, in their order, and each product when the
    unit is done with the one before. Memory is never late."""
    time = unit = before = 0
    for _ in range(3):
        before = time
        for line in loop:
            if "v_mfma" in line:
                time = max(time, unit)
                unit = time + clocks
            time += 4 * (1 + int(line.split()[1]) if line.startswith("s_nop") else 1)
    return time - before


@pytest.mark.parametrize("orders, which, clocks", [((True, False), 0, 2412), ((True, False), 3, 2104), ((False, True), 0, 2104),
                                                   ((True, True), 0, 2216), ((False, False), 0, 2212)])
def test_clocks_of_a_wave_alone(orders, which, clocks, tool, tmp_path):
    """What the unit waits for the other instructions of its wave, where these stand together: of bytes that lanes turn."""
    _, loop = main_loop("MI300X", "i8", (256, 128), orders, tool, tmp_path, f",transpose_before={which}")
    products = sum("v_mfma" in line for line in loop)
    assert products == 64
    assert alone(loop, 32) == pytest.approx(clocks, rel=0.01)


#: What the model counts: the words that the instructions begin with, and how far it may be off.
COUNTED = {"mma": (["v_mfma"], 0), "fragment_loads": (["ds_read"], 0.35), "global_loads": (["buffer_load", "global_load"], 0),
           "permutes": (["v_perm"], 0), "writes": (["ds_write"], 0.35)}


@pytest.mark.parametrize("chip, kind, tile, orders", [case[:4] for case in SHARES[::2] if case[:2] != ("MI250", "i8")])
def test_counted_instructions(chip, kind, tile, orders, tool, tmp_path):
    """The cost model's instructions of a step against those that the assembler gets."""
    choice, loop = main_loop(chip, kind, tile, orders, tool, tmp_path)
    counted, rounds = choice["step_instructions"], choice["pipeline_unroll"]
    for what, (words, off) in COUNTED.items():
        found = sum(line.startswith(tuple(words)) for line in loop)
        assert found == pytest.approx(rounds * counted[what], rel=off), (what, counted, rounds)
    assert len(loop) == pytest.approx(rounds * sum(counted[what] for what in (*COUNTED, "loop")), rel=0.15), (counted, rounds, len(loop))


def sass_loop(cubin, matrix):
    """Opcodes of the loop that holds the most of `matrix`. An instruction has 16 bytes, its low 12 bits say which."""
    data = cubin.read_bytes()
    table, = struct.unpack_from("<Q", data, 0x28)
    count, names = struct.unpack_from("<H", data, 0x3c)[0], struct.unpack_from("<H", data, 0x3e)[0]
    sections = [struct.unpack_from("<IIQQQQIIQQ", data, table + 64 * i) for i in range(count)]
    best = []
    for section in sections:
        start = sections[names][4] + section[0]
        if not data[start:start + 6] == b".text.":
            continue
        code = data[section[4]:section[4] + section[5]]
        opcodes = [struct.unpack_from("<H", code, at)[0] & 0xfff for at in range(0, len(code), 16)]
        for i, opcode in enumerate(opcodes):
            if opcode != 0x947:  # a branch; bits 32 to 81 are the distance from the next instruction
                continue
            low, high = struct.unpack_from("<QQ", code, 16 * i)
            distance = (low >> 32) | (high & 0x3ffff) << 32
            distance -= (distance >> 49) << 50
            first = i + 1 + distance // 16
            body = opcodes[first:i + 1] if 0 <= first <= i else []
            if body.count(matrix) > best.count(matrix):
                best = body
    return best


@pytest.mark.skipif(not PTXAS, reason="ptxas is not installed")
@pytest.mark.parametrize("trans_b", [True, False])
def test_others_per_mma(trans_b, tool, tmp_path):
    program = forced(tmp_path, "f16", "block_m=128,block_n=128,block_k=32", trans_b=trans_b)
    ptx, cubin = tmp_path / "mm.ptx", tmp_path / "mm.cubin"
    tool("tw-compile", program, "--target", "nvidia:A100", "-o", ptx)
    subprocess.run([PTXAS, "--gpu-name=sm_80", str(ptx), "-o", str(cubin)], check=True)
    mma = 0x23c
    loop = sass_loop(cubin, mma)
    assert loop.count(mma) >= 32
    assert (len(loop) - loop.count(mma)) / loop.count(mma) <= 2.4, [hex(opcode) for opcode in loop]


def test_large_products_take_large_tiles(tool, tmp_path):
    """Blocks that ask L2 and the scratchpad for all that they give are slower than larger ones."""
    path = tmp_path / "mm.mlir"
    path.write_text(product("f16", 8192, 8192, 8192))
    decisions = json.loads(tool("tw-compile", path, "--target", "amd:MI300X", "--explain=json"))
    rows, columns, _ = next(d for d in decisions if d["decision"] == "contraction")["choice"]["block"]
    assert rows * columns >= 128 * 128
