"""What a record is worth that no table gave: the host as if its family were unknown, by what the machine says and by what
tw-calibrate measures.

    python calibration.py products [--only 512] [--no-peers]   f32 products: plans of the table, of the generic record and
                                                               of the calibrated one, in turns with the libraries
    python calibration.py products --seconds 140 --resume      goes on where the last call ended; again until all are there
    python calibration.py suite [--only softmax]               predicted against measured, over the programs of SUITE
    python calibration.py page                                 docs/performance-calibration.md from what both kept

Both actions measure the machine first (`--resume`: products take the numbers of the last time). Plans that are equal in
every field are one contender: their ratio is 1, whatever the clock says.
"""

import argparse
import contextlib
import json
import math
import os
import statistics
import subprocess
import sys
import time

import bench
import peers
import programs
import sections

FOLDER = peers.BUILD / "calibration"
PAGE = peers.SOURCE / "docs/performance-calibration.md"
#: A record's name and the chip that has it. No saved rates: the host is the table's family.
RECORDS = {"table": "cpu:host", "generic": "cpu:host-generic", "calibrated": "cpu:host-generic@measured"}
ENVIRONMENT = {"TILEWRIGHT_MEASURED": str(FOLDER), "TILEWRIGHT_RATES": str(FOLDER / "none.json")}

#: What `suite` predicts and measures: products, rows, chains, reductions, windows, convolutions and element-wise
#: functions that are near, in the last cache, and in memory.
SUITE = [
    *[dict(kind="gemm", type="f32", m=m, n=n, k=k) for m, n, k in (
        (64, 64, 64), (128, 128, 128), (256, 256, 256), (512, 512, 512), (1000, 1000, 1000), (128, 768, 3072), (128, 3072, 768),
        (1, 4096, 4096), (16, 4096, 4096), (1024, 1024, 16), (1024, 48, 1024))],
    dict(kind="gemm", type="f32", m=512, n=512, k=512, transA=True),
    dict(kind="gemm", type="f32", m=512, n=512, k=512, transB=True),
    dict(kind="gemm", type="f32", m=128, n=3072, k=768, transA=True, transB=True),
    *[dict(kind="gemm", type=type, m=m, n=m, k=m) for type, m in (("f64", 256), ("bf16", 256), ("u8s8", 512))],
    dict(kind="fused", type="f32", m=128, n=3072, k=768),
    *[dict(kind=kind, type="f32", m=m, n=n) for kind in ("softmax", "layernorm", "chain", "rowsum", "colsum")
      for m, n in ((64, 64), (512, 512), (4096, 1024))],
    dict(kind="maxpool", type="f32", m=64, n=4096),
    dict(kind="maxpool-last", type="f32", m=16384, n=64, k=128),
    dict(kind="mean", type="f32", m=256, n=4096),
    *[dict(kind=kind, type="f32", channels=channels, filters=filters, side=side, window=window)
      for kind, channels, filters, side, window in (("conv", 64, 64, 58, 3), ("conv-last", 64, 64, 58, 3),
                                                    ("conv-last", 256, 64, 56, 1), ("conv", 64, 256, 28, 1))],
    *[dict(kind=kind, type="f32", m=m, n=m) for kind in ("transpose", "stencil") for m in (256, 2048)],
    *[dict(kind=kind, type="f32", m=512, n=512) for kind in ("exp", "tanh", "erf")],
]


@contextlib.contextmanager
def only_calibrated():
    """An environment in which no other measurement of this machine is found."""
    before = dict(os.environ)
    os.environ.update(ENVIRONMENT)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


def calibrate(*words):
    done = subprocess.run([programs.build_folder() / "bin/tw-calibrate", "--json", *map(str, words)], capture_output=True, text=True)
    if done.returncode:
        sys.exit(done.stderr)
    return json.loads(done.stdout)


def measure_machine():
    FOLDER.mkdir(parents=True, exist_ok=True)
    found = calibrate("--target", RECORDS["generic"], "--save")
    (FOLDER / "fields.json").write_text(json.dumps(found["fields"], indent=1))


def compiled(shape):
    """Contenders for each different plan, and which of them each record takes."""
    contenders, taken = {}, {}
    for record, chip in RECORDS.items():
        folder = FOLDER / "code" / record
        one = programs.compiled(shape, chip, folder=folder, explain=True)
        if one is None:
            sys.exit(f"{shape['name']}: {chip} refuses it")
        plan = json.dumps({key: value for key, value in one["choice"].items() if key != "seconds"}, sort_keys=True)
        contenders.setdefault(plan, dict(one, name=record))
        taken[record] = contenders[plan]["name"]
    return list(contenders.values()), taken


def products(arguments):
    group = json.loads((bench.HERE / "shapes.json").read_text())["f32"]
    kept = FOLDER / "products.json"
    results = json.loads(kept.read_text()) if arguments.resume and kept.exists() else []
    if not (arguments.resume and (FOLDER / "fields.json").exists()):
        measure_machine()
    peers.build()
    end = time.monotonic() + arguments.seconds
    for shape in group["shapes"]:
        shape = dict(group["common"], **shape)
        shape["name"] = programs.name(shape)
        if (arguments.only and arguments.only not in shape["name"]) or any(row["name"] == shape["name"] for row in results):
            continue
        if time.monotonic() > end:
            print("shapes are left: go on with --resume")
            break
        own, taken = compiled(shape)
        result = bench.measure(shape, own + ([] if arguments.no_peers else peers.contenders(shape)), arguments.samples)
        times = {one["name"]: one["seconds"] for one in result["contenders"]}
        best = times.get(result.get("best", ""))
        row = {"name": shape["name"], "best": result.get("best", ""), "taken": taken,
               "plans": {one["name"]: one["choice"] for one in own},
               "of_table": {record: statistics.median(map(ratio, times["table"], times[taken[record]])) for record in RECORDS},
               "of_library": {record: statistics.median(map(ratio, best, times[taken[record]])) for record in RECORDS} if best else {}}
        results.append(row)
        if not arguments.only:
            kept.write_text(json.dumps(results, indent=1))
        print(f"{row['name']:24}", *(f"{record} {row['of_table'][record]:.3f}" for record in RECORDS if record != "table"),
              "| of", row["best"], *(f"{record} {value:.3f}" for record, value in row["of_library"].items()), flush=True)
    print("\n".join(summary(results)))


def ratio(theirs, mine):
    return theirs / mine


def summary(results):
    lines = ["| record | shapes with the table's plan | of the table's plans: geometric mean | least | of the fastest library: geometric mean | least |",
             "|---|---|---|---|---|---|"]
    for record in RECORDS:
        same = sum(row["taken"][record] == row["taken"]["table"] for row in results)
        cells = [record, f"{same} of {len(results)}"]
        for of in ("of_table", "of_library"):
            values = [row[of][record] for row in results if row[of]]
            cells += [f"{statistics.geometric_mean(values):.3f}", f"{min(values):.3f}"] if values else ["", ""]
        lines.append("| " + " | ".join(cells) + " |")
    return lines


def suite(arguments):
    """Each program as it is planned with the record of the table, and with the generic one; each with what was measured."""
    folder = FOLDER / "suite"
    folder.mkdir(parents=True, exist_ok=True)
    files = []
    for shape in SUITE:
        if arguments.only and arguments.only not in programs.name(shape):
            continue
        files.append(folder / f"{programs.name(shape)}.mlir")
        files[-1].write_text(programs.text(shape))
    found = {record: calibrate("--target", RECORDS[record], *files)["programs"] for record in ("table", "generic")}
    for record, rows in found.items():
        print(f"{record}:", *map(line_of, rows), sep="\n")
    print("\n".join(errors(found)))
    if not arguments.only:
        (FOLDER / "suite.json").write_text(json.dumps(found, indent=1))


def line_of(one):
    if "refused" in one:
        return f"| {one['program']} | {one['refused']} | | | |"
    part = lambda key: f"{one[key] / one['measured_seconds'] - 1:+.1%}"
    return (f"| {one['program']} | {one['measured_seconds'] * 1e6:.1f} | {part('predicted_seconds')} | {part('calibrated_seconds')} | "
            f"{one['explained_by'] or 'no field that differs'} |")


def errors(found):
    lines = ["| predictions by | programs | median error | 95 % of them below |", "|---|---|---|---|"]
    for record, rows in found.items():
        known = [one for one in rows if "refused" not in one]
        for words, key in ((f"record: {record}", "predicted_seconds"), (f"{record}, with what was measured", "calibrated_seconds")):
            values = sorted(abs(one[key] / one["measured_seconds"] - 1) for one in known)
            lines.append(f"| {words} | {len(values)} | {statistics.median(values):.1%} | {values[(len(values) * 95 - 1) // 100]:.1%} |")
    return lines


INTRODUCTION = """# CPUs that no table knows

How good is compiled code on a processor whose family has no record? *Table* is the family's record. It is left out for the others: *generic*
is the record that is made of what the machine says of itself (`cpu:host-generic`), *calibrated* is that with what `tw-calibrate` measured on it
([calibrate.md](calibrate.md)). Each section is generated on its processor ([how it measures](../test/benchmark/README.md)):

```sh
build/venv/bin/python test/benchmark/calibration.py products --seconds 120   # then with --resume until no shape is left
build/venv/bin/python test/benchmark/calibration.py suite
build/venv/bin/python test/benchmark/calibration.py page
```

Ratios are times of the other over that of the record's plan, medians over interleaved turns: above 1, the record's plan is faster. Errors are
(predicted - measured) / measured.
"""


def page(_):
    lines = ["One thread.", ""]
    if (path := FOLDER / "products.json").exists():
        results = json.loads(path.read_text())
        lines += ["### f32 products", "", *summary(results), "",
                  "Shapes where a record takes another plan than the table; the time of the table's plan, and of the fastest library, over that of the record's:",
                  "", "| shape | generic | calibrated | fastest library | table | generic | calibrated |", "|---|---|---|---|---|---|---|"]
        for row in results:
            if len(set(row["taken"].values())) > 1:
                of = row["of_library"]
                lines.append(f"| {row['name']} | {row['of_table']['generic']:.3f} | {row['of_table']['calibrated']:.3f} | {row['best']} | " +
                             " | ".join(f"{of[record]:.3f}" if of else "" for record in RECORDS) + " |")
    if (path := FOLDER / "suite.json").exists():
        found = json.loads(path.read_text())
        lines += ["", "### Predicted against measured", "", *errors(found)]
        for record, rows in found.items():
            lines += ["", f"Programs as the {record} record plans them with what was measured:", "",
                      "| program | measured, us | by record | calibrated | explained best by |", "|---|---|---|---|---|",
                      *map(line_of, rows)]
    sections.write(PAGE, INTRODUCTION, "\n".join(lines))
    print(f"wrote {PAGE}")


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("action", choices=["products", "suite", "page"])
    options.add_argument("--only", help="only shapes or programs whose name contains this")
    options.add_argument("--samples", type=int, default=11)
    options.add_argument("--no-peers", action="store_true", help="without libraries")
    options.add_argument("--resume", action="store_true", help="products: with the numbers and the results of the last call")
    options.add_argument("--seconds", type=float, default=math.inf, help="products: begin no shape later")
    arguments = options.parse_args()
    with only_calibrated():
        {"products": products, "suite": suite, "page": page}[arguments.action](arguments)
    return 0


if __name__ == "__main__":
    sys.exit(main())
