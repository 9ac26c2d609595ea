# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Sizes that are not known when a program is compiled cost neither the unit, nor the fusion, nor the launches of static
ones: products with bias, ReLU and residual on chips of each kind, for every set of dynamic sizes (in CI some of them on each), and soft-max and layer
norm of any number and length of rows."""

import ctypes
import json
import re
import statistics
import subprocess
import time

import numpy
import pytest

from conftest import BUILD, FULL
from dynamic_programs import SUBSETS, layer_norm, product, sizes_of, softmax

PLUGINS = {"accelerator": BUILD / "lib/tilewright/libtilewright-target-accelerator.so",
           "sme": BUILD / "lib/tilewright/libtilewright-target-sme.so"}
#: Chips and where their programs run: tile registers, blocks of rows in vector registers, numbered tiles behind a state,
#: vectors of this machine, lanes of both kinds, engines of cores.
CHIPS = {"cpu:sapphire-rapids": "model", "cpu:neoverse-v1": "model", "sme:sme256": "model", "cpu:host": "host",
         "nvidia:H200": "emulator", "amd:MI300X": "emulator", "accelerator:npu": "emulator"}
#: Element types that a matrix unit of the chip takes.
KINDS = {"cpu:sapphire-rapids": ["bf16", "i8"], "cpu:neoverse-v1": ["bf16", "i8"], "accelerator:npu": ["bf16", "i8"]}
#: What is not reached yet: a dynamic k leaves nests of their own beside the product, or the unit is another one.
APART = "with a dynamic k operands are prepared by nests of their own"
NOT_YET = {("sme:sme256", "f32"): APART, ("cpu:host", "bf16"): APART, ("cpu:host", "i8"): APART,
           ("amd:MI300X", "f32"): "small products take vectors, those of dynamic rows the matrix unit"}
#: What this machine's processor takes differs: with AMX it is reached.
CASES = [pytest.param(chip, kind, marks=[pytest.mark.xfail(reason=NOT_YET[chip, kind], strict=chip != "cpu:host")]
                      if (chip, kind) in NOT_YET else [])
         for chip in CHIPS for kind in KINDS.get(chip, ["f32", "bf16", "i8"])]


def words(chip):
    """The options that name a chip."""
    plugin = PLUGINS.get(chip.split(":")[0])
    return ["--target", chip, *([f"--load-target={plugin}"] if plugin else [])]


def decisions(tool, path, chip):
    return json.loads(tool("tw-compile", path, *words(chip), "--explain=json"))


def launches(report):
    return len(report["emulation"]["kernels"]) if "emulation" in report else 0


def run(tool, path, chip, sizes):
    report = json.loads(tool("tw-run", path, *words(chip), "--device", CHIPS[chip], "--verify", "--json", *sizes))
    assert report["verify"]["passed"], report["verify"]
    assert not report.get("emulation", {}).get("findings")
    return report


def subsets(chip, kind):
    """Sets of dynamic sizes: all in the full mode; else all sizes together or one of the other sets, in turn, and both where something is
    not reached."""
    if FULL:
        return SUBSETS
    others = [each for each in SUBSETS if each != "mnk"]
    index = [case.values[:2] for case in CASES].index((chip, kind))
    both = ["mnk", others[index % len(others)]]
    return both if (chip, kind) in NOT_YET else [both[index % 2]]


@pytest.mark.parametrize("chip, kind", CASES)
def test_unit_fusion_and_launches_of_a_product(chip, kind, tool, tmp_path):
    """Sizes that are no multiples of anything; what runs beside the product's nest is the same, too."""
    m, n, k = 67, 83, 97
    path = tmp_path / "product.mlir"

    def compiled(dynamic):
        path.write_text(product(kind, m, n, k, dynamic))
        made = decisions(tool, path, chip)
        chosen, = [one for one in made if one["decision"] == "contraction"]
        report = run(tool, path, chip, sizes_of("mkkn", dynamic, m=m, n=n, k=k))
        others = sorted({one["decision"] for one in made} - {"contraction", "split"})
        return chosen["choice"]["unit"], chosen["fused_steps"], launches(report), others

    unit, steps, count, others = compiled("")
    assert steps == 1
    for dynamic in subsets(chip, kind):
        other, *rest = compiled(dynamic)
        assert rest == [steps, count, others], dynamic
        # Lanes and vectors have the same unit in several shapes, of which large and small products prefer others.
        family = lambda name: re.sub(r"_(cdna3_)?[mnk\dx]+_", "_", name).replace("wgmma", "mma")
        assert family(other) == family(unit), (dynamic, other, unit)


#: Rows, columns and depths: none, one, less than a fragment, a whole one, one more, several with a rest, blocks of k.
EDGES = [(1, 1, 1), (16, 16, 64), (17, 15, 33), (33, 50, 161), (5, 7, 0), (0, 3, 4)]
#: Chips with units of several rows, and plans.
FORCED = [("cpu:sapphire-rapids", "bf16", "unit_m=16,k_block=64", False), ("cpu:sapphire-rapids", "i8", "unit_m=16,rows=2", True),
          ("cpu:neoverse-v1", "i8", "k_block=16,rows=3", False), ("sme:sme256", "bf16", "", False)]


@pytest.mark.parametrize("chip, kind, force, trans_b", FORCED)
def test_edges_of_units_of_several_rows(chip, kind, force, trans_b, tool, tmp_path):
    path = tmp_path / "product.mlir"
    path.write_text(product(kind, 0, 0, 0, "mnk", trans_b=trans_b, force=force))
    first = 2 + [each[:2] for each in FORCED].index((chip, kind)) % 2
    for m, n, k in EDGES if FULL else EDGES[first:first + 2]:
        run(tool, path, chip, sizes_of("mk" + ("nk" if trans_b else "kn"), "mnk", m=m, n=n, k=k))


class Library:
    """A product of any sizes in f32 or i8, compiled for this machine; small integers, so that sums are exact."""

    def __init__(self, tool, folder, kind, dynamic, sizes, force=""):
        path, library = folder / f"product{dynamic}.mlir", folder / f"product{dynamic}-{len(list(folder.iterdir()))}.so"
        path.write_text(product(kind, *sizes, dynamic, force=force))
        tool("tw-compile", path, "--target", "cpu:host", "-o", library)
        self.function, self.dynamic = ctypes.CDLL(str(library)).fused, dynamic
        self.types = (numpy.float32, numpy.float32) if kind == "f32" else (numpy.int8, numpy.int32)

    def check(self, m, n, k):
        rng = numpy.random.default_rng(1)
        element, sums = self.types
        a, b = rng.integers(-8, 9, (m, k)).astype(element), rng.integers(-8, 9, (k, n)).astype(element)
        bias, residual = rng.integers(-8, 9, n).astype(sums), rng.integers(-8, 9, (m, n)).astype(sums)
        result = numpy.full((m, n), 77, sums)
        values = {"m": m, "n": n, "k": k}
        sizes = [ctypes.c_int64(values[name]) for name in "mkn" if name in self.dynamic]
        pointers = [array.ctypes.data_as(ctypes.c_void_p) for array in (a, b, bias, residual, result)]
        assert self.function(*sizes, *pointers) == 0
        expected = numpy.maximum(a.astype(numpy.int64) @ b.astype(numpy.int64) + bias.astype(numpy.int64), 0) + residual
        assert (result == expected).all(), (m, n, k)


@pytest.mark.parametrize("kind", ["f32", "i8"])
@pytest.mark.parametrize("force", ["", "k_block=32,rows=4,vectors=2", "k_block=32,rows=3,pack_scalars=1,vectors=2"])
def test_edges_of_vectors(kind, force, tool, tmp_path):
    """As many rows as make even tiles and fewer, columns and depths around their blocks."""
    library = Library(tool, tmp_path, kind, "mnk", (0, 0, 0), force)
    for m in (0, 1, 2, 3, 4, 5, 7, 8, 11, 13, 21, 64):
        for n in (1, 7, 8, 17, 40):
            for k in (0, 1, 15, 16, 47, 48, 49, 130):
                library.check(m, n, k)


#: What the slowest core with static sizes takes of what it takes with those in the name dynamic; the goal is 0.95. Not reached: 512 cubed
#: with all sizes dynamic. Where k is dynamic a version's number of slices is fixed, but follows the number of steps where k is static:
#: none of the six versions has the slices, with the tile, that this size asks for.
LEAST = {("bf16", 512, 512, 512): {"m": 0.95, "k": 0.95, "mnk": 0.86}, ("bf16", 64, 64, 64): {"m": 0.95, "k": 0.95, "mnk": 0.9},
         ("i8", 512, 512, 512): {"mnk": 0.82}, ("i8", 1, 1024, 1024): {"m": 0.95, "mnk": 0.93}, ("i8", 16, 512, 256): {"m": 0.87}}
#: And clocks, where a part so small may come from fewer of static sizes: 75,042 before whole tiles had code without edges.
MOST = {("bf16", 512, 512, 512): {"mnk": 71_000}}


@pytest.mark.parametrize("kind, m, n, k", LEAST)
def test_clocks_of_engines(kind, m, n, k, tool, tmp_path):
    """Versions with tiles for classes of sizes: once the tile for large sizes left cores idle for few rows, and a row took 2.4
    times as long."""
    path = tmp_path / "product.mlir"
    least, clocks = LEAST[kind, m, n, k], {}
    for dynamic in ("", *(each for each in least if FULL or each != "k")):  # CI has the clocks of a dynamic k with the others
        path.write_text(product(kind, m, n, k, dynamic))
        kernel, = run(tool, path, "accelerator:npu", sizes_of("mkkn", dynamic, m=m, n=n, k=k))["emulation"]["kernels"]
        assert kernel["cycles"] >= kernel["slowest_block_cycles"] > 0
        clocks[dynamic] = kernel["slowest_block_cycles"]
    assert all(clocks[""] >= share * clocks[dynamic] for dynamic, share in least.items() if dynamic in clocks), clocks
    assert all(clocks[dynamic] <= most for dynamic, most in MOST.get((kind, m, n, k), {}).items()), clocks


def test_clocks_of_whole_tiles(tool, tmp_path):
    """The same tile with rows and columns that are dynamic, and multiples of it: divisions are left, no edge is tested. With such
    tests 0.90."""
    path = tmp_path / "product.mlir"
    force, clocks = "tile_m=128,tile_n=128,tile_k=128", {}
    for dynamic in ("", "mn"):
        path.write_text(product("bf16", 512, 512, 512, dynamic, force=force))
        kernel, = run(tool, path, "accelerator:npu", sizes_of("mkkn", dynamic, m=512, n=512, k=512))["emulation"]["kernels"]
        clocks[dynamic] = kernel["slowest_block_cycles"]
    assert clocks[""] >= 0.985 * clocks["mn"], clocks


@pytest.mark.parametrize("chip", ["nvidia:H200", "amd:MI300X"])
def test_issues_of_lanes(chip, tool, tmp_path):
    """With the same tile, the same instructions of the unit, and for dynamic rows hardly more of the others."""
    m, n, k = 256, 256, 256
    path = tmp_path / "product.mlir"
    force = "block_m=128,block_n=128,unit_m=16,subgroups_k=1" if chip[0] == "n" else "block_m=128,block_n=128,subgroups_k=1"
    counts = []
    for dynamic in ("", "m"):
        path.write_text(product("bf16", m, n, k, dynamic, force=force))
        kernel, = run(tool, path, chip, sizes_of("mkkn", dynamic, m=m, n=n, k=k))["emulation"]["kernels"]
        unit, = kernel["units"]
        counts.append((unit["issue_cycles"], sum(kernel["instructions"].values())))
    assert counts[0][0] == counts[1][0]


#: What counts the instructions of AMX in place of executing them: control flow does not depend on what they compute.
COUNTER = "long tiles;\nvoid count_product() { ++tiles; }\n"


@pytest.mark.parametrize("kind, name", [("bf16", "tdpbf16ps"), ("i8", "tdpbssd")])
def test_instructions_of_tile_registers(kind, name, tool, tmp_path):
    """As many products of tiles as static sizes take, where the sizes are multiples of a tile. Else tiles at the
    edges are padded in all three sizes: at most 40 % more at 131 x 100 x 200; the goal is a twentieth."""

    def counted(dynamic, m, n, k):
        path, text, library = (tmp_path / f"product{dynamic}.{ending}" for ending in ("mlir", "ll", "so"))
        path.write_text(product(kind, m, n, k, dynamic))
        tool("tw-compile", path, "--target", "cpu:sapphire-rapids", "-o", text)
        code = text.read_text().replace(" immarg", "").replace('"syscall"', '"xorq %rax, %rax"')  # permission is given
        assert f"@llvm.x86.{name}(" in code
        code = code.replace(f"@llvm.x86.{name}(", "@count_product(")
        code = re.sub(r"@llvm\.x86\.(\w+)\(", r"@stub_\1(", code)
        code = re.sub(r'"target-(cpu|features)"="[^"]*"', "", code)
        stubs = [f"void {stub}() {{}}" for stub in sorted(set(re.findall(r"@(stub_\w+)\(", code)))]
        source = tmp_path / "stubs.c"
        source.write_text(COUNTER + "\n".join(stubs))
        (tmp_path / "counted.ll").write_text(code)
        subprocess.run(["clang-22", "-O1", "-w", "-shared", "-fPIC", tmp_path / "counted.ll", source, "-o", library], check=True)
        loaded = ctypes.CDLL(str(library))
        element, sums = {"bf16": (numpy.uint16, numpy.float32), "i8": (numpy.int8, numpy.int32)}[kind]
        arrays = [numpy.zeros(shape, type_) for shape, type_ in (((m, k), element), ((k, n), element), ((n,), sums),
                                                                 ((m, n), sums), ((m, n), sums))]
        values = {"m": m, "n": n, "k": k}
        sizes = [ctypes.c_int64(values[size]) for size in "mkn" if size in dynamic]
        assert loaded.fused(*sizes, *(array.ctypes.data_as(ctypes.c_void_p) for array in arrays)) == 0
        return ctypes.c_long.in_dll(loaded, "tiles").value

    # CI has either sizes with one of the types.
    for sizes, more, subsets in (((128, 96, 192), 1.0, SUBSETS if FULL else ["mnk"] * (kind == "bf16")),
                                 ((131, 100, 200), 1.4, SUBSETS if FULL else ["mnk"] * (kind == "i8"))):
        if not subsets:
            continue
        known = counted("", *sizes)
        for dynamic in subsets:
            assert 0 < counted(dynamic, *sizes) <= more * known, (sizes, dynamic)


ROWS = [(chip, program) for chip in ("cpu:host", "nvidia:H200", "amd:MI300X", "accelerator:npu") for program in (softmax, layer_norm)]


@pytest.mark.parametrize("chip, program", ROWS)
def test_row_programs(chip, program, tool, tmp_path):
    """As many launches as static sizes take, for rows that one block holds; longer ones are right. A layer norm of rows of a
    dynamic length takes one more on devices."""
    path = tmp_path / "rows.mlir"

    def ran(dynamic, rows, length):
        path.write_text(program(rows, length, dynamic))
        return run(tool, path, chip, sizes_of("rl", dynamic, r=rows, l=length))

    # CI: what has a dynamic length is one program for all rows, which the longest row below runs, too.
    for rows, length, sets in ((16, 300, ("l", "rl")), (3, 1500, ("r",)), *([(5, 1024, ())] if FULL else [])):
        known = launches(ran("", rows, length))
        for dynamic in ("r", "l", "rl") if FULL else sets:
            more = int(program is layer_norm and CHIPS[chip] == "emulator" and "l" in dynamic)
            assert known <= launches(ran(dynamic, rows, length)) <= known + more, (rows, length, dynamic)
    edges = ((1, 1), (2, 70000), (4, 0), (0, 5))
    for rows, length in edges if FULL else edges[program is layer_norm::2]:
        ran("rl", rows, length)


def speeds(tool, folder, kind, m, n, k, dynamic):
    """Time of static over time of dynamic sizes, of one core of this machine: medians of pairs."""
    element, sums = {"f32": (numpy.float32,) * 2, "bf16": (numpy.uint16, numpy.float32)}[kind]
    rng = numpy.random.default_rng(0)
    real = lambda shape: rng.standard_normal(shape).astype(numpy.float32)
    narrow = lambda shape: real(shape) if kind == "f32" else (real(shape).view(numpy.uint32) >> 16).astype(element)
    arrays = [narrow((m, k)), narrow((k, n)), real((n,)), real((m, n)), numpy.zeros((m, n), sums)]
    pointers = [array.ctypes.data_as(ctypes.c_void_p) for array in arrays]
    calls = []
    for of in ("", dynamic):
        path, library = folder / f"product{of}.mlir", folder / f"product{of}.so"
        path.write_text(product(kind, m, n, k, of))
        tool("tw-compile", path, "--target", "cpu:host", "-o", library)
        values = {"m": m, "n": n, "k": k}
        sizes = [ctypes.c_int64(values[size]) for size in "mkn" if size in of]
        calls.append(lambda function=ctypes.CDLL(str(library)).fused, sizes=sizes: function(*sizes, *pointers))

    def timed(call, times):
        begin = time.perf_counter()
        for _ in range(times):
            call()
        return time.perf_counter() - begin

    times = max(1, int(0.005 / min(timed(calls[0], 1) for _ in range(3))))
    pairs = [(timed(calls[0], times), timed(calls[1], times)) for _ in range(30)]
    return statistics.median(known / unknown for known, unknown in pairs)


@pytest.mark.skipif(not FULL, reason="times; run in the full mode")
def test_speed_on_this_machine(tool, tmp_path):
    shapes = [(128, 768, 768), (128, 3072, 768), (128, 768, 3072), (256, 256, 256), (512, 512, 512), (97, 330, 200)]
    ratios = [speeds(tool, tmp_path, kind, *shape, dynamic) for kind in ("f32", "bf16") for shape in shapes
              for dynamic in SUBSETS]
    assert statistics.geometric_mean(ratios) >= 0.95, ratios
