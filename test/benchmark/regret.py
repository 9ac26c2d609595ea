"""How far the chooser's plan is from the best of a search: the regret.

    python regret.py                    the shapes of the group `regret` in shapes.json (hours)
    python regret.py --only 512         some of them
    python regret.py --candidates 250   at most so many a shape

The candidates of a shape are all register tiles that fit the registers x blocks x packing x loop orders, pruned by
capacity only. Each is forced upon the compiler by the module's attribute `tilewright.force` (see the pass
map-contractions), compiled, checked and timed. The 8 fastest and the chooser's own plan are then timed again,
interleaved; regret = chooser's time / fastest time - 1. Results: build/benchmark/results/regret.json.
"""

import argparse
import itertools
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile

import bench
import peers
import programs

#: Elements of a vector and vector registers that candidates assume.
LANES, REGISTERS = (16, 32) if peers.wide() else (8, 16)


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


def quick(contender, shape, folder):
    """Seconds a call, the least of three samples; None if the plan does not hold for this shape."""
    environment = dict(os.environ, TILEWRIGHT_BENCH_REFERENCE=f"{folder}/gemm")
    words = ["gemm", shape["type"], shape["m"], shape["n"], shape["k"], 0, 0, 1]
    one = bench.Contender("candidate", [str(peers.BUILD / "tilewright-bench"), *map(str, words),
                                        *contender["command"]], environment, False)
    try:
        if not one.ready():
            return None
        if not one.facts["correct"]:
            raise SystemExit(f"wrong result with {contender['name']}")
        for _ in range(3):
            one.sample()
        return min(one.samples)
    finally:
        one.close()


def regret(shape, target, most):
    found, refused = [], 0
    with tempfile.TemporaryDirectory() as folder:
        for number, plan in enumerate(candidates(shape, most)):
            contender = programs.compiled(dict(shape, name=f"{shape['name']}-{number}", force=plan), target, quiet=True)
            seconds = contender and quick(dict(contender, name=plan), shape, folder)
            if seconds:
                found.append((seconds, dict(contender, name=plan, library=True)))
            else:
                refused += 1
    found.sort(key=lambda pair: pair[0])
    chooser = programs.compiled(shape, target)
    result = bench.measure(shape, [chooser, *(contender for _, contender in found[:8])], 15)
    pick = next(c for c in result["contenders"] if not c["library"])["median"]
    best = min(c["median"] for c in result["contenders"])
    return dict(shape, tried=len(found), refused=refused, regret=pick / best - 1, best=result.get("best"))


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--only", help="only shapes whose name contains this")
    options.add_argument("--candidates", type=int, default=250)
    options.add_argument("--target", default="cpu:host")
    arguments = options.parse_args()
    peers.build()
    shapes = [dict(m=m, n=n, k=k, kind="gemm", type="f32") for m, n, k in
              json.loads((bench.HERE / "shapes.json").read_text())["f32"]["regret"]]
    results = []
    for shape in shapes:
        shape["name"] = programs.name(shape)
        if arguments.only and arguments.only not in shape["name"]:
            continue
        results.append(regret(shape, arguments.target, arguments.candidates))
        words = "{name}: regret {regret:.3f} over {tried} candidates ({refused} refused), best {best}"
        print(words.format(**results[-1]), flush=True)
    if results:
        values = [result["regret"] for result in results]
        print(f"regret: median {statistics.median(values):.3f}, largest {max(values):.3f}")
    if not arguments.only:
        (peers.BUILD / "results" / "regret.json").write_text(json.dumps(results, indent=1))


if __name__ == "__main__":
    sys.exit(main())
