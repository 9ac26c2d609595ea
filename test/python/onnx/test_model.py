"""`tilewright.onnx.load`: calls, dynamic sizes, values that are compiled in, weights, packages, versions of
operations, what is refused."""

import subprocess
import sys

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper, parser
from onnx.reference import ReferenceEvaluator

import tilewright
import tilewright.onnx
from package_files import arrays_of
from tilewright.onnx import UnsupportedError

X = np.linspace(-2, 2, 12, dtype=np.float32).reshape(3, 4)


def model(text, opset=17, **constants):
    """A model from ONNX's text, with initializers."""
    made = parser.parse_model(f'<ir_version: 9, opset_import: ["" : {opset}]>\n{text}')
    for name, value in constants.items():
        made.graph.initializer.append(numpy_helper.from_array(np.asarray(value), name))
    return made


AFFINE = """affine (float[n, 4] x, float[4] scale) => (y, sum) {
    y = Mul(x, scale)  sum = ReduceSum <keepdims: int = 0> (y) }"""


def loaded(text, opset=17, constants=None, **options):
    return tilewright.onnx.load(model(text, opset, **(constants or {})), threads=1, **options)


def check(text, *inputs, opset=17, exact=False, **constants):
    """Beside the reference; floats within roundings."""
    made = model(text, opset, **constants)
    got = tilewright.onnx.load(made, threads=1)(*inputs)
    want = ReferenceEvaluator(made).run(None, dict(zip((i.name for i in made.graph.input), inputs)))
    for g, w in zip(got if isinstance(got, tuple) else (got,), want, strict=True):
        w = np.asarray(w)
        assert g.dtype == w.dtype and g.shape == w.shape
        np.testing.assert_array_equal(g, w) if exact else np.testing.assert_allclose(g, w, rtol=1e-5, atol=1e-6)


# Calls


def test_inputs_by_position_and_by_name():
    f = loaded(AFFINE)
    assert f.inputs == ["x", "scale"] and f.outputs == ["y", "sum"]
    scale = np.arange(4, dtype=np.float32)
    for y, total in (f(X, scale), f(X, scale=scale), f(scale=scale, x=X), f(X.T.copy().T, list(range(4)))):
        np.testing.assert_allclose(y, X * scale, rtol=1e-6)
        np.testing.assert_allclose(total, (X * scale).sum(), rtol=1e-5)


@pytest.mark.parametrize("arguments, named, message", [
    ((X,), {}, "needs the input scale"), ((X, X[0], X), {}, "takes 2 inputs"),
    ((X,), {"scal": X[0]}, "no input 'scal'"), ((X, X[0]), {"x": X}, "given twice"),
    ((X.astype(np.float64), X[0]), {}, r"input 'x' is float64; the model takes float32"),
    ((X[:, :3], X[0]), {}, r"shape \(3, 3\); the model takes \(n, 4\)"), ((X[0], X[0]), {}, r"takes \(n, 4\)")])
def test_wrong_inputs(arguments, named, message):
    with pytest.raises(tilewright.ArgumentError, match=message):
        loaded(AFFINE)(*arguments, **named)


def test_files_and_bytes(tmp_path):
    made, path = model(AFFINE), tmp_path / "affine.onnx"
    onnx.save(made, path)
    for source in (path, str(path), made.SerializeToString(), made):
        np.testing.assert_allclose(tilewright.onnx.load(source)(X, X[0])[0], X * X[0], rtol=1e-6)
    path.write_bytes(b"no model")
    for source in (path, b"no model"):
        with pytest.raises(tilewright.Error, match="no model of ONNX"):
            tilewright.onnx.load(source)
    with pytest.raises(tilewright.Error, match="No such file"):
        tilewright.onnx.load(tmp_path / "none.onnx")


def test_wrong_options():
    with pytest.raises(tilewright.OptionError, match="did you mean 'target'"):
        tilewright.onnx.load(model(AFFINE), targte="cpu:host")
    with pytest.raises(tilewright.OptionError, match="'default'"):
        tilewright.onnx.load(model(AFFINE), fp="loose")


# Sizes and values


def test_one_program_for_all_sizes():
    f = loaded(AFFINE, dynamic=True)
    programs = {id(f.program(np.zeros((n, 4), np.float32), X[0])) for n in (1, 2, 5)}
    assert len(programs) == 1
    for n in (1, 2, 5, 0):  # sizes of 0 have a program of their own
        x = np.random.default_rng(n).standard_normal((n, 4)).astype(np.float32)
        np.testing.assert_allclose(f(x, X[0])[0], x * X[0], rtol=1e-6)


def test_names_that_are_combined():
    """Two names are taken for one size; another program broadcasts, and what cannot be combined is an error."""
    f = loaded("a (float[n, 4] x, float[m, 4] y) => (z) { z = Add(x, y) }")
    for n, m in ((3, 3), (3, 1), (1, 3), (2, 2)):
        x, y = (np.random.default_rng(k).standard_normal((k, 4)).astype(np.float32) for k in (n, m))
        np.testing.assert_array_equal(f(x, y), x + y)
    with pytest.raises(tilewright.Error):
        f(X, X[:2])
    joined = loaded("c (float[n, 4] x, float[m, 4] y) => (z) { z = Concat <axis = 1> (x, y) }")
    np.testing.assert_array_equal(joined(X, 2 * X), np.concatenate([X, 2 * X], 1))
    with pytest.raises(tilewright.Error):
        joined(X, X[:2])


@pytest.mark.parametrize("start, end", [(0, -1), (-3, 2**62), (1, 2**62), (0, 2), (-1, 2**62), (1, -2)])
def test_slices_of_a_dynamic_size(start, end):
    f = loaded("s (float[n, 4] x) => (y) { y = Slice(x, start, end, axis) }",
               constants={"start": np.array([start]), "end": np.array([end]), "axis": np.array([0])})
    for n in (5, 3, 2, 1, 0):
        x = np.random.default_rng(n).standard_normal((n, 4)).astype(np.float32)
        np.testing.assert_array_equal(f(x), x[start:end])


RESIZE = """r (float[1, 1, h, w] x) => (y) {
    roi = Constant <value_floats: floats = []> ()  y = Resize <mode = "linear"> (x, roi, scales) }"""
TWICE = {"scales": np.array([1, 1, 2, 2], np.float32)}


def test_a_program_for_each_shape():
    """What cannot be written for all sizes is compiled for each; `dynamic=True` refuses."""
    f = loaded(RESIZE, constants=TWICE)
    for shape in ((1, 1, 2, 3), (1, 1, 3, 3)):
        x = np.random.default_rng(0).standard_normal(shape).astype(np.float32)
        want, = ReferenceEvaluator(model(RESIZE, **TWICE)).run(None, {"x": x})
        np.testing.assert_allclose(f(x), want, rtol=1e-5, atol=1e-6)
    with pytest.raises(UnsupportedError, match="for all sizes"):
        loaded(RESIZE, constants=TWICE, dynamic=True)(np.zeros((1, 1, 2, 2), np.float32))


def test_values_that_make_shapes():
    """An input that is a shape is compiled in: one program for each value."""
    f = loaded("r (float[n, 4] x, int64[k] shape) => (y) { twice = Add(x, x)  y = Reshape(twice, shape) }")
    for shape in ((2, 6), (4, 3), (-1, 1, 2), (2, 6)):
        np.testing.assert_array_equal(f(X, np.array(shape)), (2 * X).reshape(shape))
    assert len(f._programs) == 3
    with pytest.raises(tilewright.Error):
        f(X[:2], np.array([2, 6]))


def test_floats_are_not_compiled_in():
    f = loaded("r (float[100] x) => (y) { i = Cast <to: int = 7> (x)  y = ConstantOfShape(i) }")
    with pytest.raises(
            UnsupportedError,
            match="has to be known when the model is compiled; it follows from the inputs x.*not compiled in"):
        f(np.ones(100, np.float32))


def test_sizes_by_arithmetic():
    """Shapes of results follow from named sizes: (n, 4 m) split into heads and put together again."""
    check(
        """r (float[n, m, 8] x) => (y, count) {
        s = Shape(x)  n = Gather(s, zero)  m = Gather(s, one)
        nn = Unsqueeze(n, axes0)  mm = Unsqueeze(m, axes0)
        shape = Concat <axis = 0> (nn, mm, heads)  split = Reshape(x, shape)
        moved = Transpose <perm = [0, 2, 1, 3]> (split)
        flat = Mul(mm, eight)  back = Concat <axis = 0> (nn, flat)
        y = Reshape(moved, back)  count = Mul(n, m) }""",
        np.random.default_rng(0).standard_normal((2, 3, 8)).astype(np.float32), zero=np.int64(0), one=np.int64(1),
        axes0=np.array([0]), heads=np.array([2, 4]), eight=np.array([8]))


def test_sizes_that_data_make():
    check("r (float[n] x) => (y) { c = Greater(x, zero)  y = NonZero(c) }", np.array([1, -1, 0, 5, 3], np.float32),
          zero=np.float32(0), exact=True)


# Weights and packages

LAYER = "layer (float[n, 8] x) => (y) { p = MatMul(x, w)  q = Add(p, b)  y = Relu(q) }"
WEIGHTS = {
    "w": np.random.default_rng(1).standard_normal((8, 5)).astype(np.float32), "b": np.arange(5, dtype=np.float32)
}


@pytest.mark.parametrize("bind", [True, False])
def test_weights_are_bound_or_in_the_text(bind):
    f, x = loaded(LAYER, constants=WEIGHTS, bind_weights=bind), np.random.default_rng(2).standard_normal(
        (3, 8)).astype(np.float32)
    np.testing.assert_allclose(f(x), np.maximum(x @ WEIGHTS["w"] + WEIGHTS["b"], 0), rtol=1e-5, atol=1e-6)
    assert f.text(x).partition("{")[0].count("%a") == (2 if bind else 1)


def test_packages(tmp_path):
    """A package runs in a process without ONNX, with the names, sizes and bounds of the model."""
    path = tmp_path / "layer.tw"
    loaded(LAYER, constants=WEIGHTS).save(path, ranges={"n": (1, 4)}, keep_source=True)
    x = np.random.default_rng(2).standard_normal((3, 8)).astype(np.float32)
    np.save(tmp_path / "x.npy", x)
    code = ("import sys; sys.modules['onnx'] = None; import numpy, tilewright\n"
            "p = tilewright.load(sys.argv[1]).only; print(p.names, p.data['outputs'])\n"
            "numpy.save(sys.argv[3], p(numpy.load(sys.argv[2])))")
    done = subprocess.run([sys.executable, "-c", code, path, tmp_path / "x.npy", tmp_path / "y.npy"],
                          capture_output=True, text=True)
    assert done.returncode == 0 and done.stdout.strip() == "['x'] ['y']", done
    want = np.maximum(x.astype(np.float64) @ WEIGHTS["w"] + WEIGHTS["b"], 0)
    np.testing.assert_allclose(np.load(tmp_path / "y.npy"), want, rtol=1e-5, atol=1e-6)
    with pytest.raises(tilewright.ArgumentError, match="takes 1 to 4"):
        tilewright.load(path)(np.zeros((5, 8), np.float32))
    emulated = tilewright.load(path, target="nvidia:H200", device="emulator")
    np.testing.assert_allclose(emulated(x), want, rtol=1e-5, atol=1e-6)


def test_packages_have_packed_weights(tmp_path):
    """The weight of a product is in the file once, packed."""
    w = np.random.default_rng(1).standard_normal((512, 384)).astype(np.float32)
    f = loaded("layer (float[64, 512] x) => (float[64, 384] y) <float[512, 384] w> { y = MatMul(x, w) }", constants={"w": w})
    f.save(tmp_path / "layer.tw")
    x = np.random.default_rng(2).standard_normal((64, 512)).astype(np.float32)
    for run in (tilewright.load(tmp_path / "layer.tw"), f):
        np.testing.assert_allclose(run(x), x.astype(np.float64) @ w, rtol=1e-4, atol=1e-4)
    plain, packed, _ = arrays_of(tmp_path / "layer.tw")
    assert (plain, packed) in ((w.nbytes, 0), (0, w.nbytes))  # as the cost model of this processor has it
    assert f.program(x).weights == {} if packed else True


def test_packages_need_values(tmp_path):
    f = loaded("r (float[n, 4] x, int64[2] shape) => (y) { y = Reshape(x, shape) }")
    with pytest.raises(UnsupportedError, match=r"follows from the inputs shape; give them with values="):
        f.save(tmp_path / "r.tw")
    assert not (tmp_path / "r.tw").exists()
    f.save(tmp_path / "r.tw", values={"shape": np.array([2, 6])}, shapes={"x": (3, 4)})
    np.testing.assert_array_equal(tilewright.load(tmp_path / "r.tw")(X), X.reshape(2, 6))
    with pytest.raises(tilewright.OptionError, match="no input 'shap'"):
        f.save(tmp_path / "r.tw", values={"shap": np.array([2, 6])})
    with pytest.raises(tilewright.OptionError, match="no dynamic size 'm'; it has n"):
        f.save(tmp_path / "r.tw", values={"shape": np.array([2, -1])}, ranges={"m": (1, 2)})


# Functions, branches, loops


def test_functions_of_the_model():
    text = """<ir_version: 9, opset_import: ["" : 17, "own" : 1]>
    g (float[n, 4] x) => (y) { a = own.scaled <factor: float = 3.0> (x)  y = own.scaled (a) }
    <domain: "own", opset_import: ["" : 17]>
    scaled <factor: float = 2.0> (x) => (y) { f = Constant <value_float: float = @factor> ()  y = Mul(x, f) }"""
    np.testing.assert_allclose(tilewright.onnx.load(parser.parse_model(text))(X), 6 * X, rtol=1e-6)


BRANCH = """b (bool go, float[3, 4] x) => (y) {
    y = If (go) <then_branch = t () => (p) { p = Mul(x, x) }, else_branch = e () => (q) { q = Neg(x) }> }"""


def test_branches():
    for go in (True, False):
        check(BRANCH, np.array(go), X)


LOOP = """l (int64 trips, float[4] x) => (last, rows) {
    last, rows = Loop (trips, true, x) <body = b (int64 i, bool c, float[4] v) => (go, w, row) {
        go = Identity(c)  f = Cast <to: int = 1> (i)  row = Add(v, f)  w = Mul(row, half) }> }"""


def test_loops():
    for trips in (1, 3, 100):
        check(LOOP, np.int64(trips), X[0], true=np.array(True), half=np.float32(0.5))


def test_loops_that_end_by_a_condition():
    check(
        """l (float[4] x) => (y) { y = Loop ("", true, x) <body = b (int64 i, bool c, float[4] v) => (go, w) {
        w = Mul(v, two)  s = ReduceMax <keepdims: int = 0> (w)  go = Less(s, limit) }> }""", X[2], true=np.array(True),
        two=np.float32(2), limit=np.float32(50))


def test_loops_that_grow_are_written_out():
    check(
        """l (float[1, 4] x) => (y) { y = Loop (trips, true, x) <body = b (int64 i, bool c, float[?, 4] v) => (go, w) {
        go = Identity(c)  w = Concat <axis = 0> (v, v) }> }""", X[:1], trips=np.int64(3), true=np.array(True))


# Versions of operations


@pytest.mark.parametrize("opset", range(13, 23))
def test_versions(opset):
    """Operations whose attributes became inputs, or whose meaning changed."""
    mean = "ReduceMean <axes = [1]> (x)" if opset < 18 else "ReduceMean (x, axes)"
    parts = "Split <axis = 1> (x)" if opset < 18 else "Split <axis = 1, num_outputs = 2> (x)"
    check(
        f"""v (float[3, 4] x) => (a, b, c, d, e) {{
        a = Softmax (x)  b = {mean}  s = Unsqueeze(x, axes)  c = Squeeze(s, axes)  d, e = {parts} }}""", X, opset=opset,
        axes=np.array([1]))


def test_soft_max_before_version_13():
    """All dimensions from the axis on are one row."""
    powers = np.exp(X.reshape(2, 6).astype(np.float64))
    got = loaded("s (float[2, 3, 2] x) => (y) { y = Softmax <axis = 1> (x) }", 11)(X.reshape(2, 3, 2))
    np.testing.assert_allclose(got.reshape(2, 6), powers / powers.sum(1, keepdims=True), rtol=1e-5)


def test_quantisation_rounds_to_even_and_saturates():
    x = np.array([0.5, 1.5, 2.5, -0.5, 300, -300, np.nan, np.inf, -np.inf, 1e30], np.float32)
    f = loaded("q (float[n] x) => (y) { y = QuantizeLinear(x, one, zero) }", 19,
               {"one": np.float32(1), "zero": np.int8(3)})
    np.testing.assert_array_equal(f(x), np.array([3, 5, 5, 3, 127, -128, 3, 127, -128, 127], np.int8))


def test_integers_of_4_bits():
    """Weights of 4 bits with a scale for each block of 2."""
    q = helper.make_tensor("q", onnx.TensorProto.INT4, [4, 4], list(range(-8, 8)))
    made = model(
        "d (float[n, 4] x) => (y) { w = DequantizeLinear <axis = 0, block_size = 2> (q, s)  y = MatMul(x, w) }", 21,
        s=np.array([[1, 2, 4, 8], [0.5, 1, 1, 2]], np.float32))
    made.graph.initializer.append(q)
    weight = np.arange(-8, 8).reshape(4, 4) * np.repeat([[1, 2, 4, 8], [0.5, 1, 1, 2]], 2, 0)
    np.testing.assert_allclose(tilewright.onnx.load(made)(X), X @ weight, rtol=1e-5, atol=1e-5)


# Refusals


def test_an_unknown_operation_is_named():
    made = model("u (float[3, 4] x) => (y) { y = Relu(x) }")
    made.graph.node[0].CopyFrom(
        helper.make_node("TfIdfVectorizer", ["x"], ["y"], name="words", mode="TF", max_gram_length=1, max_skip_count=0,
                         min_gram_length=1, ngram_counts=[0], ngram_indexes=[0]))
    with pytest.raises(UnsupportedError, match=r"TfIdfVectorizer \(node 'words', output 'y'\): there is no emitter"):
        tilewright.onnx.load(made)(X)


def test_another_domain_is_named():
    made = model("u (float[3, 4] x) => (y) { y = Relu(x) }")
    made.graph.node[0].domain = "com.microsoft"
    with pytest.raises(UnsupportedError,
                       match=r"com\.microsoft\.Relu.*export the model with those of the standard domain"):
        tilewright.onnx.load(made)(X)


def test_inputs_that_no_program_takes():
    with pytest.raises(UnsupportedError, match="input 'x': elements of complex64"):
        loaded("u (complex64[3] x) => (y) { y = Identity(x) }")
    with pytest.raises(UnsupportedError, match="input 'x' is of sequence type"):
        loaded("u (seq(float[3]) x) => (y) { y = SequenceLength(x) }")


def test_a_model_that_is_not_sound():
    with pytest.raises(UnsupportedError, match=r"Add .*its input 'z' is made by no node before it"):
        loaded("u (float[3, 4] x) => (y) { y = Add(x, z) }")(X)


def test_an_index_out_of_range():
    f = loaded("g (float[3, 4] x, int64[k] i) => (y) { y = Gather(x, i) }")
    np.testing.assert_array_equal(f(X, np.array([-1, 0])), X[[-1, 0]])
    with pytest.raises(tilewright.CallError):
        f(X, np.array([3]))
