"""docs/ against the commands: every option that a command lists, every key of its JSON, and every command of README and tour."""

import json
import re
import subprocess

import pytest

from conftest import BUILD, SOURCE

ACCELERATOR = [f"--load-target={BUILD / 'lib/tilewright/libtilewright-target-accelerator.so'}"]
LAYER = SOURCE / "templates/accelerator/test/layer.mlir"
PAGES = {"tw-run": ["tools"], "tw-compile": ["tools"], "tw-targets": ["tools"], "tw-new-target": ["tools"], "tw-tblgen": ["tools"],
         "tw-conformance": ["conformance"], "tw-explore": ["explore"], "tw-calibrate": ["calibrate"], "tw-bisect": ["bisect"], "tw-launch": ["runtime"]}
#: What every command has.
COMMON = {"help", "help-list", "version"}


def page(name):
    return (SOURCE / "docs" / f"{name}.md").read_text()


@pytest.mark.parametrize("name", PAGES)
def test_options_are_documented(name):
    listing = subprocess.run([BUILD / "bin" / name, "--help"], capture_output=True, text=True, check=True).stdout
    options = set(re.findall(r"^ +--?([a-zA-Z][\w-]*)", listing, re.MULTILINE)) - COMMON
    assert 2 <= len(options) < 40, f"{name} lists {len(options)} options: {sorted(options)}"
    text = "".join(page(each) for each in PAGES[name])
    missing = [option for option in sorted(options) if not re.search(rf"(?<![\w-])--?{option}(?![\w-])", text)]
    assert not missing, f"docs/{PAGES[name]}.md lacks options of {name}"


def keys(value, skip=()):
    """All keys of all objects; below the keys of `skip` the names are the program's or the chip's own."""
    if isinstance(value, list):
        return set().union(*(keys(each, skip) for each in value))
    if isinstance(value, dict):
        return set(value).union(*(keys(inner, skip) for key, inner in value.items() if key not in skip))
    return set()


REPORTS = {
    "run": ["tw-run", SOURCE / "examples/mlp-f32.mlir", "--verify", "--benchmark", "--time-compile", "--json"],
    "stages": ["tw-run", SOURCE / "examples/c-program/mlp.mlir", "--sizes=3", "--verify-stages", "--json"],
    "emulator": ["tw-run", LAYER, *ACCELERATOR, "--target=accelerator", "--device=emulator", "--verify", "--json"],
    "lanes": ["tw-run", SOURCE / "examples/gemm-bias-gelu.mlir", "--target=nvidia:A100", "--device=emulator", "--json"],
    "targets": ["tw-targets", "--json"],
    "target": ["tw-targets", "cpu", "--json"],
    "chip": ["tw-targets", *ACCELERATOR, "accelerator:npu", "--json"],
    "lane-chip": ["tw-targets", "nvidia:H100", "--json"],
    "explain": ["tw-compile", SOURCE / "examples/mlp-f32.mlir", "--target=cpu:zen4", "--explain=json"],
    "explore": ["tw-explore", LAYER, *ACCELERATOR, "--target=accelerator", "--vary=levels.core.count=2,4", "--cost=clockMHz", "--json"],
    "bisect": ["tw-bisect", SOURCE / "examples/c-program/mlp.mlir", "--sizes=3", "--json"],
    "conformance": ["tw-conformance", *ACCELERATOR, "--target=accelerator", "--filter=unit/*", "--filter=transpose/*", "--json"],
}
#: Objects whose keys are names: instructions, fields of a decision, counters in a device's words.
FREE = ("binds", "busy", "bytes", "unit_seconds", "rates", "numbers", "inputs", "choice", "candidates", "predicted", "fusion")


@pytest.mark.parametrize("name", REPORTS)
def test_keys_are_documented(tool, name):
    report = json.loads(tool(*REPORTS[name]))
    skip = FREE if name != "run" else ("rates",)
    found = keys(report, skip)
    text = re.sub(r"^```.*?^```", "", page("json") + page("emulator"), flags=re.MULTILINE | re.DOTALL)
    words = set(re.findall(r"\w+", " ".join(re.findall(r"`([^`]+)`", text))))
    assert found and found <= words, f"docs/json.md lacks {sorted(found - words)}"


def test_json_says_its_units(tool):
    """Seconds, bytes and operations: what is measured is named after its unit."""
    report = json.loads(tool(*REPORTS["run"]))
    times = report["benchmark"]
    assert times["flop_per_second"] == pytest.approx(times["flop"] / times["seconds"])
    assert times["bytes_per_second"] == pytest.approx(times["bytes"] / times["seconds"])
    assert times["flop"] >= 2 * 3 * 256 * 1024 * 1024 and times["bytes"] >= 4 * (256 * 1024 * 2 + 3 * 1024 * 1024)
    parts = report["compile"]
    assert parts["seconds"] == pytest.approx(sum(parts[f"{part}_seconds"] for part in ("parse", "pass", "llvm", "link")), rel=0.01)


def test_drawings_are_what_the_tool_draws(tool):
    """Each block of a page that begins with a call of tw-targets is what that prints."""
    blocks = re.findall(r"^```\n\$ (tw-targets [^\n]*)\n(.*?)^```$", (SOURCE / "docs" / "layouts.md").read_text(), re.M | re.S)
    assert len(blocks) == 4
    for command, shown in blocks:
        assert tool(*command.split()) == shown, command


def test_former_names_are_kept_for_one_version(tool, tmp_path):
    """The table of docs/json.md: both names are printed with one value, and either forces a plan."""
    table = re.search(r"\*\*Former names\.\*\*.*?\n\n(.*?)\n\n", page("json"), re.DOTALL).group(1)
    names = {now: before for now, before in re.findall(r"\| `(\w+)`[^|]*\| `(\w+)` \|", table)}
    product = """ {
      func.func @f(%a: tensor<96x256xf16>, %b: tensor<256x512xf16>, %c: tensor<96x512xf32>) -> tensor<96x512xf32> {
        %r = linalg.matmul ins(%a, %b : tensor<96x256xf16>, tensor<256x512xf16>) outs(%c : tensor<96x512xf32>) -> tensor<96x512xf32>
        return %r : tensor<96x512xf32> } }"""
    choices = []
    for field in ("rasterisation_rows", names["rasterisation_rows"]):
        path = tmp_path / f"{field}.mlir"
        path.write_text(f'module attributes {{tilewright.force = "block_m=32,block_n=32,{field}=3"}}' + product)
        decisions = json.loads(tool("tw-compile", path, "--target=nvidia:A100", "--explain=json"))
        decision, = (each for each in decisions if each["decision"] == "contraction")
        choices.append(decision["choice"])
    assert choices[0] == choices[1] and choices[0]["rasterisation_rows"] == 3
    found = set(names) & set(choices[0])
    assert found == {"transpose_before", "rasterisation_rows", "persistent_blocks", "pipeline_unroll"}
    assert all(choices[0][now] == choices[0][names[now]] for now in found)
    assert choices[0]["step_instructions"]["mma"] == choices[0]["step_instructions"]["products"] > 0
