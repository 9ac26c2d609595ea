"""Scaled dot-product attention as a whole: softmax(q k^T scale + mask) v, and its gradient. Operands of products have the type of q,
as those of PyTorch's own kernels have, so that the chip's units for that type compute them; sums and all else are f32."""

import math

from ..emit import types
from ..emit.contract import contract
from ..emit.reduce import extremum
from ..emit.sizes import floor_div
from . import attention as operations, flexible
from .context import type_of
from .registry import op

operations.define()
flexible.define()


def sum_of_products(c, words, a, b, type):
    """Over the letters that the result lacks: "bhmd,bhnd->bhmn"."""
    of_a, of_b, of_result = flexible.parts_of(words)
    size = {**dict(zip(of_a, a.shape)), **dict(zip(of_b, b.shape))}
    loops = of_result + "".join(sorted(set(of_a + of_b) - set(of_result)))
    index = {letter: f"d{i}" for i, letter in enumerate(loops)}
    maps = ([index[letter] for letter in each] for each in (of_a, of_b, of_result))
    return contract(c, a, b, len(loops), *maps, tuple(size[letter] for letter in of_result), type, range(len(of_result), len(loops)))


def product(c, words, a, b, heads, type):
    """The same where `heads` are those of keys and values, and groups of the queries' heads share one of them. A result of queries
    (m) has the queries' heads, others are summed over the groups."""
    of_a, of_b, of_result = flexible.parts_of(words)

    def grouped(value, letters):
        if value.shape[1] == heads:
            return value, letters
        apart = (value.shape[0], heads, floor_div(value.shape[1], heads), *value.shape[2:])
        return c.f.view(value, apart), letters[:2] + "g" + letters[2:]
    all_heads = next(value.shape[1] for value, letters in ((a, of_a), (b, of_b)) if "m" in letters)
    (a, of_a), (b, of_b) = grouped(a, of_a), grouped(b, of_b)
    in_groups = "m" in of_result and "g" in of_a + of_b
    inner = of_result[:2] + "g" + of_result[2:] if in_groups else of_result
    result = sum_of_products(c, f"{of_a},{of_b}->{inner}", a, b, type)
    if not in_groups:
        return result
    sizes = dict(zip(inner, result.shape))
    return c.f.view(result, (sizes["b"], all_heads, *(sizes[letter] for letter in of_result[2:])))


def scaling_of(q, scale, compute):
    """What multiplies an element by the scale, which is 1 / sqrt(features) unless it is given."""
    features = q.shape[-1]
    if scale is None and not isinstance(features, int):
        return lambda s, a: s.div(a, s.math("sqrt", s.size(features, compute)))
    factor = float(scale) if scale is not None else 1 / math.sqrt(features or 1)
    return lambda s, a: s.mul(a, factor)


def scores_of(c, products, mask, causal, scaling, compute):
    """(.., m, n): `products`, q k^T, times the scale, plus the mask, -infinity where a key comes after its query under `causal`."""
    rank = products.rank

    def body(s, a, *masks):
        a = scaling(s, a)
        for m in masks:
            a = s.select(m, a, s.constant(-math.inf, compute)) if m.type == "i1" else s.add(a, s.cast(m, compute))
        if causal:
            a = s.select(s.compare("le", s.index(rank - 1), s.index(rank - 2)), a, s.constant(-math.inf, compute))
        return a
    return c.f.map([products] + ([mask] if mask is not None else []), products.shape, compute, body)


def attention(c, q, k, v, mask, causal, scale):
    """The result in the type of q, and the logarithms of the sums (b, h, m). Rows whose keys are all masked give 0. Heads of queries
    that share keys are a dimension of their own (g)."""
    compute = types.compute(q.type)
    batch, heads, m, _ = q.shape
    g = "g" if heads != k.shape[1] else ""
    if g:
        groups = (k.shape[1], floor_div(heads, k.shape[1]))
        q = c.f.view(q, (batch, *groups, m, q.shape[3]))
        if mask is not None:
            of_heads = mask.shape[-3] if mask.rank > 2 else 1
            mask = c.f.view(mask, (*mask.shape[:-3], *(groups if of_heads == heads else (1, 1)), *mask.shape[-2:]))
    products = sum_of_products(c, f"bh{g}md,bhnd->bh{g}mn", q, k, compute)
    scores = scores_of(c, products, mask, causal, scaling_of(q, scale, compute), compute)
    columns = [scores.rank - 1]
    largest = extremum(c, scores, columns, True, True)
    guarded = mask is not None

    def power(s, a, m):
        if guarded:
            m = s.select(s.compare("eq", m, -math.inf), s.constant(0, compute), m)
        return s.math("exp", s.sub(a, m))
    powers = c.f.map([scores, largest], scores.shape, compute, power)
    total = c.f.reduce([powers], columns, compute, 0, lambda s, a, t: s.add(t, a), True)

    def share(s, a, t):
        if guarded:
            t = s.select(s.compare("eq", t, 0), s.constant(1, compute), t)
        return s.div(a, t)
    weights = c.cast(c.f.map([powers, total], scores.shape, compute, share), q.type)
    result = c.cast(sum_of_products(c, f"bh{g}mn,bhne->bh{g}me", weights, v, compute), q.type)
    logs = c.f.map([total, largest], total.shape, compute, lambda s, t, m: s.add(s.math("log", t), m))
    return c.f.view(result, (batch, heads, m, v.shape[3])), c.f.view(logs, (batch, heads, m))


def gradients(c, gradient, q, k, v, out, logs, mask, causal, scale):
    """Of q, k and v, each in its type."""
    compute = types.compute(q.type)
    products = product(c, "bhmd,bhnd->bhmn", q, k, k.shape[1], compute)
    scaling = scaling_of(q, scale, compute)
    scores = scores_of(c, products, mask, causal, scaling, compute)
    batch, heads, m, n = scores.shape
    logs = c.f.view(c.cast(logs, compute), (batch, heads, m, 1))

    def weight(s, a, log):
        return s.select(s.compare("eq", a, -math.inf), s.constant(0, compute), s.math("exp", s.sub(a, log)))
    weights = c.f.map([scores, logs], scores.shape, compute, weight)
    of_v = product(c, "bhmn,bhme->bhne", c.cast(weights, q.type), gradient, k.shape[1], compute)
    of_weights = product(c, "bhme,bhne->bhmn", gradient, v, k.shape[1], compute)
    dots = c.f.reduce([gradient, out], [3], compute, 0,
                      lambda s, a, b, t: s.add(t, s.mul(s.cast(a, compute), s.cast(b, compute))), True)
    of_scores = c.cast(c.f.map([weights, of_weights, dots], scores.shape, compute,
                               lambda s, p, d, r: scaling(s, s.mul(p, s.sub(d, r)))), q.type)
    of_q = product(c, "bhmn,bhnd->bhmd", of_scores, k, k.shape[1], compute)
    of_k = product(c, "bhmn,bhmd->bhnd", of_scores, q, k.shape[1], compute)
    return c.cast(of_q, q.type), c.cast(of_k, k.type), c.cast(of_v, v.type)


def check(c, q, k, v, dropout=0.0):
    if dropout:
        c.refuse("attention with dropout inside is not compiled; apply dropout to its result")
    if 0 in q.shape or 0 in k.shape or 0 in v.shape:
        c.refuse("attention over no elements is not compiled")


@op("_scaled_dot_product_flash_attention_for_cpu")
def flash_attention(c, q, k, v, dropout_p=0.0, is_causal=False, *, attn_mask=None, scale=None):
    check(c, q, k, v, dropout_p)
    result, logs = attention(c, q, k, v, attn_mask, is_causal, scale)
    return result, c.cast(logs, type_of(c.meta[1]))


@op("_scaled_dot_product_flash_attention_for_cpu_backward")
def flash_attention_backward(c, gradient, q, k, v, out, logs, dropout_p, is_causal, *, attn_mask=None, scale=None):
    check(c, q, k, v, dropout_p)
    return gradients(c, gradient, q, k, v, out, logs, attn_mask, is_causal, scale)


@op("tilewright::attention")
def whole_attention(c, q, k, v, mask, causal, scale):
    check(c, q, k, v)
    result, logs = attention(c, q, k, v, mask, causal, scale)
    return result, c.cast(logs, type_of(c.meta[1]))


@op("tilewright::attention_backward")
def whole_attention_backward(c, gradient, q, k, v, mask, out, logs, causal, scale):
    check(c, q, k, v)
    return gradients(c, gradient, q, k, v, out, logs, mask, causal, scale)


@op("tilewright::contract")
def contraction(c, a, b, words, wide):
    if 0 in (*a.shape, *b.shape):
        return c.f.fill(c.shape, c.type, 0)
    return c.cast(sum_of_products(c, words, a, b, types.compute(a.type)), c.type)
