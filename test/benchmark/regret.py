"""How far the chooser's plan is from the best of a search: the regret.

    python regret.py compile                       compiles the candidates of every shape (an hour of one core; goes on
                                                   where it was stopped, needs no quiet)
    python regret.py measure --seconds 140         measures shapes until the time is over (two minutes in all; goes on
                                                   with the shapes that have no result yet; needs a quiet machine)
    python regret.py show                          the table so far, with the plans
    python regret.py write                         keeps it in test/benchmark/regret.json, which performance.md shows

    --only 512       shapes whose name contains this; --shape 384x1000x640-tn: one that is not in shapes.json
    --candidates 250 at most so many a shape; --again: measures what has a result as well
    --same-code      takes candidates that an earlier build of the compiler made: right if only the choice changed

The candidates of a shape are all register tiles that fit the registers x blocks x packing x loop orders, pruned by
capacity only. Each is forced upon the compiler by the module's attribute `tilewright.force` (see the pass
map-contractions). One process loads all of them and checks the result of each. Those within half again of the fastest
get two more samples; the 8 fastest and the chooser's own plan are then timed again, interleaved:
regret = median over the turns of (chooser's time / fastest's time) - 1.
"""

import argparse
import concurrent.futures
import hashlib
import itertools
import json
import os
import pathlib
import random
import re
import statistics
import subprocess
import sys
import tempfile
import time

import bench
import peers
import programs

#: Elements of a vector and vector registers that candidates assume.
LANES, REGISTERS = (16, 32) if peers.wide() else (8, 16)
FOLDER = peers.BUILD / "regret"
TABLE = bench.HERE / "regret.json"
RESULTS = peers.BUILD / "results" / "regret.json"


def second_level():
    """Bytes of the second cache; one MiB where the system does not say."""
    try:
        with open("/sys/devices/system/cpu/cpu0/cache/index2/size") as size:
            return int(size.read().strip().rstrip("K")) << 10
    except (OSError, ValueError):
        return 1 << 20


SECOND_LEVEL = second_level()


def blocks(extent, sizes):
    return sorted({min(size, extent) for size in sizes}) + [0]


def candidates(shape, most):
    """Texts for `tilewright.force`, at most `most` of them, drawn evenly."""
    m, n, k = shape["m"], shape["n"], shape["k"]
    plans = []
    tiles = [(r, v) for v in (1, 2, 3, 4, 6) for r in range(2, 29)
             if r * v + v + 1 <= REGISTERS and r * v >= 8 and r <= m and v * LANES <= n + LANES]
    for (rows, vectors), k_block, row_block, lane_block in itertools.product(
            tiles, blocks(k, (128, 256, 512, 1024)), (0, 4, 8, 16, 32), (0, 4, 16)):
        depth = k_block or k
        if row_block and (row_block * rows + vectors * LANES) * depth * 4 > 2 * SECOND_LEVEL:
            continue
        for pack_vectors, pack_scalars, rows_outside in itertools.product((0, 1), repeat=3):
            plans.append(f"rows={rows},vectors={vectors},k_block={k_block},row_block={row_block},"
                         f"lane_block={lane_block},pack_vectors={pack_vectors},pack_scalars={pack_scalars},"
                         f"rows_outside={rows_outside}")
    random.Random(1).shuffle(plans)
    return plans[:most]


def compiler_version(same_code):
    """Names the compiler's binaries by what they are: candidates of another one are made anew."""
    marker = FOLDER / "version"
    if same_code and marker.exists():
        return marker.read_text()
    digest = hashlib.sha256()
    build = programs.build_folder()
    for path in sorted([build / "bin" / "tw-compile", *build.glob("lib/libTilewright.so*")]):
        if path.is_file() and not path.is_symlink():
            digest.update(path.read_bytes())
    FOLDER.mkdir(parents=True, exist_ok=True)
    marker.write_text(digest.hexdigest())
    return digest.hexdigest()


def library_of(shape, plan, version, target):
    """Where the compiled candidate lies; a file with the ending .refused where the compiler refused it."""
    key = hashlib.sha256(f"{version} {target} {plan} {programs.text(shape)}".encode()).hexdigest()[:20]
    return FOLDER / f"{shape['name']}-{key}.so"


def compile_one(shape, plan, library, target):
    refused = library.with_suffix(".refused")
    if library.exists() or refused.exists():
        return
    # A run that is stopped leaves nothing half-written.
    with tempfile.TemporaryDirectory(dir=FOLDER) as folder:
        made = programs.compiled(dict(shape, force=plan), target, quiet=True, folder=pathlib.Path(folder))
        if made:
            os.replace(made["command"][1], library)
        else:
            refused.touch()


def compile_all(shapes, arguments):
    version = compiler_version(arguments.same_code)
    for shape in shapes:
        plans = candidates(shape, arguments.candidates)
        with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
            list(pool.map(lambda plan: compile_one(shape, plan, library_of(shape, plan, version, arguments.target),
                                                   arguments.target), plans))
        made = sum(library_of(shape, plan, version, arguments.target).exists() for plan in plans)
        print(f"{shape['name']}: {made} of {len(plans)} candidates compiled", flush=True)


class Codes:
    """One process that loads and times many shared objects of one shape."""

    def __init__(self, shape, folder):
        words = ["gemm", shape["type"], shape["m"], shape["n"], shape["k"], int(shape.get("transA", False)),
                 int(shape.get("transB", False)), 1, "codes", "-", "compute"]
        environment = dict(os.environ, **peers.thread_environment(1), TILEWRIGHT_BENCH_REFERENCE=f"{folder}/gemm")
        command = ["taskset", "-c", str(max(os.sched_getaffinity(0))), str(peers.BUILD / "tilewright-bench")]
        self.process = subprocess.Popen([*command, *map(str, words)], env=environment, stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True)

    def sample(self, library):
        """Seconds a call, or a word that says why there are none."""
        self.process.stdin.write(f"{library}\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline().strip()
        if not answer:
            raise SystemExit(f"{library}: the process that times it has ended")
        return answer if answer.isalpha() else float(answer)

    def close(self):
        self.process.kill()
        self.process.communicate()


def measure(shape, arguments):
    """The regret of one shape as a JSON object; None while its candidates are not compiled."""
    version, target = compiler_version(arguments.same_code), arguments.target
    libraries = {plan: library_of(shape, plan, version, target) for plan in candidates(shape, arguments.candidates)}
    if not all(path.exists() or path.with_suffix(".refused").exists() for path in libraries.values()):
        return None
    with tempfile.TemporaryDirectory() as folder:
        chooser = programs.compiled(shape, target, folder=pathlib.Path(folder), explain=True)
        codes = Codes(shape, folder)
        times = {}
        for plan, library in libraries.items():
            if library.exists():
                seconds = codes.sample(library)
                if isinstance(seconds, str):
                    raise SystemExit(f"{shape['name']}: {seconds} with {plan}")
                times[plan] = seconds
        near = 1.5 * min(times.values())
        for plan in [plan for plan, seconds in times.items() if seconds <= near]:
            times[plan] = min(times[plan], codes.sample(libraries[plan]), codes.sample(libraries[plan]))
        fastest = sorted(times, key=times.get)[:8]
        contenders = {"chooser": chooser["command"][1], **{plan: libraries[plan] for plan in fastest}}
        samples = {name: [] for name in contenders}
        names = list(contenders)
        for turn in range(arguments.samples):
            for place in range(len(names)):
                name = names[(turn + place) % len(names)]
                samples[name].append(codes.sample(contenders[name]))
        codes.close()
    best = min(fastest, key=lambda plan: statistics.median(samples[plan]))
    ratios = [mine / theirs for mine, theirs in zip(samples["chooser"], samples[best])]
    ratio, low, high = bench.interval(ratios)
    work = 2e-9 * shape["m"] * shape["n"] * shape["k"]
    return dict(shape, tried=len(times), refused=len(libraries) - len(times), regret=ratio - 1, low=low - 1,
                high=high - 1, speed=work / statistics.median(samples["chooser"]), best=best,
                best_speed=work / statistics.median(samples[best]), choice=chooser["choice"],
                others={plan: work / statistics.median(samples[plan]) for plan in fastest})


def show(results, plans=True):
    for result in results:
        print("{name}: regret {regret:.3f} ({low:.3f} to {high:.3f}), {speed:.1f} Gflop/s, the best of {tried} "
              "{best_speed:.1f} ({refused} refused)".format(**result))
        if plans:
            print(f"  chosen: {result['choice']}\n  best:   {result['best']}")
    if results:
        values = [max(result["regret"], 0) for result in results]
        print(f"{len(results)} shapes: median {statistics.median(values):.3f}, largest {max(values):.3f}")


def shape_of(words):
    """MxNxK, with letters for transposed operands if there are any."""
    m, n, k, _, a, b = re.fullmatch(r"(\d+)x(\d+)x(\d+)(-([nt])([nt]))?", words).groups()
    shape = dict(m=int(m), n=int(n), k=int(k), kind="gemm", type="f32")
    return dict(shape, transA=a == "t", transB=b == "t") if a else shape


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("action", choices=["compile", "measure", "show", "write"])
    options.add_argument("--only")
    options.add_argument("--shape", action="append")
    options.add_argument("--candidates", type=int, default=250)
    options.add_argument("--samples", type=int, default=15)
    options.add_argument("--seconds", type=float, default=1e9)
    options.add_argument("--jobs", type=int, default=1)
    options.add_argument("--again", action="store_true")
    options.add_argument("--same-code", action="store_true")
    options.add_argument("--target", default="cpu:host")
    arguments = options.parse_args()
    start = time.monotonic()
    peers.build_worker()
    texts = arguments.shape or ["x".join(map(str, sizes)) for sizes in
                                json.loads((bench.HERE / "shapes.json").read_text())["f32"]["regret"]]
    shapes = [dict(shape, name=programs.name(shape)) for shape in map(shape_of, texts)]
    shapes = [shape for shape in shapes if not arguments.only or arguments.only in shape["name"]]
    if arguments.action == "compile":
        return compile_all(shapes, arguments)
    results = {result["name"]: result for result in json.loads(RESULTS.read_text())} if RESULTS.exists() else {}
    longest = 0
    for shape in shapes if arguments.action == "measure" else []:
        begin = time.monotonic()
        if (shape["name"] in results and not arguments.again) or begin - start + 1.2 * longest > arguments.seconds:
            continue
        if (result := measure(shape, arguments)) is None:
            print(f"{shape['name']}: candidates are missing, run `regret.py compile` first", flush=True)
            continue
        results[shape["name"]] = result
        RESULTS.write_text(json.dumps(list(results.values()), indent=1))
        longest = max(longest, time.monotonic() - begin)
        print(f"{shape['name']}: {time.monotonic() - begin:.0f} s", flush=True)
    chosen = [results[shape["name"]] for shape in shapes if shape["name"] in results]
    show(chosen)
    if arguments.action == "write":
        TABLE.write_text(json.dumps(chosen, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
