"""A small network trained with a compiled gradient, compared with JAX in float64.

    scripts/run-example.sh --jax
"""

import functools
import time

import jax
import jax.numpy as jnp
import numpy as np

import tilewright.jax


def loss(parameters, x, y):
    hidden = jax.nn.gelu(x @ parameters["in"] + parameters["bias"])
    scores = jax.nn.log_softmax(hidden @ parameters["out"])
    return -jnp.take_along_axis(scores, y[:, None], 1).mean()


@functools.partial(tilewright.jax.jit, threads=1)
def step(parameters, x, y):
    """The loss, its gradient and the update are one program."""
    value, gradient = jax.value_and_grad(loss)(parameters, x, y)
    return value, gradient, jax.tree.map(lambda p, g: p - 0.5 * g, parameters, gradient)


if __name__ == "__main__":
    random = np.random.default_rng(0)
    shapes = {"in": (16, 64), "bias": (64,), "out": (64, 4)}
    parameters = {name: (random.standard_normal(shape) / 4).astype(np.float32) for name, shape in shapes.items()}
    x = random.standard_normal((128, 16)).astype(np.float32)
    y = (x[:, :4].argmax(1)).astype(np.int32)

    start = time.perf_counter()
    first, gradient, _ = step(parameters, x, y)
    print(f"compiled in {time.perf_counter() - start:.1f} s")
    jax.config.update("jax_enable_x64", True)
    exact = jax.grad(loss)({name: p.astype(np.float64) for name, p in parameters.items()}, x.astype(np.float64), y)
    jax.config.update("jax_enable_x64", False)
    error = max(float(np.abs(np.asarray(gradient[name]) - exact[name]).max()) for name in exact)
    print(f"gradient: error {error:.1e}")
    assert error < 1e-5, "the compiled gradient is wrong"

    for _ in range(50):
        last, _, parameters = step(parameters, x, y)
    print(f"loss: first {float(first):.3f}, last {float(last):.3f}")
    assert float(last) < 0.5 * float(first), "training does not lower the loss"
