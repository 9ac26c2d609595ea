# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operands that lie across the lanes: alone, with others, of odd sizes, of every width of element, static and dynamic. The input ends
where a page without access begins, so a square that reads beyond its columns ends the process."""

import numpy as np
import pytest

from conftest import FULL
from guarded_calls import call

TYPES = {"f64": np.float64, "f32": np.float32, "f16": np.float16, "i64": np.int64, "i16": np.int16, "i8": np.int8}
#: shape of the operand, order of its dimensions in the result
FORMS = [((33, 47), (1, 0)), ((16, 64), (1, 0)), ((130, 7), (1, 0)), ((7, 130), (1, 0)), ((5, 3, 70), (2, 0, 1)),
         ((2, 40, 9, 18), (0, 2, 3, 1)), ((2, 9, 18, 40), (0, 3, 1, 2)), ((3, 17, 1, 33), (3, 2, 1, 0))]


def program(kind, shape, order, dynamic, both):
    """The operand in another order; `both`: plus one that lies as the result does."""
    dims = [f"d{i}" for i in range(len(shape))]
    space = ", ".join(dims)
    turned = ", ".join(dims[order.index(i)] for i in range(len(shape)))
    kinds = ["tensor<" + "".join(f"{'?' if dynamic else size}x" for size in sizes) + kind + ">"
             for sizes in (shape, [shape[i] for i in order])]
    same = f"affine_map<({space}) -> ({space})>"
    iterators = ", ".join(['"parallel"'] * len(shape))
    add = "arith.addf" if kind.startswith("f") else "arith.addi"
    body = f"%s = {add} %p, %q : {kind}\n    linalg.yield %s : {kind}" if both else f"linalg.yield %p : {kind}"
    return f"""func.func @compute(%x: {kinds[0]}, %y: {kinds[1]}) -> {kinds[1]} {{
  %r = linalg.generic {{indexing_maps = [affine_map<({space}) -> ({turned})>, {same}, {same}], iterator_types = [{iterators}]}}
      ins(%x, %y : {kinds[0]}, {kinds[1]}) outs(%y : {kinds[1]}) {{
  ^bb0(%p: {kind}, %q: {kind}, %o: {kind}):
    {body}
  }} -> {kinds[1]}
  return %r : {kinds[1]}
}}
"""


CASES = [(False, False, "host", 1), (False, True, "host", 2), (True, True, "host", 1),
         (False, True, "x86-64-v3", 1)]


@pytest.mark.parametrize("case, dynamic, both, target, threads", [(i, *case) for i, case in enumerate(CASES)])
@pytest.mark.parametrize("kind", TYPES)
def test_values(tool, tmp_path, kind, case, dynamic, both, target, threads):
    """In CI each kind and case takes one form; all forms occur."""
    first = list(TYPES).index(kind) + case
    for shape, order in FORMS if FULL else (FORMS[first % 8],):
        random = np.random.default_rng(len(shape))
        x = random.integers(-8, 8, shape).astype(TYPES[kind])
        y = random.integers(-8, 8, [shape[i] for i in order]).astype(TYPES[kind])
        (tmp_path / "program.mlir").write_text(program(kind, shape, order, dynamic, both))
        np.save(tmp_path / "x.npy", x)
        np.save(tmp_path / "y.npy", y)
        tool("tw-run", tmp_path / "program.mlir", "--target", f"cpu:{target}", "--threads", threads, "--input", tmp_path / "x.npy",
             "--input", tmp_path / "y.npy", "--output", tmp_path / "out.npy")
        expected = x.transpose(order) + y if both else x.transpose(order)
        assert np.array_equal(np.load(tmp_path / "out.npy"), expected), (shape, order)


@pytest.mark.parametrize("kind, shape", [("f32", (33, 47)), ("i8", (65, 131)), ("f64", (19, 21))])
def test_reads_nothing_beyond(tool, tmp_path, kind, shape):
    rows, columns = shape
    x = np.random.default_rng(3).integers(-8, 8, shape).astype(TYPES[kind])
    text = f"""func.func @compute(%x: tensor<{rows}x{columns}x{kind}>) -> tensor<{columns}x{rows}x{kind}> {{
  %e = tensor.empty() : tensor<{columns}x{rows}x{kind}>
  %r = linalg.transpose ins(%x : tensor<{rows}x{columns}x{kind}>) outs(%e : tensor<{columns}x{rows}x{kind}>) permutation = [1, 0]
  return %r : tensor<{columns}x{rows}x{kind}>
}}
"""
    assert np.array_equal(call(tool, tmp_path, text, x, np.zeros((columns, rows), x.dtype)), x.T)
