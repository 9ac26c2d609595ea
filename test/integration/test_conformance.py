"""tw-conformance on every target of the tree: all passes, nothing is refused, and every family and unit was there."""

import html.parser
import json
import os
import re
import subprocess

import pytest

import fusion
import predictions
from artifacts import DRIVERS
from conftest import BUILD, FULL, SOURCE

FAMILIES = {"unit", "contraction", "batched", "convolution", "elementwise", "reduction", "softmax", "norm", "transpose",
            "epilogue"}
#: A chip of each target, where it runs, and what of the quick run continuous integration takes.
CHIPS = {
    "cpu:host": ("host", []),
    "cpu:x86-64-v3": ("host", ["unit/*", "contraction/*/nn*", "epilogue/*"]),
    "amd:MI300X": ("emulator", ["unit/*", "contraction/*f16*", "batched/*", "convolution/*", "elementwise/*/f16/*", "reduction/*/f16/*",
                                "softmax/*", "norm/*", "transpose/*", "epilogue/*"]),
    "amd:RX7900": ("emulator", ["unit/*", "contraction/*f16*/nn*"]),
    "nvidia:A100": ("emulator", []),
    "accelerator:npu": ("emulator", ["unit/*", "contraction/*f16*", "contraction/*/i8*", "batched/*", "convolution/*", "elementwise/*/f16/*",
                                     "elementwise/*/i8/*", "reduction/*/f16/*", "softmax/*", "norm/*", "transpose/*", "epilogue/*"]),
}
#: Chips that run lanes, for `unit/*`: half a second each, those with units of groups eight, of which one stands for both in
#: continuous integration.
GPUS = {"nvidia": ["A10", "A100", "B200", "H100", "H200", "L4", "L40S", "RTX4090", "RTX5090", "T4"],
        "amd": ["MI250", "MI300X", "MI350", "RX7900", "RX9070"]}
LONG = {"nvidia:H200"}
#: Of chips with an instruction in many shapes: each instruction in one of them, some in the least and the largest, too.
SHAPES = {"nvidia:H100": ["unit/nvidia.[fm]*", "unit/nvidia.wgmma_m64n16k*", "unit/nvidia.wgmma_*n64k*", "unit/nvidia.wgmma_*n256k16_f16*"],
          "nvidia:B200": ["unit/nvidia.[fm]*", *(f"unit/nvidia.tcgen05_{each}*" for each in (
    "m128n64", "*n16k16_f16", "*n256k16_f16", "sp_m128n64k"))]}
#: What loads a chip that the commands are not linked with: the template of a target with scratchpads.
LOADS = {"accelerator:npu": [f"--load-target={BUILD}/lib/tilewright/libtilewright-target-accelerator.so"]}
#: Wall clock of a loaded machine: what hangs is found all the same.
PATIENT = "--timeout=400"


class Page(html.parser.HTMLParser):
    """Counts elements and their ends, and the addresses that a page would load."""

    def __init__(self, text):
        super().__init__()
        self.open, self.loaded, self.dots = [], [], 0
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        values = dict(attributes)
        self.dots += "dot" in values.get("class", "").split()
        self.loaded += [values[key] for key in ("src", "href") if not values.get(key, "#").startswith("#")]
        if tag not in ("meta", "br", "link"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def supported(chip):
    flags = open("/proc/cpuinfo").read() if os.path.exists("/proc/cpuinfo") else ""
    return chip != "cpu:x86-64-v3" or "avx2" in flags


#: Reports and pages of the chips that were run, for all tests of this file.
RUNS = {}


def run_of(tool, folder, chip):
    """The report and the page of a chip's conformance run."""
    if chip not in RUNS:
        page = folder / "report.html"
        arguments = LOADS.get(chip, []) + (["--full"] if FULL else [f"--filter={filter}" for filter in CHIPS[chip][1]])
        report = json.loads(tool("tw-conformance", "--target", chip, "--json", "--html", page, PATIENT, *arguments,
                                 timeout=7200 if FULL else 900))
        RUNS[chip] = report, page.read_text()
    return RUNS[chip]


@pytest.mark.parametrize("chip", CHIPS)
def test_conformance(tool, tmp_path, chip):
    if not supported(chip):
        pytest.skip("this machine does not execute the chip's code")
    device, filters = CHIPS[chip]
    load = LOADS.get(chip, [])
    report, page = run_of(tool, tmp_path, chip)
    bad = [(case["name"], case.get("message")) for case in report["cases"] if case["status"] in ("failed", "refused")]
    assert not bad
    assert report["device"] == device and report["failed"] == report["refused"] == 0
    assert report["passed"] + report["skipped"] == len(report["cases"])
    wanted = FAMILIES if FULL or not filters else {filter.split("/")[0] for filter in filters}
    assert {case["family"] for case in report["cases"]} >= wanted
    units = {unit["name"] for unit in json.loads(tool("tw-targets", chip, "--json", *load))["units"]}
    assert {case["op"] for case in report["cases"] if case["family"] == "unit"} == units
    # Every comparison had a bound that counts: some error was seen, none above it.
    ratios = [case["error_over_tolerance"] for case in report["cases"] if "error_over_tolerance" in case]
    assert 0 < max(ratios) <= 1
    parsed = Page(page)
    assert parsed.open == [] and parsed.loaded == [] and parsed.dots == len(report["cases"])


@pytest.mark.parametrize("chip", [chip for chip, (device, _) in CHIPS.items() if device == "emulator"])
def test_what_is_scheduled_is_emitted(tool, tmp_path, chip):
    """Every launch moves the bytes, issues the units and passes the barriers that its tile program says."""
    rows = predictions.rows_of(run_of(tool, tmp_path, chip)[0])
    assert rows and not [str(row) for row in rows if row.kind != "equal" and not row.exception]


def test_the_same_is_computed_together_on_every_chip(tool, tmp_path):
    """Of every program: which statements share a nest, on a processor, on SIMT targets and on cores with engines."""
    reports = [run_of(tool, tmp_path, chip)[0] for chip in ("cpu:host", "nvidia:A100", "amd:MI300X", "accelerator:npu")]
    rows = fusion.differing(reports)
    assert not fusion.lost(reports)
    assert not [str(row) for row in rows if not row.prices and not row.exception]
    assert fusion.compared(reports) >= 16  # programs of several statements


def test_a_difference_needs_prices():
    """Of two statements: fused on one chip, apart on another; a decision that prices both forms explains it, another does not."""
    def report(target, groups, *decisions):
        kernel = {"decision": "fusion-groups", "statements": [["1:1", "2:1"], ["3:1"]], "groups": groups}
        return {"target": target, "cases": [{"name": "case", "fusion": [kernel, *decisions]}]}

    priced = {"decision": "fuse-stencils", "candidates": [{"form": "apart", "seconds": 2}, {"form": "fused", "seconds": 1}]}
    together, apart = report("a", [["2:1", "3:1"]]), report("b", [["1:1"], ["3:1"]])
    assert not fusion.differing([together, report("b", [["1:1"], ["1:1", "3:1"]])])  # what stands alone is a remainder
    (row,) = fusion.differing([together, apart])
    assert (row.pairs, row.prices) == (1, ())
    (row,) = fusion.differing([together, report("b", [["1:1"], ["3:1"]], {"decision": "sum"}, priced)])
    assert row.prices == ("fuse-stencils",)
    assert fusion.lost([together, report("b", [["2:1"]])]) == ["case"] and not fusion.lost([together, apart])


def instruction(unit):
    """The name of a unit without its shape."""
    return re.sub(r"_m\d+n\d+k\d+", "", unit)


@pytest.mark.parametrize("chip", [name for target, chips in GPUS.items() for chip in chips
                                  if (name := f"{target}:{chip}") and (FULL or name not in LONG)])
def test_units_of_each_gpu(tool, chip):
    """Model, code and run of every record: none is skipped, also not the units of groups on operands in the scratchpad."""
    some = [] if FULL else SHAPES.get(chip, [])
    report = json.loads(tool("tw-conformance", "--target", chip, "--json", *(f"--filter={each}" for each in some or ["unit/*"]), PATIENT))
    assert report["device"] == "emulator"
    assert not [(case["name"], case.get("message")) for case in report["cases"] if case["status"] != "passed"]
    units = {unit["name"] for unit in json.loads(tool("tw-targets", chip, "--json"))["units"]}
    for kind in ("model", "code", "run"):
        tried = {case["op"] for case in report["cases"] if case["name"].endswith(f"/{kind}")}
        assert tried == units if not some else {instruction(name) for name in tried} == {instruction(name) for name in units}, kind


def test_all_gpus_are_listed(tool):
    targets = {target["target"]: target["chips"] for target in json.loads(tool("tw-targets", "--json"))["targets"]}
    for target, chips in GPUS.items():
        assert sorted(targets[target]) == sorted(chips)


def test_counts_of_unit_cases_are_those_of_the_page(tool):
    """The table of docs/conformance.md, row by row, and its sum."""
    page = (SOURCE / "docs" / "conformance.md").read_text()
    rows = re.findall(r"^\| ((?:`\w+:\w+`(?:, )?)+) \| (\d+) \| (\d+) \|$", page, re.MULTILINE)
    counted = {chip: (int(cases), int(sparse)) for chips, cases, sparse in rows for chip in re.findall(r"`(\w+:\w+)`", chips)}
    assert set(counted) == {f"{target}:{chip}" for target, chips in GPUS.items() for chip in chips}
    for chip, (cases, sparse) in counted.items():
        names = tool("tw-conformance", "--target", chip, "--list", "--filter=unit/*").splitlines()
        units = {unit["name"] for unit in json.loads(tool("tw-targets", chip, "--json"))["units"] if "sparsity" in unit}
        assert (len(names), sum(name.split("/")[1] in units for name in names)) == (cases, sparse), chip
    (said,) = re.findall(r"--filter='unit/\*'`\): ([\d,]+) cases on the emulator", page)
    assert int(said.replace(",", "")) == sum(cases for cases, _ in counted.values())


def test_one_case_is_named_and_kept(tool, tmp_path):
    name = "contraction/matmul/f32.f32.f32/33x47x29/nn"
    assert name in tool("tw-conformance", "--list", "--full").splitlines()
    text = tool("tw-conformance", f"--filter={name}", f"--keep={tmp_path / 'kept'}", PATIENT)
    assert "1 passed, 0 failed, 0 refused, 0 skipped" in text
    stem = name.replace("/", "_")
    # What is kept is a program for tw-run, with the inputs and both outputs.
    inputs = [f"--input={tmp_path}/kept/{stem}.random.input{i}.npy" for i in range(2)]
    assert "verify: output 0: largest error" in tool("tw-run", tmp_path / "kept" / f"{stem}.mlir", *inputs, "--verify")
    kept = {path.name for path in (tmp_path / "kept").iterdir()}
    assert {f"{stem}.special.output.npy", f"{stem}.extreme.expected.npy"} <= kept


def test_products_of_integers_wrap(tool):
    """In the reference as on the chip: rows of 33 factors leave 32 bits."""
    text = tool("tw-conformance", "--full", "--filter=reduction/prod/i32/3x17x33/*", PATIENT)
    assert "4 passed, 0 failed, 0 refused, 0 skipped" in text


def test_programs_and_units_go_to_a_device(tmp_path):
    """Through a driver of the tests, whose kernels compute nothing: every case is launched, and judged as wrong."""
    log = tmp_path / "log"
    environment = {**os.environ, "LD_LIBRARY_PATH": str(DRIVERS), "FAKE_KERNELS": str(DRIVERS / "kernels.so"), "FAKE_LOG": str(log)}
    units = ("mma_m16n8k16_f16_f32", "wgmma_m64n16k16_f16_f32", "fma_f32")
    command = [BUILD / "bin" / "tw-conformance", "--target=nvidia:H100", "--device=gpu", "--jobs=0",
               *(f"--filter=unit/nvidia.{unit}/*/run" for unit in units), "--filter=contraction/matmul/f16.f16.f32/33x47x29/nn"]
    result = subprocess.run([*command, "--json"], capture_output=True, text=True, timeout=120, env=environment)
    cases = json.loads(result.stdout)["cases"]
    assert result.returncode == 2 and [case["status"] for case in cases] == ["failed"] * 4, result.stdout
    assert all("expected" in case["message"] for case in cases), cases
    launches = [line for line in log.read_text().splitlines() if line.startswith("cuLaunchKernel")]
    assert sum(" grid 1 1 1 block" in line for line in launches) == 3 and len(launches) == 4, launches
    result = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert result.returncode == 2 and "no driver of NVIDIA on this machine" in result.stdout, result.stdout


@pytest.mark.parametrize("options, status", [([], 2), (["--max-refused=66"], 2), (["--max-refused=67"], 0)])
def test_a_family_that_is_mostly_refused_fails(options, status):
    """Two of three products call a function that this machine does not have: the exit status and the last line say so."""
    command = [BUILD / "bin/tw-conformance", f"--load-target={BUILD}/test/plugins/power/libtilewright-target-power.so",
               "--target=power:calls", "--device=host", "--filter=contraction/matmul/bf16.*/7x13x5/*",
               "--filter=contraction/matmul/f32.*/7x13x5/*", "--filter=transpose/*/f32/*", *options]
    result = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert result.returncode == status, result.stdout
    said = "of the cases of contraction, which --max-refused=" in result.stdout.splitlines()[-1]
    assert said == (status == 2) and ", 0 failed, 2 refused, 0 skipped" in result.stdout, result.stdout
    if options:
        report = json.loads(subprocess.run([*command, "--json"], capture_output=True, text=True, timeout=120).stdout)
        assert report["refused_too_often"] == ["contraction"] * (status == 2) and report["max_refused_percent"] == int(options[0][-2:])


@pytest.mark.parametrize("arguments, message", [
    (["--device=moon"], "unknown device 'moon'; expected host, emulator, model, gpu, exec:PROG or auto"),
    (["--filter=no-such-case"], "no case has a name that --filter means; see --list"),
    (["--filter=a[b"], "invalid glob pattern"),
    (["--target=cpu:zen9"], "unknown chip of target 'cpu' 'zen9'; did you mean"),
    (["--target=nvidia:A100", "--device=host"], "does not run here"),
    (["--quick", "--full"], "--quick and --full exclude each other"),
    (["--max-refused=101"], "--max-refused expects a percentage, 0 (none may be refused) to 100"),
    (["--timeout=-1"], "--timeout expects a positive number of seconds"),
])
def test_bad_input(arguments, message):
    result = subprocess.run([BUILD / "bin" / "tw-conformance", *arguments], capture_output=True, text=True, timeout=60)
    assert result.returncode == 1 and message in result.stderr, result.stderr
