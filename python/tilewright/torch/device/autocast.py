"""`torch.autocast` on a device, as PyTorch has it for others: products in the narrow type, what adds up many terms or
grows fast in f32."""

import functools

import torch
import torch.utils._pytree as pytree

aten = torch.ops.aten
KEY = "AutocastPrivateUse1"
NARROW = ("matmul", "mm", "mv", "bmm", "addmm", "addmv", "addbmm", "baddbmm", "linear", "einsum", "chain_matmul",
          "linalg_multi_dot", "conv1d", "conv2d", "conv3d", "conv_transpose1d", "conv_transpose2d.input",
          "conv_transpose3d.input", "convolution", "prelu", "scaled_dot_product_attention", "gru_cell", "lstm_cell",
          "rnn_tanh_cell", "rnn_relu_cell")
WIDE = ("acos", "asin", "cosh", "erfinv", "exp", "expm1", "log", "log10", "log2", "log1p", "reciprocal", "rsqrt",
        "sinh", "tan", "pow.Tensor_Scalar", "pow.Tensor_Tensor", "pow.Scalar", "softplus", "layer_norm",
        "native_layer_norm", "group_norm", "rms_norm", "norm.Scalar", "nll_loss", "nll_loss_nd", "cosine_similarity",
        "cosine_embedding_loss", "poisson_nll_loss", "hinge_embedding_loss", "kl_div", "l1_loss", "smooth_l1_loss",
        "huber_loss", "mse_loss", "margin_ranking_loss", "multilabel_margin_loss", "soft_margin_loss",
        "triplet_margin_loss", "multi_margin_loss", "binary_cross_entropy_with_logits", "dist", "pdist", "cdist",
        "renorm", "logsumexp", "softmax.int", "log_softmax.int", "sum", "sum.dim_IntList", "prod", "prod.dim_int",
        "cumsum", "cumprod")
WIDEST = ("addcdiv", "addcmul", "atan2", "bilinear", "cross", "dot", "grid_sampler", "index_put", "tensordot",
          "scatter_add", "cat", "stack")


def register(name):
    """The kernels of the device type `name`; the libraries that hold them."""
    library, rest = torch.library.Library("aten", "IMPL"), torch.library.Library("_", "IMPL")
    for names, policy in ((NARROW, narrow), (WIDE, wide), (WIDEST, widest)):
        for word in names:
            packet, _, overload = word.partition(".")
            op = getattr(getattr(aten, packet), overload or "default")
            library.impl(op, functools.partial(cast, op, policy, name), KEY)
    rest.fallback(torch.library.fallthrough_kernel, KEY)
    return library, rest


def cast(op, policy, name, *args, **kwargs):
    leaves, structure = pytree.tree_flatten((args, kwargs))
    floats = [
        x for x in leaves
        if isinstance(x, torch.Tensor) and x.is_floating_point() and x.device.type == name and x.dtype != torch.float64
    ]
    with torch._C._ExcludeDispatchKeyGuard(torch._C.DispatchKeySet(torch._C.DispatchKey.AutocastPrivateUse1)):
        if floats:
            dtype = policy(name, floats)
            leaves = [x.to(dtype) if any(x is y for y in floats) else x for x in leaves]
        args, kwargs = pytree.tree_unflatten(leaves, structure)
        return op(*args, **kwargs)


def narrow(name, floats):
    return torch.get_autocast_dtype(name)


def wide(name, floats):
    return torch.float32


def widest(name, floats):
    return torch.float32 if any(x.dtype == torch.float32 for x in floats) else floats[0].dtype
