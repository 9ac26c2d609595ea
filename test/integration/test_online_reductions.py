# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Chains of dependent reductions in steps of their common dimension: forced steps of every size against float64."""

import re
import subprocess

import numpy as np
import pytest

from conftest import BUILD, FULL
from random_chains import Chain
from test_chains import attention, attention_in_float64, contraction, run_scheduled


def soft_max_product(n, d):
    """The product of soft-max of given scores and values."""
    square, t = f"tensor<2x{n}x{n}xf32>", f"tensor<2x{n}x{d}xf32>"
    kinds = ("parallel", "parallel", "parallel", "reduction")
    return f"""
func.func @f(%scores: {square}, %v: {t}) -> {t} {{
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : {square}
  %weights = linalg.softmax dimension(2) ins(%scores : {square}) outs(%e : {square}) -> {square}
{contraction("out", (("%weights", square), ("%v", t)), (2, n, d),
             ("(h, i, d, j) -> (h, i, j)", "(h, i, d, j) -> (h, j, d)", "(h, i, d, j) -> (h, i, d)"), kinds)}
  return %out : {t}
}}
"""


@pytest.mark.parametrize("step", range(1, 33) if FULL else [1, 6, 20])
@pytest.mark.parametrize("cuts, members", [((1, 1), 1), ((2, 6), 2)] + [((2,), 2)] * FULL)
def test_attention_in_steps(tool, tmp_path, cuts, members, step):
    """Steps that divide the keys and steps that do not, in whole and smaller tiles of rows, of one and two threads."""
    random = np.random.default_rng(step)
    inputs = [4 * random.standard_normal((3, 20, 24), dtype=np.float32) for _ in range(3)]
    got = run_scheduled(tool, tmp_path, attention(3, 20, 24), "attention", inputs, cuts, members, step=step)
    np.testing.assert_allclose(got, attention_in_float64(*inputs), rtol=2e-4, atol=2e-5)


@pytest.mark.parametrize("passes", [("sink-factors",), ("sink-factors", "share-arrays")])
def test_attention_in_steps_after_other_passes(tool, tmp_path, passes):
    random = np.random.default_rng(3)
    inputs = [random.standard_normal((3, 20, 24), dtype=np.float32) for _ in range(3)]
    got = run_scheduled(tool, tmp_path, attention(3, 20, 24), "attention", inputs, (2, 6), 2, passes=passes, step=6)
    np.testing.assert_allclose(got, attention_in_float64(*inputs), rtol=2e-5, atol=2e-6)


def narrow_inputs(element, shape, seed=3):
    """Values of f16 or bf16, as they are stored and as they are."""
    random = np.random.default_rng(seed)
    values = [random.standard_normal(shape, dtype=np.float32) for _ in range(3)]
    if element == "f16":
        stored = [each.astype(np.float16) for each in values]
        return stored, [each.astype(np.float64) for each in stored]
    bits = [(each.view(np.uint32) >> 16).astype(np.uint16) for each in values]
    return bits, [(each.astype(np.uint32) << 16).view(np.float32).astype(np.float64) for each in bits]


@pytest.mark.parametrize("element, error", [("f16", 1e-3), ("bf16", 1e-2)])
@pytest.mark.parametrize("step", [6, 20] if FULL else [6])
def test_narrow_weights(tool, tmp_path, element, error, step):
    """Weights are rounded before they are divided: at most one in f16, of the range of f32 in bf16."""
    stored, values = narrow_inputs(element, (3, 20, 24))
    got = run_scheduled(tool, tmp_path, attention(3, 20, 24, element), "attention", stored, (2, 6), 2, step=step)
    np.testing.assert_allclose(got, attention_in_float64(*values), rtol=error, atol=error)


def run_plain(tool, tmp_path, text, function, inputs):
    (tmp_path / "plain.mlir").write_text(text)
    arguments = []
    for i, value in enumerate(inputs):
        np.save(tmp_path / f"plain{i}.npy", value)
        arguments += ["--input", tmp_path / f"plain{i}.npy"]
    tool("tw-run", tmp_path / "plain.mlir", "--function", function, *arguments, "--output", tmp_path / "plain.npy")
    return np.load(tmp_path / "plain.npy")


@pytest.mark.parametrize("passes", [(), ("sink-factors", "share-arrays")])
@pytest.mark.parametrize("step", [3, 8] if FULL else [3])
def test_unusual_scores(tool, tmp_path, step, passes):
    """Rows whose scores are -inf in the first steps, in all, or in some; NaN; 3e38 and -3e38; and NaN and inf among the
    values: as without steps, and as float64 has it."""
    n, d = 20, 4
    random = np.random.default_rng(step)
    v = random.standard_normal((2, n, d)).astype(np.float32)
    scores = random.standard_normal((2, n, n)).astype(np.float32)
    scores[0, 1, :10] = scores[0, 2] = -np.inf
    scores[0, 3, 7] = np.nan
    scores[0, 4, ::2], scores[0, 4, 1::2] = 3e38, -3e38
    scores[0, 5] = -3e38
    scores[0, 6, 12] = np.inf
    scores[0, 7, 19] = 3e38
    v[0, 2, 1], v[0, 3, 2] = np.nan, np.inf
    text = soft_max_product(n, d)
    got = run_scheduled(tool, tmp_path, text, "f", [scores, v], (1, 20), 1, passes=passes, step=step)
    with np.errstate(all="ignore"):
        s = scores.astype(np.float64)
        p = np.exp(s - np.fmax.reduce(s, axis=-1, keepdims=True))
        expected = np.einsum("hij,hjd->hid", p, v.astype(np.float64)) / p.sum(axis=-1, keepdims=True)
    np.testing.assert_allclose(got, expected, rtol=2e-5, atol=2e-6)
    np.testing.assert_allclose(got, run_plain(tool, tmp_path, text, "f", [scores, v]), rtol=2e-5, atol=2e-6)


REFUSALS = re.compile(r"more than 4 in|a weighted square of one in|or of a distance from a mean in|"
                      r"no two sum over the same one|a product of distances from two means|"
                      r"an exponential of an exponential|the tile does not touch it")


def test_random_chains(tool, tmp_path):
    """Chains from the splitter's rules, in steps and tiles of all sizes: right, or refused for one of the reasons that
    such chains have; and few are refused."""
    count, refused = (2000 if FULL else 24), 0
    for seed in range(count):
        chain = Chain(seed, length=(7, 12, 20)[seed % 3])
        step, tile = seed % chain.length + 1, seed % 5 + 1
        (tmp_path / "chain.mlir").write_text(chain.module(step, tile))
        arguments = []
        for name, value in [*chain.inputs.items(), ("o", np.zeros_like(chain.expected, np.float32))]:
            np.save(tmp_path / f"{name}.npy", value)
            arguments += ["--input", tmp_path / f"{name}.npy"]
        done = subprocess.run([BUILD / "bin/tw-run", tmp_path / "chain.mlir", "--function", "f", *arguments, "--output",
                               tmp_path / "out.npy"], capture_output=True, text=True, check=False)
        if done.returncode:
            assert REFUSALS.search(done.stderr), f"chain {seed}: {done.stderr}"
            refused += 1
            continue
        got = np.load(tmp_path / "out.npy")
        wrong = ~(np.abs(got - chain.expected) <= 4e-6 * chain.most + 1e-6)
        assert not wrong.any(), f"chain {seed}: {got[wrong]}, expected {chain.expected[wrong]}"
    assert refused < 0.3 * count
