"""Floats of 4 and 6 bits: conversions of all codes and all ties against ml_dtypes, what moves them, products with scales on the
host and on emulated chips, and the units that multiply them."""

import numpy as np
import pytest

from conftest import BUILD, FULL
from float8 import NARROW, all_codes, around_ties, dtype, same_bits
from test_block_scaled import CHIPS, check_unit, operands_of, program, ragged
from test_float8 import run, where

KINDS = list(NARROW)


@pytest.fixture(autouse=True)
def templates(monkeypatch):
    monkeypatch.setenv("TILEWRIGHT_TARGET_PATH", str(BUILD / "lib" / "tilewright"))


def nearest(kind, values):
    """The codes of the nearest numbers, ties to even codes; ml_dtypes rounds f64 twice."""
    half = 2 ** (int(kind[1]) - 1)
    numbers = all_codes(kind)[:half].astype(np.float64)
    size = np.minimum(np.abs(values.astype(np.float64)), numbers[-1])
    above = np.minimum(np.searchsorted(numbers, size), half - 1)
    below = np.maximum(above - 1, 0)
    up, down = numbers[above] - size, size - numbers[below]
    code = np.where((up < down) | ((up == down) & (above % 2 == 0)), above, below)
    return (code + half * np.signbit(values.astype(np.float64))).astype(np.uint8)


def elementwise(have, want, body):
    """Every element %x of an array of any size, as %y."""
    return f"""
    func.func @f(%a: tensor<?x{have}>) -> tensor<?x{want}> {{
      %zero = arith.constant 0 : index
      %n = tensor.dim %a, %zero : tensor<?x{have}>
      %e = tensor.empty(%n) : tensor<?x{want}>
      %r = linalg.generic {{indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}}
          ins(%a : tensor<?x{have}>) outs(%e : tensor<?x{want}>) {{
      ^bb0(%x: {have}, %o: {want}):
        {body}
        linalg.yield %y : {want}
      }} -> tensor<?x{want}>
      return %r : tensor<?x{want}>
    }}"""


#: Where each pair of types is converted: in CI on two of three targets, in turn.
CONVERSIONS = [(kind, wide, target) for i, kind in enumerate(KINDS) for j, wide in enumerate(["f64", "f32", "f16", "bf16"])
               for k, target in enumerate(CHIPS[:3]) if FULL or (i + j + k) % 3 < 2]


@pytest.mark.parametrize("kind, wide, target", CONVERSIONS)
def test_all_codes_widen(kind, wide, target, tool, tmp_path):
    codes = all_codes(kind).view(np.int8)
    held = codes | np.int8(-64)  # bits above the code mean nothing
    text = elementwise(kind, wide, f"%y = arith.extf %x : {kind} to {wide}")
    got = run(tool, tmp_path, text, [np.tile(held, 5)], [kind], wide, *where(target))
    assert same_bits(got, np.tile(codes, 5).view(dtype(kind)).astype(dtype(wide)))


@pytest.mark.parametrize("kind, wide, target", CONVERSIONS)
def test_numbers_are_rounded_once(kind, wide, target, tool, tmp_path):
    values = around_ties(kind, wide)
    values = values[~np.isnan(values.astype(np.float64))]  # NaN has no code
    text = elementwise(wide, kind, f"%y = arith.truncf %x : {wide} to {kind}")
    got = run(tool, tmp_path, text, [values], [wide], kind, *where(target))
    assert np.array_equal(got.view(np.uint8), nearest(kind, values))


@pytest.mark.parametrize("kind", KINDS)
def test_arithmetic_rounds_each_result(kind, tool, tmp_path):
    codes = all_codes(kind)
    text = elementwise(kind, kind, f"%s = arith.addf %x, %x : {kind}\n%y = arith.mulf %s, %x : {kind}")
    got = run(tool, tmp_path, text, [codes], [kind], kind)
    wide = codes.astype(np.float32)
    twice = (wide + wide).astype(dtype(kind)).astype(np.float32)
    assert np.array_equal(got.view(np.uint8), (twice * wide).astype(dtype(kind)).view(np.uint8))


@pytest.mark.parametrize("kind", KINDS)
def test_codes_are_bits(kind, tool, tmp_path):
    width = int(kind[1])
    text = elementwise(kind, kind, f"""%b = arith.bitcast %x : {kind} to i{width}
        %one = arith.constant 1 : i{width}
        %c = arith.xori %b, %one : i{width}
        %y = arith.bitcast %c : i{width} to {kind}""")
    codes = all_codes(kind)
    got = run(tool, tmp_path, text, [codes], [kind], kind)
    assert np.array_equal(got.view(np.uint8), codes.view(np.uint8) ^ 1)


def test_constants_and_moves(tool, tmp_path):
    text = """func.func @f(%a: tensor<4x6xf4E2M1FN>) -> tensor<6x5xf4E2M1FN> {
      %c = arith.constant dense<[[6.0, -0.5, 3.0, 1.5, -4.0, 2.0]]> : tensor<1x6xf4E2M1FN>
      %i = tensor.empty() : tensor<5x6xf4E2M1FN>
      %x = tensor.insert_slice %a into %i[0, 0] [4, 6] [1, 1] : tensor<4x6xf4E2M1FN> into tensor<5x6xf4E2M1FN>
      %y = tensor.insert_slice %c into %x[4, 0] [1, 6] [1, 1] : tensor<1x6xf4E2M1FN> into tensor<5x6xf4E2M1FN>
      %e = tensor.empty() : tensor<6x5xf4E2M1FN>
      %r = linalg.transpose ins(%y : tensor<5x6xf4E2M1FN>) outs(%e : tensor<6x5xf4E2M1FN>) permutation = [1, 0]
      return %r : tensor<6x5xf4E2M1FN>
    }"""
    a = np.arange(24, dtype=np.uint8).reshape(4, 6) % 16
    got = run(tool, tmp_path, text, [a.view(dtype("f4E2M1FN"))], ["f4E2M1FN"], "f4E2M1FN")
    row = np.array([[6.0, -0.5, 3.0, 1.5, -4.0, 2.0]], np.float32).astype(dtype("f4E2M1FN"))
    assert np.array_equal(got.view(np.uint8), np.concatenate([a, row.view(np.uint8)]).T)


@pytest.mark.parametrize("target", CHIPS[:2])
def test_pairs_in_a_byte(target, tool, tmp_path):
    """The even column in the low bits."""
    text = """func.func @f(%a: tensor<6x5xi8>) -> tensor<6x10xf32> {
      %e = tensor.empty() : tensor<6x10xf32>
      %r = linalg.generic {indexing_maps = [affine_map<(i, k) -> (i, k floordiv 2)>, affine_map<(i, k) -> (i, k)>],
          iterator_types = ["parallel", "parallel"]} ins(%a : tensor<6x5xi8>) outs(%e : tensor<6x10xf32>) {
      ^bb0(%x: i8, %o: f32):
        %k = linalg.index 1 : index
        %c = arith.index_cast %k : index to i8
        %one = arith.constant 1 : i8
        %two = arith.constant 2 : i8
        %odd = arith.andi %c, %one : i8
        %by = arith.shli %odd, %two : i8
        %s = arith.shrui %x, %by : i8
        %t = arith.trunci %s : i8 to i4
        %b = arith.bitcast %t : i4 to f4E2M1FN
        %y = arith.extf %b : f4E2M1FN to f32
        linalg.yield %y : f32
      } -> tensor<6x10xf32>
      return %r : tensor<6x10xf32>
    }"""
    pairs = np.random.default_rng(1).integers(0, 256, (6, 5), dtype=np.uint8)
    got = run(tool, tmp_path, text, [pairs.view(np.int8)], ["i8"], "f32", *where(target))
    codes = np.stack([pairs & 15, pairs >> 4], axis=2).reshape(6, 10)
    assert np.array_equal(got, codes.view(dtype("f4E2M1FN")).astype(np.float32))


@pytest.mark.parametrize("target", CHIPS)
@pytest.mark.parametrize("form, m, n, k, a, b", [("generic", 37, 41, 96, "f4E2M1FN", "f4E2M1FN"), ("chain", 64, 48, 128, "f6E2M3FN", "f8E4M3FN"),
                                                 ("tosa", 33, 64, 64, "f4E2M1FN", "f4E2M1FN"), ("generic", 20, 24, 64, "f6E3M2FN", "f6E2M3FN")])
def test_products(form, m, n, k, a, b, target, tool, tmp_path):
    operands, wide = operands_of([(m, k, a), (n, k, b)])
    exact, size = wide[0] @ wide[1].T, np.abs(wide[0]) @ np.abs(wide[1]).T
    if form == "tosa":
        operands = [x[None] for x in operands]
    got = run(tool, tmp_path, program(form, m, n, k, a, b), operands, [a, "f8E8M0FNU", b, "f8E8M0FNU"], "f32", *where(target))
    assert np.all(np.abs(got.reshape(exact.shape) - exact) <= (k + 2) * 2.0**-23 * size)


@pytest.mark.parametrize("a, b, m, n, k", [
    (*types, *sizes) for i, types in enumerate([("f4E2M1FN", "f4E2M1FN"), ("f6E2M3FN", "f6E3M2FN"), ("f4E2M1FN", "f8E5M2"),
                                                ("f8E4M3FN", "f6E2M3FN")])
    for j, sizes in enumerate([(64, 96, 512), (45, 70, 160), (33, 17, 100)]) if FULL or (i + j) % 2 == 0])
def test_a_unit_takes_them(m, n, k, a, b, tool, tmp_path):
    check_unit(m, n, k, a, b, tool, tmp_path)


def test_every_order_of_lanes_and_the_proof(tool, tmp_path):
    path = tmp_path / "program.mlir"
    path.write_text(ragged(45, 70, 160, "f4E2M1FN", "f6E3M2FN"))
    tool("tw-run", path, *where("amd:MI350"), "--verify", "--modes")
    tool("tw-run", path, *where("amd:MI350"), "--prove=require")
