"""Times chosen plans beside the chooser's own and, if wished, the libraries, interleaved.

    python plans.py GROUP SHAPE [PLAN ...] [--peers]     e.g. f32 128x768x3072 vectors=2 rows=8,prefetch_panels=0

PLAN has the words of `tilewright.force` (see the pass map-contractions). Prints Gop/s (median) and the ratio to the
chooser's plan (median of the turns' ratios).
"""

import argparse
import json
import statistics
import sys

import bench
import peers
import programs


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("group")
    options.add_argument("shape")
    options.add_argument("plans", nargs="*")
    options.add_argument("--samples", type=int, default=9)
    options.add_argument("--peers", action="store_true")
    options.add_argument("--target", default="cpu:host")
    arguments = options.parse_intermixed_args()
    peers.build()
    group = json.loads((bench.HERE / "shapes.json").read_text())[arguments.group]
    wrong = 0
    for shape in group["shapes"]:
        shape = dict(group.get("common", {}), **shape)
        shape["name"] = programs.name(shape)
        if not shape["name"].endswith(arguments.shape):
            continue
        contenders = [programs.compiled(shape, arguments.target)]
        for number, plan in enumerate(arguments.plans):
            forced = programs.compiled(dict(shape, name=f"{shape['name']}-plan{number}", force=plan), arguments.target)
            if forced:
                contenders.append(dict(forced, name=plan))
        if arguments.peers:
            contenders += peers.contenders(shape)
        result = bench.measure(shape, contenders, arguments.samples)
        own = result["contenders"][0]["seconds"]
        work = 2 * shape["m"] * shape["n"] * shape.get("k", 1)
        print(shape["name"])
        for one in result["contenders"]:
            ratio = statistics.median(mine / theirs for mine, theirs in zip(own, one["seconds"]))
            wrong += not one["correct"]
            print(f"  {work / one['median'] / 1e9:8.1f} {ratio:6.3f} {'' if one['correct'] else 'WRONG '}{one['name']}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
