"""Products and convolutions of quantised elements, which ATen does not have: of 8-bit integers with results in i32, of 8-bit floats with
results in f32.

    tilewright::quantised_product(a, b)                    (m, k) x (k, n) or (b, m, k) x (b, k, n)
    tilewright::quantised_convolution(x, weight, fill, stride, padding, dilation, groups, taps_first)
        borders are filled with `fill`; the weight is (outputs, inputs of a group, taps), or `taps_first` (outputs, taps, inputs)
    tilewright::grouped_product(x, weight)                 (m, g * k) x (n, g, k): weights that were unpacked by groups, in floats
"""

import functools

import torch

SCHEMAS = {
    "quantised_product": "(Tensor a, Tensor b) -> Tensor",
    "quantised_convolution": "(Tensor x, Tensor weight, int fill, SymInt[] stride, SymInt[] padding, SymInt[] dilation, SymInt groups, "
                             "bool taps_first) -> Tensor",
    "grouped_product": "(Tensor x, Tensor weight) -> Tensor",
}


def result_type(a):
    return torch.float32 if a.dtype.is_floating_point else torch.int32


def _product(a, b):
    return torch.matmul(a.double(), b.double()).to(result_type(a))


def _convolution(x, weight, fill, stride, padding, dilation, groups, taps_first):
    wide = torch.nn.functional.pad(x.double(), [p for n in reversed(padding) for p in (n, n)], value=fill)
    weight = weight.movedim(-1, 1) if taps_first else weight
    sums = torch.convolution(wide, weight.double(), None, stride, [0] * len(stride), dilation, False, [0] * len(stride), groups)
    return sums.to(result_type(x))


def _grouped(x, weight):
    return torch.matmul(x, weight.flatten(1).t())


def _grouped_meta(x, weight):
    return x.new_empty((x.shape[0], weight.shape[0]))


def _product_meta(a, b):
    return a.new_empty((*a.shape[:-1], b.shape[-1]), dtype=result_type(a))


def _convolution_meta(x, weight, fill, stride, padding, dilation, groups, taps_first):
    taps = weight.shape[1:-1] if taps_first else weight.shape[2:]
    outputs = [(n + 2 * p - d * (k - 1) - 1) // s + 1 for n, p, d, k, s in zip(x.shape[2:], padding, dilation, taps, stride)]
    return x.new_empty((x.shape[0], weight.shape[0], *outputs), dtype=result_type(x))


@functools.lru_cache(None)
def define():
    """Registers them with PyTorch, once; with kernels for hosts too, for graphs of which a part runs eagerly (sums of 8-bit integers are
    exact in float64)."""
    library = torch.library.Library("tilewright", "DEF")
    kernels = {"quantised_product": (_product, _product_meta), "quantised_convolution": (_convolution, _convolution_meta),
               "grouped_product": (_grouped, _grouped_meta)}
    for name, (eager, meta) in kernels.items():
        library.define(name + SCHEMAS[name])
        library.impl(name, eager, "CPU")
        library.impl(name, meta, "Meta")
    return library
