"""`tilewright.jax.jit` as a decorator, alone and inside of JAX's own transformations; what it refuses."""

import functools
import pathlib

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import tilewright
import tilewright.jax
from tilewright.jax import UnsupportedError

X = np.linspace(-1, 1, 12, dtype=np.float32).reshape(3, 4)


@tilewright.jax.jit(threads=1)
def affine(tree, *, scale=1.0):
    """A function of a pytree."""
    return {"y": tree["x"] * scale + tree["b"], "same": (tree["b"],)}


def test_pytrees_arrays_and_numbers():
    got = affine({"x": X, "b": jnp.ones(4, jnp.float32)}, scale=3)
    assert jax.tree.structure(got) == jax.tree.structure({"y": 0, "same": (0,)})
    assert isinstance(got["y"], jax.Array) and got["y"].dtype == np.float32
    np.testing.assert_allclose(got["y"], X * 3 + 1, rtol=1e-6)
    assert affine.__name__ == "affine" and affine.__doc__ == "A function of a pytree."


def test_layouts_of_arrays():
    np.testing.assert_array_equal(affine({"x": X.T[::-1], "b": np.float32(0)})["y"], X.T[::-1])


def test_unsigned_and_booleans():
    words = np.array([0, 1, 2**32 - 1], np.uint32)
    got, flags = tilewright.jax.jit(lambda w: (w + np.uint32(1), w > 5))(words)
    assert got.dtype == np.uint32 and got.tolist() == [1, 2, 0] and flags.tolist() == [False, False, True]


def test_typed_random_keys():
    def draw(key):
        first, second = jax.random.split(key)
        return jax.random.normal(first, (3,), np.float32), second
    key = jax.random.key(5)
    for got, want in ((tilewright.jax.jit(draw)(key), draw(key)), (jax.jit(tilewright.jax.jit(draw))(key), draw(key))):
        np.testing.assert_allclose(got[0], want[0], rtol=1e-5)
        assert got[1].dtype == want[1].dtype and (jax.random.key_data(got[1]) == jax.random.key_data(want[1])).all()


def test_static_arguments_make_programs_of_their_own():
    traced = []

    @functools.partial(tilewright.jax.jit, static_argnums=1, static_argnames="mode")
    def power(x, n, mode="plain"):
        traced.append((n, mode))
        return x ** n if mode == "plain" else -x ** n
    for n, mode in ((2, "plain"), (3, "plain"), (2, "plain"), (2, "negative")):
        sign = 1 if mode == "plain" else -1
        np.testing.assert_allclose(power(X, n, mode=mode), sign * X ** n, rtol=1e-6)
    assert traced == [(2, "plain"), (3, "plain"), (2, "negative")]


def test_each_shape_is_compiled_once():
    traced = []

    @tilewright.jax.jit
    def total(x):
        traced.append(x.shape)
        return x.sum()
    for n in (1, 2, 3, 2, 1, 0):
        np.testing.assert_allclose(total(X[:n]), X[:n].sum(), atol=1e-6)
    assert traced == [(1, 4), (2, 4), (3, 4), (0, 4)]


inner = tilewright.jax.jit(lambda x, w: jnp.tanh(x @ w), threads=1)
W = np.linspace(-2, 1, 20, dtype=np.float32).reshape(4, 5)


def plain(x, w):
    return jnp.tanh(x @ w)


def test_inside_of_jit():
    got = jax.jit(lambda x, w: inner(x * 2, w).sum(0) + 1)(X, W)
    np.testing.assert_allclose(got, plain(X * 2, W).sum(0) + 1, atol=1e-5)


def test_inside_of_vmap():
    got = jax.jit(jax.vmap(inner, (0, None)))(X[:, None], W)
    np.testing.assert_allclose(got, plain(X[:, None], W), atol=1e-5)


def test_inside_of_grad():
    for outside in (lambda f: f, jax.jit):
        got = outside(jax.grad(lambda x, w: (inner(x, w) ** 2).sum(), (0, 1)))(X, W)
        want = jax.grad(lambda x, w: (plain(x, w) ** 2).sum(), (0, 1))(X.astype(np.float64), W.astype(np.float64))
        for g, w in zip(got, want, strict=True):
            np.testing.assert_allclose(g, w, atol=1e-5)


def test_gradient_of_a_gradient():
    def slope(f):
        return jax.grad(lambda x: jax.grad(lambda y: f(y, W).sum())(x).sum())
    np.testing.assert_allclose(slope(inner)(X), slope(plain)(X.astype(np.float64)), atol=1e-4)


# Forward mode


SLOPES = np.linspace(3, -1, 12, dtype=np.float32).reshape(3, 4), np.linspace(0, 2, 20, dtype=np.float32).reshape(4, 5)


def wide(tree):
    return jax.tree.map(lambda a: a.astype(np.float64), tree)


def assert_close(got, want, atol=1e-5):
    for g, w in zip(jax.tree.leaves(got), jax.tree.leaves(want), strict=True):
        np.testing.assert_allclose(g, w, atol=atol)


@pytest.mark.parametrize("outside", [lambda f: f, jax.jit], ids=["alone", "inside of jit"])
def test_jvp(outside):
    got = outside(lambda p, t: jax.jvp(inner, p, t))((X, W), SLOPES)
    assert_close(got, jax.jvp(plain, wide((X, W)), wide(SLOPES)))


def test_jvp_of_one_argument_beside_integers():
    looked_up = tilewright.jax.jit(lambda table, i: (table[i] ** 2, i + 1), threads=1)
    i = np.array([0, 2, 2], np.int32)
    (values, more), (slopes, none) = jax.jvp(lambda t: looked_up(t, i), (X,), (SLOPES[0],))
    np.testing.assert_allclose(slopes, 2 * X[i] * SLOPES[0][i], rtol=1e-6)
    assert none.dtype == jax.dtypes.float0 and more.tolist() == [1, 3, 3]
    np.testing.assert_allclose(values, X[i] ** 2, rtol=1e-6)


def test_linearize_runs_the_function_once():
    values, push = jax.linearize(inner, X, W)
    want, plain_push = jax.linearize(plain, *wide((X, W)))
    assert_close(values, want)
    for scale in (1, -3):
        slopes = [s * np.float32(scale) for s in SLOPES]
        assert_close(push(*slopes), plain_push(*wide(slopes)), 2e-5)


def small(x):
    return jnp.sum(jnp.sin(x[:2, :2] @ x[1:, 1:3]) ** 2)


def test_hessian():
    for outside in (lambda f: f, jax.jit):
        got = outside(jax.hessian(tilewright.jax.jit(small, threads=1)))(X)
        assert_close(got, jax.hessian(small)(wide(X)), 2e-4)


def test_derivatives_of_derivatives():
    compiled = tilewright.jax.jit(small, threads=1)

    def along(f, x, t):
        return jax.jvp(jax.grad(f), (x,), (t,))[1], jax.grad(lambda x: jax.jvp(f, (x,), (t,))[1])(x)
    assert_close(along(compiled, X, SLOPES[0]), along(small, *wide((X, SLOPES[0]))), 1e-4)


def test_jacobian_of_rows():
    got = jax.vmap(jax.jacfwd(lambda x: inner(x[None], W)[0]))(X)
    assert_close(got, jax.vmap(jax.jacfwd(lambda x: plain(x[None], wide(W))[0]))(wide(X)))


def test_forward_mode_of_a_function_with_a_rule_for_reverse_mode():
    @jax.custom_vjp
    def clipped(x):
        return x * 2
    clipped.defvjp(lambda x: (x * 2, x), lambda x, g: (jnp.clip(g, -1, 1),))
    compiled = tilewright.jax.jit(lambda x: clipped(x).sum(0), threads=1)
    np.testing.assert_allclose(jax.grad(lambda x: 5 * compiled(x).sum())(X), np.ones_like(X))
    with pytest.raises((TypeError, UnsupportedError), match="custom_vjp"):
        jax.jvp(compiled, (X,), (X,))


def test_programs_of_transformations_are_compiled_once(caplog):
    caplog.set_level("DEBUG", "tilewright.jax")
    compiled = tilewright.jax.jit(lambda x: jnp.tanh(x) * 3, threads=1)
    for scale in (1, 2):
        jax.grad(lambda x: compiled(x).sum())(X * scale)
        jax.jvp(compiled, (X * scale,), (X,))
        jax.vmap(compiled)(X * scale)
        jax.jit(lambda x: jax.vmap(compiled)(x) + compiled(x))(X * scale)
    # with residuals; the linear function; its transpose; the batch; the function
    assert len([r for r in caplog.records if r.getMessage().startswith("compiles")]) == 5


def test_gradient_under_vmap():
    per_row = jax.vmap(jax.grad(lambda x, w: inner(x, w).sum()), (0, None))
    want = jax.vmap(jax.grad(lambda x, w: plain(x, w).sum()), (0, None))
    np.testing.assert_allclose(per_row(X, W), want(X, W), atol=1e-5)


def test_gradients_beside_integers():
    looked_up = tilewright.jax.jit(lambda table, i: (table[i] ** 2, i + 1), threads=1)
    got = jax.grad(lambda t: looked_up(t, np.array([0, 2, 2], np.int32))[0].sum())(X)
    np.testing.assert_allclose(got, X * 2 * np.array([[1], [0], [2]]), rtol=1e-6)


def test_compiled_functions_inside_of_one_another_are_one_program():
    outer = tilewright.jax.jit(lambda x, w: inner(x, w) + 1, threads=1)
    assert "call" not in outer.text(X, W)
    np.testing.assert_allclose(outer(X, W), plain(X, W) + 1, atol=1e-5)


def test_loops_around_it():
    got = jax.lax.fori_loop(0, 3, lambda i, x: affine({"x": x, "b": np.float32(1)}, scale=0.5)["y"], X)
    np.testing.assert_allclose(got, X / 8 + 1.75, rtol=1e-6)


@pytest.mark.parametrize("target", ["nvidia:H200", "amd:MI300X"])
def test_emulated_device(target):
    emulated = tilewright.jax.jit(plain, target=target, device="emulator")
    np.testing.assert_allclose(emulated(X, W), plain(X.astype(np.float64), W.astype(np.float64)), atol=1e-5)


def test_the_cache_of_programs_is_used(tmp_path, monkeypatch):
    monkeypatch.setenv("TILEWRIGHT_CACHE_DIR", str(tmp_path))
    entries = []
    for _ in range(2):
        tilewright.jax.jit(lambda x: x * 3 + 1, threads=1)(X)
        entries.append({p: p.stat().st_mtime_ns for p in pathlib.Path(tmp_path).rglob("*") if p.is_file() and "lock" not in p.name})
    assert entries[0] and entries[0].keys() == entries[1].keys()


def test_results_do_not_change_with_later_calls():
    first = affine({"x": X, "b": np.zeros(4, np.float32)})["y"]
    affine({"x": X + 5, "b": np.zeros(4, np.float32)})
    np.testing.assert_array_equal(first, X)


# What is refused


def test_an_unsupported_operation_is_named_with_its_line():
    @tilewright.jax.jit
    def transform(x):
        return jnp.linalg.cholesky(x @ x.T)
    with pytest.raises(UnsupportedError, match=r"stablehlo\.custom_call at .*test_jit\.py:\d+: a call of the library function"):
        transform(X)
    with pytest.raises(UnsupportedError, match=r"test_jit\.py"):
        jax.jit(transform)(X)


def test_an_operation_of_a_function_of_jax_is_named_with_the_line_of_the_call():
    """No line of this package stands for it."""
    with pytest.raises(UnsupportedError, match=r"^stablehlo\.custom_call at .*test_jit\.py:\d+: a call of the library function"):
        tilewright.jax.jit(jnp.linalg.inv)(np.eye(3, dtype=np.float32))


def test_complex_numbers_are_refused():
    with pytest.raises(UnsupportedError, match="complex<f64>|complex<f32>"):
        tilewright.jax.jit(lambda x: jnp.abs(x + 1j * x))(X)
    with pytest.raises(UnsupportedError, match="real and imaginary parts"):
        tilewright.jax.jit(lambda x: x)(np.ones(3, np.complex64))


@pytest.mark.parametrize("options, message", [({"targte": "cpu:host"}, "did you mean 'target'"), ({"fp": "loose"}, "'default'"),
                                              ({"device": "gpu"}, "emulator")])
def test_wrong_options(options, message):
    with pytest.raises(tilewright.OptionError, match=message):
        tilewright.jax.jit(plain, **options)


def test_an_unknown_chip():
    with pytest.raises(tilewright.Error, match="H20"):
        tilewright.jax.jit(plain, target="nvidia:H20")(X, W)


def test_static_arguments_have_to_be_hashable():
    with pytest.raises(TypeError, match="hashable"):
        tilewright.jax.jit(lambda x, n: x, static_argnums=1)(X, [1])


def test_long_sorts_are_refused():
    with pytest.raises(UnsupportedError, match="rows of up to 4096"):
        tilewright.jax.jit(jnp.sort)(np.zeros(5000, np.float32))
