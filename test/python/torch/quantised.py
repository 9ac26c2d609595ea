"""Quantises models by PyTorch's export path (PT2E), and looks at what the back end makes of them."""

import contextlib
import logging
import warnings

import torch

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    logging.getLogger("torchao").setLevel(logging.ERROR)
    from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e
    from torchao.quantization.pt2e.quantizer.x86_inductor_quantizer import X86InductorQuantizer, get_default_x86_inductor_quantization_config

from tilewright.torch import integers, quantised_operations

quantised_operations.define()
PRODUCTS = (torch.ops.tilewright.quantised_product.default, torch.ops.tilewright.quantised_convolution.default)


def x86():
    """PyTorch's own: activations u8 with a zero point, weights i8 for each channel."""
    return X86InductorQuantizer().set_global(get_default_x86_inductor_quantization_config())


def quantise(model, arguments, quantizer=None, calibration=(), dynamic=None):
    """The model with quantise and dequantise operations. `calibration`: more arguments that the ranges are taken from; `dynamic`: sizes that
    may differ, as torch.export has them."""
    with warnings.catch_warnings(), torch.no_grad():
        warnings.simplefilter("ignore")
        prepared = prepare_pt2e(torch.export.export(model, tuple(arguments), dynamic_shapes=dynamic).module(), quantizer or x86())
        for values in (arguments, *calibration):
            prepared(*values)
        return convert_pt2e(prepared)


@contextlib.contextmanager
def rewrites():
    """A list of (products that could be quantised, those that were) of each graph that is compiled meanwhile."""
    seen, rewrite = [], integers.rewrite

    def recorded(graph, *rest):
        before = sum(n.target in integers.OPERANDS for n in graph.nodes)
        result = rewrite(graph, *rest)
        assert result[0] <= sum(n.target in PRODUCTS for n in graph.nodes)
        seen.append((before, result[0]))
        return result
    integers.rewrite = recorded
    try:
        yield seen
    finally:
        integers.rewrite = rewrite


def compiled(function, **options):
    return torch.compile(function, backend="tilewright", options={"strict": True, **options}, fullgraph=True)
