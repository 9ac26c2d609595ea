# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Chains of contractions in the registers of subgroups: one launch, no array in memory between them, results as float64;
chains that must stay apart."""

import itertools
import json
import re
import subprocess

import numpy as np
import pytest

from conftest import FULL, in_turn
from lanes import PTXAS
from test_chains import attention, attention_in_float64, narrow, two_products
from test_masks import in_float64, inputs, masked_attention


def program(tmp_path, heads, tokens, features, element):
    path = tmp_path / "attention.mlir"
    sizes = f"tensor<{heads}x{tokens}x{features}x"
    text = attention(heads, tokens, features, element)
    head, tail = text.rsplit("  return", 1)
    rounded = narrow("rounded", "%out", (heads, tokens, features), element)
    path.write_text(f"{head}{rounded}\n  return{tail}".replace(f"-> {sizes}f32> {{\n  %zero", f"-> {sizes}{element}> {{\n  %zero")
                    .replace(f"return %out : {sizes}f32>", f"return %rounded : {sizes}{element}>"))
    return path


def decisions(tool, path, chip, *options):
    return json.loads(tool("tw-compile", path, "--target", chip, "-o", path.with_suffix(".ll"), "--explain=json", *options))


@pytest.mark.parametrize("chip, sizes", in_turn(["nvidia:H200", "nvidia:A100", "nvidia:T4", "amd:MI300X", "amd:MI350"],
                                                [(2, 128, 64), (1, 64, 128)]))
def test_attention_is_one_launch(tool, tmp_path, chip, sizes):
    transposed = chip.startswith("amd")
    heads, tokens, features = sizes
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
    decided = decisions(tool, path, chip)
    names = [each["decision"] for each in decided]
    assert names.count("tile-program") == 1 and "row-program" not in names and "contraction" not in names
    kernel, = counters["emulation"]["kernels"]
    near = next(each for each in kernel["memories"] if each["memory"] != "global")
    # Copies that CDNA's lanes transpose meet in banks where rows have 128 elements.
    assert near["conflict_cycles"] <= (0.15 if transposed else 0) * near["cycles"]
    plan = next(each for each in decided if each["decision"] == "tile-program")["choice"]
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


def run(tool, tmp_path, text, chip, inputs):
    """The result, which tw-run finds the same in every mode, and what each kernel did in the first."""
    (tmp_path / "p.mlir").write_text(text)
    arguments = []
    for i, value in enumerate(inputs):
        np.save(tmp_path / f"{i}.npy", value)
        arguments += ["--input", tmp_path / f"{i}.npy"]
    said = tool("tw-run", tmp_path / "p.mlir", "--target", chip, "--device", "emulator", "--modes", "--json", *arguments,
                "--output", tmp_path / "out.npy")
    return np.load(tmp_path / "out.npy"), json.loads(said)["emulation"]["kernels"]


@pytest.mark.parametrize("chip", ["nvidia:H200", "amd:MI300X"])
def test_sums_that_others_see_are_kept_until_they_are_whole(tool, tmp_path, chip):
    """Products that are added up in f32 for the caller: each element is written once."""
    heads, tokens, features = 2, 128, 64
    arrays = inputs(heads, tokens, features, np.float16)
    got, kernels = run(tool, tmp_path, masked_attention(heads, tokens, features, "causal", "f16"), chip, arrays)
    np.testing.assert_allclose(got, in_float64(*arrays, "causal"), rtol=4e-3, atol=4e-3)
    kernel, = kernels
    memory = next(each for each in kernel["memories"] if each["memory"] == "global")
    assert memory["written_bytes"] == heads * tokens * features * 4


@pytest.mark.parametrize("chip", ["nvidia:H200", "amd:MI300X"])
@pytest.mark.parametrize("rows", [1, 5])
def test_fewer_rows_than_a_unit_has(tool, tmp_path, chip, rows):
    arrays = inputs(160, rows, 32, np.float16, keys=64)
    got, kernels = run(tool, tmp_path, masked_attention(160, rows, 32, "none", "f16", 64, narrow_result=True), chip, arrays)
    np.testing.assert_allclose(got, in_float64(*arrays, "none"), rtol=4e-3, atol=4e-3)
    assert len(kernels) == 1


@pytest.mark.parametrize("chip, mask, rows", [
    (chip, mask, rows) for i, chip in enumerate(["nvidia:H200", "amd:MI300X"])
    for j, mask in enumerate(["none", "from a key on", "every second 64 keys"]) for k, rows in enumerate([1, 4])
    if FULL or (i + j + k) % 2 == 0])
def test_one_query_against_many_keys(tool, tmp_path, chip, mask, rows):
    """Blocks of their own compute parts of the sums, a second launch puts them together; also parts that a mask leaves without
    a key."""
    arrays = inputs(2, rows, 64, np.float16, keys=512)
    got, kernels = run(tool, tmp_path, masked_attention(2, rows, 64, mask, "f16", 512, narrow_result=True), chip, arrays)
    np.testing.assert_allclose(got, in_float64(*arrays, mask), rtol=4e-3, atol=4e-3)
    assert len(kernels) == 2
    chain = next(each for each in decisions(tool, tmp_path / "p.mlir", chip) if each["decision"] == "schedule-chain")["choice"]
    assert chain["parts"] > 1 and kernels[0]["blocks"] == 2 * chain["parts"]


def test_strict_sums_stay_apart(tool, tmp_path):
    names = [each["decision"] for each in decisions(tool, program(tmp_path, 1, 128, 64, "f16"), "nvidia:H200", "--fp=strict")]
    assert "tile-program" not in names and "contraction" not in names  # units add several products at a time


def test_sizes_that_no_tile_divides(tool, tmp_path):
    """197 tokens, as of pictures in patches: one launch with smaller last tiles and steps."""
    path = program(tmp_path, 1, 197, 64, "f16")
    names = [each["decision"] for each in decisions(tool, path, "nvidia:H200")]
    assert "tile-program" in names and "contraction" not in names
    tool("tw-run", path, "--target", "nvidia:H200", "--device", "emulator", "--verify", "--modes")


@pytest.mark.parametrize("chip", ["nvidia:H200", "nvidia:T4", "amd:MI300X"])
def test_no_order_of_lanes_and_copies_matters(tool, tmp_path, chip):
    """Stages are awaited, and free before the next copy into them."""
    tool("tw-run", program(tmp_path, 1, 128, 64, "f16"), "--target", chip, "--device", "emulator", "--verify", "--modes")


@pytest.mark.parametrize("chip", ["nvidia:H200", "amd:MI300X"])
def test_two_products_in_a_row(tool, tmp_path, chip):
    """Whatever the model takes is right."""
    (tmp_path / "p.mlir").write_text(two_products(64, 64, 64, 64))
    tool("tw-run", tmp_path / "p.mlir", "--target", chip, "--device", "emulator", "--verify")


def chosen(tool, path, chip="nvidia:H200"):
    return next(each for each in decisions(tool, path, chip) if each["decision"] == "tile-program")["choice"]


@pytest.mark.parametrize("tokens, features, rows", [(192, 80, 64), (200, 128, 64), (128, 32, 64), (16, 64, 16)])
def test_units_of_a_group_of_subgroups(tool, tmp_path, tokens, features, rows):
    """Keys and values in lines that the unit reads, weights from registers; fewer rows than half a unit's take another unit."""
    arrays = inputs(2, tokens, features, np.float16, keys=192)
    text = masked_attention(2, tokens, features, "none", "f16", 192, narrow_result=True)
    got, kernels = run(tool, tmp_path, text, "nvidia:H200", arrays)
    np.testing.assert_allclose(got, in_float64(*arrays, "none"), rtol=4e-3, atol=4e-3)
    plan = chosen(tool, tmp_path / "p.mlir")
    assert plan["subgroups_of_unit"] == (4 if rows == 64 else 1) and (plan["unit"].endswith("_a")) == (rows == 64)
    kernel, = kernels
    assert next(each for each in kernel["memories"] if each["memory"] != "global")["conflict_cycles"] == 0


@pytest.mark.parametrize("mask, tokens, features, rows, step, stages, blocks", [
    ("causal", 640, 128, 128, 64, 2, 0), ("none", 512, 64, 256, 32, 4, 0), ("none", 384, 64, 128, 64, 4, 2), ("none", 384, 128, 128, 128, 2, 5),
    *([("none", 512, 128, 128, 128, 3, 0), ("causal", 512, 64, 256, 64, 3, 0)] if FULL else [])])
def test_members_take_turns(tool, tmp_path, mask, tokens, features, rows, step, stages, blocks):
    """The units of one member work while the lanes of the others do, in two or four members, one loop or two, and in blocks that take one
    tile after the other, of which the last ones have fewer; in every order of lanes and copies."""
    heads = 2 if blocks else 1  # blocks that go on need tiles of several heads
    arrays = inputs(heads, tokens, features, np.float16)
    text = masked_attention(heads, tokens, features, mask, "f16", narrow_result=True)
    head, body = text.split("func.func", 1)
    force = f"chain_rows={rows},chain_step={step},chain_stages={stages},chain_turns=1,chain_persistent={blocks}"
    text = f'{head}module attributes {{tilewright.force = "{force}"}} {{\nfunc.func{body}\n}}\n'
    got, _ = run(tool, tmp_path, text, "nvidia:H200", arrays)
    np.testing.assert_allclose(got, in_float64(*arrays, mask), rtol=4e-3, atol=4e-3)
    plan = chosen(tool, tmp_path / "p.mlir")
    assert plan["in_turns"] and plan["stages"] == stages and plan["persistent_blocks"] == blocks, plan
    tool("tw-compile", tmp_path / "p.mlir", "--target", "nvidia:H200", "-o", tmp_path / "p.ptx")
    events = re.findall(r"wgmma\.(?:mma_async|fence|commit_group|wait_group)|bar\.(?:sync|arrive)|mbarrier\.try_wait",
                        (tmp_path / "p.ptx").read_text())
    runs = [kind for kind, _ in itertools.groupby(events)]
    units = [i for i, kind in enumerate(runs) if kind == "wgmma.mma_async"]
    # Behind the fence of registers either the turn begins or goes on; units that lanes go on with give it away once they are issued.
    assert all(runs[i - 1] in ("bar.sync", "wgmma.fence") for i in units), runs
    assert sum(runs[i + 1: i + 3] == ["wgmma.commit_group", "bar.arrive"] for i in units) == len(units) // 2, runs


@pytest.mark.parametrize("mask, share", [("none", 0.70), ("causal", 0.60)])
def test_modelled_share_of_the_matrix_unit(tool, tmp_path, mask, share):
    """Of the clocks that the plan expects, those in which the unit multiplies what counts, where blocks fill the chip. The model
    was fitted to a chip (tile-program-groups.md)."""
    heads, tokens, features = 33, 8192, 128
    path = program(tmp_path, heads, tokens, features, "f16")
    if mask != "none":
        path.write_text(masked_attention(heads, tokens, features, mask, "f16", narrow_result=True))
    plan = chosen(tool, path)
    products = 2 * heads * tokens * features * (tokens if mask == "none" else (tokens + 1) / 2)
    records = json.loads(tool("tw-targets", "nvidia:H200", "--json"))
    unit = next(each for each in records["units"] if each["name"] == plan["unit"])
    blocks = next(each for each in records["levels"] if each["name"] == "grid")["count"]
    clocks = products / (unit["m"] * unit["n"] * unit["k"]) * unit["issue"] / blocks
    assert clocks / (plan["seconds"] * records["clockMHz"] * 1e6) >= share


@pytest.mark.skipif(not PTXAS, reason="ptxas is not installed")
@pytest.mark.parametrize("element", ["f16", "bf16"])
def test_units_of_a_group_stay_asynchronous(tool, tmp_path, element):
    """No spill, and no message that ptxas puts units one after the other (C75xx)."""
    path, ptx = program(tmp_path, 8, 4096, 128, element), tmp_path / "p.ptx"
    tool("tw-compile", path, "--target", "nvidia:H200", "-o", ptx)
    assert "wgmma.mma_async" in ptx.read_text() and "mma.sync" not in ptx.read_text()
    done = subprocess.run([PTXAS, "-v", "--gpu-name=sm_90a", str(ptx), "-o", str(tmp_path / "p.cubin")], capture_output=True,
                          text=True)
    assert done.returncode == 0 and "C75" not in done.stderr, done.stderr
    assert "bytes spill" in done.stderr and " 0 bytes spill stores, 0 bytes spill loads" in done.stderr, done.stderr
