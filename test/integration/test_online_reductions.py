# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Chains of dependent reductions in steps of their common dimension: forced steps of every size against float64."""

import json
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


class Norm(Chain):
    """The product of rows less their mean, over their standard deviation, and v."""

    def write(self):
        self.inputs["x"] = (self.inputs["x"] + np.float32(1e4)).astype(np.float32)
        x, row = "memref<5x20xf32>", "memref<5xf32>"
        load_x = f"%x1 = affine.load %x[%i, %j] : {x}"
        distance = [load_x, f"%m = affine.load %m0[%i] : {row}", "%n = arith.subf %x1, %m : f32"]
        share = "%c = arith.constant 0.05 : f32"

        def lines(*before):
            return lambda into: into.extend(before) or before[-1].split()[0]

        self.reduce("%r0", "addf", lines(load_x))
        self.nest("i", [f"%s = affine.load %r0[%i] : {row}", share, "%e = arith.mulf %s, %c : f32",
                        f"affine.store %e, %m0[%i] : {row}"])
        self.reduce("%r1", "addf", lines(*distance, "%e = arith.mulf %n, %n : f32"))
        self.nest("i", [f"%s = affine.load %r1[%i] : {row}", share, "%e = arith.mulf %s, %c : f32",
                        "%f = math.rsqrt %e : f32", f"affine.store %f, %m1[%i] : {row}"])
        self.nest("ij", [*distance, f"%f = affine.load %m1[%i] : {row}", "%e = arith.mulf %n, %f : f32",
                         f"affine.store %e, %p[%i, %j] : {x}"])
        self.reduce("%o", "addf", lines(f"%e1 = affine.load %p[%i, %j] : {x}", "%v1 = affine.load %v[%j, %d] : memref<20x6xf32>",
                                        "%e = arith.mulf %e1, %v1 : f32"), loops="idj", index="%i, %d", shape="5x6")
        rows = self.inputs["x"].astype(np.float64)
        rows = (rows - rows.mean(axis=1, keepdims=True)) / rows.std(axis=1, keepdims=True)
        self.expected = rows @ self.inputs["v"].astype(np.float64)


@pytest.mark.parametrize("step, tile", [(1, 5), (6, 2), (20, 3)])
def test_squares_do_not_cancel(tmp_path, step, tile):
    """Values of 1e4 with a deviation of one: squares of the values themselves would leave nothing of it in f32."""
    chain = Norm(1, 20)
    got = run_chain(tmp_path, chain, step, tile)
    np.testing.assert_allclose(got, chain.expected, rtol=2e-3, atol=2e-2)


def test_explain_prints_states_and_certificate(tool, tmp_path):
    (tmp_path / "chain.mlir").write_text(Norm(1, 20).module(5, 2))
    text = tool("tw-compile", tmp_path / "chain.mlir", "-o", tmp_path / "chain.ll", "--explain=json")
    chain = next(each for each in json.loads(text) if each["decision"] == "dependent-reductions")
    assert chain["inputs"]["iterations"] == 20 and chain["choice"]["step"] == 5
    assert [state["rank"] for state in chain["choice"]["states"]] == [1, 3, 2]
    assert chain["choice"]["states"][2]["certificate"].endswith("* <a4[i]> at mean a2[i]")


REFUSALS = re.compile(r"more than 4 in|an exponential beside one in|or of a distance from a mean in|"
                      r"no two sum over the same one|a product of distances from two means|"
                      r"an exponential of an exponential|arith.maximumf of what depends on a result|"
                      r"the tile does not touch it")


def run_chain(folder, chain, step, tile):
    """The result; None with the reason in `chain.reason` where it is refused."""
    (folder / "chain.mlir").write_text(chain.module(step, tile))
    arguments = []
    for name, value in [*chain.inputs.items(), ("o", np.zeros_like(chain.expected, np.float32))]:
        np.save(folder / f"{name}.npy", value)
        arguments += ["--input", folder / f"{name}.npy"]
    done = subprocess.run([BUILD / "bin/tw-run", folder / "chain.mlir", "--function", "f", *arguments, "--output",
                           folder / "out.npy"], capture_output=True, text=True, check=False)
    chain.reason = done.stderr
    return None if done.returncode else np.load(folder / "out.npy")


def test_random_chains(tmp_path):
    """Chains from the splitter's rules, in steps and tiles of all sizes: right, or refused for one of the reasons that
    such chains have; and few are refused."""
    count, refused = (2000 if FULL else 24), 0
    for seed in range(count):
        chain = Chain(seed, length=(7, 12, 20)[seed % 3])
        step, tile = seed % chain.length + 1, seed % 5 + 1
        got = run_chain(tmp_path, chain, step, tile)
        if got is None:
            assert REFUSALS.search(chain.reason), f"chain {seed}: {chain.reason}"
            refused += 1
            continue
        wrong = ~(np.abs(got - chain.expected) <= 4e-6 * chain.most + 1e-6)
        assert not wrong.any(), f"chain {seed}: {got[wrong]}, expected {chain.expected[wrong]}"
    assert refused < 0.3 * count


@pytest.mark.parametrize("step", [16, 48])
def test_one_query(tool, tmp_path, step):
    """A single row for each head."""
    random = np.random.default_rng(step)
    q, k, v = (random.standard_normal((3, n, 24), dtype=np.float32) for n in (1, 100, 100))
    got = run_scheduled(tool, tmp_path, attention(3, 1, 24, keys=100), "attention", [q, k, v], (1,), 2, step=step)
    np.testing.assert_allclose(got, attention_in_float64(q, k, v), rtol=2e-5, atol=2e-6)
