"""Times the compiler itself.

    python compile_time.py [SIZE] [--target cpu:host]     one product, MLIR text to callable code
    python compile_time.py --table [--samples 5]          the rows of docs/compile-time.md, which it writes

`second` is the second compilation in one process, what each further program costs a process that compiles; `command` is
the wall time of the first `tw-compile` command, with start, dialects, code generator and link. Medians of 9.

Seconds of the table are processor time of a `tw-compile` process that starts cold, user and system: other work on the
machine does not lengthen it. Work on two threads counts twice.
"""

import argparse
import json
import os
import pathlib
import platform
import re
import resource
import statistics
import subprocess
import sys
import tempfile
import time

import networks
import peers
import programs

BIN = pathlib.Path(peers.BUILD).parent / "release" / "bin"
TARGETS = ["cpu:zen4", "cpu:sapphire-rapids", "nvidia:A100", "nvidia:H200", "amd:MI300X", "amd:RX7900"]
#: Those of the rows about networks, with what is written for them.
NETWORK_TARGETS = {"cpu:host": "so", "nvidia:H200": "tw", "amd:MI300X": "tw"}
PAGE = peers.SOURCE / "docs" / "compile-time.md"


def run(size, target, samples=9):
    """Seconds of each part, medians."""
    shape = {"kind": "gemm", "type": "f32", "m": size, "n": size, "k": size}
    with tempfile.TemporaryDirectory() as folder:
        source = pathlib.Path(folder) / "product.mlir"
        source.write_text(programs.gemm(shape))
        second, command = [], []
        for _ in range(samples):
            words = [BIN / "tw-run", source, "--target", target, "--time-compile", "--json"]
            out = subprocess.run(words, check=True, capture_output=True, text=True).stdout
            second.append(json.loads(out)["compile"])
            begin = time.perf_counter()
            subprocess.run([BIN / "tw-compile", source, "--target", target, "-o", f"{folder}/product.so"], check=True)
            command.append(time.perf_counter() - begin)
    result = {key: statistics.median(one[key] for one in second)
              for key in ("seconds", "parse_seconds", "pass_seconds", "llvm_seconds", "link_seconds")}
    return dict(result, size=size, target=target, command_seconds=statistics.median(command))


def line(result):
    return ("{size}^3 f32 for {target}: second compilation {seconds:.3f} s (parse {parse_seconds:.3f}, passes "
            "{pass_seconds:.3f}, LLVM {llvm_seconds:.3f}, link {link_seconds:.3f}), first command "
            "{command_seconds:.3f} s".format(**result))


def own_passes():
    """Names of the project's passes."""
    folder = peers.SOURCE / "core" / "Transforms"
    return {name for path in folder.rglob("Passes.td")
            for name in re.findall(r'def \w+ *: *Pass<"([\w-]+)"', path.read_text())}


def seconds_by_name(tree):
    """Of a tree that `--time=json` prints: name and seconds of each part, its parts left out."""
    for part in tree:
        if not part:
            continue
        inner = part.get("passes", [])
        own = part["wall"]["duration"] - sum(each["wall"]["duration"] for each in inner if each)
        yield part["name"], own
        yield from seconds_by_name(inner)


def parts(source, target, samples):
    """Seconds of planning, of the project's passes without it, of upstream's, of LLVM; medians."""
    own, results = own_passes(), []
    for _ in range(samples):
        with tempfile.TemporaryDirectory() as folder:
            output = f"{folder}/out.{'o' if target.startswith('cpu') else 'tw'}"
            done = subprocess.run([BIN / "tw-compile", source, "--target", target, "-o", output, "--time=json"],
                                  check=True, capture_output=True, text=True)
        sums = dict.fromkeys(("planning", "own", "upstream", "llvm"), 0.0)
        for name, seconds in seconds_by_name(json.loads(done.stderr[done.stderr.index("["):])):
            kind = ("planning" if name == "planning" else "own" if name in own else
                    "llvm" if "LLVM" in name or name == "link" else "upstream")
            sums[kind] += seconds
        results.append(sums)
    return {key: statistics.median(each[key] for each in results) for key in results[0]}


def cold(source, target, samples):
    """Processor seconds of a process that compiles `source`, the median."""
    results = []
    for _ in range(samples):
        with tempfile.TemporaryDirectory() as folder:
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            subprocess.run([BIN / "tw-compile", source, "--target", target, "-o",
                            f"{folder}/out.{NETWORK_TARGETS[target]}"], check=True, capture_output=True)
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            results.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return statistics.median(results)


def measure(samples, folder):
    def written(name, text):
        path = folder / f"{name}.mlir"
        path.write_text(text)
        return path

    shape = {"kind": "gemm", "type": "f32", "m": 1024, "n": 1024, "k": 1024}
    product = written("product", programs.gemm(shape))
    layers = {count: written(f"bert-{count}", networks.bert(count)) for count in (1, 12)}
    operations = {count: written(f"operations-{count}", networks.small_operations(count)) for count in (10, 100, 1000)}
    windows = {count: written(f"convolutions-{count}", networks.convolutions(count)) for count in (1, 4, 16, 64)}
    return {"gemm": {target: parts(product, target, samples) for target in TARGETS},
            "networks": {target: {name: {count: cold(path, target, samples if count < 100 else 1)
                                         for count, path in paths.items()}
                                  for name, paths in (("layers", layers), ("operations", operations),
                                                      ("convolutions", windows))}
                         for target in NETWORK_TARGETS}}


def growth(seconds):
    """Slope of the last step over that of the first: 1 where time grows linearly."""
    counts = sorted(seconds)
    slope = lambda a, b: (seconds[b] - seconds[a]) / (b - a)
    return slope(counts[-2], counts[-1]) / slope(counts[0], counts[1])


def page(results):
    cpu = next((l.partition(":")[2].strip() for l in pathlib.Path("/proc/cpuinfo").read_text().splitlines()
                if l.startswith("model name")), platform.machine())
    lines = ["# Compile time", "",
             "How long `tw-compile` takes, and how that grows with a program. Generated by",
             "`test/benchmark/compile_time.py --table`; what the parts are: `tw-compile --time` ([tools.md](tools.md)).", "",
             f"Measured on {os.cpu_count()} cores of {cpu}, medians.", "",
             "## One product, 1024 x 1024 x 1024 in f32", "",
             "Seconds of each part. *Own passes* are those of `core/Transforms`, without the planning inside of them.", "",
             "| chip | planning | own passes | upstream's passes, reading, writing | LLVM and linker |", "|---|---|---|---|---|"]
    for target, each in results["gemm"].items():
        lines.append(f"| {target} | {each['planning']:.3f} | {each['own']:.3f} | {each['upstream']:.3f} | {each['llvm']:.3f} |")
    lines += ["", "## Programs of many operations", "",
              "Processor seconds of a process that starts cold, MLIR text to artifact: layers of BERT-base with 128 tokens in",
              "f32 and weights of their own; element-wise operations and sums of rows in turn; convolutions of 3 x 3 with padding",
              "in a row. *Growth* is the slope of the last step over that of the first.", "",
              "| chip | program | seconds | ratio or growth |", "|---|---|---|---|"]
    for target, rows in results["networks"].items():
        for name, seconds in rows.items():
            words = ", ".join(f"{count}: {value:.2f}" for count, value in seconds.items())
            last = (f"{seconds[12] / seconds[1]:.2f} x one layer" if name == "layers" else
                    f"growth {growth(seconds):.2f}")
            lines.append(f"| {target} | {name} | {words} | {last} |")
    return "\n".join(lines) + "\n"


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("size", type=int, nargs="?", default=512)
    options.add_argument("--target", default="cpu:host")
    options.add_argument("--table", action="store_true")
    options.add_argument("--samples", type=int, default=5)
    arguments = options.parse_args()
    if arguments.table:
        with tempfile.TemporaryDirectory() as folder:
            PAGE.write_text(page(measure(arguments.samples, pathlib.Path(folder))))
        print(PAGE.read_text())
        return 0
    result = run(arguments.size, arguments.target)
    folder = peers.BUILD / "results"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "compile.json").write_text(json.dumps(result, indent=1))
    print(line(result))
    return 0


if __name__ == "__main__":
    sys.exit(main())
