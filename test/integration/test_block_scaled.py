"""Block-scaled operands: f8E8M0FNU as a type of arrays, and products of 8-bit floats with one scale for 32 elements along k, from
generics and from TOSA, against float64 on the host and on emulated chips."""

import json
import re

import ml_dtypes
import numpy as np
import pytest

from conftest import BUILD, in_turn
from float8 import SCALE, WIDE, dtype, load, same_bits, save
from test_float8 import cast, run

CHIPS = ["cpu:host", "nvidia:H200", "amd:MI300X", "amd:MI350", "accelerator:npu"]


def where(target):
    return ["--target", target] + ([] if target.startswith("cpu") else ["--device", "emulator"])


@pytest.fixture(autouse=True)
def templates(monkeypatch):
    monkeypatch.setenv("TILEWRIGHT_TARGET_PATH", str(BUILD / "lib" / "tilewright"))


@pytest.mark.parametrize("target", CHIPS[:3])
@pytest.mark.parametrize("wide", WIDE)
def test_all_scales_widen(wide, target, tool, tmp_path):
    codes = np.arange(256, dtype=np.uint8)
    got = run(tool, tmp_path, cast("f8E8M0FNU", wide), [codes], ["f8E8M0FNU"], wide, *where(target))
    with np.errstate(over="ignore"):
        assert same_bits(got, codes.view(SCALE).astype(np.float64).astype(dtype(wide)))


@pytest.mark.parametrize("target", CHIPS[:3])
@pytest.mark.parametrize("wide", ["f32", "f64"])
def test_a_number_becomes_its_exponent(wide, target, tool, tmp_path):
    powers = np.exp2(np.arange(-126, 128, dtype=np.float64))
    below, above = powers * (1 - 2.0**-23), powers * (2 - 2.0**-23)
    values = np.concatenate([powers, above, -above, [0.0, 2.0**-127, np.inf, -np.inf, np.nan]]).astype(dtype(wide))
    got = run(tool, tmp_path, cast(wide, "f8E8M0FNU"), [values], [wide], "ui8", *where(target))
    exponents = np.arange(1, 255)
    assert np.array_equal(got, np.concatenate([exponents] * 3 + [[0, 0, 255, 255, 255]]))
    got = run(tool, tmp_path, cast(wide, "f8E8M0FNU"), [below[1:].astype(dtype(wide))], [wide], "ui8", *where(target))
    assert np.array_equal(got, exponents[:-1])


def scaled(name, rows, k, kind, data, scale):
    """A generic that multiplies an operand by its scales."""
    return f"""
      %{name}e = tensor.empty() : tensor<{rows}x{k}xf32>
      %{name} = linalg.generic {{indexing_maps = [affine_map<(i, k) -> (i, k)>, affine_map<(i, k) -> (i, k floordiv 32)>,
          affine_map<(i, k) -> (i, k)>], iterator_types = ["parallel", "parallel"]}}
          ins(%{data}, %{scale} : tensor<{rows}x{k}x{kind}>, tensor<{rows}x{k // 32}xf8E8M0FNU>) outs(%{name}e : tensor<{rows}x{k}xf32>) {{
      ^bb0(%x: {kind}, %y: f8E8M0FNU, %o: f32):
        %0 = arith.extf %x : {kind} to f32
        %1 = arith.extf %y : f8E8M0FNU to f32
        %2 = arith.mulf %0, %1 : f32
        linalg.yield %2 : f32
      }} -> tensor<{rows}x{k}xf32>"""


def program(form, m, n, k, a, b):
    """C[i, j] = sum of A[i, k] * SA[i, k / 32] * B[j, k] * SB[j, k / 32], as a chain of generics, one generic, or TOSA's op."""
    types = [f"{m}x{k}x{a}", f"{m}x{k // 32}xf8E8M0FNU", f"{n}x{k}x{b}", f"{n}x{k // 32}xf8E8M0FNU"]
    lead = "1x" if form == "tosa" else ""
    arguments = ", ".join(f"%{name}: tensor<{lead}{type}>" for name, type in zip(("a", "sa", "b", "sb"), types))
    c, head = f"tensor<{lead}{m}x{n}xf32>", ""
    if form == "tosa":
        operands = ", ".join(f"tensor<1x{type}>" for type in types)
        body = f"""%r = "tosa.matmul_t_block_scaled"(%a, %sa, %b, %sb) <{{block_size = #tosa.block_size<BLOCK_SIZE_32>}}>
          : ({operands}) -> {c}"""
        return f"func.func @f({arguments}) -> {c} {{\n      {body}\n      return %r : {c}\n    }}"
    head = f"""
      %z = arith.constant 0.0 : f32
      %e = tensor.empty() : {c}
      %c = linalg.fill ins(%z : f32) outs(%e : {c}) -> {c}"""
    loops = 'iterator_types = ["parallel", "parallel", "reduction"]'
    maps = {name: f"affine_map<(i, j, k) -> ({name})>" for name in ("i, k", "j, k", "i, j", "i, k floordiv 32", "j, k floordiv 32")}
    if form == "chain":
        body = f"""{scaled("wa", m, k, a, "a", "sa")}{scaled("wb", n, k, b, "b", "sb")}
      %r = linalg.generic {{indexing_maps = [{maps["i, k"]}, {maps["j, k"]}, {maps["i, j"]}], {loops}}}
          ins(%wa, %wb : tensor<{m}x{k}xf32>, tensor<{n}x{k}xf32>) outs(%c : {c}) {{
      ^bb0(%x: f32, %y: f32, %o: f32):
        %0 = arith.mulf %x, %y : f32
        %1 = arith.addf %o, %0 : f32
        linalg.yield %1 : f32
      }} -> {c}"""
    else:
        inputs = ", ".join(f"tensor<{type}>" for type in types)
        body = f"""
      %r = linalg.generic {{indexing_maps = [{maps["i, k"]}, {maps["i, k floordiv 32"]}, {maps["j, k"]}, {maps["j, k floordiv 32"]},
          {maps["i, j"]}], {loops}}} ins(%a, %sa, %b, %sb : {inputs}) outs(%c : {c}) {{
      ^bb0(%x: {a}, %u: f8E8M0FNU, %y: {b}, %v: f8E8M0FNU, %o: f32):
        %0 = arith.extf %x : {a} to f32
        %1 = arith.extf %u : f8E8M0FNU to f32
        %2 = arith.mulf %0, %1 : f32
        %3 = arith.extf %y : {b} to f32
        %4 = arith.extf %v : f8E8M0FNU to f32
        %5 = arith.mulf %3, %4 : f32
        %6 = arith.mulf %2, %5 : f32
        %7 = arith.addf %o, %6 : f32
        linalg.yield %7 : f32
      }} -> {c}"""
    return f"func.func @f({arguments}) -> {c} {{{head}{body}\n      return %r : {c}\n    }}"


@pytest.mark.parametrize("target", CHIPS)
@pytest.mark.parametrize("form, m, n, k, a, b", [("chain", 37, 41, 96, "f8E4M3FN", "f8E5M2"), ("generic", 64, 48, 128, "f8E5M2", "f8E4M3FN"),
                                                 ("tosa", 33, 64, 64, "f8E4M3FN", "f8E4M3FN")])
def test_products(form, m, n, k, a, b, target, tool, tmp_path):
    random = np.random.default_rng(5)
    operands, wide = [], []
    for rows, kind in ((m, a), (n, b)):
        data = random.standard_normal((rows, k)).astype(dtype(kind))
        scale = random.integers(127 - 20, 127 + 20, (rows, k // 32), dtype=np.uint8)
        operands += [data, scale]
        wide.append(data.astype(np.float64) * np.repeat(np.exp2(scale.astype(np.float64) - 127), 32, axis=1))
    exact, size = wide[0] @ wide[1].T, np.abs(wide[0]) @ np.abs(wide[1]).T
    if form == "tosa":
        operands = [x[None] for x in operands]
    got = run(tool, tmp_path, program(form, m, n, k, a, b), operands, [a, "f8E8M0FNU", b, "f8E8M0FNU"], "f32", *where(target))
    assert np.all(np.abs(got.reshape(exact.shape) - exact) <= (k + 2) * 2.0**-23 * size)


def operands_of(shapes, block=32, seed=5, spread=20):
    """Random elements and scales for (rows, k, type) each, and both multiplied in float64."""
    random = np.random.default_rng(seed)
    operands, wide = [], []
    for rows, k, kind in shapes:
        data = random.standard_normal((rows, k)).astype(dtype(kind))
        scale = random.integers(127 - spread, 127 + spread, (rows, -(-k // block)), dtype=np.uint8)
        operands += [data, scale]
        wide.append(data.astype(np.float64) * np.repeat(np.exp2(scale.astype(np.float64) - 127), block, axis=1)[:, :k])
    return operands, wide


def ragged(m, n, k, a, b, tail=""):
    """One generic whose k need not be whole blocks; `tail`: what follows the sums, over %r."""
    return program("generic", m, n, -(-k // 32) * 32, a, b).replace(f"x{-(-k // 32) * 32}x{a}", f"x{k}x{a}") \
        .replace(f"x{-(-k // 32) * 32}x{b}", f"x{k}x{b}").replace("return %r", tail + "return %r" + ("elu" if tail else ""))


#: Sizes of one unit, of several with rests in m, n and k, and of k that ends inside of a block or is less than one.
EDGES = [(16, 16, 128), (64, 96, 512), (45, 70, 160), (33, 17, 100), (20, 50, 32), (16, 16, 20)]


@pytest.mark.parametrize("m, n, k", EDGES)
@pytest.mark.parametrize("a, b", [("f8E4M3FN", "f8E5M2"), ("f8E5M2", "f8E4M3FN")])
def test_a_unit_takes_scales(m, n, k, a, b, tool, tmp_path):
    check_unit(m, n, k, a, b, tool, tmp_path)


#: Types in the names of MI350's units.
SHORT = {"f8E4M3FN": "fp8", "f8E5M2": "bf8", "f6E2M3FN": "fp6", "f6E3M2FN": "bf6", "f4E2M1FN": "fp4"}


def check_unit(m, n, k, a, b, tool, tmp_path):
    """A product of scaled operands is right, and the unit of these types computes it."""
    operands, wide = operands_of([(m, k, a), (n, k, b)])
    text = ragged(m, n, k, a, b)
    exact, size = wide[0] @ wide[1].T, np.abs(wide[0]) @ np.abs(wide[1]).T
    got = run(tool, tmp_path, text, operands, [a, "f8E8M0FNU", b, "f8E8M0FNU"], "f32", *where("amd:MI350"))
    assert np.all(np.abs(got - exact) <= (k + 2) * 2.0**-23 * size)
    assert unit_of(text, "amd:MI350", tool, tmp_path) == f"mx{SHORT[a]}_mx{SHORT[b]}"


def unit_of(text, target, tool, tmp_path, *options):
    """Which elements the unit of the program's one contraction multiplies."""
    path = tmp_path / "program.mlir"
    path.write_text(text)
    decisions = json.loads(tool("tw-compile", path, "--target", target, "--explain=json", *options))
    chosen = [d["choice"]["unit"] for d in decisions if d["decision"] == "contraction"]
    assert len(chosen) == 1
    return re.sub(r"mfma_cdna4_[0-9x]+_(\w+)_f32", r"\1", chosen[0].partition(".")[2])


@pytest.mark.parametrize("form", ["chain", "generic", "tosa"])
def test_every_form_reaches_the_unit(form, tool, tmp_path):
    text = program(form, 256, 192, 256, "f8E4M3FN", "f8E4M3FN")
    assert unit_of(text, "amd:MI350", tool, tmp_path) == "mxfp8_mxfp8"
    assert unit_of(text, "amd:MI350", tool, tmp_path, "--fp=strict") == "fma64_f32"


def test_blocks_that_no_unit_takes(tool, tmp_path):
    text = program("generic", 64, 64, 256, "f8E4M3FN", "f8E4M3FN").replace("floordiv 32", "floordiv 16").replace("x8xf8E8M0FNU", "x16xf8E8M0FNU")
    assert unit_of(text, "amd:MI350", tool, tmp_path) == "bf16"


RELU = """
      %re = tensor.empty() : tensor<64x48xf32>
      %relu = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>],
          iterator_types = ["parallel", "parallel"]} ins(%r : tensor<64x48xf32>) outs(%re : tensor<64x48xf32>) {
      ^bb0(%x: f32, %o: f32):
        %zero = arith.constant 0.0 : f32
        %0 = arith.maximumf %x, %zero : f32
        linalg.yield %0 : f32
      } -> tensor<64x48xf32>
      """


def test_scales_of_nan_and_an_epilogue(tool, tmp_path):
    kinds = ["f8E4M3FN", "f8E8M0FNU", "f8E4M3FN", "f8E8M0FNU"]
    operands, wide = operands_of([(64, 256, kinds[0]), (48, 256, kinds[2])])
    for i in (0, 1):  # of one sign, so that no infinities cancel to NaN
        operands[2 * i], wide[i] = abs(operands[2 * i]), abs(wide[i])
    operands[1][5, 3], operands[3][7, 0] = 255, 255
    operands[0][9] = np.zeros(256, dtype(kinds[0]))
    wide[0][9] = 0
    wide[0][5, 96:128] = np.nan
    wide[1][7, :32] = np.nan
    exact, size = np.maximum(wide[0] @ wide[1].T, 0), np.abs(wide[0]) @ np.abs(wide[1]).T
    text = ragged(64, 48, 256, kinds[0], kinds[2], RELU)
    got = run(tool, tmp_path, text, operands, kinds, "f32", *where("amd:MI350"))
    assert np.array_equal(np.isnan(got), np.isnan(exact))
    finite = ~np.isnan(exact)
    assert np.all(np.abs(got - exact)[finite] <= (258 * 2.0**-23 * size)[finite])
    decisions = json.loads(tool("tw-compile", tmp_path / "program.mlir", "--target", "amd:MI350", "--explain=json"))
    assert [d["fused_steps"] for d in decisions if d["decision"] == "contraction"] == [1]


def test_every_order_of_lanes_and_the_proof(tool, tmp_path):
    path = tmp_path / "program.mlir"
    for m, n, k in ((64, 64, 384), (45, 70, 160)):
        path.write_text(ragged(m, n, k, "f8E4M3FN", "f8E5M2"))
        tool("tw-run", path, *where("amd:MI350"), "--verify", "--modes")
        tool("tw-run", path, *where("amd:MI350"), "--prove=require")


def test_the_reference_agrees(tool, tmp_path):
    path = tmp_path / "program.mlir"
    path.write_text(program("generic", 20, 24, 64, "f8E4M3FN", "f8E4M3FN"))
    tool("tw-run", path, "--verify")
    tool("tw-run", path, "--verify", "--fp=strict")


@pytest.mark.parametrize("target, unit", [("amd:MI300X", "mfma_cdna3_.*_bf16_f32"), ("nvidia:H200", ".*_bf16_f32")])
@pytest.mark.parametrize("form", ["chain", "generic", "tosa"])
def test_units_of_bf16_take_scaled_operands(form, target, unit, tool, tmp_path):
    path = tmp_path / "program.mlir"
    path.write_text(program(form, 256, 256, 256, "f8E4M3FN", "f8E4M3FN"))
    decisions = json.loads(tool("tw-compile", path, "--target", target, "--explain=json"))
    chosen = [d["choice"]["unit"] for d in decisions if d["decision"] == "contraction"]
    assert len(chosen) == 1 and re.fullmatch(unit, chosen[0].partition(".")[2])


#: Of each type of data: half a unit in the last place beyond its largest number, and whether that is rounded down to it.
LARGEST = {"f8E4M3FN": (464, True), "f8E5M2": (61440, False), "f6E2M3FN": (7.75, False), "f6E3M2FN": (30, False), "f4E2M1FN": (7, False)}


def block_scales(x, kind, block=32):
    """Codes of the scales of blocks of rows, as TOSA 1.1 says."""
    size = np.abs(x.astype(np.float64)).reshape(x.shape[0], -1, block).max(axis=2)
    bound, included = LARGEST[kind]
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.log2(size / bound)
        exponent = np.ceil(ratio) if included else np.floor(ratio) + 1
    return np.where(np.isfinite(size), np.clip(exponent, -127, 127) + 127, 255).astype(np.uint8)


def quantiser(m, k, have, kind, k_type=None):
    types = f"tensor<{m}x{k_type or k}x{have}>", f"tensor<{m}x{k_type or k}x{kind}>", f"tensor<{m}x{k_type or k // 32}xf8E8M0FNU>"
    return f"""func.func @f(%a: {types[0]}) -> ({types[1]}, {types[2]}) {{
      %d, %s = "tosa.cast_to_block_scaled"(%a) <{{block_size = #tosa.block_size<BLOCK_SIZE_32>}}> : ({types[0]}) -> ({types[1]}, {types[2]})
      return %d, %s : {types[1]}, {types[2]}
    }}"""


def quantise(x, have, kind, tool, folder, target, text=None):
    """Data and codes of scales."""
    (folder / "program.mlir").write_text(text or quantiser(*x.shape, have, kind))
    outs = [folder / "data.npy", folder / "scales.npy"]
    tool("tw-run", folder / "program.mlir", "--input", save(folder, "x", x, have), "--output", outs[0], "--output", outs[1], *where(target))
    return load(outs[0], kind), np.load(outs[1]).view(np.uint8)


def blocks_of(have, kind):
    """Random blocks of all magnitudes, blocks around the bound of the type, blocks of zeros, NaN and infinities."""
    random = np.random.default_rng(9)
    x = random.standard_normal((24, 96)) * np.exp2(random.integers(-100, 100, (24, 3))).repeat(32, axis=1)
    x[0] = 0
    bound = LARGEST[kind][0] * 2.0**-3
    x[1:4] = np.minimum(np.abs(x[1:4]), 0.5 * bound)
    x[1, 5], x[1, 40], x[1, 70] = bound, -bound * (1 + 2.0**-7), bound * (1 - 2.0**-7)
    x[2, ::32], x[3, 3::32] = bound / 2, LARGEST[kind][0] * 2.0**-120
    x[4, :32] = 2.0**-126
    x[5, 7], x[6, 50], x[7, 80] = np.nan, np.inf, -np.inf
    return x.astype(dtype(have))


@pytest.mark.parametrize("types, target", in_turn(
    [("f32", "f8E4M3FN"), ("bf16", "f8E5M2"), ("f32", "f6E2M3FN"), ("f32", "f6E3M2FN"), ("bf16", "f4E2M1FN")], CHIPS))
def test_scales_from_data(types, target, tool, tmp_path):
    have, kind = types
    x = blocks_of(have, kind)
    data, codes = quantise(x, have, kind, tool, tmp_path, target)
    assert np.array_equal(codes, block_scales(x, kind))
    scales = np.where(codes == 255, np.nan, np.exp2(codes.astype(np.float64) - 127)).repeat(32, axis=1)
    exact = x.astype(np.float64) / scales
    known = np.isfinite(exact)
    assert np.array_equal(data[known].view(np.uint8), exact[known].astype(np.float32).astype(dtype(kind)).view(np.uint8))
    assert np.max(np.abs(data[known].astype(np.float64))) == float(ml_dtypes.finfo(dtype(kind)).max)
    if kind.startswith("f8"):
        assert np.all(np.isnan(data[~known].astype(np.float64)))


def test_scales_from_data_of_any_size(tool, tmp_path):
    x = blocks_of("f32", "f8E4M3FN")[:, :64]
    data, codes = quantise(x, "f32", "f8E4M3FN", tool, tmp_path, "cpu:host", quantiser("?", 64, "f32", "f8E4M3FN", "?"))
    assert np.array_equal(codes, block_scales(x, "f8E4M3FN")) and data.shape == x.shape


@pytest.mark.parametrize("target", ["cpu:host", "amd:MI350"])
def test_activations_are_quantised_for_a_product(target, tool, tmp_path):
    """tosa.cast_to_block_scaled of one operand, then the product of both, on the unit with scales where there is one."""
    m, n, k = 256, 192, 256
    operands, wide = operands_of([(n, k, "f8E4M3FN")])
    x = np.random.default_rng(2).standard_normal((1, m, k)).astype(np.float32)
    text = f"""func.func @f(%x: tensor<1x{m}x{k}xf32>, %b: tensor<1x{n}x{k}xf8E4M3FN>, %s: tensor<1x{n}x{k // 32}xf8E8M0FNU>) -> tensor<1x{m}x{n}xf32> {{
      %d, %t = "tosa.cast_to_block_scaled"(%x) <{{block_size = #tosa.block_size<BLOCK_SIZE_32>}}>
          : (tensor<1x{m}x{k}xf32>) -> (tensor<1x{m}x{k}xf8E4M3FN>, tensor<1x{m}x{k // 32}xf8E8M0FNU>)
      %r = "tosa.matmul_t_block_scaled"(%d, %t, %b, %s) <{{block_size = #tosa.block_size<BLOCK_SIZE_32>}}> : (tensor<1x{m}x{k}xf8E4M3FN>,
          tensor<1x{m}x{k // 32}xf8E8M0FNU>, tensor<1x{n}x{k}xf8E4M3FN>, tensor<1x{n}x{k // 32}xf8E8M0FNU>) -> tensor<1x{m}x{n}xf32>
      return %r : tensor<1x{m}x{n}xf32>
    }}"""
    got = run(tool, tmp_path, text, [x, *(each[None] for each in operands)], ["f32", "f8E4M3FN", "f8E8M0FNU"], "f32", *where(target))
    scales = np.exp2(block_scales(x[0], "f8E4M3FN").astype(np.float64) - 127).repeat(32, axis=1)
    left = (x[0] / scales).astype(np.float32).astype(dtype("f8E4M3FN")).astype(np.float64) * scales
    exact, size = left @ wide[0].T, np.abs(left) @ np.abs(wide[0]).T
    assert np.all(np.abs(got[0] - exact) <= (k + 2) * 2.0**-23 * size)
    if target == "amd:MI350":
        assert unit_of(text, target, tool, tmp_path) == "mxfp8_mxfp8"
