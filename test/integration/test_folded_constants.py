# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Large constants of a module that products read are packed by the compiler: numbers beside a float64 evaluation, what is in the file,
constants that are shared or read in place too, and code that does not run here."""

import ctypes
import json

import numpy as np
import pytest

from conftest import FULL
from test_large_constants import digits, usage

M, K, N = 48, 128, 192  # the constant takes 98,304 bytes in f32


def numbers(shape, seed=0, type=np.float32):
    return (np.random.default_rng(seed).integers(-8, 9, shape) / 8).astype(type)


def matmul(name, w, form, type="f32", m=M, more="", result="%p"):
    """A function of x, `m` rows, with x w; w lies with k first ("kn") or last ("nk"). `more`: operations after it."""
    k, n = w.shape if form == "kn" else w.shape[::-1]
    maps = "affine_map<(i, j, k) -> (i, k)>, affine_map<(i, j, k) -> (%s)>, affine_map<(i, j, k) -> (i, j)>" % ", ".join(
        {"k": "k", "n": "j"}[each] for each in form)
    text = digits(w.view(np.uint16) if type == "bf16" else w)
    cast = ("%x1 = arith.extf %a : bf16 to f32\n    %w1 = arith.extf %b : bf16 to f32", "%x1, %w1") if type == "bf16" else ("", "%a, %b")
    return f"""func.func @{name}(%x: tensor<{m}x{k}x{type}>) -> tensor<{m}x{n}xf32> {{
  %w = arith.constant dense<"0x{text}"> : tensor<{w.shape[0]}x{w.shape[1]}x{type}>
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<{m}x{n}xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<{m}x{n}xf32>) -> tensor<{m}x{n}xf32>
  %p = linalg.generic {{indexing_maps = [{maps}], iterator_types = ["parallel", "parallel", "reduction"]}}
      ins(%x, %w : tensor<{m}x{k}x{type}>, tensor<{w.shape[0]}x{w.shape[1]}x{type}>) outs(%f : tensor<{m}x{n}xf32>) {{
  ^bb0(%a: {type}, %b: {type}, %c: f32):
    {cast[0]}
    %t = arith.mulf {cast[1]} : f32
    %s = arith.addf %c, %t : f32
    linalg.yield %s : f32
  }} -> tensor<{m}x{n}xf32>
{more}  return {result} : tensor<{m}x{n}xf32>
}}
"""


def module(*functions, attributes='tilewright.force = "bound_vectors=1"'):
    return f"module attributes {{{attributes}}} {{\n{''.join(functions)}}}\n"


def called(library, x, n, name="f"):
    y = np.zeros((x.shape[0], n), np.float32)
    assert ctypes.CDLL(str(library))[name](ctypes.c_void_p(x.ctypes.data), ctypes.c_void_p(y.ctypes.data)) == 0
    return y


@pytest.fixture
def build(tool, tmp_path):
    """build(text, options) -> the library; its decisions about contractions are `build.choices`."""

    def build(text, *options, end="so"):
        build.count += 1  # a process loads a library of one name once
        build.text, library = tmp_path / "f.mlir", tmp_path / f"f{build.count}.{end}"
        build.text.write_text(text)
        told = tool("tw-compile", build.text, *options, "-o", library, "--explain=json")
        build.choices = [each["choice"] for each in json.loads(told[told.index("["):]) if each["decision"] == "contraction"]
        return library
    build.count = 0
    return build


@pytest.mark.parametrize("form", ["kn", "nk"])
@pytest.mark.parametrize("n", [N, 187])  # the last panel is filled up
@pytest.mark.parametrize("threads", [1, 2])
def test_numbers(form, n, threads, build, tool):
    """What is packed is in the file, once, and what it was packed of is not."""
    w, x = numbers((K, n)), numbers((M, K), 1)
    held = w if form == "kn" else np.ascontiguousarray(w.T)
    library = build(module(matmul("f", held, form)), "--threads", threads)
    assert build.choices[0]["bound_vectors"]
    assert np.array_equal(called(library, x, n), x @ w)  # sums of multiples of 1/64 are exact
    contents = library.read_bytes()
    assert held.tobytes() not in contents and len(contents) < 1.1 * w.nbytes + 40000
    build.count -= 1
    assert build(build.text.read_text(), "--threads", threads).read_bytes() == contents
    tool("tw-run", build.text, "--threads", threads, "--verify")


def test_bf16(build):
    """Whether it is packed depends on the units of the host; the numbers do not."""
    w, x = numbers((K, N)), numbers((M, K), 1)
    cut = lambda array: (array.view(np.uint32) >> 16).astype(np.uint16)  # exact
    library = build(module(matmul("f", cut(w), "kn", "bf16"), attributes=""))
    assert np.array_equal(called(library, cut(x), N), x @ w)


def test_shared(build):
    """What is packed of equal constants is there once; a constant that a sum reads in place as well stays beside it."""
    w, x = numbers((K, N)), numbers((M, K), 1)
    one = len(build(module(matmul("f", w, "kn"))).read_bytes())
    library = build(module(matmul("f", w, "kn"), matmul("g", w, "kn")))
    assert len(library.read_bytes()) < one + 20000
    for name in "fg":
        assert np.array_equal(called(library, x, N, name), x @ w)
    add = f"""  %q = linalg.generic {{indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>],
      iterator_types = ["parallel", "parallel"]}} ins(%p, %w : tensor<{K}x{N}xf32>, tensor<{K}x{N}xf32>) outs(%e : tensor<{K}x{N}xf32>) {{
  ^bb0(%a: f32, %b: f32, %c: f32):
    %r = arith.addf %a, %b : f32
    linalg.yield %r : f32
  }} -> tensor<{K}x{N}xf32>
"""
    library, square = build(module(matmul("f", w, "kn", m=K, more=add, result="%q"))), numbers((K, K), 2)
    assert np.array_equal(called(library, square, N), square @ w + w)
    assert w.tobytes() in library.read_bytes()


@pytest.mark.parametrize("attributes, target", [("tilewright.fold = false", "cpu:host"), ("tilewright.fold = true", "cpu:neoverse-v1")])
def test_packed_at_each_call(attributes, target, build):
    """Code that does not run here, and programs that say so, keep the constant as it is."""
    w, x = numbers((K, N)), numbers((M, K), 1)
    library = build(module(matmul("f", w, "kn"), attributes=attributes), "--target", target, end="o" if "neoverse" in target else "so")
    assert w.tobytes() in library.read_bytes() and not build.choices[0].get("bound_vectors")
    if target == "cpu:host":
        assert np.array_equal(called(library, x, N), x @ w)


def test_memory_and_time(tmp_path):
    """At most 1.5 x the constant's size of memory; in the full mode, at 268 MB, at least 300 MB/s of processor time."""
    small = numbers((K, N))
    (tmp_path / "f.mlir").write_text(module(matmul("f", small, "kn")))
    base = usage(tmp_path / "f.mlir", tmp_path)
    w = np.random.default_rng(0).standard_normal((8192, 8192) if FULL else (4096, 4096), np.float32)
    (tmp_path / "f.mlir").write_text(module(matmul("f", w, "kn")))
    samples = [usage(tmp_path / "f.mlir", tmp_path) for _ in range(5 if FULL else 1)]
    assert min(memory for _, memory in samples) - base[1] <= 1.5 * w.nbytes
    if FULL:
        assert w.nbytes / (min(seconds for seconds, _ in samples) - base[0]) >= 300e6
    contents = (tmp_path / "f.so").read_bytes()
    assert len(contents) < w.nbytes + 60000 and w[0].tobytes() not in contents
