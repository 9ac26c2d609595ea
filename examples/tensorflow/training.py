"""A Keras model trained by a compiled step, whose gradient is compared with TensorFlow's in float64.

    scripts/run-example.sh --tf
"""

import os
import time

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import keras  # noqa: E402
import numpy as np  # noqa: E402
import tensorflow as tf  # noqa: E402

import tilewright.tf  # noqa: E402

MODEL = keras.Sequential([keras.layers.Input((16,)), keras.layers.Dense(64, activation="gelu"), keras.layers.Dense(4)])
RATE = 0.5


def loss_of(model, x, y):
    return tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(y, model(x)))


@tilewright.tf.function
def step(x, y):
    """The loss, its gradient and the new weights are one program; the weights are written back."""
    with tf.GradientTape() as tape:
        loss = loss_of(MODEL, x, y)
    slopes = tape.gradient(loss, MODEL.trainable_variables)
    for variable, slope in zip(MODEL.trainable_variables, slopes):
        variable.assign_sub(RATE * slope)
    return loss, slopes


def exact_slopes(weights, x, y):
    first, bias, second, last = [tf.constant(w.astype(np.float64)) for w in weights]

    def model(x):
        return tf.nn.gelu(x @ first + bias, approximate=False) @ second + last
    with tf.GradientTape() as tape:
        tape.watch((first, bias, second, last))
        loss = loss_of(model, tf.constant(x.astype(np.float64)), y)
    return tape.gradient(loss, [first, bias, second, last])


if __name__ == "__main__":
    random = np.random.default_rng(0)
    x = random.standard_normal((128, 16)).astype(np.float32)
    y = x[:, :4].argmax(1)
    before = [w.numpy() for w in MODEL.weights]

    start = time.perf_counter()
    first, slopes = step(x, y)
    print(f"compiled in {time.perf_counter() - start:.1f} s")
    error = max(
        float(np.abs(got.numpy() - want.numpy()).max()) for got, want in zip(slopes, exact_slopes(before, x, y)))
    print(f"gradient: error {error:.1e}")
    assert error < 1e-5, "the compiled gradient is wrong"

    for _ in range(50):
        last, _ = step(x, y)
    print(f"loss: first {float(first):.3f}, last {float(last):.3f}")
    assert float(last) < 0.5 * float(first), "training does not lower the loss"
