"""A vendor starts out of tree: the installed package, tw-new-target, plugins by file, by path and linked in."""

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import time

import pytest

from conftest import BUILD, FULL, SOURCE
from kit import RELEASE, precompiled, prefix, run  # noqa: F401, two of them fixtures

NAME = "acme"
KINDS = ("simd", "simt", "scratchpad")

#: The conformance suite of a scaffold takes up to two minutes; here a part of it, but for the full mode.
CONFORMANCE = {} if FULL else {"TILEWRIGHT_CONFORMANCE_OPTIONS": "--filter;unit/*;--filter;epilogue/*"}


def processor_seconds():
    """What the processes that this one started and waited for have used."""
    return os.times().children_user + os.times().children_system


#: The scaffold that is built as a vendor does it, without precompiled headers; that of vectors is in test_target_linked_in.
AS_IT_IS = "simt"


@pytest.fixture(scope="session")
def projects(prefix, precompiled, tmp_path_factory):
    """projects(kind): the folder of a scaffolded project that is built and has passed its tests."""
    made = {}

    def project(kind):
        if kind not in made:
            folder = tmp_path_factory.mktemp(kind) / "project"
            begin = time.monotonic(), processor_seconds()
            said = run(prefix / "bin/tw-new-target", NAME, "--kind", kind, "--dir", folder)
            assert f"-DCMAKE_PREFIX_PATH={prefix}" in said  # a command to copy
            output = run(folder / "ci.sh", prefix, timeout=1200, env={**CONFORMANCE, **({} if kind == AS_IT_IS else precompiled)})
            # On a busy machine the processor's time counts.
            made[kind] = folder, output, min(time.monotonic() - begin[0], processor_seconds() - begin[1])
        return made[kind]

    return project


def plugin_of(folder):
    return folder / f"build/lib/tilewright/libtilewright-target-{NAME}.so"


@pytest.mark.parametrize("kind", KINDS)
def test_scaffold_builds_and_passes(projects, kind):
    folder, output, seconds = projects(kind)
    assert re.search(r"100% tests passed, 0 tests failed out of [1-9]", output), output
    assert f"{NAME}-lit" in output and f"{NAME}-conformance" in output
    print(f"{kind}: {seconds:.0f} s from tw-new-target to passed tests")
    assert seconds < 300, "scaffold, build and tests must be there within five minutes"
    for name in ("README.md", "Chips.td", "MatrixUnits.td", "Plugin.cpp", "CMakeLists.txt", "ci.sh", "test"):
        assert (folder / name).exists(), name
    left = [path.name for path in folder.rglob("*") if path.is_file() and "build" not in path.parts
            and re.search(r"@\w+@", path.read_text(errors="replace"))]
    assert not left, f"placeholders are left in {left}"


@pytest.mark.parametrize("kind", KINDS)
def test_scaffold_fails_where_the_chip_is_wrong(projects, prefix, kind, tmp_path):
    """The tests of the scaffold are not decoration: a record that means something else makes them fail."""
    folder = tmp_path / "project"
    shutil.copytree(projects(kind)[0], folder, ignore=shutil.ignore_patterns("build"))
    text = (folder / "Chips.td").read_text()
    (folder / "Chips.td").write_text(text.replace('Memory<"global", "', 'Memory<"global", "nowhere', 1))
    run("cmake", "-B", folder / "build", f"-DCMAKE_PREFIX_PATH={prefix}", "-S", folder)
    result = subprocess.run(["cmake", "--build", folder / "build"], capture_output=True, text=True)
    assert result.returncode != 0
    message = result.stdout + result.stderr
    assert re.search(r"Chips\.td:\d+:\d+: error: chip '\w+': memory 'global' belongs to level 'nowhere\w+', which field "
                     r"'levels' does not have; name one of its levels \(", message), message


def test_lines_of_a_scratchpad_chip(projects):
    """A project that runs fused layers: at most 250 lines, 120 of them not the scaffolder's."""
    folder = projects("scratchpad")[0]
    report = json.loads(run(sys.executable, SOURCE / "scripts/vendor-lines.py", folder, "--kind", "scratchpad", "--json"))
    assert report["lines"] <= 250 and report["own_lines"] == 0, report


#: One more matrix unit, as a vendor adds it to an existing target: the record, and its name in the list of units.
UNIT = """
defvar A16x32 = Layout<[[0, 16], [1, 0], [2, 0], [4, 0], [8, 0]], [[0, 1], [0, 2], [0, 4], [0, 8]]>;
defvar B32x8 = Layout<[[1, 0], [2, 0], [4, 0], [8, 0], [16, 0]], [[0, 1], [0, 2], [0, 4]]>;
def mma_16x8x32_i8 : MatrixUnit<16, 8, 32> {
  let scope = Group<"subgroup", 1>;
  let a = Operand<i8, InRegisters<A16x32>>;
  let b = Operand<i8, InRegisters<B32x8>>;
  let c = Operand<i32, InRegisters<C16x8>>;
  let issue = Cycles<8>; let latency = Cycles<25>; let source = Guess<"as for f16">;
  let emit = ExternalCall<"acme_mma_16x8x32_i8", ["A", "B", "C"]>;
}
"""

INT8 = """func.func @gemm(%a: tensor<40x64xi8>, %b: tensor<64x24xi8>, %c: tensor<40x24xi32>) -> tensor<40x24xi32> {
  %d = linalg.matmul ins(%a, %b : tensor<40x64xi8>, tensor<64x24xi8>) outs(%c : tensor<40x24xi32>) -> tensor<40x24xi32>
  return %d : tensor<40x24xi32>
}
"""


MIXED = """func.func @gemm(%a: tensor<40x64xi8>, %b: tensor<64x24xi8>, %c: tensor<40x24xi32>) -> tensor<40x24xi32> {
  %d = linalg.generic {indexing_maps = [affine_map<(i, j, k) -> (i, k)>, affine_map<(i, j, k) -> (k, j)>, affine_map<(i, j, k) -> (i, j)>],
                       iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%a, %b : tensor<40x64xi8>, tensor<64x24xi8>) outs(%c : tensor<40x24xi32>) {
  ^bb0(%u: i8, %v: i8, %s: i32):
    %x = arith.extsi %u : i8 to i32
    %y = arith.extui %v : i8 to i32
    %p = arith.muli %x, %y : i32
    %r = arith.addi %s, %p : i32
    linalg.yield %r : i32
  } -> tensor<40x24xi32>
  return %d : tensor<40x24xi32>
}
"""


def test_one_more_unit_is_one_record(projects, prefix, precompiled, tmp_path):
    """At most 12 lines in one file of the vendor; the compiler takes the unit, and the emulator executes it."""
    folder = tmp_path / "project"
    shutil.copytree(projects("simt")[0], folder, ignore=shutil.ignore_patterns("build"))
    records = folder / "MatrixUnits.td"
    text = records.read_text()
    listed = "// What Chips.td gives"
    changed = text.replace(listed, UNIT + "\n" + listed).replace("[mma_16x8x16_f16,", "[mma_16x8x32_i8, mma_16x8x16_f16,")
    assert changed.count("mma_16x8x32_i8") == 3
    records.write_text(changed)
    report = json.loads(run(sys.executable, SOURCE / "scripts/vendor-lines.py", folder, "--kind", "simt", "--json"))
    assert report["own_lines"] <= 12 and list(report["own_files"]) == ["MatrixUnits.td"], report
    # Beside it one of mixed signs, for the products that have them the other way round.
    mixed = UNIT[UNIT.index("def "):].replace("32_i8", "32_u8").replace("i8, InRegisters<A16x32>", "u8, InRegisters<A16x32>")
    records.write_text(changed.replace(listed, mixed + "\n" + listed).replace("Units = [", "Units = [mma_16x8x32_u8, "))
    run("cmake", "-B", folder / "build", *RELEASE, f"-DCMAKE_PREFIX_PATH={prefix}", "-S", folder, env=precompiled)
    run("cmake", "--build", folder / "build")
    program = tmp_path / "int8.mlir"
    program.write_text(INT8)
    options = [program, f"--load-target={plugin_of(folder)}", "--target", NAME]
    explained = run(prefix / "bin/tw-compile", *options, "--explain")
    assert f"{NAME}.mma_16x8x32_i8" in explained, explained
    assert "largest" in run(prefix / "bin/tw-run", *options, "--device", "emulator", "--modes", "--verify")
    program.write_text(MIXED)
    explained = run(prefix / "bin/tw-compile", *options, "--explain")
    assert f'unit "{NAME}.mma_16x8x32_u8" takes them with A and B exchanged' in explained, explained


def test_example_against_the_installation(prefix, precompiled, tmp_path):
    """examples/arm-sme as its vendor builds it: a copy of the folder, find_package, ctest. test_arm_sme.py has the conformance of all
    units, here it is that of one outside of the full mode."""
    folder = tmp_path / "arm-sme"
    shutil.copytree(SOURCE / "examples/arm-sme", folder, ignore=shutil.ignore_patterns("build"))
    build = folder / "build"
    some = [] if FULL else ["-DTILEWRIGHT_CONFORMANCE_OPTIONS=--filter;unit/*f32*;--filter;epilogue/*f32*"]
    run("cmake", "-S", folder, "-B", build, *RELEASE, f"-DCMAKE_PREFIX_PATH={prefix}", *some, env=precompiled)
    assert str(prefix) in (build / "CMakeCache.txt").read_text().split("Tilewright_DIR:PATH=")[1].splitlines()[0]
    run("cmake", "--build", build, "--parallel", "2")
    output = run("ctest", "--test-dir", build, "--output-on-failure", timeout=600)
    assert re.search(r"100% tests passed, 0 tests failed out of 2", output) and "sme-lit" in output, output


def test_plugins_by_path(projects, prefix):
    """TILEWRIGHT_TARGET_PATH with two folders, one of them empty of plugins; names that nobody has."""
    folder = plugin_of(projects("simd")[0]).parent
    environment = {"TILEWRIGHT_TARGET_PATH": f"{prefix / 'bin'}:{folder}"}
    assert f"{NAME}:{NAME}1" in run(prefix / "bin/tw-targets", env=environment)
    layer = projects("simd")[0] / "test/layer.mlir"
    assert "verify" in run(prefix / "bin/tw-run", layer, "--target", f"{NAME}:{NAME}1", "--verify", env=environment)
    message = run(prefix / "bin/tw-run", layer, "--target", "acne", env=environment, expect=1)
    assert f"did you mean '{NAME}'" in message


EMBED = """cmake_minimum_required(VERSION 3.25)
project(Embed LANGUAGES C CXX)
find_package(Tilewright REQUIRED)
add_subdirectory({folder} target)
add_executable(embed main.cpp)
set_target_properties(embed PROPERTIES CXX_STANDARD 20)
target_compile_options(embed PRIVATE -fno-exceptions)
target_link_libraries(embed PRIVATE Tilewright::Tilewright)
tilewright_link_targets(embed acme)
"""

EMBED_MAIN = """#include "tilewright/Target.h"
#include <cstdio>
int main() {
  tilewright::registerLinkedTargets();
  auto chip = tilewright::TargetRegistry::get().describe("acme");
  if (!chip)
    return 1;
  for (const tilewright::MatrixUnit &unit : (*chip)->units())
    std::printf("%s has %s\\n", (*chip)->chip().str().c_str(), unit.name.c_str());
}
"""


def test_target_linked_in(projects, prefix, tmp_path):
    """A program of the vendor links the target and the compiler."""
    (tmp_path / "CMakeLists.txt").write_text(EMBED.format(folder=projects("simd")[0]))
    (tmp_path / "main.cpp").write_text(EMBED_MAIN)
    run("cmake", "-S", tmp_path, "-B", tmp_path / "build", f"-DCMAKE_PREFIX_PATH={prefix}")
    run("cmake", "--build", tmp_path / "build", "--target", "embed")
    assert run(tmp_path / "build/embed") == f"{NAME}1 has {NAME}.fma_f32\n"


def test_target_in_the_build(projects, tmp_path):
    """TILEWRIGHT_TARGETS takes a folder: the commands of such a build have the target. Configured and planned, not built."""
    listing = f"-DTILEWRIGHT_TARGETS=cpu;{NAME}={projects('simd')[0]}"
    run("cmake", "-G", "Ninja", "-S", SOURCE, "-B", tmp_path, listing, "-DTILEWRIGHT_BUILD_TESTS=OFF")
    assert f"add(tilewrightTarget_{NAME}());" in (tmp_path / "core/Tools/tilewright-linked-targets-targets.cpp").read_text()
    plan = run("ninja", "-C", tmp_path, "-t", "commands", "tw-run")
    assert f"-target={NAME}" in plan and f"libtilewright-target-{NAME}.a" in plan and "targets/nvidia" not in plan


def test_package_version(prefix, tmp_path):
    """Another minor version is not this one; the package says its plugin interface."""
    lines = "cmake_minimum_required(VERSION 3.25)\nproject(Version LANGUAGES NONE)\n"
    (tmp_path / "CMakeLists.txt").write_text(
        lines + "find_package(Tilewright ${VERSION} REQUIRED)\nmessage(STATUS \"API ${TILEWRIGHT_TARGET_API_VERSION}\")\n")
    configure = ["cmake", "-S", tmp_path, "-B", tmp_path / "build", f"-DCMAKE_PREFIX_PATH={prefix}"]
    header = (SOURCE / "core/include/tilewright/Target.h").read_text()
    api = re.search(r"targetApiVersion = (\d+);", header).group(1)
    assert f"API {api}\n" in run(*configure, "-DVERSION=0.1")
    assert "compatible with requested version" in run(*configure, "-DVERSION=0.2", expect=1)


def test_plugin_of_the_previous_version(tool):
    """The plugin built against the frozen headers of the version before is refused with both numbers (docs/api-changes.md);
    when the version has grown, scripts/freeze-api.sh takes the headers anew."""
    def version(path):
        return int(re.search(r"targetApiVersion = (\d+);", (SOURCE / path).read_text()).group(1))

    current = version("core/include/tilewright/Target.h")
    assert version("test/plugins/previous/tilewright/Target.h") == current - 1, "run scripts/freeze-api.sh"
    plugin = BUILD / "test/plugins/previous/libtilewright-target-previous.so"
    message = run(BUILD / "bin/tw-targets", f"--load-target={plugin}", expect=1)
    assert f"it was built for target API version {current - 1}, this build has version {current};" in message
    rows = re.findall(r"^\| (\d+) \|", (SOURCE / "docs/api-changes.md").read_text(), re.MULTILINE)
    assert [int(row) for row in rows] == list(range(current, 0, -1)), "docs/api-changes.md has one row for each version"


@pytest.mark.parametrize("name, why", [
    ("2fast", "it must be an identifier"), ("acme-npu", "it must be an identifier"), ("", "it must be an identifier"),
    ("a__b", "it must not have '__'"), ("class", "it is a word of C++"), ("cpu", "has a target of that name already")])
def test_names_that_are_refused(tool, tmp_path, name, why):
    result = subprocess.run([BUILD / "bin/tw-new-target", name, "--kind", "simd", "--dir", tmp_path / "new"],
                            capture_output=True, text=True)
    assert result.returncode == 1 and why in result.stderr, result
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize("options, what", [([], "the kind of chip is missing"), (["--kind=gpu"], "unknown kind of chip 'gpu'")])
def test_kinds_are_listed(tmp_path, options, what):
    result = subprocess.run([BUILD / "bin/tw-new-target", NAME, "--dir", tmp_path / "new", *options], capture_output=True, text=True)
    assert result.returncode == 1 and f"error: {what}; expected --kind simd (" in result.stderr, result
    assert all(f"--kind {kind} (" in result.stderr for kind in KINDS) and not (tmp_path / "new").exists(), result


def test_what_a_scaffold_does_not_do_yet_is_said(projects, prefix, tmp_path):
    """A SIMT chip whose code is this machine's by its triple: its launches have the emulator, and no image before a hook makes one."""
    folder = projects("simt")[0]
    options = [folder / "test/gemm.mlir", f"--load-target={plugin_of(folder)}", "--target", NAME]
    message = run(prefix / "bin/tw-run", *options, "--sizes=4,4,4", expect=1)
    assert f"'{NAME}:{NAME}1' does not run here: its programs are launches; run it with --device emulator, or with --device exec:PROG" in message
    message = run(prefix / "bin/tw-compile", *options, "-o", tmp_path / "gemm.tw", expect=1)
    assert f"no code could be written: target '{NAME}' names no kinds of code; override imageKinds() and image()" in message


def test_where_tests_of_a_scaffold_run(projects, prefix, tmp_path):
    """One variable moves programs and conformance to a device; what may be refused is said, and that is nothing."""
    build, device = tmp_path / "build", "exec:false 'my server'"
    run("cmake", "-S", projects("simd")[0], "-B", build, f"-DCMAKE_PREFIX_PATH={prefix}", f"-DTILEWRIGHT_DEVICE={device}")
    said = run("ctest", "--test-dir", build, "-N", "-V")
    assert f'"--device={device}" "--quick" "--max-refused=0"' in said, said
    (build / "lib/tilewright").mkdir(parents=True, exist_ok=True)
    shutil.copy(plugin_of(projects("simd")[0]), build / "lib/tilewright")
    said = run("/usr/lib/llvm-22/bin/lit", "-a", build / "lit", "--filter", "copy", expect=1)
    assert "the device 'false 'my server''" in said, said


#: Paths of pages that are no file of the tree: those of the project that bring-up.md makes, and placeholders.
OTHER_PATHS = re.compile(r"docs/bring-up.md test/|docs/testing.md test/(fuzz/corpus/NAME|integration/test_|lit/Transforms/FOLDER/)")


def test_paths_that_pages_cite(prefix):
    """Each exists in the source tree; examples, templates and what a vendor is told to use also in an installation (docs/README.md)."""
    places = {"examples": "share/tilewright", "templates": "share/tilewright", "dialects": "include/tilewright"}
    cited = {(page.relative_to(SOURCE).as_posix(), path) for page in (SOURCE / "docs").rglob("*.md") for path in re.findall(
        r"(?<![\w/.\-@])(?:\.\./)*((?:examples|templates|scripts|test|core|targets|dialects|cmake|python)/[\w./-]*\w)", page.read_text())}
    cited = {(page, path) for page, path in cited if not OTHER_PATHS.match(f"{page} {path}")}
    assert len(cited) > 100
    missing = {(page, path) for page, path in cited if not (SOURCE / path).exists()}
    for page, path in cited:
        place = "share/tilewright" if path == "scripts/vendor-lines.py" else places.get(path.split("/")[0])
        if place and not (prefix / place / path).exists():
            missing.add((page, f"installed {path}"))
    assert not missing
    report = json.loads(run(sys.executable, prefix / "share/tilewright/scripts/vendor-lines.py", prefix / "share/tilewright/examples/power",
                            "--json"))
    assert report["lines"] > 0


def test_folders_that_are_refused(tmp_path):
    def attempt(folder, *more):
        return subprocess.run([BUILD / "bin/tw-new-target", NAME, "--kind", "simd", "--dir", folder, *more],
                              capture_output=True, text=True)

    (tmp_path / "used").mkdir()
    (tmp_path / "used/note").write_text("mine")
    result = attempt(tmp_path / "used")
    assert result.returncode == 1 and "is not empty (it has 'note'); nothing was written" in result.stderr, result
    assert os.listdir(tmp_path / "used") == ["note"]
    result = attempt(tmp_path / "used/note")
    assert result.returncode == 1 and "is a file; --dir takes a folder" in result.stderr, result
    (tmp_path / "empty").mkdir()
    assert attempt(tmp_path / "empty").returncode == 0
    result = attempt(pathlib.Path("/proc/nothing/new"))
    assert result.returncode == 1 and "cannot make the folder '/proc/nothing/new" in result.stderr, result


def test_lines_of_targets():
    """The GPU targets stay small; the script fails by itself where they do not. So does the template of a scratchpad chip."""
    report = json.loads(run(sys.executable, SOURCE / "scripts/vendor-lines.py", "--json"))
    assert 0 < report["templates/accelerator"] <= 250, report
    assert all(report[f"targets/{name} without .td"] <= 1500 for name in ("amd", "nvidia")), report


def test_a_unit_that_this_machine_does_not_have(projects, prefix, precompiled, tmp_path):
    """A chip that LLVM does not know runs on this machine but for its own instructions: the message says where they can run."""
    folder = tmp_path / "project"
    shutil.copytree(projects("simd")[0], folder, ignore=shutil.ignore_patterns("build"))
    units = folder / "MatrixUnits.td"
    text = units.read_text()
    record = """def mm_2x4x8_i8 : MatrixUnit<2, 4, 8> {
  let a = Operand<i8, VectorRegister<RowMajor>>;
  let b = Operand<i8, VectorRegister<ColumnMajor>>;
  let c = Operand<i32, VectorRegister<RowMajor>>;
  let issue = Cycles<2>; let latency = Cycles<6>; let source = Guess<"a chip that exists on paper">;
  let emit = ExternalCall<"acme_mm_2x4x8_i8", ["C", "A", "B"]>;
}
"""
    units.write_text(text.replace("defvar Units = [", record + "defvar Units = [mm_2x4x8_i8, "))
    run("cmake", "-S", folder, "-B", folder / "build", *RELEASE, f"-DCMAKE_PREFIX_PATH={prefix}", env=precompiled)
    run("cmake", "--build", folder / "build")
    load = f"--load-target={plugin_of(folder)}"
    program = tmp_path / "gemm.mlir"
    program.write_text("""func.func @gemm(%a: tensor<40x64xi8>, %b: tensor<64x24xi8>, %c: tensor<40x24xi32>) -> tensor<40x24xi32> {
      %d = linalg.matmul ins(%a, %b : tensor<40x64xi8>, tensor<64x24xi8>) outs(%c : tensor<40x24xi32>) -> tensor<40x24xi32>
      return %d : tensor<40x24xi32>
    }""")
    common = [load, "--target", NAME]
    assert ("the code calls 'acme_mm_2x4x8_i8', which this machine does not have; functions that records name in an ExternalCall "
            "are on their chip: run the program by the records (--device model)"
            ) in run(prefix / "bin/tw-run", program, *common, "--verify", expect=1)
    assert "largest error 0.00e+00" in run(prefix / "bin/tw-run", program, *common, "--device", "model", "--verify")
    report = json.loads(run(prefix / "bin/tw-conformance", *common, "--filter=unit/*mm_2x4x8*", "--json"))
    case = next(case for case in report["cases"] if case["name"].endswith("/run"))
    assert case["status"] == "skipped" and "'acme_mm_2x4x8_i8', which this machine does not have" in case["message"], report
