"""Small networks with random weights: (name, function of (parameters, inputs), parameters, inputs)."""

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

R = np.random.default_rng(1)


def weights(*shape):
    return (R.standard_normal(shape) / np.sqrt(np.prod(shape[:-1]))).astype(np.float32)


def mlp(p, x):
    return jnp.tanh(x @ p["a"] + p["b"]) @ p["c"]


def attention(p, x):
    q, k, v = jnp.split(x @ p["qkv"], 3, -1)
    heads = [jnp.swapaxes(t.reshape(*t.shape[:2], 2, -1), 1, 2) for t in (q, k, v)]
    scores = heads[0] @ jnp.swapaxes(heads[1], 2, 3) / np.sqrt(heads[0].shape[-1]).astype(x.dtype)
    causal = jnp.tril(jnp.ones(scores.shape[-2:], bool))
    y = jax.nn.softmax(jnp.where(causal, scores, -jnp.inf)) @ heads[2]
    return jnp.swapaxes(y, 1, 2).reshape(x.shape) @ p["out"]


def convolutional(p, x):
    def conv(x, w):
        return lax.conv_general_dilated(x, w, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))
    y = jax.nn.relu(conv(x, p["first"]))
    y = lax.reduce_window(y, -np.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")
    return jax.nn.relu(conv(y, p["second"])).mean((1, 2)) @ p["head"]


def norm(x, scale):
    return (x - x.mean(-1, keepdims=True)) * lax.rsqrt(x.var(-1, keepdims=True) + 1e-5) * scale


def norm_and_pool(p, x):
    y = norm(x, p["scale"])
    return lax.reduce_window(y, 0.0, lax.add, (1, 3, 1), (1, 2, 1), "SAME") / 3


def gpt2(p, ids):
    """One block and the cross entropy of the next token."""
    x = p["tokens"][ids] + p["places"][:ids.shape[1]]
    x = x + attention(p["attention"], norm(x, p["scale"]))
    x = x + jax.nn.gelu(norm(x, p["scale"]) @ p["up"]) @ p["down"]
    logits = jax.nn.log_softmax(x @ p["tokens"].T)
    return -jnp.take_along_axis(logits[:, :-1], ids[:, 1:, None], -1).mean()


def recurrent(p, x):
    def step(h, a):
        h = jnp.tanh(h @ p["h"] + a @ p["x"])
        return h, h.sum(-1)
    return lax.scan(step, jnp.zeros((x.shape[1], p["h"].shape[0]), x.dtype), x)


def dropout(p, key_and_x):
    key, x = key_and_x
    kept = jax.random.bernoulli(key, 0.75, x.shape)
    return jnp.where(kept, x / 0.75, 0) @ p["w"]


ATTENTION = {"qkv": weights(8, 24), "out": weights(8, 8)}
NETWORKS = [
    ("mlp", mlp, {"a": weights(6, 16), "b": weights(16), "c": weights(16, 3)}, weights(5, 6)),
    ("attention", attention, ATTENTION, weights(2, 6, 8)),
    ("convolutional", convolutional, {"first": weights(3, 3, 3, 4), "second": weights(3, 3, 4, 8), "head": weights(8, 5)}, weights(2, 8, 8, 3)),
    ("norm and pool", norm_and_pool, {"scale": weights(6)}, weights(2, 7, 6)),
    ("gpt2", gpt2, {"tokens": weights(11, 8), "places": weights(9, 8), "attention": ATTENTION, "scale": weights(8), "up": weights(8, 32),
                    "down": weights(32, 8)}, R.integers(0, 11, (2, 7), dtype=np.int32)),
    ("recurrent", recurrent, {"h": weights(5, 5), "x": weights(4, 5)}, weights(6, 2, 4)),
    ("dropout", dropout, {"w": weights(6, 3)}, (np.array([1, 2], np.uint32), weights(4, 6))),
]
