"""Runs artifacts on the device of this machine, checks them against float64, and measures them beside libraries.

  python3 run.py FOLDER [--launch tw-launch] [--only TEXT] [--json FILE] [--no-peers]

FOLDER is what test/gpu/make-artifacts.sh made for one chip: artifacts and index.json. Nothing is built. Python's standard library
is enough; with NumPy more elements are checked, with PyTorch there are columns for its libraries (cuBLASLt and cuDNN, or those of
ROCm) and for torch.compile (Triton). The exit status is 1 if a program failed and 2 if a result is wrong.
"""

import argparse
import array
import json
import math
import pathlib
import random
import shutil
import struct
import subprocess
import sys
import tempfile

try:
    import numpy
except ImportError:
    numpy = None
try:
    import torch
    if not torch.cuda.is_available():
        torch = None
except ImportError:
    torch = None

EPSILON = {"f16": 2.0**-10, "bf16": 2.0**-7, "f32": 2.0**-23}
BYTES = {"f16": 2, "bf16": 2, "f32": 4}


class Array:
    """A .npy file in memory; rows and single elements as Python floats."""

    def __init__(self, path, kind):
        data = path.read_bytes()
        begin = 10 + struct.unpack_from("<H", data, 8)[0]
        header = eval(data[10:begin], {"__builtins__": {}})  # a literal dictionary, written by tw-launch
        self.kind, self.shape, self.data = kind, header["shape"], memoryview(data)[begin:]

    def at(self, *index):
        offset = 0
        for i, extent in zip(index, self.shape):
            offset = offset * extent + i
        return self.run(offset, 1)[0]

    def row(self, i):
        return self.run(i * self.shape[1], self.shape[1])

    def run(self, first, count):
        raw = self.data[first * BYTES[self.kind]:(first + count) * BYTES[self.kind]]
        if self.kind == "f32":
            return array.array("f", bytes(raw))
        if self.kind == "f16":
            return struct.unpack(f"<{count}e", raw)
        return [struct.unpack("<f", b"\0\0" + bytes(raw[2 * i:2 * i + 2]))[0] for i in range(count)]

    def numpy(self):
        if self.kind == "bf16":
            bits = numpy.frombuffer(self.data, numpy.uint16).astype(numpy.uint32) << 16
            return bits.view(numpy.float32).reshape(self.shape)
        return numpy.frombuffer(self.data, {"f16": numpy.float16, "f32": numpy.float32}[self.kind]).reshape(self.shape)


def sampled(count, most, chooser):
    """Up to `most` numbers below `count`, the first and the last among them."""
    if count <= most:
        return list(range(count))
    return sorted({0, count - 1, *chooser.sample(range(count), most - 2)})


def pairs(shape, inputs, output):
    """(got, expected in float64) for a sample of the elements."""
    chooser = random.Random(1)
    if shape["kind"].startswith("gemm"):
        relu = shape["kind"] == "gemm-bias-relu"
        rows = sampled(shape["m"], 64 if numpy else 16, chooser)
        columns = sampled(shape["n"], 16, chooser)
        a, b = inputs[0], inputs[1]
        if numpy:
            wide = a.numpy()[rows].astype(numpy.float64) @ b.numpy().astype(numpy.float64)
            if relu:
                wide = numpy.maximum(wide + inputs[2].numpy().astype(numpy.float64), 0)
            return list(zip(output.numpy()[rows].astype(numpy.float64).ravel().tolist(), wide.ravel().tolist()))
        result = []
        wanted = {j: [b.at(k, j) for k in range(shape["k"])] for j in columns}
        for i in rows:
            row = a.row(i)
            for j in columns:
                value = math.fsum(x * y for x, y in zip(row, wanted[j]))
                result.append((output.at(i, j), max(value + inputs[2].at(j), 0.0) if relu else value))
        return result
    result = []
    for i in sampled(shape["m"], 16, chooser):
        row = inputs[0].row(i)
        if shape["kind"] == "softmax":
            top = max(row)
            powers = [math.exp(x - top) for x in row]
            total = math.fsum(powers)
            expected = [x / total for x in powers]
        else:  # layernorm
            mean = math.fsum(row) / len(row)
            scale = 1 / math.sqrt(math.fsum((x - mean) ** 2 for x in row) / len(row) + 1e-5)
            expected = [(x - mean) * scale * g + b for x, g, b in
                        zip(row, inputs[1].run(0, len(row)), inputs[2].run(0, len(row)))]
        result += zip(output.row(i), expected)
    return result


def worst(shape, values):
    """The largest error over the tolerance of `tw-run --verify` (docs/tools.md)."""
    scale = max(abs(expected) for _, expected in values)
    largest = max(shape["m"], shape["n"], shape.get("k", 1))
    result = 0.0
    for got, expected in values:
        tolerance = (EPSILON[shape["type"]] * (4 * abs(expected) + 2 * scale)
                     + 2.0**-23 * (16 + 2 * largest) * scale)
        error = abs(got - expected)
        result = max(result, error / tolerance if tolerance > 0 else 0.0) if error == error else math.inf
        if result == math.inf:
            break
    return result


def work(shape):
    """(number, unit) of one call: flop for products, bytes for the others."""
    m, n = shape["m"], shape["n"]
    return (2.0 * m * n * shape["k"], "Tflop/s") if "k" in shape else (8.0 * m * n, "TB/s")


def measure(shape, path, launch, folder):
    """Runs one artifact; returns (error over tolerance, seconds)."""
    suffix = ".bf16.npy" if shape["type"] == "bf16" else ".npy"
    count = {"gemm": 2, "gemm-bias-relu": 3, "softmax": 1, "layernorm": 3}[shape["kind"]]
    names = [folder / f"in{i}{suffix}" for i in range(count)]
    output = folder / f"out{suffix}"
    command = [str(launch), str(path), "--seed", "1", "--benchmark", "--json", "--output", str(output)]
    for name in names:
        command += ["--save-input", str(name)]
    result = subprocess.run(command, capture_output=True, text=True)
    if result.returncode != 0:
        raise RuntimeError(result.stderr.strip().removeprefix("tw-launch: error: "))
    report = json.loads(result.stdout)
    inputs = [Array(name, shape["type"]) for name in names]
    return worst(shape, pairs(shape, inputs, Array(output, shape["type"]))), report["benchmark"]["seconds"]


def peer_calls(shape):
    """Functions of PyTorch that compute the shape, on arrays of its own: {column: call}."""
    kind = {"f16": torch.float16, "bf16": torch.bfloat16, "f32": torch.float32}[shape["type"]]
    def new(*size): return torch.randn(*size, device="cuda", dtype=kind)
    m, n = shape["m"], shape["n"]
    functional = torch.nn.functional
    if "k" in shape:
        a, b, bias = new(m, shape["k"]), new(shape["k"], n), new(n)
        if shape["kind"] == "gemm":
            def plain(): return a @ b
        else:
            def plain(): return torch.relu(torch.addmm(bias, a, b))
    else:
        x, gain, bias = new(m, n), new(n), new(n)
        if shape["kind"] == "softmax":
            def plain(): return functional.softmax(x, 1)
        else:
            def plain(): return functional.layer_norm(x, (n,), gain, bias)
    calls = {"libraries": plain}
    try:
        calls["compiled"] = torch.compile(plain, mode="max-autotune-no-cudagraphs")
        calls["compiled"]()
    except Exception as problem:  # no Triton, no compiler: the column stays empty
        print(f"torch.compile: {shape['name']}: {str(problem).splitlines()[0]}", file=sys.stderr)
        del calls["compiled"]
    return calls


def peer_seconds(call):
    """Median of 9 samples of at least a millisecond, as tw-launch measures."""
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))

    def sample(calls):
        begin.record()
        for _ in range(calls):
            call()
        end.record()
        end.synchronize()
        return begin.elapsed_time(end) * 1e-3

    call()
    calls = 1
    while sample(calls) < 1e-3:
        calls *= 2
    return sorted(sample(calls) / calls for _ in range(9))[4]


def table(rows):
    columns = ["program", "us", "speed", "error/tol.", "libraries us", "torch.compile us", "of the best"]
    cells = [columns] + [[row.get(column, "") for column in columns] for row in rows]
    widths = [max(len(line[i]) for line in cells) for i in range(len(columns))]
    for line in cells:
        print("  ".join(cell.ljust(width) if i == 0 else cell.rjust(width)
                        for i, (cell, width) in enumerate(zip(line, widths))).rstrip())


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--launch", type=pathlib.Path, help="default: tw-launch in FOLDER, then on the path")
    parser.add_argument("--only", default="", help="programs whose name contains this")
    parser.add_argument("--json", type=pathlib.Path)
    parser.add_argument("--no-peers", action="store_true")
    options = parser.parse_args()
    launch = options.launch or next((found for found in (options.folder / "tw-launch", shutil.which("tw-launch"))
                                     if found and pathlib.Path(found).exists()), None)
    if not launch:
        parser.error("no tw-launch in FOLDER or on the path; name it with --launch")
    shapes = [shape for shape in json.loads((options.folder / "index.json").read_text()) if options.only in shape["name"]]
    rows, records, status = [], [], 0
    for shape in shapes:
        row, record = {"program": shape["name"]}, dict(shape)
        path = options.folder / f"{shape['name']}.tw"
        with tempfile.TemporaryDirectory() as folder:
            try:
                if not path.exists():
                    raise RuntimeError("was not compiled")
                record["error_over_tolerance"], record["seconds"] = measure(shape, path, launch, pathlib.Path(folder))
            except RuntimeError as problem:
                record["problem"] = str(problem)
                print(f"{shape['name']}: {problem}", file=sys.stderr)
                status = status or 1
        if "seconds" in record:
            amount, unit = work(shape)
            row["us"] = f"{record['seconds'] * 1e6:.1f}"
            row["speed"] = f"{amount / record['seconds'] * 1e-12:.2f} {unit}"
            right = record["error_over_tolerance"] <= 1
            row["error/tol."] = f"{record['error_over_tolerance']:.3f}" if right else "WRONG"
            status = status if right else 2
            if torch and not options.no_peers:
                times = {name: peer_seconds(call) for name, call in peer_calls(shape).items()}
                record["peers"] = times
                row["libraries us"] = f"{times['libraries'] * 1e6:.1f}"
                if "compiled" in times:
                    row["torch.compile us"] = f"{times['compiled'] * 1e6:.1f}"
                row["of the best"] = f"{min(times.values()) / record['seconds']:.2f}"
        else:
            row["us"] = "failed"
        rows.append(row)
        records.append(record)
    table(rows)
    if not torch and not options.no_peers:
        print("PyTorch is not installed or sees no device: no columns of libraries")
    if options.json:
        options.json.write_text(json.dumps(records, indent=1) + "\n")
    return status


if __name__ == "__main__":
    sys.exit(main())
