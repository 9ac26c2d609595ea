# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Chains of contractions in the registers of subgroups: one launch, no array in memory between them, results as float64;
chains that must stay apart."""

import json
import sys

import numpy as np
import pytest

from conftest import SOURCE
from test_chains import attention_in_float64, two_products

sys.path.append(str(SOURCE / "test/gpu"))
import programs as gpu_programs  # noqa: E402


def program(tmp_path, heads, tokens, features, element):
    path = tmp_path / "attention.mlir"
    path.write_text(gpu_programs.attention({"heads": heads, "m": tokens, "n": features, "type": element}))
    return path


def decisions(tool, path, chip, *options):
    said = tool("tw-compile", path, "--target", chip, "-o", path.with_suffix(".ll"), "--explain=json", *options)
    return json.loads(said)["decisions"] if said.lstrip().startswith("{") else json.loads(said)


@pytest.mark.parametrize("chip, transposed", [("nvidia:H200", False), ("nvidia:A100", False), ("nvidia:T4", False),
                                          ("amd:MI300X", True), ("amd:MI350", True)])
@pytest.mark.parametrize("heads, tokens, features", [(2, 128, 64), (1, 64, 128)])
def test_attention_is_one_launch(tool, tmp_path, chip, transposed, heads, tokens, features):
    random = np.random.default_rng(tokens)
    inputs = [random.standard_normal((heads, tokens, features)).astype(np.float16) for _ in range(3)]
    path = program(tmp_path, heads, tokens, features, "f16")
    arguments = []
    for i, value in enumerate(inputs):
        np.save(tmp_path / f"{i}.npy", value)
        arguments += ["--input", tmp_path / f"{i}.npy"]
    said = tool("tw-run", path, "--target", chip, "--device", "emulator", "--json", *arguments, "--output", tmp_path / "out.npy")
    counters = json.loads(said)
    np.testing.assert_allclose(np.load(tmp_path / "out.npy"), attention_in_float64(*inputs), rtol=4e-3, atol=4e-3)
    names = [each["decision"] for each in decisions(tool, path, chip)]
    assert names.count("tile-program") == 1 and "row-program" not in names and "contraction" not in names
    kernel, = counters["emulation"]["kernels"]
    near = next(each for each in kernel["memories"] if each["memory"] != "global")
    # Copies that CDNA's lanes transpose meet in banks where rows have 128 elements.
    assert near["conflict_cycles"] <= (0.15 if transposed else 0) * near["cycles"]
    plan = next(each for each in decisions(tool, path, chip) if each["decision"] == "tile-program")["choice"]
    assert plan["rows_are_columns"] == transposed


def test_keys_and_values_come_once_for_each_block(tool, tmp_path):
    """What lies between the products is never in memory."""
    tokens, features = 256, 64
    path = program(tmp_path, 1, tokens, features, "f16")
    run = json.loads(tool("tw-run", path, "--target", "nvidia:H200", "--device", "emulator", "--json"))
    chain = next(each for each in decisions(tool, path, "nvidia:H200") if each["decision"] == "schedule-chain")["choice"]
    kernel, = run["emulation"]["kernels"]
    array = tokens * features * 2
    blocks = tokens // chain["tile"]
    assert kernel["blocks"] == blocks and chain["step"] < tokens
    memory = next(each for each in kernel["memories"] if each["memory"] == "global")
    assert memory["written_bytes"] == array
    assert memory["read_bytes"] == array + 2 * blocks * array


def test_strict_sums_stay_apart(tool, tmp_path):
    names = [each["decision"] for each in decisions(tool, program(tmp_path, 1, 128, 64, "f16"), "nvidia:H200", "--fp=strict")]
    assert "tile-program" not in names and names.count("contraction") == 2


def test_sizes_that_no_tile_divides_stay_apart(tool, tmp_path):
    """197 tokens, as of pictures in patches; the result is right all the same."""
    path = program(tmp_path, 1, 197, 64, "f16")
    names = [each["decision"] for each in decisions(tool, path, "nvidia:H200")]
    assert "tile-program" not in names
    tool("tw-run", path, "--target", "nvidia:H200", "--device", "emulator", "--verify")


@pytest.mark.parametrize("chip", ["nvidia:H200", "amd:MI300X"])
def test_two_products_in_a_row(tool, tmp_path, chip):
    """Whatever the model takes is right."""
    (tmp_path / "p.mlir").write_text(two_products(64, 64, 64, 64))
    tool("tw-run", tmp_path / "p.mlir", "--target", chip, "--device", "emulator", "--verify")
