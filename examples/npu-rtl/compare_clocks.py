#!/usr/bin/env python3
# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Clocks of programs as the RTL counts them, as the emulator does, and as the plans say.

    compare_clocks.py --library build/libnpu.so --plugin libtilewright-target-accelerator.so PROGRAM.mlir...

Prints one row for each program: clocks of all cores and launches together beside the emulator's; clocks of the slowest
core of each launch beside the emulator's and the plans' (of programs whose every launch has a plan); and the clocks in which
an engine or the core waited for a bank, as a part of all. The last rows are the median and the largest difference."""

import argparse
import json
import re
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
WAITS = ("core_waits", "copy_in_waits", "copy_out_waits", "array_waits")


def run(options, program, device):
    command = [options.tw_run, program, f"--load-target={options.plugin}", "--target", options.target, "--verify", "--json"]
    done = subprocess.run(command + ["--device", device], capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"compare_clocks: {program} on {device.split()[0]}: {(done.stderr or done.stdout).strip()[:2000]}")
    return json.loads(done.stdout)


def plans_of(options, program):
    """The clocks that the plan of each launch says, of its slowest core: of programs with vectors, as devices run them. Written
    out as C or LLVM IR they would have none, since the vendor's compiler makes them."""
    command = [options.tw_compile, program, f"--load-target={options.plugin}", "--target", options.target, "--explain=json"]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"compare_clocks: {program}: {done.stderr.strip()[:2000]}")
    choices = [decision["choice"] for decision in json.loads(done.stdout) if isinstance(decision.get("choice"), dict)]
    return [choice["clocks"] for choice in choices if "clocks" in choice]


def measure(options, program):
    """(RTL, emulator: clocks of all cores; RTL, emulator, plan or None: of the slowest core of each launch; bank conflicts)"""
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "log"
        run(options, program, f"exec:{HERE / 'device.py'} {options.library} {log}")
        launches = [[core for core in json.loads(line)["cores"]] for line in log.read_text().splitlines()]
    emulated = run(options, program, "emulator")["emulation"]["kernels"]
    plans = plans_of(options, program)
    return (sum(core["clocks"] for cores in launches for core in cores), sum(kernel["cycles"] for kernel in emulated),
            sum(max(core["clocks"] for core in cores) for cores in launches),
            sum(kernel["slowest_block_cycles"] for kernel in emulated),
            sum(plans) if len(plans) == len(launches) else None,
            sum(core[waits] for cores in launches for core in cores for waits in WAITS))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--library", type=Path, required=True, help="libnpu.so of build.sh")
    parser.add_argument("--plugin", type=Path, required=True)
    parser.add_argument("--target", default="accelerator:npu")
    parser.add_argument("--tw-run", default="tw-run")
    parser.add_argument("--tw-compile", default="tw-compile")
    parser.add_argument("--page", type=Path, help="write the table into this page instead of printing it")
    parser.add_argument("programs", nargs="+", type=Path)
    options = parser.parse_args()
    rows = ["| program | RTL, all cores | emulator | | RTL, slowest core | emulator | | plan | | bank conflicts |",
            "|---|---|---|---|---|---|---|---|---|---|"]
    off, off_slowest, off_plan = [], [], []
    for program in options.programs:
        rtl, emulated, slowest, emulated_slowest, plan, conflicts = measure(options, program)
        off.append(100 * (emulated / rtl - 1))
        row = f"| {program.stem} | {rtl:,} | {emulated:,.0f} | {off[-1]:+.1f} % | {slowest:,} | "
        off_slowest.append(100 * (emulated_slowest / slowest - 1))
        row += f"{emulated_slowest:,.0f} | {off_slowest[-1]:+.1f} % | "
        if plan is not None:
            off_plan.append(100 * (plan / slowest - 1))
            row += f"{plan:,.0f} | {off_plan[-1]:+.1f} % | "
        else:
            row += "- | - | "
        rows.append(row + f"{100 * conflicts / rtl:.1f} % |")
    for name, choose in (("median of the sizes", statistics.median), ("largest", max)):
        plans = f"{choose(list(map(abs, off_plan))):.1f} %" if off_plan else "-"
        rows.append(f"| {name} | | | {choose(list(map(abs, off))):.1f} % | | | "
                    f"{choose(list(map(abs, off_slowest))):.1f} % | | {plans} | |")
    table = "\n".join(rows) + "\n"
    if options.page:
        text, found = re.subn(r"(?m)^\| program \|.*\n(?:\|.*\n)*", lambda _: table, options.page.read_text(), count=1)
        if not found:
            sys.exit(f"compare_clocks: {options.page} has no table that begins with '| program |'")
        options.page.write_text(text)
    else:
        print(table, end="")


if __name__ == "__main__":
    main()
