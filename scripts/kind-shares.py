#!/usr/bin/env python3
"""How many lines of the passes and cost models only one kind of chip executes: docs/kind-shares.md.

    cmake --preset release -B build/coverage -DTILEWRIGHT_COVERAGE=ON -DTILEWRIGHT_BUILD_TESTS=OFF -DCMAKE_CXX_FLAGS_RELEASE="-O1 -DNDEBUG"
    ninja -C build/coverage tw-compile tw-conformance tilewright-target-accelerator
    build/venv/bin/python scripts/kind-shares.py build/coverage              prints the tables
    build/venv/bin/python scripts/kind-shares.py build/coverage --write      writes the page too

Compiles, for the chips of each kind, the same programs with a build that counts, and merges what lines ran. The programs are those that
the test suite compiles, thinned out: every fourth of the quick conformance run, the examples, the whole programs of
test/integration/lane_programs, and what test/integration/kind_programs.py takes of the other files of tests: products and convolutions of
all types, orders, epilogues and dynamic sizes, attention with and without masks, soft-max, norms, losses, fused nests, single operations,
random programs. Floating-point contracts and numbers of threads change from one program to the next. Tests of single passes (test/lit,
test/unit) are left out: they name their chip. Which kind a chip is, is a reading of its machine graph (what a core works on): caches, lanes
that share a scratchpad, or a scratchpad that engines fill.
"""

import argparse
import collections
import concurrent.futures
import itertools
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "kind-shares.md"
#: The chips of each kind. Two of a kind where their units differ in form.
CHIPS = {"cpu": ["cpu:zen4", "cpu:sapphire-rapids"], "simt": ["nvidia:H200", "amd:MI300X"], "scratchpad": ["accelerator:npu"]}
KINDS = list(CHIPS)
FOLDERS = ["core/Transforms", "core/CostModel"]
#: Folders of core/Transforms that write code for one way of executing: no part of the share.
LEFT_OUT = ("core/Transforms/Lower/", "core/Transforms/Host/")
#: At most this share of the executed lines, of one kind alone.
GOAL = 0.15
#: Options of one program after the other, and how long one compilation may take.
SETTINGS = [[], ["--fp=strict"], ["--threads=4"], ["--fp=reproducible", "--threads=2"]]
SECONDS = 120


def tool(name: str) -> str:
    for candidate in (f"{name}-22", name):
        if path := shutil.which(candidate):
            return path
    sys.exit(f"kind-shares: {name} is not installed; LLVM has it")


def run(command: list, **options) -> str:
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, **options)
    if done.returncode:
        sys.exit(f"kind-shares: {' '.join(map(str, command))}\n{done.stderr}")
    return done.stdout


def programs_in(build: pathlib.Path, folder: pathlib.Path) -> list[pathlib.Path]:
    """The programs that are compiled; those that are made are written to `folder`."""
    cases, made = folder / "conformance", folder / "tests"
    run([build / "bin" / "tw-conformance", "--target", "cpu:zen4", "--list", "--keep", cases],
        env={**os.environ, "LLVM_PROFILE_FILE": os.devnull})
    made.mkdir()
    run([sys.executable, ROOT / "test/integration/kind_programs.py", made], env={**os.environ, "TILEWRIGHT_BUILD": str(build)})
    return [*sorted(cases.glob("*.mlir"))[::4], *sorted(made.glob("*.mlir")), *sorted((ROOT / "examples").glob("*.mlir")),
            *sorted((ROOT / "test/integration/lane_programs").glob("*.mlir"))]


def compiles(command: list, output: pathlib.Path, environment: dict) -> bool:
    """Whether a program is compiled; what a kind refuses, or takes too long for, ran passes, too."""
    try:
        return not subprocess.run([str(word) for word in command], capture_output=True, env=environment, timeout=SECONDS).returncode
    except subprocess.TimeoutExpired:
        print(f"kind-shares: no end after {SECONDS} s, not counted: {' '.join(map(str, command))}", file=sys.stderr)
        return False
    finally:
        output.unlink(missing_ok=True)


def profile_of(build: pathlib.Path, kind: str, programs: list[pathlib.Path], folder: pathlib.Path, jobs: int) -> tuple[pathlib.Path, int]:
    """The merged profile of all programs for the chips of a kind, and how many compilations there were."""
    raw = folder / kind
    raw.mkdir()
    environment = {**os.environ, "LLVM_PROFILE_FILE": str(raw / "%4m.profraw"), "TILEWRIGHT_TARGET_PATH": str(build / "lib/tilewright")}
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        done = []
        for chip in CHIPS[kind]:
            for (number, program), setting in zip(enumerate(programs), itertools.cycle(SETTINGS)):
                output = folder / f"{chip.replace(':', '-')}-{number}.ll"
                command = [build / "bin" / "tw-compile", program, "--target", chip, *setting, "-o", output]
                done.append(pool.submit(compiles, command, output, environment))
        compiled = sum(each.result() for each in done)
    merged = folder / f"{kind}.profdata"
    run([tool("llvm-profdata"), "merge", "-o", merged, *raw.glob("*.profraw")])
    return merged, compiled


def source_of(path: str) -> str:
    """`path` below the root, if it is a file of FOLDERS; else empty, as for headers that a build generates."""
    name = os.path.relpath(path, ROOT) if os.path.isabs(path) else path
    return name if name.startswith(tuple(folder + "/" for folder in FOLDERS)) and (ROOT / name).is_file() else ""


def lines_in(text: str) -> tuple[set, set]:
    """(all lines, executed lines) of FOLDERS in a report of llvm-cov, as (file, line)."""
    known, executed, name = set(), set(), ""
    for line in text.splitlines():
        if line.startswith("SF:"):
            name = source_of(line[3:])
        elif line.startswith("DA:") and name:
            number, count = line[3:].split(",")[:2]
            known.add((name, int(number)))
            if int(count):
                executed.add((name, int(number)))
    return known, executed


def lines_of(build: pathlib.Path, profile: pathlib.Path) -> tuple[set, set]:
    return lines_in(run([tool("llvm-cov"), "export", "-format=lcov", f"-instr-profile={profile}", build / "lib" / "libTilewright.so"]))


def folder_of(name: str) -> str:
    parts = name.split("/")
    return "/".join(parts[:3])


def column_of(kinds: frozenset) -> str:
    return {0: "none", 1: "".join(kinds), len(KINDS): "all"}.get(len(kinds), "two")


COLUMNS = [*KINDS, "two", "all", "none"]


def share_of(counts: collections.Counter) -> float:
    executed = sum(counts[column] for column in COLUMNS if column != "none")
    return sum(counts[kind] for kind in KINDS) / executed if executed else 0.0


def table(rows: dict[str, collections.Counter], first: str) -> list[str]:
    heads = [first, *(f"only {kind}" for kind in KINDS), "two kinds", "all kinds", "none", "share of one kind"]
    lines = ["| " + " | ".join(heads) + " |", "|" + "---|" * len(heads)]
    for name, counts in rows.items():
        cells = [name, *(f"{counts[column]:,}" for column in COLUMNS), f"{100 * share_of(counts):.0f} %"]
        lines.append("| " + " | ".join(cells) + " |")
    return lines


def page_of(executed: dict[str, set], known: set, compiled: dict[str, int]) -> str:
    folders, files = collections.defaultdict(collections.Counter), collections.defaultdict(collections.Counter)
    total, outside = collections.Counter(), collections.Counter()
    for name, line in sorted(known):
        column = column_of(frozenset(kind for kind in KINDS if (name, line) in executed[kind]))
        left_out = name.startswith(LEFT_OUT)
        folders[folder_of(name)][column] += 1
        (outside if left_out else total)[column] += 1
        if not left_out:
            files[name][column] += 1
    rows = {f"`{name}`": folders[name] for name in sorted(folders) if not (name + "/").startswith(LEFT_OUT)}
    rows["**all of these**"] = total
    rows |= {f"`{name}` (not counted)": folders[name] for name in sorted(folders) if (name + "/").startswith(LEFT_OUT)}
    single = sorted(files, key=lambda name: -max(files[name][kind] for kind in KINDS))[:20]
    chips = "; ".join(f"{kind}: {', '.join(f'`{chip}`' for chip in CHIPS[kind])}, {compiled[kind]} programs compiled" for kind in KINDS)
    return "\n".join([
        "# Which lines one kind of chip executes", "",
        "How much of the passes and cost models is written for one kind of chip alone? Generated by `scripts/kind-shares.py`, which says how;",
        "a line counts if it was executed while the programs, some of each file of the test suite that compiles whole ones, were compiled for",
        f"a chip of that kind ({chips}).",
        "*Cpu* chips have caches, *simt* chips lanes that share a scratchpad, *scratchpad* chips engines that fill one.", "",
        f"The goal is at most {100 * GOAL:.0f} % of the executed lines in the share of one kind, without `Lower/` and `Host/`. It is "
        f"**{100 * share_of(total):.0f} %**.", "", "## By folder", "", *table(rows, "folder"), "", "## The largest parts of one kind", "",
        "The files with most lines that only one kind executes:", "", *table({f"`{name}`": files[name] for name in single}, "file"), ""])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=pathlib.Path, help="a build with -DTILEWRIGHT_COVERAGE=ON")
    parser.add_argument("--write", action="store_true", help="write docs/kind-shares.md")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="compilations at a time")
    arguments = parser.parse_args()
    cache = (arguments.build / "CMakeCache.txt").read_text()
    if not re.search(r"^TILEWRIGHT_COVERAGE:BOOL=(ON|1|TRUE)$", cache, re.M):
        sys.exit(f"kind-shares: {arguments.build} does not count lines; configure it with -DTILEWRIGHT_COVERAGE=ON")
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        programs = programs_in(arguments.build, folder / "programs")
        executed, compiled, known = {}, {}, set()
        for kind in KINDS:
            profile, compiled[kind] = profile_of(arguments.build, kind, programs, folder, arguments.jobs)
            lines, executed[kind] = lines_of(arguments.build, profile)
            known |= lines
    page = page_of(executed, known, compiled)
    print(page)
    if arguments.write:
        PAGE.write_text(page)


if __name__ == "__main__":
    main()
