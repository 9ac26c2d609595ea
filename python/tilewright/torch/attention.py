"""Attention stays whole through AOTAutograd. PyTorch takes `scaled_dot_product_attention` apart unless a kernel of its own has the form:
four dimensions, values with as many features as keys, no types but those of the kernel. The other forms are one operation here, with a
gradient that is one operation too:

    tilewright::attention(q, k, v, mask, causal, scale) -> (result, logarithms of the sums)

q is (batch, heads, m, features), k is (batch, shared, n, features), v is (batch, shared, n, others); `shared` divides `heads`. The mask,
of booleans or to be added, has four dimensions, each of them 1 or that of the scores. Without a scale it is 1 / sqrt(features). Rows whose
keys are all masked give 0.
"""

import functools
import math
from typing import Optional

import torch
from torch import Tensor
from torch.fx.experimental.symbolic_shapes import guard_or_false
from torch.utils._python_dispatch import is_traceable_wrapper_subclass

TYPES = (torch.float64, torch.float32, torch.float16, torch.bfloat16)

#: Devices for which PyTorch has kernels, and what it says of forms that it takes apart.
KERNELS, APART = {"cpu": torch._C.DispatchKey.CPU, "cuda": torch._C.DispatchKey.CUDA}, 0


def scores_of(q, k, mask, causal, scale):
    """(batch, heads, m, n) in the type that sums have."""
    scores = scaled(wide(q) @ wide(k).repeat_interleave(q.shape[1] // k.shape[1], 1).transpose(-2, -1), q, scale)
    if causal:
        scores = scores.masked_fill(~torch.ones(scores.shape[-2:], dtype=torch.bool, device=q.device).tril(), -math.inf)
    if mask is not None:
        scores = scores.masked_fill(~mask, -math.inf) if mask.dtype == torch.bool else scores + mask
    return scores


def scaled(x, q, scale):
    return x * (scale if scale is not None else 1 / math.sqrt(q.shape[-1] or 1))


def wide(x):
    return x if x.dtype == torch.float64 else x.float()


def per_head(x, shared):
    """Gradients of keys or values from those of all heads of queries."""
    return x.unflatten(1, (shared, x.shape[1] // shared)).sum(2)


@functools.lru_cache(None)
def define():
    """Registers the operations with PyTorch, once. Their kernels here serve graphs of which a part runs eagerly."""
    @torch.library.custom_op("tilewright::attention", mutates_args=())
    def attention(q: Tensor, k: Tensor, v: Tensor, mask: Optional[Tensor], causal: bool, scale: Optional[float]) -> tuple[Tensor, Tensor]:
        scores = scores_of(q, k, mask, causal, scale)
        logs = scores.logsumexp(-1)
        weights = (scores - logs[..., None]).exp().masked_fill(scores == -math.inf, 0)
        return (weights @ wide(v).repeat_interleave(q.shape[1] // v.shape[1], 1)).to(q.dtype), logs

    @attention.register_fake
    def _(q, k, v, mask, causal, scale):
        return q.new_empty((*q.shape[:3], v.shape[3])), q.new_empty(q.shape[:3], dtype=wide(q.new_empty(0)).dtype)

    @torch.library.custom_op("tilewright::attention_backward", mutates_args=())
    def backward(gradient: Tensor, q: Tensor, k: Tensor, v: Tensor, mask: Optional[Tensor], out: Tensor, logs: Tensor, causal: bool,
                 scale: Optional[float]) -> tuple[Tensor, Tensor, Tensor]:
        shared, groups = k.shape[1], q.shape[1] // k.shape[1]
        scores, gradient = scores_of(q, k, mask, causal, scale), wide(gradient)
        weights = (scores - logs[..., None]).exp().masked_fill(scores == -math.inf, 0)
        of_weights = gradient @ wide(v).repeat_interleave(groups, 1).transpose(-2, -1)
        of_scores = scaled(weights * (of_weights - (gradient * wide(out)).sum(-1, keepdim=True)), q, scale)
        of_q = of_scores @ wide(k).repeat_interleave(groups, 1)
        of_k, of_v = (per_head(of.transpose(-2, -1) @ by, shared) for of, by in ((of_scores, wide(q)), (weights, gradient)))
        return of_q.to(q.dtype), of_k.to(k.dtype), of_v.to(v.dtype)

    @backward.register_fake
    def _(gradient, q, k, v, mask, out, logs, causal, scale):
        return tuple(x.new_empty(x.shape) for x in (q, k, v))

    def setup(ctx, inputs, output):
        q, k, v, mask, ctx.causal, ctx.scale = inputs
        ctx.save_for_backward(q, k, v, mask, *output)

    def gradient_of(ctx, gradient, _):
        made = torch.ops.tilewright.attention_backward(gradient, *ctx.saved_tensors, ctx.causal, ctx.scale)
        return *made, None, None, None
    attention.register_autograd(gradient_of, setup_context=setup)
    return attention


def scaled_dot_product_attention(query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False, scale=None, enable_gqa=False):
    """What PyTorch's function of this name computes, on the tensors that AOTAutograd calls it with."""
    given = (query, key, value, attn_mask)
    result = None if dropout_p else as_one(*given, is_causal, scale, enable_gqa)
    if result is None:
        return torch._C._nn.scaled_dot_product_attention(*given, dropout_p, is_causal, scale=scale, enable_gqa=enable_gqa)
    return result


def as_one(q, k, v, mask, causal, scale, enable_gqa):
    """The result by the operation of this file, None if this form is left to PyTorch."""
    if not all(is_plain(x) for x in (q, k, v, mask) if x is not None) or torch._C._functorch.peek_interpreter_stack() is not None:
        return None
    place = q.device.type
    if torch.is_autocast_enabled(place):
        q, k, v, mask = (narrow(x, torch.get_autocast_dtype(place)) for x in (q, k, v, mask))
    if not of_types(q, k, v, mask) or (mask is not None and (causal or (mask.requires_grad and torch.is_grad_enabled()))):
        return None
    if has_kernel(q, k, v, mask, causal, scale, enable_gqa):
        return None
    as_given = max(q.dim(), k.dim(), v.dim())
    rank = max(3, as_given)
    q, k, v = (at_rank(x, rank) for x in (q, k, v))
    heads, shared = q.shape[-3], k.shape[-3]
    grouped = (enable_gqa or same(shared, 1)) and same(shared, v.shape[-3])
    if any(same(size, 0) for x in (q, k, v) for size in x.shape) or (enable_gqa and not (grouped and same(heads % shared, 0))):
        return None
    batch = torch.broadcast_shapes(*(x.shape[:-3] for x in (q, k, v)))
    if not grouped:
        heads = shared = torch.broadcast_shapes(*(x.shape[-3:-2] for x in (q, k, v)))[0]
    if mask is not None:
        mask = of_scores(mask, (*batch, heads, q.shape[-2], k.shape[-2]))
        if mask is None:
            return None
    q, k, v = (flat(x.expand(*batch, of_x, *x.shape[-2:])) for x, of_x in ((q, heads), (k, shared), (v, shared)))
    with torch.autocast(place, enabled=False):
        result, _ = torch.ops.tilewright.attention(q, k, v, mask, causal, None if scale is None else float(scale))
    return result.view((*batch, heads, *result.shape[-2:])[rank - as_given:])


def has_kernel(q, k, v, mask, causal, scale, enable_gqa):
    """Whether PyTorch has a kernel of its own for this form, by its own choice, which sees no more than sizes and types. Where the
    caller has turned these kernels off it is left to PyTorch, too."""
    place = q.device.type
    if place not in KERNELS:
        return False
    choice = torch.ops.aten._fused_sdp_choice.default.redispatch(torch._C.DispatchKeySet(KERNELS[place]), q, k, v, mask, 0.0, causal,
                                                                 scale=scale, enable_gqa=enable_gqa)
    return choice != APART or not torch.backends.cuda.flash_sdp_enabled()


def is_plain(x):
    return isinstance(x, Tensor) and not x.is_nested and x.layout == torch.strided and not is_traceable_wrapper_subclass(x)


def of_types(q, k, v, mask):
    return q.dtype in TYPES and q.dtype == k.dtype == v.dtype and (mask is None or mask.dtype in (torch.bool, torch.float32, q.dtype))


def narrow(x, dtype):
    """As autocast casts."""
    return x.to(dtype) if x is not None and x.is_floating_point() and x.dtype != torch.float64 else x


def same(a, b):
    """Whether sizes are known to be equal."""
    return guard_or_false(a == b)


def at_rank(x, rank):
    return x[(None,) * (rank - x.dim())]


def flat(x):
    """With four dimensions: one of all before the heads."""
    return at_rank(x, 4) if x.dim() <= 4 else x.flatten(0, -4)


def of_scores(mask, shape):
    """A mask with four dimensions for scores of this shape, None if it does not fit."""
    if mask.dim() > len(shape):
        return None
    mask = at_rank(mask, len(shape))
    if not all(same(size, 1) or same(size, wanted) for size, wanted in zip(mask.shape, shape)):
        return None
    alike = all(same(size, 1) for size in mask.shape[:-3])
    return flat(mask if alike else mask.expand(*shape[:-3], *mask.shape[-3:]))


WHOLE = (torch._C._nn.scaled_dot_product_attention, torch.ops.aten.scaled_dot_product_attention.default)


def keep_whole(module):
    """Exchanges the calls in Dynamo's graph and in those that it holds."""
    for part in module.modules():
        nodes = part.graph.nodes if isinstance(part, torch.fx.GraphModule) else ()
        found = [n for n in nodes if n.op == "call_function" and n.target in WHOLE]
        if found:
            define()
            for node in found:
                node.target = scaled_dot_product_attention
            part.recompile()
