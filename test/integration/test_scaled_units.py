"""Scales of every kind that records know, on a chip that nothing else of the tree is like (test/plugins/scaled): one side alone,
scales of f8E4M3FN, f32 and f8E8M0FNU, and blocks of 16, 32 and 128 elements along k. By records alone: units are found by the
access maps of a program, and what they compute is their functional model."""

import json

import numpy as np
import pytest

from conftest import BUILD, in_turn
from float8 import dtype
from test_float8 import run

PLUGIN = BUILD / "test/plugins/scaled/libtilewright-target-scaled.so"
CHIP = ["--load-target", PLUGIN, "--target", "scaled:scaled1"]
E4, E5, POWER, SINGLE = "f8E4M3FN", "f8E5M2", "f8E8M0FNU", "f32"

#: Unit; elements; the type of scales of A and of B, or none; elements along k for one.
KINDS = [("weights", E4, E4, None, E4, 16), ("activations", E5, E4, SINGLE, None, 32), ("both", E5, E5, SINGLE, SINGLE, 32),
         ("long_blocks", E4, E5, POWER, POWER, 128)]


def program(m, n, k, a, b, of_a, of_b, block):
    """C[i, j] = sum of (A[i, k] * S[i, k / block]) * (B[j, k] * T[j, k / block]), without the scales that are None."""
    blocks = -(-k // block)
    operands = [("%a", f"{m}x{k}", a, "i, k"), ("%b", f"{n}x{k}", b, "j, k")]
    operands += [("%s", f"{m}x{blocks}", of_a, f"i, k floordiv {block}")] if of_a else []
    operands += [("%t", f"{n}x{blocks}", of_b, f"j, k floordiv {block}")] if of_b else []
    maps = ", ".join(f"affine_map<(i, j, k) -> ({indices})>" for *_, indices in [*operands, ("i, j",)])
    types = ", ".join(f"tensor<{shape}x{kind}>" for _, shape, kind, _ in operands)
    body = [f"{name}w = arith.extf {name}x : {kind} to f32" for name, _, kind, _ in operands if kind != "f32"]
    wide = {name: f"{name}x" if kind == "f32" else f"{name}w" for name, _, kind, _ in operands}
    for name, scale in (("%a", "%s"), ("%b", "%t")):
        if scale in wide:
            body.append(f"{name}p = arith.mulf {wide[name]}, {wide[scale]} : f32")
            wide[name] = f"{name}p"
    c = f"tensor<{m}x{n}xf32>"
    arguments = ", ".join(f"{name}: tensor<{shape}x{kind}>" for name, shape, kind, _ in operands)
    block_arguments = ", ".join(f"{name}x: {kind}" for name, _, kind, _ in operands)
    lines = "\n        ".join(body)
    return f"""func.func @f({arguments}) -> {c} {{
      %z = arith.constant 0.0 : f32
      %e = tensor.empty() : {c}
      %c = linalg.fill ins(%z : f32) outs(%e : {c}) -> {c}
      %r = linalg.generic {{indexing_maps = [{maps}], iterator_types = ["parallel", "parallel", "reduction"]}}
          ins({", ".join(name for name, *_ in operands)} : {types}) outs(%c : {c}) {{
      ^bb0({block_arguments}, %o: f32):
        {lines}
        %p = arith.mulf {wide["%a"]}, {wide["%b"]} : f32
        %q = arith.addf %o, %p : f32
        linalg.yield %q : f32
      }} -> {c}
      return %r : {c}
    }}"""


def drawn(m, n, k, a, b, of_a, of_b, block, signed=False):
    """Arrays, their types, and both scaled operands in float64; `signed`: scales of both signs, if their type has one, and NaN."""
    random = np.random.default_rng(3)
    arrays, kinds, wide = [], [a, b], []
    for rows, kind in ((m, a), (n, b)):
        arrays.append(random.standard_normal((rows, k)).astype(dtype(kind)))
    for rows, kind, data in ((m, of_a, arrays[0]), (n, of_b, arrays[1])):
        factors = np.ones((rows, k))
        if kind:
            scale = np.exp2(random.integers(-6, 6, (rows, -(-k // block)))) * (1 if kind == POWER else random.integers(8, 16, (rows, -(-k // block))) / 8)
            scale = scale.astype(dtype(kind))
            if signed:
                code = scale.view(np.uint32 if kind == SINGLE else np.uint8)
                sign = 1 << 8 * code.itemsize - 1
                if kind != POWER:
                    code |= sign * random.integers(0, 2, code.shape).astype(code.dtype)
                scale[5, 0] = np.nan
                scale[rows - 1, -1] = np.nan
                code[5, 0] |= sign
            arrays.append(scale)
            kinds.append(kind)
            factors = np.repeat(scale.astype(np.float64), block, axis=1)[:, :k]
        wide.append(data.astype(np.float64) * factors)
    return [x.view(np.uint8) if x.dtype.itemsize == 1 else x for x in arrays], kinds, *wide


def unit_of(text, tool, tmp_path, *options):
    (tmp_path / "program.mlir").write_text(text)
    decisions = json.loads(tool("tw-compile", tmp_path / "program.mlir", *CHIP, "--explain=json", *options))
    return [d["choice"]["unit"] for d in decisions if d["decision"] == "contraction"]


@pytest.mark.parametrize("kind, sizes", in_turn(KINDS, [(16, 8, 128), (64, 96, 512), (45, 70, 160), (33, 17, 100)]))
def test_units_take_scales(kind, sizes, tool, tmp_path):
    (unit, a, b, of_a, of_b, block), (m, n, k) = kind, sizes
    arrays, kinds, left, right = drawn(m, n, k, a, b, of_a, of_b, block)
    text = program(m, n, k, a, b, of_a, of_b, block)
    got = run(tool, tmp_path, text, arrays, kinds, "f32", *CHIP, "--device", "emulator")
    exact, size = left @ right.T, np.abs(left) @ np.abs(right).T
    assert np.all(np.abs(got - exact) <= (k + 4) * 2.0**-23 * size)
    assert unit_of(text, tool, tmp_path) == [f"scaled.{unit}"]


@pytest.mark.parametrize("unit, a, b, of_a, of_b, block", KINDS)
def test_one_scale_may_serve_several_instructions(unit, a, b, of_a, of_b, block, tool, tmp_path):
    m, n, k = 40, 24, 512
    arrays, kinds, left, right = drawn(m, n, k, a, b, of_a, of_b, 256)
    text = program(m, n, k, a, b, of_a, of_b, 256)
    got = run(tool, tmp_path, text, arrays, kinds, "f32", *CHIP, "--device", "emulator")
    assert np.all(np.abs(got - left @ right.T) <= (k + 4) * 2.0**-23 * (np.abs(left) @ np.abs(right).T))
    assert unit_of(text, tool, tmp_path) == [f"scaled.{unit}"]


@pytest.mark.parametrize("of_a, of_b, block", [(E4, None, 16), (None, E4, 8), (None, POWER, 16), (E4, E4, 16)])
def test_other_scales_are_no_operands(of_a, of_b, block, tool, tmp_path):
    """Of the other side, of other blocks, of another type, of both sides: no unit takes these for A and B of f8E4M3FN."""
    assert all(unit == "scaled.fma_f32" for unit in unit_of(program(64, 64, 128, E4, E4, of_a, of_b, block), tool, tmp_path))


#: Chips with a unit for some of these scales, or none, where operands are scaled in buffers or as they are packed.
CHIPS = ["scaled:scaled1", "cpu:host", "nvidia:H200", "nvidia:B200", "amd:MI300X", "amd:MI350", "accelerator:npu"]


@pytest.mark.parametrize("chip, kind", in_turn(CHIPS, KINDS))
def test_scales_of_both_signs_and_nan(chip, kind, tool, tmp_path, monkeypatch):
    """A scale of NaN, of either sign, makes NaN of the results of its row or column alone."""
    monkeypatch.setenv("TILEWRIGHT_TARGET_PATH", str(BUILD / "lib" / "tilewright"))
    _, a, b, of_a, of_b, block = kind
    m, n, k = 45, 70, 288
    arrays, kinds, left, right = drawn(m, n, k, a, b, of_a, of_b, block, signed=True)
    exact, size = left @ right.T, np.abs(left) @ np.abs(right).T
    where = CHIP if chip.startswith("scaled") else ["--target", chip]
    device = [] if chip.startswith("cpu") else ["--device", "emulator"]
    got = run(tool, tmp_path, program(m, n, k, a, b, of_a, of_b, block), arrays, kinds, "f32", *where, *device)
    known = np.ones((m, n), bool)
    known[[5, m - 1] if of_a else [], :] = False
    known[:, [5, n - 1] if of_b else []] = False
    assert np.array_equal(~np.isnan(exact), known) and np.array_equal(~np.isnan(got), known)
    assert np.all(np.abs(got - exact)[known] <= (k + 4) * 2.0**-23 * size[known])


def test_conformance(tool):
    """Each unit against its model and its emitted call, and scaled products of all kinds."""
    report = json.loads(tool("tw-conformance", *CHIP, "--device", "emulator", "--json", "--quick", "--filter=unit/*", "--filter=contraction/scaled-matmul/*"))
    bad = [(case["name"], case.get("message")) for case in report["cases"] if case["status"] == "failed"]
    assert not bad and report["passed"] >= 15, bad
