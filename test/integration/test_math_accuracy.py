"""Elementary functions in compiled code against float64, in units in the last place of f32, over all exponents."""

import math

import numpy
import pytest


def each(function):
    return numpy.vectorize(function, otypes=[numpy.float64])


def angle(function):
    """NumPy's own ones lose several units next to multiples of a quarter turn."""
    return each(lambda v: function(v) if math.isfinite(v) else math.nan)


ONE = "    %r = math.{0} %x : f32\n"
GELU = """    %half = arith.constant 0.5 : f32
    %one = arith.constant 1.0 : f32
    %root = arith.constant 0.70710678118 : f32
    %a = arith.mulf %x, %root : f32
    %e = math.erf %a : f32
    %s = arith.addf %e, %one : f32
    %h = arith.mulf %x, %half : f32
    %r = arith.mulf %h, %s : f32
"""

NORMAL = """    %one = arith.constant 1.0 : f32
    %root = arith.constant 0.70710678118 : f32
    %a = arith.mulf %x, %root : f32
    %e = math.erf %a : f32
    %r = arith.addf %e, %one : f32
"""

#: name: (body, reference, largest error allowed)
FUNCTIONS = {
    "exp": (ONE.format("exp"), numpy.exp, 1.5),
    "exp2": (ONE.format("exp2"), numpy.exp2, 1.5),
    "expm1": (ONE.format("expm1"), numpy.expm1, 2),
    "log": (ONE.format("log"), numpy.log, 1.5),
    "log2": (ONE.format("log2"), numpy.log2, 1.5),
    "log10": (ONE.format("log10"), numpy.log10, 1.5),
    "log1p": (ONE.format("log1p"), numpy.log1p, 2),
    "tanh": (ONE.format("tanh"), numpy.tanh, 3),
    "sinh": (ONE.format("sinh"), numpy.sinh, 3.5),
    "cosh": (ONE.format("cosh"), numpy.cosh, 3.5),
    "sin": (ONE.format("sin"), numpy.sin, 2.5),
    "cos": (ONE.format("cos"), numpy.cos, 2.5),
    "tan": (ONE.format("tan"), numpy.tan, 4),
    "asin": (ONE.format("asin"), numpy.arcsin, 2),
    "acos": (ONE.format("acos"), numpy.arccos, 2),
    "atan": (ONE.format("atan"), numpy.arctan, 2),
    "asinh": (ONE.format("asinh"), numpy.arcsinh, 3.5),
    "acosh": (ONE.format("acosh"), numpy.arccosh, 3.5),
    "atanh": (ONE.format("atanh"), numpy.arctanh, 3.5),
    "cbrt": (ONE.format("cbrt"), numpy.cbrt, 1.5),
    "rsqrt": (ONE.format("rsqrt"), lambda v: 1 / numpy.sqrt(v), 2),
    "erf": (ONE.format("erf"), each(math.erf), 1.5),
    "erfc": (ONE.format("erfc"), each(math.erfc), 4),
    "normal": (NORMAL, lambda v: each(math.erfc)(-v / math.sqrt(2)), 4),
    "gelu": (GELU, lambda v: v / 2 * each(math.erfc)(-v / math.sqrt(2)), 4),
}


def program(body, count):
    type = f"tensor<{count}xf32>"
    return f"""#id = affine_map<(i) -> (i)>
func.func @compute(%v: {type}) -> {type} {{
  %empty = tensor.empty() : {type}
  %y = linalg.generic {{indexing_maps = [#id, #id], iterator_types = ["parallel"]}}
      ins(%v : {type}) outs(%empty : {type}) {{
  ^bb0(%x: f32, %o: f32):
{body}    linalg.yield %r : f32
  }} -> {type}
  return %y : {type}
}}
"""


@pytest.mark.parametrize("name", FUNCTIONS)
def test_accuracy(tool, tmp_path, name):
    body, reference, allowed = FUNCTIONS[name]
    random = numpy.random.default_rng(1)
    count = 1 << 16
    values = numpy.concatenate([
        random.integers(0, 1 << 32, count, dtype=numpy.uint32).view(numpy.float32),
        random.standard_normal(count).astype(numpy.float32) * 3,
        random.uniform(-110, 110, count).astype(numpy.float32),
        # Where tails of the error function fall below the normal numbers, and near zero on both sides.
        random.uniform(-15, 15, count).astype(numpy.float32),
        random.uniform(-14.3, -13, count // 4).astype(numpy.float32),
        numpy.exp2(random.uniform(-30, 1, count)).astype(numpy.float32) * random.choice([-1, 1], count),
        numpy.array([0, -0.0, -13.146247, -13.146248, 9.19455, 9.194551, -13.003057, 1, -1, 2, 1e-40, -1e-45, 88.72, 88.73, numpy.inf, numpy.nan], numpy.float32),
    ]).astype(numpy.float32)
    (tmp_path / "f.mlir").write_text(program(body, values.size))
    numpy.save(tmp_path / "x.npy", values)
    tool("tw-run", tmp_path / "f.mlir", "--input", tmp_path / "x.npy", "--output", tmp_path / "y.npy")
    got = numpy.load(tmp_path / "y.npy")
    with numpy.errstate(all="ignore"):
        want = reference(values.astype(numpy.float64))
        rounded = want.astype(numpy.float32)
        error = numpy.abs(got.astype(numpy.float64) - want) / numpy.spacing(numpy.abs(rounded))
    finite = numpy.isfinite(rounded)
    worst = numpy.argmax(numpy.where(finite, error, 0))
    assert error[worst] <= allowed, f"{name}({values[worst]}) = {got[worst]}, not {want[worst]}"
    assert numpy.array_equal(got[~finite], rounded[~finite], equal_nan=True)


#: name: largest error allowed, and whether any number may be given; the reference loses one unit itself
DOUBLES = {"erf": (2, False), "erfc": (4, False), "sin": (3, True), "cos": (3, True), "tan": (4, True), "asin": (3, True),
           "acos": (3, True), "atan": (3, True), "asinh": (4, True), "acosh": (4, True), "atanh": (4, True),
           "cbrt": (3, True)}
REFERENCES = {"asin": numpy.arcsin, "acos": numpy.arccos, "atan": numpy.arctan, "asinh": numpy.arcsinh,
              "acosh": numpy.arccosh, "atanh": numpy.arctanh, "cbrt": numpy.cbrt, "sin": angle(math.sin),
              "cos": angle(math.cos), "tan": angle(math.tan), "erf": each(math.erf), "erfc": each(math.erfc)}


@pytest.mark.parametrize("name", DOUBLES)
def test_accuracy_of_doubles(tool, tmp_path, name):
    """In units of the last place of f64."""
    allowed, everywhere = DOUBLES[name]
    random = numpy.random.default_rng(2)
    values = numpy.concatenate([random.standard_normal(1 << 14), random.uniform(-7, 27.4, 1 << 14),
                                numpy.array([0, -0.0, 1e-300, 26.5432, 26.5433, 27.2, 40, -40])])
    if everywhere:
        values = numpy.concatenate([
            values, random.integers(0, 1 << 64, 1 << 15, dtype=numpy.uint64).view(numpy.float64),
            # Near multiples of a quarter turn, small and large.
            numpy.round(numpy.exp2(random.uniform(0, 60, 1 << 12))) * (math.pi / 2), random.uniform(-1, 1, 1 << 13),
            numpy.array([5e-324, 1e308, -1e308, 1, -1, numpy.inf, -numpy.inf, numpy.nan])])
    body = ONE.format(name)
    (tmp_path / "f.mlir").write_text(program(body, values.size).replace("f32", "f64"))
    numpy.save(tmp_path / "x.npy", values)
    tool("tw-run", tmp_path / "f.mlir", "--input", tmp_path / "x.npy", "--output", tmp_path / "y.npy")
    got = numpy.load(tmp_path / "y.npy")
    with numpy.errstate(all="ignore"):
        want = REFERENCES[name](values)
        error = numpy.abs(got - want) / numpy.spacing(numpy.abs(want))
    finite = numpy.isfinite(want)
    worst = numpy.argmax(numpy.where(finite, error, 0))
    assert error[worst] <= allowed, f"{name}({values[worst]}) = {got[worst]}, not {want[worst]}"
    assert numpy.array_equal(got[~finite], want[~finite], equal_nan=True)


@pytest.mark.parametrize("name, want", [("cos", -4.687165924254627611122583e-19), ("tan", -2133485385753703843.674853)])
def test_nearest_to_a_quarter_turn(tool, tmp_path, name, want):
    """Of all f64 this one is next to an odd multiple of a quarter turn; its functions to 25 digits. Libraries were seen to
    err by 8 units."""
    (tmp_path / "f.mlir").write_text(program(ONE.format(name), 2).replace("f32", "f64"))
    numpy.save(tmp_path / "x.npy", numpy.full(2, 6381956970095103 * 2.0**797))
    tool("tw-run", tmp_path / "f.mlir", "--input", tmp_path / "x.npy", "--output", tmp_path / "y.npy")
    assert numpy.load(tmp_path / "y.npy")[0] == pytest.approx(want, rel=3e-16)


#: Of two arguments: name, reference, largest error allowed.
PAIRS = [("powf", numpy.power, 2), ("atan2", numpy.arctan2, 2)]


@pytest.mark.parametrize("kind, name, reference, allowed",
                         [("f32", *pair) for pair in PAIRS] + [("f64", name, reference, 4) for name, reference, _ in PAIRS])
def test_accuracy_of_pairs(tool, tmp_path, kind, name, reference, allowed):
    random = numpy.random.default_rng(3)
    type, bits, count = (numpy.float32, numpy.uint32, 1 << 15) if kind == "f32" else (numpy.float64, numpy.uint64, 1 << 15)
    special = numpy.array([0, -0.0, 1, -1, 0.5, -0.5, 2, -2, 3, -3, 1e30, -1e30, 1e-30, numpy.inf, -numpy.inf, numpy.nan,
                           1e-40, 2.0**24, -(2.0**24 + 2), 2.0**60], type)
    left = [numpy.abs(random.standard_normal(count) * 3), numpy.exp2(random.uniform(-100, 100, count)), 1 + random.uniform(-1e-3, 1e-3, count),
            random.integers(0, 1 << (8 * bits().itemsize), count, dtype=bits).view(type), numpy.repeat(special, len(special)),
            random.integers(-9, 9, count)]
    right = [random.standard_normal(count) * 20, random.uniform(-1.2, 1.2, count), random.uniform(-1e5, 1e5, count),
             random.integers(0, 1 << (8 * bits().itemsize), count, dtype=bits).view(type), numpy.tile(special, len(special)),
             random.integers(-20, 20, count)]
    with numpy.errstate(all="ignore"):
        x, y = (numpy.concatenate([part.astype(type) for part in parts]) for parts in (left, right))
    shape = f"tensor<{x.size}x{kind}>"
    (tmp_path / "f.mlir").write_text(f"""#id = affine_map<(i) -> (i)>
func.func @compute(%v: {shape}, %w: {shape}) -> {shape} {{
  %empty = tensor.empty() : {shape}
  %y = linalg.generic {{indexing_maps = [#id, #id, #id], iterator_types = ["parallel"]}}
      ins(%v, %w : {shape}, {shape}) outs(%empty : {shape}) {{
  ^bb0(%a: {kind}, %b: {kind}, %o: {kind}):
    %r = math.{name} %a, %b : {kind}
    linalg.yield %r : {kind}
  }} -> {shape}
  return %y : {shape}
}}
""")
    numpy.save(tmp_path / "x.npy", x)
    numpy.save(tmp_path / "y.npy", y)
    tool("tw-run", tmp_path / "f.mlir", "--input", tmp_path / "x.npy", "--input", tmp_path / "y.npy", "--output",
         tmp_path / "z.npy")
    got = numpy.load(tmp_path / "z.npy")
    with numpy.errstate(all="ignore"):
        want = reference(x.astype(numpy.float64), y.astype(numpy.float64))
        rounded = want.astype(type)
        error = numpy.abs(got.astype(numpy.float64) - want) / numpy.spacing(numpy.abs(rounded))
    finite = numpy.isfinite(rounded)
    worst = numpy.argmax(numpy.where(finite, error, 0))
    assert error[worst] <= allowed, f"{name}({x[worst]}, {y[worst]}) = {got[worst]}, not {want[worst]}"
    wrong = numpy.flatnonzero(~((got == rounded) | (numpy.isnan(got) & numpy.isnan(rounded))) & ~finite)
    assert wrong.size == 0, f"{name}({x[wrong[0]]}, {y[wrong[0]]}) = {got[wrong[0]]}, not {rounded[wrong[0]]}"
    assert numpy.array_equal(numpy.signbit(got[rounded == 0]), numpy.signbit(rounded[rounded == 0]))


@pytest.mark.parametrize("kind", ["f32", "f64", "f16"])
@pytest.mark.parametrize("chip, ending", [("nvidia:T4", "ptx"), ("nvidia:A100", "ptx"), ("amd:MI300X", "hsaco"),
                                          ("amd:RX7900", "hsaco")])
def test_chips_with_lanes_need_no_library(tool, tmp_path, chip, ending, kind):
    """All functions at once: code of the chip comes out, and it calls nothing."""
    names = ["sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh", "asinh", "acosh", "atanh", "exp", "exp2",
             "expm1", "log", "log2", "log10", "log1p", "erf", "erfc", "cbrt", "sqrt", "rsqrt", "floor", "ceil", "round",
             "roundeven", "trunc"]
    lines = [f"    %v{i + 1} = math.{name} %v{i} : {kind}" for i, name in enumerate(names)]
    lines += [f"    %p = math.powf %v{len(names)}, %v0 : {kind}", f"    %q = math.atan2 %p, %v0 : {kind}",
              f"    %m = arith.remf %q, %v0 : {kind}", f"    %s, %c = math.sincos %m : {kind}",
              f"    %r = arith.addf %s, %c : {kind}", ""]
    (tmp_path / "f.mlir").write_text(program("\n".join(lines).replace("%v0 ", "%x ").replace("%v0,", "%x,"), 64)
                                     .replace("f32", kind))
    for suffix in (ending, "ll"):
        tool("tw-compile", tmp_path / "f.mlir", "--target", chip, "-o", tmp_path / f"f.{suffix}")
    called = [line for line in (tmp_path / "f.ll").read_text().splitlines() if line.startswith("declare")]
    assert all("@llvm." in line for line in called), called
