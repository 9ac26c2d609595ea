"""Softmax, layer normalisation, reductions and chains with tails in every dimension, against float64."""

import numpy
import pytest

SHAPES = [(1, 1), (3, 5), (5, 33), (7, 1000), (64, 100), (130, 768), (2050, 2049)]


def reduction(op, init, m, n, axis):
    kept = (m, n)[1 - axis]
    return f"""func.func @compute(%x: tensor<{m}x{n}xf32>) -> tensor<{kept}xf32> {{
  %init = arith.constant dense<{init}> : tensor<{kept}xf32>
  %r = linalg.reduce {{ {op} }} ins(%x : tensor<{m}x{n}xf32>) outs(%init : tensor<{kept}xf32>) dimensions = [{axis}]
  return %r : tensor<{kept}xf32>
}}
"""


def softmax(m, n):
    rows = f"tensor<{m}x{n}xf32>"
    return f"""func.func @compute(%x: {rows}) -> {rows} {{
  %e = tensor.empty() : {rows}
  %r = linalg.softmax dimension(1) ins(%x : {rows}) outs(%e : {rows}) -> {rows}
  return %r : {rows}
}}
"""


def softmax_reference(x):
    e = numpy.exp(x - x.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def run(tool, folder, text, x, *arguments):
    (folder / "f.mlir").write_text(text)
    numpy.save(folder / "x.npy", x)
    tool("tw-run", folder / "f.mlir", "--input", folder / "x.npy", "--output", folder / "y.npy", *arguments)
    return numpy.load(folder / "y.npy")


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_softmax(tool, tmp_path, shape):
    x = numpy.random.default_rng(2).standard_normal(shape).astype(numpy.float32)
    got = run(tool, tmp_path, softmax(*shape), x)
    numpy.testing.assert_allclose(got, softmax_reference(x.astype(numpy.float64)), rtol=2e-6)


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_reductions(tool, tmp_path, shape, axis):
    # Multiples of 1/8: every order of the sum is exact.
    x = (numpy.random.default_rng(3).integers(-64, 64, shape) / 8).astype(numpy.float32)
    got = run(tool, tmp_path, reduction("arith.addf", "0.0", *shape, axis), x)
    assert numpy.array_equal(got, x.sum(axis=axis, dtype=numpy.float64).astype(numpy.float32))
    got = run(tool, tmp_path, reduction("arith.maximumf", "0xFF800000", *shape, axis), x)
    assert numpy.array_equal(got, x.max(axis=axis))


def test_maxima_keep_a_nan(tool, tmp_path):
    """Wherever in a row it stands: in the vectors of each partial maximum, in the remainder, first or last."""
    m, n = 300, 299
    x = numpy.random.default_rng(5).standard_normal((m, n)).astype(numpy.float32)
    x[numpy.arange(n), numpy.arange(n)] = numpy.nan
    x[n, 7] = numpy.inf
    for op, init, expected in (("arith.maximumf", "0xFF800000", x.max(axis=1)), ("arith.minimumf", "0x7F800000", x.min(axis=1))):
        got = run(tool, tmp_path, reduction(op, init, m, n, 1), x)
        assert numpy.isnan(got[:n]).all()
        assert numpy.array_equal(got[n:], expected[n:])


@pytest.mark.parametrize("rest", range(0, 16, 3))
def test_results_past_the_caches(tool, tmp_path, rest):
    """Rows of a result that no cache holds begin anywhere in a line."""
    x = numpy.random.default_rng(6).standard_normal((2048 + 3, 1024 + rest)).astype(numpy.float32)
    got = run(tool, tmp_path, softmax(*x.shape), x)
    numpy.testing.assert_allclose(got, softmax_reference(x.astype(numpy.float64)), rtol=2e-6)


def test_threads_give_the_same_bytes(tool, tmp_path):
    x = numpy.random.default_rng(4).standard_normal((2050, 2049)).astype(numpy.float32)
    alone = run(tool, tmp_path, softmax(*x.shape), x, "--threads", 1)
    together = run(tool, tmp_path, softmax(*x.shape), x, "--threads", 2)
    assert alone.tobytes() == together.tobytes()
