"""`tilewright.tf.function`: structures, variables, gradients, packages, what is refused."""

import functools
import subprocess
import sys
import zipfile

import keras
import numpy as np
import pytest
import tensorflow as tf

import tilewright
import tilewright.tf
from tilewright.tf import UnsupportedError

X = np.linspace(-1, 1, 12, dtype=np.float32).reshape(3, 4)
W = np.linspace(-2, 1, 20, dtype=np.float32).reshape(4, 5)


@tilewright.tf.function(threads=1)
def affine(tree, *, scale=1.0):
    """A function of a structure."""
    return {"y": tree["x"] * scale + tree["b"], "same": (tree["b"],)}


def test_structures_arrays_and_numbers():
    got = affine({"x": X, "b": tf.ones(4)}, scale=3)
    assert set(got) == {"y", "same"} and isinstance(got["y"], tf.Tensor) and got["y"].dtype == tf.float32
    np.testing.assert_allclose(got["y"], X * 3 + 1, rtol=1e-6)
    np.testing.assert_array_equal(got["same"][0], np.ones(4))
    assert affine.__name__ == "affine" and affine.__doc__ == "A function of a structure."


def test_each_shape_and_value_is_traced_once():
    traced = []

    @tilewright.tf.function
    def total(x, n):
        traced.append((tuple(x.shape), n))
        return tf.reduce_sum(x) * n
    for rows, n in ((1, 2), (2, 2), (1, 2), (1, 3), (0, 2)):
        np.testing.assert_allclose(total(X[:rows], n), X[:rows].sum() * n, atol=1e-6)
    assert traced == [((1, 4), 2), ((2, 4), 2), ((1, 4), 3), ((0, 4), 2)]


def test_methods():
    class Layer:
        weight = tf.constant(W)

        @tilewright.tf.function
        def apply(self, x):
            return x @ self.weight
    np.testing.assert_allclose(Layer().apply(X), X @ W, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("dtype", [np.float64, np.float16, np.int32, np.int64, np.uint8, np.bool_])
def test_types(dtype):
    x = np.array([[0, 1], [2, 3]]).astype(dtype)
    got = tilewright.tf.function(lambda x: (tf.transpose(x), tf.cast(x, tf.float32)))(x)
    assert got[0].dtype == tf.as_dtype(dtype)
    np.testing.assert_array_equal(got[0], x.T)
    np.testing.assert_array_equal(got[1], x.astype(np.float32))


# Variables


def test_variables_are_read_and_written_back():
    weight, count, unused = tf.Variable(W), tf.Variable(0), tf.Variable(1.0)

    @tilewright.tf.function
    def step(x):
        count.assign_add(1)
        weight.assign_sub(0.5 * tf.transpose(x) @ tf.ones((3, 5)))
        return x @ weight, count + 1
    expected = W.astype(np.float64)
    for number in (1, 2, 3):
        expected = expected - 0.5 * X.T.astype(np.float64) @ np.ones((3, 5))
        y, n = step(X)
        np.testing.assert_allclose(y, X @ expected, rtol=1e-5, atol=1e-5)
        np.testing.assert_allclose(weight, expected, rtol=1e-5, atol=1e-5)
        assert count.numpy() == number and n.numpy() == number + 1
    weight.assign(W)  # from outside it is seen at the next call
    np.testing.assert_allclose(step(X)[0], X @ (W - 0.5 * X.T @ np.ones((3, 5))), rtol=1e-5, atol=1e-5)
    assert unused.numpy() == 1


def test_a_variable_that_is_only_written():
    last = tf.Variable(np.zeros((3, 4), np.float32))

    @tilewright.tf.function
    def keep(x):
        last.assign(x * 2)
    assert keep(X) is None
    np.testing.assert_array_equal(last, X * 2)


def test_variables_as_arguments():
    first, second = tf.Variable(X), tf.Variable(-X)
    double = tilewright.tf.function(lambda v: v * 2)
    np.testing.assert_array_equal(double(first), X * 2)
    np.testing.assert_array_equal(double(second), -X * 2)


# Gradients


def plain(x, w):
    return tf.tanh(x @ w), tf.reduce_sum(x * x)


def slopes(function, wide):
    """Of a loss of both results, with respect to a tensor and a variable."""
    dtype = np.float64 if wide else np.float32
    x, w = tf.constant(X.astype(dtype)), tf.Variable(W.astype(dtype))
    with tf.GradientTape() as tape:
        tape.watch(x)
        first, second = function(x, w)
        loss = tf.reduce_sum(first ** 2) + second
    return tape.gradient(loss, [x, w])


def test_gradients_from_outside():
    holder = {}

    def of_tensors(x, w):
        if "f" not in holder:
            holder["f"] = tilewright.tf.function(lambda x: plain(x, w))
        return holder["f"](x)
    for got, want in zip(slopes(of_tensors, False), slopes(plain, True), strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-5)


def test_gradients_inside():
    @tilewright.tf.function
    def gradient(x, w):
        with tf.GradientTape() as tape:
            tape.watch((x, w))
            first, second = plain(x, w)
            loss = tf.reduce_sum(first ** 2) + second
        return tape.gradient(loss, [x, w])
    for got, want in zip(gradient(X, W), slopes(plain, True), strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-5)


def test_gradients_are_those_of_the_values_that_were_read():
    """A function that writes the variable that it has read: the tape has the old value."""
    scale = tf.Variable(3.0)

    @tilewright.tf.function
    def f(x):
        y = x * scale
        scale.assign(100.0)
        return y
    x = tf.constant(X)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.reduce_sum(f(x))
    dx, ds = tape.gradient(y, [x, scale])
    np.testing.assert_allclose(dx, np.full((3, 4), 3.0))
    np.testing.assert_allclose(ds, X.sum(), atol=1e-6)
    assert scale.numpy() == 100


def test_integers_have_no_gradient():
    table = tf.Variable(W)
    look = tilewright.tf.function(lambda i: (tf.gather(table, i), i + 1))
    with tf.GradientTape() as tape:
        rows, more = look(np.array([0, 2, 2]))
        loss = tf.reduce_sum(rows ** 2)
    np.testing.assert_array_equal(more, [1, 3, 3])
    np.testing.assert_allclose(tf.convert_to_tensor(tape.gradient(loss, table)), W * 2 * np.array([[1], [0], [2], [0]]),
                               rtol=1e-6)


# Inside of other functions, control flow


def test_inside_of_a_function():
    inner = tilewright.tf.function(lambda x: tf.tanh(x))
    np.testing.assert_allclose(tf.function(lambda x: inner(x) + 1)(X), np.tanh(X) + 1, rtol=1e-6)
    np.testing.assert_allclose(tilewright.tf.function(lambda x: inner(x) + 1)(X), np.tanh(X) + 1, rtol=1e-6)


def grow(x):
    count = tf.constant(0)
    while tf.reduce_sum(x) < 100.0:
        x, count = x * 2, count + 1
    if count > 3:
        x = -x
    return x, count


def test_control_flow():
    x = np.abs(X[0])
    for got, want in zip(tilewright.tf.function(grow)(x), tf.function(grow)(x), strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-6)


def test_operations():
    table = tf.constant(np.random.default_rng(0).standard_normal((20, 3)).astype(np.float32))

    def many(x, i):
        return [
            tf.sort(x),
            tf.argmax(x),
            tf.cumsum(x),
            tf.one_hot(i, 4),
            tf.math.top_k(x, 2).values,
            tf.math.top_k(x, 2).indices,
            tf.math.erf(x),
            tf.linalg.band_part(x[:, None] * x, 0, -1),
            tf.gather(table, i),
            tf.reverse(x, [0]),
            tf.tensor_scatter_nd_add(x, [[1], [2]], [3.0, 4.0]),
            tf.image.resize(tf.reshape(x[:4], (1, 2, 2, 1)), (4, 4)),
            tf.nn.log_softmax(x),
            tf.where(x > 0, x, 0.0),
            tf.einsum("i,jk->jki", x, table),
            tf.pad(x, [[1, 2]]),
            tf.linalg.norm(x)
        ]
    x, i = np.random.default_rng(1).standard_normal(5).astype(np.float32), np.array([1, 3, 0])
    for got, want in zip(tilewright.tf.function(many)(x, i), many(tf.constant(x), i), strict=True):
        assert got.dtype == want.dtype
        np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-6)


# Random numbers


@pytest.mark.parametrize("dtype", [tf.float16, tf.float32, tf.float64, tf.int32, tf.int64, tf.uint32])
def test_random_numbers_are_those_of_xla(dtype):
    """Also where the counter is carried over into its upper half, and for a number of elements that is no multiple of a counter's words."""
    def draw(seed, counter):
        key = tf.bitcast(seed, tf.uint64)
        if dtype.is_floating:
            return tf.raw_ops.StatelessRandomUniformV2(shape=(3, 5), key=key, counter=tf.bitcast(counter, tf.uint64), alg=1, dtype=dtype)
        return tf.raw_ops.StatelessRandomUniformFullIntV2(shape=(3, 5), key=key, counter=tf.bitcast(counter, tf.uint64), alg=1, dtype=dtype)
    compiled = tilewright.tf.function(draw, threads=1)
    for seed, counter in (([1], [2, 3]), ([-1], [-2, 5]), ([77], [-1, -1])):
        given = tf.constant(seed, tf.int64), tf.constant(counter, tf.int64)
        np.testing.assert_array_equal(compiled(*given), tf.function(draw, jit_compile=True)(*given))


def test_stateless_seeds():
    def draw(seed):
        return [tf.random.stateless_normal((7,), seed), tf.random.stateless_uniform((4, 2), seed, 0, 9, tf.int32),
                tf.random.fold_in(seed, 3)]
    seed = tf.constant([3, 4])
    for got, want in zip(tilewright.tf.function(draw)(seed), tf.function(draw, jit_compile=True)(seed), strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-6)


# Packages, text, options, refusals


def test_packages(tmp_path):
    """In a process without TensorFlow: the variables are bound, and the source runs on an emulated device."""
    weight = tf.Variable(W)
    f = tilewright.tf.function(lambda x: tf.nn.relu(x @ weight))
    f.save(tmp_path / "layer.tw", X, keep_source=True)
    np.save(tmp_path / "x.npy", X)
    code = (
        "import sys; sys.modules['tensorflow'] = None; del sys.modules['tensorflow']; import numpy, tilewright\n"
        "x = numpy.load(sys.argv[2])\n"
        "for more in ({}, dict(target='nvidia:H200', device='emulator')):\n"
        "    print(abs(tilewright.load(sys.argv[1], **more)(x) - numpy.maximum(x @ numpy.load(sys.argv[3]), "
        "0)).max() < 1e-5)"
    )
    np.save(tmp_path / "w.npy", W)
    done = subprocess.run([sys.executable, "-c", code, tmp_path / "layer.tw", tmp_path / "x.npy", tmp_path / "w.npy"],
                          capture_output=True, text=True)
    assert done.returncode == 0 and done.stdout.split() == ["True", "True"], done


def test_packages_have_packed_weights(tmp_path):
    """Variables are marked as constant; what products read of them is in the file in packed form alone, as the cost model has it."""
    w, x = (np.random.default_rng(i).standard_normal(s).astype(np.float32) for i, s in enumerate(((384, 512), (64, 512))))
    weight = tf.Variable(w)
    f = tilewright.tf.function(lambda x: tf.matmul(x, weight, transpose_b=True), threads=1)
    f.save(tmp_path / "layer.tw", x)
    np.testing.assert_allclose(tilewright.load(tmp_path / "layer.tw")(x), x.astype(np.float64) @ w.T, rtol=1e-4, atol=1e-4)
    with zipfile.ZipFile(tmp_path / "layer.tw") as archive:
        arrays = {i.filename: i.file_size for i in archive.infolist() if i.filename.startswith(("weights/", "bound/"))}
    assert arrays in ({"weights/0": w.nbytes}, {"bound/0": w.nbytes})
    f.save(tmp_path / "source.tw", x, keep_source=True)
    with zipfile.ZipFile(tmp_path / "source.tw") as archive:
        assert "%a1: tensor<384x512xf32> {tilewright.constant}" in archive.read("sources/0.mlir").decode()


def test_packages_write_no_variables(tmp_path):
    count = tf.Variable(0, name="count")
    f = tilewright.tf.function(lambda x: (x, count.assign_add(1)))
    with pytest.raises(UnsupportedError, match="writes count"):
        f.save(tmp_path / "f.tw", X)


def test_text():
    assert "linalg.generic" in tilewright.tf.function(lambda x: x + 1).text(X)


@pytest.mark.parametrize("options, message", [({"targte": "cpu:host"}, "did you mean 'target'"),
                                              ({"fp": "loose"}, "'default'")])
def test_wrong_options(options, message):
    with pytest.raises(tilewright.OptionError, match=message):
        tilewright.tf.function(plain, **options)


@pytest.mark.parametrize("target", ["nvidia:H200", "amd:MI300X"])
def test_emulated_devices(target):
    weight = tf.Variable(W)

    @functools.partial(tilewright.tf.function, target=target, device="emulator")
    def f(x):
        weight.assign_add(tf.ones((4, 5)))
        return tf.nn.softmax(x @ weight)
    for more in (1, 2):
        np.testing.assert_allclose(f(X), tf.nn.softmax(X.astype(np.float64) @ (W + more)), rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(weight, W + 2, rtol=1e-5)


def test_signatures(tmp_path):
    signature = [tf.TensorSpec([3, 4])]
    for compiled in (tilewright.tf.function(lambda x: x * 2, input_signature=signature, threads=1),
                     tilewright.tf.function(tf.function(lambda x: x * 2, input_signature=signature), threads=1)):
        np.testing.assert_array_equal(compiled(X), X * 2)
        with pytest.raises(tilewright.ArgumentError, match=r"tensor 0 is float32\[2, 4\]; the signature of .* has float32\[3, 4\]"):
            compiled(X[:2])
        with pytest.raises(tilewright.ArgumentError, match="takes 1 tensors by its signature; 0 were given"):
            compiled(3)
    compiled = tilewright.tf.function(lambda x: x * 2, threads=1)
    compiled.save(tmp_path / "f.tw", tf.TensorSpec([5]))
    np.testing.assert_array_equal(tilewright.load(tmp_path / "f.tw")(np.ones(5, np.float32)), np.full(5, 2))
    with pytest.raises(tilewright.ArgumentError, match="called with a TensorSpec"):
        compiled(tf.TensorSpec([5]))


def test_open_sizes_are_refused(tmp_path):
    spec = tf.TensorSpec([None, 4])
    message = "leaves sizes open, and XLA's bridge of TensorFlow gives StableHLO of static sizes alone"
    with pytest.raises(UnsupportedError, match=message):
        tilewright.tf.function(lambda x: x, input_signature=[spec])
    with pytest.raises(UnsupportedError, match=message):
        tilewright.tf.function(tf.function(lambda x: x, input_signature=[spec]))
    with pytest.raises(UnsupportedError, match=message):
        tilewright.tf.function(lambda x: x).save(tmp_path / "f.tw", spec)


def test_wrong_arguments():
    with pytest.raises(tilewright.ArgumentError, match="missing a required argument"):
        tilewright.tf.function(plain)(X)


@pytest.mark.parametrize("function, message", [
    (lambda x: tf.nn.dropout(x, 0.5), "stablehlo.rng of 'dropout"),
    (lambda x: tf.strings.as_string(x), "XLA does not lower"),
    (lambda x: tf.cast(x, tf.complex64), "real and imaginary parts"),
    (lambda x: keras.layers.IntegerLookup(vocabulary=[1, 5])(tf.cast(x, tf.int32)), "captures a resource that is no variable .*LookupInterface"),
    (lambda x: tf.linalg.inv(x @ tf.transpose(x)), "'MatrixInverse'")])
def test_refusals(function, message):
    with pytest.raises(UnsupportedError, match=message):
        tilewright.tf.function(function)(X)
