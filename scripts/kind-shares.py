#!/usr/bin/env python3
"""How many lines of the passes and cost models only one kind of chip executes: docs/kind-shares.md.

    cmake --preset release -B build/coverage -DTILEWRIGHT_COVERAGE=ON -DTILEWRIGHT_BUILD_TESTS=OFF
    ninja -C build/coverage tw-compile tw-conformance tilewright-target-accelerator
    scripts/kind-shares.py build/coverage              prints the tables
    scripts/kind-shares.py build/coverage --write      writes the page too

Compiles the programs of the quick conformance run, the examples and the whole programs of test/integration/lane_programs
for the chips of each kind with a build that counts, and merges what lines ran. Which kind a chip is, is a reading of its machine
graph (what a core works on): caches, lanes that share a scratchpad, or a scratchpad that engines fill.
"""

import argparse
import collections
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
    """The programs that are compiled; those of the conformance run are written to `folder`."""
    run([build / "bin" / "tw-conformance", "--target", "cpu:zen4", "--list", "--keep", folder],
        env={**os.environ, "LLVM_PROFILE_FILE": os.devnull})
    return [*sorted(folder.glob("*.mlir")), *sorted((ROOT / "examples").glob("*.mlir")),
            *sorted((ROOT / "test/integration/lane_programs").glob("*.mlir"))]


def profile_of(build: pathlib.Path, kind: str, programs: list[pathlib.Path], folder: pathlib.Path) -> tuple[pathlib.Path, int]:
    """The merged profile of all programs for the chips of a kind, and how many compilations there were."""
    raw = folder / kind
    raw.mkdir()
    environment = {**os.environ, "LLVM_PROFILE_FILE": str(raw / "%4m.profraw"), "TILEWRIGHT_TARGET_PATH": str(build / "lib/tilewright")}
    compiled = 0
    for chip in CHIPS[kind]:
        for program in programs:
            output = ["-o", folder / "out.ll"] if kind != "scratchpad" else ["--explain=json"]
            done = subprocess.run([str(word) for word in [build / "bin" / "tw-compile", program, "--target", chip, *output]],
                                  capture_output=True, env=environment, timeout=600)
            compiled += done.returncode == 0  # what a kind refuses runs passes, too
    merged = folder / f"{kind}.profdata"
    run([tool("llvm-profdata"), "merge", "-o", merged, *raw.glob("*.profraw")])
    return merged, compiled


def lines_of(build: pathlib.Path, profile: pathlib.Path) -> tuple[set, set]:
    """(all lines, executed lines) of FOLDERS, as (file, line)."""
    text = run([tool("llvm-cov"), "export", "-format=lcov", f"-instr-profile={profile}", build / "lib" / "libTilewright.so"])
    known, executed, name = set(), set(), ""
    for line in text.splitlines():
        if line.startswith("SF:"):
            path = line[3:]
            name = next((path[path.rindex("/" + folder) + 1:] for folder in FOLDERS if "/" + folder + "/" in path), "")
            name = "" if name.endswith(".inc") else name  # generated
        elif line.startswith("DA:") and name:
            number, count = line[3:].split(",")[:2]
            known.add((name, int(number)))
            if int(count):
                executed.add((name, int(number)))
    return known, executed


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
    chips = "; ".join(f"{kind}: {', '.join(f'`{chip}`' for chip in CHIPS[kind])}, {compiled[kind]} compilations" for kind in KINDS)
    return "\n".join([
        "# Which lines one kind of chip executes", "",
        "How much of the passes and cost models is written for one kind of chip alone? Generated by `scripts/kind-shares.py`, which says how;",
        f"a line counts if it was executed while the programs were compiled for a chip of that kind ({chips}).",
        "*Cpu* chips have caches, *simt* chips lanes that share a scratchpad, *scratchpad* chips engines that fill one.", "",
        f"The goal is at most {100 * GOAL:.0f} % of the executed lines in the share of one kind, without `Lower/` and `Host/`. It is "
        f"**{100 * share_of(total):.0f} %**.", "", "## By folder", "", *table(rows, "folder"), "", "## The largest parts of one kind", "",
        "The files with most lines that only one kind executes:", "", *table({f"`{name}`": files[name] for name in single}, "file"), ""])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=pathlib.Path, help="a build with -DTILEWRIGHT_COVERAGE=ON")
    parser.add_argument("--write", action="store_true", help="write docs/kind-shares.md")
    arguments = parser.parse_args()
    cache = (arguments.build / "CMakeCache.txt").read_text()
    if not re.search(r"^TILEWRIGHT_COVERAGE:BOOL=(ON|1|TRUE)$", cache, re.M):
        sys.exit(f"kind-shares: {arguments.build} does not count lines; configure it with -DTILEWRIGHT_COVERAGE=ON")
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        programs = programs_in(arguments.build, folder / "programs")
        executed, compiled, known = {}, {}, set()
        for kind in KINDS:
            profile, compiled[kind] = profile_of(arguments.build, kind, programs, folder)
            lines, executed[kind] = lines_of(arguments.build, profile)
            known |= lines
    page = page_of(executed, known, compiled)
    print(page)
    if arguments.write:
        PAGE.write_text(page)


if __name__ == "__main__":
    main()
