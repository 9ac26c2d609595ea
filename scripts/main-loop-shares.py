#!/usr/bin/env python3
"""Shares of products in the main loops of the plans that the cost model chooses by itself, as rows of a table.

    scripts/main-loop-shares.py BUILD [--chips MI300X,MI350] [--kinds f16,i8] [--sizes 4096,4000x5000x3000] [--all]

For each product: its block, subgroups along m, n and k, blocks at a time, operands turned before, and the share of one wave: clocks of its
products, of those and 4 for every other instruction of the loop. Blocks below 256 x 128 are counted with --all alone.
"""

import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "test" / "integration"))
EIGHT = {"MI250": (), "MI300X": ("f8E4M3FNUZ",), "MI350": ("f8E4M3FN",)}
#: Transpositions of A and B by what is turned: k is not the fastest dimension of the array.
ORDERS = {"none": (False, True), "B": (False, False), "A": (True, True), "both": (True, False)}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--chips", default="MI250,MI300X,MI350")
    parser.add_argument("--kinds", help="all that the chip has units for, if not given")
    parser.add_argument("--sizes", default="2048,3072,4096,8192,4000x5000x3000,2050x4098x1030")
    parser.add_argument("--all", action="store_true")
    options = parser.parse_args()
    build = options.build.resolve()
    os.environ["TILEWRIGHT_BUILD"] = str(build)  # what the tests' helpers are told
    from lane_texts import product
    from test_lane_loops import amd_loop

    def tool(name, *words):
        return subprocess.run([build / "bin" / name, *map(str, words)], capture_output=True, text=True, check=True).stdout

    print("| chip | type | size | turned | block | subgroups | at a time | turned before | share |\n" + "|---" * 9 + "|")
    with tempfile.TemporaryDirectory() as folder:
        program, assembly = pathlib.Path(folder, "mm.mlir"), pathlib.Path(folder, "mm.s")
        for chip in options.chips.split(","):
            units = {unit["name"]: unit["issue"] for unit in json.loads(tool("tw-targets", f"amd:{chip}", "--json"))["units"]}
            kinds = options.kinds.split(",") if options.kinds else ["f16", "bf16", "f32", "i8", *EIGHT[chip]]
            for kind in kinds:
                for size in options.sizes.split(","):
                    numbers = [int(number) for number in size.split("x")]
                    shape = numbers * 3 if len(numbers) == 1 else numbers
                    for turned, orders in ORDERS.items():
                        program.write_text(product(kind, *shape, *orders))
                        decisions = json.loads(tool("tw-compile", program, "--target", f"amd:{chip}", "-o", assembly,
                                                    "--explain=json"))
                        choice = next(one for one in decisions if one["decision"] == "contraction")["choice"]
                        block = choice["block"]
                        if not options.all and (min(block[:2]) < 128 or max(block[:2]) < 256):
                            continue
                        loop = amd_loop(assembly.read_text(), "v_mfma_")
                        products = units[choice["unit"]] * sum("v_mfma" in line for line in loop)
                        share = products / (products + 4 * sum("v_mfma" not in line for line in loop))
                        print(f"| {chip} | {kind} | {size} | {turned} | {' x '.join(map(str, block))} | "
                              f"{' x '.join(map(str, [*choice['subgroups'], choice['subgroups_k']]))} | {choice['blocks_at_a_time']} | "
                              f"{choice['transpose_before']} | {share:.2f} |", flush=True)


if __name__ == "__main__":
    main()
