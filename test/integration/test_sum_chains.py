"""Rounding errors of long sums: products begin their sums anew (docs/contraction-model.md)."""

import numpy as np
import pytest

SHAPES = {"one chain": (16, 32, 1024), "several": (16, 32, 4096), "with a rest": (7, 19, 5003)}


def product(m, n, k):
    a, b, c = f"tensor<{m}x{k}xf32>", f"tensor<{k}x{n}xf32>", f"tensor<{m}x{n}xf32>"
    return f"""
func.func @f(%a: {a}, %b: {b}) -> {c} {{
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : {c}
  %z = linalg.fill ins(%zero : f32) outs(%e : {c}) -> {c}
  %r = linalg.matmul ins(%a, %b : {a}, {b}) outs(%z : {c}) -> {c}
  return %r : {c}
}}"""


def one_by_one(a, b):
    """The sums in f32, one product after the other, each rounded once with its addition."""
    sums = np.zeros((a.shape[0], b.shape[1]), np.float32)
    for k in range(a.shape[1]):
        sums = (sums.astype(np.float64) + np.outer(a[:, k].astype(np.float64), b[k].astype(np.float64))).astype(np.float32)
    return sums


@pytest.mark.parametrize("fp", ["default", "strict"])
@pytest.mark.parametrize("shape", SHAPES)
def test_error_of_a_product(tool, tmp_path, shape, fp):
    """The error of long sums is at most half of that of one chain, with --fp=strict it is that of one chain."""
    m, n, k = SHAPES[shape]
    rng = np.random.default_rng(7)
    a, b = (rng.standard_normal(s).astype(np.float32) for s in ((m, k), (k, n)))
    np.save(tmp_path / "a.npy", a), np.save(tmp_path / "b.npy", b)
    source = tmp_path / "product.mlir"
    source.write_text(product(m, n, k))
    tool("tw-run", source, "--threads=1", f"--fp={fp}", f"--input={tmp_path / 'a.npy'}", f"--input={tmp_path / 'b.npy'}",
         f"--output={tmp_path / 'c.npy'}")
    exact = a.astype(np.float64) @ b.astype(np.float64)

    def error(result):
        return np.sqrt(np.mean((result.astype(np.float64) - exact) ** 2))
    got, chain = error(np.load(tmp_path / "c.npy")), error(one_by_one(a, b))
    if fp == "strict" or k <= 1024:
        assert 0.9 * chain <= got <= 1.1 * chain
    else:
        assert got <= 0.5 * chain
