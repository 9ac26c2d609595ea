"""Networks and their gradients, compared with JAX in float64, in one program each: all forward, all gradients."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import tilewright.jax
from networks import NETWORKS
from settings import FULL


def wide(tree):
    return jax.tree.map(lambda a: a.astype(np.float64) if a.dtype == np.float32 else a, tree)


PARAMETERS = [p for _, _, p, _ in NETWORKS]
INPUTS = [x for *_, x in NETWORKS]


def forward(parameters, inputs):
    return [f(p, x) for (_, f, _, _), p, x in zip(NETWORKS, parameters, inputs, strict=True)]


def loss(parameters, inputs):
    return sum(jnp.sum(y * jnp.cos(y)) for y in jax.tree.leaves(forward(parameters, inputs)))


def compare(got, want):
    for (name, *_), g, w in zip(NETWORKS, got, want, strict=True):
        for a, b in zip(jax.tree.leaves(g), jax.tree.leaves(w), strict=True):
            assert a.dtype == np.float32
            np.testing.assert_allclose(a, b, rtol=2e-4, atol=2e-5, err_msg=name)


def test_forward():
    compare(tilewright.jax.jit(forward, threads=1)(PARAMETERS, INPUTS), jax.jit(forward)(wide(PARAMETERS), wide(INPUTS)))


@pytest.mark.skipif(not FULL, reason="the gradients from outside run in the short mode")
def test_gradients_of_a_program():
    """The gradient is taken inside: one program gives it."""
    compare(tilewright.jax.jit(jax.grad(loss), threads=1)(PARAMETERS, INPUTS), jax.jit(jax.grad(loss))(wide(PARAMETERS), wide(INPUTS)))


def test_gradients_from_outside():
    """The gradient of a compiled function: two programs, forward with residuals and backward."""
    compare(jax.grad(tilewright.jax.jit(loss, threads=1))(PARAMETERS, INPUTS), jax.jit(jax.grad(loss))(wide(PARAMETERS), wide(INPUTS)))


@pytest.mark.parametrize("target", ["nvidia:H200", "amd:MI300X"])
def test_forward_on_emulated_devices(target):
    got = tilewright.jax.jit(forward, target=target, device="emulator")(PARAMETERS, INPUTS)
    compare(got, jax.jit(forward)(wide(PARAMETERS), wide(INPUTS)))
