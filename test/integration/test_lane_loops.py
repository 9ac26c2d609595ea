"""Main loops of compiled products: how many instructions stand beside those of the matrix unit."""

import json
import re
import struct
import subprocess

import pytest

from test_lane_code import PTXAS
from lane_texts import product


def forced(tmp_path, fields, **orders):
    path = tmp_path / "mm.mlir"
    path.write_text(f'module attributes {{tilewright.force = "{fields}"}} {{{product("f16", 8192, 8192, 8192, **orders)}}}')
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


#: Where B has to be turned, lanes gather its elements one by one.
SHARES = [((256, 128), True, 0.80), ((256, 256), True, 0.80), ((256, 256), False, 0.60), ((256, 128), False, 0.65)]


@pytest.mark.parametrize("tile, trans_b, least", SHARES)
def test_share_of_mfma(tile, trans_b, least, tool, tmp_path):
    """Cycles of products, of those and four for every other instruction of a wave: nothing overlaps inside it."""
    program, assembly = forced(tmp_path, f"block_m={tile[0]},block_n={tile[1]}", trans_b=trans_b), tmp_path / "mm.s"
    tool("tw-compile", program, "--target", "amd:MI300X", "-o", assembly)
    loop = amd_loop(assembly.read_text(), "v_mfma_f32_32x32x8_f16")
    products = 32 * sum("v_mfma_f32_32x32x8_f16" in line for line in loop)
    others = 4 * sum("v_mfma" not in line for line in loop)
    assert products / (products + others) >= least, "\n".join(loop)


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
    program = forced(tmp_path, "block_m=128,block_n=128,block_k=32", trans_b=trans_b)
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
