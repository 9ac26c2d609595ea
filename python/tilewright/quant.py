"""Quantises PyTorch models for a chip, as its records say which 8-bit integers its matrix units multiply.

    from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e
    from tilewright.quant import ChipQuantizer

    prepared = prepare_pt2e(torch.export.export(model, args).module(), ChipQuantizer("nvidia:H200"))
    prepared(*args)                                                  # calibration
    quantised = torch.compile(convert_pt2e(prepared), backend="tilewright", options={"target": "nvidia:H200"})

It is a quantizer of torchao's export path (PT2E), so that every tool which takes one of those takes it.
"""

from __future__ import annotations

from typing import Any, Sequence

from .compiler import describe
from .errors import OptionError

try:
    import torch
    from torchao.quantization.pt2e import HistogramObserver, PerChannelMinMaxObserver
    from torchao.quantization.pt2e.quantizer import QuantizationAnnotation, QuantizationSpec, Quantizer, SharedQuantizationSpec
except ImportError as error:
    raise ImportError(f"tilewright.quant needs PyTorch and torchao (pip install torch==2.13.0 torchao==0.18.0): {error}") from error

__all__ = ["ChipQuantizer", "operand_types"]

aten = torch.ops.aten

CONVOLUTIONS = (aten.conv1d.default, aten.conv2d.default, aten.conv3d.default, aten.conv1d.padding, aten.conv2d.padding, aten.conv3d.padding)
#: Products of activations with weights: input, weight.
WITH_WEIGHTS = (*CONVOLUTIONS, aten.linear.default)
#: Products of two activations.
OF_ACTIVATIONS = (aten.matmul.default, aten.bmm.default, aten.mm.default)
#: What gives elements of its input again: its result has the input's scale.
SELECTIONS = (aten.max_pool1d.default, aten.max_pool2d.default, aten.max_pool3d.default)

#: Types of activations and weights.
PAIRS = (("u8", "i8"), ("i8", "i8"))

KEY = "quantization_annotation"
#: No scale is smaller, as in PyTorch's own quantizers.
SMALLEST_SCALE = 2.0**-12


def operand_types(target: str = "cpu:host", *, plugins: Sequence[str] = ()) -> tuple[str, str]:
    """The types of activations and weights whose products the fastest matrix unit of the chip sums in i32; of equal ones activations
    without sign, which lose no value after a ReLU. OptionError where no unit takes 8-bit integers."""
    units = describe(target, plugins=plugins)["units"]
    rates: dict[tuple[str, str], float] = {}
    for unit in units:
        taken = unit["a"]["element"], unit["b"]["element"]
        for pair in PAIRS:
            if unit["c"]["element"] == "i32" and taken in (pair, pair[::-1], ("i16", "i16")):  # 16-bit units take both, widened
                rates[pair] = max(rates.get(pair, 0), unit["operationsPerClock"])
    if not rates:
        names = sorted({f"{u['a']['element']} x {u['b']['element']} -> {u['c']['element']}" for u in units})
        raise OptionError(
            f"no matrix unit of '{target}' multiplies signed 8-bit weights with sums in i32; its units are {', '.join(names) or 'none'}; "
            "quantise weights alone (torchao's Int8WeightOnlyConfig)")
    return max(rates, key=lambda pair: (rates[pair], pair == PAIRS[0]))


class ChipQuantizer(Quantizer):
    """Annotates convolutions, linear layers and products of matrices with the types that the chip's units take: activations with one scale
    and zero point for a tensor, weights symmetric with a scale for each output channel. The addend of a residual is quantised where a
    convolution reads it too, so that it is stored once; maximum pools keep their input's scale."""

    def __init__(self, target: str = "cpu:host", *, plugins: Sequence[str] = ()) -> None:
        super().__init__()
        self.target = target
        self.types = operand_types(target, plugins=plugins)
        unsigned = self.types[0] == "u8"
        self.activation = QuantizationSpec(
            dtype=torch.uint8 if unsigned else torch.int8, quant_min=0 if unsigned else -128, quant_max=255 if unsigned else 127,
            qscheme=torch.per_tensor_affine, observer_or_fake_quant_ctr=HistogramObserver.with_args(eps=SMALLEST_SCALE))
        self.weight = QuantizationSpec(
            dtype=torch.int8, quant_min=-127, quant_max=127, qscheme=torch.per_channel_symmetric, ch_axis=0,
            observer_or_fake_quant_ctr=PerChannelMinMaxObserver.with_args(eps=SMALLEST_SCALE))

    def annotate(self, model: Any) -> Any:
        specs: dict[Any, dict[Any, Any]] = {}
        for node in model.graph.nodes:
            if node.target in (*WITH_WEIGHTS, *OF_ACTIVATIONS) and node.meta["val"].dtype == torch.float32:
                other = self.weight if node.target in WITH_WEIGHTS and is_weight(node.args[1]) else self.activation
                specs[node] = {node.args[0]: self.activation, node.args[1]: other}
        for node in model.graph.nodes:
            if node.target in SELECTIONS and any(u in specs and specs[u].get(node) is self.activation for u in node.users):
                specs[node] = {node.args[0]: self.activation}
        for node in model.graph.nodes:
            if node.target in (aten.add.Tensor, aten.add_.Tensor):
                shared = {a for a in node.args if isinstance(a, torch.fx.Node) and any(
                    u.target in CONVOLUTIONS and u in specs and specs[u].get(a) is self.activation for u in a.users)}
                if shared:
                    specs[node] = {a: self.activation for a in shared}
        for node, inputs in specs.items():
            output = SharedQuantizationSpec((node.args[0], node)) if node.target in SELECTIONS else None
            node.meta[KEY] = QuantizationAnnotation(input_qspec_map=inputs, output_qspec=output, _annotated=True)
        return model

    def validate(self, model: Any) -> None:
        pass


def is_weight(node: Any) -> bool:
    """Whether the value is a parameter or buffer, which may have a scale for each channel."""
    return isinstance(node, torch.fx.Node) and node.op == "get_attr"
