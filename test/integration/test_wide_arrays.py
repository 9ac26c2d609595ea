"""Arrays in which places are apart by more than 29, 31 or 32 bits tell: no constant of an address wraps.

Each program transposes or multiplies rows that are far apart, on SIMT targets. In the code, the constant steps of an
address are distances to rows behind: none is negative. test/unit/LaneAddressTest.cpp runs such programs on the emulator."""

import re

import pytest

CHIPS = ("nvidia:A100", "nvidia:H200", "amd:MI300X", "amd:RX9070")


def transposed(rows, columns, element, width=None):
    """The whole array, or `width` columns of it."""
    whole, part = f"tensor<{rows}x{columns}x{element}>", f"tensor<{rows}x{width or columns}x{element}>"
    out = f"tensor<{width or columns}x{rows}x{element}>"
    cut = f"%s = tensor.extract_slice %x[0, 64] [{rows}, {width}] [1, 1] : {whole} to {part}" if width else ""
    return f"""
func.func @f(%x: {whole}) -> {out} {{
  {cut}
  %e = tensor.empty() : {out}
  %r = linalg.transpose ins({"%s" if width else "%x"} : {part}) outs(%e : {out}) permutation = [1, 0]
  return %r : {out}
}}"""


def multiplied(m, n, k):
    a, b, c = f"tensor<{m}x{k}xf16>", f"tensor<{k}x{n}xf16>", f"tensor<{m}x{n}xf32>"
    return f"""
func.func @f(%a: {a}, %b: {b}) -> {c} {{
  %z = arith.constant 0.0 : f32
  %e = tensor.empty() : {c}
  %f = linalg.fill ins(%z : f32) outs(%e : {c}) -> {c}
  %r = linalg.matmul ins(%a, %b : {a}, {b}) outs(%f : {c}) -> {c}
  return %r : {c}
}}"""


PROGRAMS = {
    "i8-slice": transposed(128, 3000000, "i8", 128),
    "i8": transposed(128, 3000000, "i8"),
    "f32": transposed(64, 1 << 27, "f32"),
    "f32-slice": transposed(64, 1 << 30, "f32", 64),
    "product": multiplied(64, 1 << 23, 64),
    "product-larger": multiplied(64, 1 << 25, 64),
}


@pytest.mark.parametrize("chip", CHIPS)
@pytest.mark.parametrize("name", PROGRAMS)
def test_no_address_wraps(tool, tmp_path, name, chip):
    source, code = tmp_path / "f.mlir", tmp_path / "f.ll"
    source.write_text(PROGRAMS[name])
    tool("tw-compile", str(source), "--target", chip, "-o", str(code))
    text = code.read_text()
    steps = [int(number) for number in re.findall(r"getelementptr .*, i64 (-?\d+)$", text, re.MULTILINE)]
    assert steps, "no address has a constant step; the test looks for another form of code"
    assert min(steps) > -(1 << 20), f"a constant step is {min(steps)}"
    # A lane's own part: 32 bits do not hold the row's number times a pitch of 2^30 elements.
    if name == "f32-slice":
        narrow = re.findall(r"= shl [a-z ]*i32 %\w+, (\d+)", text)
        assert all(int(number) < 28 for number in narrow), f"shifts of 32 bits by {narrow}"
