"""Elementary functions in compiled code against float64, in units in the last place of f32, over all exponents."""

import math

import numpy
import pytest


def each(function):
    return numpy.vectorize(function, otypes=[numpy.float64])


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


@pytest.mark.parametrize("name, allowed", [("erf", 2), ("erfc", 4)])
def test_accuracy_of_doubles(tool, tmp_path, name, allowed):
    """In units of the last place of f64; the reference loses one of them itself."""
    random = numpy.random.default_rng(2)
    values = numpy.concatenate([random.standard_normal(1 << 14), random.uniform(-7, 27.4, 1 << 14),
                                numpy.array([0, -0.0, 1e-300, 26.5432, 26.5433, 27.2, 40, -40])])
    body = ONE.format(name)
    (tmp_path / "f.mlir").write_text(program(body, values.size).replace("f32", "f64"))
    numpy.save(tmp_path / "x.npy", values)
    tool("tw-run", tmp_path / "f.mlir", "--input", tmp_path / "x.npy", "--output", tmp_path / "y.npy")
    got, want = numpy.load(tmp_path / "y.npy"), each(getattr(math, name))(values)
    error = numpy.abs(got - want) / numpy.spacing(numpy.abs(want))
    worst = numpy.argmax(error)
    assert error[worst] <= allowed, f"{name}({values[worst]}) = {got[worst]}, not {want[worst]}"
