"""The template of a scratchpad chip at the size that its promise is about: how busy its unit is, and that the plan said so."""

import ctypes
import json
import subprocess

import numpy
import pytest
from conftest import BUILD

PLUGIN = BUILD / "lib/tilewright/libtilewright-target-accelerator.so"
SIZE = 1024
#: Of each element type: that of its sums, and the words of bias and ReLU on them.
WORDS = {"i8": ("i32", "arith.addi", "arith.maxsi", "0"), "bf16": ("f32", "arith.addf", "arith.maximumf", "0.0")}


def gemm(m, n, k, element):
    """relu(A B + bias)"""
    total, add, largest, zero = WORDS[element]
    a, b, sums = f"tensor<{m}x{k}x{element}>", f"tensor<{k}x{n}x{element}>", f"tensor<{m}x{n}x{total}>"
    return f"""
    #ij = affine_map<(i, j) -> (i, j)>
    func.func @mm(%a: {a}, %b: {b}, %bias: tensor<{n}x{total}>) -> {sums} {{
      %z = arith.constant {zero} : {total}
      %e = tensor.empty() : {sums}
      %f = linalg.fill ins(%z : {total}) outs(%e : {sums}) -> {sums}
      %p = linalg.matmul ins(%a, %b : {a}, {b}) outs(%f : {sums}) -> {sums}
      %r = linalg.generic {{indexing_maps = [#ij, affine_map<(i, j) -> (j)>, #ij], iterator_types = ["parallel", "parallel"]}}
          ins(%p, %bias : {sums}, tensor<{n}x{total}>) outs(%e : {sums}) {{
        ^bb0(%x: {total}, %y: {total}, %o: {total}):
          %s = {add} %x, %y : {total}
          %t = {largest} %s, %z : {total}
          linalg.yield %t : {total}
      }} -> {sums}
      return %r : {sums}
    }}"""


@pytest.mark.parametrize("element", ["i8", "bf16"])
def test_the_unit_is_busy_and_the_plan_says_so(tool, tmp_path, element):
    program = tmp_path / "mm.mlir"
    program.write_text(gemm(SIZE, SIZE, SIZE, element))
    common = [program, f"--load-target={PLUGIN}", "--target", "accelerator:npu"]
    decisions = json.loads(tool("tw-compile", *common, "--explain=json"))
    plan = next(one for one in decisions if one["decision"] == "contraction")["choice"]
    report = json.loads(tool("tw-run", *common, "--device", "emulator", "--verify", "--json"))
    assert not report["emulation"]["findings"]
    kernel, = report["emulation"]["kernels"]
    engines = {engine["engine"]: engine["busy_cycles"] for engine in kernel["engines"]}
    busy = engines["unit"] / kernel["cycles"]
    assert kernel["cycles"] / 4 == pytest.approx(plan["clocks"], rel=0.1)
    assert busy == pytest.approx(plan["busy"], rel=0.1)
    assert busy >= 0.9


def test_trace_has_what_the_counters_say(tool, tmp_path):
    """A lane for each engine of each core; its events do not overlap, and add up to the engine's busy cycles."""
    program, trace = tmp_path / "mm.mlir", tmp_path / "trace.json"
    program.write_text(gemm(200, 192, 256, "bf16"))
    command = [program, f"--load-target={PLUGIN}", "--target", "accelerator:npu", "--device", "emulator"]
    report = json.loads(tool("tw-run", *command, "--json", "--trace", trace))
    kernel, = report["emulation"]["kernels"]
    events = json.loads(trace.read_text())["traceEvents"]
    lanes = {(event["pid"], event["tid"]): event["args"]["name"] for event in events if event["name"] == "thread_name"}
    assert {core for core, _ in lanes} == set(range(4))
    clocks, ends, bytes_moved = {}, {}, {}
    for event in sorted((event for event in events if event["ph"] == "X"), key=lambda event: event["ts"]):
        lane = event["pid"], event["tid"]
        engine = lanes[lane]
        assert event["cat"] == engine and event["name"] == kernel["kernel"]
        assert event["dur"] * 1000 == pytest.approx(event["args"]["clocks"])  # microseconds at 1000 MHz
        assert event["ts"] >= ends.get(lane, 0) - 1e-9, "an engine does one thing at a time"
        ends[lane] = event["ts"] + event["dur"]
        clocks[engine] = clocks.get(engine, 0) + event["args"]["clocks"]
        bytes_moved[engine] = bytes_moved.get(engine, 0) + event["args"]["bytes"]
    counted = {engine["engine"]: engine for engine in kernel["engines"]}
    assert clocks.keys() == counted.keys() == {"copy", "unit", "store", "core"}
    for engine, total in clocks.items():
        assert total == pytest.approx(counted[engine]["busy_cycles"])
        assert bytes_moved[engine] == counted[engine]["bytes"]
    # Cores run side by side: the last one's end, of the sum of all cores' clocks at most one core's share less.
    assert kernel["cycles"] / 4 <= max(ends.values()) * 1000 * (1 + 1e-9) <= kernel["cycles"]


@pytest.mark.parametrize("options, message", [
    (["--target", "accelerator:npu"], "--trace needs --device emulator"),
    (["--target", "nvidia:A100", "--device", "emulator"], "keeps no clocks"),
    (["--target", "accelerator:npu", "--device", "emulator", "--trace", "/nowhere/trace.json"], "/nowhere/trace.json"),
])
def test_traces_that_are_refused(tmp_path, options, message):
    program = tmp_path / "mm.mlir"
    program.write_text(gemm(32, 32, 32, "bf16"))
    command = [BUILD / "bin/tw-run", program, f"--load-target={PLUGIN}", *options]
    command += [] if "--trace" in options else ["--trace", tmp_path / "trace.json"]
    result = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert result.returncode == 1 and message in result.stderr, result.stderr
    assert not (tmp_path / "trace.json").exists()


def in_c(tool, tmp_path, program):
    """The program as C, compiled by the system's compiler against the reference intrinsics, as a library."""
    source, library = tmp_path / "program.c", tmp_path / "program.so"
    tool("tw-compile", program, f"--load-target={PLUGIN}", "--target", "accelerator:npu", "-o", source)
    subprocess.run(["cc", "-O2", "-Wall", "-shared", "-fPIC", '-DTILEWRIGHT_INTRINSICS="reference.h"',
                    "-I", BUILD / "templates/accelerator", source, "-lm", "-o", library], check=True)
    return ctypes.CDLL(str(library)), source.read_text()


def pointer(array):
    return array.ctypes.data_as(ctypes.c_void_p)


@pytest.mark.parametrize("m, n, k", [(128, 96, 64), (50, 33, 70)])
def test_c_code_computes_the_product(tool, tmp_path, m, n, k):
    program = tmp_path / "mm.mlir"
    program.write_text(gemm(m, n, k, "i8"))
    library, source = in_c(tool, tmp_path, program)
    assert "npu_multiply_i8(" in source and "npu_load(" in source
    random = numpy.random.default_rng(1)
    a, b = (random.integers(-128, 128, shape, dtype=numpy.int8) for shape in ((m, k), (k, n)))
    bias, result = random.integers(-999, 999, n, dtype=numpy.int32), numpy.full((m, n), -1, dtype=numpy.int32)
    assert library.mm(pointer(a), pointer(b), pointer(bias), pointer(result)) == 0
    expected = numpy.maximum(a.astype(numpy.int32) @ b.astype(numpy.int32) + bias, 0)
    assert (result == expected).all()


def test_c_code_of_what_the_cores_do(tool, tmp_path):
    program = tmp_path / "softmax.mlir"
    program.write_text("""
    func.func @softmax(%x: tensor<?x?xf32>) -> tensor<?x?xf32> {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %m = tensor.dim %x, %c0 : tensor<?x?xf32>
      %n = tensor.dim %x, %c1 : tensor<?x?xf32>
      %e = tensor.empty(%m, %n) : tensor<?x?xf32>
      %r = linalg.softmax dimension(1) ins(%x : tensor<?x?xf32>) outs(%e : tensor<?x?xf32>) -> tensor<?x?xf32>
      return %r : tensor<?x?xf32>
    }""")
    library, _ = in_c(tool, tmp_path, program)
    x = numpy.random.default_rng(2).standard_normal((13, 37), dtype=numpy.float32)
    result = numpy.zeros_like(x)
    sizes = [ctypes.c_int64(size) for size in x.shape]
    assert library.softmax(*sizes, pointer(x), pointer(result)) == 0
    wide = numpy.exp(x.astype(numpy.float64) - x.max(axis=1, keepdims=True))
    assert numpy.abs(result - wide / wide.sum(axis=1, keepdims=True)).max() < 1e-6


def test_c_code_of_a_quantised_product(tool, tmp_path):
    """Scales of each column, a zero point, rounding to nearest even and saturation, in plain C."""
    m, n, k = 40, 96, 64
    program = tmp_path / "quantised.mlir"
    program.write_text(f"""
    #ij = affine_map<(i, j) -> (i, j)>
    func.func @quantised(%a: tensor<{m}x{k}xi8>, %b: tensor<{k}x{n}xi8>, %scale: tensor<{n}xf32>) -> tensor<{m}x{n}xi8> {{
      %z = arith.constant 0 : i32
      %sums = tensor.empty() : tensor<{m}x{n}xi32>
      %bytes = tensor.empty() : tensor<{m}x{n}xi8>
      %zero = arith.constant 3.0 : f32
      %least = arith.constant -128.0 : f32
      %most = arith.constant 127.0 : f32
      %f = linalg.fill ins(%z : i32) outs(%sums : tensor<{m}x{n}xi32>) -> tensor<{m}x{n}xi32>
      %p = linalg.matmul ins(%a, %b : tensor<{m}x{k}xi8>, tensor<{k}x{n}xi8>) outs(%f : tensor<{m}x{n}xi32>)
        -> tensor<{m}x{n}xi32>
      %r = linalg.generic {{indexing_maps = [#ij, affine_map<(i, j) -> (j)>, #ij], iterator_types = ["parallel", "parallel"]}}
          ins(%p, %scale : tensor<{m}x{n}xi32>, tensor<{n}xf32>) outs(%bytes : tensor<{m}x{n}xi8>) {{
        ^bb0(%x: i32, %s: f32, %o: i8):
          %w = arith.sitofp %x : i32 to f32
          %v = arith.mulf %w, %s : f32
          %e = math.roundeven %v : f32
          %y = arith.addf %e, %zero : f32
          %l = arith.maximumf %y, %least : f32
          %h = arith.minimumf %l, %most : f32
          %t = arith.fptosi %h : f32 to i8
          linalg.yield %t : i8
      }} -> tensor<{m}x{n}xi8>
      return %r : tensor<{m}x{n}xi8>
    }}""")
    library, _ = in_c(tool, tmp_path, program)
    random = numpy.random.default_rng(3)
    a, b = (random.integers(-128, 128, shape, dtype=numpy.int8) for shape in ((m, k), (k, n)))
    scale, result = (random.random(n) * 0.002).astype(numpy.float32), numpy.zeros((m, n), dtype=numpy.int8)
    assert library.quantised(pointer(a), pointer(b), pointer(scale), pointer(result)) == 0
    wide = numpy.rint((a.astype(numpy.int32) @ b.astype(numpy.int32)).astype(numpy.float32) * scale) + 3
    assert (numpy.abs(wide) > 128).any(), "some elements saturate"
    assert (result == numpy.clip(wide, -128, 127).astype(numpy.int8)).all()
