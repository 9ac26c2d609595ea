"""scripts/kind-shares.py: how lines are sorted by the kinds of chips that execute them, and its page."""

import importlib.util
import re
import subprocess
import sys

import kind_programs
from conftest import BUILD, SOURCE

SCRIPT = SOURCE / "scripts" / "kind-shares.py"


def loaded():
    spec = importlib.util.spec_from_file_location("kind_shares", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_lines_are_sorted_by_kinds():
    script = loaded()
    name, lower = "core/Transforms/Tile/One.cpp", "core/Transforms/Lower/Lanes/Two.cpp"
    known = {(name, line) for line in range(1, 9)} | {(lower, 1)}
    executed = {"cpu": {(name, 1), (name, 2), (name, 3), (name, 4)}, "simt": {(name, 1), (name, 2), (name, 5), (lower, 1)},
                "scratchpad": {(name, 1)}}
    page = script.page_of(executed, known, dict.fromkeys(script.KINDS, 1))
    assert "| `core/Transforms/Tile` | 2 | 1 | 0 | 1 | 1 | 3 | 60 % |" in page
    assert "| **all of these** | 2 | 1 | 0 | 1 | 1 | 3 | 60 % |" in page, "Lower/ is not counted"
    assert "| `core/Transforms/Lower` (not counted) | 0 | 1 | 0 | 0 | 0 | 0 | 100 % |" in page


def test_generated_headers_belong_to_no_folder():
    source, generated = "core/CostModel/Schedules/Candidates.h", "build/coverage/core/Transforms/Nests/Passes.h.inc"
    report = "".join(f"SF:{SOURCE / name}\nDA:7,0\nDA:8,3\nend_of_record\n" for name in (source, generated, "core/Analysis/Nest.h"))
    assert loaded().lines_in(report) == ({(source, 7), (source, 8)}, {(source, 8)})


def test_the_programs_of_the_suite_are_read(tool, tmp_path):
    """All of them: what the compiler cannot read would count for no kind."""
    texts = kind_programs.programs()
    assert len(texts) > 100
    path = tmp_path / "programs.mlir"
    path.write_text("\n// -----\n".join(texts.values()))
    tool("tw-opt", path, "--split-input-file", "-o", tmp_path / "read.mlir")


def test_a_build_that_does_not_count_is_refused():
    done = subprocess.run([sys.executable, SCRIPT, BUILD], capture_output=True, text=True)
    assert done.returncode == 1 and "does not count lines; configure it with -DTILEWRIGHT_COVERAGE=ON" in done.stderr


def test_the_page_says_what_its_table_says():
    text = (SOURCE / "docs" / "kind-shares.md").read_text()
    numbers = re.search(r"^\| \*\*all of these\*\* \|(.*)\|$", text, re.M)[1].split("|")
    counts, share = [int(number.replace(",", "")) for number in numbers[:-1]], numbers[-1].strip()
    assert f"It is **{share}**" in text
    assert share == f"{100 * sum(counts[:3]) / sum(counts[:5]):.0f} %"
    assert f"are {share} of the executed lines" in (SOURCE / "docs" / "architecture.md").read_text()
