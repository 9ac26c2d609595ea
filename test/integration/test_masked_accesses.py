# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Vectors that end with their array, on chips that have no masks for their elements: AVX2 for bytes, SSE for all. The input ends where a
page without access begins."""

import platform

import numpy as np
import pytest

from guarded_calls import TYPES, call

pytestmark = pytest.mark.skipif(platform.machine() != "x86_64", reason="the chips are those of x86-64")


def convolution(rows, columns, kind):
    """Sums over windows of 3 x 3 of `rows` x `columns` results, in i32."""
    return f"""func.func @compute(%x: tensor<4x{rows + 2}x{columns + 2}x{kind}>, %w: tensor<8x4x3x3x{kind}>) -> tensor<8x{rows}x{columns}xi32> {{
  %zero = arith.constant 0 : i32
  %e = tensor.empty() : tensor<8x{rows}x{columns}xi32>
  %z = linalg.fill ins(%zero : i32) outs(%e : tensor<8x{rows}x{columns}xi32>) -> tensor<8x{rows}x{columns}xi32>
  %r = linalg.generic {{indexing_maps = [affine_map<(o, i, j, c, p, q) -> (c, i + p, j + q)>, affine_map<(o, i, j, c, p, q) -> (o, c, p, q)>,
      affine_map<(o, i, j, c, p, q) -> (o, i, j)>], iterator_types = ["parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]}}
      ins(%x, %w : tensor<4x{rows + 2}x{columns + 2}x{kind}>, tensor<8x4x3x3x{kind}>) outs(%z : tensor<8x{rows}x{columns}xi32>) {{
  ^bb0(%a: {kind}, %b: {kind}, %s: i32):
    %c = arith.extsi %a : {kind} to i32
    %d = arith.extsi %b : {kind} to i32
    %m = arith.muli %c, %d : i32
    %t = arith.addi %s, %m : i32
    linalg.yield %t : i32
  }} -> tensor<8x{rows}x{columns}xi32>
  return %r : tensor<8x{rows}x{columns}xi32>
}}
"""


def sums(size, kind):
    add = "arith.addi" if kind[0] == "i" else "arith.addf"
    dim = "" if size != "?" else f"""
  %c0 = arith.constant 0 : index
  %n = tensor.dim %x, %c0 : tensor<?x{kind}>"""
    return f"""func.func @compute(%x: tensor<{size}x{kind}>) -> tensor<{size}x{kind}> {{{dim}
  %e = tensor.empty({"%n" if dim else ""}) : tensor<{size}x{kind}>
  %r = linalg.generic {{indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}}
      ins(%x : tensor<{size}x{kind}>) outs(%e : tensor<{size}x{kind}>) {{
  ^bb0(%a: {kind}, %b: {kind}):
    %s = {add} %a, %a : {kind}
    linalg.yield %s : {kind}
  }} -> tensor<{size}x{kind}>
  return %r : tensor<{size}x{kind}>
}}
"""


@pytest.mark.parametrize("chip", ["x86-64-v3", "x86-64"])
@pytest.mark.parametrize("kind", ["i8", "bf16", "f32"])
@pytest.mark.parametrize("size", [7, 45, "?"])
def test_vectors_that_end_with_their_array(tool, tmp_path, chip, kind, size):
    for length in ((1, 15, 16, 33) if size == "?" else (size,)):
        x = np.arange(1, length + 1).astype(TYPES[kind])
        result = call(tool, tmp_path, sums(size, kind), x, np.zeros_like(x), sizes=(length,) if size == "?" else (), target=f"cpu:{chip}")
        np.testing.assert_array_equal(result, x + x)


@pytest.mark.parametrize("rows, columns", [(5, 7), (9, 19), (3, 33)])
def test_panels_of_bytes(tool, tmp_path, rows, columns):
    random = np.random.default_rng(rows)
    x = random.integers(-128, 128, (4, rows + 2, columns + 2), np.int8)
    w = random.integers(-128, 128, (8, 4, 3, 3), np.int8)
    windows = np.lib.stride_tricks.sliding_window_view(x.astype(np.int32), (3, 3), axis=(1, 2))
    expected = np.einsum("cijpq,ocpq->oij", windows, w.astype(np.int32))
    result = call(tool, tmp_path, convolution(rows, columns, "i8"), x, np.zeros((8, rows, columns), np.int32), others=(w,), target="cpu:x86-64-v3")
    np.testing.assert_array_equal(result, expected)
