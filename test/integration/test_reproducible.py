# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""--fp=reproducible: the same bits on all chips, for all tiles and numbers of threads, and those of the order that fix-sums
documents, which NumPy adds up here."""

import json
import pathlib

import numpy as np
import pytest

from breadth import convolutions, stencils, structured, tosa
from conftest import BUILD, FULL
from random_chains import Chain
from test_lane_columns import layer_norm_product, rms_product, swiglu

#: Targets that compute everything in the order of the program.
HOSTS = [["--target", f"cpu:{chip}"] for chip in ("x86-64-v3", "host")]
OTHERS = [["--target", chip, "--device", "emulator"] for chip in ("nvidia:H200", "amd:MI300X")] + [
    ["--load-target", BUILD / "lib/tilewright/libtilewright-target-accelerator.so", "--target", "accelerator:npu", "--device", "emulator"]]


def bits(tool, tmp_path, text, arrays, *options):
    (tmp_path / "p.mlir").write_text(text)
    arguments = []
    for i, value in enumerate(arrays):
        np.save(tmp_path / f"{i}.npy", value)
        arguments += ["--input", tmp_path / f"{i}.npy"]
    tool("tw-run", tmp_path / "p.mlir", "--fp=reproducible", *options, *arguments, "--output", tmp_path / "out.npy")
    return np.load(tmp_path / "out.npy")


def row_sum(m, k):
    return f"""#id = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (i)>
func.func @f(%x: tensor<{m}x{k}xf32>) -> tensor<{m}xf32> {{
  %one = arith.constant 1.0 : f32
  %e = tensor.empty() : tensor<{m}xf32>
  %i = linalg.fill ins(%one : f32) outs(%e : tensor<{m}xf32>) -> tensor<{m}xf32>
  %s = linalg.generic {{indexing_maps = [#id, #row], iterator_types = ["parallel", "reduction"]}}
    ins(%x : tensor<{m}x{k}xf32>) outs(%i : tensor<{m}xf32>) {{
    ^bb0(%a: f32, %o: f32):
      %d = arith.addf %o, %a : f32
      linalg.yield %d : f32
  }} -> tensor<{m}xf32>
  return %s : tensor<{m}xf32>
}}
"""


def product(m, k, n):
    return f"""
func.func @f(%x: tensor<{m}x{k}xf32>, %w: tensor<{k}x{n}xf32>) -> tensor<{m}x{n}xf32> {{
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<{m}x{n}xf32>
  %i = linalg.fill ins(%zero : f32) outs(%e : tensor<{m}x{n}xf32>) -> tensor<{m}x{n}xf32>
  %y = linalg.matmul ins(%x, %w : tensor<{m}x{k}xf32>, tensor<{k}x{n}xf32>) outs(%i : tensor<{m}x{n}xf32>) -> tensor<{m}x{n}xf32>
  return %y : tensor<{m}x{n}xf32>
}}
"""


def in_documented_order(x):
    """The sum of each row: 16 partial sums, added in pairs of halves, and what the result held."""
    m, k = x.shape
    partial = np.zeros((m, 16), np.float32)
    for t in range(k // 16):
        partial += x[:, 16 * t:16 * t + 16]
    rest = k % 16
    partial[:, :rest] += x[:, k - rest:]
    while partial.shape[1] > 1:
        half = partial.shape[1] // 2
        partial = partial[:, :half] + partial[:, half:]
    return np.float32(1) + partial[:, 0]


def fused_in_order(x, w):
    """fma(x, w, sum), one after the other: exact products of f32 in f64, rounded once to f64 and then to f32."""
    y = np.zeros((x.shape[0], w.shape[1]), np.float32)
    for k in range(x.shape[1]):
        y = (y.astype(np.float64) + x[:, k:k + 1].astype(np.float64) * w[k:k + 1].astype(np.float64)).astype(np.float32)
    return y


@pytest.mark.parametrize("k", [17, 64, 333])
def test_rows_are_summed_in_the_documented_order(tool, tmp_path, k):
    x = np.random.default_rng(k).standard_normal((9, k)).astype(np.float32)
    sequential = np.ones(9, np.float32)
    for j in range(k):
        sequential += x[:, j]
    expected = in_documented_order(x) if k >= 32 else sequential
    for target in [*HOSTS, [*HOSTS[1], "--threads", "3"], *OTHERS]:
        np.testing.assert_array_equal(bits(tool, tmp_path, row_sum(9, k), [x], *target), expected, err_msg=str(target))


@pytest.mark.parametrize("m, k, n", [(37, 65, 50), (1, 200, 70), (64, 96, 1)])
def test_products_are_fused_in_order(tool, tmp_path, m, k, n):
    """Also of one row, and of one column, whose sum runs along rows."""
    random = np.random.default_rng(m)
    x, w = random.standard_normal((m, k)).astype(np.float32), random.standard_normal((k, n)).astype(np.float32)
    got = [bits(tool, tmp_path, product(m, k, n), [x, w], *target)
           for target in [*HOSTS, [*HOSTS[1], "--threads", "3"], *OTHERS]]
    for each in got[1:]:
        np.testing.assert_array_equal(each, got[0])
    if m > 1 and n > 1:
        np.testing.assert_array_equal(got[0], fused_in_order(x, w))


NORMS = {"rms": (rms_product, 3), "layer norm": (layer_norm_product, 4)}


@pytest.mark.parametrize("name", [*NORMS, "swiglu"])
def test_chains_have_the_same_bits_everywhere(tool, tmp_path, name):
    m, k, n = 24, 160, 48
    if name == "swiglu":
        text, shapes = swiglu(m, k, n, 40, "f16"), [(m, k), (k, n), (k, n), (n, 40)]
    else:
        norm, count = NORMS[name]
        text, shapes = norm(m, k, n, "f16"), [(m, k), *[(k,)] * (count - 2), (k, n)]
    random = np.random.default_rng(7)
    arrays = [random.standard_normal(shape).astype(np.float16) for shape in shapes]
    got = [bits(tool, tmp_path, text, arrays, *target)
           for target in [*HOSTS, *([*HOSTS[1], "--threads", threads] for threads in "23"), *OTHERS]]
    assert np.isfinite(got[0].astype(np.float32)).all()
    for each in got[1:]:
        np.testing.assert_array_equal(each, got[0])


def test_random_chains_have_the_same_bits(tool, tmp_path):
    """Reductions that read each other, on all targets and numbers of threads."""
    for seed in range(200 if FULL else 6):
        chain = Chain(seed, length=(12, 40, 100)[seed % 3])
        arrays = [*chain.inputs.values(), np.zeros_like(chain.expected, np.float32)]
        got = [bits(tool, tmp_path, chain.module(), arrays, "--function", "f", *target)
               for target in [*HOSTS, [*HOSTS[1], "--threads", "2"], *OTHERS]]
        for each in got[1:]:
            np.testing.assert_array_equal(each, got[0], err_msg=f"chain {seed}")
        wrong = ~(np.abs(got[0] - chain.expected) <= 4e-6 * chain.most + 1e-6)
        assert not wrong.any(), f"chain {seed}: {got[0][wrong]}, expected {chain.expected[wrong]}"


#: Sums over several loops, in f64, of dynamic sizes, on top of what the result held: each was in another order somewhere.
SUMS = {"linalg.matmul-f64", "linalg.mmt4d-f32", "linalg.reduce-add-[0, 1, 2]-True", "linalg.conv_1d_nwc_wcf",
        "linalg.conv_2d_nchw_fchw"}
PROGRAMS = {case.name: case for module in (structured, convolutions, stencils, tosa) for case in module.cases() if not case.long}


@pytest.mark.parametrize("name", [name for i, name in enumerate(PROGRAMS) if FULL or name in SUMS or i % 150 == 0])
def test_operations_have_the_same_bits(tool, tmp_path, name):
    case = PROGRAMS[name]
    (tmp_path / "p.mlir").write_text(case.text)
    arguments, got = [], []
    for i, tensor in enumerate(case.inputs):
        tensor.save(tensor.path(tmp_path, f"in{i}"))
        arguments += ["--input", tensor.path(tmp_path, f"in{i}")]
    paths = [tensor.path(tmp_path, f"out{i}") for i, tensor in enumerate(case.outputs)]
    for path in paths:
        arguments += ["--output", path]
    for target in [*HOSTS, [*HOSTS[1], "--threads", "2"], *OTHERS[:2]]:
        tool("tw-run", tmp_path / "p.mlir", "--fp=reproducible", *target, *arguments)
        got.append([path.read_bytes() for path in paths])
    assert all(each == got[0] for each in got)


def test_names_are_those_of_programs():
    assert SUMS <= set(PROGRAMS)


def test_cost_of_the_order_is_explained(tool):
    """The seconds of each nest under both contracts, and of the program: their sum. The product of pairs of bf16 takes longer."""
    program = pathlib.Path(__file__).resolve().parents[2] / "examples/feed-forward-bf16.mlir"
    arguments = ["tw-compile", program, "--target", "cpu:zen4", "--explain=json"]
    costs = [each for each in json.loads(tool(*arguments, "--fp=reproducible")) if each["decision"] == "contract-cost"]
    *nests, whole = costs
    assert whole["location"] == "program" and whole["inputs"] == {"contract": "reproducible"}
    for seconds in (lambda each: each["choice"]["seconds"], lambda each: each["default_seconds"]):
        assert sum(map(seconds, nests)) == pytest.approx(seconds(whole))
    assert whole["factor"] == pytest.approx(whole["choice"]["seconds"] / whole["default_seconds"]) and whole["factor"] > 1.5
    assert not any(each["decision"] == "contract-cost" for each in json.loads(tool(*arguments)))
    said = (program.parents[1] / "docs/floating-point.md").read_text().split("| tail -4\n")[1].split("```")[0]
    assert tool(*arguments[:-1], "--fp=reproducible", "--explain").endswith(said)
