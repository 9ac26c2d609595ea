"""What the emulator counts for compiled kernels: no bank conflicts, whole sectors, and what the cost model predicted."""

import json
import re
import subprocess

import pytest

from conftest import BUILD, FULL, SOURCE, some
from lane_texts import TAILS, convolution, product
from lanes import CHIPS, PRODUCTS, emulate, kernels, memory, with_chips


@pytest.mark.parametrize("chip, case", some(with_chips(PRODUCTS, each=2)))
def test_product(chip, case, tool, tmp_path):
    kind, trans_a, trans_b = case
    path = tmp_path / "mm.mlir"
    path.write_text(product(kind, 128, 128, 128, trans_a, trans_b))
    report = emulate(tool, path, chip)
    kernel = next(k for k in kernels(report) if k["units"])
    predicted = kernel["predicted"]
    pad, far = memory(kernel, "scratchpad"), memory(kernel, "global")
    assert pad["conflict_cycles"] == 0, [s for s in kernel["sites"] if s.get("conflict_cycles")]
    # Copies take whole sectors of global memory.
    copies = [s for s in kernel["sites"] if s["memory"] == "global" and not s["writes"]]
    assert sum(s["transactions"] for s in copies) * 32 <= 1.05 * sum(s["bytes"] for s in copies)
    # What the tile program says.
    assert far["read_bytes"] == predicted["global_read_bytes"]
    assert pad["written_bytes"] == predicted["scratchpad_written_bytes"]
    assert kernel["blocks"] == predicted["blocks"]
    units = kernel["units"]
    assert [u["unit"] for u in units] == [predicted["unit"]]
    assert units[0]["issues"] == predicted["unit_issues"] and units[0]["issue_cycles"] == predicted["unit_issue_cycles"]
    issued = kernel["instructions"]
    assert issued["memory"] > sum(s["executions"] for s in kernel["sites"] if s["memory"] == "global") > 0  # and those of fragments
    assert issued["synchronise"] > 0 and issued["control"] > 0


#: Products of which every byte that blocks ask for is counted: m, n, k, batch, and a plan (tilewright.force, as far as a chip
#: has it). In order: tiles of one unit; odd; batched; split; fragments of 32 x 32 or of 128 lanes, of several units each.
COUNTED = [(128, 128, 32, None, ""), (101, 75, 64, None, ""), (47, 61, 40, 3, ""), (32, 32, 4096, None, ""),
           (128, 256, 64, None, "block_m=128,block_n=128"), (130, 132, 128, None, "block_m=128,block_n=128")]
TAILED = [(kind, tail, *sizes) for sizes in COUNTED for kind in ("f16", "bf16", "f32", "f64", "i8") for tail in TAILS[1:]
          if (kind[0] != "i" or tail != "gelu") and (kind in ("f16", "bf16") or not sizes[-1])]
ALL_LANES = [*CHIPS, "amd:RX7900", "amd:MI250", "amd:MI350", "nvidia:B200"]
RINGS = [("nvidia:H200", "f16", tail, 200, 136, 128, None, f"group=4,block_m=128,block_n=128,cluster={cluster}")
         for tail in TAILS for cluster in (1, 2)]
TAILED = ([(chip, *case) for case in TAILED for chip in ALL_LANES if (chip, case[0]) != ("nvidia:T4", "bf16")] + RINGS if FULL else
          [(ALL_LANES[i % len(ALL_LANES)], *case) for i, case in enumerate(TAILED) if i % 10 == 0] + RINGS[2:6:3] +
          [("amd:MI300X", "f64", "none", 101, 75, 64, None, ""), ("amd:MI300X", "f16", "gelu", 128, 256, 64, None, COUNTED[4][4]),
           ("nvidia:H100", "f16", "residual", 128, 128, 128, None, "")])


@pytest.mark.parametrize("chip, kind, tail, m, n, k, batch, force", TAILED)
def test_every_byte_is_predicted(chip, kind, tail, m, n, k, batch, force, tool, tmp_path):
    """What a block reads, its tail among it, and what it writes: the tile program says the very numbers."""
    path = tmp_path / "mm.mlir"
    path.write_text(f'module attributes {{tilewright.force = "{force}"}} {{\n{product(kind, m, n, k, batch=batch, tail=tail)}}}')
    counted = [each for each in kernels(emulate(tool, path, chip)) if each["units"]]
    assert counted
    for kernel in counted:
        predicted, far, pad = kernel["predicted"], memory(kernel, "global"), memory(kernel, "scratchpad")
        assert (far["read_bytes"], far["written_bytes"], pad["read_bytes"], pad["written_bytes"]) == tuple(
            predicted[name] for name in ("global_read_bytes", "global_written_bytes", "scratchpad_read_bytes",
                                         "scratchpad_written_bytes"))


#: Chips of one vendor whose copies turn tiles of 8-bit elements, and sizes whose tiles the model chooses differently; types, with
#: "tf32" f32 under --fp=fast.
TURNING = ["nvidia:T4", "nvidia:RTX4090", "nvidia:A100", "nvidia:H100", "nvidia:B200", "nvidia:RTX5090"]
KINDS = ["i8", "f8E5M2", "f8E4M3FN", "f16", "bf16", "f32", "tf32", "f64"]
TURNED_SIZES = [(128, 128, 128), (256, 512, 128), (64, 96, 1024)]
TURNED = [(kind, a, b, sizes) for sizes in TURNED_SIZES for kind in KINDS for a in (False, True) for b in (False, True)]
TURNED = ([(chip, *case) for chip in TURNING for case in TURNED] if FULL else
          [("nvidia:T4", "i8", True, False, (128, 128, 128)), ("nvidia:RTX4090", "i8", False, False, (256, 512, 128)),
           ("nvidia:RTX4090", "f8E5M2", True, True, (256, 512, 128)), ("nvidia:H100", "f8E4M3FN", True, False, (128, 128, 128)),
           ("nvidia:A100", "tf32", True, True, (128, 128, 128)), ("nvidia:RTX5090", "i8", True, True, (64, 96, 1024))])


@pytest.mark.parametrize("chip, kind, trans_a, trans_b, sizes", TURNED)
def test_main_loops_meet_in_no_bank(chip, kind, trans_a, trans_b, sizes, tool, tmp_path):
    """Nor do copies that turn bytes: the swizzle keeps both rows of a load and rows of a write apart."""
    path = tmp_path / "mm.mlir"
    path.write_text(product("f32" if kind == "tf32" else kind, *sizes, trans_a, trans_b))
    report = emulate(tool, path, chip, *(["--fp=fast"] if kind == "tf32" else []))
    for kernel in kernels(report):
        assert [s for s in kernel["sites"] if s["conflict_cycles"]] == []


def test_copies_past_the_registers_meet_in_no_bank(tool, tmp_path):
    """Fragments of f32 are read 4 bytes at a time: pieces of 16 bytes cannot keep those apart, so lanes copy such tiles."""
    path = tmp_path / "conv.mlir"
    path.write_text(convolution("nhwc", "f32", 2, 2, 2, 0, taps=1))
    for kernel in kernels(emulate(tool, path, "amd:MI350")):
        assert all(m["conflict_cycles"] == 0 for m in kernel["memories"]), kernel["sites"]


@pytest.mark.parametrize("chip", CHIPS if FULL else ["amd:RX9070"])
def test_sums_of_few_tiles_are_split(chip, tool, tmp_path):
    """One tile of C and a long sum: blocks share the sum, another kernel adds their parts up. Not where the order of a sum
    is part of the contract: there is one kernel then, and no unit that adds several products at once."""
    path = tmp_path / "mm.mlir"
    path.write_text(product("f16", 32, 32, 16384 if FULL else 4096))
    split, whole = (kernels(emulate(tool, path, chip, "--modes", f"--fp={fp}")) for fp in ("default", "strict"))
    (parts,) = (kernel for kernel in split if kernel["units"])
    assert parts["blocks"] >= 8 and len(split) > len(whole)
    assert not any(kernel["units"] for kernel in whole)


@pytest.mark.parametrize("chip, kind, trans_b", [("nvidia:H100", "f16", True), ("nvidia:H200", "bf16", False)])
def test_product_through_a_ring(chip, kind, trans_b, tool, tmp_path):
    """The compiler takes units that read the scratchpad by itself; tiles and multicasts are counted as predicted."""
    path = tmp_path / "mm.mlir"
    path.write_text(product(kind, 512, 640, 512, trans_b=trans_b))
    (kernel,) = kernels(emulate(tool, path, chip))
    predicted = kernel["predicted"]
    pad, far = memory(kernel, "scratchpad"), memory(kernel, "global")
    assert predicted["unit"].startswith("nvidia.wgmma_m64n")
    assert [(u["unit"], u["issues"]) for u in kernel["units"]] == [(predicted["unit"], predicted["unit_issues"])]
    assert far["read_bytes"] == predicted["global_read_bytes"]
    assert pad["written_bytes"] == predicted["scratchpad_written_bytes"]
    assert pad["read_bytes"] == predicted["scratchpad_read_bytes"]
    assert kernel["blocks"] == predicted["blocks"]
    # Tiles that arrive, units that read them, and f32 results that lanes write for an engine.
    sites = [s for s in kernel["sites"] if s["memory"] != "global"]
    assert any(s["op"].startswith("nvidia.wgmma") for s in sites) and any(s["op"] == "llvm.store" for s in sites)
    assert sum(s["conflict_cycles"] for s in sites) == 0, sites
    copies = [s for s in kernel["sites"] if s["memory"] == "global" and not s["writes"]]
    assert sum(s["transactions"] for s in copies) * 32 <= 1.05 * sum(s["bytes"] for s in copies)


#: What a product is forced to; C as rows of 128 bytes, of 64 (blocks of 16 columns) and of 32, and sizes that clip the last.
RESULTS = [("group=4", dict(kind="f16", m=200, n=144, k=208)), ("group=4", dict(kind="bf16", m=97, n=52, k=264, trans_b=True)),
           ("group=4,block_m=256,block_n=128", dict(kind="f16", m=264, n=132, k=136, trans_b=True, tail="residual")),
           ("group=4,block_n=256", dict(kind="f16", m=136, n=260, k=136, tail="gelu")),
           ("group=4,block_n=96", dict(kind="f16", m=192, n=96, k=264, batch=2)),
           ("group=4,block_n=16", dict(kind="f16", m=192, n=20, k=264, trans_b=True)),
           ("group=4,block_n=128", dict(kind="i8", m=131, n=76, k=272, trans_b=True)),
           ("group=4,block_n=32", dict(kind="f8E4M3FN", m=131, n=76, k=272, trans_b=True)),
           ("group=4,block_n=128", dict(kind="f8E5M2", m=70, n=148, k=400, trans_b=True)),
           # Results of 2 bytes and of 1, which fill the banks in any order.
           ("group=4,block_n=128", dict(kind="f16", m=136, n=136, k=136, tail="narrow")),
           ("group=4,block_n=16", dict(kind="bf16", m=192, n=24, k=264, trans_b=True, tail="narrow")),
           ("group=4,block_n=128", dict(kind="f8E4M3FN", m=70, n=144, k=272, trans_b=True, tail="narrow")),
           ("group=4,block_n=64", dict(kind="i8", m=70, n=80, k=272, trans_b=True, tail="narrow"))]


@pytest.mark.parametrize("force, case", some(RESULTS), ids=[f"{f}-{c['kind']}-{c.get('tail', 'none')}" for f, c in some(RESULTS)])
def test_results_of_rings_meet_in_no_bank(force, case, tool, tmp_path):
    """Results that lanes write for an engine, which prescribes where each element lies: right in every mode, each byte
    written once, in as many cycles of the banks as the bytes need."""
    path = tmp_path / "mm.mlir"
    path.write_text(f'module attributes {{tilewright.force = "{force}"}} {{ {product(**case)} }}')
    (kernel,) = [kernel for kernel in kernels(emulate(tool, path, "nvidia:H100", "--modes")) if kernel["units"]]
    assert "wgmma" in kernel["units"][0]["unit"]
    stores = [s for s in kernel["sites"] if s["memory"] != "global" and s["op"] == "llvm.store"]
    assert stores and [s for s in kernel["sites"] if s["conflict_cycles"]] == []
    if case.get("tail") == "residual":
        return  # lanes that checked rows of another array may come in parts
    narrow = {"i8": 1, "f8E4M3FN": 1}.get(case["kind"], 2)
    width = 2 * (narrow if case.get("tail") == "narrow" else 4)  # two neighbours, as a lane of each unit holds them
    for store in stores:
        assert store["bytes"] == 32 * width * store["executions"], store
        assert store["cycles"] == max(1, 32 * width // 128) * store["executions"], store


def test_the_command_of_the_readme():
    (command,) = re.findall(r"^for chip in .*--device emulator.*$", (SOURCE / "README.md").read_text(), re.M)
    done = subprocess.run(["bash", "-ec", command], capture_output=True, text=True, cwd=SOURCE,
                          env={"PATH": f"{BUILD / 'bin'}:/usr/bin:/bin"})
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("verify: output 0: largest error") == 2
    assert done.stdout.count("predicted: ") == 2
    met = re.findall(r"(\d+) of conflicts", done.stdout)
    assert len(met) == 4 and set(met) == {"0"}, done.stdout
    assert "nvidia.wgmma_" in done.stdout and "amd.mfma_" in done.stdout, done.stdout


#: A depthwise convolution with the channels last and first: its named operation has them as the last loop in both cases.
DEPTHWISE = {
    "nhwc_hwc": ("1x18x18x64xf32", "3x3x64xf32", "1x16x16x64xf32"),
    "nchw_chw": ("1x64x18x18xf32", "64x3x3xf32", "1x64x16x16xf32"),
}


@pytest.mark.parametrize("chip", CHIPS if FULL else ["nvidia:A100", "amd:MI300X"])
@pytest.mark.parametrize("layout", DEPTHWISE)
def test_lanes_run_along_memory(chip, layout, tool, tmp_path):
    """Whatever the order of the loops: at most twice the sectors that the bytes fill (rows begin anywhere)."""
    x, w, y = DEPTHWISE[layout]
    path = tmp_path / "depthwise.mlir"
    path.write_text(f"""func.func @f(%x: tensor<{x}>, %w: tensor<{w}>, %y: tensor<{y}>) -> tensor<{y}> {{
  %0 = linalg.depthwise_conv_2d_{layout} {{dilations = dense<1> : tensor<2xi64>, strides = dense<1> : tensor<2xi64>}}
    ins(%x, %w : tensor<{x}>, tensor<{w}>) outs(%y : tensor<{y}>) -> tensor<{y}>
  return %0 : tensor<{y}>
}}""")
    report = emulate(tool, path, chip)
    kernel = max(kernels(report), key=lambda each: memory(each, "global")["read_bytes"])
    far = memory(kernel, "global")
    assert far["transactions"] * 32 <= 2 * (far["read_bytes"] + far["written_bytes"])


def test_bounds_know_units_that_round_operands(tool, tmp_path):
    """tf32 units cut operands of f32 to 10 bits of mantissa: --verify allows for that where one is chosen, and only there."""
    path = tmp_path / "mm.mlir"
    path.write_text(product("f32", 128, 128, 1024, trans_b=True))
    fast, plain = (emulate(tool, path, "nvidia:A100", f"--fp={fp}") for fp in ("fast", "default"))
    (out,), (exact,) = (report["verify"]["outputs"] for report in (fast, plain))
    assert any("tf32" in unit["unit"] for kernel in kernels(fast) for unit in kernel["units"])
    assert out["max_error"] > 2 * exact["bound"], "cut operands would pass without"
    assert out["bound"] > 4 * exact["bound"]


#: Chip, type ("tf32": f32 with --fp=fast) and transpositions of products of 4096 cubed.
LARGE = [("nvidia:A100", "f16", False, False), ("nvidia:A100", "tf32", True, False), ("amd:MI300X", "i8", True, False), ("nvidia:H200", "bf16", False, True)]
if FULL:
    LARGE = [(chip, kind, a, b) for chip in [*CHIPS, "nvidia:H200", "nvidia:B200", "nvidia:RTX4090", "amd:MI250", "amd:MI350", "amd:RX7900"]
             for kind in KINDS for a in (False, True) for b in (False, True) if (chip, kind) != ("nvidia:T4", "bf16")]


def plan_of(tool, path, chip, *words):
    """What the model chooses for the contraction of a program."""
    decisions = json.loads(tool("tw-compile", path, "--target", chip, "-o", path.with_suffix(".ll"), "--explain=json", *words))
    return next(each["choice"] for each in decisions if each["decision"] == "contraction")


@pytest.mark.parametrize("chip, kind, trans_a, trans_b", LARGE)
def test_large_tiles_meet_in_no_bank(chip, kind, trans_a, trans_b, tool, tmp_path):
    """The tile that is chosen for a large product, in a product of one such tile (or of a cluster's) and a few steps."""
    path, words = tmp_path / "mm.mlir", ["--fp=fast"] if kind == "tf32" else []
    kind = "f32" if kind == "tf32" else kind
    path.write_text(product(kind, 4096, 4096, 4096, trans_a, trans_b))
    large = plan_of(tool, path, chip, *words)
    (rows, columns, depth), cluster = large["block"], large["cluster"]
    fields = {"block_m": rows, "block_n": columns, "block_k": depth, "cluster": cluster, "subgroups_m": large["subgroups"][0],
              "subgroups_n": large["subgroups"][1], **({"group": 4} if large["engine"] else {})}
    force = ",".join(f"{name}={value}" for name, value in fields.items())
    path.write_text(f'module attributes {{tilewright.force = "{force}"}} {{\n'
                    f'{product(kind, rows * cluster, columns, 5 * depth, trans_a, trans_b)}}}')
    small = plan_of(tool, path, chip, *words)
    same = ("block", "subgroups", "cluster", "engine")
    assert {name: small[name] for name in same} == {name: large[name] for name in same}
    if small["unit"] != large["unit"]:
        assert FULL, "CI's cases are those whose small product takes the same unit"
        pytest.skip(f"so small a product takes {small['unit']} instead of {large['unit']}")
    for kernel in kernels(emulate(tool, path, chip, *words)):
        met = [s for s in kernel["sites"] if s["conflict_cycles"]]
        assert met == [], "(of the main loop, or of results on their way through the scratchpad)"
        copies = [s for s in kernel["sites"] if s["memory"] == "global" and not s["writes"]]
        assert sum(s["transactions"] for s in copies) * 32 <= 1.05 * sum(s["bytes"] for s in copies), copies


@pytest.mark.parametrize("chip, kind, layout", [
    ("nvidia:H100", "bf16", "nchw"), ("amd:MI300X", "f16", "nhwc"), ("amd:MI350", "i8", "nhwc"),
    *([("nvidia:A100", "f16", "nhwc"), ("amd:RX9070", "f16", "nchw")] if FULL else [])])
def test_layer_of_a_residual_network(chip, kind, layout, tool, tmp_path):
    """56 x 56 points, 64 channels and filters of 3 x 3, in the tile that is chosen for it; in CI some rows of such an image."""
    path = tmp_path / "conv.mlir"
    path.write_text(convolution(layout, kind, 1, 1, 1, 1, channels=64, filters=64, points=(56, 56)))
    if not FULL:
        tile = plan_of(tool, path, chip)
        force = ",".join(f"block_{name}={size}" for name, size in zip("mnk", tile["block"]))
        some = convolution(layout, kind, 1, 1, 1, 1, channels=64, filters=64, points=(10, 56))
        path.write_text(f'module attributes {{tilewright.force = "{force}"}} {{ {some} }}')
        assert plan_of(tool, path, chip)["block"] == tile["block"]
    (kernel,) = [each for each in kernels(emulate(tool, path, chip)) if each["units"]]
    assert [s for s in kernel["sites"] if s["conflict_cycles"]] == []
    if layout == "nhwc":  # else rows of the image begin between sectors
        copies = [s for s in kernel["sites"] if s["memory"] == "global" and not s["writes"]]
        assert sum(s["transactions"] for s in copies) * 32 <= 1.05 * sum(s["bytes"] for s in copies), copies
