#!/usr/bin/env python3
"""What two builds make of the same programs for the scratchpad chip, as the emulator counts it: bytes, issues and clocks.

    scripts/emulated-clocks.py BEFORE AFTER [--only TEXT] [--keep FOLDER] [--plans] [--save COUNTS.json]

BEFORE and AFTER are build folders; BEFORE may be what an earlier run saved of its AFTER, with the same programs. The programs are those of the quick conformance run, products of the sizes, orders and forced plans that
the tests of scratchpads count, and nests of the clocks in docs/scratchpads.md. Prints what differs. The exit status is 1 where a build
moves other bytes of global memory, issues other unit instructions, has findings, or where AFTER takes more than 1.01 of the clocks in the
mean or 1.05 for one program. --plans prints what the plans of AFTER say of the clocks of nests, beside the counted ones. FOLDER keeps the
programs and their inputs: they are made if it is empty.
"""

import argparse
import concurrent.futures
import json
import math
import os
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[1]
CHIP = "accelerator:npu"
MOST_IN_MEAN, MOST = 1.01, 1.05
#: m, n, k, element of relu(A B + bias), and a forced plan.
PRODUCTS = [(1024, 1024, 1024, "i8", ""), (1000, 1000, 1000, "bf16", ""), (128, 128, 128, "i8", ""), (200, 96, 320, "bf16", ""),
            (512, 512, 512, "i8", ""), (32, 32, 32, "i8", ""), (256, 2048, 64, "bf16", ""), (64, 64, 4096, "i8", ""),
            (33, 1000, 70, "bf16", ""), (256, 64, 64, "bf16", "stages=2"), (130, 144, 48, "i8", "tile_m=64,tile_n=32,tile_k=32"),
            (72, 40, 1000, "bf16", "tile_m=32,tile_k=64"), (160, 192, 80, "i8", "tile_n=96"),
            (256, 256, 32, "i8", "tile_m=32,tile_n=32,tile_k=32,stages=3"), (256, 256, 256, "i8", "tile_m=32,tile_n=32,tile_k=32,stages=4")]


def environment(build: pathlib.Path) -> dict[str, str]:
    return {**os.environ, "TILEWRIGHT_TARGET_PATH": str(build / "lib/tilewright")}


def write_programs(build: pathlib.Path, folder: pathlib.Path) -> None:
    os.environ["TILEWRIGHT_BUILD"] = str(build)  # what the tests' helpers are told
    sys.path.insert(0, str(ROOT / "test" / "integration"))
    from scratchpads import gemm
    from test_dma_only import NESTS
    from test_scratchpad_copies import product
    subprocess.run([build / "bin/tw-conformance", "--target", CHIP, "--device", "emulator", "--quick", "--json", "--keep", folder],
                   stdout=subprocess.DEVNULL, env=environment(build))
    for m, n, k, element, force in PRODUCTS:
        _, alias, function = gemm(m, n, k, element).split("\n", 2)
        name = f"gemm_{m}x{n}x{k}_{element}_{force.replace(',', '_') or 'planned'}"
        (folder / f"{name}.mlir").write_text(f'{alias}\nmodule attributes {{tilewright.force = "{force}"}} {{\n{function}\n}}')
    for order in ("nn", "tn", "nt", "tt", "nnt"):
        for element in ("i8", "bf16"):
            for size in ((256, 256, 256), (50, 33, 70)):
                (folder / f"order_{order}_{'x'.join(map(str, size))}_{element}.mlir").write_text(product(*size, element, order))
    for name, text in NESTS.items():
        (folder / f"nest_{re.sub('[^a-z0-9]+', '_', name)}.mlir").write_text(text)


def inputs_of(program: pathlib.Path) -> list[str]:
    """The arguments of tw-run for the inputs that the conformance run kept."""
    groups: dict[str, dict[int, pathlib.Path]] = {}
    for path in sorted(program.parent.iterdir()):
        if path.name.startswith(program.stem + ".") and (match := re.fullmatch(r"(\w+)\.input(\d+)\..*", path.name[len(program.stem) + 1:])):
            groups.setdefault(match[1], {})[int(match[2])] = path
    chosen = groups.get("random") or next(iter(groups.values()), {})
    return [f"--input={chosen[number]}" for number in sorted(chosen)]


def count(build: pathlib.Path, program: pathlib.Path) -> dict:
    """The counters of all launches; `error` where there are none."""
    done = subprocess.run([build / "bin/tw-run", program, "--target", CHIP, "--device", "emulator", "--json", *inputs_of(program)],
                          capture_output=True, text=True, env=environment(build))
    try:
        emulation = json.loads(done.stdout)["emulation"]
    except (ValueError, KeyError):
        return {"error": (done.stderr or done.stdout).strip().splitlines()[:1]}
    kernels = emulation["kernels"]
    return {"clocks": sum(kernel["cycles"] for kernel in kernels), "findings": len(emulation["findings"]),
            "bytes": [[memory["read_bytes"], memory["written_bytes"]] for kernel in kernels for memory in kernel["memories"]
                      if memory["memory"] == "global"],
            "issues": [[unit["unit"], unit["issues"]] for kernel in kernels for unit in kernel["units"]],
            "cores": [kernel["blocks"] for kernel in kernels]}


def planned(build: pathlib.Path, program: pathlib.Path) -> float | None:
    """The clocks of one core that the plans of the program's nests say; None where something else is in it."""
    done = subprocess.run([build / "bin/tw-compile", program, "--target", CHIP, "--explain=json"], capture_output=True, text=True,
                          env=environment(build))
    decisions = json.loads(done.stdout or "[]")
    clocks = [one["choice"]["clocks"] for one in decisions if one["decision"] == "schedule-nest"]
    return sum(clocks) if clocks and not any(one["decision"] == "contraction" for one in decisions) else None


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("before", type=pathlib.Path)
    parser.add_argument("after", type=pathlib.Path)
    parser.add_argument("--only", default="", help="programs with this text in their names")
    parser.add_argument("--keep", type=pathlib.Path)
    parser.add_argument("--plans", action="store_true")
    parser.add_argument("--save", type=pathlib.Path)
    options = parser.parse_args()
    before, after = options.before.resolve(), options.after.resolve()
    with tempfile.TemporaryDirectory() as temporary, concurrent.futures.ThreadPoolExecutor(2) as pool:
        folder = options.keep or pathlib.Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        if not any(folder.glob("*.mlir")):
            write_programs(after, folder)
        programs = [path for path in sorted(folder.glob("*.mlir")) if options.only in path.name]
        saved = json.loads(before.read_text()) if before.is_file() else None
        counts = [[saved[program.stem] for program in programs] if saved and build == before else
                  list(pool.map(lambda program, build=build: count(build, program), programs)) for build in (before, after)]
        if options.save:
            options.save.write_text(json.dumps({program.stem: new for program, new in zip(programs, counts[1])}, indent=0))
        plans = list(pool.map(lambda program: planned(after, program), programs)) if options.plans else []
    ratios, wrong = {}, []
    for program, old, new in zip(programs, *counts):
        if "error" in old and "error" in new:
            continue
        compared = ["error"] if "error" in old or "error" in new else ["findings", "bytes", "issues"]
        differing = [what for what in compared if old.get(what) != new.get(what)]
        wrong += [f"{program.stem}: {what} {old.get(what)} before, {new.get(what)} after" for what in differing]
        if "clocks" in old and "clocks" in new and old["clocks"]:
            ratios[program.stem] = new["clocks"] / old["clocks"]
    changed = sorted((ratio, name) for name, ratio in ratios.items() if ratio != 1)
    mean = math.exp(sum(map(math.log, ratios.values())) / max(1, len(ratios)))
    print(f"{len(ratios)} programs, {len(changed)} with other clocks; mean of after / before {mean:.4f}, "
          f"from {min(ratios.values(), default=1):.3f} to {max(ratios.values(), default=1):.3f}")
    for line in [*(f"{ratio:.3f}  {name}" for ratio, name in changed), *wrong]:
        print(line)
    for program, new, plan in zip(programs, counts[1], plans):
        if plan is not None and "clocks" in new and len(set(new["cores"])) == 1:
            print(f"plan {plan / (new['clocks'] / new['cores'][0]):.3f} of the mean core  {program.stem}")
    return int(bool(wrong) or mean > MOST_IN_MEAN or max(ratios.values(), default=1) > MOST)


if __name__ == "__main__":
    sys.exit(main())
