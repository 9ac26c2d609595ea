"""8-bit floats: conversions of all codes and all ties against ml_dtypes, products and what surrounds them on the host and on
emulated chips."""

import ctypes
import json
import re
import subprocess

import numpy as np
import pytest

from conftest import BUILD, FULL
from float8 import TYPES, WIDE, all_codes, around_ties, dtype, load, same_bits, save
from lanes import emulate, kernels

HOSTS = ["cpu:host"]
#: One for each unit: mma.sync, FNUZ and OCP on wavefronts of 64 lanes, on those of 32; A100 has none.
CHIPS = ["nvidia:RTX4090", "nvidia:A100", "amd:MI300X", "amd:MI350", "amd:RX9070"]


def run(tool, folder, text, inputs, kinds, output, *words):
    """The output of a program for these inputs."""
    source = folder / "program.mlir"
    source.write_text(text)
    files = [word for i, (array, kind) in enumerate(zip(inputs, kinds))
             for word in ("--input", save(folder, f"in{i}", array, kind))]
    out = folder / ("out.bf16.npy" if output == "bf16" else "out.npy")
    tool("tw-run", source, *files, "--output", out, *words)
    return load(out, output)


def cast(have, want, count="?"):
    """Every element of an array, converted."""
    op = "extf" if dtype(have).itemsize < dtype(want).itemsize else "truncf"
    return f"""
    func.func @f(%a: tensor<{count}x{have}>) -> tensor<{count}x{want}> {{
      %zero = arith.constant 0 : index
      %n = tensor.dim %a, %zero : tensor<{count}x{have}>
      %e = tensor.empty(%n) : tensor<?x{want}>
      %d = tensor.cast %e : tensor<?x{want}> to tensor<{count}x{want}>
      %r = linalg.generic {{indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}}
          ins(%a : tensor<{count}x{have}>) outs(%d : tensor<{count}x{want}>) {{
      ^bb0(%x: {have}, %o: {want}):
        %y = arith.{op} %x : {have} to {want}
        linalg.yield %y : {want}
      }} -> tensor<{count}x{want}>
      return %r : tensor<{count}x{want}>
    }}"""


def where(target):
    return ["--target", target] + ([] if target.startswith("cpu") else ["--device", "emulator"])


#: Where each pair of types is converted: on the host, and in CI on one of the chips, in turn.
CONVERSIONS = [(kind, wide, target) for i, kind in enumerate(TYPES) for j, wide in enumerate(WIDE)
               for k, target in enumerate(HOSTS + CHIPS[:3]) if FULL or target in HOSTS or (i + j + k) % 3 == 0]


@pytest.mark.parametrize("kind, wide, target", CONVERSIONS)
def test_all_codes_widen(kind, wide, target, tool, tmp_path):
    codes = all_codes(kind)
    got = run(tool, tmp_path, cast(kind, wide), [codes], [kind], wide, *where(target))
    assert same_bits(got, codes.astype(dtype(wide)))


def narrowed(values, kind):
    """Rounded once. ml_dtypes goes through f32 from f64; there the two codes around a magnitude are compared."""
    if values.dtype != np.float64:
        return values.astype(dtype(kind))
    numbers = all_codes(kind)[:128].astype(np.float64)
    numbers = numbers[np.isfinite(numbers)]
    numbers = np.append(numbers, 2 * numbers[-1] - numbers[-2])  # what would follow the largest
    magnitude = np.where(np.isfinite(values), np.abs(values), numbers[-1])
    above = np.minimum(np.searchsorted(numbers, magnitude), len(numbers) - 1)
    below = np.maximum(above - 1, 0)
    up, down = numbers[above] - magnitude, magnitude - numbers[below]
    code = np.where((up < down) | ((up == down) & (above % 2 == 0)), above, below)
    one_zero, sign = kind.endswith("UZ"), np.where(np.signbit(values), 0x80, 0)
    beyond = 0x80 if one_zero else sign | (0x7C if kind == "f8E5M2" else 0x7F)
    if kind == "f8E5M2":
        beyond = np.where(np.isnan(values), 0x7E, beyond)
    signed = np.where(code == 0, 0, code | sign) if one_zero else code | sign
    return np.where(code == len(numbers) - 1, beyond, signed).astype(np.uint8).view(dtype(kind))


@pytest.mark.parametrize("kind, wide, target", CONVERSIONS)
def test_ties_round_to_even(kind, wide, target, tool, tmp_path):
    values = around_ties(kind, wide)
    if target in HOSTS and wide != "f64":  # all patterns of 16 bits, many of 32
        if wide == "f32":
            bits = np.random.default_rng(0).integers(0, 2**32, 1 << (22 if FULL else 18), dtype=np.uint32)
        else:
            bits = np.arange(1 << 16, dtype=np.uint16)
        values = np.concatenate([values, bits.view(dtype(wide))])
    with np.errstate(all="ignore"):
        expected = narrowed(values, kind)
    assert same_bits(run(tool, tmp_path, cast(wide, kind), [values], [wide], kind, *where(target)), expected)


def matmul(m, n, k, a, b, trans_b=False, tail="", out="f32"):
    """C = A B of 8-bit floats in f32, with a scale a row, a bias, an activation and a cast (`tail`)."""
    right = f"{n}x{k}" if trans_b else f"{k}x{n}"
    result = f"tensor<{m}x{n}xf32>"
    lines = [f"""
    func.func @f(%a: tensor<{m}x{k}x{a}>, %b: tensor<{right}x{b}>{f", %s: tensor<{m}xf32>, %v: tensor<{n}xf32>" if tail else ""}) -> tensor<{m}x{n}x{out}> {{
      %z = arith.constant 0.0 : f32
      %e = tensor.empty() : {result}
      %c = linalg.fill ins(%z : f32) outs(%e : {result}) -> {result}
      %p = linalg.generic {{indexing_maps = [affine_map<(i, j, k) -> (i, k)>,
          affine_map<(i, j, k) -> ({"j, k" if trans_b else "k, j"})>, affine_map<(i, j, k) -> (i, j)>],
          iterator_types = ["parallel", "parallel", "reduction"]}}
          ins(%a, %b : tensor<{m}x{k}x{a}>, tensor<{right}x{b}>) outs(%c : {result}) {{
      ^bb0(%x: {a}, %y: {b}, %o: f32):
        %0 = arith.extf %x : {a} to f32
        %1 = arith.extf %y : {b} to f32
        %2 = arith.mulf %0, %1 : f32
        %3 = arith.addf %o, %2 : f32
        linalg.yield %3 : f32
      }} -> {result}"""]
    if not tail:
        return lines[0] + f"\n      return %p : {result}\n    }}"
    return lines[0] + f"""
      %t = tensor.empty() : tensor<{m}x{n}x{out}>
      %r = linalg.generic {{indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>,
          affine_map<(i, j) -> (j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}}
          ins(%p, %s, %v : {result}, tensor<{m}xf32>, tensor<{n}xf32>) outs(%t : tensor<{m}x{n}x{out}>) {{
      ^bb0(%x: f32, %s0: f32, %v0: f32, %o: {out}):
        %0 = arith.mulf %x, %s0 : f32
        %1 = arith.addf %0, %v0 : f32
        %zero = arith.constant 0.0 : f32
        %2 = arith.maximumf %1, %zero : f32
        {f"%3 = arith.truncf %2 : f32 to {out}" if out != "f32" else ""}
        linalg.yield {"%3" if out != "f32" else "%2"} : {out}
      }} -> tensor<{m}x{n}x{out}>
      return %r : tensor<{m}x{n}x{out}>
    }}"""


PAIRS = [("f8E4M3FN", "f8E4M3FN"), ("f8E5M2", "f8E5M2"), ("f8E4M3FN", "f8E5M2"), ("f8E4M3FNUZ", "f8E4M3FNUZ"),
         ("f8E5M2FNUZ", "f8E4M3FNUZ")]


def operands(shape_a, shape_b, a, b):
    random = np.random.default_rng(7)
    return random.standard_normal(shape_a).astype(dtype(a)), random.standard_normal(shape_b).astype(dtype(b))


@pytest.mark.parametrize("m, n, k", [(64, 96, 128), (37, 41, 53), (1, 64, 40)])
@pytest.mark.parametrize("a, b", PAIRS)
def test_products_on_the_host(a, b, m, n, k, tool, tmp_path):
    x, y = operands((m, k), (k, n), a, b)
    got = run(tool, tmp_path, matmul(m, n, k, a, b), [x, y], [a, b], "f32", "--verify")
    exact = x.astype(np.float64) @ y.astype(np.float64)
    bound = np.abs(x.astype(np.float64)) @ np.abs(y.astype(np.float64)) * (k + 2) * 2.0**-23
    assert np.all(np.abs(got - exact) <= bound)


@pytest.mark.parametrize("chip, a, b, m, n, k, trans_b", [
    (chip, *pair, *sizes) for i, chip in enumerate(CHIPS) for j, pair in enumerate(PAIRS)
    for l, sizes in enumerate([(64, 64, 64, False), (37, 41, 53, True)]) if FULL or (i + j + l) % 2 == 0])
def test_products_on_chips(a, b, m, n, k, trans_b, chip, tool, tmp_path):
    path = tmp_path / "program.mlir"
    path.write_text(matmul(m, n, k, a, b, trans_b))
    report = emulate(tool, path, chip, "--modes")
    conflicts = [site for kernel in kernels(report) if kernel["units"] for site in kernel["sites"]
                 if site.get("conflict_cycles")]
    assert not conflicts


def unit_of(tool, path, chip):
    decisions = json.loads(tool("tw-compile", path, "--target", chip, "--explain=json"))
    return next(d["choice"]["unit"] for d in decisions if d["decision"] == "contraction")


@pytest.mark.parametrize("chip, a, b, unit", [
    ("nvidia:RTX4090", "f8E4M3FN", "f8E4M3FN", "mma_m16n8k32_e4m3_f32"),
    ("nvidia:L4", "f8E5M2", "f8E4M3FN", "mma_m16n8k32_e5m2_e4m3_f32"), ("nvidia:B200", "f8E5M2", "f8E5M2", "mma_m16n8k32_e5m2_f32"),
    ("amd:MI300X", "f8E4M3FNUZ", "f8E5M2FNUZ", "mfma_cdna3_.*_fp8_bf8_f32"),
    ("amd:MI350", "f8E5M2", "f8E4M3FN", "mfma_cdna4_.*x(128|64)_bf8_fp8_f32"),
    ("amd:RX9070", "f8E4M3FN", "f8E5M2", "wmma_rdna4_fp8_bf8_f32"), ("cpu:zen4", "f8E4M3FN", "f8E5M2", "avx512_dpbf16"),
    ("cpu:x86-64-v3", "f8E4M3FN", "f8E5M2", "avx2_fma_f32")])
def test_units_that_are_chosen(chip, a, b, unit, tool, tmp_path):
    path = tmp_path / "program.mlir"
    path.write_text(matmul(512, 512, 512, a, b))
    assert re.fullmatch(unit, unit_of(tool, path, chip).partition(".")[2])


@pytest.mark.parametrize("chip, a, b, unit", [
    ("nvidia:A100", "f8E4M3FN", "f8E5M2", "mma_m16n8k16_f16_f32"), ("nvidia:H100", "f8E4M3FNUZ", "f8E5M2FNUZ", ".*_f16_f32"),
    ("amd:MI300X", "f8E5M2", "f8E5M2", "mfma_cdna3_.*_f16_f32"), ("amd:MI250", "f8E4M3FN", "f8E4M3FN", "mfma_cdna2_.*_f16_f32"),
    ("nvidia:RTX4090", "bf16", "f8E4M3FN", ".*_bf16_f32"), ("amd:RX7900", "f8E4M3FN", "f16", "wmma_rdna3_f16_f32")])
def test_what_no_unit_takes_is_widened_before(chip, a, b, unit, tool, tmp_path):
    path = tmp_path / "program.mlir"
    path.write_text(matmul(96, 64, 80, a, b))
    assert re.fullmatch(unit, unit_of(tool, path, chip).partition(".")[2])
    emulate(tool, path, chip, "--modes")


def test_a_remark_tells_where_a_row_is_not_mapped(tmp_path):
    path = tmp_path / "program.mlir"
    path.write_text(matmul(1, 64, 64, "f8E4M3FN", "f8E4M3FN"))
    done = subprocess.run([BUILD / "bin" / "tw-compile", path, "--target", "nvidia:A100", "--explain"], capture_output=True,
                          text=True)
    assert done.returncode == 0 and "contraction is not mapped to a matrix unit: no unit of the chip computes" in done.stderr


@pytest.mark.parametrize("a, b, m, n, k, tail", [
    (*pair, *case) for i, pair in enumerate(PAIRS[:3]) for j, case in enumerate([(128, 256, 256, ""), (200, 144, 208, "narrow")])
    if FULL or i % 2 == j])
def test_a_ring_of_tiles(a, b, m, n, k, tail, tool, tmp_path):
    path = tmp_path / "program.mlir"
    path.write_text('module attributes {tilewright.force = "group=4"} {' +
                    matmul(m, n, k, a, b, trans_b=True, tail=tail, out=a if tail else "f32") + "\n}")
    report = emulate(tool, path, "nvidia:H100", "--modes")
    assert unit_of(tool, path, "nvidia:H100").startswith("nvidia.wgmma_m64n")
    # Results on their way out meet in banks, of every type; what units read does not.
    assert not [site for kernel in kernels(report) if kernel["units"] for site in kernel["sites"]
                if site.get("conflict_cycles") and not site["writes"]]


def quantised(a, out, tool, folder, *words):
    """A product with a scale a row, a bias, an activation and a cast: the neighbour of the right number at most."""
    m, n, k = 48, 64, 96
    x, y = operands((m, k), (k, n), a, a)
    scale, bias = (np.random.default_rng(i).random(size, dtype=np.float32) for i, size in ((1, m), (2, n)))
    got = run(tool, folder, matmul(m, n, k, a, a, tail="narrow", out=out), [x, y, scale, bias], [a, a, "f32", "f32"], out,
              *words)
    exact = np.maximum(x.astype(np.float64) @ y.astype(np.float64) * scale[:, None] + bias, 0)
    wrong = got.astype(np.float64) != exact.astype(np.float32).astype(dtype(out)).astype(np.float64)
    # Ties that the order of the sum decides are rare.
    assert np.mean(wrong) < 0.002
    step = 2.0**-3 if "E4M3" in out else 2.0**-2
    assert np.all(np.abs(got.astype(np.float64) - exact) <= step * np.maximum(np.abs(exact), 2.0**-6))


@pytest.mark.parametrize("out", ["f8E4M3FN", "f8E5M2", "f8E4M3FNUZ"])
def test_cast_behind_a_product(out, tool, tmp_path):
    quantised(out, out, tool, tmp_path)


@pytest.mark.parametrize("chip, kind", [("nvidia:RTX4090", "f8E4M3FN"), ("amd:MI300X", "f8E4M3FNUZ"),
                                        ("amd:RX9070", "f8E5M2")])
def test_cast_behind_a_product_on_chips(chip, kind, tool, tmp_path):
    quantised(kind, kind, tool, tmp_path, *where(chip))


@pytest.mark.parametrize("target", ["cpu:host", "cpu:x86-64", "nvidia:RTX4090", "amd:MI350"])
def test_constants_single_values_and_loops(target, tool, tmp_path):
    path = tmp_path / "program.mlir"
    path.write_text("""
    func.func @f(%a: tensor<5x4xf8E4M3FN>, %s: f8E5M2) -> (tensor<5x3xf32>, tensor<5x4xf8E5M2>, f8E5M2) {
      %w = arith.constant dense<[[1.0, 2.0, -0.5], [0.25, 3.0, 1.5], [0.0, -1.0, 448.0], [0.015625, 2.0, 0.001953125]]>
          : tensor<4x3xf8E4M3FN>
      %z = arith.constant dense<0.0> : tensor<5x3xf32>
      %r = linalg.matmul ins(%a, %w : tensor<5x4xf8E4M3FN>, tensor<4x3xf8E4M3FN>) outs(%z : tensor<5x3xf32>) -> tensor<5x3xf32>
      %c = arith.constant dense<1.75> : tensor<5x4xf8E5M2>
      %e = tensor.splat %s : tensor<5x4xf8E5M2>
      %q = arith.addf %c, %e : tensor<5x4xf8E5M2>
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c4 = arith.constant 4 : index
      %t = scf.for %i = %c0 to %c4 step %c1 iter_args(%x = %s) -> (f8E5M2) {
        %y = arith.addf %x, %s : f8E5M2
        scf.yield %y : f8E5M2
      }
      return %r, %q, %t : tensor<5x3xf32>, tensor<5x4xf8E5M2>, f8E5M2
    }""")
    tool("tw-run", path, "--verify", *where(target))


def test_the_c_interface_takes_bytes(tool, tmp_path):
    path, library, header = tmp_path / "program.mlir", tmp_path / "program.so", tmp_path / "program.h"
    path.write_text(cast("f8E5M2", "f32", 256))
    tool("tw-compile", path, "-o", library, "--header", header)
    assert "int f(const uint8_t *in0, float *out0);" in header.read_text()
    codes, wide = all_codes("f8E5M2"), np.zeros(256, np.float32)
    pointers = (ctypes.c_void_p(array.ctypes.data) for array in (codes, wide))
    assert ctypes.CDLL(str(library)).f(*pointers) == 0 and same_bits(wide, codes.astype(np.float32))
