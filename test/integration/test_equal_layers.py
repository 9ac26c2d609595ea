"""Equal layers of a network are one kernel (docs/stages.md): code does not grow with their number, and is right."""

import re
import subprocess
import sys

import pytest

from conftest import BUILD, SOURCE

sys.path.insert(0, str(SOURCE / "test/benchmark"))
import networks  # noqa: E402

TARGETS = {"cpu:host": (["cpu:host"], "x.o"), "nvidia:H200": (["nvidia:H200", "--device=emulator"], "x.tw"),
           "amd:MI300X": (["amd:MI300X", "--device=emulator"], "x.tw")}


def layers(tmp_path, count):
    path = tmp_path / f"layers-{count}.mlir"
    path.write_text(networks.bert(count, tokens=16, width=32, heads=2))
    return path


def quantised(tmp_path, count, rows=32, width=128):
    """Layers in int8: clamp((x w + b) >> 7)."""
    t, sums = f"tensor<{rows}x{width}xi8>", f"tensor<{rows}x{width}xi32>"
    w, bias = f"tensor<{width}x{width}xi8>", f"tensor<{width}xi32>"
    arguments = "".join(f", %w{i}: {w}, %b{i}: {bias}" for i in range(count))
    body = "".join(f"""
  %p{i} = linalg.matmul ins(%x{i}, %w{i} : {t}, {w}) outs(%f : {sums}) -> {sums}
  %x{i + 1} = linalg.generic {{indexing_maps = [#ij, #j, #ij], iterator_types = ["parallel", "parallel"]}}
      ins(%p{i}, %b{i} : {sums}, {bias}) outs(%e8 : {t}) {{
  ^bb0(%s: i32, %c: i32, %o: i8):
    %u = arith.addi %s, %c : i32
    %v = arith.shrsi %u, %c7 : i32
    %least = arith.maxsi %v, %low : i32
    %most = arith.minsi %least, %high : i32
    %r = arith.trunci %most : i32 to i8
    linalg.yield %r : i8
  }} -> {t}""" for i in range(count))
    path = tmp_path / f"quantised-{count}.mlir"
    path.write_text(f"""#ij = affine_map<(i, j) -> (i, j)>
#j = affine_map<(i, j) -> (j)>
func.func @layers(%x0: {t}{arguments}) -> {t} {{
  %z = arith.constant 0 : i32
  %c7 = arith.constant 7 : i32
  %low = arith.constant -128 : i32
  %high = arith.constant 127 : i32
  %e = tensor.empty() : {sums}
  %e8 = tensor.empty() : {t}
  %f = linalg.fill ins(%z : i32) outs(%e : {sums}) -> {sums}{body}
  return %x{count} : {t}
}}
""")
    return path


def functions(tool, tmp_path, source, target, output):
    """Names of the private functions with a body after stage 4."""
    stages = tmp_path / source.stem
    tool("tw-compile", source, f"--target={target}", "--dump-stages", stages, "-o", tmp_path / output)
    text = (stages / "4-map.mlir").read_text()
    bodies = re.findall(r"^  func\.func private @(\w+)\(.*?^  \}", text, re.DOTALL | re.MULTILINE)
    return sorted(bodies)


@pytest.mark.parametrize("name", TARGETS)
def test_code_does_not_grow_with_the_number_of_layers(tool, tmp_path, name):
    target, output = TARGETS[name][0][0], TARGETS[name][1]
    few, many = (functions(tool, tmp_path, layers(tmp_path, count), target, output) for count in (3, 6))
    assert len(few) >= 8 and len(few) == len(many)


def test_layers_of_a_unit_with_a_state_are_shared(tool, tmp_path):
    """Tile registers are configured for each nest: so nests are functions, and those of equal layers one."""
    few, many = (functions(tool, tmp_path, quantised(tmp_path, count), "cpu:sapphire-rapids", "x.o") for count in (2, 6))
    assert few == many and len(few) == 3, (few, many)
    text = (tmp_path / "quantised-6" / "4-map.mlir").read_text()
    assert 'unit = "cpu.amx_tdpbssd"' in text
    tool("tw-run", tmp_path / "quantised-6.mlir", "--target", "cpu:sapphire-rapids", "--device", "model", "--verify")


def test_a_streaming_mode_is_entered_once_a_kernel(tool, tmp_path):
    """It is a property of the function: its kernel stays whole."""
    plugin, stages = BUILD / "lib/tilewright/libtilewright-target-sme.so", tmp_path / "stages"
    tool("tw-compile", quantised(tmp_path, 2), "--target=sme:sme256", f"--load-target={plugin}", "--dump-stages", stages,
         "-o", tmp_path / "x.ll")
    text = (stages / "4-map.mlir").read_text()
    assert 'unit = "sme.smopa_i8_256"' in text and "_nest_" not in text


@pytest.mark.parametrize("name", TARGETS)
def test_equal_layers_compute_what_they_say(tool, tmp_path, name):
    words, _ = TARGETS[name]
    tool("tw-run", layers(tmp_path, 3), "--target", *words, "--verify")


def test_a_layer_with_another_constant_is_a_kernel_of_its_own(tool, tmp_path):
    """Two sums of rows that differ in one number, and two that do not."""
    def program(second):
        p = networks.Program()
        x = p.argument(8, 16)
        for number in ("0.5", second):
            total = p.row_sum([(x, (8, 16))], 8, 16, ["%r = arith.addf %o, %a0 : f32"], ["#full"])
            flat = p.op(f"tensor.expand_shape {total} [[0, 1]] output_shape [2, 4] : tensor<8xf32> into tensor<2x4xf32>")
            scale = p.constant(number)
            empty = p.op("tensor.empty() : tensor<2x4xf32>")
            small = p.generic([(flat, (2, 4))], empty, (2, 4), [f"%r = arith.mulf %a0, {scale} : f32"], ["#full", "#full"])
            back = p.op(f"tensor.collapse_shape {small} [[0, 1]] : tensor<2x4xf32> into tensor<8xf32>")
            x = p.over_rows([(x, (8, 16)), (back, (8,)), (total, (8,))], 8, 16,  # the sum has a second user, so the view stays
                            ["%s = arith.addf %a0, %a1 : f32", "%r = arith.addf %s, %a2 : f32"], ["#full", "#row", "#row"])
        return p.text(x, 8, 16)

    counts = []
    for number in ("0.5", "0.25"):
        source = tmp_path / f"constant-{number}.mlir"
        source.write_text(program(number))
        tool("tw-run", source, "--verify")
        counts.append(len(functions(tool, tmp_path, source, "cpu:host", "x.o")))
    assert counts[0] < counts[1]


def residual(count, rows=16384, width=64):
    """Blocks x + v max(0, w x): each a chain of two products, and all in one kernel."""
    p, t, w = networks.Program(), (rows, width), (width, width)
    full = "affine_map<(i, j) -> (i, j)>"
    x, zero = p.argument(*t), p.constant("0.0")

    def product(a):
        return p.op(f"linalg.matmul ins({a}, {p.argument(*w)} : {networks.tensor(*t)}, {networks.tensor(*w)}) "
                    f"outs({p.filled('0.0', *t)} : {networks.tensor(*t)}) -> {networks.tensor(*t)}")

    for _ in range(count):
        inner = product(x)
        empty = p.op(f"tensor.empty() : {networks.tensor(*t)}")
        inner = p.generic([(inner, t)], empty, t, [f"%r = arith.maximumf %a0, {zero} : f32"], [full, full])
        outer = product(inner)
        empty = p.op(f"tensor.empty() : {networks.tensor(*t)}")
        x = p.generic([(outer, t), (x, t)], empty, t, ["%r = arith.addf %a0, %a1 : f32"], [full, full, full])
    return p.text(x, *t)


def test_equal_chains_are_tried_once(tmp_path):
    """Tiles of a range of nests are built and priced once, however often equal ones follow in a kernel."""
    def trials(count):
        source = tmp_path / f"blocks-{count}.mlir"
        source.write_text(residual(count))
        command = [BUILD / "bin/tw-compile", source, "--target=nvidia:H200", "--time=counts", "-o", tmp_path / "x.tw"]
        counts = subprocess.run(command, capture_output=True, text=True, check=True).stderr
        return int(re.search(r'"trials": (\d+)', counts).group(1))

    few, many = trials(4), trials(8)
    assert few > 10 and many <= 1.5 * few, (few, many)  # 64 and 204 if each is tried
