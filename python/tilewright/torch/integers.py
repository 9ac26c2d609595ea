"""Products and convolutions of dequantised operands become products of their integers, with corrections for the zero points:

    x = (qx - zx) * sx                 y = sx * sw * (sum(qx * qw) - zx * sum(qw) - zw * sum(qx) + count * zx * zw)
    w = (qw - zw) * sw        ->           all sums in i32, exact
    y = sum(x * w)

An operand is recognised by its arithmetic, whoever wrote it: PyTorch's dequantise operations, or a conversion, a subtraction and a
multiplication, with views between. Scales and zero points are the same along the summed dimensions. What reads y (bias, activation,
quantisation) stays as it is. Operands of 8-bit floats likewise, without zero points and with sums in f32, where the chip has a unit for
them. The pass runs on graphs without gradients.
"""

import contextlib
import math

import torch
from torch._guards import detect_fake_mode

from ..compiler import describe
from . import quantised_operations
from .forms import CONVERSIONS, NAMES, PERMUTATIONS, RESHAPES, SAME, Forms, fake, is_number

aten = torch.ops.aten


def unit_types(options):
    """Pairs of 8-bit types whose products the matrix units of the options' chip sum in 32 bits: {("u8", "i8"), ...}."""
    return {(u["a"]["element"], u["b"]["element"]) for u in describe(options.target, plugins=options.plugins)["units"]
            if u["c"]["element"] in ("i32", "f32") and {u["a"]["element"], u["b"]["element"]} <= set(NAMES.values())}


OTHER = {torch.int8: torch.uint8, torch.uint8: torch.int8}
#: What turns the highest bit: integers of the other sign whose zero point lies 128 higher (signed to unsigned) or lower.
HIGHEST_BIT = {torch.int8: -128, torch.uint8: 128}


def signs_for(a, b, taken):
    """Whether operands of types a, b are given the other sign, so that a unit takes them: the first operand before the second."""
    if a.is_floating_point:
        return False, False
    for change in ((False, False), (True, False), (False, True), (True, True)):
        one, other = (OTHER[t] if c else t for t, c in zip((a, b), change))
        if (NAMES[one], NAMES[other]) in taken or (NAMES[other], NAMES[one]) in taken:
            return change
    return False, False


class Operand:
    """One operand of a product in the graph: its integers, zero point and scales, each as a number or a tensor of the integers' rank."""

    def __init__(self, writer, form, node):
        self.writer, self.form, self.node = writer, form, node
        self.type = fake(form.integers).dtype

    def write(self, other_sign):
        w, form = self.writer, self.form
        q = form.integers
        if other_sign:
            q = w.other_sign(q)
        for target, rest in form.views:
            q = w.call(target, q, *rest)
        self.integers = q
        self.zero = None if w.is_zero(form.zero) else self._placed(form.zero)
        if other_sign:
            self.zero = self._moved(self.zero, -128 if self.type == torch.uint8 else 128)
        self.scales = [self._placed(s) for s in form.scales]

    def _moved(self, zero, by):
        if zero is None:
            return by
        # 32 bits: 128 more than an i8 is none.
        return zero + by if is_number(zero) else self.writer.call(aten.add.Tensor, as_i32(self.writer, zero), by)

    def _placed(self, value):
        """A zero point or scale with the rank of the integers after the views."""
        if not isinstance(value, torch.fx.Node):
            return value
        w, rank, shape = self.writer, fake(self.node).dim(), fake(value).shape
        before = fake(self.form.integers).dim()
        if math.prod(shape) == 1:
            return w.call(aten.view.default, value, [1] * rank)
        if self.form.channel is not None:
            value = w.call(aten.view.default, value, [-1 if i == self.form.channel else 1 for i in range(before)])
        elif len(shape) < before:
            value = w.call(aten.view.default, value, [1] * (before - len(shape)) + list(shape))
        for target, rest in self.form.views:  # permutations
            value = w.call(target, value, *rest)
        return value

    def constant_along(self, axes):
        """No scale and no zero point changes along these dimensions of the operand."""
        return all(self._constant(v, axes) for v in self.form.operands())

    def _constant(self, value, axes):
        shape = fake(value).shape
        if math.prod(shape) == 1:
            return True
        before = fake(self.form.integers).dim()
        if self.form.channel is not None:
            varies = [i == self.form.channel for i in range(before)]
        else:
            varies = [False] * (before - len(shape)) + [n != 1 for n in shape]
        marks = torch.empty([2 if v else 1 for v in varies])
        for target, rest in self.form.views:
            marks = target(marks, *rest)
        return all(marks.shape[a] == 1 for a in axes)

    def largest(self):
        """A bound of |integer - zero|. Zero points that are tensors lie in the range of the integers, as quantizers choose them."""
        low, high = torch.iinfo(self.type).min, torch.iinfo(self.type).max
        if self.writer.is_zero(self.form.zero):
            return max(-low, high)
        return max(high - self.form.zero, self.form.zero - low) if is_number(self.form.zero) else high - low


class Writer:
    """Writes nodes before the one that is replaced."""

    def __init__(self, graph, zeros):
        self.graph, self.zeros, self.used, self.flipped = graph, zeros, set(), {}
        self.forms, self.trace = Forms(), None
        self.mode = detect_fake_mode([n.meta.get("val") for n in graph.nodes if n.op == "placeholder"]) or contextlib.nullcontext()

    def call(self, target, *args, **kwargs):
        node = self.graph.call_function(target, args, kwargs)

        def value(a):
            return a.meta["val"] if isinstance(a, torch.fx.Node) else [value(e) for e in a] if isinstance(a, (list, tuple)) else a
        with self.mode:
            node.meta["val"] = target(*map(value, args), **kwargs)
        if self.trace:
            node.meta["stack_trace"] = self.trace
        return node

    def is_zero(self, value):
        """Whether a zero point is 0 everywhere: the number, or one of `zeros`, seen through views and conversions."""
        while isinstance(value, torch.fx.Node) and value.target in (*RESHAPES, *PERMUTATIONS, *SAME, *CONVERSIONS):
            value = value.args[0]
        if not isinstance(value, torch.fx.Node):
            return value is None or value == 0
        if value in self.zeros:
            self.used.add(value)
        return value in self.zeros

    def other_sign(self, q):
        """The integers with the other sign: one node for all that read them."""
        if q not in self.flipped:
            with self.graph.inserting_after(q):
                turned = self.call(aten.bitwise_xor.Scalar, q, HIGHEST_BIT[fake(q).dtype])
            with self.graph.inserting_after(turned):
                self.flipped[q] = self.call(aten._to_copy.default, turned, dtype=OTHER[fake(q).dtype])
        return self.flipped[q]


def as_i32(w, value):
    return value if is_number(value) or fake(value).dtype == torch.int32 else w.call(aten._to_copy.default, value, dtype=torch.int32)


def corrections(w, x, y, count, sum_x, sum_y):
    """What is to be taken from sum(qx * qy): zero_x * sum(y), zero_y * sum(x), and both with count * zero_x * zero_y taken from the first.
    `sum_x()`, `sum_y()` write sums that broadcast to the result."""
    terms = [w.call(aten.mul.Tensor, sums(), as_i32(w, zero)) for zero, sums in ((x.zero, sum_y), (y.zero, sum_x)) if zero is not None]
    if len(terms) == 2:
        one, other = as_i32(w, x.zero), as_i32(w, y.zero)
        if is_number(one) and is_number(other):
            terms[0] = w.call(aten.sub.Tensor, terms[0], one * other * count)
        else:
            both = w.call(aten.mul.Tensor, *((one, other) if not is_number(one) else (other, one)))
            terms[0] = w.call(aten.sub.Tensor, terms[0], w.call(aten.mul.Tensor, both, count))
    return terms


def factors(w, scales):
    """The product of the scales as few factors: numbers first, so that they go into the vectors."""
    number = math.prod(torch.tensor(s, dtype=torch.float32).item() for s in scales if is_number(s))
    vectors = [s if fake(s).dtype == torch.float32 else w.call(aten._to_copy.default, s, dtype=torch.float32) for s in scales if not is_number(s)]
    vectors.sort(key=lambda s: math.prod(fake(s).shape) != 1)
    if vectors and number != 1:
        vectors[0] = w.call(aten.mul.Tensor, vectors[0], number)
    return vectors or [number]


def finished(w, total, terms, scales):
    """(total - terms) in f32, times the scales."""
    for term in terms:
        total = w.call(aten.sub.Tensor, total, term)
    value = total if fake(total).dtype == torch.float32 else w.call(aten._to_copy.default, total, dtype=torch.float32)
    for factor in scales:
        value = w.call(aten.mul.Tensor, value, factor)
    return value


def fits(x, y, count, taken):
    """Integers: no sum leaves i32. 8-bit floats: without zero points, and a unit takes them."""
    if x.type.is_floating_point or y.type.is_floating_point:
        pair = NAMES[x.type], NAMES[y.type]
        return x.form.zero is None and y.form.zero is None and (pair in taken or pair[::-1] in taken)
    return isinstance(count, int) and 0 < count * x.largest() * y.largest() < 2**31


def product(w, node, a, b, taken):
    """The integer form of (m, k) x (k, n) or a batch of them; None where there is none."""
    x, y = Operand(w, w.forms.of(a), a), Operand(w, w.forms.of(b), b)
    rank = fake(a).dim()
    count = fake(a).shape[-1]
    if not (x.constant_along([rank - 1]) and y.constant_along([rank - 2]) and fits(x, y, count, taken)):
        return None
    with w.graph.inserting_before(node):
        for operand, sign in zip((x, y), signs_for(x.type, y.type, taken)):
            operand.write(sign)
        # What the epilogue reads comes first, so that nothing lies between the product and its epilogue.
        terms = corrections(w, x, y, count,
                            lambda: w.call(aten.sum.dim_IntList, x.integers, [rank - 1], True, dtype=torch.int32),
                            lambda: w.call(aten.sum.dim_IntList, y.integers, [rank - 2], True, dtype=torch.int32))
        scales = factors(w, [*x.scales, *y.scales])
        total = w.call(torch.ops.tilewright.quantised_product.default, x.integers, y.integers)
        return finished(w, total, terms, scales)


#: Summed elements of 8 bits that units take at once, in 32 bits; with fewer channels they take them along the taps.
SIDE_BY_SIDE = 4


def convolution(w, node, taken):
    """The integer form of a convolution, without bias; None where there is none."""
    a, b, _, stride, padding, dilation, transposed, _, groups = node.args
    x, y = Operand(w, w.forms.of(a), a), Operand(w, w.forms.of(b), b)
    rank = fake(b).dim()
    count = math.prod(fake(b).shape[1:])
    padded = any(p != 0 for p in padding)
    # Zero and scale of x are one number; only where they are known may borders be filled.
    if transposed or fake(a).dim() != rank or not all(isinstance(n, int) for n in fake(b).shape) or not x.constant_along(range(rank)) or \
            not y.constant_along(range(1, rank)) or not fits(x, y, count, taken) or (padded and not (x.form.zero is None or is_number(x.form.zero))):
        return None
    spatial = rank - 2
    stride, padding, dilation = (list(v) * spatial if len(v) == 1 else list(v) for v in (stride, padding, dilation))
    with w.graph.inserting_before(node):
        for operand, sign in zip((x, y), signs_for(x.type, y.type, taken)):
            operand.write(sign)
        fill = x.zero if is_number(x.zero) else 0
        convolve = torch.ops.tilewright.quantised_convolution.default

        def by_channel(value):
            """A zero point or scale of the weights as it broadcasts to the result."""
            return value if value is None or is_number(value) or math.prod(fake(value).shape) == 1 else \
                w.call(aten.view.default, value, [-1] + [1] * spatial)
        y.zero, y.scales = by_channel(y.zero), [by_channel(s) for s in y.scales]

        def over_weights():
            return by_channel(w.call(aten.sum.dim_IntList, y.integers, list(range(1, rank)), False, dtype=torch.int32))

        def over_windows():
            """Sums of x over the windows of each group: over its channels first, then over the taps."""
            shape, weights = fake(x.integers).shape, fake(b).shape
            each = weights[0] // groups
            split = w.call(aten.view.default, x.integers, [shape[0], groups, weights[1], *shape[2:]])
            channels = w.call(aten.sum.dim_IntList, split, [2], False, dtype=torch.int32)
            ones = w.call(aten.full.default, [groups, 1, *weights[2:]], 1, dtype=torch.int32)
            sums = w.call(convolve, channels, ones, fill * weights[1], stride, padding, dilation, groups, False)
            if each == 1 or groups == 1:
                return sums
            wide = w.call(aten.expand.default, w.call(aten.unsqueeze.default, sums, 2), [-1, -1, each, *[-1] * spatial])
            return w.call(aten.reshape.default, wide, [shape[0], groups * each, *fake(sums).shape[2:]])
        terms, scales = corrections(w, x, y, count, over_windows, over_weights), factors(w, [*x.scales, *y.scales])
        weights, taps_first = y.integers, fake(b).shape[1] >= SIDE_BY_SIDE
        if taps_first:  # the channels side by side; of frozen weights once for all calls
            weights = w.call(aten.permute.default, weights, [0, *range(2, rank), 1])
            weights = w.call(aten.clone.default, weights, memory_format=torch.contiguous_format)
        total = w.call(convolve, x.integers, weights, fill, stride, padding, dilation, groups, taps_first)
        return finished(w, total, terms, scales)


def rewrite(graph, options, zeros=frozenset(), taken=None):
    """Replaces products of dequantised operands in the graph, which has no gradients. `zeros`: inputs that are 0 everywhere; `taken`: what
    units take, where it is not what those of the options' chip do. Gives the number of products that were replaced, and those of `zeros`
    that this relied on."""
    quantised_operations.define()
    count = 0
    w = Writer(graph, zeros)
    for node in list(graph.nodes):
        operands = OPERANDS.get(node.target) if node.op == "call_function" else None
        if operands is None or fake(node).dtype != torch.float32:
            continue
        places, bias = operands
        if not all(w.forms.of(node.args[p]) is not None for p in places) or (bias == 0 and node.kwargs):
            continue
        taken = unit_types(options) if taken is None else taken
        w.trace = node.meta.get("stack_trace")
        value = convolution(w, node, taken) if node.target is aten.convolution.default else product(w, node, *(node.args[p] for p in places), taken)
        if value is None:
            continue
        addend = node.args[bias] if bias is not None else None
        if addend is not None:
            with graph.inserting_before(node):
                if node.target is aten.convolution.default:
                    addend = w.call(aten.view.default, addend, [-1] + [1] * (fake(node).dim() - 2))
                value = w.call(aten.add.Tensor, value, addend)
        node.replace_all_uses_with(value)
        graph.erase_node(node)
        count += 1
    graph.eliminate_dead_code()
    return count, w.used


#: Products: the places of their operands, and of what is added.
OPERANDS = {
    aten.mm.default: ((0, 1), None), aten.bmm.default: ((0, 1), None), aten.addmm.default: ((1, 2), 0), aten.baddbmm.default: ((1, 2), 0),
    aten.convolution.default: ((0, 1), 2),
}
