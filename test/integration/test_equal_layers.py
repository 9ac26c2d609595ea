"""Equal layers of a network are one kernel (docs/stages.md): code does not grow with their number, and is right."""

import re
import sys

import pytest

from conftest import SOURCE

sys.path.insert(0, str(SOURCE / "test/benchmark"))
import networks  # noqa: E402

TARGETS = {"cpu:host": (["cpu:host"], "x.o"), "nvidia:H200": (["nvidia:H200", "--device=emulator"], "x.tw"),
           "amd:MI300X": (["amd:MI300X", "--device=emulator"], "x.tw")}


def layers(tmp_path, count):
    path = tmp_path / f"layers-{count}.mlir"
    path.write_text(networks.bert(count, tokens=16, width=32, heads=2))
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
            x = p.over_rows([(x, (8, 16)), (back, (8,))], 8, 16, ["%r = arith.addf %a0, %a1 : f32"], ["#full", "#row"])
        return p.text(x, 8, 16)

    counts = []
    for number in ("0.5", "0.25"):
        source = tmp_path / f"constant-{number}.mlir"
        source.write_text(program(number))
        tool("tw-run", source, "--verify")
        counts.append(len(functions(tool, tmp_path, source, "cpu:host", "x.o")))
    assert counts[0] < counts[1]
