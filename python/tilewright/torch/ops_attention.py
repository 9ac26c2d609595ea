"""Scaled dot-product attention as a whole: softmax(q k^T scale + mask) v, and its gradient. All but the operands is f32."""

import math

from ..emit import types
from ..emit.contract import contract
from ..emit.reduce import extremum
from .context import type_of
from .registry import op


def product(c, words, a, b, heads, type):
    """A sum of products over the letters that the result lacks: "bhmd,bhnd->bhmn". `heads` are those of keys and values; groups of
    the queries' heads share one of them. A result of queries (m) has the queries' heads, others are summed over the groups."""
    (of_a, of_b), of_result = words.split("->")[0].split(","), words.split("->")[1]

    def grouped(value, letters):
        if value.shape[1] == heads:
            return value, letters
        apart = (value.shape[0], heads, value.shape[1] // heads, *value.shape[2:])
        return c.f.view(value, apart), letters[:2] + "g" + letters[2:]
    all_heads = next(value.shape[1] for value, letters in ((a, of_a), (b, of_b)) if "m" in letters)
    (a, of_a), (b, of_b) = grouped(a, of_a), grouped(b, of_b)
    in_groups = "m" in of_result and "g" in of_a + of_b
    inner = of_result[:2] + "g" + of_result[2:] if in_groups else of_result
    size = {**dict(zip(of_a, a.shape)), **dict(zip(of_b, b.shape))}
    loops = inner + "".join(sorted(set(of_a + of_b) - set(inner)))
    index = {letter: f"d{i}" for i, letter in enumerate(loops)}
    maps = ([index[letter] for letter in each] for each in (of_a, of_b, inner))
    result = contract(c, a, b, len(loops), *maps, tuple(size[letter] for letter in inner), type, range(len(inner), len(loops)))
    return c.f.view(result, (size["b"], all_heads, *(size[letter] for letter in of_result[2:]))) if in_groups else result


def scores_of(c, q, k, mask, causal, scale, compute):
    """(b, h, m, n): q k^T scale, plus the mask, -infinity where a key comes after its query under `causal`."""
    if scale is None:
        if not isinstance(q.shape[-1], int):
            c.refuse("attention over heads of dynamic size needs a scale")
        scale = 1 / math.sqrt(q.shape[-1]) if q.shape[-1] else 1.0
    products = product(c, "bhmd,bhnd->bhmn", q, k, k.shape[1], compute)

    def body(s, a, *masks):
        a = s.mul(a, float(scale))
        for m in masks:
            a = s.select(m, a, s.constant(-math.inf, compute)) if m.type == "i1" else s.add(a, s.cast(m, compute))
        if causal:
            a = s.select(s.compare("le", s.index(3), s.index(2)), a, s.constant(-math.inf, compute))
        return a
    return c.f.map([products] + ([mask] if mask is not None else []), products.shape, compute, body), float(scale)


def attention(c, q, k, v, mask, causal, scale):
    """The result in the type of q, and the logarithms of the sums (b, h, m). Rows whose keys are all masked give 0."""
    compute = types.compute(q.type)
    scores, _ = scores_of(c, q, k, mask, causal, scale, compute)
    rows = scores.shape[:3]
    largest = extremum(c, scores, [3], True, True)
    guarded = mask is not None

    def power(s, a, m):
        if guarded:
            m = s.select(s.compare("eq", m, -math.inf), s.constant(0, compute), m)
        return s.math("exp", s.sub(a, m))
    powers = c.f.map([scores, largest], scores.shape, compute, power)
    total = c.f.reduce([powers], [3], compute, 0, lambda s, a, t: s.add(t, a), True)

    def share(s, a, t):
        if guarded:
            t = s.select(s.compare("eq", t, 0), s.constant(1, compute), t)
        return s.div(a, t)
    weights = c.f.map([powers, total], scores.shape, compute, share)
    result = product(c, "bhmn,bhne->bhme", weights, v, v.shape[1], compute)
    logs = c.f.map([total, largest], total.shape, compute, lambda s, t, m: s.add(s.math("log", t), m))
    return c.cast(result, q.type), c.f.view(logs, rows)


@op("_scaled_dot_product_flash_attention_for_cpu")
def flash_attention(c, q, k, v, dropout_p=0.0, is_causal=False, *, attn_mask=None, scale=None):
    if dropout_p:
        c.refuse("attention with dropout inside is not compiled; apply dropout to its result")
    if 0 in q.shape or 0 in k.shape or 0 in v.shape:
        c.refuse("attention over no elements is not compiled")
    result, logs = attention(c, q, k, v, attn_mask, is_causal, scale)
    return result, c.cast(logs, type_of(c.meta[1]))


@op("_scaled_dot_product_flash_attention_for_cpu_backward")
def flash_attention_backward(c, gradient, q, k, v, out, logs, dropout_p, is_causal, *, attn_mask=None, scale=None):
    if dropout_p:
        c.refuse("attention with dropout inside is not compiled; apply dropout to its result")
    compute = types.compute(q.type)
    scores, scale = scores_of(c, q, k, attn_mask, is_causal, scale, compute)
    batch, heads, m, n = scores.shape
    logs = c.f.view(c.cast(logs, compute), (batch, heads, m, 1))

    def weight(s, a, log):
        return s.select(s.compare("eq", a, -math.inf), s.constant(0, compute), s.math("exp", s.sub(a, log)))
    weights = c.f.map([scores, logs], scores.shape, compute, weight)
    of_v = product(c, "bhmn,bhme->bhne", weights, gradient, k.shape[1], compute)
    of_weights = product(c, "bhme,bhne->bhmn", gradient, v, k.shape[1], compute)
    dots = c.f.reduce([gradient, out], [3], compute, 0,
                      lambda s, a, b, t: s.add(t, s.mul(s.cast(a, compute), s.cast(b, compute))), True)
    of_scores = c.f.map([weights, of_weights, dots], scores.shape, compute,
                        lambda s, p, d, r: s.mul(s.mul(p, s.sub(d, r)), scale))
    of_q = product(c, "bhmn,bhnd->bhmd", of_scores, k, k.shape[1], compute)
    of_k = product(c, "bhmn,bhmd->bhnd", of_scores, q, k.shape[1], compute)
    return c.cast(of_q, q.type), c.cast(of_k, k.type), c.cast(of_v, v.type)
