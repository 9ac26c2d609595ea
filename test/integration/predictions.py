"""What tile programs say of launches beside what the emulator counts, of reports of tw-conformance --json: a row is one quantity of
one kernel of one case.

    for chip in nvidia:H200 amd:MI300X accelerator:npu; do tw-conformance --target $chip --device emulator --json > $chip.json; done
    python test/integration/predictions.py *.json              tables: how many kernels are equal, differ, or have no prediction
    python test/integration/predictions.py *.json --differing  and which differ
    python test/integration/predictions.py *.json --write      and the page docs/schedule-emission.md

With --plans DIR the page has a table of instructions, too. DIR/CHIP/CASE.json is what tw-compile --explain=json says of a program that
tw-conformance --keep wrote, where CHIP is a target with a dash for its colon:

    tw-conformance --target cpu:host --filter='contraction/*' --filter='epilogue/*' --keep=programs
    for file in programs/*.mlir; do
      tw-compile $file --target nvidia:H200 --explain=json > plans/nvidia-H200/$(basename $file .mlir).json
    done
"""

import argparse
import collections
import dataclasses
import fnmatch
import json
import pathlib

PAGE = pathlib.Path(__file__).resolve().parents[2] / "docs" / "schedule-emission.md"

#: Quantities that are compared: counters of memories and engines, units, and barriers of blocks.
QUANTITIES = ["blocks", "unit_issues", "unit_issue_cycles", "global_read_bytes", "global_written_bytes", "scratchpad_read_bytes",
              "scratchpad_written_bytes", "barriers", "commands"]


#: Kernels whose prediction may differ or be missing: patterns of target, case and quantity, and why.
EXCEPTIONS: list[tuple[str, str, str, str]] = []


@dataclasses.dataclass(frozen=True)
class Row:
    target: str
    case: str
    kernel: str
    quantity: str
    predicted: object  # None: nothing is predicted
    counted: object
    reason: str = ""  # why nothing is predicted

    @property
    def kind(self) -> str:
        return "unknown" if self.predicted is None else "equal" if self.predicted == self.counted else "differs"

    @property
    def exception(self) -> str:
        """Why it may differ; empty: it may not."""
        fields = self.target, self.case, self.quantity
        return next((reason for *patterns, reason in EXCEPTIONS if all(map(fnmatch.fnmatchcase, fields, patterns))), "")

    def __str__(self) -> str:
        return (f"{self.target} {self.case} {self.kernel}: predicted {self.quantity} {self.predicted}, counted {self.counted}"
                f"{f' ({self.reason})' if self.reason else ''}")


def counted_of(kernel: dict) -> dict:
    """The counters of a kernel under the names of predictions."""
    result = {"blocks": kernel["blocks"], "unit_issues": sum(unit["issues"] for unit in kernel["units"]),
              "unit_issue_cycles": sum(unit["issue_cycles"] for unit in kernel["units"]), "barriers": kernel.get("barriers", 0),
              "commands": {engine["engine"]: engine["commands"] for engine in kernel.get("engines", ())
                           if engine["engine"] != "core" and engine["commands"]}}
    for name in ("global", "scratchpad"):  # chips give their scratchpads names of their own
        memory = next((one for one in kernel["memories"] if (one["memory"] == "global") == (name == "global")), {})
        result[f"{name}_read_bytes"], result[f"{name}_written_bytes"] = memory.get("read_bytes", 0), memory.get("written_bytes", 0)
    return result


def rows_of(report: dict) -> list[Row]:
    """Every quantity of every kernel of the cases that ran."""
    rows = []
    for case in report["cases"]:
        for kernel in case.get("kernels", ()):
            predicted, counted = kernel["predicted"], counted_of(kernel)
            rows += [Row(report["target"], case["name"], kernel["kernel"], quantity, predicted.get(quantity), counted[quantity],
                         predicted.get("unknown", "")) for quantity in QUANTITIES if quantity in predicted or "unknown" in predicted]
    return rows


def table(rows: list[Row]) -> list[str]:
    """One line for each quantity, in Markdown."""
    kinds = collections.Counter((row.quantity, row.kind) for row in rows)
    lines = ["| quantity | equal | differs | not predicted |", "|---|---|---|---|"]
    for quantity in QUANTITIES:
        numbers = [kinds[quantity, kind] for kind in ("equal", "differs", "unknown")]
        if any(numbers):
            lines.append(f"| `{quantity}` | " + " | ".join(map(str, numbers)) + " |")
    return lines


#: What a plan says of a step, and the counters of the emulator that have the same: memory and direction, or all memory instructions.
ACCESSES = {"fragment_loads": ("scratchpad", "reads"), "writes": ("scratchpad", "writes"), "global_loads": ("global", "reads")}


def instructions_of(report: dict, plans: pathlib.Path) -> dict[str, list[tuple[float, int]]]:
    """Instructions of subgroups in each launch with units: those of all steps by the plan, and the emulator's count."""
    found: dict[str, list[tuple[float, int]]] = {what: [] for what in (*ACCESSES, "all")}
    for case in report["cases"]:
        path = plans / report["target"].replace(":", "-") / f"{case['name'].replace('/', '_')}.json"
        decisions = json.loads(path.read_text() or "[]") if path.exists() else []
        steps = [one["choice"]["step_instructions"] for one in decisions if "step_instructions" in one.get("choice", {})]
        kernels = [kernel for kernel in case.get("kernels", ()) if kernel["units"]]
        if len(steps) != 1 or len(kernels) != 1:
            continue
        (step,), (kernel,) = steps, kernels
        issues = sum(unit["issues"] for unit in kernel["units"])
        for what, (place, way) in ACCESSES.items():
            memory = next((one for one in kernel["memories"] if (one["memory"] == "global") == (place == "global")), {})
            if memory.get(way, 0):
                found[what].append((step[what] * issues / step["mma"], memory[way]))
        model = sum(step[what] for what in (*ACCESSES, "mma", "permutes", "loop"))
        found["all"].append((model * issues / step["mma"], issues + sum(kernel["instructions"].values())))
    return found


def instruction_table(report: dict, plans: pathlib.Path) -> list[str]:
    """How far the plans' instructions are from what the emulator executes, in Markdown."""
    lines = ["| instructions | launches | predicted / counted (median) | deviation (median) | deviation (p90) | within 5 % |",
             "|---|---|---|---|---|---|"]
    for what, pairs in instructions_of(report, plans).items():
        ratios = sorted(predicted / counted for predicted, counted in pairs)
        off = sorted(abs(ratio - 1) for ratio in ratios)
        if off:
            middle, late, near = len(off) // 2, len(off) * 9 // 10, sum(each <= 0.05 for each in off)
            lines.append(f"| `{what}` | {len(off)} | {ratios[middle]:.2f} | {off[middle]:.0%} | {off[late]:.0%} | "
                         f"{near / len(off):.0%} |")
    return lines if len(lines) > 2 else []


def page_of(reports: list[list[Row]], instructions: list[list[str]]) -> str:
    """The tables of all chips as a page."""
    lines = ["# What is scheduled is what is emitted", "",
             "Does a launch do what the schedule says? Generated by `test/integration/predictions.py` from the programs of the quick "
             "conformance run;", "`test_conformance.py` fails where a kernel differs that is no exception.", "",
             "- The *tile program* is what stage 4 leaves. One analysis for every launch of lanes and of cores counts what it does "
             "(`core/Transforms/Host/LaunchCounts.h`);",
             "  the emulator counts the final kernel in the LLVM dialect. Bytes, issues, barriers and commands must be equal.",
             "- Barriers are those of whole blocks; commands are those of the copy engines and units of cores. Not predicted are "
             "bytes of scratchpads of cores, and anything of processors' object code.",
             "- *Instructions* are not equal, and no test compares them here. A plan says what the assembler makes for a step of k "
             "(`step_instructions`), and",
             "  `test_lane_loops.py` compares it with the disassembly of main loops. The emulator counts what the assembler gets: pairs of "
             "accesses", "  are two, asynchronous copies write, there is arithmetic of addresses, lanes outside load nothing, and what stands "
             "around the steps counts.", ""]
    for rows, own in zip(reports, instructions):
        lines += [f"## {rows[0].target}", "", f"{len({(row.case, row.kernel) for row in rows})} kernels.", "", *table(rows), ""]
        lines += [*own, ""] if own else []
        reasons = sorted({(row.quantity, row.exception) for row in rows if row.kind != "equal" and row.exception})
        lines += [*(f"- `{quantity}` may differ: {reason}" for quantity, reason in reasons), ""] if reasons else []
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("reports", nargs="+", type=pathlib.Path)
    parser.add_argument("--differing", action="store_true", help="name the kernels that differ or have no prediction")
    parser.add_argument("--write", action="store_true", help="write docs/schedule-emission.md")
    parser.add_argument("--plans", type=pathlib.Path, help="folder of plans, for the table of instructions")
    arguments = parser.parse_args()
    read = [json.loads(path.read_text()) for path in arguments.reports]
    reports = [rows_of(report) for report in read]
    page = page_of(reports, [instruction_table(report, arguments.plans) if arguments.plans else [] for report in read])
    print(page)
    for row in [row for rows in reports for row in rows] if arguments.differing else ():
        if row.kind != "equal":
            print(f"- {row}")
    if arguments.write:
        PAGE.write_text(page)


if __name__ == "__main__":
    main()
