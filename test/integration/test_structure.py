"""Rules that hold for the whole tree (DESIGN 1.2 and the style page): core names no vendor, every source file carries
the licence banner and says what it is for, and a pass, its file, and its test have one name."""

import fnmatch
import itertools
import pathlib
import re
import subprocess

import pytest

from conftest import in_shard

SOURCE = pathlib.Path(__file__).resolve().parents[2]
CODE = (".cpp", ".h", ".td", ".c")

#: Names of vendors, of their instruction sets and of their programming models.
VENDOR = re.compile(
    r"\b(x86(?:_64|vector)?|avx(?:2|512\w*)?|sse[234]?|amx\w*|neon|sve2?|sme|i8mm|aarch64|armv?\d*|intel|amd|nvidia|nvvm|"
    r"nvgpu|cuda|ptx|cubin|hsaco|rocdl|rocm|hip|mfma|wmma|wgmma|xeon|epyc|zen\d*|sapphire\w*|skylake\w*|haswell|"
    r"neoverse\w*|hopper|ampere|blackwell|gfx\d+\w*|sm_\d+\w*|vpdp\w+|vfmadd\w+|fmopa|mbarriers?|tma|ldmatrix|stmatrix|lds|"
    r"warps?|warpgroups?|wavefronts?|cta)\b",
    re.IGNORECASE,
)


def vendor_names(line, is_code=True):
    """Names in a line, of whole words and, in code, of the parts of words with `_` between them."""
    return {match.group().lower() for text in [line] + [line.replace("_", " ")] * is_code for match in VENDOR.finditer(text)}


def tracked(*folders):
    listing = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "--", *folders],
        cwd=SOURCE, capture_output=True, text=True, check=True)
    return [SOURCE / name for name in listing.stdout.splitlines() if (SOURCE / name).is_file()]


def test_core_names_no_vendor():
    found = []
    for path in tracked("core"):
        for number, line in enumerate(path.read_text(errors="replace").splitlines(), 1):
            for name in sorted(vendor_names(line, path.suffix in CODE)):
                found.append(f"{path.relative_to(SOURCE)}:{number}: {name}: {line.strip()}")
    assert not found, "core asks capabilities, never names:\n" + "\n".join(found)


@pytest.mark.parametrize("line, names", [
    ('.Case("sm_80", 1)', {"sm_80"}), ("void emit_wgmma_fence();", {"wgmma"}), ("// the warps of an SM", {"warps"}),
    ("through LDS, by ldmatrix", {"lds", "ldmatrix"}), ("TMA and mbarrier", {"tma", "mbarrier"}), ("int tma_load", {"tma"}),
    ("target-cpu=gfx942", {"gfx942"}), ("sums, fields, warped small_80 automata", set())])
def test_vendor_names_are_recognised(line, names):
    assert vendor_names(line) == names


def test_sources_carry_the_banner():
    bare = [
        str(path.relative_to(SOURCE))
        for path in tracked("core", "dialects", "targets", "test/unit", "test/benchmark")
        if path.suffix in CODE and "SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception" not in path.read_text()[:600]
    ]
    assert not bare, bare


def test_core_includes_no_target():
    wrong = [
        f"{path.relative_to(SOURCE)}: {line.strip()}"
        for path in tracked("core", "dialects")
        if path.suffix in CODE
        for line in path.read_text().splitlines()
        if re.match(r'\s*#include "(?:targets/|\.\./)', line)
    ]
    assert not wrong, wrong


def test_targets_of_gpus_are_alike():
    """File by file, so that a vendor finds in one what is in the other; a pass over ops of the one vendor and a function beside a record
    stand alone."""
    amd, nvidia = ({path.name for path in tracked(f"targets/{vendor}")} for vendor in ("amd", "nvidia"))
    assert amd - nvidia == {"Releases.cpp"} and nvidia - amd == {"SparseTf32.ll"}


def test_lines_of_code_fit():
    limit = int(re.search(r"^ColumnLimit: (\d+)$", (SOURCE / ".clang-format").read_text(), re.MULTILINE).group(1))
    wide = [
        f"{path.relative_to(SOURCE)}:{number}: {len(line)} columns"
        for path in tracked("core", "dialects", "targets", "templates", "examples", "test")
        if path.suffix in (".h", ".cpp", ".c")
        for number, line in enumerate(path.read_text().splitlines(), 1)
        if len(line) > limit
    ]
    assert not wide, f"more than the {limit} columns of .clang-format:\n" + "\n".join(wide)


def passes():
    """Folder below core/Transforms, record and name of each pass."""
    folder = SOURCE / "core/Transforms"
    return [(str(path.parent.relative_to(folder)), *found) for path in sorted(folder.rglob("Passes.td"))
            for found in re.findall(r'def (\w+?)(?:Pass)? *: *Pass<"([\w-]+)"', path.read_text())]


@pytest.mark.parametrize("folder, record, name", passes())
def test_pass_has_its_file_and_test(folder, record, name):
    """In the folder whose Passes.td has it, and in the same folder of the lit suite."""
    words = "".join(word.capitalize() for word in name.removeprefix("tilewright-").removeprefix("tw-").split("-"))
    files = SOURCE / "core/Transforms" / folder
    assert (files / f"{words}.cpp").exists() or (files / f"{record}.cpp").exists(), f"pass {name} has no file {files}/{words}.cpp"
    tests = SOURCE / "test/lit/Transforms" / folder
    assert (tests / f"{name}.mlir").exists() or (tests / f"{name}.test").exists(), f"pass {name} has no test {tests}/{name}.mlir"


def test_every_folder_of_passes_is_in_the_table_of_contents():
    contents = (SOURCE / "core/Transforms/Passes.td").read_text()
    assert sorted(set(re.findall(r'include "core/Transforms/(.+)/Passes.td"', contents))) == sorted({folder for folder, _, _ in passes()})


def test_every_test_of_a_pass_begins_with_its_name():
    folder = SOURCE / "test/lit/Transforms"
    names = {(folder_of, name) for folder_of, _, name in passes()}
    strange = [
        str(path.relative_to(folder)) for path in sorted(folder.rglob("*.mlir"))
        if not any(str(path.parent.relative_to(folder)) == folder_of and (path.stem + "-").startswith(name + "-") for folder_of, name in names)
    ]
    assert not strange, strange


def test_shards_are_all_tests_once():
    names = [f"test_a.py::test_{i}[{kind}]" for i in range(200) for kind in ("f16", "f32")]
    parts = [[name for name in names if in_shard(name, f"{part}/7")] for part in range(7)]
    assert sorted(itertools.chain(*parts)) == sorted(names)
    assert all(len(part) > len(names) / 14 for part in parts)
    for wrong in ("7/7", "1", "a/b", "-1/2"):
        with pytest.raises(pytest.UsageError, match="I/N"):
            in_shard(names[0], wrong)


def test_core_finds_memories_by_role():
    """Names of memories are the vendor's: core asks the machine graph for a role, and uses a name only where a record gave it."""
    lookup = re.compile(r'\b(?:memory|named)\("|\.(?:memory|name|from|to|level) *[!=]= *"|"[^"]*" *[!=]= *\w+\.(?:from|to|memory)\b')
    found = [
        f"{path.relative_to(SOURCE)}:{number}: {line.strip()}"
        for path in tracked("core")
        if path.suffix in (".h", ".cpp")
        for number, line in enumerate(path.read_text().splitlines(), 1)
        if lookup.search(line.split("//")[0])
    ]
    assert not found, "ask chip.graph() (tilewright/MachineGraph.h):\n" + "\n".join(found)


def literals_of(text):
    """(line number, literal, line) of each number above 4 in C++ code, without comments, strings and preprocessor lines."""
    blank = lambda match: re.sub(r"[^\n]", " ", match.group())
    for pattern, flags in ((r"//[^\n]*", 0), (r"/\*.*?\*/", re.DOTALL), (r'"(?:\\.|[^"\\\n])*"', 0), (r"'(?:\\.|[^'\\])'", 0)):
        text = re.sub(pattern, blank, text, flags=flags)
    number = re.compile(r"(?<![\w.])(0x[0-9a-fA-F]+|\d[\d']*\.?\d*(?:e[+-]?\d+)?)[uUlLfF]*(?![\w.])")
    for line_number, line in enumerate(text.splitlines(), 1):
        if not line.lstrip().startswith("#"):
            for match in number.finditer(line):
                digits = match.group(1).replace("'", "")
                if (int(digits, 16) if digits.startswith("0x") else float(digits)) > 4:
                    yield line_number, digits


def test_numbers_of_chips_are_in_records():
    table = SOURCE / "test/integration/literals.txt"
    rows = []
    for line in table.read_text().splitlines():
        if line and not line.startswith("#"):
            files, rest = line.split(" | ", 1)
            literals, reason = rest.rsplit(" | ", 1)
            assert reason.strip(), f"{table.name}: no reason: {line}"
            rows.append((files.strip(), literals.strip(), set()))
    without = []
    for path in tracked("core/CostModel", "core/Transforms"):
        if path.suffix not in (".h", ".cpp"):
            continue
        name, text = str(path.relative_to(SOURCE / "core")), path.read_text()
        lines = text.splitlines()
        for number, literal in literals_of(text):
            hits = [
                used for files, literals, used in rows
                if fnmatch.fnmatch(name, files) and (re.search(literals[1:-1], lines[number - 1]) if literals[0] == "/"
                                                     else literal in literals.split(", "))]
            for used in hits:
                used.add(literal)
            if not hits:
                without.append(f"core/{name}:{number}: {literal}: {lines[number - 1].strip()}")
    assert not without, (
        "a number of a chip is a field of a record (docs/chip-description.md); another one has a row with its reason in "
        f"{table.relative_to(SOURCE)}:\n" + "\n".join(without))
    idle = [f"{files} | {literals}: {sorted(set(literals.split(', ')) - used) if literals[0] != '/' else 'no line'}"
            for files, literals, used in rows if (not used if literals[0] == "/" else set(literals.split(", ")) - used)]
    assert not idle, f"rows of {table.relative_to(SOURCE)} without a literal:\n" + "\n".join(idle)


def test_literals_are_found():
    code = 'int a = 4, b = 5; // 6\nchar c = \'7\'; auto d = "8"; /* 9\n10 */ double e = 1e6 + 0x1F + x11 + 2048u;\n#define F 12\n'
    assert list(literals_of(code)) == [(1, "5"), (3, "1e6"), (3, "0x1F"), (3, "2048")]


def test_numbers_of_a_chip_are_declared_alike():
    """In the language, where each is explained, in the list for C++, in variants of a chip, and on the page."""
    language = (SOURCE / "dialects/Chip/Numbers.td").read_text()
    fields = re.findall(r"^  Fact (\w+) =", language, re.MULTILINE)
    listed = re.findall(r"^TW_NUMBER\(\w+, (\w+),", (SOURCE / "core/include/tilewright/Numbers.def").read_text(), re.MULTILINE)
    copied = re.findall(r"^  let (\w+) = like\.(\w+);", (SOURCE / "dialects/Chip/Chip.td").read_text(), re.MULTILINE)
    page = (SOURCE / "docs/chip-description.md").read_text()
    assert sorted(fields) == sorted(listed) and len(set(fields)) == len(fields)
    assert all(field == source for field, source in copied) and set(fields) <= {field for field, _ in copied}
    assert all(f"| `{field}` |" in page for field in fields)


def test_the_page_says_which_numbers_no_model_reads():
    listed = re.findall(r"^TW_NUMBER\((\w+), (\w+),", (SOURCE / "core/include/tilewright/Numbers.def").read_text(), re.MULTILINE)
    code = "".join(path.read_text() for path in tracked("core") if path.suffix in (".h", ".cpp"))
    asked = set(re.findall(r"\bNumber::(\w+)", code))
    sentence = re.search(r"^No model reads (.*?), on any chip", (SOURCE / "docs/chip-description.md").read_text(), re.M | re.S).group(1)
    assert sorted(re.findall(r"`(\w+)`", sentence)) == sorted(field for number, field in listed if number not in asked)


#: Code that asks for a kind of chip, or puts one together from levels.
KIND = re.compile(
    r"\b(?:lane|core|launch|block)Hierarchy\(|\bis(?:Simt|SIMT|Gpu|Cpu|Npu|Vector|Scratchpad|Lane|Core)(?:Chip|Target)?\((?:\*|chip|target|graph)"
    r"|[kK]indOf\((?:\*+)?(?:chip|target)|\bChipKind\b|[!=]= *LevelKind::(?:Lockstep|Concurrent)"
    r"|(?:lockstep|concurrent)Level\(\) *(?:\)|\?|&&|\|\||[!=]=)|![\w.()>*-]*(?:lockstep|concurrent)Level\(\)")


def kinds_of(text):
    return [(number, line.strip()) for number, line in enumerate(text.splitlines(), 1) if KIND.search(line.split("//")[0])]


def test_core_asks_for_no_kind_of_chip():
    """Levels and memories are read in core/Machine and in what shows or writes a description; everyone else asks the graph for
    the capability that it needs."""
    found = [
        f"{path.relative_to(SOURCE)}:{number}: {line}"
        for path in tracked("core")
        if path.suffix in (".h", ".cpp") and not path.is_relative_to(SOURCE / "core/Machine")
        and path != SOURCE / "core/include/tilewright/MachineGraph.h"
        for number, line in kinds_of(path.read_text())
        if not path.is_relative_to(SOURCE / "core/TableGen") and path.name != "ChipDrawing.cpp"  # words of the levels
    ]
    assert not found, "ask chip.graph() for what the place needs (docs/chip-description.md#what-the-compiler-asks):\n" + "\n".join(found)


@pytest.mark.parametrize("line, count", [
    ("if (laneHierarchy(chip))", 1), ("std::optional<CoreHierarchy> cores = coreHierarchy(*chip);", 1), ("return isSimt(chip);", 1),
    ("if (level.kind == LevelKind::Lockstep)", 1), ("bool lanes = !chip.graph().lockstepLevel();", 1), ("if (graph.concurrentLevel())", 1),
    ("switch (kindOf(chip)) {", 1), ("if (isScratchpad(buffer))", 0), ("LaneHierarchy::of(graph)", 0), ("// laneHierarchy(chip)", 0),
    ("graph.lockstepLevel()->count", 0), ("chip.graph().threadMemory()", 0)])
def test_kinds_are_recognised(line, count):
    assert len(kinds_of(line)) == count


def test_each_stage_has_one_list_of_passes():
    header = (SOURCE / "core/include/tilewright/Pipeline.h").read_text()
    builders = re.findall(r"^void build(\w+)Pipeline\(", header, re.MULTILINE)
    assert builders == ["Import", "Affine", "Reference", "Optimize", "Map", "Lower"]
