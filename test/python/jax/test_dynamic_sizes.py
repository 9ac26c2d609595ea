"""One program for several sizes: `dynamic_shapes`, functions of `jax.export`. Results are those of JAX in float64."""

import functools
import logging

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import export, lax

import tilewright
import tilewright.jax
from networks import NETWORKS
from settings import FULL

R = np.random.default_rng(3)


def normal(*shape):
    return R.standard_normal(shape).astype(np.float32)


def wide(tree):
    return jax.tree.map(lambda a: a.astype(np.float64) if a.dtype == np.float32 else a, tree)


def compare(got, want, name=""):
    assert jax.tree.structure(got) == jax.tree.structure(want)
    for g, w in zip(jax.tree.leaves(got), jax.tree.leaves(want), strict=True):
        assert g.shape == w.shape, name
        np.testing.assert_allclose(g, w, rtol=2e-4, atol=2e-5, err_msg=name)


@pytest.fixture
def compiled(caplog):
    """Gives the texts that were compiled."""
    caplog.set_level(logging.DEBUG, "tilewright.jax")
    return lambda: [r.getMessage() for r in caplog.records if r.getMessage().startswith("compiles")]


def cases():
    """(name, function, spec, arguments for each of several sizes)"""
    def rows(*sizes):
        return [(normal(n, 8),) for n in sizes]
    three = rows(5, 1, 12)
    yield "sum of columns", lambda x: x.sum(0), "b, ...", three
    yield "mean", lambda x: x.mean(0) + x.mean(), "b, ...", three
    yield "soft-max over the dynamic size", lambda x: jax.nn.softmax(x, 0), "b, ...", three
    yield "layer norm", lambda x: (x - x.mean(-1, keepdims=True)) * lax.rsqrt(x.var(-1, keepdims=True) + 1e-5), "b, ...", three
    yield "reversed", lambda x: x[::-1], "b, ...", three
    yield "part", lambda x: x[1:-1], "b, ...", rows(5, 3, 12)
    yield "every second", lambda x: x[::2] + 1, "b, ...", three
    yield "borders", lambda x: jnp.pad(x, ((1, 2), (0, 3))), "b, ...", three
    yield "borders between", lambda x: lax.pad(x, jnp.ones((), x.dtype), ((0, 1, 2), (0, 0, 0))), "b, ...", three
    yield "joined", lambda x: jnp.concatenate([x, x[:1], x]), "b, ...", three
    yield "joined with a constant", lambda x: jnp.concatenate([x, np.ones((2, 8), np.float32)]), "b, ...", three
    yield "flat", lambda x: x.reshape(-1) * 2, "b, ...", three
    yield "split rows", lambda x: x.reshape(-1, 4).sum(1), "b, ...", three
    yield "double", lambda x: jnp.repeat(x, 2, 0) + jnp.tile(x, (2, 1)), "b, ...", three
    yield "rolled", lambda x: jnp.roll(x, 1, 0), "b, ...", three
    yield "triangle", lambda x: jnp.tril(x @ x.T), "b, ...", three
    yield "counted", lambda x: x.sum(1) * jnp.arange(x.shape[0]) / x.shape[0], "b, ...", three
    yield "running sum", lambda x: jnp.cumsum(x, 0), "b, ...", three
    yield "place of the largest", lambda x: jnp.argmax(x, 0), "b, ...", three
    yield "sorted rows", lambda x: jnp.sort(x, 1), "b, ...", three
    yield "best of a row", lambda x: lax.top_k(x, 3), "b, ...", three
    yield "odd size", lambda x: x[::2].reshape(-1) * 2, "2*b + 1, ...", rows(5, 3, 13)
    yield "half", lambda x: x.reshape(2, -1, 8).sum(0), "2*b, ...", rows(4, 2, 14)
    yield "loop", lambda x: lax.fori_loop(0, x.shape[0], lambda i, t: t + x[i], jnp.zeros(8, x.dtype)), "b, ...", three
    yield "general loop", lambda x: lax.while_loop(lambda t: t.sum() < 50, lambda t: t * 2, jnp.abs(x) + 1), "b, ...", three
    yield "branch", lambda x: lax.cond(x[0, 0] > 0, lambda: x * 2, lambda: -x), "b, ...", three
    pairs = [(normal(n, 8), normal(m, 8)) for n, m in ((5, 3), (1, 4), (12, 12))]
    yield "two sizes", lambda x, y: x @ y.T, ("b, ...", "c, ..."), pairs
    yield "outer", lambda x, y: x[:, None] - y[None], ("b, ...", "c, ..."), pairs
    yield "of one another", lambda x, y: jnp.concatenate([x, y]) * 2, ("b, ...", "2*b, ..."), [(normal(n, 8), normal(2 * n, 8)) for n in (3, 1, 4)]
    yield "one size twice", lambda x, y: x * y + 1, ("b, ...", "b, ..."), [(normal(n, 8), normal(n, 8)) for n in (3, 1, 4)]
    indices = [(normal(n, 8), R.integers(-n, n, k, np.int32)) for n, k in ((5, 3), (2, 4), (12, 1))]
    yield "rows by number", lambda x, i: x[i], ("b, ...", "k"), indices
    yield "rows added", lambda x, i: x.at[i].add(1.5), ("b, ...", "k"), indices
    yield "box", lambda x, i: lax.dynamic_slice(x, (i, np.int32(0)), (2, 4)), ("b + 2, ...", None), [(normal(n, 8), np.int32(i)) for n, i in ((5, 2), (3, 9))]
    yield "box written", lambda x, i: lax.dynamic_update_slice(x, x[:1] * 3, (i, np.int32(0))), ("b, ...", None), [
        (normal(n, 8), np.int32(i)) for n, i in ((5, 2), (3, 9))]
    images = [(normal(n, h, w, 3), normal(3, 3, 3, 4)) for n, h, w in ((2, 9, 8), (1, 5, 11))]

    def convolution(x, w, stride, padding):
        y = lax.conv_general_dilated(x, w, stride, padding, dimension_numbers=("NHWC", "HWIO", "NHWC"))
        return jax.nn.relu(y)
    yield "convolution", functools.partial(convolution, stride=(1, 1), padding="SAME"), ("b, h, w, ...", None), images
    yield "convolution with strides", functools.partial(convolution, stride=(2, 2), padding="VALID"), ("b, h, w, ...", None), images
    yield "convolution with strides and borders", functools.partial(convolution, stride=(2, 2), padding="SAME"), ("b, h, w, ...", None), images
    yield "convolution with strides and few taps", lambda x, w: convolution(x, w[:1, :1], (3, 3), "SAME"), ("b, h, w, ...", None), images
    yield "maximum of windows", lambda x: lax.reduce_window(x, -np.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID"), "b, h, w, ...", [
        (x,) for x, _ in images]
    yield "random numbers", lambda k, x: jax.random.bernoulli(k, 0.5, x.shape), (None, "b, ..."), [
        (np.array([1, 2], np.uint32), x) for x, in three]
    yield "gradient of windows", jax.grad(lambda x: (lax.reduce_window(x, -np.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID") ** 2).sum()), \
        "b, h, w, ...", [(x,) for x, _ in images]
    yield "gradient of a convolution", jax.grad(lambda x, w: (convolution(x, w, (2, 2), "VALID") ** 2).sum(), (0, 1)), ("b, ...", None), [
        (normal(n, 8, 8, 3), images[0][1]) for n in (2, 3)]
    yield "gradient of rows", jax.grad(lambda x, i: (x[i] ** 2).sum()), ("b, ...", "k"), indices


CASES = list(cases())


@pytest.mark.parametrize("name, function, spec, calls", CASES, ids=[c[0] for c in CASES])
def test_operations(name, function, spec, calls, compiled):
    general = tilewright.jax.jit(function, dynamic_shapes=spec, threads=1)
    for arguments in calls:
        compare(general(*arguments), jax.jit(function)(*wide(arguments)), f"{name} of {[a.shape for a in arguments]}")
    assert len(compiled()) == 1


# Networks; JAX's transformations around a function of dynamic sizes

SPECS = {"mlp": "b, ...", "attention": "b, t, ...", "convolutional": "b, ...", "norm and pool": "b, ...", "recurrent": "t, b, ...",
         "dropout": (None, "b, ...")}
DYNAMIC = [n for n in NETWORKS if n[0] in (SPECS if FULL else ("mlp", "norm and pool"))]


def resized(x, sizes, spec):
    """Inputs with their dynamic sizes replaced."""
    if isinstance(x, tuple):
        return tuple(resized(a, sizes, s) if s else a for a, s in zip(x, spec))
    count = len([s for s in spec.split(",") if "..." not in s])
    return normal(*sizes[:count], *x.shape[count:])


def all_losses(parameters, inputs):
    results = [f(p, x) for (_, f, _, _), p, x in zip(DYNAMIC, parameters, inputs, strict=True)]
    return sum(jnp.sum(y * jnp.cos(y)) for y in jax.tree.leaves(results))


def test_networks_and_their_gradients_from_outside(compiled):
    """Two programs, forward with residuals and backward, serve all sizes."""
    parameters = [p for _, _, p, _ in DYNAMIC]
    specs = [SPECS[n] for n, *_ in DYNAMIC]
    names = [jax.tree.map(lambda s, i=i: s.replace("b", f"b{i}").replace("t", f"t{i}"), s) for i, s in enumerate(specs)]
    general = tilewright.jax.jit(all_losses, dynamic_shapes=(None, names), threads=1)
    for sizes in ((2, 3), (3, 7)):
        inputs = [resized(x, sizes, s) for (*_, x), s in zip(DYNAMIC, specs)]
        compare(jax.grad(general)(parameters, inputs), jax.jit(jax.grad(all_losses))(wide(parameters), wide(inputs)))
    assert len(compiled()) == 2


W = normal(8, 5)


def plain(x, w):
    return jnp.tanh(x @ w)


def test_transformations_use_the_same_programs(compiled):
    general = tilewright.jax.jit(plain, dynamic_shapes=("b, ...", None), threads=1)
    for n in (4, 1, 6):
        x = normal(n, 8)
        compare(general(x, W), plain(*wide((x, W))))
        compare(jax.jit(general)(x, W), plain(*wide((x, W))))
        compare(jax.jvp(general, (x, W), (x * 2, W + 1)), jax.jvp(plain, wide((x, W)), wide((x * 2, W + 1))))
        compare(jax.grad(lambda w: (general(x, w) ** 2).sum())(W), jax.grad(lambda w: (plain(wide(x), w) ** 2).sum())(wide(W)))
        batch = normal(3, n, 8)
        compare(jax.vmap(general, (0, None))(batch, W), plain(*wide((batch, W))))
    # forward; for jvp the one with residuals and the linear one; for grad, of w alone, that one and its transpose; the batch
    assert len(compiled()) == 6


@pytest.mark.parametrize("target", ["nvidia:H200", "amd:MI300X"])
def test_emulated_device(target):
    emulated = tilewright.jax.jit(lambda x: jax.nn.softmax(x @ W).sum(0), dynamic_shapes="b, ...", target=target, device="emulator")
    for n in (5, 40):
        x = normal(n, 8)
        compare(emulated(x), jax.nn.softmax(wide(x) @ wide(W)).sum(0))


def test_sizes_of_0_get_a_program_of_their_own(compiled):
    general = tilewright.jax.jit(lambda x: x * 2, dynamic_shapes="b, ...", threads=1)
    assert general(normal(0, 8)).shape == (0, 8) and general(normal(3, 8)).shape == (3, 8)
    assert len(compiled()) == 2


def test_other_ranks_and_types_get_programs_of_their_own(compiled):
    general = tilewright.jax.jit(lambda x: x * 2, dynamic_shapes="b, ...", threads=1)
    for x in (normal(3, 8), normal(4, 8), normal(3, 8, 2), normal(3, 8).astype(np.float64), normal(5, 9)):
        compare(general(x), x * 2)
    assert len(compiled()) == 4


# jax.export


def test_exported_functions(compiled):
    x, y = normal(3, 8), normal(4, 8)
    specs = export.symbolic_args_specs((x, x, y), ("b, ...", "k, ...", "c, ..."))
    made = export.export(jax.jit(lambda x, unused, *, y: {"z": x @ y.T}))(
        *specs[:2], y=specs[2])
    function = tilewright.jax.compile(made, threads=1)
    for n, m in ((3, 4), (1, 9)):
        x, y = normal(n, 8), normal(m, 8)
        compare(function(x, x, y=y), {"z": wide(x) @ wide(y).T})
    assert len(compiled()) == 1
    with pytest.raises(tilewright.ArgumentError, match=r"argument 0 is float32\[3, 7\]; .* takes float32\[b,8\]"):
        function(normal(3, 7), x, y=y)
    with pytest.raises(tilewright.ArgumentError, match="float64"):
        function(x.astype(np.float64), x, y=y)
    with pytest.raises(tilewright.ArgumentError, match="structure"):
        function(x, y=y)


def test_divisors_of_exported_functions():
    scope = export.SymbolicScope(["b >= 2"])
    made = export.export(jax.jit(lambda x: x.reshape(-1, 3).sum(0)))(
        jax.ShapeDtypeStruct(export.symbolic_shape("3*b", scope=scope), np.float32))
    function = tilewright.jax.compile(made, threads=1)
    compare(function(np.arange(6, dtype=np.float32)), np.array([3., 5., 7.]))
    with pytest.raises(tilewright.ArgumentError, match=r"dimension 0 of argument 0 is 7; it must be 3\*b, with b = 2"):
        function(np.arange(7, dtype=np.float32))
    with pytest.raises(tilewright.CallError):  # the module's own condition
        function(np.arange(3, dtype=np.float32))


def test_exported_for_several_platforms():
    made = export.export(jax.jit(jnp.sin), platforms=["cpu", "cuda"])(normal(3))
    with pytest.raises(tilewright.jax.UnsupportedError, match="export it for one"):
        tilewright.jax.compile(made)


def test_packages(tmp_path):
    x = normal(3, 8)
    general = tilewright.jax.jit(plain, dynamic_shapes=("b, ...", None), threads=1)
    general.save(tmp_path / "jit.tw", x, W)
    made = export.export(jax.jit(plain))(*export.symbolic_args_specs((x, W), ("b, ...", None)))
    tilewright.jax.compile(made, threads=1).save(tmp_path / "exported.tw", targets=["cpu:host", "nvidia:H200"])
    for name in ("jit.tw", "exported.tw"):
        program = tilewright.load(tmp_path / name)
        for n in (2, 5):
            x = normal(n, 8)
            compare(program(x, W), np.tanh(wide(x) @ wide(W)))


# What is refused


@pytest.mark.parametrize("spec, constraints, shapes, message", [
    (("b, ...", "b, ..."), (), ((3, 8), (4, 8)), "dimension 0 of argument 1 is 4; it must be b, with b = 3"),
    (("2*b, ...", None), (), ((3, 8), (3, 8)), r"dimension 0 of argument 0 is 3; it must be 2\*b, with b = 1"),
    (("b, ...", "c, ..."), ("b >= 4",), ((3, 8), (3, 8)), "do not fulfil 'b >= 4'"),
    (("b, 8, 1", None), (), ((3, 8), (3, 8)), "dynamic_shapes=.* does not fit"),
], ids=["two sizes", "multiple", "constraint", "rank"])
def test_sizes_that_do_not_fit(spec, constraints, shapes, message):
    function = tilewright.jax.jit(lambda x, y: x[:1] + y[:1], dynamic_shapes=spec, constraints=constraints)
    with pytest.raises(tilewright.Error, match=message):
        function(*[normal(*s) for s in shapes])


def test_exporting_a_compiled_function():
    compiled = tilewright.jax.jit(jnp.sin)
    with pytest.raises(tilewright.jax.UnsupportedError, match="compile what is exported by tilewright.jax.compile"):
        export.export(jax.jit(compiled))(*export.symbolic_args_specs((normal(3),), "b"))


def test_rows_of_a_dynamic_size_are_not_sorted():
    with pytest.raises(tilewright.jax.UnsupportedError, match=r"stablehlo.sort at .*test_dynamic_sizes.py:\d+: sorting rows of a dynamic"):
        tilewright.jax.jit(lambda x: jnp.sort(x, 0), dynamic_shapes="b, ...")(normal(3, 8))
