"""Which operations AOTAutograd takes apart before the importer sees the graph: those of the core ATen table, and others that PyTorch
has a decomposition of and the importer has no emitter; but not what the importer writes as a whole. Composite operations are not in the
table: PyTorch's dispatcher takes them apart by their own kernels."""

import functools

import torch
from torch.ao.quantization.fx import _decomposed as quantised
from torch._decomp import decomposition_table

from . import formulas, registry

#: Their decompositions write to parts of a complex tensor, which AOTAutograd refuses.
WRITING = (torch.ops.aten.complex, torch.ops.aten.polar)


def extent_of(x):
    """Least and largest element, 0 among them, as one element each."""
    low, high = torch.aminmax(x)
    return torch.clamp(low, max=0).reshape(1), torch.clamp(high, min=0).reshape(1)


def choose_qparams(x, quant_min, quant_max, eps, dtype):
    """Scale and zero point that map the extent of x onto quant_min .. quant_max."""
    low, high = extent_of(x)
    scale = torch.clamp((high - low) / float(quant_max - quant_min), min=eps)
    zero = torch.clamp(quant_min - torch.round(low / scale).to(torch.int32), quant_min, quant_max)
    return scale.to(torch.float64), zero.to(torch.int64)


def choose_qparams_symmetric(x, quant_min, quant_max, eps, dtype):
    low, high = extent_of(x)
    scale = torch.clamp(torch.maximum(-low, high) / (float(quant_max - quant_min) / 2), min=eps)
    return scale.to(torch.float64), torch.full_like(scale, 128 if dtype == torch.uint8 else 0, dtype=torch.int64)


def quantize_per_channel_group(x, scales, zeros, quant_min, quant_max, dtype, group_size=128):
    """PyTorch's own without its look at NaN."""
    size = x.shape[-1] if group_size > x.shape[-1] and scales.shape[-1] == 1 else group_size
    steps = x.reshape(-1, size).mul(1.0 / scales.reshape(-1, 1)).add(zeros.reshape(-1, 1))
    return steps.round().clamp(quant_min, quant_max).to(dtype).reshape_as(x)


def of_quantised():
    """Operations on rows and groups, and scales that follow from data: by PyTorch's own functions where no number is read in them."""
    ops = torch.ops.quantized_decomposed
    return {
        ops.choose_qparams.tensor: choose_qparams, ops.choose_qparams_symmetric.tensor: choose_qparams_symmetric,
        ops.choose_qparams_per_token.default: quantised.choose_qparams_per_token,
        ops.choose_qparams_per_token_asymmetric.default: quantised.choose_qparams_per_token_asymmetric,
        ops.quantize_per_token.default: quantised.quantize_per_token, ops.dequantize_per_token.default: quantised.dequantize_per_token,
        ops.quantize_per_channel_group.default: quantize_per_channel_group,
        ops.dequantize_per_channel_group.default: quantised.dequantize_per_channel_group,
    }


def attention(q, k, v, bias, causal, dropout, scale):
    """(result, logarithms of the sums) of an attention of whatever device, by an operation that the importer writes as a whole: values
    with other features than keys are not of PyTorch's operation."""
    if q.shape[3] != v.shape[3] and not dropout:
        result, logs = torch.ops.tilewright.attention(q, k, v, bias, causal, scale)
        return result.transpose(1, 2).contiguous().transpose(1, 2), logs
    return torch.ops.aten._scaled_dot_product_flash_attention_for_cpu(q, k, v, dropout, causal, attn_mask=bias, scale=scale)


def attention_gradient(gradient, q, k, v, bias, out, logs, causal, dropout, scale):
    if q.shape[3] != v.shape[3] and not dropout:
        return torch.ops.tilewright.attention_backward(gradient, q, k, v, bias, out, logs, causal, scale)
    return torch.ops.aten._scaled_dot_product_flash_attention_for_cpu_backward(gradient, q, k, v, out, logs, dropout, causal,
                                                                               attn_mask=bias, scale=scale)


def unused(q, count, kind=torch.int64):
    """Results of an attention that only its own gradient reads, which does not."""
    return tuple(q.new_empty((), dtype=kind) for _ in range(count))


def efficient_attention(q, k, v, attn_bias, compute_log_sumexp, dropout_p=0.0, is_causal=False, *, scale=None):
    return *attention(q, k, v, attn_bias, is_causal, dropout_p, scale), *unused(q, 2)


def efficient_attention_backward(grad_out_, q, k, v, attn_bias, out, logsumexp, philox_seed, philox_offset, dropout_p, grad_input_mask,
                                 is_causal=False, *, scale=None):
    if grad_input_mask[3]:
        raise NotImplementedError("the gradient of an attention's bias is not compiled")
    bias = attn_bias if attn_bias is not None and attn_bias.numel() else None
    return *attention_gradient(grad_out_, q, k, v, bias, out, logsumexp, is_causal, dropout_p, scale), None


def flash_attention(q, k, v, dropout_p=0.0, is_causal=False, return_debug_mask=False, *, scale=None):
    result, logs = attention(q, k, v, None, is_causal, dropout_p, scale)
    return result, logs, None, None, q.shape[2], k.shape[2], *unused(q, 2), *unused(q, 1, q.dtype)


def flash_attention_backward(grad_out, q, k, v, out, logsumexp, cum_seq_q, cum_seq_k, max_q, max_k, dropout_p, is_causal, philox_seed,
                             philox_offset, *, scale=None):
    return attention_gradient(grad_out, q, k, v, None, out, logsumexp, is_causal, dropout_p, scale)


def cudnn_attention(q, k, v, attn_bias, compute_log_sumexp, dropout_p=0.0, is_causal=False, return_debug_mask=False, *, scale=None):
    result, logs = attention(q, k, v, attn_bias, is_causal, dropout_p, scale)
    return result, logs, None, None, q.shape[2], k.shape[2], *unused(q, 2), *unused(q, 1, q.dtype)


def cudnn_attention_backward(grad_out, q, k, v, out, logsumexp, philox_seed, philox_offset, attn_bias, cum_seq_q, cum_seq_k, max_q, max_k,
                             dropout_p, is_causal, *, scale=None):
    bias = attn_bias if attn_bias is not None and attn_bias.numel() else None
    return attention_gradient(grad_out, q, k, v, bias, out, logsumexp, is_causal, dropout_p, scale)


#: The forms of attention that PyTorch chooses from on a GPU.
ATTENTIONS = {
    "_scaled_dot_product_efficient_attention": efficient_attention,
    "_scaled_dot_product_efficient_attention_backward": efficient_attention_backward,
    "_scaled_dot_product_flash_attention": flash_attention,
    "_scaled_dot_product_flash_attention_backward": flash_attention_backward,
    "_scaled_dot_product_cudnn_attention": cudnn_attention,
    "_scaled_dot_product_cudnn_attention_backward": cudnn_attention_backward,
}


#: Operations of processors without another decomposition than the kernel that calls others.
BY_OTHERS = (torch.ops.aten.native_channel_shuffle.default, )


def is_composite(overload):
    """An operation whose only kernel calls others, for tensors of every kind. `core_aten_decompositions()` lists that kernel as its
    decomposition, after a search of a tenth of a second through all operations of PyTorch. Those that have a kernel of their own for processors
    too (silu_backward) arrive as they are."""
    key = torch._C.DispatchKey.CompositeImplicitAutograd
    return (isinstance(overload, torch._ops.OpOverload) and (key in overload.py_kernels or overload.has_kernel_for_dispatch_key(key)) and
            not overload.has_kernel_for_dispatch_key(torch._C.DispatchKey.CPU))


@functools.lru_cache(None)
def table():
    registry.load()
    result = {overload: decomposition for overload, decomposition in decomposition_table.items() if not is_composite(overload)}
    result.update({overload: overload.decompose for overload in BY_OTHERS})
    result.update(of_quantised())
    result.update(formulas.TABLE)
    for packet in WRITING:
        for overload in packet.overloads():
            result.pop(getattr(packet, overload), None)
    for overload in list(result):
        if isinstance(overload, torch._ops.OpOverload) and registry.emitter_of(overload) is not None:
            del result[overload]
    for name, decomposition in ATTENTIONS.items():
        result[getattr(torch.ops.aten, name).default] = decomposition
    return result


@functools.lru_cache(None)
def export_table():
    """The same for `torch.export`, which keeps composite operations that its table does not name."""
    key = torch._C.DispatchKey.CompositeImplicitAutograd
    composite = {overload: decomposition for overload, decomposition in torch.export.default_decompositions().items()
                 if isinstance(overload, torch._ops.OpOverload) and (key in overload.py_kernels or overload.has_kernel_for_dispatch_key(key))}
    return {**composite, **table()}
