"""Random tensor programs against NumPy.

A seed gives a program: its MLIR text, its inputs, and its outputs as this package computes them in float64 with the
roundings of the storage types, each with an error bound that is carried along with the values (running error analysis:
an operation adds the unit roundoff of its type times the magnitude, reductions add that of the accumulator times the sum
of magnitudes). `tw-run` compiles and runs the text; an output is wrong where it differs by more than its bound.
Comparisons and conversions to integers whose outcome the bound leaves open are not compared. Every fifth program has one of the
8-bit floats among its types.

    python -m random_programs --seeds 0:150              what CI runs
    python -m random_programs --seeds 0:2000             full mode
    python -m random_programs --seeds 0:30 --small -- --target nvidia:A100 --device emulator
    python -m random_programs --seeds 0:500 --rows -- --target amd:MI300X --device emulator --modes
    python -m random_programs --seeds 0:300 --windows -- --target amd:MI300X --device emulator --modes
    python -m random_programs --seeds 17:18 --keep DIR   leaves the program and its arrays there
"""

import argparse
import concurrent.futures
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

from random_programs.program import Program
from random_programs.rows import Rows
from random_programs.values import compare, load, save
from random_programs.windows import Windows

#: Lines of tw-run that say what is wrong: messages, wrong elements, findings of the emulator.
REASON = re.compile(r"error:|WRONG|: kernel \S+, ")
FAMILIES = {"any": Program, "rows": Rows, "windows": Windows}


def run_seed(seed, tool, options, keep=None, small=False, family="any"):
    """None if the program of `seed` is right, else the reason."""
    program = FAMILIES[family](seed, small)
    folder = pathlib.Path(keep) / str(seed) if keep else pathlib.Path(tempfile.mkdtemp(prefix="tw-random-"))
    folder.mkdir(parents=True, exist_ok=True)
    try:
        source = folder / "program.mlir"
        source.write_text(program.text)
        command = [tool, str(source)] + options + program.options
        suffix = lambda v: ".bf16.npy" if v.kind == "bf16" else ".npy"
        for index, value in enumerate(program.inputs):
            path = folder / f"in{index}{suffix(value)}"
            save(path, value)
            command += ["--input", str(path)]
        paths = [folder / f"out{i}{suffix(v)}" for i, v in enumerate(program.outputs)]
        for path in paths:
            command += ["--output", str(path)]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=120)
        except subprocess.TimeoutExpired:
            return "no end after 120 s"
        if done.returncode != 0:
            lines = [line for line in (done.stderr + done.stdout).splitlines() if line.strip()]
            lines = [line for line in lines if REASON.search(line)] or lines
            return f"exit status {done.returncode}: " + (lines[0] if lines else "")
        for index, (path, value) in enumerate(zip(paths, program.outputs)):
            reason = compare(load(path, value), value)
            if reason:
                return f"output {index} ({value.type()}): {reason}"
        return None
    finally:
        if not keep:
            shutil.rmtree(folder, ignore_errors=True)


def default_tool():
    build = pathlib.Path(os.environ.get("TILEWRIGHT_BUILD", pathlib.Path(__file__).parents[3] / "build" / "release"))
    return str(build / "bin" / "tw-run")


def main():
    parser = argparse.ArgumentParser(prog="python -m random_programs", description=__doc__.split("\n")[0])
    parser.add_argument("--seeds", default="0:300", help="first:last (excluded)")
    parser.add_argument("--tool", default=default_tool())
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--keep", help="folder that keeps programs and arrays")
    parser.add_argument("--small", action="store_true", help="few operations on few elements")
    kinds = parser.add_mutually_exclusive_group()
    for name, what in (("rows", "chains of nests over the same rows"), ("windows", "products that read their operands in every order")):
        kinds.add_argument(f"--{name}", dest="family", action="store_const", const=name, default="any", help=what)
    parser.add_argument("--print", action="store_true", help="print the programs and do not run them")
    parser.add_argument("options", nargs="*", help="further options of tw-run, after --")
    arguments = parser.parse_args()
    first, last = (int(x) for x in arguments.seeds.split(":"))
    if arguments.print:
        for seed in range(first, last):
            print(f"// seed {seed}\n{FAMILIES[arguments.family](seed, arguments.small).text}")
        return 0
    bad = 0
    family = (f" --{arguments.family}" if arguments.family != "any" else "") + (" --small" if arguments.small else "")
    further = " -- " + " ".join(arguments.options) if arguments.options else ""
    with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        work = {seed: pool.submit(run_seed, seed, arguments.tool, arguments.options, arguments.keep, arguments.small,
                                  arguments.family)
                for seed in range(first, last)}
        for seed, future in work.items():
            reason = future.result()
            if reason:
                bad += 1
                print(f"seed {seed}: {reason}\n  reproduce: python -m random_programs --seeds {seed}:{seed + 1}{family} --keep random-failures{further}",
                      flush=True)
    print(f"{last - first - bad} of {last - first} programs right")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
