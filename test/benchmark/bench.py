"""Times compiled code beside libraries, all of them in one run, and writes docs/performance.md.

    python bench.py                            every shape of shapes.json
    python bench.py --group f32 --only 512     some of them
    python bench.py --peers-only               libraries alone
    python bench.py --write                    also docs/performance.md, from the results of all groups so far

Each contender is a process of its own (bench.cpp); they take turns sample by sample, in an order that rotates. A ratio
is the median over the turns of (fastest library's time / compiled code's time), with the interval of its order
statistics that holds the median with at least 95 %. Results are kept in build/benchmark/results/GROUP.json.
"""

import argparse
import json
import math
import os
import pathlib
import signal
import statistics
import subprocess
import sys
import tempfile

import peers
import programs
import report

HERE = pathlib.Path(__file__).resolve().parent
SOURCE = HERE.parents[1]


class Contender:
    """A running process that computes one problem and gives a sample when asked."""

    def __init__(self, name, command, environment, library, threads=1):
        self.name, self.library, self.samples, self.facts = name, library, [], None
        self.bound = False  # shown beside the libraries, and not one of them
        self.pauses = threads > 1  # a team of threads spins while it waits: others would share the cores with it
        self.process = subprocess.Popen(
            command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def ready(self):
        """Waits for preparation and check; False if the contender cannot do the problem."""
        line = self.process.stdout.readline()
        if not line:
            words = self.process.communicate()[1].strip().splitlines()
            self.reason = words[-1:] or [f"status {self.process.returncode}"]
            return False
        self.facts = json.loads(line)
        self.signal(signal.SIGSTOP)
        return True

    def sample(self):
        try:
            self.signal(signal.SIGCONT)
            self.process.stdin.write("\n")
            self.process.stdin.flush()
            self.samples.append(float(self.process.stdout.readline()))
            self.signal(signal.SIGSTOP)
            return True
        except (BrokenPipeError, ValueError):
            return False

    def signal(self, which):
        if self.pauses:
            self.process.send_signal(which)

    def close(self):
        self.process.kill()
        self.process.communicate()


def interval(values):
    """Median and the order statistics around it that hold the true median with at least 95 %."""
    ordered, count = sorted(values), len(values)
    low, tail = 0, 0.0
    while low < (count - 1) // 2 and tail + math.comb(count, low) / 2**count <= 0.025:
        tail += math.comb(count, low) / 2**count
        low += 1
    low = max(low - 1, 0)
    return statistics.median(ordered), ordered[low], ordered[count - 1 - low]


def measure(shape, contenders, samples):
    """Runs one shape; returns a JSON object with the samples of every contender that could do it."""
    threads = shape.get("threads", 1)
    words = [shape["type"], shape["m"], shape["n"], shape.get("k", 1), int(shape.get("transA", False)),
             int(shape.get("transB", False)), threads]
    running, refused = [], {}
    with tempfile.TemporaryDirectory() as folder:
        for contender in contenders:
            environment = dict(os.environ, **peers.thread_environment(threads), **contender.get("environment", {}),
                               TILEWRIGHT_BENCH_REFERENCE=f"{folder}/{contender.get('kind', shape['kind'])}")
            command = [str(peers.BUILD / "tilewright-bench"), contender.get("kind", shape["kind"]), *map(str, words),
                       *contender["command"]]
            # On one processor all the time: the last one, away from where interrupts usually go.
            if threads == 1:
                command = ["taskset", "-c", str(max(os.sched_getaffinity(0))), *command]
            one = Contender(contender["name"], command, environment, contender["library"], threads)
            one.bound = contender.get("bound", False)
            if one.ready():
                running.append(one)
                if not one.facts["correct"] and one.library:
                    refused[one.name] = f"wrong result (error {one.facts['error']})"
                    running.remove(one)
                    one.close()
            else:
                refused[one.name] = " ".join(one.reason)
    for turn in range(samples):
        for place in range(len(running)):
            one = running[(turn + place) % len(running)]
            if not one.sample():
                refused[one.name] = "stopped while it was timed"
    for one in running:
        one.close()
    result = dict(shape, refused=refused, contenders=[
        dict(one.facts, name=one.name, library=one.library, bound=one.bound,
             seconds=one.samples) for one in running if len(one.samples) == samples])
    summarise(result)
    return result


def summarise(result):
    """Adds the fastest library and the ratio of compiled code to it."""
    # A library that was given its weights in a layout of its own before the clock started is shown, not compared. So is
    # a bound, which computes nothing.
    libraries = [c for c in result["contenders"] if c["library"] and "prepacked" not in c["name"] and not c.get("bound")]
    ours = [c for c in result["contenders"] if not c["library"]]
    for contender in result["contenders"]:
        contender["median"] = statistics.median(contender["seconds"])
    if libraries:
        best = min(libraries, key=lambda c: c["median"])
        result["best"] = best["name"]
        if ours:
            ratios = [theirs / mine for theirs, mine in zip(best["seconds"], ours[0]["seconds"])]
            result["ratio"], result["low"], result["high"] = interval(ratios)


def line(result):
    work = 2 * result["m"] * result["n"] * result.get("k", 1)
    parts = [f"{c['name']} {work / c['median'] / 1e9:.1f}" + ("" if c["correct"] else " WRONG")
             for c in result["contenders"]]
    ratio = ""
    if "ratio" in result:
        ratio = f" | {result['ratio']:.3f} [{result['low']:.3f}, {result['high']:.3f}] of {result['best']}"
    return f"{result['name']}: " + ", ".join(parts) + ratio


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--group", action="append", help="only this group of shapes.json (may be repeated)")
    options.add_argument("--only", help="only shapes whose name contains this")
    options.add_argument("--samples", type=int, default=11, help="samples of each contender, at least 9 and what shapes.json says")
    options.add_argument("--peers-only", action="store_true", help="do not compile anything")
    options.add_argument("--no-peers", action="store_true", help="compiled code alone")
    options.add_argument("--target", default="cpu:host")
    options.add_argument("--write", action="store_true", help="write docs/performance.md")
    arguments = options.parse_args()

    groups = json.loads((HERE / "shapes.json").read_text())
    peers.build()
    results = peers.BUILD / "results"
    results.mkdir(parents=True, exist_ok=True)
    wrong = 0
    for group, content in groups.items():
        if arguments.group and group not in arguments.group:
            continue
        measured = []
        for shape in content["shapes"]:
            shape = dict(content.get("common", {}), **shape)
            shape["name"] = programs.name(shape)
            if arguments.only and arguments.only not in shape["name"]:
                continue
            contenders = [] if arguments.no_peers else peers.contenders(shape)
            if not arguments.peers_only:
                contenders.insert(0, programs.compiled(shape, arguments.target))
                if shape["kind"] == "fused":  # compared with the same product alone
                    plain = programs.compiled(dict(shape, kind="gemm", name=shape["name"] + "-plain"), arguments.target)
                    contenders.append(plain and dict(plain, name="product-alone", kind="gemm", library=True))
            result = measure(shape, [c for c in contenders if c], max(9, content.get("samples", 0), arguments.samples))
            wrong += sum(not c["correct"] for c in result["contenders"])
            measured.append(result)
            print(line(result), flush=True)
            for name, reason in result["refused"].items():
                if name == "tilewright":
                    print(f"  {name}: {reason}", file=sys.stderr)
        ratios = [r["ratio"] for r in measured if "ratio" in r]
        if ratios:
            print(f"{group}: geometric mean {statistics.geometric_mean(ratios):.3f} over {len(ratios)}, "
                  f"lowest {min(ratios):.3f}")
        if not arguments.only:
            (results / f"{group}.json").write_text(json.dumps(measured, indent=1))
    if arguments.write:
        report.write(groups, results, SOURCE / "docs" / "performance.md")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
