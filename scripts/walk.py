#!/usr/bin/env python3
"""The walk of one program through all passes, as pages of docs/: docs/walk-cpu.md, walk-simt.md, walk-scratchpad.md.

    scripts/walk.py BUILD             writes the pages
    scripts/walk.py BUILD --check     says which pages are not what the build does, with exit status 1

The lists of passes come from the pipelines' own source (core/Pipelines), their summaries from Passes.td. tw-opt runs the
passes one after the other; what it leaves after each stage is compared with what `tw-compile --dump-stages` writes, so a
page cannot show another order than the compiler's.
"""

import argparse
import difflib
import os
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[1]

PROGRAM = """\
func.func @layer(%x: tensor<256x512xbf16>, %w: tensor<512x256xbf16>, %bias: tensor<256xf32>) -> tensor<256x256xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<256x256xf32>
  %zeros = linalg.fill ins(%zero : f32) outs(%empty : tensor<256x256xf32>) -> tensor<256x256xf32>
  %product = linalg.matmul ins(%x, %w : tensor<256x512xbf16>, tensor<512x256xbf16>)
                           outs(%zeros : tensor<256x256xf32>) -> tensor<256x256xf32>
  %rows = linalg.broadcast ins(%bias : tensor<256xf32>) outs(%empty : tensor<256x256xf32>) dimensions = [0]
  %sum = linalg.add ins(%product, %rows : tensor<256x256xf32>, tensor<256x256xf32>)
                    outs(%empty : tensor<256x256xf32>) -> tensor<256x256xf32>
  %relu = linalg.max ins(%sum, %zeros : tensor<256x256xf32>, tensor<256x256xf32>)
                     outs(%empty : tensor<256x256xf32>) -> tensor<256x256xf32>
  return %relu : tensor<256x256xf32>
}
"""

#: Page: title, chip, plugin of its target, fields of the plan that keep the IR short, which of the conditions in the builders
#: of stages 3 and 4 hold, and the builder of stage 5.
WALKS = {
    "cpu": ("a CPU", "cpu:zen4", None, "rows=2,vectors=2,k_block=0,k_unroll=1", {"vectors"}, "lowerFunctions"),
    "simt": ("a SIMT target", "nvidia:A100", None,
             "block_m=64,block_n=64,block_k=32,subgroups_m=2,subgroups_n=2,subgroups_k=1", {"launches", "lanes"}, "lowerLanes"),
    "scratchpad": ("a scratchpad target", "accelerator:npu", "accelerator", "tile_m=64,tile_n=64,tile_k=128,stages=2",
                   {"launches", "staged", "vectors"}, "lowerCores"),
}
CONDITIONS = {"launches", "lanes", "staged", "vectors"}
STAGES = ("import", "affine", "optimise", "map", "lower")
QUESTIONS = ("tensors get one form", "tensors become affine nests in kernels",
             "nests are planned, fused, tiled and given to units", "levels of the chip become launches or loops",
             "what is left becomes the LLVM dialect")
#: What compiling adds to the pipeline of stage 1.
AFTER_IMPORT = ["name-sizes", "count-roundings", "check-operand-sizes"]
#: Passes of MLIR that the pipelines name by their constructors.
UPSTREAM = {"Canonicalizer": "canonicalize", "TensorCanonicalizer": "canonicalize", "TileCanonicalizer": "canonicalize", "CSE": "cse",
            "LoopInvariantCodeMotion": "loop-invariant-code-motion",
            "SCFToControlFlow": "convert-scf-to-cf", "LowerAffine": "lower-affine", "Mem2Reg": "mem2reg",
            "memref::ExpandStridedMetadata": "expand-strided-metadata", "memref::FlattenMemrefs": "flatten-memref"}
#: What helpers of the pipelines add for types of floats that a chip lacks, as far as it concerns the program.
FLOATS = {"emulateFloats": ["--expand-float8"], "expandArithmetic": ["--expand-float8", "--arith-expand=include-bf16=true"]}
#: Their results are seen in what the next pass leaves.
SIMPLIFIERS = {"canonicalize", "cse", "symbol-dce", "loop-invariant-code-motion", "leave-invariants", "inline"}
WHOLE_LINES, MOST_LINES, BRIEF_LINES, COLUMNS = 66, 40, 4, 140


# The pipelines, read from their source


def passes():
    """Constructor, name, summary, folder and options of each pass of the project."""
    found = {}
    for path in sorted((ROOT / "core/Transforms").rglob("Passes.td")):
        for record, name, body in re.findall(r'def (\w+) *: *Pass<"([\w-]+)"[^{]*\{(.*?)^\}', path.read_text(), re.M | re.S):
            summary = re.search(r'let summary = "((?:[^"\\]|\\.)*)"', body)
            options = dict(re.findall(r'Option<"(\w+)", *"([\w-]+)"', body))
            found[record] = (name, summary.group(1) if summary else "", path.parent.relative_to(ROOT), options)
    return found


def body_of(function, text):
    begin = re.search(rf"^(?:static )?void (?:tilewright::)?{function}\([^;{{]*\{{", text, re.M)
    if not begin:
        raise SystemExit(f"core/Pipelines has no function {function}; scripts/walk.py names it in WALKS")
    depth, at = 1, begin.end()
    while depth:
        depth += {"{": 1, "}": -1}.get(text[at], 0)
        at += 1
    return text[begin.end():at - 1]


def taken(body, facts):
    """`body` without what stands under a condition that does not hold."""
    def statement(match):
        indent, condition, block, single = match.groups()
        words = condition.split(" && ")
        if not {word.lstrip("!") for word in words} <= CONDITIONS:
            return match.group()
        return (block or single) if all((word in facts) if word[0] != "!" else (word[1:] not in facts) for word in words) else ""
    return re.sub(r"^( *)if \(([!\w& ]+)\)(?: \{\n(.*?)^\1\}$|\n([^;]*;)$)", statement, body, flags=re.M | re.S)


def pipeline(function, text, known, facts):
    """Arguments of tw-opt, in order. Branches for reference code are left out; float types that a chip lacks do not occur."""
    body = taken(body_of(function, text), facts)
    body = re.sub(r"if \(options\.tileLoops\) \{.*?\} else \{(.*?)\n  \}", r"\1", body, flags=re.S)
    settings, found = {}, []
    for match in re.finditer(r"(\w+)\.(\w+) = ([^;]+);|((?:\w+::)?)create(\w+?)(?:Pass)?\((\w*)\)|(?<![\w.>:])(\w+)\(pm\b[^)]*\)", body):
        variable, field, value, space, constructor, argument, helper = match.groups()
        if variable:
            settings.setdefault(variable, {})[field] = value
        elif helper:
            found += FLOATS[helper] if helper in FLOATS else pipeline(helper, text, known, facts)
        else:
            full = space.replace("tilewright::", "") + constructor
            if constructor in known:
                name, _, _, options = known[constructor]
                chosen = [f"{options[field]}=true" for field, value in settings.get(argument, {}).items() if value == "true"]
                found.append("--" + name + ("=" + " ".join(chosen) if chosen else ""))
            elif full in UPSTREAM:
                found.append("--" + UPSTREAM[full])
            else:
                raise SystemExit(f"scripts/walk.py does not know the pass that create{full} makes; add it to UPSTREAM")
    return found


# IR, shortened


def trim(line):
    line = re.sub(r" attributes \{.*\} \{$", " {", line)
    line = re.sub(r" elements #\w+|indexing_maps = \[[^]]*\], ", "", line)
    line = re.sub(r", #layout\d*>", ">", line)
    line = re.sub(r" \{(?:[^{}]|\{[^{}]*\})*\}(?= :|$)", lambda found: found.group() if "unit = " in found.group() else "", line)
    line = re.sub(r" (?:iter_args\((?:[^()]|\([^()]*\)){60,}\)|-> \([^()]{80,}\))",
                  lambda found: " iter_args(..)" if "iter_args" in found.group() else " -> (..)", line)
    return line if len(line) <= COLUMNS else line[:COLUMNS - 3].rstrip() + " .."


def shape(line):
    return re.sub(r"\d+", "0", re.sub(r"[%^][\w#]+(?::\d+)?", "%", re.sub(r"#map\d*", "#map", line)))


def collapse(lines):
    """Lines that repeat but for their numbers, once."""
    shapes = [shape(line) for line in lines]
    shown, at = [], 0
    while at < len(lines):
        best = (0, 0, 0)
        for period in range(1, 33):
            times = 1
            while shapes[at:at + period] == shapes[at + times * period:at + (times + 1) * period]:
                times += 1
            if times > 1 and (times - 1) * period > best[0] and (period > 1 or times > 2):
                best = ((times - 1) * period, period, times)
        _, period, times = best
        if not times:
            shown.append(lines[at])
            at += 1
            continue
        shown += collapse(lines[at:at + period]) if period > 1 else [lines[at]]
        indent = re.match(" *", lines[at]).group()
        shown.append(f"{indent}// .. {times - 1} more like {'this line' if period == 1 else 'these ' + str(period) + ' lines'}")
        at += times * period
    return shown


def functions(text):
    """Operations of the module, by name."""
    found, inside, name = {}, None, ""
    for line in text.splitlines():
        start = re.match(r"  (?:func|llvm)\.func (?:private )?@(\w+)", line)
        if start and inside is None:
            name, inside = start.group(1), [line[2:]]
            if line.count("{") == line.count("}"):
                inside = None  # a declaration
        elif inside is not None:
            inside.append(line[2:])
            if line == "  }":
                found[name] = inside
                inside = None
    return found


#: Integers, and the structures that stand for memrefs until they are addresses.
NOISE = re.compile(r"= (?:llvm\.(?:insertvalue|mlir\.poison|mlir\.constant|extractvalue)|builtin\.unrealized_conversion_cast)\b|%c-?\d\S* = arith.constant")


def shortened(lines):
    return collapse([trim(line) for line in lines if not NOISE.search(line)])


def changes(old, new):
    """What differs, each with a line around it; numbers of values and maps do not count."""
    shown, last = [], 0
    for tag, a, b, c, d in difflib.SequenceMatcher(None, [shape(line) for line in old], [shape(line) for line in new], False).get_opcodes():
        if tag == "equal":
            continue
        if c - 1 > last:
            shown.append("  ..")
        shown += ["  " + line for line in new[max(last, c - 1):c]]
        shown += ["- " + line for line in old[a:b]] + ["+ " + line for line in new[c:d]]
        last = d
    return shown


def excerpt(text, before, brief):
    """The functions that differ from those before: as a whole where they are short, else what differs; `brief` ones alone
    their first lines."""
    old, shown, language = functions(before), [], "mlir"
    for name, lines in functions(text).items():
        was, now = shortened(old.get(name, [])), shortened(lines)
        if [shape(line) for line in was] == [shape(line) for line in now]:
            continue
        most = MOST_LINES
        if brief(name):
            most = BRIEF_LINES
        elif len(now) > WHOLE_LINES and was:
            now, language = changes(was, now), "diff"
        else:
            most = WHOLE_LINES
        if len(now) > most + 3:
            now = now[:most] + [f"  // .. {len(now) - most} more lines"]
        shown += now
    return language, shown


# Pages


def run(build, plugin, words):
    env = dict(os.environ)
    if plugin:
        env["TILEWRIGHT_TARGET_PATH"] = str(build / "lib" / "tilewright")
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, env=env)
    if done.returncode:
        raise SystemExit(f"{' '.join(map(str, words))}\n{done.stderr[-2000:]}")
    return done


def steps(build, plugin, source, arguments):
    """(pass, IR after it) of each pass that changed the program, and the IR at the end."""
    done = run(build, plugin, [build / "bin/tw-opt", source, *arguments, "--mlir-print-ir-after-all", "--mlir-print-ir-after-change",
                               "--mlir-print-ir-module-scope", "--mlir-disable-threading"])
    found = []
    for part in re.split(r"^// -----// IR Dump After ", done.stderr, flags=re.M)[1:]:
        head, _, text = part.partition("\n")
        name = re.search(r"\(([\w-]+)", head).group(1)
        if found and found[-1][0] == name:  # once for each function
            found.pop()
        found.append((name, text))
    return found, done.stdout


def page(build, kind):
    title, chip, plugin, force, facts, lowering = WALKS[kind]
    text = "".join((ROOT / "core/Pipelines" / name).read_text() for name in ("Optimize.cpp", "Lower.cpp"))
    known = passes()
    summaries = {name: (summary, folder) for name, summary, folder, _ in known.values()}
    lists = [["--tw-import"] + ["--" + name for name in AFTER_IMPORT], ["--tw-affine"]]
    lists += [pipeline(builder, text, known, facts) for builder in ("buildOptimizePipeline", "buildMapPipeline", lowering)]
    out = [f"# The walk of one program: {title}", "",
           f"Written by `scripts/walk.py BUILD`; do not edit. Shown is the IR after each pass that changes it, for `{chip}`. "
           "Left out are layouts, element maps, attributes,", "integer constants, descriptors of memrefs, and lines that repeat but for their numbers. Passes of MLIR that "
           "simplify (`canonicalize`, `cse`) are not shown on their own. Long functions are shown by what differs (`-` before, `+` after). Terms: [glossary.md](glossary.md).", "",
           f"A bf16 product, a bias and a ReLU. `{force}` keeps the plan small, so that its code fits a page:", "",
           f'```mlir\nmodule attributes {{tilewright.force = "{force}"}} {{\n{PROGRAM}}}\n```', ""]
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        forced = f'module attributes {{tilewright.force = "{force}"}} {{\n{PROGRAM}}}\n'
        (folder / "layer.mlir").write_text(forced)
        load = [f"--load-target={build / 'lib/tilewright' / f'libtilewright-target-{plugin}.so'}"] if plugin else []
        run(build, plugin, [build / "bin/tw-compile", folder / "layer.mlir", f"--target={chip}", *load, "--dump-stages",
                            folder / "stages"])
        threads = re.search(r"tilewright.threads = (\d+)", (folder / "stages/1-import.mlir").read_text()).group(1)
        source = folder / "0.mlir"
        source.write_text(forced.replace("module attributes {", f'module attributes {{tilewright.fp = "default", '
                                         f'tilewright.target = "{chip}", tilewright.threads = {threads} : i64, ', 1))
        before, kernels = "", ()
        for stage, (name, question, arguments) in enumerate(zip(STAGES, QUESTIONS, lists), 1):
            found, last = steps(build, plugin, source, arguments)
            dumped = (folder / f"stages/{stage}-{name}.mlir").read_text()
            if functions(last) != functions(dumped):
                difference = "\n".join(list(difflib.unified_diff(dumped.splitlines(), last.splitlines(), "tw-compile", "tw-opt",
                                                                 lineterm="", n=1))[:30])
                raise SystemExit(f"stage {stage} of {chip}: the passes that scripts/walk.py reads from core/Pipelines give another "
                                 f"program than tw-compile\n{difference}")
            out += [f"## Stage {stage}: {question}", ""]
            if stage <= 2 and kind != "cpu":
                out += ["The same for all chips: [walk-cpu.md](walk-cpu.md)." if stage == 1 else "The same for all chips; it leaves:", ""]
                if stage == 2:
                    out += ["```mlir", *excerpt(dumped, "", lambda name: False)[1], "```", ""]
                before = dumped
                found = []
            for each, now in found:
                if each in SIMPLIFIERS:
                    continue
                language, shown = excerpt(now, before, lambda name: stage == 5 and name not in kernels)
                summary, where = summaries.get(each, ("", None))
                out += [f"### {each}", "", (f"{summary} (`{where}`)." if where else "A pass of MLIR.") +
                        ("" if shown else " Here it changes attributes or names alone."), ""]
                if shown:
                    out += [f"```{language}", *shown, "```", ""]
                before = now
            if not found and (stage > 2 or kind == "cpu"):
                out += ["No pass changes this program.", ""]
            # What stage 5 is shown for; the functions around them are for their callers.
            kernels = {name for name, lines in functions(dumped).items() if "func.func private" in lines[0] or "tilewright.launch" in lines[0]}
            source = folder / f"{stage}.mlir"
            source.write_text(dumped)
    return "\n".join(out)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    wrong = []
    for kind in WALKS:
        path, text = ROOT / "docs" / f"walk-{kind}.md", page(options.build.resolve(), kind)
        if not options.check:
            path.write_text(text)
        elif not path.exists() or path.read_text() != text:
            wrong.append(path.name)
            old = path.read_text().splitlines() if path.exists() else []
            print("\n".join(list(difflib.unified_diff(old, text.splitlines(), path.name, "this build", lineterm="", n=1))[:40]))
    if wrong:
        sys.exit(f"not what this build does: {', '.join(wrong)}; write them by: scripts/walk.py {options.build}")


if __name__ == "__main__":
    main()
