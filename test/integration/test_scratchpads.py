"""The template of a scratchpad chip at the size that its promise is about: how busy its unit is, and that the plan said so."""

import json
import subprocess

import pytest
from conftest import BUILD, FULL, SOURCE
from scratchpads import PLUGIN, gemm
from test_scratchpad_copies import product

SIZE = 1024


@pytest.mark.parametrize("element, queue, least", [("i8", 8, 0.92), ("bf16", 8, 0.92), *([("bf16", 0, 0.9)] if FULL else [])])
def test_the_unit_is_busy_and_the_plan_says_so(tool, tmp_path, element, queue, least):
    """Also where the unit's queue has few places (0: any): groups of commands alternate with rows of the tile before."""
    program = tmp_path / "mm.mlir"
    program.write_text(gemm(SIZE, SIZE, SIZE, element))
    common = [program, f"--load-target={PLUGIN}", "--target", f"accelerator:npu@units.systolic_*.queueDepth={queue}"]
    decisions = json.loads(tool("tw-compile", *common, "--explain=json"))
    plan = next(one for one in decisions if one["decision"] == "contraction")["choice"]
    report = json.loads(tool("tw-run", *common, "--device", "emulator", "--verify", "--json"))
    assert not report["emulation"]["findings"]
    kernel, = report["emulation"]["kernels"]
    engines = {engine["engine"]: engine["busy_cycles"] for engine in kernel["engines"]}
    busy = engines["unit"] / kernel["cycles"]
    assert kernel["cycles"] / 4 == pytest.approx(plan["clocks"], rel=0.1)
    assert busy == pytest.approx(plan["busy"], rel=0.1)
    assert busy >= least


#: m, n, k, element type, and a plan (tilewright.force). Whole tiles, edges of all three sizes, more steps than slices.
COUNTED = [(128, 128, 128, "i8", ""), (200, 96, 320, "bf16", ""), (130, 144, 48, "i8", "tile_m=64,tile_n=32,tile_k=32"),
           (72, 40, 1000, "bf16", "tile_m=32,tile_k=64"), (256, 64, 64, "bf16", "stages=2")]


@pytest.mark.parametrize("m, n, k, element, force", COUNTED)
def test_every_byte_and_issue_is_predicted(tool, tmp_path, m, n, k, element, force):
    """The counts of the tile program are those of the emulator, with the bias that is read for each slice of rows. Around steps of few
    commands there are up to 60 instructions, of which the plan counts 40."""
    program = tmp_path / "mm.mlir"
    _, alias, function = gemm(m, n, k, element).split("\n", 2)
    program.write_text(f'{alias}\nmodule attributes {{tilewright.force = "{force}"}} {{\n{function}\n}}')
    report = json.loads(tool("tw-run", program, f"--load-target={PLUGIN}", "--target", "accelerator:npu", "--device", "emulator",
                             "--verify", "--json"))
    kernel, = report["emulation"]["kernels"]
    predicted = kernel["predicted"]
    far = next(memory for memory in kernel["memories"] if memory["memory"] == "global")
    unit, = kernel["units"]
    assert (far["read_bytes"], far["written_bytes"], kernel["blocks"]) == tuple(
        predicted[name] for name in ("global_read_bytes", "global_written_bytes", "blocks"))
    assert (unit["unit"], unit["issues"], unit["issue_cycles"]) == tuple(
        predicted[name] for name in ("unit", "unit_issues", "unit_issue_cycles"))
    assert 0.8 <= predicted["seconds"] / (kernel["cycles"] / kernel["blocks"] / 1e9) <= 1.1


def test_what_the_epilogue_writes_over_does_not_leave(tool, tmp_path):
    """Bias and ReLU in the place of the product: two copies of one result would leave in no order."""
    program = tmp_path / "mm.mlir"
    program.write_text("""#ij = affine_map<(i, j) -> (i, j)>
func.func @mm(%a: tensor<256x128xbf16>, %b: tensor<128x192xbf16>, %bias: tensor<192xf32>) -> tensor<256x192xf32> {
  %z = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<256x192xf32>
  %f = linalg.fill ins(%z : f32) outs(%e : tensor<256x192xf32>) -> tensor<256x192xf32>
  %p = linalg.matmul ins(%a, %b : tensor<256x128xbf16>, tensor<128x192xbf16>) outs(%f : tensor<256x192xf32>) -> tensor<256x192xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(i, j) -> (j)>, #ij], iterator_types = ["parallel", "parallel"]}
      ins(%bias : tensor<192xf32>) outs(%p : tensor<256x192xf32>) {
    ^bb0(%y: f32, %x: f32):
      %s = arith.addf %x, %y : f32
      %t = arith.maximumf %s, %z : f32
      linalg.yield %t : f32
  } -> tensor<256x192xf32>
  return %r : tensor<256x192xf32>
}""")
    report = json.loads(tool("tw-run", program, f"--load-target={PLUGIN}", "--target", "accelerator:npu", "--device", "emulator",
                             "--verify", "--json"))
    assert not report["emulation"]["findings"], report["emulation"]["findings"]
    kernel, = report["emulation"]["kernels"]
    far = next(memory for memory in kernel["memories"] if memory["memory"] == "global")
    assert far["written_bytes"] == 256 * 192 * 4


def test_forced_tiles_that_are_no_powers_of_two(tool, tmp_path):
    """The vectors of the tail stay powers of two, so that none reaches behind its row."""
    program = tmp_path / "mm.mlir"
    _, alias, function = gemm(160, 192, 80, "i8").split("\n", 2)
    program.write_text(f'{alias}\nmodule attributes {{tilewright.force = "tile_n=96"}} {{\n{function}\n}}')
    common = [program, f"--load-target={PLUGIN}", "--target", "accelerator:npu"]
    decisions = json.loads(tool("tw-compile", *common, "--explain=json"))
    assert next(one for one in decisions if one["decision"] == "contraction")["choice"]["tile"][1] == 96
    report = json.loads(tool("tw-run", *common, "--device", "emulator", "--verify", "--json"))
    assert not report["emulation"]["findings"], report["emulation"]["findings"]


def test_two_builds_beside_each_other(tmp_path):
    """scripts/emulated-clocks.py finds other clocks and other bytes of global memory."""
    folder, saved = tmp_path / "programs", tmp_path / "counts.json"
    folder.mkdir()
    (folder / "mm.mlir").write_text(gemm(64, 64, 64, "i8"))

    def compare(before, *options):
        done = subprocess.run([SOURCE / "scripts/emulated-clocks.py", before, BUILD, "--keep", folder, *options], capture_output=True,
                              text=True)
        return done.returncode, done.stdout

    assert compare(BUILD, "--save", saved) == (0, "1 programs, 0 with other clocks; mean of after / before 1.0000, from 1.000 to 1.000\n")
    counts = json.loads(saved.read_text())
    counts["mm"]["clocks"] *= 0.9
    saved.write_text(json.dumps(counts))
    status, text = compare(saved)
    assert status == 1 and "1.111  mm" in text
    counts["mm"].update(clocks=counts["mm"]["clocks"] / 0.9, bytes=[[0, 0]])
    saved.write_text(json.dumps(counts))
    status, text = compare(saved)
    assert status == 1 and "mm: bytes [[0, 0]] before" in text


def test_trace_has_what_the_counters_say(tool, tmp_path):
    """A lane for each engine of each core; its events do not overlap, and add up to the engine's busy cycles."""
    program, trace = tmp_path / "mm.mlir", tmp_path / "trace.json"
    program.write_text(gemm(200, 192, 256, "bf16"))
    command = [program, f"--load-target={PLUGIN}", "--target", "accelerator:npu", "--device", "emulator"]
    report = json.loads(tool("tw-run", *command, "--json", "--trace", trace))
    kernel, = report["emulation"]["kernels"]
    events = json.loads(trace.read_text())["traceEvents"]
    blocks = {event["pid"] for event in events if event["name"] == "process_name" and event["args"]["name"].startswith("block ")}
    lanes = {(event["pid"], event["tid"]): event["args"]["name"] for event in events
             if event["name"] == "thread_name" and event["pid"] in blocks}
    assert len({core for core, _ in lanes}) == 4
    clocks, ends, bytes_moved = {}, {}, {}
    for event in sorted((event for event in events if event["ph"] == "X" and event["pid"] in blocks), key=lambda event: event["ts"]):
        lane = event["pid"], event["tid"]
        engine = lanes[lane]
        assert event["cat"] == engine and event["name"] == kernel["kernel"]
        assert event["dur"] * 1000 == pytest.approx(event["args"]["clocks"])  # microseconds at 1000 MHz
        assert event["ts"] >= ends.get(lane, 0) - 1e-9, "an engine does one thing at a time"
        ends[lane] = event["ts"] + event["dur"]
        clocks[engine] = clocks.get(engine, 0) + event["args"]["clocks"]
        bytes_moved[engine] = bytes_moved.get(engine, 0) + event["args"]["bytes"]
    counted = {engine["engine"]: engine for engine in kernel["engines"]}
    assert clocks.keys() - {"wait"} == counted.keys() == {"copy", "unit", "store", "core"}
    for engine in counted:
        total = clocks[engine]
        assert total == pytest.approx(counted[engine]["busy_cycles"])
        assert bytes_moved[engine] == counted[engine]["bytes"]
    # Cores run side by side: the last one's end, of the sum of all cores' clocks at most one core's share less.
    assert kernel["cycles"] / 4 <= max(ends.values()) * 1000 * (1 + 1e-9) <= kernel["cycles"]


#: An image with its channels outside, every second point: rows of tiles are elements far apart, which no engine copies.
APART = """func.func @f(%x: tensor<2x6x11x13xbf16>, %w: tensor<9x6x3x3xbf16>) -> tensor<2x9x5x6xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<2x9x5x6xf32>
  %i = linalg.fill ins(%zero : f32) outs(%e : tensor<2x9x5x6xf32>) -> tensor<2x9x5x6xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(b, y, x, f, p, q, c) -> (b, c, 2 * y + p, 2 * x + q)>,
                                        affine_map<(b, y, x, f, p, q, c) -> (f, c, p, q)>,
                                        affine_map<(b, y, x, f, p, q, c) -> (b, f, y, x)>],
                       iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]}
      ins(%x, %w : tensor<2x6x11x13xbf16>, tensor<9x6x3x3xbf16>) outs(%i : tensor<2x9x5x6xf32>) {
  ^bb0(%a: bf16, %b: bf16, %s: f32):
    %aw = arith.extf %a : bf16 to f32
    %bw = arith.extf %b : bf16 to f32
    %m = arith.mulf %aw, %bw : f32
    %t = arith.addf %m, %s : f32
    linalg.yield %t : f32
  } -> tensor<2x9x5x6xf32>
  return %r : tensor<2x9x5x6xf32>
}"""


def test_the_unit_or_vectors_by_price(tool, tmp_path):
    """What takes less time computes a contraction, in the plans and as it is counted. Where the core waits for no element of
    global memory that it copies into tiles, that is the unit."""
    program, forced = tmp_path / "apart.mlir", tmp_path / "forced.mlir"
    program.write_text(APART)
    forced.write_text(f'module attributes {{tilewright.force = "tile_m=32"}} {{\n{APART}\n}}')

    def planned(chip):
        decisions = json.loads(tool("tw-compile", program, f"--load-target={PLUGIN}", "--target", chip, "--explain=json"))
        return next(one for one in decisions if one["decision"] == "contraction")

    def counted(path):
        report = json.loads(tool("tw-run", path, f"--load-target={PLUGIN}", "--target", "accelerator:npu", "--device", "emulator",
                                 "--verify", "--json"))
        assert not report["emulation"]["findings"]
        return sum(kernel["cycles"] / kernel["blocks"] for kernel in report["emulation"]["kernels"])

    here, near = planned("accelerator:npu"), planned("accelerator:npu@copies.LoadStore.latency=1")
    assert here["choice"]["runs_on"] == "vectors" and here["candidates"][0] == here["choice"]
    assert here["candidates"][1]["unit"] == "accelerator.systolic_bf16"
    assert here["candidates"][1]["seconds"] > here["choice"]["seconds"]
    assert near["choice"]["unit"] == "accelerator.systolic_bf16"
    assert near["candidates"][-1]["runs_on"] == "vectors" and near["candidates"][-1]["seconds"] > near["choice"]["seconds"]
    assert counted(program) < 0.7 * counted(forced)


@pytest.mark.parametrize("layout", ["nt", "tt"])
def test_vectors_of_a_product_take_what_the_plan_says(tool, tmp_path, layout):
    """No unit takes f16: rows of both operands, which are vectors, and columns, which are gathered from the scratchpad."""
    program = tmp_path / "product.mlir"
    program.write_text(product(32, 32, 64, "f16", layout))
    common = [program, f"--load-target={PLUGIN}", "--target", "accelerator:npu"]
    decisions = json.loads(tool("tw-compile", *common, "--explain=json"))
    plan, = (one["choice"] for one in decisions if one["decision"] == "schedule-nest")
    kernel, = json.loads(tool("tw-run", *common, "--device", "emulator", "--verify", "--json"))["emulation"]["kernels"]
    assert kernel["cycles"] / kernel["blocks"] == pytest.approx(plan["clocks"], rel=0.5)
