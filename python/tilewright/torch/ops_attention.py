"""Scaled dot-product attention as a whole: softmax(q k^T scale + mask) v, and its gradient. All but the operands is f32."""

import math

from ..emit import types
from ..emit.contract import contract
from ..emit.reduce import extremum
from .context import type_of
from .registry import op


def scores_of(c, q, k, mask, causal, scale, compute):
    """(b, h, m, n): q k^T scale, plus the mask, -infinity where a key comes after its query under `causal`."""
    if scale is None:
        if not isinstance(q.shape[-1], int):
            c.refuse("attention over heads of dynamic size needs a scale")
        scale = 1 / math.sqrt(q.shape[-1]) if q.shape[-1] else 1.0
    shape = (*q.shape[:3], k.shape[2])
    products = contract(c, q, k, 5, ["d0", "d1", "d2", "d4"], ["d0", "d1", "d3", "d4"], ["d0", "d1", "d2", "d3"], shape, compute, [4])

    def body(s, a, *masks):
        a = s.mul(a, float(scale))
        for m in masks:
            a = s.select(m, a, s.constant(-math.inf, compute)) if m.type == "i1" else s.add(a, s.cast(m, compute))
        if causal:
            a = s.select(s.compare("le", s.index(3), s.index(2)), a, s.constant(-math.inf, compute))
        return a
    return c.f.map([products] + ([mask] if mask is not None else []), shape, compute, body), float(scale)


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
    result = contract(c, weights, v, 5, ["d0", "d1", "d2", "d4"], ["d0", "d1", "d4", "d3"], ["d0", "d1", "d2", "d3"],
                      (*rows, v.shape[3]), compute, [4])
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
    all4 = ["d0", "d1", "d2", "d3"]
    of_v = contract(c, weights, gradient, 5, ["d0", "d1", "d4", "d2"], ["d0", "d1", "d4", "d3"], all4, v.shape, compute, [4])
    of_weights = contract(c, gradient, v, 5, ["d0", "d1", "d2", "d4"], ["d0", "d1", "d3", "d4"], all4, scores.shape, compute, [4])
    dots = c.f.reduce([gradient, out], [3], compute, 0,
                      lambda s, a, b, t: s.add(t, s.mul(s.cast(a, compute), s.cast(b, compute))), True)
    of_scores = c.f.map([weights, of_weights, dots], scores.shape, compute,
                        lambda s, p, d, r: s.mul(s.mul(p, s.sub(d, r)), scale))
    of_q = contract(c, of_scores, k, 5, ["d0", "d1", "d2", "d4"], ["d0", "d1", "d4", "d3"], all4, q.shape, compute, [4])
    of_k = contract(c, of_scores, q, 5, ["d0", "d1", "d4", "d2"], ["d0", "d1", "d4", "d3"], all4, k.shape, compute, [4])
    return c.cast(of_q, q.type), c.cast(of_k, k.type), c.cast(of_v, v.type)
