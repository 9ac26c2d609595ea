"""Keras models: forward, gradients, training steps, beside TensorFlow's own."""

import functools

import keras
import numpy as np
import pytest
import tensorflow as tf

import keras_models
import tilewright.tf

R = np.random.default_rng(0)


def convolutional():
    return keras.Sequential([
        keras.layers.Input((12, 12, 3)),
        keras.layers.Conv2D(8, 3, activation="relu", padding="same"),
        keras.layers.BatchNormalization(),
        keras.layers.MaxPooling2D(),
        keras.layers.DepthwiseConv2D(3),
        keras.layers.GlobalAveragePooling2D(),
        keras.layers.Dense(5)
    ])


def recurrent():
    return keras.Sequential([
        keras.layers.Input((7, 5)),
        keras.layers.LSTM(6, return_sequences=True),
        keras.layers.GRU(4),
        keras.layers.Dense(2)
    ])


def attention():
    x = keras.layers.Input((6, 16))
    y = keras.layers.LayerNormalization()(keras.layers.MultiHeadAttention(2, 8)(x, x, use_causal_mask=True) + x)
    return keras.Model(x, keras.layers.Dense(16, activation="gelu")(y))


def embedded():
    return keras.Sequential([
        keras.layers.Input((9, ), dtype="int32"),
        keras.layers.Embedding(30, 8),
        keras.layers.Conv1D(8, 3, activation="swish"),
        keras.layers.GlobalMaxPooling1D(),
        keras.layers.Dense(3, activation="softmax")
    ])


MODELS = {
    "convolutional": (convolutional, (4, 12, 12, 3)), "recurrent": (recurrent, (2, 7, 5)), "attention":
    (attention, (2, 6, 16)), "embedded": (embedded, (3, 9))
}


def build(name):
    keras.utils.set_random_seed(1)
    make, shape = MODELS[name]
    x = R.integers(0, 30, shape).astype(np.int32) if name == "embedded" else R.standard_normal(shape).astype(np.float32)
    return make(), x


def gradients(function, model, x):
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(function(x) ** 2)
    return [tf.convert_to_tensor(g) for g in tape.gradient(loss, [v.value for v in model.trainable_variables])]


@pytest.mark.parametrize("name", MODELS)
def test_forward_and_gradients(name):
    model, x = build(name)
    compiled = tilewright.tf.function(model, threads=1)
    np.testing.assert_allclose(compiled(x), model(x), rtol=1e-4, atol=1e-5)
    for got, want in zip(gradients(compiled, model, x), gradients(model, model, x), strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("name", keras_models.LAYERS)
def test_layers(name):
    """What library_models.py has gradients of, in evaluation."""
    model, arguments = keras_models.make(name)

    def call(*arguments):
        return model(arguments[0] if len(arguments) == 1 else list(arguments))
    np.testing.assert_allclose(tilewright.tf.function(call)(*arguments), call(*map(tf.constant, arguments)), rtol=1e-4, atol=1e-5)


def steps(wrap):
    """The losses and weights of three steps of training."""
    model, x = build("convolutional")
    y, optimizer = np.array([0, 1, 2, 3]), keras.optimizers.Adam(1e-2)
    optimizer.build(model.trainable_variables)

    def step(x, y):
        with tf.GradientTape() as tape:
            losses = keras.losses.sparse_categorical_crossentropy(y, model(x, training=True), from_logits=True)
            loss = tf.reduce_mean(losses)
        optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
        return loss
    run = wrap(step)
    return [float(run(x, y)) for _ in range(3)], [w.numpy() for w in model.weights], optimizer.iterations.numpy()


def test_training_steps():
    """Weights, statistics of batch norm and the state of the optimizer are written back."""
    global R
    R = np.random.default_rng(3)
    losses, weights, count = steps(tilewright.tf.function)
    R = np.random.default_rng(3)
    expected, wanted, same = steps(tf.function)
    np.testing.assert_allclose(losses, expected, rtol=1e-3)
    assert count == same == 3 and losses[2] < losses[0]
    for got, want in zip(weights, wanted, strict=True):
        np.testing.assert_allclose(got, want, rtol=2e-2, atol=2e-3)


def dropped(wrap):
    """Two steps in training: results, gradients by a tape inside, and the state of the generators."""
    keras.utils.set_random_seed(5)
    x = np.random.default_rng(0).standard_normal((4, 6, 8)).astype(np.float32)
    model = keras.Sequential([keras.layers.Input((6, 8)), keras.layers.Dropout(0.3, seed=1), keras.layers.SpatialDropout1D(0.5, seed=2),
                              keras.layers.GRU(5, dropout=0.2, recurrent_dropout=0.2, seed=3), keras.layers.GaussianNoise(0.5, seed=4)])

    def step(x):
        with tf.GradientTape() as tape:
            y = model(x, training=True)
            loss = tf.reduce_sum(y ** 2)
        return [y, *tape.gradient(loss, [v.value for v in model.trainable_variables])]
    run = wrap(step)
    return [r for _ in range(2) for r in run(x)] + [w.value for w in model.non_trainable_variables]


def test_dropout_is_that_of_xla():
    for got, want in zip(dropped(tilewright.tf.function), dropped(functools.partial(tf.function, jit_compile=True)), strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-5)


def test_gradients_from_outside_see_the_same_mask():
    """The program of the gradient draws from the state that the call began with, not from the one that it has written."""
    layer = keras.layers.Dropout(0.5, seed=3)
    run = tilewright.tf.function(lambda x: layer(x, training=True), threads=1)
    masks, x = [], tf.ones((8, 8))
    for _ in range(2):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = run(x)
        np.testing.assert_array_equal(tape.gradient(y, x), y)
        masks.append(y.numpy())
    assert (masks[0] != masks[1]).any() and 16 < (masks[0] != 0).sum() < 48
