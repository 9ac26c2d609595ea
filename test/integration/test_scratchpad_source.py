"""Programs of a scratchpad target as C and as LLVM IR: compiled by compilers that know nothing of the chip, against
the reference intrinsics that are generated from its records, run, and compared with float64."""

import ctypes
import subprocess

import numpy
import pytest
from conftest import BUILD
from float8 import TYPES, all_codes, around_ties, dtype, same_bits
from scratchpads import PLUGIN, compiled, gemm, pointer  # noqa: F401, compiled is a fixture


def bfloats(array):
    """Rounded to nearest even, as bits."""
    bits = array.astype(numpy.float32).view(numpy.uint32).astype(numpy.uint64)
    return ((bits + 0x7FFF + (bits >> 16 & 1)) >> 16).astype(numpy.uint16)


def widened(bits):
    return (bits.astype(numpy.uint32) << 16).view(numpy.float32)


@pytest.mark.parametrize("m, n, k", [(128, 96, 64), (50, 33, 70), (64, 32, 5)])
def test_products_of_integers(compiled, m, n, k):
    library, called = compiled(gemm(m, n, k, "i8"))
    for name in ("npu_multiply_i8", "npu_load", "accelerator_wait_copy", "accelerator_commit_unit", "accelerator_scratchpad"):
        assert called(name), name
    random = numpy.random.default_rng(1)
    a, b = (random.integers(-128, 128, shape, dtype=numpy.int8) for shape in ((m, k), (k, n)))
    bias, result = random.integers(-999, 999, n, dtype=numpy.int32), numpy.full((m, n), -1, dtype=numpy.int32)
    assert library.mm(pointer(a), pointer(b), pointer(bias), pointer(result)) == 0
    assert (result == numpy.maximum(a.astype(numpy.int32) @ b.astype(numpy.int32) + bias, 0)).all()


@pytest.mark.parametrize("m, n, k", [(64, 128, 96), (50, 33, 70)])
def test_products_of_bfloats(compiled, m, n, k):
    library, called = compiled(gemm(m, n, k, "bf16"))
    assert called("npu_multiply_bf16")
    random = numpy.random.default_rng(4)
    a, b = (bfloats(random.standard_normal(shape)) for shape in ((m, k), (k, n)))
    bias, result = random.standard_normal(n).astype(numpy.float32), numpy.full((m, n), -1, dtype=numpy.float32)
    assert library.mm(pointer(a), pointer(b), pointer(bias), pointer(result)) == 0
    x, y = widened(a).astype(numpy.float64), widened(b).astype(numpy.float64)
    bound = (k + 3) * 2.0**-23 * (numpy.abs(x) @ numpy.abs(y) + numpy.abs(bias))
    assert (numpy.abs(result - numpy.maximum(x @ y + bias, 0)) <= bound).all()


def test_what_the_cores_do(compiled):
    """Dynamic sizes, functions of libm."""
    library, _ = compiled("""
    func.func @softmax(%x: tensor<?x?xf32>) -> tensor<?x?xf32> {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %m = tensor.dim %x, %c0 : tensor<?x?xf32>
      %n = tensor.dim %x, %c1 : tensor<?x?xf32>
      %e = tensor.empty(%m, %n) : tensor<?x?xf32>
      %r = linalg.softmax dimension(1) ins(%x : tensor<?x?xf32>) outs(%e : tensor<?x?xf32>) -> tensor<?x?xf32>
      return %r : tensor<?x?xf32>
    }""")
    x = numpy.random.default_rng(2).standard_normal((13, 37), dtype=numpy.float32)
    result = numpy.zeros_like(x)
    sizes = [ctypes.c_int64(size) for size in x.shape]
    assert library.softmax(*sizes, pointer(x), pointer(result)) == 0
    wide = numpy.exp(x.astype(numpy.float64) - x.max(axis=1, keepdims=True))
    assert numpy.abs(result - wide / wide.sum(axis=1, keepdims=True)).max() < 1e-6


def test_constants_and_several_launches(compiled):
    """Weights that the program holds, one of them a splat, and a temporary between two launches."""
    weights = ", ".join("[" + ", ".join(str((i * 7 + j * 5) % 19 - 9) for j in range(32)) + "]" for i in range(64))
    library, called = compiled(f"""
    func.func @mlp(%x: tensor<40x64xi8>) -> tensor<40x32xi32> {{
      %w = arith.constant dense<[{weights}]> : tensor<64x32xi8>
      %v = arith.constant dense<3> : tensor<64x32xi8>
      %z = arith.constant 0 : i32
      %e = tensor.empty() : tensor<40x32xi32>
      %f = linalg.fill ins(%z : i32) outs(%e : tensor<40x32xi32>) -> tensor<40x32xi32>
      %p = linalg.matmul ins(%x, %w : tensor<40x64xi8>, tensor<64x32xi8>) outs(%f : tensor<40x32xi32>) -> tensor<40x32xi32>
      %q = linalg.matmul ins(%x, %v : tensor<40x64xi8>, tensor<64x32xi8>) outs(%p : tensor<40x32xi32>) -> tensor<40x32xi32>
      return %q : tensor<40x32xi32>
    }}""")
    assert called("npu_multiply_i8")
    x = numpy.random.default_rng(7).integers(-128, 128, (40, 64), dtype=numpy.int8)
    w = numpy.array([[(i * 7 + j * 5) % 19 - 9 for j in range(32)] for i in range(64)])
    result = numpy.zeros((40, 32), dtype=numpy.int32)
    assert library.mlp(pointer(x), pointer(result)) == 0
    assert (result == x.astype(numpy.int32) @ (w + 3)).all()


def test_sizes_that_disagree(compiled):
    library, _ = compiled("""
    func.func @add(%x: tensor<?x4xf32>, %y: tensor<8x4xf32>) -> tensor<8x4xf32> {
      %e = tensor.empty() : tensor<8x4xf32>
      %c = tensor.cast %x : tensor<?x4xf32> to tensor<8x4xf32>
      %r = linalg.add ins(%c, %y : tensor<8x4xf32>, tensor<8x4xf32>) outs(%e : tensor<8x4xf32>) -> tensor<8x4xf32>
      return %r : tensor<8x4xf32>
    }""")
    x, result = numpy.arange(32, dtype=numpy.float32), numpy.zeros(32, dtype=numpy.float32)
    assert library.add(ctypes.c_int64(7), pointer(x), pointer(x), pointer(result)) == 1 and not result.any()
    assert library.add(ctypes.c_int64(8), pointer(x), pointer(x), pointer(result)) == 0
    assert (result == 2 * x).all()


@pytest.mark.parametrize("rounding, used", [("math.roundeven", True), ("math.floor", False)])
def test_quantised_products(compiled, rounding, used):
    """Scales of each column, a zero point, rounding and saturation: the vendor's instruction where its record rounds that way, and
    the plain expansion where not."""
    m, n, k = 40, 96, 64
    library, called = compiled(f"""
    #ij = affine_map<(i, j) -> (i, j)>
    func.func @quantised(%a: tensor<{m}x{k}xi8>, %b: tensor<{k}x{n}xi8>, %scale: tensor<{n}xf32>) -> tensor<{m}x{n}xi8> {{
      %z = arith.constant 0 : i32
      %sums = tensor.empty() : tensor<{m}x{n}xi32>
      %bytes = tensor.empty() : tensor<{m}x{n}xi8>
      %zero = arith.constant 3.0 : f32
      %least = arith.constant -128.0 : f32
      %most = arith.constant 127.0 : f32
      %f = linalg.fill ins(%z : i32) outs(%sums : tensor<{m}x{n}xi32>) -> tensor<{m}x{n}xi32>
      %p = linalg.matmul ins(%a, %b : tensor<{m}x{k}xi8>, tensor<{k}x{n}xi8>) outs(%f : tensor<{m}x{n}xi32>)
        -> tensor<{m}x{n}xi32>
      %r = linalg.generic {{indexing_maps = [#ij, affine_map<(i, j) -> (j)>, #ij], iterator_types = ["parallel", "parallel"]}}
          ins(%p, %scale : tensor<{m}x{n}xi32>, tensor<{n}xf32>) outs(%bytes : tensor<{m}x{n}xi8>) {{
        ^bb0(%x: i32, %s: f32, %o: i8):
          %w = arith.sitofp %x : i32 to f32
          %v = arith.mulf %w, %s : f32
          %e = {rounding} %v : f32
          %y = arith.addf %e, %zero : f32
          %l = arith.maximumf %y, %least : f32
          %h = arith.minimumf %l, %most : f32
          %t = arith.fptosi %h : f32 to i8
          linalg.yield %t : i8
      }} -> tensor<{m}x{n}xi8>
      return %r : tensor<{m}x{n}xi8>
    }}""")
    assert called("npu_requantize_i32") == used
    random = numpy.random.default_rng(3)
    a, b = (random.integers(-128, 128, shape, dtype=numpy.int8) for shape in ((m, k), (k, n)))
    scale, result = (random.random(n) * 0.002).astype(numpy.float32), numpy.zeros((m, n), dtype=numpy.int8)
    assert library.quantised(pointer(a), pointer(b), pointer(scale), pointer(result)) == 0
    scaled = (a.astype(numpy.int32) @ b.astype(numpy.int32)).astype(numpy.float32) * scale
    wide = (numpy.rint(scaled) if used else numpy.floor(scaled)) + 3
    assert (numpy.abs(wide) > 128).any(), "some elements saturate"
    assert (result == numpy.clip(wide, -128, 127).astype(numpy.int8)).all()


def test_requantised_rows_of_any_length(compiled):
    """A nest of the cores: sixteen elements an instruction, what is left over step by step, a clamp tighter than the type."""
    library, called = compiled("""
    #i = affine_map<(i, j) -> (i, j)>
    func.func @narrow(%x: tensor<5x?xf32>) -> tensor<5x?xi8> {
      %c1 = arith.constant 1 : index
      %n = tensor.dim %x, %c1 : tensor<5x?xf32>
      %bytes = tensor.empty(%n) : tensor<5x?xi8>
      %scale = arith.constant 0.25 : f32
      %zero = arith.constant -5.0 : f32
      %least = arith.constant -100.0 : f32
      %most = arith.constant 127.0 : f32
      %r = linalg.generic {indexing_maps = [#i, #i], iterator_types = ["parallel", "parallel"]}
          ins(%x : tensor<5x?xf32>) outs(%bytes : tensor<5x?xi8>) {
        ^bb0(%v: f32, %o: i8):
          %s = arith.mulf %v, %scale : f32
          %e = math.roundeven %s : f32
          %y = arith.addf %e, %zero : f32
          %l = arith.maximumf %y, %least : f32
          %h = arith.minimumf %l, %most : f32
          %t = arith.fptosi %h : f32 to i8
          linalg.yield %t : i8
      } -> tensor<5x?xi8>
      return %r : tensor<5x?xi8>
    }""")
    assert called("npu_requantize_f32")
    for n in (1, 15, 16, 50, 64):
        x = (numpy.random.default_rng(n).standard_normal((5, n)) * 300).astype(numpy.float32)
        result = numpy.zeros((5, n), dtype=numpy.int8)
        assert library.narrow(ctypes.c_int64(n), pointer(x), pointer(result)) == 0
        assert (result == numpy.clip(numpy.rint(x * numpy.float32(0.25)) - 5, -100, 127).astype(numpy.int8)).all()


@pytest.mark.parametrize("kind", TYPES)
def test_floats_of_eight_bits(compiled, kind):
    """All codes to f32, and all ties of f32 back."""
    codes, values = all_codes(kind), around_ties(kind, "f32")
    n = len(values)

    def cast(name, op, count, have, want):
        return f"""
    func.func @{name}(%x: tensor<{count}x{have}>) -> tensor<{count}x{want}> {{
      %e = tensor.empty() : tensor<{count}x{want}>
      %r = linalg.generic {{indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}}
          ins(%x : tensor<{count}x{have}>) outs(%e : tensor<{count}x{want}>) {{
        ^bb0(%v: {have}, %o: {want}):
          %w = arith.{op} %v : {have} to {want}
          linalg.yield %w : {want}
      }} -> tensor<{count}x{want}>
      return %r : tensor<{count}x{want}>
    }}"""

    library, _ = compiled(cast("widen", "extf", 256, kind, "f32") + cast("narrow", "truncf", n, "f32", kind))
    wide, short = numpy.zeros(256, numpy.float32), numpy.zeros(n, numpy.uint8)
    assert library.widen(pointer(codes), pointer(wide)) == 0 and library.narrow(pointer(values), pointer(short)) == 0
    with numpy.errstate(all="ignore"):
        assert same_bits(wide, codes.astype(numpy.float32)) and same_bits(short.view(dtype(kind)), values.astype(dtype(kind)))


def test_all_halfs(compiled):
    """Each of the 65536 values of f16 to f32 and f64, and back; sums of two of them are rounded once."""
    library, _ = compiled("""
    #i = affine_map<(i) -> (i)>
    func.func @widen(%x: tensor<65536xf16>) -> tensor<65536xf32> {
      %e = tensor.empty() : tensor<65536xf32>
      %r = linalg.generic {indexing_maps = [#i, #i], iterator_types = ["parallel"]}
          ins(%x : tensor<65536xf16>) outs(%e : tensor<65536xf32>) {
        ^bb0(%v: f16, %o: f32):
          %w = arith.extf %v : f16 to f32
          linalg.yield %w : f32
      } -> tensor<65536xf32>
      return %r : tensor<65536xf32>
    }
    func.func @narrow(%x: tensor<65536xf32>) -> tensor<65536xf16> {
      %e = tensor.empty() : tensor<65536xf16>
      %r = linalg.generic {indexing_maps = [#i, #i], iterator_types = ["parallel"]}
          ins(%x : tensor<65536xf32>) outs(%e : tensor<65536xf16>) {
        ^bb0(%v: f32, %o: f16):
          %w = arith.truncf %v : f32 to f16
          linalg.yield %w : f16
      } -> tensor<65536xf16>
      return %r : tensor<65536xf16>
    }
    func.func @add(%x: tensor<65536xf16>, %y: tensor<65536xf16>) -> tensor<65536xf16> {
      %e = tensor.empty() : tensor<65536xf16>
      %r = linalg.add ins(%x, %y : tensor<65536xf16>, tensor<65536xf16>) outs(%e : tensor<65536xf16>) -> tensor<65536xf16>
      return %r : tensor<65536xf16>
    }""")
    halfs = numpy.arange(65536, dtype=numpy.uint16)
    numbers, wide = halfs.view(numpy.float16), numpy.zeros(65536, dtype=numpy.float32)
    assert library.widen(pointer(halfs), pointer(wide)) == 0
    numpy.testing.assert_array_equal(wide, numbers.astype(numpy.float32))
    assert (numpy.signbit(wide) == numpy.signbit(numbers)).all()
    # All values, and those half way between two, beyond the largest, and below the smallest.
    random = numpy.random.default_rng(5)
    with numpy.errstate(all="ignore"):
        between, small = wide * numpy.float32(1 + 2**-11), wide * numpy.float32(2**-11 * 1.5)
    for given in (wide, between, small, random.integers(0, 2**32, 65536, dtype=numpy.uint32).view(numpy.float32)):
        narrow = numpy.zeros(65536, dtype=numpy.uint16)
        assert library.narrow(pointer(given), pointer(narrow)) == 0
        with numpy.errstate(all="ignore"):
            numpy.testing.assert_array_equal(narrow.view(numpy.float16), given.astype(numpy.float16))
    other, sums = random.permutation(halfs), numpy.zeros(65536, dtype=numpy.uint16)
    assert library.add(pointer(halfs), pointer(other), pointer(sums)) == 0
    with numpy.errstate(all="ignore"):
        exact = (numbers.astype(numpy.float64) + other.view(numpy.float16).astype(numpy.float64)).astype(numpy.float16)
    numpy.testing.assert_array_equal(sums.view(numpy.float16), exact)


def test_other_outputs_are_refused(tmp_path):
    program = tmp_path / "mm.mlir"
    program.write_text(gemm(32, 32, 32, "i8"))
    result = subprocess.run([BUILD / "bin/tw-compile", program, f"--load-target={PLUGIN}", "--target", "accelerator:npu", "-o",
                             tmp_path / "mm.so"], capture_output=True, text=True, timeout=300)
    assert result.returncode == 1 and "expected a name that ends with .c or .ll" in result.stderr, result.stderr
    assert not (tmp_path / "mm.so").exists()
