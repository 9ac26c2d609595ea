"""Programs that are more than one kernel on emulated chips that run lanes: control flow, rows, convolutions, transposes."""

import pathlib

import pytest

from conftest import FULL
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


def convolution(layout, kind, stride, dilation, groups, padding):
    """2 images of 8 channels, 13 x 11 points, 12 filters of 3 x 3."""
    wide = {"f16": "f32", "bf16": "f32", "i8": "i32"}.get(kind, kind)
    n, c, h, w, f, k = 2, 8, 13, 11, 12, 3
    oh, ow = ((x + 2 * padding - dilation * (k - 1) - 1) // stride + 1 for x in (h, w))
    ph, pw, zero = h + 2 * padding, w + 2 * padding, "0" if kind[0] == "i" else "0.0"
    if groups > 1:
        image, padded, filters, result = ((n, groups, c // groups, h, w), (n, groups, c // groups, ph, pw),
                                          (groups, f // groups, c // groups, k, k), (n, groups, f // groups, oh, ow))
        op, low = "linalg.conv_2d_ngchw_gfchw", (0, 0, 0, padding, padding)
    elif layout == "nchw":
        image, padded, filters, result = (n, c, h, w), (n, c, ph, pw), (f, c, k, k), (n, f, oh, ow)
        op, low = "linalg.conv_2d_nchw_fchw", (0, 0, padding, padding)
    else:
        image, padded, filters, result = (n, h, w, c), (n, ph, pw, c), (k, k, c, f), (n, oh, ow, f)
        op, low = "linalg.conv_2d_nhwc_hwcf", (0, padding, padding, 0)

    def tensor(shape, element=kind):
        return "tensor<" + "x".join(map(str, shape)) + f"x{element}>"

    indices = ", ".join(f"%i{d}: index" for d in range(len(image)))
    return f"""
    func.func @conv(%x: {tensor(image)}, %f: {tensor(filters)}) -> {tensor(result, wide)} {{
      %pad = arith.constant {zero} : {kind}
      %zero = arith.constant {zero} : {wide}
      %p = tensor.pad %x low{list(low)} high{list(low)} {{
      ^bb0({indices}):
        tensor.yield %pad : {kind}
      }} : {tensor(image)} to {tensor(padded)}
      %e = tensor.empty() : {tensor(result, wide)}
      %z = linalg.fill ins(%zero : {wide}) outs(%e : {tensor(result, wide)}) -> {tensor(result, wide)}
      %r = {op} {{dilations = dense<{dilation}> : tensor<2xi64>, strides = dense<{stride}> : tensor<2xi64>}}
           ins(%p, %f : {tensor(padded)}, {tensor(filters)}) outs(%z : {tensor(result, wide)}) -> {tensor(result, wide)}
      return %r : {tensor(result, wide)}
    }}"""


#: Each pair of values of two of these occurs: layout, type, stride, dilation, groups, padding.
CONVOLUTIONS = [("nchw", "f16", 1, 1, 1, 0), ("nhwc", "f16", 2, 2, 1, 1), ("nchw", "f32", 2, 1, 2, 1),
                ("nhwc", "i8", 1, 1, 1, 1), ("nchw", "i8", 2, 2, 1, 0), ("nchw", "bf16", 1, 2, 2, 1),
                ("nhwc", "f32", 1, 2, 1, 0), ("nhwc", "bf16", 2, 1, 1, 0), ("nchw", "f16", 1, 1, 2, 1)]


@pytest.mark.parametrize("chip, case", with_chips(CONVOLUTIONS))
def test_convolutions(chip, case, tool, tmp_path):
    emulate(tool, write(tmp_path, convolution(*case)), chip, *(["--modes"] if FULL else []))
