"""Weights of 8 bits that products of floats read are converted in the order in which they lie in memory, so that the product may convert
them while it reads them:

    mm(x, mul(to_f32(t(w)), t(s)))      ->   linear(x, mul(to_f32(w), s))
    mm(x, t(view(mul(to_f32(w), s))))   ->   grouped_product(x, mul(to_f32(w), s))      w by groups: (n, g, k)
"""

import torch

from . import quantised_operations
from .forms import CONVERSIONS, PERMUTATIONS, RESHAPES, fake

aten = torch.ops.aten


def sink_permutations(graph):
    """Moves permutations of 8-bit weights after their conversion and scale."""
    for node in list(graph.nodes):
        if node.op != "call_function":
            continue
        if node.target in CONVERSIONS and is_permuted(node.args[0]) and fake(node.args[0]).dtype.itemsize == 1:
            moved(graph, node, [node.args[0]])
        elif node.target is aten.mul.Tensor and not node.kwargs and all(map(is_permuted, node.args)) and \
                node.args[0].args[1:] == node.args[1].args[1:] and node.args[0].target is node.args[1].target and \
                fake(node.args[0]).dim() == fake(node.args[1]).dim() and unpacked(node.args[0].args[0]):
            moved(graph, node, list(node.args))
    for node in list(graph.nodes):
        place = PRODUCTS.get(node.target) if node.op == "call_function" else None
        if place is not None and not node.kwargs and is_transposed(node.args[place + 1]) and is_wide(node.args[place + 1].args[0]):
            x, weight = node.args[place], node.args[place + 1].args[0]
            with graph.inserting_before(node):
                product = by_groups(graph, node, x, weight, node.args[:place]) or \
                    graph.call_function(aten.linear.default, (x, weight, *node.args[:place]))
                product.meta = dict(node.meta)
            node.replace_all_uses_with(product)
            graph.erase_node(node)
    graph.eliminate_dead_code()


def by_groups(graph, node, x, weight, addend):
    """The product where the weight's rows are put together from groups: it sums over groups and in them, and nothing is put together."""
    grouped = weight.args[0] if weight.target in (aten.view.default, aten.reshape.default, aten._unsafe_view.default) else None
    if fake(grouped) is None or fake(grouped).dim() != 3 or fake(grouped).shape[0] != fake(weight).shape[0]:
        return None
    quantised_operations.define()
    product = graph.call_function(torch.ops.tilewright.grouped_product.default, (x, grouped))
    product.meta = {k: v for k, v in node.meta.items()}
    return graph.call_function(aten.add.Tensor, (product, *addend)) if addend else product


#: Products of matrices: the place of their first operand.
PRODUCTS = {aten.mm.default: 0, aten.addmm.default: 1}


def is_transposed(value):
    """A matrix with its dimensions exchanged."""
    return is_permuted(value) and fake(value).dim() == 2 and (value.target is not aten.permute.default or list(value.args[1]) == [1, 0])


def is_wide(value):
    """Computed from an 8-bit weight of as many elements, by a conversion and what keeps each element where it is."""
    while isinstance(value, torch.fx.Node) and value.target in (*CONVERSIONS, *RESHAPES, aten.mul.Tensor, aten.sub.Tensor) and \
            fake(value.args[0]) is not None and fake(value.args[0]).numel() == fake(value).numel():
        value = value.args[0]
        if fake(value).dtype.itemsize == 1:
            return True
    return False


def is_permuted(value):
    return isinstance(value, torch.fx.Node) and value.target in PERMUTATIONS


def unpacked(value):
    return isinstance(value, torch.fx.Node) and value.target in CONVERSIONS and fake(value.args[0]).dtype.itemsize == 1


def moved(graph, node, permutations):
    """Replaces f(p(x), ..) by p(f(x, ..))."""
    first = permutations[0]
    with graph.inserting_before(node):
        inner = graph.call_function(node.target, tuple(a.args[0] if a in permutations else a for a in node.args), node.kwargs)
        inner.meta = {k: v for k, v in node.meta.items() if k != "val"}
        inner.meta["val"] = node.target(*(fake(a) if isinstance(a, torch.fx.Node) else a for a in inner.args), **inner.kwargs)
        outer = graph.call_function(first.target, (inner, *first.args[1:]))
        outer.meta = dict(node.meta)
        outer.meta["val"] = first.target(inner.meta["val"], *first.args[1:])
    node.replace_all_uses_with(outer)
    graph.erase_node(node)
