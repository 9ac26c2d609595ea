"""Products whose one factor keeps two of four elements along k: found by access maps and the choice in the body, computed by
units that take an index (MI300X's SMFMAC, RX9070's SWMMAC, NVIDIA's mma.sp, which takes one of two of tf32, wgmma.sp of a
group of subgroups and tcgen05.mma.sp with its index in tensor memory), right on every chip without one too."""

import json

import numpy as np
import pytest

from conftest import BUILD, in_turn
from float8 import dtype
from lanes import ARCHITECTURES, PTXAS, emulate, kernels, report_without_spills, sites
from test_float8 import run, where

FLOATS = ("addf", "mulf", "extf", "f32", "0.0")
INTEGERS = ("addi", "muli", "extsi", "i32", "0")


@pytest.fixture(autouse=True)
def templates(monkeypatch):
    monkeypatch.setenv("TILEWRIGHT_TARGET_PATH", str(BUILD / "lib" / "tilewright"))


def program(m, n, k, kind, first=True, tail="", kept=2, group=4, mask=True, promise=True, across=False):
    """C[i, j] = sum of P[i, k / 4, s] mod 4 == k mod 4 ? A[i, k / 4, s] * B[j, k] : 0; not `first`: B is the sparse one;
    `across`: the dense one has k first."""
    add, multiply, extend, wide, zero = INTEGERS if kind == "i8" else FLOATS
    sparse, free, other = (m, "i", "j") if first else (n, "j", "i")
    dense = n if first else m
    groups, c = f"{sparse}x{k // group}x{kept}", f"tensor<{m}x{n}x{wide}>"
    maps = [f"{free}, k floordiv {group}, s", f"{free}, k floordiv {group}, s", f"k, {other}" if across else f"{other}, k", "i, j"]
    whole = f"{k}x{dense}" if across else f"{dense}x{k}"
    maps = ", ".join(f"affine_map<(i, j, k, s) -> ({each})>" for each in maps)
    promised = " {tilewright.ascending}" if promise else ""
    widened, factors = "", "%x, %y"
    if kind != wide:
        widened, factors = "".join(f"%{v}e = arith.{extend} %{v} : {kind} to {wide}\n" for v in "xy"), "%xe, %ye"
    place = f"%place = arith.andi %p, %mask : i8" if mask else "%place = arith.addi %p, %none : i8"
    return f"""
    func.func @f(%a: tensor<{groups}x{kind}>, %where: tensor<{groups}xi8>{promised}, %b: tensor<{whole}x{kind}>)
        -> {c} {{
      %z = arith.constant {zero} : {wide}
      %e = tensor.empty() : {c}
      %c = linalg.fill ins(%z : {wide}) outs(%e : {c}) -> {c}
      %r = linalg.generic {{indexing_maps = [{maps}], iterator_types = ["parallel", "parallel", "reduction", "reduction"]}}
          ins(%a, %where, %b : tensor<{groups}x{kind}>, tensor<{groups}xi8>, tensor<{whole}x{kind}>) outs(%c : {c}) {{
      ^bb0(%x: {kind}, %p: i8, %y: {kind}, %o: {wide}):
        %mask = arith.constant {group - 1} : i8
        %none = arith.constant 0 : i8
        {place}
        %k = linalg.index 2 : index
        %low = arith.index_cast %k : index to i8
        %wanted = arith.andi %low, %mask : i8
        %here = arith.cmpi eq, %place, %wanted : i8
        {widened}
        %product = arith.{multiply} {factors} : {wide}
        %chosen = arith.select %here, %product, %z : {wide}
        %sum = arith.{add} %o, %chosen : {wide}
        linalg.yield %sum : {wide}
      }} -> {c}{tail}
      return %{"relu" if tail else "r"} : {c}
    }}"""


def drawn(m, n, k, kind, first=True, kept=2, group=4):
    """Arrays, and the result with the size of its sums."""
    random = np.random.default_rng(11)
    sparse, dense = (m, n) if first else (n, m)
    shape = (sparse, k // group, kept)
    element = np.int8 if kind == "i8" else dtype(kind)
    values = [random.integers(-128, 128, size) if kind == "i8" else random.standard_normal(size) for size in (shape, (dense, k))]
    a, b = (each.astype(element) for each in values)
    places = np.sort(np.argsort(random.random((*shape[:2], group)), axis=2)[:, :, :kept], axis=2).astype(np.int8)
    whole = np.zeros((*shape[:2], group))
    np.put_along_axis(whole, places.astype(np.int64), a.astype(np.float64), axis=2)
    whole, wide = whole.reshape(sparse, k), b.astype(np.float64)
    exact, size = whole @ wide.T, abs(whole) @ abs(wide).T
    high = random.integers(0, 128 // group, places.shape).astype(np.int8) * group  # bits that say nothing
    return [a, places | high, b], (exact, size) if first else (exact.T, size.T)


def unit_of(text, target, tool, tmp_path, *options):
    path = tmp_path / "program.mlir"
    path.write_text(text)
    decisions = json.loads(tool("tw-compile", path, "--target", target, "--explain=json", *options))
    return [d["choice"]["unit"].partition(".")[2] for d in decisions if d["decision"] == "contraction"]


def of_groups(text):
    """With a unit that a group of subgroups issues."""
    return 'module attributes {tilewright.force = "group=4"} {' + text + "\n}"


def check(m, n, k, kind, target, tool, tmp_path, first=True, tail="", options=(), by_groups=False, across=False, **sparsity):
    arrays, (exact, size) = drawn(m, n, k, kind, first, **sparsity)
    arrays[2] = np.ascontiguousarray(arrays[2].T) if across else arrays[2]
    text = program(m, n, k, kind, first, tail, across=across, **sparsity)
    text = of_groups(text) if by_groups else text
    got = run(tool, tmp_path, text, arrays, [kind, "i8", kind], "i32" if kind == "i8" else "f32", *where(target), *options)
    exact = np.maximum(exact, 0) if tail else exact
    bound = 0 if kind == "i8" else (k + 2) * 2.0**-23 * size
    if "--fp=fast" in options:  # each factor as tf32, whose last bit is 2^-10
        bound += 2.1 * 2.0**-10 * size
    assert np.all(np.abs(got - exact) <= bound)
    return text


#: Sizes of one unit, of several with rests in m, n and k, and of k that is less than one.
EDGES = [(16, 16, 64), (64, 96, 256), (45, 70, 148), (33, 17, 36), (20, 24, 8)]


#: Types of elements, as the names of units say them.
UNITS = {"f16": "f16_f32", "bf16": "bf16_f32", "i8": "i8_i32", "f8E4M3FNUZ": "fp8_fp8_f32", "f8E5M2FNUZ": "bf8_bf8_f32"}


@pytest.mark.parametrize("kind, m, n, k", [("f16", *edge) for edge in EDGES] + [(kind, *EDGES[2]) for kind in list(UNITS)[1:]])
def test_a_unit_takes_an_index(kind, m, n, k, tool, tmp_path):
    text = check(m, n, k, kind, "amd:MI300X", tool, tmp_path)
    (unit,) = unit_of(text, "amd:MI300X", tool, tmp_path)
    assert unit.startswith("smfmac_cdna3_") and unit.endswith(UNITS[kind])


@pytest.mark.parametrize("kind, unit", [("f16", "f16_f32"), ("bf16", "bf16_f32"), ("i8", "i8_i32"), ("f8E4M3FN", "fp8_fp8_f32")])
def test_units_of_fewer_lanes(kind, unit, tool, tmp_path):
    text = check(*EDGES[2], kind, "amd:RX9070", tool, tmp_path)
    assert unit_of(text, "amd:RX9070", tool, tmp_path) == [f"swmmac_rdna4_{unit}"]


#: Where NVIDIA's units take two of four elements, of f32 as tf32 one of two, and their names.
NVIDIA = [("f16", "H200", "ordered_m16n8k32_f16_f32"), ("bf16", "B200", "ordered_m16n8k32_bf16_f32"), ("i8", "A100", "m16n8k64_i8_i32"),
          ("f8E4M3FN", "RTX4090", "m16n8k64_e4m3_f32"), ("f8E5M2", "RTX5090", "ordered_m16n8k64_e5m2_f32"),
          ("f32", "H200", "ordered_m16n8k16_tf32_f32"), ("f32", "A100", "m16n8k16_tf32_f32")]


@pytest.mark.parametrize("kind, chip, unit", NVIDIA)
def test_nvidia(kind, chip, unit, tool, tmp_path):
    target, options = f"nvidia:{chip}", ["--fp=fast"] if kind == "f32" else []
    sparsity = {"kept": 1, "group": 2} if kind == "f32" else {}
    text = check(*EDGES[2], kind, target, tool, tmp_path, options=options, **sparsity)
    assert unit_of(text, target, tool, tmp_path, *options) == [f"mma_sp_{unit}"]
    assert kind != "f32" or not unit_of(text, target, tool, tmp_path), "operands are rounded without --fp=fast"
    if PTXAS:
        code = tmp_path / "program.ptx"
        tool("tw-compile", tmp_path / "program.mlir", "--target", target, *options, "-o", code)
        variant = "::ordered_metadata" if unit.startswith("ordered") else ""
        assert f"mma.sp{variant}.sync.aligned." in code.read_text()
        report_without_spills(code, ARCHITECTURES[chip])


#: Tiles that are whole, and rests in m, n and k; of elements of 16 bits the dense factor also with rows along n.
GROUPS = [("f16", "H200", "k32_f16_f32", (128, 256, 256), False), ("f16", "H100", "k32_f16_f32", (200, 136, 224), True),
          ("bf16", "H100", "k32_bf16_f32", (72, 200, 160), False), ("i8", "H200", "k64_i8_i32", (200, 144, 288), False),
          ("f8E4M3FN", "H200", "k64_e4m3_f32", (128, 64, 256), False), ("f8E5M2", "H100", "k64_e5m2_f32", (96, 48, 416), False)]


@pytest.mark.parametrize("kind, chip, unit, sizes, across", GROUPS)
def test_units_of_groups(kind, chip, unit, sizes, across, tool, tmp_path):
    target = f"nvidia:{chip}"
    text = check(*sizes, kind, target, tool, tmp_path, by_groups=True, across=across)
    (name,) = unit_of(text, target, tool, tmp_path)
    assert name.startswith("wgmma_sp_m64n") and name.endswith(unit)
    if PTXAS:
        code = tmp_path / "program.ptx"
        tool("tw-compile", tmp_path / "program.mlir", "--target", target, "-o", code)
        assert f"wgmma.mma_async.sp.sync.aligned.{name.removeprefix('wgmma_sp_').partition('_')[0]}." in code.read_text()
        report_without_spills(code, ARCHITECTURES[chip])


#: The same of units that find the places in a memory of the block.
BLOCKS = [("f16", "k32_f16_f32", (128, 256, 256), False), ("bf16", "k32_bf16_f32", (200, 136, 224), True),
          ("i8", "k64_i8_i32", (200, 144, 288), False), ("f8E4M3FN", "k64_e4m3_f32", (256, 64, 256), False),
          ("f8E5M2", "k64_e5m2_f32", (96, 48, 416), False), ("f16", "k32_f16_f32", (300, 72, 208), False)]


@pytest.mark.parametrize("kind, unit, sizes, across", BLOCKS)
def test_units_of_a_block(kind, unit, sizes, across, tool, tmp_path):
    text = check(*sizes, kind, "nvidia:B200", tool, tmp_path, by_groups=True, across=across)
    (name,) = unit_of(text, "nvidia:B200", tool, tmp_path)
    assert name.startswith("tcgen05_sp_m128n") and name.endswith(unit)
    if PTXAS:
        code = tmp_path / "program.ptx"
        tool("tw-compile", tmp_path / "program.mlir", "--target", "nvidia:B200", "-o", code)
        ptx = code.read_text()
        variant = "f16" if unit.startswith("k32") else "i8" if kind == "i8" else "f8f6f4"
        assert ptx.count(f"tcgen05.mma.sp.cta_group::1.kind::{variant} ") >= 2 and "tcgen05.cp.cta_group::1.128x128b " in ptx
        report_without_spills(code, ARCHITECTURES["B200"])


@pytest.mark.parametrize("kind, tile", in_turn(["f16", "i8"], [
    "block_m=128,block_n=64,stages=2", "block_m=256,block_n=32", "block_m=256,block_n=96,subgroups_m=1",
    "block_m=128,block_n=32,persistent_blocks=2,stages=2"]))
def test_units_of_a_block_in_every_order(kind, tile, tool, tmp_path):
    """One and two units of a group, two groups, several tiles of a block; rests in m, n and k; and the launch that packs places."""
    path, (m, n, k) = tmp_path / "program.mlir", (300, 100, 352)
    path.write_text(of_groups(program(m, n, k, kind)).replace("group=4", f"group=4,{tile}"))
    report = emulate(tool, path, "nvidia:B200", "--modes")
    places, product = kernels(report)
    rows, steps = int(tile.partition(",")[0].removeprefix("block_m=")), -(-k // (64 if kind == "f16" else 128))
    # Of images of 16 bytes a row: what a step takes, once.
    assert sum(site["bytes"] for site in sites(places, writes=True)) == -(-m // rows) * rows * steps * (8 if kind == "f16" else 16)
    assert sum(each["issues"] for each in product["units"] if "tcgen05_sp_" in each["unit"]) > 0
    tool("tw-run", path, *where("nvidia:B200"), "--prove=require")


def test_a_unit_of_a_block_takes_the_second_factor_and_an_epilogue(tool, tmp_path):
    text = check(64, 256, 192, "f16", "nvidia:B200", tool, tmp_path, first=False, by_groups=True)
    assert unit_of(text, "nvidia:B200", tool, tmp_path)[0].startswith("tcgen05_sp_")
    text = check(64, 48, 256, "f16", "nvidia:B200", tool, tmp_path, tail=RELU, by_groups=True)
    assert unit_of(text, "nvidia:B200", tool, tmp_path)[0].startswith("tcgen05_sp_")


def test_a_group_takes_the_second_factor_and_an_epilogue(tool, tmp_path):
    text = check(64, 192, 192, "f16", "nvidia:H200", tool, tmp_path, first=False, by_groups=True)
    assert unit_of(text, "nvidia:H200", tool, tmp_path)[0].startswith("wgmma_sp_")
    text = check(64, 48, 256, "f16", "nvidia:H200", tool, tmp_path, tail=RELU, by_groups=True)
    assert unit_of(text, "nvidia:H200", tool, tmp_path)[0].startswith("wgmma_sp_")


def test_the_second_factor_may_be_the_sparse_one(tool, tmp_path):
    text = check(48, 80, 128, "f16", "amd:MI300X", tool, tmp_path, first=False)
    (unit,) = unit_of(text, "amd:MI300X", tool, tmp_path)
    assert unit.startswith("smfmac_")


RELU = """
      %re = tensor.empty() : tensor<64x48xf32>
      %relu = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>],
          iterator_types = ["parallel", "parallel"]} ins(%r : tensor<64x48xf32>) outs(%re : tensor<64x48xf32>) {
      ^bb0(%x: f32, %o: f32):
        %zero = arith.constant 0.0 : f32
        %0 = arith.maximumf %x, %zero : f32
        linalg.yield %0 : f32
      } -> tensor<64x48xf32>"""


def test_an_epilogue(tool, tmp_path):
    text = check(64, 48, 256, "f16", "amd:MI300X", tool, tmp_path, tail=RELU)
    path = tmp_path / "program.mlir"
    path.write_text(text)
    decisions = json.loads(tool("tw-compile", path, "--target", "amd:MI300X", "--explain=json"))
    assert [d["fused_steps"] for d in decisions if d["decision"] == "contraction"] == [1]


def test_what_is_not_kept_is_not_multiplied(tool, tmp_path):
    """An infinity that no element of A stands for is none in C."""
    arrays, (exact, size) = drawn(32, 32, 64, "f16")
    arrays[1] = (np.arange(2, dtype=np.int8) + np.zeros_like(arrays[1])).astype(np.int8)
    arrays[2][:, 3::4] = np.inf
    got = run(tool, tmp_path, program(32, 32, 64, "f16"), arrays, ["f16", "i8", "f16"], "f32", *where("amd:MI300X"))
    whole = np.zeros((32, 16, 4))
    whole[:, :, :2] = arrays[0]
    dense = np.where(np.isinf(arrays[2]), 0, arrays[2]).astype(np.float64)
    exact = whole.reshape(32, 64) @ dense.T
    assert np.all(np.abs(got - exact) <= 66 * 2.0**-23 * (abs(whole.reshape(32, 64)) @ abs(dense).T))


@pytest.mark.parametrize("target", ["cpu:host", "nvidia:T4", "amd:MI350", "accelerator:npu"])
def test_chips_without_such_units(target, tool, tmp_path):
    check(20, 24, 32, "f16", target, tool, tmp_path)


@pytest.mark.parametrize("kept, group, mask, promise", [(1, 4, True, True), (2, 8, True, True), (2, 4, False, True), (2, 4, True, False)])
def test_what_no_unit_takes(kept, group, mask, promise, tool, tmp_path):
    """Other numbers of elements, places that are compared with all of their bits, and places that may be equal."""
    text = program(32, 32, 64, "f16", kept=kept, group=group, mask=mask, promise=promise)
    assert not unit_of(text, "amd:MI300X", tool, tmp_path)
    if (kept, group) != (2, 4):
        check(16, 16, 32, "f16", "amd:MI300X", tool, tmp_path, kept=kept, group=group)


@pytest.mark.parametrize("target, sizes, by_groups", [("amd:MI300X", (64, 64, 256), False), ("amd:MI300X", (45, 70, 148), False),
                                                      ("nvidia:H200", (45, 70, 148), False), ("nvidia:H200", (128, 72, 224), True)])
def test_every_order_of_lanes_and_the_proof(target, sizes, by_groups, tool, tmp_path):
    path = tmp_path / "program.mlir"
    path.write_text(of_groups(program(*sizes, "f16")) if by_groups else program(*sizes, "f16"))
    tool("tw-run", path, *where(target), "--verify", "--modes")
    tool("tw-run", path, *where(target), "--prove=require")


@pytest.mark.parametrize("target, unit, size", [("amd:MI300X", "smfmac_cdna3_16x16_f16_f32", 16 * 16 * 32),
                                                ("nvidia:H200", "mma_sp_ordered_m16n8k32_f16_f32", 16 * 8 * 32),
                                                ("nvidia:H200", "wgmma_sp_m64n32k32_f16_f32", 64 * 32 * 32)])
def test_counts_are_those_of_the_plan(target, unit, size, tool, tmp_path):
    """Half of the issues of the dense product, the places read beside the elements, no bank conflicts."""
    path, by_groups = tmp_path / "program.mlir", unit.startswith("wgmma")
    path.write_text(of_groups(program(256, 256, 512, "f16")) if by_groups else program(256, 256, 512, "f16"))
    (kernel,) = json.loads(tool("tw-run", path, *where(target), "--json"))["emulation"]["kernels"]
    plan, memories = kernel["predicted"], {each["memory"]: each for each in kernel["memories"]}
    assert plan["unit"].endswith(f".{unit}")
    assert [each["issues"] for each in kernel["units"]] == [plan["unit_issues"]] == [256 * 256 * 512 // size]
    assert memories["global"]["read_bytes"] == plan["global_read_bytes"]
    assert memories["shared"]["read_bytes"] == plan["scratchpad_read_bytes"]
    assert memories["shared"]["written_bytes"] == plan["scratchpad_written_bytes"]
    begin = plan["blocks"] if by_groups else 0  # one of each block, after its barrier objects
    assert (kernel["barriers"], memories["shared"]["conflict_cycles"]) == (plan["barriers"] + begin, 0)


@pytest.mark.parametrize("target, unit, least, most", [("amd:MI300X", "smfmac", 0.5, 0.6), ("nvidia:RTX5090", "mma_sp", 0.5, 0.6),
                                                       ("nvidia:H200", "wgmma_sp", 0.9, 0.99), ("nvidia:B200", "tcgen05_sp", 1.0, 1.15)])
def test_time_of_a_large_product(target, unit, least, most, tool, tmp_path):
    """In the plans: half, where what multiplies half as often and reads half of A is not bound by anything else; on H200 reads
    of B bind it, and on B200 the memory of accumulators has no room for the dense tile beside places (docs/quantisation.md)."""
    size, seconds = 4096, {}
    dense = f"""func.func @f(%a: tensor<{size}x{size}xf16>, %b: tensor<{size}x{size}xf16>, %c: tensor<{size}x{size}xf32>) -> tensor<{size}x{size}xf32> {{
      %r = linalg.matmul ins(%a, %b : tensor<{size}x{size}xf16>, tensor<{size}x{size}xf16>) outs(%c : tensor<{size}x{size}xf32>)
          -> tensor<{size}x{size}xf32>
      return %r : tensor<{size}x{size}xf32>
    }}"""
    for name, text in (("dense", dense), ("sparse", program(size, size, size, "f16"))):
        path = tmp_path / f"{name}.mlir"
        path.write_text(text)
        decisions = json.loads(tool("tw-compile", path, "--target", target, "--explain=json"))
        (choice,) = [d["choice"] for d in decisions if d["decision"] == "contraction"]
        seconds[name] = choice["seconds"]
    assert choice["unit"].partition(".")[2].startswith(unit), choice["unit"]
    assert least <= seconds["sparse"] / seconds["dense"] <= most, seconds


def test_the_contract_of_sums_in_order(tool, tmp_path):
    assert not unit_of(program(32, 32, 64, "f16"), "amd:MI300X", tool, tmp_path, "--fp=strict")
