#!/usr/bin/env python3
"""Mutation score by chip: each wait, barrier, fence, bound, offset, swizzle, zero fill, scale and lane of a scale of compiled programs is
removed or changed, one at a time (test/plugins/Mutations.h); is it found, and by what? The tables of docs/trust.md.

    scripts/mutations.py BUILD [CHIP ...] [--every N] [--write]
"""

import argparse
import collections
import concurrent.futures
import os
import pathlib
import re
import subprocess
import tempfile

#: Of each chip: the device that runs its code, and the passes after which mistakes are planted: the last ones that
#: change the tile program, and the kernel in LLVM's dialect.
CHIPS = {"cpu:zen4": ("host", ["vectorize-nests"]),
         "nvidia:A100": ("emulator", ["drop-signedness", "finish-launches"]),
         "nvidia:H200": ("emulator", ["drop-signedness", "finish-launches"]),
         "amd:MI300X": ("emulator", ["drop-signedness", "finish-launches"]),
         "amd:MI350": ("emulator", ["drop-signedness"]),
         "amd:RX9070": ("emulator", ["drop-signedness"]),
         "accelerator:npu": ("emulator", ["drop-signedness"])}
#: Conformance programs, by the beginning of their names.
CASES = ("contraction_matmul_f16.f16.f32_33x47x29", "contraction_matmul_f16.f16.f32_20?x36?x50?",
         "epilogue_requantize_i8.i8.i32.i8_33x48x31", "epilogue_bias-gelu_f16.f16.f32.f32_33x48x31",
         "softmax_softmax_f32_13x37_row", "convolution_conv2d_f16.f16.f32_2x11x13x6", "reduction_sum_f32_3x17x33_row",
         "elementwise_mul_f32_23?x41?_column", "norm_rms-norm_f32_16x128_row", "transpose_transpose_i32_3x17x29_201")
#: And what they are too small for: products of several steps, whose copies are pipelined.
STEPS = """func.func @steps(%a: tensor<64x256xf16>, %b: tensor<256x64xf16>) -> tensor<64x64xf32> {
  %z = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<64x64xf32>
  %f = linalg.fill ins(%z : f32) outs(%e : tensor<64x64xf32>) -> tensor<64x64xf32>
  %r = linalg.matmul ins(%a, %b : tensor<64x256xf16>, tensor<256x64xf16>) outs(%f : tensor<64x64xf32>)
      -> tensor<64x64xf32>
  return %r : tensor<64x64xf32>
}
"""
#: A product whose unit takes scales, for chips that have such units.
SCALED = ("contraction_scaled-matmul_f8E4M3FN.f8E5M2.f8E8M0FNU.f32_33x47x100_blocks32",)
#: One whose unit takes an index.
SPARSE = ("contraction_sparse-matmul_f16.f16.f32_33x47x100_a",)
CASES_OF = {"amd:MI350": SCALED, "amd:RX9070": SPARSE}
KINDS = ("wait", "barrier", "fence", "bound", "offset", "swizzle", "zero-fill", "scale", "scale-lane")
FOUND = ("proof", "compiler", "finding", "result", "crash")
PAGE = pathlib.Path(__file__).resolve().parents[1] / "docs/trust.md"
MARK, END = "<!-- written by scripts/mutations.py --write -->\n", "<!-- end of what scripts/mutations.py writes -->\n"
#: Why a mistake changes nothing that a run could show: chip, program, pass and place, and the reason. Places move with the
#: compiler's plans; a survivor that is not listed fails the test and has to be looked at.
UNUSED = "its result is of no use: folding removes it"
BEYOND = "one more element of a row, in a vector element that the masked store leaves out or that no product takes"
MISSING = "what a masked load gives beyond the row, in vector elements that a masked store or a selection leaves out"
PRODUCT = "contraction_matmul_f16.f16.f32_33x47x29_tt"
REASONS = {
    **{("nvidia:H200", program, "drop-signedness", site): why for program, site, why in (
        ("epilogue_bias-gelu_f16.f16.f32.f32_33x48x31_nn", 18,
         "waits for a copy of the prologue whose step does not exist: nothing reads its slot"),
        ("epilogue_requantize_i8.i8.i32.i8_33x48x31_nt", 2, "the lower bound of a clamp, which no sum of this program reaches"))},
    **{("cpu:zen4", program, "vectorize-nests", site): why for program, sites, why in (
        (PRODUCT, (0,), UNUSED), (PRODUCT, (48, 60, 72, 204, 216), BEYOND), (PRODUCT, (120, 132, 144), MISSING),
        ("contraction_matmul_f16.f16.f32_20?x36?x50?_tn", (11,),
         "one more block of rows, whose number the array bounds: it has none"),
        ("epilogue_requantize_i8.i8.i32.i8_33x48x31_nt", (6,), "one more element along k, where the other factor is zero"),
        ("epilogue_bias-gelu_f16.f16.f32.f32_33x48x31_nn", (7,), BEYOND), ("softmax_softmax_f32_13x37_row", (9,), MISSING),
        ("convolution_conv2d_f16.f16.f32_2x11x13x6-9f3_nhwc-s2-d2", (8,), UNUSED)) for site in sites},
    ("nvidia:A100", "epilogue_bias-gelu_f16.f16.f32.f32_33x48x31_nn", "drop-signedness", 18):
        "waits for a copy of the prologue whose step does not exist: nothing reads its slot",
    ("nvidia:A100", "epilogue_requantize_i8.i8.i32.i8_33x48x31_nt", "drop-signedness", 2):
        "the lower bound of a clamp, which no sum of this program reaches",
    ("amd:MI300X", "contraction_matmul_f16.f16.f32_20?x36?x50?_tn", "drop-signedness", 17):
        "reads rows of a tile from row 96 on, which the sizes of the run, 20 x 36, do not have",
    ("accelerator:npu", "contraction_matmul_f16.f16.f32_33x47x29_tt", "drop-signedness", 0):
        "what a gather gives where its mask is false, and its mask is true everywhere",
    ("accelerator:npu", "contraction_matmul_f16.f16.f32_33x47x29_tt", "drop-signedness", 12):
        "waits for the last copy of a core: nothing after it touches the buffer, and that a launch ends with its copies is assumed",
    ("accelerator:npu", "transpose_transpose_i32_3x17x29_201", "drop-signedness", 20):
        "fetches a core's next image, and no core has more than one of the three",
}

Mutant = collections.namedtuple("Mutant", "chip program pass_name number kind op place found")


def environment(build: pathlib.Path, plant: str = "") -> dict[str, str]:
    return {**os.environ, "TILEWRIGHT_TARGET_PATH": str(build / "lib/tilewright"), "TILEWRIGHT_PLANT": plant}


def sizes_of(program: pathlib.Path) -> list[list[str]]:
    """Of a name as 20?x36?x50?: the dynamic sizes that conformance runs it with, and others, for which loops run that
    these leave out."""
    sizes = [int(each) for each in re.findall(r"(\d+)\?", program.stem)]
    large, inner = [4 * each + 1 for each in sizes], [each // 2 for each in sizes]
    several = [sizes, large, [max(1, each - 5) for each in sizes], large[:1] + inner[1:-1] + large[-1:]]
    return [[f"--sizes={','.join(map(str, each))}"] for each in several] if sizes else [[]]


def run(build: pathlib.Path, chip: str, program: pathlib.Path, pass_name: str, number: int) -> tuple[str, str]:
    """What `tw-run` says with one mistake, and how it was found: one of FOUND, or empty."""
    for sizes in sizes_of(program):
        text, found = run_with(build, chip, program, pass_name, number, sizes)
        if found:
            break
    return text, found


def run_with(build: pathlib.Path, chip: str, program: pathlib.Path, pass_name: str, number: int, sizes: list[str]) -> tuple[str, str]:
    """The same for some sizes."""
    plugin = build / "test/plugins/planted/libtilewright-target-planted.so"
    try:
        done = subprocess.run([build / "bin/tw-run", program, "--target", chip, "--device", CHIPS[chip][0], f"--load-target={plugin}",
                               "--prove=require", "--verify", *sizes],
                              capture_output=True, text=True, timeout=60, env=environment(build, f"{pass_name}:site={number}"),
                              cwd=program.parent)
    except subprocess.TimeoutExpired as late:
        return (late.stderr or b"").decode(), "crash"
    if done.returncode == 1:
        return done.stderr, "proof" if "--prove=require" in done.stderr else "compiler"
    return done.stderr, {0: "", 2: "result", 3: "finding"}.get(done.returncode, "crash")


def mutants(build: pathlib.Path, chip: str, every: int, cases: tuple[str, ...] = CASES) -> list[Mutant]:
    """Each `every`-th mistake of each program."""
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        subprocess.run([build / "bin/tw-conformance", "--target", chip, "--list", "--keep", folder], check=True, capture_output=True,
                       env=environment(build))
        names = sorted(pathlib.Path(folder).glob("*.mlir"))
        programs = [next(name for name in names if name.name.startswith(case)) for case in CASES_OF.get(chip, cases)]
        if chip not in CASES_OF:
            (pathlib.Path(folder) / "steps_64x256x64.mlir").write_text(STEPS)
            programs.append(pathlib.Path(folder) / "steps_64x256x64.mlir")
        pairs = [(program, name) for program in programs for name in CHIPS[chip][1]]

        def count(pair: tuple[pathlib.Path, str]) -> int:
            text, found = run(build, chip, *pair, 10**6)
            if found == "proof":  # not proved without a mistake: nothing would be learned
                return 0
            assert not found, f"{chip}: {pair[0].stem} fails without a mistake ({found}):\n{text}"
            return max([int(each) for each in re.findall(r"mutation \d+ of (\d+)", text)], default=0)

        sites = [(program, name, number) for (program, name), last in zip(pairs, pool.map(count, pairs)) for number in range(last)]
        sites = sites[::every]

        def judge(site: tuple[pathlib.Path, str, int]) -> Mutant | None:
            text, found = run(build, chip, *site)
            planted = re.search(r"mutation \d+ of \d+: ([a-z-]+): (\S+) at (.*)", text)
            if not planted or planted[1] == "none":
                return None
            return Mutant(chip, site[0].stem, site[1], site[2], planted[1], planted[2], planted[3], found)

        return [each for each in pool.map(judge, sites) if each]


def reason(mutant: Mutant) -> str:
    return REASONS.get((mutant.chip, mutant.program, mutant.pass_name, mutant.number), "")


def score(chip: str, found: list[Mutant]) -> str:
    """The row of a chip: planted, found by each way, survivors, found of all, and found of those that can be seen."""
    counts = [sum(each.found == way for each in found) for way in FOUND]
    survivors = [each for each in found if not each.found]
    explained = sum(bool(reason(each)) for each in survivors)
    raw, share = (100 * sum(counts) / max(1, all_of) for all_of in (len(found), len(found) - explained))
    cells = [f"`{chip}`", len(found), *counts, explained, len(survivors) - explained, f"{raw:.1f} %", f"{share:.1f} %"]
    return "| " + " | ".join(map(str, cells)) + " |"


def kinds(found: list[Mutant]) -> list[str]:
    """A row for each kind of mistake: planted, and found, on each chip."""
    rows = []
    for kind in KINDS:
        cells = []
        for chip in dict.fromkeys(each.chip for each in found):
            mine = [each for each in found if each.kind == kind and each.chip == chip]
            cells.append(f"{sum(bool(each.found) for each in mine)} of {len(mine)}" if mine else "")
        rows.append(f"| {kind} | " + " | ".join(cells) + " |")
    return rows


def table(by_chip: dict[str, list[Mutant]]) -> str:
    """The section of the page."""
    every = [each for found in by_chip.values() for each in found]
    lines = ["| chip | planted | by the proof | by the compiler | by the emulator's checks | by a wrong result | by a crash or time-out "
             "| survive with a reason | survive | found of all | found of those that can be seen |", "|---" * 11 + "|",
             *[score(chip, found) for chip, found in by_chip.items()], "",
             "| found of planted | " + " | ".join(f"`{chip}`" for chip in by_chip) + " |", "|---" * (1 + len(by_chip)) + "|", *kinds(every), ""]
    groups = collections.Counter((each.kind, each.op, reason(each) or "not explained", each.chip) for each in every if not each.found)
    lines += ["Survivors:", "", "| kind | operation | chip | how many | reason |", "|---|---|---|---|---|"]
    lines += [f"| {kind} | `{op}` | `{chip}` | {number} | {why} |" for (kind, op, why, chip), number in sorted(groups.items())]
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("chips", nargs="*", default=list(CHIPS))
    parser.add_argument("--every", type=int, default=1, help="take each N-th mistake")
    parser.add_argument("--write", action="store_true", help="write the tables into docs/trust.md")
    parser.add_argument("--survivors", action="store_true", help="list each one with the command that plants it")
    arguments = parser.parse_args()
    by_chip = {}
    for chip in arguments.chips:
        by_chip[chip] = mutants(arguments.build.resolve(), chip, arguments.every)
        print(score(chip, by_chip[chip]), flush=True)
        for each in by_chip[chip]:
            if arguments.survivors and not each.found:
                print(f"    {each.program} {each.pass_name}:site={each.number} {each.kind} {each.op} {each.place}: {reason(each)}", flush=True)
    if arguments.write:
        before, after = PAGE.read_text().split(MARK)
        PAGE.write_text(before + MARK + "\n" + table(by_chip) + "\n" + END + after.split(END)[1])


if __name__ == "__main__":
    main()
