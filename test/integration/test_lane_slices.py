"""Slices of a block: subgroups that share out k, and add their sums through the scratchpad (core/CostModel/Schedules/SliceModel.h). Forced,
since small products rarely choose them: right in every mode, without bank conflicts, as the cost model counts them, in registers."""

import json
import re
import subprocess

import pytest

from conftest import BUILD, FULL, in_turn, some
from lane_cases import cases, conflicts, described, lane_chips, run
from lane_texts import TAILS, convolution, is_float, product, product_sizes
from lanes import ARCHITECTURES, PTXAS, kernels, memory, report_without_spills

#: Chips, and types of products that a unit with several steps of k takes on each.
CHIPS = lane_chips()
KINDS = ["f16", "bf16", "f32", "f64", "i8", "f8E4M3FN", *(["ui8", "f16.f16"] if FULL else [])]


def elements(unit):
    return tuple(unit[operand]["element"] for operand in "abc")


UNITS = {chip: {elements(unit) for unit in described(chip)["units"]
                if unit["k"] > 1 and unit.get("scope", {}).get("count") == 1} for chip in CHIPS}


def has_unit(case):
    """Whether some unit of the chip has several steps of k: of the type itself, or for 8-bit floats of one that holds it."""
    if not {"chip", "kind"} <= case.keys():
        return True
    wide = {"f16": "f32", "bf16": "f32", "i8": "i32", "ui8": "i32"}
    kind, _, sums = case["kind"].partition(".")
    kind = {"f8E4M3FN": "f16"}.get(kind, kind)
    return any(a == b == kind and c == (sums or wide.get(kind, kind)) for a, b, c in UNITS[case["chip"]])


def has_tail(case):
    """Vectors of 8-bit floats that are widened first take no unit."""
    if case.get("kind") == "f8E4M3FN" and 1 in (case.get("m"), case.get("n")):
        return False
    return not {"tail", "kind"} <= case.keys() or case["tail"] != "gelu" or is_float(case["kind"])


def is_deep(case):
    """A known k of no more than half of a stage would take no slices."""
    return case.get("k", 97) >= 97 or case.get("dynamic", True)


def sliced(text, slices, **fields):
    force = ",".join(f"{name}={value}" for name, value in {"subgroups_k": slices, **fields}.items())
    return f'module attributes {{tilewright.force = "{force}"}} {{ {text} }}'


def choice(tool, folder, chip, slices):
    """The plan of the one contraction of the program that `run` wrote, which has these slices."""
    decisions = json.loads(tool("tw-compile", folder / "program.mlir", "--target", chip, "--explain=json"))
    (found,) = [each["choice"] for each in decisions if each["decision"] == "contraction"]
    assert found["subgroups_k"] == slices
    return found


def check(tool, folder, chip, slices, text, *words, **fields):
    report = run(tool, folder, chip, sliced(text, slices, **fields), *words)
    assert any(kernel["units"] for kernel in kernels(report)) and not conflicts(report)
    return report, choice(tool, folder, chip, slices)


PRODUCTS = cases(
    (CHIPS, KINDS), {"slices": [2, 4], "m": [97, 1, 64, 13], "n": [64, 97, 1, 13], "k": [97, 256, 13, 1], "trans_a": [False, True],
                     "trans_b": [False, True], "batch": [None, 1, 3], "tail": TAILS, "dynamic": [False, True]},
    lambda case: has_unit(case) and has_tail(case) and is_deep(case))


@pytest.mark.parametrize("case", some(each for each in PRODUCTS if has_unit(each.values[0])))  # the full mode's arrays know no chip
def test_products(case, tool, tmp_path):
    chip, slices = case.pop("chip"), case.pop("slices")
    words = ["--sizes", ",".join(map(str, product_sizes(**case)))] if case["dynamic"] else []
    check(tool, tmp_path, chip, slices, product(**case), *words)


#: Tiles whose sums are more bytes than the ring, so that some units at a time are exchanged.
ROUNDS = [(2, dict(block_m=128, block_n=128, block_k=32, subgroups_m=2, subgroups_n=2), "none"),
          (2, dict(block_m=128, block_n=64, block_k=32, subgroups_m=2, subgroups_n=2), "narrow"),
          (4, dict(block_m=64, block_n=64, block_k=64, subgroups_m=2, subgroups_n=1), "bias-relu")]


@pytest.mark.parametrize("case, chip", in_turn(ROUNDS, CHIPS if FULL else ["nvidia:H100", "amd:MI300X", "amd:RX9070"]))
def test_several_rounds(case, chip, tool, tmp_path):
    slices, fields, tail = case
    if (chip, fields["block_n"]) == ("amd:RX7900", 128):
        pytest.skip("its fragments of so large a tile take more registers than there are")
    _, plan = check(tool, tmp_path, chip, slices, product("f16", 130, 136, 64, tail=tail), **fields)
    sums = (slices - 1) * plan["block"][0] * plan["block"][1] * 4
    assert sums > plan["scratchpad_bytes"]
    if tail == "narrow" and chip.startswith("nvidia"):  # units of 8 columns, of which two fill a sector
        assert plan["results_together"] > 1


#: All that is counted for a kernel: type, sums, sizes, and fields of the plan.
COUNTED = [("f16", 2, (128, 128, 128), {}), ("i8", 4, (128, 96, 256), {}), ("bf16", 2, (130, 132, 128), ROUNDS[0][1]),
           ("f16", 4, (64, 136, 96), ROUNDS[2][1]), ("f64", 2, (101, 75, 64), {})]


def counted_and_predicted(tool, folder, chip, kind, slices, sizes, fields, tail):
    """Of the one kernel with units, of all runs."""
    report, _ = check(tool, folder, chip, slices, product(kind, *sizes, tail=tail), **fields)
    (kernel,) = [each for each in kernels(report) if each["units"]]
    far, pad, (unit,) = memory(kernel, "global"), memory(kernel, "scratchpad"), kernel["units"]
    counted = dict(blocks=kernel["blocks"], global_read_bytes=far["read_bytes"], global_written_bytes=far["written_bytes"],
                   scratchpad_read_bytes=pad["read_bytes"], scratchpad_written_bytes=pad["written_bytes"], unit_issues=unit["issues"])
    assert unit["unit"] == kernel["predicted"]["unit"]
    return counted, {name: kernel["predicted"][name] for name in counted}


def is_counted(chip, kind, slices, sizes, fields, tail="residual"):
    return has_unit({"chip": chip, "kind": kind}) and has_tail({"kind": kind, "tail": tail}) and not (
        chip == "amd:RX7900" and fields.get("block_n") == 128)


@pytest.mark.parametrize("chip, case, tail", some(
    (chip, case, tail) for i, chip in enumerate(CHIPS) for j, case in enumerate(COUNTED)
    for tail in (TAILS if FULL else ["residual"]) if is_counted(chip, *case, tail) and (FULL or (i + j) % 3 == 0)))
def test_every_byte_is_predicted(chip, case, tail, tool, tmp_path):
    """The tile program says the very bytes and unit issues."""
    counted, predicted = counted_and_predicted(tool, tmp_path, chip, *case, tail)
    assert counted == predicted


@pytest.mark.parametrize("case, chip", in_turn([("nhwc", "f16", 2), ("nchw", "i8", 4), ("nhwc", "f16", 4)],
                                               CHIPS if FULL else ["nvidia:A10", "amd:MI350"]))
def test_convolutions(case, chip, tool, tmp_path):
    """Sums over taps as well: a stage is read and filled again before sums are exchanged."""
    layout, kind, slices = case
    check(tool, tmp_path, chip, slices, convolution(layout, kind, 1, 1, 1, 1, channels=64, filters=37, points=(9, 12)))


#: C += A B: what C held is added by the slice that finishes the sums, once.
ADDED = """func.func @f(%a: tensor<70x200x{0}>, %b: tensor<200x52x{0}>, %c: tensor<70x52x{1}>) -> tensor<70x52x{1}> {{
  %r = linalg.matmul ins(%a, %b : tensor<70x200x{0}>, tensor<200x52x{0}>) outs(%c : tensor<70x52x{1}>) -> tensor<70x52x{1}>
  return %r : tensor<70x52x{1}>
}}"""


@pytest.mark.parametrize("case, chip", in_turn([("f16", "f32", 4, "default"), ("i8", "i32", 2, "default"), ("i8", "i32", 4, "strict")],
                                               CHIPS if FULL else ["nvidia:T4", "amd:MI300X", "amd:RX7900"]))
def test_what_was_there_is_added_once(case, chip, tool, tmp_path):
    kind, wide, slices, fp = case
    check(tool, tmp_path, chip, slices, ADDED.format(kind, wide), f"--fp={fp}")


@pytest.mark.parametrize("chip, kind, fp", [("nvidia:A10", "f16", "strict"), ("amd:MI300X", "f64", "strict"), ("amd:RX9070", "f32", "default"),
                                            ("nvidia:H100", "f32", "default")])
def test_where_no_slices_may_be(chip, kind, fp, tool, tmp_path):
    """Floats that keep their order, which few units do, and units of one step of k: refused with a remark, and right all the
    same."""
    run(tool, tmp_path, chip, sliced(product(kind, 33, 40, 96), 2), f"--fp={fp}")
    done = subprocess.run([BUILD / "bin" / "tw-compile", tmp_path / "program.mlir", "--target", chip, f"--fp={fp}", "-o",
                           tmp_path / "program.ll"], capture_output=True, text=True)
    reason = "the forced plan (subgroups_k = 2) is none that units of the chip can take"
    if (kind, fp) == ("f16", "strict"):
        reason = "adds several products at once, which --fp=strict forbids"
    assert done.returncode == 0 and reason in done.stderr


#: Programs whose kernels must keep everything in registers, with several rounds among them.
HELD = {"large": (2, product("f16", 4096, 4096, 4096, trans_b=True), {"block_m": 128, "block_n": 128}),
        "narrow": (4, product("f16", 4096, 4096, 4096, tail="narrow"), {"block_m": 64, "block_n": 64}),
        "odd": (2, product("f16", 1001, 1003, 1005, tail="residual"), {"block_m": 64, "block_n": 128}),
        "bytes": (4, product("i8", 1024, 1024, 4096, trans_b=True), {"block_m": 64, "block_n": 64}),
        "dynamic": (2, product("f16", 1000, 1016, 1024, tail="gelu", dynamic=True), {"block_m": 64, "block_n": 64}),
        "windows": (2, convolution("nhwc", "f16", 1, 1, 1, 1, channels=128, filters=128), {})}


@pytest.mark.parametrize("chip, name", some(
    (chip, name) for i, chip in enumerate(CHIPS) for j, name in enumerate(HELD)
    if (FULL or (i + j) % 4 == 0) and (chip, name) != ("amd:RX7900", "large")))  # fragments take more registers than there are
def test_nothing_is_spilled(chip, name, tool, tmp_path):
    slices, text, fields = HELD[name]
    path, amd = tmp_path / "program.mlir", chip.startswith("amd")
    path.write_text(sliced(text, slices, **fields))
    code = tmp_path / ("program.s" if amd else "program.ptx")
    tool("tw-compile", path, "--target", chip, "-o", code)
    assert choice(tool, tmp_path, chip, slices)
    if amd:
        assert set(re.findall(r"\.[sv]gpr_spill_count: (\d+)", code.read_text())) == {"0"}
        assert set(re.findall(r"\.private_segment_fixed_size: (\d+)", code.read_text())) == {"0"}
        return
    if not PTXAS:
        pytest.skip("ptxas is not installed")
    report_without_spills(code, ARCHITECTURES[chip.removeprefix("nvidia:")])
