"""Runs artifacts on the device of this machine, checks them against float64, and measures them beside libraries.

  python3 run.py FOLDER [--launch tw-launch] [--library libtilewright-runtime.so] [--only TEXT ..] [--jobs N] [--json FILE]
                 [--page FILE] [--no-peers | --no-compiler]

FOLDER is what test/gpu/make-artifacts.sh made for one chip: artifacts and index.json. Nothing is built. Python's standard library
is enough; with NumPy more elements are checked, with PyTorch there are columns for its libraries (cuBLASLt and cuDNN, or those of
ROCm) and for torch.compile (Triton).

Each program is run by tw-launch on normal random data, and a sample of its result compared with float64, several programs at a time.
Then, with nothing beside it, this process calls the artifact and the libraries in turn, on the same arrays and stream: medians of 9 samples of at least a millisecond each. The table
comes with the device, its driver and the date, on a page of its own, too (--page docs/performance-gpu.md). The exit status is 1 if a
program failed and 2 if a result is wrong.
"""

import argparse
import concurrent.futures
import json
import math
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

import checks
import device as devices
import peers
from experiments import QUESTIONS

SAMPLES, LEAST_SECONDS = 9, 1e-3
#: Seconds that a program may take, its random inputs included; a kernel that waits for ever is a failure like another.
TIMEOUT = 120
#: What products should reach of cuBLASLt, as a geometric mean.
GOAL = 0.90
#: Arrays that programs read.
INPUTS = {"gemm": 2, "gemm-bias-relu": 3, "conv": 2, "increment": 1, "softmax": 1, "layernorm": 3, "attention": 3}


def work(shape):
    """(number, unit) of one call: flop for products and convolutions, bytes for the others."""
    if shape["kind"] == "conv":
        return 2.0 * shape["results"] * shape["terms"], "Tflop/s"
    if shape["kind"] == "attention":
        keys = (shape["m"] + 1) / 2 if shape["causal"] else shape["m"]  # of a query, on average
        return 4.0 * shape["heads"] * shape["m"] * keys * shape["n"], "Tflop/s"
    m, n = shape["m"], shape["n"]
    return (2.0 * m * n * shape["k"], "Tflop/s") if "k" in shape else (8.0 * m * n, "TB/s")


def evaluate(shape, path, launch, folder):
    """Runs one artifact by tw-launch; (inputs, output, error over tolerance)."""
    suffix = ".bf16.npy" if shape["type"] == "bf16" else ".npy"
    names = [folder / f"in{i}{suffix}" for i in range(INPUTS[shape["kind"]])]
    output = folder / f"out{suffix}"
    command = [str(launch), str(path), "--seed", "1", "--output", str(output)]
    for name in names:
        command += ["--save-input", str(name)]
    try:
        result = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT)
    except subprocess.TimeoutExpired:
        raise RuntimeError(f"did not end within {TIMEOUT} s") from None
    if result.returncode != 0:
        raise RuntimeError(result.stderr.strip().removeprefix("tw-launch: error: "))
    inputs, got = [checks.Array(name, shape["type"]) for name in names], checks.Array(output, shape["type"])
    return inputs, got, checks.worst(shape, checks.pairs(shape, inputs, got))


def medians(calls, seconds):
    """{name: seconds of a call}. `calls`: {name: function that starts one}; their samples take turns, so that the clock of the
    device and its temperature are the same for all."""
    counts = {}
    for name, call in calls.items():
        call()
        counts[name] = 1
        while seconds(lambda: repeat(call, counts[name])) < LEAST_SECONDS:
            counts[name] *= 2
    samples = {name: [] for name in calls}
    for _ in range(SAMPLES):
        for name, call in calls.items():
            samples[name].append(seconds(lambda: repeat(call, counts[name])) / counts[name])
    return {name: sorted(each)[SAMPLES // 2] for name, each in samples.items()}


def repeat(call, count):
    for _ in range(count):
        call()


def measure(shape, path, inputs, expected, device, options):
    """({column: seconds}, whether the result in this process has the bytes of `expected`)."""
    program = devices.Program(device, path)
    owned, zeros = [], shape.get("zeros")
    data = [bytes(len(each.data)) if zeros else bytes(each.data) for each in inputs]
    unwritten = b"\xff" * program.arguments[-1][2]  # NaN: what no kernel writes shows
    use_torch = peers.torch is not None
    if use_torch:
        tensors = [peers.tensor(each, kind, size)
                   for each, (kind, size, _, output) in zip(data, program.arguments) if not output]
        result = peers.tensor(unwritten, *program.arguments[-1][:2])
        space = peers.torch.empty(max(1, program.workspace()), dtype=peers.torch.uint8, device="cuda")
        addresses, stream = [each.data_ptr() for each in (*tensors, result)], peers.stream()
        workspace = space.data_ptr()
    else:
        owned = [device.array(each) for each in (*data, unwritten, bytes(program.workspace()))]
        addresses, workspace, stream = owned[:-1], owned[-1], None
    try:
        calls = {"tilewright": program.call(addresses, workspace, stream)}
        calls["tilewright"]()
        device.wait(stream)
        same = zeros or device.bytes_of(addresses[-1], program.arguments[-1][2]) == bytes(expected.data)
        if use_torch and not options.no_peers:
            calls.update(peers.calls(shape, tensors, compiler=not options.no_compiler))
        times = medians(calls, peers.seconds if use_torch else lambda calls: device.seconds(calls, stream))
    finally:
        for address in owned:
            device.release(address)
        program.close()
    return times, same


def told(*command):
    """The first line of what a tool says; empty where there is none."""
    try:
        said = subprocess.run(command, capture_output=True, text=True, timeout=20)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return said.stdout.strip().splitlines()[0] if said.returncode == 0 and said.stdout.strip() else ""


def clocks():
    """What the driver's tool says of clock, power and temperature."""
    return told("nvidia-smi", "--query-gpu=clocks.sm,clocks.mem,power.draw,temperature.gpu", "--format=csv,noheader")


def kernel_module():
    """The version of the driver in Linux, NVIDIA's or AMD's; empty: neither says one."""
    module = pathlib.Path("/sys/module/amdgpu/version")
    return told("nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader") or (
        module.read_text().strip() if module.exists() else "")


def machine(device):
    """What the times are of: the device, its driver, what they are compared with, and when."""
    return {"device": device.name, "driver": kernel_module() or "unknown", "libraries": peers.version(),
            "date": time.strftime("%Y-%m-%d")}


def modelled(path):
    """Seconds that the cost model expects of the contraction, or of the chain of some, from the decisions beside the artifact;
    None: it has none."""
    try:
        decisions = json.loads(path.with_suffix(".json").read_text())
    except (OSError, ValueError):
        return None
    return next((d["choice"].get("seconds") for d in decisions if d.get("decision") in ("contraction", "tile-program")), None)


COLUMNS = ["program", "us", "speed", "model us", "error/tol.", "libraries us", "torch.compile us", "of libraries", "of the best"]


def row_of(record):
    row = {"program": record["name"], "us": "failed"}
    if "seconds" not in record:
        return row
    amount, unit = work(record)
    row["us"] = f"{record['seconds'] * 1e6:.1f}"
    row["speed"] = f"{amount / record['seconds'] * 1e-12:.2f} {unit}"
    if record["model_seconds"] is not None:
        row["model us"] = f"{record['model_seconds'] * 1e6:.1f}"
    row["error/tol."] = f"{record['error_over_tolerance']:.3f}" if record["right"] else "WRONG"
    times = record.get("peers", {})
    for name, column in (("libraries", "libraries us"), ("compiled", "torch.compile us")):
        if name in times:
            row[column] = f"{times[name] * 1e6:.1f}"
    if times:
        row["of libraries"] = f"{times['libraries'] / record['seconds']:.2f}"
        row["of the best"] = f"{min(times.values()) / record['seconds']:.2f}"
    return row


def aligned(cells):
    """Rows of text as lines in columns."""
    widths = [max(len(line[i]) for line in cells) for i in range(len(COLUMNS))]
    return ["  ".join(cell.ljust(width) if i == 0 else cell.rjust(width)
                      for i, (cell, width) in enumerate(zip(line, widths))).rstrip() for line in cells]


def markdown(cells):
    """The same as lines of a page, with an empty one before."""
    head, *rows = [f"| {' | '.join(line)} |" for line in cells]
    return ["", head, "|---" + "|---:" * (len(COLUMNS) - 1) + "|", *rows]


def geometric_mean(values):
    return math.exp(sum(map(math.log, values)) / len(values))


def summaries(records):
    """Lines that compare with the libraries: products, those with what follows them, convolutions and rows each."""
    lines = []
    for title, kinds, goal in (("products against cuBLASLt or hipBLASLt", ("gemm",), GOAL),
                               ("products, bias and maximum against cuBLASLt or hipBLASLt", ("gemm-bias-relu",), None),
                               ("convolutions against cuDNN or MIOpen", ("conv",), None),
                               ("soft-max and layer norm against PyTorch", ("softmax", "layernorm"), None),
                               ("attention against PyTorch's fastest kernel", ("attention",), None)):
        shares = {r["name"]: r["peers"]["libraries"] / r["seconds"] for r in records
                  if r["kind"] in kinds and "group" not in r and r.get("peers") and r["right"]}
        if shares:
            least = min(shares, key=shares.get)
            lines.append(f"{title}: geometric mean {geometric_mean(shares.values()):.3f} of {len(shares)}"
                         + (f" (goal {goal:.2f})" if goal else "") + f", least {shares[least]:.3f} ({least})")
    return lines


def tables(records, form):
    """Lines: the table of the programs, and one for each question of experiments.py. `form`: of the rows of one, as lines."""
    lines = []
    for question in [None, *QUESTIONS]:
        rows = [row_of(record) for record in records if record.get("group") == question]
        if rows:
            lines += ["", f"{question}: {QUESTIONS[question]}"] if question else []
            lines += form([COLUMNS] + [[row.get(column, "") for column in COLUMNS] for row in rows])
    return lines


def page(records, where):
    """The tables as a page of the documentation."""
    said = "; ".join(f"{what}: {value}" for what, value in where.items())
    return "\n".join(["# Performance on a GPU", "", "Written by `test/gpu/run.py --page`; how it measures is said in "
                      "[test/gpu/README.md](../test/gpu/README.md).", "", f"{said}.", *tables(records, markdown), "",
                      *(f"- {line}" for line in summaries(records))]) + "\n"


def evaluate_all(shapes, options, launch, folder):
    """{name: what `evaluate` gives, or its RuntimeError}, several programs at a time."""
    def one(shape):
        path, place = options.folder / f"{shape['name']}.tw", folder / shape["name"]
        place.mkdir()
        try:
            if not path.exists():
                raise RuntimeError("was not compiled")
            return evaluate(shape, path, launch, place)
        except RuntimeError as problem:
            return problem

    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        return dict(zip((shape["name"] for shape in shapes), pool.map(one, shapes)))


def run_one(shape, path, evaluated, device, options):
    """The record of one program; RuntimeError if it failed."""
    if isinstance(evaluated, RuntimeError):
        raise evaluated
    inputs, output, error = evaluated
    times, same = measure(shape, path, inputs, output, device, options)
    if error <= 1 and not same:
        print(f"{shape['name']}: tw-launch and this process have different results", file=sys.stderr)
    return {"error_over_tolerance": error, "right": same and error <= 1, "seconds": times.pop("tilewright"), "peers": times,
            "model_seconds": modelled(path), "clocks": clocks()}


def find(options, parser, given, names, what):
    found = given or next((each for each in names if each and pathlib.Path(each).exists()), None)
    if not found:
        parser.error(f"no {what} in FOLDER or on the path; name it")
    return pathlib.Path(found).resolve()  # a name alone would be looked for on the path


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--launch", type=pathlib.Path, help="default: tw-launch in FOLDER, then on the path")
    parser.add_argument("--library", type=pathlib.Path, help="default: libtilewright-runtime.so in FOLDER")
    parser.add_argument("--only", action="append", help="programs whose name contains this; may stand several times")
    parser.add_argument("--jobs", type=int, default=min(8, os.cpu_count() or 1),
                        help="programs that are run and checked at a time, before anything is timed")
    parser.add_argument("--json", type=pathlib.Path)
    parser.add_argument("--page", type=pathlib.Path, help="write the tables as a page, docs/performance-gpu.md")
    parser.add_argument("--no-peers", action="store_true", help="no columns of PyTorch")
    parser.add_argument("--no-compiler", action="store_true", help="no column of torch.compile, which takes long to tune")
    options = parser.parse_args()
    launch = find(options, parser, options.launch, (options.folder / "tw-launch", shutil.which("tw-launch")), "tw-launch (--launch)")
    library = find(options, parser, options.library, (options.folder / "libtilewright-runtime.so",),
                   "libtilewright-runtime.so (--library)")
    shapes = [shape for shape in json.loads((options.folder / "index.json").read_text()) if any(only in shape["name"] for only in options.only or [""])]
    records, status, device = [], 0, None
    if peers.torch:
        peers.prepare()
    with tempfile.TemporaryDirectory() as folder:
        evaluated = evaluate_all(shapes, options, launch, pathlib.Path(folder))
        for shape in shapes:
            record, path = dict(shape), options.folder / f"{shape['name']}.tw"
            try:
                if device is None and path.exists():
                    device = open_device(library, path)
                record.update(run_one(shape, path, evaluated.pop(shape["name"]), device, options))
                status = status if record["right"] else 2
            except RuntimeError as problem:
                record["problem"] = str(problem)
                print(f"{shape['name']}: {problem}", file=sys.stderr)
                status = status or 1
            records.append(record)
    where = machine(device) if device else {}
    if where:
        print("; ".join(f"{what}: {value}" for what, value in where.items()))
    for line in tables(records, aligned):
        print(line)
    if not peers.torch and not options.no_peers:
        print("PyTorch is not installed or sees no device: no columns of libraries")
    for line in summaries(records):
        print(line)
    if device:
        device.close()
    if options.json:
        options.json.write_text(json.dumps({"machine": where, "programs": records}, indent=1) + "\n")
    if options.page:
        options.page.write_text(page(records, where))
    return status


def open_device(library, path):
    """The device of an artifact's target."""
    loaded = devices.Library(library)
    artifact = devices.got(loaded.artifact_open, devices.POINTER, str(path).encode())
    try:
        return devices.Device(loaded, loaded.artifact_target(artifact).decode())
    finally:
        loaded.artifact_close(artifact)


if __name__ == "__main__":
    sys.exit(main())
