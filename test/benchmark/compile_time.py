"""Times the compiler itself.

    python compile_time.py [SIZE] [--target cpu:host]     one product, MLIR text to callable code
    python compile_time.py --table [--samples 5] [--go-on]    the rows of docs/compile-time.md, which it writes

`second` is the second compilation in one process, what each further program costs a process that compiles; `command` is
the wall time of the first `tw-compile` command, with start, dialects, code generator and link. Medians of 9.

Seconds of the table are processor time of a `tw-compile` process that starts cold, user and system: other work on the
machine lengthens it little. Work on two threads counts twice. Those of parts are their shares of it by `--time`. Instructions are
counted by valgrind (Debian's), if it is installed.
"""

import argparse
import json
import os
import pathlib
import platform
import re
import resource
import shutil
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
#: What is asked of the table's numbers.
PLANNING, LAYER, LAYERS, GROWTH = 0.06, {"cpu:host": 1.5, "nvidia:H200": 3.0, "amd:MI300X": 3.0}, 1.5, 1.3
#: Parts of a compilation, in the order of the page.
PARTS = {"planning": "planning", "own": "own passes", "upstream": "upstream's passes, reading, writing",
         "optimiser": "LLVM's optimiser", "code": "LLVM's code generation", "assembler": "assembler", "link": "linker"}


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


#: What the page says after its tables.
NOTES = """
## Where the time goes, and what keeps it low

1. *Equal kernels are one.* `share-kernels` compares them before planning and, nest by nest, before code generation
   ([stages.md](stages.md)): twelve equal layers are planned and compiled as one.
   A nest is also what fragments link, such as the only tile of a remainder: before, a fragment of zeros that two nests
   share kept 85 % of a frozen ResNet-50 in one function, with each of its equal convolutions.
2. *All processors work.* Passes on functions run side by side where no function is most of the program. In stage 5 kernels
   leave their module before everything goes to LLVM's dialect, each module is lowered on a thread of its own, and they come
   back to their place (`core/Pipelines/KernelModules.h`): code is the same byte by byte. For LLVM, functions of 250
   instructions and more leave their module, in parts of about 1000 instructions; each part is optimised on a thread of its
   own (`core/Pipelines/ModuleParts.h`). Which function is in which part depends on the program alone, so the bytes do not
   depend on the number of processors. For a shared library a part is optimised and its code generated in one go, so that
   no part waits for all to be optimised and none is written as bitcode twice; the linker puts the parts together. For an
   object file they come back to their place, and one thread generates their code.
   Where decisions, steps or counts are listed (`--explain`, `tw-bisect`, `--time=counts`) passes run on one thread, in one
   order.
3. *Code is generated once.* A target that gives assembly and an object file or a cubin makes the second of the first.
4. *Long loops stay loops.* LLVM asks for the cost of each instruction of a loop before it decides that the loop is too
   long to be unrolled, and for those of an inner loop again for each loop around it. Loops of more than 180 instructions
   are marked before (of 250 with the addresses that item 10 shares, of 600 until 2026-11-28: LLVM's unrolling took 9 % of a
   ResNet-50 and then 3 %). In an outermost loop with more than 128 inside all are: hundreds of element-wise operations and
   sums of rows are one loop over rows with a loop for each sum, and for each loop that is unrolled LLVM forgets what it
   knows of all others. How far it unrolls is the processor's (`LoopMicroOpBufferSize`): for a Zen 3 it took 2.3 of the 3.3
   seconds of its optimiser for 1000 operations (`opt -O3 -time-passes`), for a Zen 1 0.1 of 1.0.
5. *LLVM looks for nothing that MLIR's passes have done.* Its search for scalars that could share a vector, or that go from
   one iteration to the next, runs on functions that store scalars, compute floats one by one or build vectors of several
   scalars; nests that are mapped to vectors have none. What follows constants into internal functions, and conditions and
   values through stores, does not run (`LeftOutPasses`). A frozen ResNet-50 on a Xeon with AMX (family 6, model 167), five
   times each in turns by hand: 5.6 s with them, 5.1 without, and 1.3 % fewer instructions.
   Of nine combinations of instructions for each function of vectors three are left: two before the passes on loops and
   one after values are numbered, and one more where loops were unrolled. Two blocks of a ResNet-50 on a Zen 1: 1.69
   processor seconds instead of 1.74, means of five runs each; code is the same byte by byte.
   On SIMT targets functions that compute without vectors of several elements leave out what rewrites these: for each load it
   looked through the operations before it, 12 % of the instructions of a product for an H200 (`valgrind --tool=callgrind`), and
   found nothing.
6. *No question is asked for each operation that has one answer for its type.* The alignment of a vector's access and
   whether a type holds bf16 are known by type, and greedy rewriting leaves blocks alone where no rewrite depends on them.
   The points of a layout, the vector accesses of a fragment to an array and the unit of a name are found once.
7. *Candidates are left early.* The time that a plan of a contraction on CPUs takes in its register tiles is a lower bound;
   what its operands take is asked only where the bound is below the best plan so far. Within a stage a question that was
   asked before has the answer of then (`core/CostModel/Schedules/KnownPlans.h`): equal products, and passes that plan the
   same one, cost one search. `schedule-chains` builds the tiles of a candidate and prices what is in them: nests that are
   equal up to the arrays that they take, in an equal schedule, have the answer of then (`ChainTrials.cpp`). Of eight equal
   blocks of a network on an H200 77 are tried instead of 204, of a frozen ResNet-50 36 instead of 62 (`trials` of
   `--time=counts`; without this counted by hand). Before tiles of blocks are built, a bound is asked: what the matrix
   units of as many multiprocessors as have a tile take for the products that no tiling leaves out
   (`leastSecondsOfTiles`). Of a layer of BERT-base with 128 tokens 12 tilings are built instead of 25, of twelve layers
   32 instead of 76, on an H200 and on an MI300X. What tiles touch is asked of integer sets once for each question:
   tilings that differ in their steps, and ranges that begin at different nests, ask the same (`KnownBoxes.h`). A layer
   of BERT-base in f16 with dynamic sizes, for an H200 on a Zen 1: 3.84 processor seconds before both, 2.26 after,
   medians of three runs in turns.
8. *What runs once is not compiled.* With `freeze` PyTorch's own operations compute what follows from weights
   ([pytorch.md](pytorch.md#frozen-weights)). As a program it was 8 % of the processor seconds of a ResNet-50, 0.7 of 8.8 on
   a Zen 1, and one of two programs that each further process loaded.
9. *Redundant operations are not written.* On SIMT targets each access computes its address. Equal operations of one block are
   written once (`core/Transforms/Utils/SharedValues.h`, `LaneContext::make`). What blocks share goes in one elimination of
   common subexpressions before canonicalisation.
10. *Addresses share their sums* (`core/Transforms/Lower/LLVM/ShareAddresses.h`, CPUs). Of the operations that went to LLVM a
   third were sums of indices and parts of descriptors, each access its own. A frozen ResNet-50 gives LLVM's optimiser 35,937
   instructions instead of 57,169 and its code generation 40,201 instead of 45,288; BERT-base 6,170 (9,962) and 8,614 (7,699),
   GPT-2 9,144 (14,467) and 10,610 (10,664): where loops became shorter, LLVM unrolls more of them. Results are equal bit by
   bit, times too: medians of the ratios of 8 calls of each in turns, one thread, 1.005 (ResNet-50) and 0.993 (BERT-base).
   Subscripts share their terms while they are written (`core/Transforms/Utils/SharedValues.h`): on CPUs
   `lower-tile-to-vector` leaves a frozen ResNet-50 61,730 operations instead of 131,762, of which the elimination of common
   subexpressions leaves 40,929 either way, and the code is the same byte by byte.
11. *Equal kernels are simplified once.* On hosts canonicalisation comes after `share-kernels`: it finds 20,035 operations of a
   frozen ResNet-50 instead of 37,618.
12. *What has no engine needs no proof.* `check-engine-fences` first rewrites one operation of each kind as the emulator would; it
   looks at the kernel where one of them uses an engine or a unit of a group. An unrolled product for an H200 is 4,500
   operations of few kinds: 10 million instructions of the pass instead of 183 million.
13. *Passes look at users, not at all nests.* `fuse-nests` asks what one of two loops touches that grew by all that were merged
   before, and `unroll-taps` which nest of the block reads a sum: both go through the users of the smaller one's arrays.
14. *Upstream's conversion gets what is left.* It notes operands, attributes and results of each operation that it converts.
   `lower-tile-to-vector` goes through the program once and writes what stands for each operation of tiles. `lower-to-llvm`
   writes calls of units, and accesses of arrays with constant strides, before it converts the rest, and looks for rewrites
   of vectors among the operations of their dialect.
15. *Symbols are looked for where they are named* (`core/Transforms/Utils/SymbolUsers.h`). Operations tell by an interface that
   they name one; upstream's map searches each attribute of each operation. A kernel that one call takes, and the body of a
   grid, move to their new place instead of being copied.

## Networks

Processor seconds (user) of `tw-compile` on the text that PyTorch's graph becomes, for this host, 2 cores of an AMD EPYC
(family 25, model 17) beside other work (load 15), one run each, before and after tiles that fragments link became
functions. Measured by hand on 2026-11-28; the text is what `torch.compile` gives the compiler, with weights frozen where
it says so.

| network | before | after |
|---|---|---|
| ResNet-50, frozen | 14.8 | 5.9 |
| ResNet-50 | 6.3 | 5.9 |
| EfficientNet-B0, frozen | 4.9 | 4.5 |
| BERT-base | 1.5 | 1.6 |
| GPT-2 | 2.2 | 2.4 |

Kernels side by side: of the frozen ResNet-50's compilation 82 % of the wall time has two threads at work (`--time=json`, a
loaded machine); before, that were LLVM's optimiser and code generation alone. Seconds from the text to what can be called, beside
Inductor's: `test/benchmark/torch_networks.py --first resnet50,bert_base,gpt2_small --first-only --freeze`, with PyTorch's interpreter.
On a Xeon with AMX (family 6, model 167, 2 cores): ResNet-50 4.7 s (Inductor 12.8), BERT-base 1.1 (16.9), GPT-2 1.3 (18.9).

On a Zen 1 (2 cores beside much other work, load 10; user seconds of `tw-compile` in turns, two runs each) the frozen ResNet-50
takes 9.3 to 9.7 before parts went through LLVM in one go and combinations were left out, and 9.0 to 9.1 after; what PyTorch now
computes took 0.7 more. Its code gives equal results bit by bit in equal time (40 calls of each in turns: 246 ms the quickest
of both, median of the ratios 0.997). What a second process needs that is not PyTorch's fell from 0.74 s to 0.63 (one run each),
and later from 0.51 to 0.32 (BERT-base: 0.28 to 0.26; two runs each, with Python's bytecode kept, without which 0.13 are added).

Before and after addresses share their sums, on the same machine beside much other work (user seconds of `tw-compile` in turns, three
runs each, weights frozen): ResNet-50 10.1 to 11.3 and 8.3 to 9.6, BERT-base 2.1 to 2.7 and 2.0 to 3.1, GPT-2 2.7 to 4.0 and 2.5 to
3.8; the lowest of each are 0.82, 0.93 and 0.94 of those of before.

Where its processor time goes, by samples with call stacks (`perf record --call-graph dwarf`, 2567 samples, before
combinations were left out):

| part | share, % |
|---|---|
| LLVM's optimiser | 31 |
| of it: combination of instructions; induction variables; numbering of values | 11; 3; 3 |
| LLVM's code generation | 20 |
| of it: selection of instructions | 10 |
| `lower-to-llvm` | 9 |
| `lower-tile-to-vector` | 4 |
| `schedule-chains` | 2 |
| translation to LLVM IR; splitting it into parts | 2; 1 |

About 1.8 of its 8 seconds run on one thread: stages 1 and 2 (0.25), stage 3 (0.95: all nests stand in one function until
`split-kernels`), the start of stage 5 (0.1), translation and splitting (0.25), linking. Since then the canonicalisation at the end
of stage 3 (0.2) has half of the operations (item 11), and `permute-arrays` takes 0.2 % of all samples instead of 1.3: it looks at
the nests that touch an array alone.

The code of the frozen ResNet-50 takes 0.98 of the time of before, that of EfficientNet-B0 1.00, with equal results bit by bit
(15 and 21 calls of each in turns, one thread).

## The budget

Seconds differ from run to run and counts do not. `tw-compile --time=counts` counts, for each part, the operations that a
pass finds, the candidates that planning prices, the LLVM instructions before the optimiser and before code generation,
and, with a library that counts them, the allocations. `test/integration/test_compile_budget.py` compares them with a
committed table for fixed chips: a part that does 20 % more fails. A second test asks that what is done grows linearly with
the operations of a program.

| what | stands for | does not show |
|---|---|---|
| operations | the walks of passes over the IR | what a pass does with each |
| allocations | operations that are made, sets of isl, containers that grow | arithmetic in a loop that allocates nothing |
| candidates | planning | what one candidate costs, where it allocates nothing |
| trials, compared where there are 100 and more | tiles of chains that are built to be priced | their size |
| instructions | LLVM's optimiser and code generation | passes whose time grows with the square of a block |
"""


def own_passes():
    """Names of the project's passes."""
    folder = peers.SOURCE / "core" / "Transforms"
    return {name for path in folder.rglob("Passes.td")
            for name in re.findall(r'def \w+ *: *Pass<"([\w-]+)"', path.read_text())}


def seconds_by_name(tree):
    """Of a tree that `--time=json` prints: name and seconds of each part on all threads, its parts left out; not its sum again. Wall
    time has work on two threads once, and its share of the processor's time would be too small, all others too large."""
    for part in tree:
        if not part or part["name"] == "Total":
            continue
        inner = part.get("passes", [])
        own = part["user"]["duration"] - sum(each["user"]["duration"] for each in inner if each)
        yield part["name"], own
        yield from seconds_by_name(inner)


def kind_of(name, own):
    kinds = {"LLVM optimisation": "optimiser", "LLVM code generation": "code", "assembly": "assembler", "image": "assembler"}
    return kinds.get(name, name if name in PARTS else "own" if name in own else "upstream")


def processor_seconds(command):
    """What a process took, and what it said."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, done


def parts(source, target, samples):
    """Processor seconds of each of PARTS, of the quickest sample."""
    own, results = own_passes(), []
    for _ in range(samples):
        with tempfile.TemporaryDirectory() as folder:
            output = f"{folder}/out.{'so' if target.startswith('cpu') else 'tw'}"
            seconds, done = processor_seconds([BIN / "tw-compile", source, "--target", target, "-o", output, "--time=json"])
        sums = dict.fromkeys(PARTS, 0.0)
        for name, spent in seconds_by_name(json.loads("[" + ("\n" + done.stderr).partition("\n[")[2])):
            sums[kind_of(name, own)] += spent
        share = seconds / sum(sums.values())
        results.append({part: spent * share for part, spent in sums.items()})
    return min(results, key=lambda parts: sum(parts.values()))


def cold(source, target, samples):
    """Processor seconds of a compilation by a process that starts cold, the quickest of several."""
    with tempfile.TemporaryDirectory() as folder:
        command = [BIN / "tw-compile", source, "--target", target, "-o", f"{folder}/out.{NETWORK_TARGETS[target]}"]
        return min(processor_seconds(command)[0] for _ in range(samples))


def instructions(source, target):
    """Instructions of a compilation, which no clock and no other work changes; without those of programs that it starts."""
    with tempfile.TemporaryDirectory() as folder:
        command = ["valgrind", "--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null", BIN / "tw-compile",
                   source, "--target", target, "-o", f"{folder}/out.{NETWORK_TARGETS.get(target, 'so')}"]
        said = subprocess.run(command, check=True, capture_output=True, text=True).stderr
    return int(re.search(r"I\s+refs:\s+([\d,]+)", said)[1].replace(",", ""))


#: Chips whose instructions are counted: valgrind shows none of AVX-512, so that no count is of the processor that counts.
COUNTED = ("cpu:zen4", "nvidia:H200", "amd:MI300X")
#: Programs of the rows about networks, by their number of layers or operations.
NETWORKS = {"layers": (networks.bert, (1, 12)), "operations": (networks.small_operations, (10, 100, 1000)),
            "convolutions": (networks.convolutions, (1, 4, 16, 64))}
#: What was measured, row by row: an interrupted run goes on where it was.
ROWS = peers.BUILD / "results" / "compile-rows.json"


def measure(samples, known, only_known=False):
    """{"gemm", "layer": {target: parts}, "networks": {target: {name: {count: seconds}}}, "instructions": {target: {count:
    those of so many convolutions}}}; `known`: rows measured before."""
    results = {"gemm": {}, "layer": {}, "networks": {}, "instructions": {}}
    with tempfile.TemporaryDirectory() as folder:
        source = pathlib.Path(folder) / "program.mlir"

        def row(key, text, measured):
            if key not in known and not only_known:
                source.write_text(text())
                known[key] = measured()
                ROWS.parent.mkdir(parents=True, exist_ok=True)
                ROWS.write_text(json.dumps(known, indent=1))
            return known.get(key)

        for kind, text, targets in (("gemm", lambda: networks.product(1024), TARGETS),
                                    ("layer", lambda: networks.bert(1), NETWORK_TARGETS)):
            for target in targets:
                if found := row(f"{kind} {target}", text, lambda: parts(source, target, samples)):
                    results[kind][target] = found
        for name, (program, counts) in NETWORKS.items():
            for target in NETWORK_TARGETS:
                found = {count: row(f"{name} {target} {count}", lambda: program(count),
                                    lambda: cold(source, target, samples if count < 100 else 1)) for count in counts}
                if None not in found.values():
                    results["networks"].setdefault(target, {})[name] = found
        program, counts = NETWORKS["convolutions"]
        for target in COUNTED if shutil.which("valgrind") else ():
            found = {count: row(f"instructions {target} {count}", lambda: program(count),
                                lambda: instructions(source, target)) for count in counts}
            if None not in found.values():
                results["instructions"][target] = found
    return results


def growth(found):
    """Slope of the last step over that of the first: 1 where what was found grows linearly."""
    counts = sorted(found)
    slope = lambda a, b: (found[b] - found[a]) / (b - a)
    return slope(counts[-2], counts[-1]) / slope(counts[0], counts[1])


def asked(results):
    """What is asked, what came out, for each number: rows of a table."""
    def row(what, limit, found, form="{:.2f}"):
        return f"| {what} | {limit} | {form.format(found)} | {'yes' if found <= limit else 'no'} |"

    for target, each in results["gemm"].items():
        yield row(f"planning and own passes of one product, {target}, s", PLANNING, each["planning"] + each["own"], "{:.3f}")
    for target, each in results["layer"].items():
        yield row(f"a layer of BERT-base, {target}, s", LAYER[target], sum(each.values()))
    for target, rows in results["networks"].items():
        if layers := rows.get("layers"):
            yield row(f"twelve layers by one, {target}", LAYERS, layers[12] / layers[1])
        if operations := rows.get("operations"):
            yield row(f"growth over 10, 100, 1000 operations, {target}", GROWTH, growth(operations))
    for target, found in results["instructions"].items():
        yield row(f"growth of instructions over 1 to 64 convolutions, {target}", GROWTH, growth(found))


def page(results, samples):
    cpu = next((l.partition(":")[2].strip() for l in pathlib.Path("/proc/cpuinfo").read_text().splitlines()
                if l.startswith("model name")), platform.machine())
    lines = ["# Compile time", "",
             "How long `tw-compile` takes, and how that grows with a program. Generated by",
             "`test/benchmark/compile_time.py --table`; what the parts are: `tw-compile --time` ([tools.md](tools.md)).",
             "Processor seconds, user and system, of a process that starts cold, MLIR text to artifact; those of parts are their",
             "shares of it. *Own passes* are those of `core/Transforms`, without the planning inside of them.", "",
             f"Measured on {os.cpu_count()} cores of {cpu}; the quickest of {samples} runs, of one for the longest programs.",
             "Where other work runs at the same time, parts take longer by chance: compare sums rather than parts.", ""]
    for name, title in (("gemm", "One product, 1024 x 1024 x 1024 in f32"), ("layer", "One layer of BERT-base, 128 tokens in f32")):
        lines += [f"## {title}", "", f"| chip | {' | '.join(PARTS.values())} | all |", "|---" * (len(PARTS) + 2) + "|"]
        for target, each in results[name].items():
            cells = [*(each[part] for part in PARTS), sum(each.values())]
            lines.append(f"| {target} | {' | '.join(f'{cell:.3f}' for cell in cells)} |")
        lines.append("")
    if results["networks"]:
        lines += ["## Programs of many operations", "",
                  "Layers of BERT-base with weights of their own; element-wise operations and sums of rows in turn; convolutions of",
                  "3 x 3 with padding in a row. *Growth* is the slope of the last step over that of the first. A few convolutions",
                  "take hardly more seconds than one: theirs is that of the instructions that the compiler executes, counted by",
                  "valgrind without those of `ptxas` and the linker.", "",
                  "| chip | program | seconds | ratio or growth |", "|---|---|---|---|"]
    for target, rows in results["networks"].items():
        for name, seconds in rows.items():
            words = ", ".join(f"{count}: {value:.2f}" for count, value in seconds.items())
            last = {"layers": lambda: f"{seconds[12] / seconds[1]:.2f} x one layer",
                    "operations": lambda: f"growth {growth(seconds):.2f}", "convolutions": lambda: ""}[name]()
            lines.append(f"| {target} | {name} | {words} | {last} |")
    if results["instructions"]:
        lines += ["", "| chip | convolutions: instructions, millions | growth |", "|---|---|---|"]
    for target, found in results["instructions"].items():
        words = ", ".join(f"{count}: {value / 1e6:.0f}" for count, value in found.items())
        lines.append(f"| {target} | {words} | {growth(found):.2f} |")
    if results["networks"]:
        lines.append("")
    lines += ["## What is asked", "", "| number | at most | found | reached |", "|---|---|---|---|", *asked(results), ""]
    return "\n".join(lines) + NOTES


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("size", type=int, nargs="?", default=512)
    options.add_argument("--target", default="cpu:host")
    options.add_argument("--table", action="store_true")
    options.add_argument("--samples", type=int, default=5)
    options.add_argument("--go-on", action="store_true", help="with the rows of an interrupted run")
    options.add_argument("--known", action="store_true", help="the page of the rows that are known")
    arguments = options.parse_args()
    if arguments.table or arguments.known:
        known = json.loads(ROWS.read_text()) if ROWS.exists() and (arguments.go_on or arguments.known) else {}
        PAGE.write_text(page(measure(arguments.samples, known, arguments.known), arguments.samples))
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
