"""What --verify calls wrong: sums that cancel are right, small faults are found, and bounds are near what happens."""

import json
import pathlib
import statistics
import subprocess
import tempfile

import numpy
import pytest

from conftest import BUILD, FULL


def verify(tool, path, *arguments, expect=0):
    report = json.loads(tool("tw-run", path, "--verify", "--json", *arguments, expect=expect))["verify"]
    (output,) = report["outputs"]
    assert report["passed"] == output["passed"] == (output["wrong"] == 0)
    return output


@pytest.mark.parametrize("seed", range(20 if FULL else 4))
def test_a_sum_of_all_that_cancels(tool, tmp_path, seed):
    """13 x 17 x 9 values in [-1, 1): the error is that of 1,989 terms, not that of the result."""
    (tmp_path / "sum.mlir").write_text("""func.func @f(%x: tensor<13x17x9xf32>) -> tensor<f32> {
  %z = arith.constant dense<0.0> : tensor<f32>
  %r = linalg.reduce { arith.addf } ins(%x : tensor<13x17x9xf32>) outs(%z : tensor<f32>) dimensions = [0, 1, 2]
  return %r : tensor<f32>
}""")
    x = numpy.random.default_rng(seed).uniform(-1, 1, (13, 17, 9)).astype(numpy.float32)
    x[-1, -1, -1] -= numpy.float32(x.sum(dtype=numpy.float64))  # what is left is next to nothing
    numpy.save(tmp_path / "x.npy", x)
    output = verify(tool, tmp_path / "sum.mlir", f"--input={tmp_path / 'x.npy'}")
    assert output["passed"] and abs(output["expected"]) < 1e-6
    assert output["bound"] < 0.02, "1,989 terms of at most 1 in f32"


VARIANCE = """func.func @f(%x: tensor<64xf32>) -> tensor<64xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %zero = arith.constant 0.0 : f32
  %one = arith.constant 1.0 : f32
  %e = tensor.empty() : tensor<64xf32>
  %r:4 = scf.for %i = %c0 to %c64 step %c1 iter_args(%mean = %zero, %m2 = %zero, %n = %zero, %out = %e)
      -> (f32, f32, f32, tensor<64xf32>) {
    %v = tensor.extract %x[%i] : tensor<64xf32>
    %next = arith.addf %n, %one : f32
    %d = arith.subf %v, %mean : f32
    %q = arith.divf %d, %next : f32
    %m = arith.addf %mean, %q : f32
    %d2 = arith.subf %v, %m : f32
    %p = arith.mulf %d, %d2 : f32
    %s = arith.addf %m2, %p : f32
    %var = arith.divf %s, %next : f32
    %o = tensor.insert %var into %out[%i] : tensor<64xf32>
    scf.yield %m, %s, %next, %o : f32, f32, f32, tensor<64xf32>
  }
  return %r#3 : tensor<64xf32>
}"""


@pytest.mark.parametrize("seed", range(20 if FULL else 3))
def test_a_running_variance_of_values_near_1000(tool, tmp_path, seed):
    (tmp_path / "variance.mlir").write_text(VARIANCE)
    x = (1000 + numpy.random.default_rng(seed).standard_normal(64)).astype(numpy.float32)
    numpy.save(tmp_path / "x.npy", x)
    output = verify(tool, tmp_path / "variance.mlir", f"--input={tmp_path / 'x.npy'}")
    assert output["passed"] and not output["unjudged"]
    wide = x.astype(numpy.float64)
    assert abs(output["expected"] - wide[:output["worst_index"] + 1].var()) < 1e-9


def test_values_that_decide(tool, tmp_path):
    """A step next to an inexact number may fall to either side; elsewhere one that is off by one is wrong."""
    path = tmp_path / "steps.mlir"
    path.write_text("""#id = affine_map<(i) -> (i)>
func.func @f(%x: tensor<64xf32>) -> tensor<64xi32> {
  %e = tensor.empty() : tensor<64xi32>
  %r = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%x : tensor<64xf32>)
      outs(%e : tensor<64xi32>) {
  ^bb0(%a: f32, %o: i32):
    %c = arith.constant 3.1 : f32
    %p = arith.mulf %a, %c : f32
    %n = arith.fptosi %p : f32 to i32
    linalg.yield %n : i32
  } -> tensor<64xi32>
  return %r : tensor<64xi32>
}""")
    output = verify(tool, path)
    assert output["passed"] and output["max_error"] == 0 and output["bound"] == 0


def layers(count, size):
    """`count` products of `size` squared, each with max(x, 0) after it."""
    square = f"tensor<{size}x{size}xf32>"
    text = "func.func @f(" + ", ".join(f"%w{i}: {square}" for i in range(count + 1)) + f") -> {square} {{\n"
    text += f"  %z = arith.constant 0.0 : f32\n  %e = tensor.empty() : {square}\n"
    text += f"  %f = linalg.fill ins(%z : f32) outs(%e : {square}) -> {square}\n  %x0 = linalg.abs ins(%w0 : {square}) outs(%e : {square}) -> {square}\n"
    for i in range(1, count + 1):
        text += f"  %p{i} = linalg.matmul ins(%x{i - 1}, %w{i} : {square}, {square}) outs(%f : {square}) -> {square}\n"
        text += f"  %x{i} = linalg.map ins(%p{i} : {square}) outs(%e : {square}) (%a: f32, %o: f32) {{\n"
        text += "    %b = arith.maximumf %a, %z : f32\n    linalg.yield %b : f32\n  }\n"
    return text + f"  return %x{count} : {square}\n}}"


def test_bounds_of_deep_programs_excuse_no_fault(tool, tmp_path):
    """Worst cases of 6 products of length 64 add up to more than the result; the spread stays at its last digits."""
    (tmp_path / "layers.mlir").write_text(layers(6, 64))
    output = verify(tool, tmp_path / "layers.mlir")
    assert output["passed"] and not output["unjudged"]
    reference = tool("tw-run", tmp_path / "layers.mlir", f"--output={tmp_path / 'y.npy'}")
    largest = numpy.abs(numpy.load(tmp_path / "y.npy")).max()
    assert reference and output["bound"] < 1e-4 * largest


#: Of each kind of conformance programs some; the full mode takes all that the quick run has.
SAMPLE = ["contraction/matmul/f32.f32.f32/33x47x29/nn", "contraction/matmul/f16.f16.f32/33x47x29/nt",
          "contraction/matmul/bf16.bf16.bf16/33x47x29/nn", "elementwise/exp/f32/19x37/same", "elementwise/div/f32/19x37/same",
          "softmax/softmax/f32/13x37/row", "norm/layer-norm/f32/11x48/row", "norm/rms-norm/f16/16x128/row",
          "reduction/sum/f32/3x17x33/row", "reduction/sum/f32/3x17x33/all"]


def outputs_of_conformance(tool, kept, filters, every=1):
    """What `--verify` says of conformance programs with random values, by program."""
    tool("tw-conformance", f"--keep={kept}", "--timeout=600", *filters, timeout=3600)
    outputs = {}
    for program in sorted(kept.glob("*.mlir"))[::every]:
        inputs = sorted(kept.glob(f"{program.stem}.random.input*.npy"))
        outputs[program.stem] = verify(tool, program, *(f"--input={path}" for path in inputs))
    return outputs


def test_bounds_are_near_what_happens(tool, tmp_path):
    """Bound over the error that is seen, of the element nearest to its bound, and of the elements in the median."""
    filters = ["--filter=*/*"] if FULL else [f"--filter={name}" for name in SAMPLE]
    outputs = outputs_of_conformance(tool, tmp_path / "kept", filters)
    assert outputs and all(output["passed"] for output in outputs.values())
    differing = [output for output in outputs.values() if output["looseness"]]
    assert len(differing) >= len(outputs) / 4
    worst = [1 / output["error_over_bound"] for output in differing]
    assert statistics.median(worst) <= 50 and min(worst) >= 1
    assert statistics.median(output["looseness"] for output in differing) <= 200


def main():
    """Prints the numbers of docs/error-bounds.md: of every third program of the quick conformance run."""
    def tool(name, *arguments, expect=0, timeout=600):
        done = subprocess.run([BUILD / "bin" / name, *map(str, arguments)], capture_output=True, text=True, timeout=timeout)
        assert done.returncode == expect, done.stderr
        return done.stdout
    names = [name for name in tool("tw-conformance", "--list").split() if not name.startswith(("unit/", "performance/"))]
    families = sorted({name.split("/")[0] for name in names})
    with tempfile.TemporaryDirectory() as folder:
        outputs = outputs_of_conformance(tool, pathlib.Path(folder), [f"--filter={family}/*" for family in families], every=3)
    differing = {name: output for name, output in outputs.items() if output["looseness"]}
    by_looseness = sorted((output["looseness"], name) for name, output in differing.items())
    print(f"{len(outputs)} programs, {len(outputs) - len(differing)} without any error, "
          f"{sum(output['unjudged'] for output in outputs.values())} elements unjudged")
    print(f"nearest: {statistics.median(1 / output['error_over_bound'] for output in differing.values()):.1f} times the error; looseness: "
          f"{statistics.median(output['looseness'] for output in differing.values()):.0f} in the median, least {by_looseness[0]}, "
          f"most {by_looseness[-1]}")


if __name__ == "__main__":
    main()
