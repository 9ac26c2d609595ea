#!/usr/bin/env python3
"""What `tw-compile --prove` proves of the conformance programs: one row of docs/trust.md for each chip.

    scripts/proofs.py BUILD [CHIP ...] [--every N] [--write]
"""

import argparse
import concurrent.futures
import json
import os
import pathlib
import re
import subprocess
import tempfile
import time

CHIPS = ("cpu:zen4", "nvidia:A100", "nvidia:H200", "amd:MI300X", "accelerator:npu")
PAGE = pathlib.Path(__file__).resolve().parents[1] / "docs/trust.md"
MARK = "<!-- written by scripts/proofs.py --write -->\n"
HEAD = """| chip | programs | bounds | written | awaited | free | all four | disproved | share of the seconds |
|---|---|---|---|---|---|---|---|---|
"""
PROPERTIES = ("bounds", "written", "awaited", "free")


def prove(build: pathlib.Path, chip: str, program: pathlib.Path, *options: str) -> dict | None:
    """The proof of one program, with the seconds of the whole compilation; None where the compiler refuses it. `options` are
    more of the command's."""
    begin = time.perf_counter()
    done = subprocess.run([build / "bin/tw-compile", program, "--target", chip, "--prove=json", *options, "-o", program.with_suffix(suffix(chip))],
                          capture_output=True, text=True, timeout=300, env=environment(build))
    if done.returncode:
        return None
    return {**json.loads(done.stdout), "total": time.perf_counter() - begin}


def suffix(chip: str) -> str:
    return ".o" if chip.startswith("cpu") else ".c" if chip.startswith("accelerator") else ".tw"


def environment(build: pathlib.Path) -> dict[str, str]:
    return {**os.environ, "TILEWRIGHT_TARGET_PATH": str(build / "lib/tilewright")}


def proofs(build: pathlib.Path, chip: str, every: int, *options: str) -> dict[str, dict | None]:
    """The proofs of each `every`-th conformance program, by name."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([build / "bin/tw-conformance", "--target", chip, "--list", "--keep", folder], check=True, capture_output=True,
                       env=environment(build))
        programs = sorted(pathlib.Path(folder).glob("*.mlir"))[::every]
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            return {program.stem: proof for program, proof in zip(programs, pool.map(lambda each: prove(build, chip, each, *options), programs))}


def row(chip: str, results: dict[str, dict | None]) -> str:
    known = [proof for proof in results.values() if proof]
    counts = [sum(proof[each]["verdict"] == "proved" for proof in known) for each in PROPERTIES]
    disproved = sum(proof[each]["verdict"] == "disproved" for proof in known for each in PROPERTIES)
    whole = sum(proof["holds"] for proof in known)
    share = sum(proof["seconds"] for proof in known) / sum(proof["total"] for proof in known)
    cells = [f"`{chip}`", len(known), *counts, f"{whole} ({100 * whole / len(known):.0f} %)", disproved, f"{100 * share:.0f} %"]
    return "| " + " | ".join(map(str, cells)) + " |"


def write(rows: list[str]) -> None:
    """Replaces the table behind the mark of the page."""
    before, after = PAGE.read_text().split(MARK)
    rest = after.lstrip("\n").split("\n\n", 1)[1]
    PAGE.write_text(before + MARK + "\n" + HEAD + "\n".join(rows) + "\n\n" + rest)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("chips", nargs="*", default=CHIPS)
    parser.add_argument("--every", type=int, default=1, help="take each N-th program")
    parser.add_argument("--reasons", action="store_true", help="list what is not proved")
    parser.add_argument("--write", action="store_true", help="write the table into docs/trust.md")
    arguments = parser.parse_args()
    rows = []
    for chip in arguments.chips:
        results = proofs(arguments.build.resolve(), chip, arguments.every)
        rows.append(row(chip, results))
        print(rows[-1], flush=True)
        if arguments.reasons:
            for name, proof in results.items():
                for message in sorted({re.sub(r"\d+", "N", f"{each['property']}: {each['message']}") for each in (proof or {"findings": []})["findings"]}):
                    print(f"    {name}: {message}")
    if arguments.write:
        write(rows)


if __name__ == "__main__":
    main()
