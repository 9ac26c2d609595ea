"""Nests over the same rows on SIMT targets: one launch that reads and writes global memory once."""

import json
import re
import subprocess
import sys

import pytest

from conftest import BUILD, FULL, SOURCE, in_turn
from lane_texts import reduction
from lanes import emulate, kernels

sys.path.append(str(SOURCE / "test/benchmark"))
from networks import small_operations

CHIPS = ["nvidia:A100", "amd:MI300X", "amd:RX7900"]
#: Batch, rows and length: one element, a prime, no multiple of a vector, more than a subgroup's, several subgroups'.
SHAPES = [(2, 3, 1), (2, 5, 97), (3, 4, 1000), (1, 7, 4097), (1, 3, 8192)]


def run(tool, folder, text, chip, *words):
    path = folder / "rows.mlir"
    path.write_text(text)
    return kernels(emulate(tool, path, chip, "--modes", *words))


def count_global(kernel):
    return next(m for m in kernel["memories"] if m["memory"] == "global")


@pytest.mark.parametrize("chip, op, kind, shape", [
    (chip, op, kind, shape) for i, chip in enumerate(CHIPS) for j, op in enumerate(("softmax", "norm"))
    for k, kind in enumerate(("f32", "bf16", "f16", "f64")) for n, shape in enumerate(SHAPES)
    if FULL or (i + j + k + n) % 8 == 0])
def test_one_launch(chip, op, kind, shape, tool, tmp_path):
    found = run(tool, tmp_path, reduction(op, kind, "last", *shape), chip)
    # What does not fit the scratchpad keeps a launch for each nest.
    assert len(found) == 1 or shape[2] * (8 if kind == "f64" else 4) > 32768
    assert all(m["conflict_cycles"] == 0 for kernel in found for m in kernel["memories"]), found


@pytest.mark.parametrize("chip, op, kind, rows, length", [
    ("nvidia:H200", "softmax", "bf16", 40, 8197), ("amd:MI300X", "softmax", "f32", 40, 8197), ("amd:RX7900", "softmax", "f32", 40, 12001),
    ("nvidia:A100", "norm", "f32", 300, 8197)])
def test_long_rows_come_in_segments(chip, op, kind, rows, length, tool, tmp_path):
    """Several for each lane, the last one not whole; the input kept in the scratchpad, or read again."""
    text = reduction(op, kind, "last", 1, rows, length)
    log = json.loads(tool("tw-compile", write(tmp_path, text), "--target", chip, "--explain=json", "-o", tmp_path / "x.tw"))
    choice, = (each["choice"] for each in log if each["decision"] == "row-program")
    assert choice["segments"] > 1 and choice["keeps_inputs"] == (chip.startswith("nvidia")), choice
    found = kernels(emulate(tool, write(tmp_path, text), chip))
    assert len(found) == 1 and all(m["conflict_cycles"] == 0 for m in found[0]["memories"]), found


@pytest.mark.parametrize("chip, rows, length", [("amd:MI300X", 8, 20000), ("amd:MI300X", 5, 20003), ("amd:RX9070", 32, 20000)])
def test_rows_longer_than_a_scratchpad(chip, rows, length, tool, tmp_path):
    """What later phases read of earlier ones is computed again from the input; nothing between them is in memory."""
    text = reduction("softmax", "f32", "last", 1, rows, length)
    log = json.loads(tool("tw-compile", write(tmp_path, text), "--target", chip, "--explain=json", "-o", tmp_path / "x.tw"))
    choice, = (each["choice"] for each in log if each["decision"] == "row-program")
    assert choice["computes_again"], choice
    kernel, = run(tool, tmp_path, text, chip, "--prove")
    counted = count_global(kernel)
    runs = kernel["launches"]  # one for each order of lanes
    assert counted["written_bytes"] == runs * rows * length * 4, counted
    assert counted["read_bytes"] == runs * 3 * rows * length * 4, counted


@pytest.mark.parametrize("chip", CHIPS)
@pytest.mark.parametrize("op", ["softmax", "norm"])
def test_memory_is_read_and_written_once(chip, op, tool, tmp_path):
    kernel, = kernels(emulate(tool, write(tmp_path, reduction(op, "f32", "last", 1, 16, 2048)), chip))
    counted, bytes_each_way = count_global(kernel), 16 * 2048 * 4
    assert counted["read_bytes"] == counted["written_bytes"] == bytes_each_way
    assert counted["transactions"] == 2 * bytes_each_way / 32


def write(folder, text):
    path = folder / "rows.mlir"
    path.write_text(text)
    return path


#: A residual that is added first and used again by others, with the row's mean and the reciprocal of its deviation.
TRAINING = """
#row = affine_map<(i, j) -> (i, j)>
#one = affine_map<(i, j) -> (i)>
#gain = affine_map<(i, j) -> (j)>
func.func @norm(%x: tensor<ROWSxLENGTHxbf16>, %r: tensor<ROWSxLENGTHxbf16>, %g: tensor<LENGTHxf32>)
    -> (tensor<ROWSxLENGTHxbf16>, tensor<ROWSxLENGTHxf32>, tensor<ROWSxf32>, tensor<ROWSxf32>) {
  %zero = arith.constant 0.0 : f32
  %count = arith.constant LENGTH.0 : f32
  %tiny = arith.constant 1.0e-5 : f32
  %e = EMPTY : tensor<ROWSxLENGTHxf32>
  %h = EMPTY : tensor<ROWSxLENGTHxbf16>
  %o = EMPTYROW : tensor<ROWSxf32>
  %y = linalg.generic {indexing_maps = [#row, #row, #row], iterator_types = ["parallel", "parallel"]}
      ins(%x, %r : tensor<ROWSxLENGTHxbf16>, tensor<ROWSxLENGTHxbf16>) outs(%e : tensor<ROWSxLENGTHxf32>) {
  ^bb0(%a: bf16, %b: bf16, %c: f32):
    %u = arith.extf %a : bf16 to f32
    %v = arith.extf %b : bf16 to f32
    %s = arith.addf %u, %v : f32
    linalg.yield %s : f32
  } -> tensor<ROWSxLENGTHxf32>
  %f = linalg.fill ins(%zero : f32) outs(%o : tensor<ROWSxf32>) -> tensor<ROWSxf32>
  %sum = linalg.reduce { arith.addf } ins(%y : tensor<ROWSxLENGTHxf32>) outs(%f : tensor<ROWSxf32>) dimensions = [1]
  %mean = linalg.map ins(%sum : tensor<ROWSxf32>) outs(%o : tensor<ROWSxf32>) (%a: f32, %p: f32) {
    %s = arith.divf %a, %count : f32
    linalg.yield %s : f32
  }
  %squares = linalg.generic {indexing_maps = [#row, #one, #one], iterator_types = ["parallel", "reduction"]}
      ins(%y, %mean : tensor<ROWSxLENGTHxf32>, tensor<ROWSxf32>) outs(%f : tensor<ROWSxf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %d = arith.subf %a, %b : f32
    %q = arith.mulf %d, %d : f32
    %s = arith.addf %c, %q : f32
    linalg.yield %s : f32
  } -> tensor<ROWSxf32>
  %scale = linalg.map ins(%squares : tensor<ROWSxf32>) outs(%o : tensor<ROWSxf32>) (%a: f32, %p: f32) {
    %s = arith.divf %a, %count : f32
    %t = arith.addf %s, %tiny : f32
    %q = math.rsqrt %t : f32
    linalg.yield %q : f32
  }
  %z = linalg.generic {indexing_maps = [#row, #one, #one, #gain, #row], iterator_types = ["parallel", "parallel"]}
      ins(%y, %mean, %scale, %g : tensor<ROWSxLENGTHxf32>, tensor<ROWSxf32>, tensor<ROWSxf32>, tensor<LENGTHxf32>)
      outs(%h : tensor<ROWSxLENGTHxbf16>) {
  ^bb0(%a: f32, %b: f32, %c: f32, %w: f32, %p: bf16):
    %d = arith.subf %a, %b : f32
    %q = arith.mulf %d, %c : f32
    %t = arith.mulf %q, %w : f32
    %s = arith.truncf %t : f32 to bf16
    linalg.yield %s : bf16
  } -> tensor<ROWSxLENGTHxbf16>
  return %z, %y, %mean, %scale : tensor<ROWSxLENGTHxbf16>, tensor<ROWSxLENGTHxf32>, tensor<ROWSxf32>, tensor<ROWSxf32>
}
"""


@pytest.mark.parametrize("rows, length, chip", [(rows, length, chip) for rows in ("5", "?") for length in (96, 1500) for chip in CHIPS])
def test_values_of_rows_leave_too(rows, length, chip, tool, tmp_path):
    dynamic = rows == "?"
    text = TRAINING.replace("EMPTYROW", "tensor.empty(%n)" if dynamic else "tensor.empty()")
    text = text.replace("EMPTY", "tensor.empty(%n)" if dynamic else "tensor.empty()")
    if dynamic:
        text = text.replace("  %zero =", "  %first = arith.constant 0 : index\n  %n = tensor.dim %x, %first : tensor<ROWSxLENGTHxbf16>\n  %zero =")
    text = text.replace("ROWS", rows).replace("LENGTH", str(length))
    found = run(tool, tmp_path, text, chip, *(["--sizes", "5"] if dynamic else []))
    assert len(found) == 1


#: Two places of one array in a row: neighbours, the first row of all, the row of the other index.
PLACES = {
    "neighbours": ("12x1025", "12x1024", """
  %p = tensor.extract_slice %a[0, 0] [12, 1024] [1, 1] : tensor<12x1025xf32> to tensor<12x1024xf32>
  %q = tensor.extract_slice %a[0, 1] [12, 1024] [1, 1] : tensor<12x1025xf32> to tensor<12x1024xf32>""",
                   "(i, j) -> (i, j)", "(i, j) -> (i, j)", "12x1024", "12x1024"),
    "first row": ("12x256", "12x256", """
  %p = tensor.extract_slice %a[0, 0] [12, 256] [1, 1] : tensor<12x256xf32> to tensor<12x256xf32>
  %q = tensor.extract_slice %a[0, 0] [1, 256] [1, 1] : tensor<12x256xf32> to tensor<256xf32>""",
                  "(i, j) -> (i, j)", "(i, j) -> (j)", "12x256", "256"),
    "other index": ("5x5x256", "5x5x256", """
  %p = tensor.extract_slice %a[0, 0, 0] [5, 5, 256] [1, 1, 1] : tensor<5x5x256xf32> to tensor<5x5x256xf32>
  %q = tensor.extract_slice %a[0, 0, 0] [5, 5, 256] [1, 1, 1] : tensor<5x5x256xf32> to tensor<5x5x256xf32>""",
                    "(i, j, k) -> (i, j, k)", "(i, j, k) -> (j, i, k)", "5x5x256", "5x5x256")}


@pytest.mark.parametrize("place, chip", [(place, CHIPS[i]) for i, place in enumerate(PLACES)])
def test_places_of_one_array(place, chip, tool, tmp_path):
    source, result, slices, first, second, p, q = PLACES[place]
    identity = "(i, j, k) -> (i, j, k)" if result.count("x") == 2 else "(i, j) -> (i, j)"
    iterators = ", ".join(['"parallel"'] * (result.count("x") + 1))
    found = run(tool, tmp_path, f"""func.func @f(%a: tensor<{source}xf32>) -> tensor<{result}xf32> {{{slices}
  %e = tensor.empty() : tensor<{result}xf32>
  %d = linalg.generic {{indexing_maps = [affine_map<{first}>, affine_map<{second}>, affine_map<{identity}>],
      iterator_types = [{iterators}]}} ins(%p, %q : tensor<{p}xf32>, tensor<{q}xf32>) outs(%e : tensor<{result}xf32>) {{
  ^bb0(%x: f32, %y: f32, %z: f32):
    %s = arith.subf %x, %y : f32
    linalg.yield %s : f32
  }} -> tensor<{result}xf32>
  %r = linalg.softmax dimension({result.count("x")}) ins(%d : tensor<{result}xf32>) outs(%e : tensor<{result}xf32>) -> tensor<{result}xf32>
  return %r : tensor<{result}xf32>
}}""", chip)
    assert len(found) == 1


def test_the_decision_is_explained(tool, tmp_path):
    path = write(tmp_path, reduction("softmax", "f32", "last", 8, 64, 2048))
    decision = next(d for d in json.loads(tool("tw-compile", path, "--target", "nvidia:H200", "--explain=json"))
                    if d["decision"] == "row-program")
    assert decision["inputs"]["phases"] == 3 and decision["inputs"]["rows"] == 512
    lanes = decision["choice"]["subgroups_per_row"] * 32
    assert lanes * decision["choice"]["elements"] == 2048
    assert decision["choice"]["clocks"] < decision["inputs"]["clocks_of_a_launch_each"]


def test_a_program_that_no_block_holds_is_cut(tool, tmp_path):
    """601 nests over the same rows: more than the scratchpad keeps values of. The pass looks at each nest a few times."""
    path = write(tmp_path, small_operations(1000, 3, 256))
    report = emulate(tool, path, "nvidia:H200")
    assert 2 <= len(kernels(report)) <= 4
    parts = {part["name"]: part["wall"]["duration"] for part in passes_of(tool, path)}
    assert parts["map-row-programs-to-lanes"] < 0.2 * parts["Total"], parts


def passes_of(tool, path):
    """Each line of `--time=json`."""
    done = subprocess.run([BUILD / "bin/tw-compile", path, "--target", "nvidia:H200", "-o", path.with_suffix(".tw"), "--time=json"],
                          check=True, capture_output=True, text=True)
    parts = [part for part in json.loads(done.stderr[done.stderr.index("["):]) if part]
    for part in parts:
        yield part
        parts.extend(inner for inner in part.get("passes", []) if inner)


#: One sum of a whole array: how it combines, what of an element, its beginning.
TOTALS = {
    "sum": ("%t = arith.addf %b, %a : f32", "0.0"),
    "largest absolute value": ("%u = math.absf %a : f32\n    %t = arith.maximumf %b, %u : f32", "0.0"),
    "from one": ("%t = arith.addf %b, %a : f32", "1.0"),  # a beginning that is not neutral
}


def total(name, sizes):
    body, beginning = TOTALS[name]
    dims = ", ".join(f"d{i}" for i in range(len(sizes)))
    array = f"tensor<{'x'.join(map(str, sizes))}xf32>"
    return f"""
func.func @f(%x: {array}) -> tensor<f32> {{
  %c = arith.constant {beginning} : f32
  %e = tensor.empty() : tensor<f32>
  %z = linalg.fill ins(%c : f32) outs(%e : tensor<f32>) -> tensor<f32>
  %r = linalg.generic {{indexing_maps = [affine_map<({dims}) -> ({dims})>, affine_map<({dims}) -> ()>],
      iterator_types = [{", ".join(['"reduction"'] * len(sizes))}]}} ins(%x : {array}) outs(%z : tensor<f32>) {{
  ^bb0(%a: f32, %b: f32):
    {body}
    linalg.yield %t : f32
  }} -> tensor<f32>
  return %r : tensor<f32>
}}"""


def documented_sums():
    """By program, the launches and the blocks of the first on each chip, as docs/simt/row-reductions.md has them."""
    page = (SOURCE / "docs/simt/row-reductions.md").read_text().split("## Few sums")[1]
    rows = re.findall(r"^\| (.+?) of (\d[\d x]*) f32 \| (\d+) \| (\d+), (\d+) \|", page, re.MULTILINE)
    return {(name, tuple(map(int, sizes.split(" x ")))): (int(launches), {"nvidia:H200": int(h), "amd:MI300X": int(m)})
            for name, sizes, launches, h, m in rows}


@pytest.mark.parametrize("case, chip", in_turn([("sum", (1048576,)), ("sum", (1024, 1024)), ("largest absolute value", (64, 4096))],
                                               ["nvidia:H200", "amd:MI300X"]))
def test_one_sum_of_an_array_is_the_work_of_many_blocks(case, chip, tool, tmp_path):
    """Two launches, of parts and of what they sum up to."""
    name, sizes = case
    path = write(tmp_path, total(name, sizes))
    found = kernels(emulate(tool, path, chip))
    launches, blocks = documented_sums()[name, sizes]
    assert sum(kernel["launches"] for kernel in found) == launches == 2
    assert [kernel["blocks"] for kernel in found] == [blocks[chip], 1]
    if len(sizes) > 1:
        emulate(tool, path, chip, "--modes")


@pytest.mark.parametrize("name, sizes, launches", [("from one", (262144,), 2), ("sum", (1000003,), 1), ("from one", (1000,), 1)])
def test_the_beginning_of_a_sum_is_no_launch(name, sizes, launches, tool, tmp_path):
    """Also where it is not neutral; an array that is short or whose length has no parts is one launch."""
    found = kernels(emulate(tool, write(tmp_path, total(name, sizes)), "nvidia:H200"))
    assert sum(kernel["launches"] for kernel in found) == launches


def test_sums_in_the_order_of_the_program_are_not_cut(tool, tmp_path):
    def is_cut(contract):
        log = json.loads(tool("tw-compile", write(tmp_path, total("sum", (1048576,))), "--target", "nvidia:H200", f"--fp={contract}",
                              "--explain=json", "-o", tmp_path / "x.tw"))
        return any(each["decision"] == "row-sums" and each["choice"]["parts"] > 1 for each in log)
    assert is_cut("default") and not is_cut("strict")


def products(m, k, n):
    """Three of one input."""
    result, names = f"tensor<{m}x{n}xf32>", range(3)
    each = "".join(f"""
  %e{i} = tensor.empty() : {result}
  %z{i} = linalg.fill ins(%c : f32) outs(%e{i} : {result}) -> {result}
  %p{i} = linalg.matmul ins(%x, %w{i} : tensor<{m}x{k}xf16>, tensor<{k}x{n}xf16>) outs(%z{i} : {result}) -> {result}""" for i in names)
    results = ", ".join([result] * 3)
    return f"""
func.func @f(%x: tensor<{m}x{k}xf16>, {", ".join(f"%w{i}: tensor<{k}x{n}xf16>" for i in names)}) -> ({results}) {{
  %c = arith.constant 0.0 : f32{each}
  return {", ".join(f"%p{i}" for i in names)} : {results}
}}"""


@pytest.mark.parametrize("sizes, chip", in_turn([(70, 72, 40), (128, 128, 256)], ["nvidia:A100", "nvidia:H200", "amd:MI300X"]))
def test_products_of_one_input_are_one_launch(sizes, chip, tool, tmp_path):
    """Also where the last tiles are not whole, and where an engine copies; each result is that of its weights, and all is proved."""
    path = write(tmp_path, products(*sizes))
    report = emulate(tool, path, chip, "--prove")
    kernel, = kernels(report)
    assert kernel["launches"] == 1
    assert report["proof"]["holds"]
    emulate(tool, path, chip, "--modes")
