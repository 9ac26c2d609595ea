"""Dequantised tensors by their arithmetic: (integers - zero) * scale, with views after it.

    q.to(f32), (q.to(f32) - z) * s, dequantize_per_tensor(q, s, z, ..), t(dequantize_per_channel(q, s, z, 0, ..)), ...

8-bit floats likewise. Whoever wrote the operations, the form is the same.
"""

import dataclasses
import math

import torch
import torch.ao.quantization.fx._decomposed  # noqa: F401 (defines the operations)

aten = torch.ops.aten

#: What units may multiply, by the names of their records.
NAMES = {torch.int8: "i8", torch.uint8: "u8", torch.float8_e4m3fn: "f8e4m3", torch.float8_e5m2: "f8e5m2",
         torch.float8_e4m3fnuz: "f8e4m3fnuz", torch.float8_e5m2fnuz: "f8e5m2fnuz"}
INTEGERS = (torch.int8, torch.uint8, torch.int16, torch.int32, torch.int64)

#: Views that move elements of all operands of a form alike.
PERMUTATIONS = (aten.t.default, aten.permute.default, aten.transpose.int)
SAME = (aten.clone.default, aten.alias.default, aten.detach.default, aten.lift_fresh_copy.default)
#: Views of the integers where scale and zero point are one number.
RESHAPES = (aten.view.default, aten._unsafe_view.default, aten.reshape.default, aten.unsqueeze.default, aten.squeeze.dim, aten.squeeze.dims,
            aten.expand.default, aten.slice.Tensor, aten.select.int)
CONVERSIONS = (aten._to_copy.default, torch.ops.prims.convert_element_type.default)


@dataclasses.dataclass(frozen=True)
class Form:
    """(integers - zero) * product of scales. `zero`: None, a number or a node; `scales`: numbers and nodes. Nodes broadcast over the
    integers. `views`: what is applied to integers, zero and scales after they are read, as (target, arguments)."""
    integers: torch.fx.Node
    zero: object = None
    scales: tuple = ()
    views: tuple = ()
    channel: int = None  # zero and scales are vectors along this dimension, before the views

    def operands(self):
        return [v for v in (self.zero, *self.scales) if isinstance(v, torch.fx.Node)]


def fake(node):
    return node.meta.get("val") if isinstance(node, torch.fx.Node) else None


def is_number(value):
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def whole(value):
    """A zero point as a number, or as a node of integers; None where it is neither."""
    if is_number(value):
        return int(value) if float(value).is_integer() else None
    if isinstance(value, torch.fx.Node):
        if isinstance(fake(value), torch.Tensor) and fake(value).dtype in INTEGERS:
            return value
        if value.target in CONVERSIONS and fake(value).dtype.is_floating_point and fake(value.args[0]).dtype in INTEGERS:
            return value.args[0]
    return None


class Forms:
    """The form of each node that has one."""

    def __init__(self):
        self.known = {}

    def of(self, node):
        """None where there is none."""
        if isinstance(node, torch.fx.Node) and node not in self.known:
            self.known[node] = self._read(node)
        return self.known.get(node)

    def _read(self, node):
        value = fake(node)
        if node.op != "call_function" or not isinstance(value, torch.Tensor):
            return None
        reader = READERS.get(node.target)
        return reader(self, node, *node.args) if reader else None


def _dequantised(forms, node, x, scale, zero, *_):
    if fake(node).dtype != torch.float32 or fake(x).dtype not in NAMES or whole(zero) is None:
        return None
    return Form(x, whole(zero) or None, (scale,))


def _dequantised_by_channel(forms, node, x, scales, zeros, axis, *_):
    if fake(node).dtype != torch.float32 or fake(x).dtype not in NAMES or fake(scales).dtype != torch.float32:
        return None
    return Form(x, zeros, (scales,), channel=axis)


def _converted(forms, node, x, *_):
    value = fake(x)
    return Form(x) if fake(node).dtype == torch.float32 and isinstance(value, torch.Tensor) and value.dtype in NAMES else None


def _without_zero(forms, node, x, zero):
    form = forms.of(x)
    if form is None and isinstance(x, torch.fx.Node) and fake(x).dtype in NAMES and fake(node).dtype in (torch.int32, torch.int64):
        form = Form(x)
    if form is None or node.kwargs or form.zero is not None or form.scales or form.channel is not None or form.views or whole(zero) is None or \
            fake(node).shape != fake(x).shape:
        return None
    return dataclasses.replace(form, zero=whole(zero) or None)


def _scaled(forms, node, x, scale):
    if forms.of(x) is None:
        x, scale = scale, x
    form = forms.of(x)
    if form is None or form.channel is not None or form.views or fake(node).dtype != torch.float32 or fake(node).shape != fake(x).shape:
        return None
    if isinstance(scale, torch.fx.Node):
        if forms.of(scale) is not None or fake(scale).dtype != torch.float32:
            return None
    elif not is_number(scale):
        return None
    return dataclasses.replace(form, scales=(*form.scales, scale))


def _same(forms, node, x, *_):
    return forms.of(x)


def _permuted(forms, node, x, *rest):
    form = forms.of(x)
    return form and dataclasses.replace(form, views=(*form.views, (node.target, rest)))


def _reshaped(forms, node, x, *rest):
    form = forms.of(x)
    if form is None:
        return None
    if fake(node).shape == fake(x).shape:
        return form
    if any(math.prod(fake(v).shape) != 1 for v in form.operands()):
        return None
    return dataclasses.replace(form, views=(*form.views, (node.target, rest)))


def _readers():
    decomposed = torch.ops.quantized_decomposed
    return {
        decomposed.dequantize_per_tensor.default: _dequantised, decomposed.dequantize_per_tensor.tensor: _dequantised,
        decomposed.dequantize_per_channel.default: _dequantised_by_channel, aten.sub.Tensor: _without_zero, aten.mul.Tensor: _scaled,
        **{t: _converted for t in CONVERSIONS}, **{t: _same for t in SAME}, **{t: _permuted for t in PERMUTATIONS},
        **{t: _reshaped for t in RESHAPES},
    }


READERS = _readers()
