"""How the tiles of a core get into its scratchpad: transposed by the engine, in single elements, line by line or by the core;
tiles at the edges of arrays; rows that the engine cannot address. Values, counted clocks beside the model's, and source."""

import itertools
import json

import numpy
import pytest
from conftest import BUILD, FULL, in_turn, some
from covering import pairwise
from scratchpads import PLUGIN, as_library, pointer

ADDER = BUILD / "test/plugins/adder/libtilewright-target-adder.so"
CORES = {"adder": 2, "accelerator": 4}
TYPES = {"i8": ("i32", "i", "arith.extsi", "0"), "f16": ("f32", "f", "arith.extf", "0.0"),
         "bf16": ("f32", "f", "arith.extf", "0.0")}


def product(m, n, k, element, layout="nn"):
    """A B; `layout` says of A, B and the result whether they are stored transposed (t)."""
    total, suffix, widen, zero = TYPES[element]
    a, b = ("(i, k)", "(k, i)")[layout[0] == "t"], ("(k, j)", "(j, k)")[layout[1] == "t"]
    shapes = (k, m) if layout[0] == "t" else (m, k), (n, k) if layout[1] == "t" else (k, n)
    left, right = (f"tensor<{rows}x{cols}x{element}>" for rows, cols in shapes)
    turned = layout[2:] == "t"
    sums, c = f"tensor<{n}x{m}x{total}>" if turned else f"tensor<{m}x{n}x{total}>", "(j, i)" if turned else "(i, j)"
    return f"""
    func.func @mm(%a: {left}, %b: {right}) -> {sums} {{
      %z = arith.constant {zero} : {total}
      %e = tensor.empty() : {sums}
      %f = linalg.fill ins(%z : {total}) outs(%e : {sums}) -> {sums}
      %p = linalg.generic {{indexing_maps = [affine_map<(i, j, k) -> {a}>, affine_map<(i, j, k) -> {b}>,
                                             affine_map<(i, j, k) -> {c}>],
                            iterator_types = ["parallel", "parallel", "reduction"]}}
          ins(%a, %b : {left}, {right}) outs(%f : {sums}) {{
        ^bb0(%x: {element}, %y: {element}, %o: {total}):
          %u = {widen} %x : {element} to {total}
          %v = {widen} %y : {element} to {total}
          %q = arith.mul{suffix} %u, %v : {total}
          %r = arith.add{suffix} %o, %q : {total}
          linalg.yield %r : {total}
      }} -> {sums}
      return %p : {sums}
    }}"""


@pytest.fixture
def emulated(tool, tmp_path):
    """The plan of a product on the unit, and what the emulator counted. A field of the tile is forced, so that the unit takes it."""

    def run(chip, *shape_and_type, layout="nn", modes=False, force="stages=3"):
        program = tmp_path / "mm.mlir"
        program.write_text(f'module attributes {{tilewright.force = "{force}"}} {{{product(*shape_and_type, layout)}}}')
        common = [program, f"--load-target={ADDER if chip.startswith('adder') else PLUGIN}", "--target", chip]
        decisions = json.loads(tool("tw-compile", *common, "--explain=json"))
        plan = next(one for one in decisions if one["decision"] == "contraction")["choice"]
        words = ["--modes"] if modes else []  # every order of the engines: the same sums
        report = json.loads(tool("tw-run", *common, "--device", "emulator", "--verify", "--json", *words))
        assert not report["emulation"]["findings"]
        kernel, = report["emulation"]["kernels"]
        m, n = shape_and_type[:2]
        tiles = -(-m // plan["tile"][0]) * -(-n // plan["tile"][1])
        busy = {engine["engine"]: engine["busy_cycles"] for engine in kernel["engines"]}
        return plan, kernel["cycles"] / min(tiles, CORES[chip.split(":")[0]]), busy

    return run


@pytest.mark.parametrize("chip_and_way, element", in_turn(
    [("one", "core"), ("turns", "transposed"), ("both", "transposed"), ("single", "elements"), ("lines", "core")], ["i8", "f16"]))
def test_transposed_operands(emulated, chip_and_way, element):
    """Who transposes, by the records of the chip; the clocks that the plan expects; the same sums in every order of the engines."""
    chip, way = chip_and_way
    emulated(f"adder:{chip}", 80, 48, 112, element, layout="tt", modes=True)
    plan, clocks, _ = emulated(f"adder:{chip}", 256, 256, 256, element, layout="tt")
    assert (plan["copy_a"], plan["copy_b"]) == (way, way)
    assert clocks == pytest.approx(plan["clocks"], rel=0.1)


def combinations(**factors):
    """All of them in the full mode; else such that every two values of different factors meet."""
    if not FULL:
        return [tuple(case.values()) for case in pairwise(factors)]
    return list(itertools.product(*factors.values()))


@pytest.mark.parametrize("chip, layout, size", combinations(
    chip=["one", "turns", "both", "single", "lines"], layout=["nn", "tn", "nt", "tt"],
    size=[(50, 33, 70, "i8"), (17, 1, 40, "f16"), (1, 19, 3, "i8"), (48, 72, 136, "f16")]))
def test_tiles_at_edges(emulated, chip, layout, size):
    emulated(f"adder:{chip}", *size, layout=layout)


@pytest.mark.parametrize("chip_and_engine, layout", in_turn(
    [("adder:one", "core"), ("adder:turns", "store"), ("adder:both", "store"), ("adder:single", "store"), ("accelerator:npu", "core")],
    ["nnt", "ttt"]))
def test_transposed_results(emulated, chip_and_engine, layout):
    """By the engine that transposes on the way out, in single elements, or by the core in registers. In CI each size in one of the
    layouts."""
    chip, engine = chip_and_engine
    sizes = [(128, 96, 64), (50, 33, 70), (1, 48, 16), (33, 1, 5)]
    for m, n, k in sizes if FULL else sizes[layout == "ttt"::2]:
        emulated(chip, m, n, k, "i8", layout=layout, modes=True)
    plan, clocks, busy = emulated(chip, 256, 192, 128, "i8", layout=layout)
    assert clocks == pytest.approx(plan["clocks"], rel=0.15)
    assert ("store" in busy) == (engine == "store")


def test_an_engine_that_transposes_saves_clocks(emulated):
    """Its commands run beside the unit, where the core would have to move each element."""
    clocks = {chip: emulated(f"adder:{chip}", 256, 256, 256, "i8", layout="tt")[1] for chip in ("one", "single", "turns", "both")}
    assert clocks["both"] < clocks["turns"] < clocks["single"] < clocks["one"]
    # As fast as rows where the record says so.
    assert clocks["both"] == pytest.approx(emulated("adder:both", 256, 256, 256, "i8")[1], rel=0.02)


@pytest.mark.parametrize("element, layout", [("i8", "tn"), ("i8", "nt"), ("bf16", "tt")])
def test_the_core_transposes_blocks_in_registers(emulated, element, layout):
    plan, clocks, _ = emulated("accelerator:npu", 256, 256, 256, element, layout=layout, modes=True)
    assert "core" in (plan["copy_a"], plan["copy_b"])
    assert clocks == pytest.approx(plan["clocks"], rel=0.15)


@pytest.mark.parametrize("m, n, k, element, least", [(1000, 1000, 1000, "bf16", 0.92), (500, 1000, 1000, "i8", 0.045),
                                                     (127, 129, 131, "bf16", 0.012)])
def test_sizes_that_are_no_multiples(emulated, m, n, k, element, least):
    """Rows of 1000 bf16 can be addressed by the engine, so that the edges cost next to nothing; rows of 1000 bytes cannot, and the core moves
    them, whose loads wait for their data."""
    plan, clocks, busy = emulated("accelerator:npu", m, n, k, element)
    assert clocks == pytest.approx(plan["clocks"], rel=0.1)
    tiles = -(-m // plan["tile"][0]) * -(-n // plan["tile"][1])
    assert busy["unit"] / min(4, tiles) / clocks >= least


@pytest.mark.parametrize("way, size, stages", some(combinations(
    way=[("adder:turns", "f16", "tt"), ("adder:one", "f16", "nn"), ("adder:one", "i8", "tt"), ("adder:lines", "i8", "nn"),
         ("accelerator:npu", "bf16", "nn")],
    size=[(64, 64, 128, 32), (64, 64, 64, 32), (128, 128, 64, 64), (128, 128, 32, 32)], stages=[2, 3])))
def test_tiles_of_one_step(emulated, way, size, stages):
    """Few steps: what is not hidden (the first copies, the last tile) counts, and in a ring of two stages the next copy waits
    until the unit has its commands."""
    (chip, element, layout), (m, n, k, tile) = way, size
    plan, clocks, _ = emulated(chip, m, n, k, element, layout=layout, force=f"tile_m={tile},tile_n={tile},tile_k={k},stages={stages}")
    assert plan["stages"] == stages and clocks == pytest.approx(plan["clocks"], rel=0.17)


def test_groups_of_which_nothing_exists(emulated):
    """Of the tile at the right edge only the first group of columns has some, and of the last step the first two groups of terms. Where the
    others lie in the scratchpad are terms of the step whose stage this one has: they are not added."""
    plan, _, _ = emulated("accelerator:npu", 128, 680, 432, "bf16", force="tile_m=128,tile_n=128,tile_k=128")
    assert plan["tile"] == [128, 128, 128] and plan["group"] == [128, 64, 32]


def test_rows_whose_length_is_known(emulated):
    """One tile across: its rows are moved without tests of their length. No engine can address them."""
    plan, clocks, _ = emulated("accelerator:npu", 1025, 33, 70, "i8")
    assert clocks == pytest.approx(plan["clocks"], rel=0.1)


def test_rows_before_a_dimension_of_one(tool, tmp_path):
    """Rows are along the last dimension that is longer than one. Where each element was a row, the engine copied some of them and the core
    others, and nobody waited for the engine."""
    program = tmp_path / "transpose.mlir"
    program.write_text("""
    func.func @main(%a: tensor<13x3x5xi8>) -> tensor<5x3x13x1xi8> {
      %e = tensor.empty() : tensor<5x3x13xi8>
      %t = linalg.transpose ins(%a : tensor<13x3x5xi8>) outs(%e : tensor<5x3x13xi8>) permutation = [2, 1, 0]
      %r = tensor.expand_shape %t [[0], [1], [2, 3]] output_shape [5, 3, 13, 1] : tensor<5x3x13xi8> into tensor<5x3x13x1xi8>
      return %r : tensor<5x3x13x1xi8>
    }""")
    chip = [f"--load-target={PLUGIN}", "--target", "accelerator:npu"]
    report = json.loads(tool("tw-run", program, *chip, "--device", "emulator", "--verify", "--json"))["emulation"]
    assert not report["findings"]


#: Chips, and the function of the vendor that moves what is transposed.
CALLED = {"one": "", "turns": "adder_load_turned", "both": "adder_move_transposed", "single": "adder_load_single", "lines": "adder_load_line"}
SOURCES = [("i8", 50, 33, 70, ""), ("f16", 64, 48, 96, ""), ("f16", 64, 48, 96, "t")]


@pytest.mark.parametrize("chip, case, form", [(chip, case, form) for i, chip in enumerate(CALLED) for j, case in enumerate(SOURCES)
                                              for k, form in enumerate(["c", "ll"]) if FULL or (i + j + k) % 2 == 0])
def test_source(tool, tmp_path, chip, case, form):
    """C and LLVM IR call the vendor's functions; f16 are bits. In CI each chip and case in one of the forms."""
    called, (element, m, n, k, turned) = CALLED[chip], case
    program = tmp_path / "mm.mlir"
    program.write_text(product(m, n, k, element, ("nn" if chip == "lines" else "tt") + turned))
    library, source = as_library(tool, tmp_path, program, form, (ADDER, f"adder:{chip}", BUILD / "test/plugins/adder"))
    if called and (element == "f16" or chip == "single"):  # rows of 33 and 70 bytes are the core's for the others
        assert f"{called}(" in source
    if turned and chip in ("turns", "both", "single"):
        name = {"turns": "adder_store_turned", "both": "adder_put_transposed", "single": "adder_store_single"}[chip]
        assert f"{name}(" in source
    random = numpy.random.default_rng(3)
    if element == "i8":
        a, b = (random.integers(-128, 128, shape, dtype=numpy.int8) for shape in ((m, k), (k, n)))
        result, exact, bound = numpy.zeros((m, n), dtype=numpy.int32), a.astype(numpy.int64) @ b.astype(numpy.int64), 0
    else:
        a, b = (random.standard_normal(shape).astype(numpy.float16) for shape in ((m, k), (k, n)))
        x, y = a.astype(numpy.float64), b.astype(numpy.float64)
        result, exact, bound = numpy.zeros((m, n), dtype=numpy.float32), x @ y, (k + 2) * 2.0**-23 * (abs(x) @ abs(y))
    if chip != "lines":
        a, b = numpy.ascontiguousarray(a.T), numpy.ascontiguousarray(b.T)
    for _ in range(2):
        assert library.mm(pointer(a), pointer(b), pointer(result)) == 0
        assert (abs((result.reshape(n, m).T if turned else result) - exact) <= bound).all()


@pytest.mark.parametrize("element", ["f16"])
@pytest.mark.parametrize("m, n, k, modes", [(64, 64, 64, True), (50, 33, 70, True), (192, 160, 96, False)])
def test_units_of_halfs(emulated, m, n, k, modes, element):
    plan, _, busy = emulated("adder:one", m, n, k, element, modes=modes)
    assert plan["unit"] == "adder.adds_f16" and busy["unit"] > 0
