"""Programs that are more than one kernel on emulated chips that run lanes: control flow, rows, transposes."""

import pathlib

import pytest

from lanes import emulate, kernels, with_chips

PROGRAMS = pathlib.Path(__file__).with_name("lane_programs")


def write(folder, text):
    path = folder / "program.mlir"
    path.write_text(text)
    return path


@pytest.mark.parametrize("chip, seed", with_chips(range(5)))
def test_control_flow_and_constants(chip, seed, tool):
    emulate(tool, PROGRAMS / "control.mlir", chip, "--seed", seed)


@pytest.mark.parametrize("chip, sizes", with_chips(["1,1", "5,31", "3,700", "130,65", "7,1031"]))
def test_rows(chip, sizes, tool):
    emulate(tool, PROGRAMS / "rows.mlir", chip, "--sizes", sizes, "--modes")


def transpose(kind, order, shape):
    sizes = "x".join(map(str, shape)) + "x" + kind
    result = "x".join(str(shape[d]) for d in order) + "x" + kind
    return (f"func.func @t(%a: tensor<{sizes}>) -> tensor<{result}> {{\n  %e = tensor.empty() : tensor<{result}>\n"
            f"  %t = linalg.transpose ins(%a : tensor<{sizes}>) outs(%e : tensor<{result}>) permutation = {list(order)}\n"
            f"  return %t : tensor<{result}>\n}}\n")


@pytest.mark.parametrize("chip, kind", with_chips(["i8", "f16", "f32", "f64", "bf16"]))
def test_transposes_meet_in_no_bank(chip, kind, tool, tmp_path):
    for order, shape in [((1, 0), (96, 64)), ((1, 0), (37, 101)), ((0, 2, 1), (3, 70, 41)), ((2, 0, 1), (33, 2, 65))]:
        report = emulate(tool, write(tmp_path, transpose(kind, order, shape)), chip, "--modes")
        (kernel,) = kernels(report)
        scratchpad = [m for m in kernel["memories"] if m["memory"] != "global"]
        assert scratchpad and all(m["conflict_cycles"] == 0 for m in scratchpad), kernel["memories"]
