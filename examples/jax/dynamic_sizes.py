"""One compiled program for sequences of any number and length, also exported and as a package, compared with JAX in float64.

    scripts/run-example.sh --jax examples/jax/dynamic_sizes.py
"""

import tempfile

import jax
import jax.numpy as jnp
import numpy as np
from jax import export

import tilewright.jax


def scores(queries, keys):
    return jax.nn.softmax(queries @ jnp.swapaxes(keys, 1, 2) / np.sqrt(queries.shape[-1]).astype(queries.dtype)).max(-1)


SIZES = "batch, time, ..."

if __name__ == "__main__":
    random = np.random.default_rng(0)
    compiled = tilewright.jax.jit(scores, dynamic_shapes=SIZES, threads=1)
    arguments = [random.standard_normal((2, 2, 5, 32)).astype(np.float32)]
    exported = export.export(jax.jit(scores))(*export.symbolic_args_specs(tuple(arguments[0]), SIZES))
    with tempfile.TemporaryDirectory() as folder:
        tilewright.jax.compile(exported, threads=1).save(f"{folder}/scores.tw")
        package = tilewright.load(f"{folder}/scores.tw")  # needs no JAX
    jax.config.update("jax_enable_x64", True)
    for batch, time in ((2, 5), (1, 64), (7, 33)):
        arguments = random.standard_normal((2, batch, time, 32)).astype(np.float32)
        exact = scores(*arguments.astype(np.float64))
        for name, function in (("compiled", compiled), ("package", package)):
            error = np.abs(np.asarray(function(*arguments)) - exact).max()
            print(f"{name}, {batch} sequences of {time}: error {error:.1e}")
            assert error < 1e-5
