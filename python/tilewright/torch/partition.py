"""Splits a graph into stages that are compiled and stages that run eagerly.

Each node has a stage: the largest of the nodes that it reads, one more where one of the two is compiled and the other is not. Even
stages are compiled, odd ones run eagerly; so every stage runs once, and reads only what earlier ones have made. What runs eagerly and
reads arguments alone is in stage -1, so that it parts no others.
"""

import operator

import torch

from . import importer
from .importer import is_tensor


class Stage:
    def __init__(self, compiled):
        self.compiled = compiled
        self.nodes = []
        self.inputs = []     # nodes of other stages and placeholders whose tensors it reads
        self.outputs = []    # its nodes that others read, or the caller


def is_size_node(node):
    """A node that computes sizes: it is not run, its expression is evaluated where it is used."""
    return isinstance(node.meta.get("val"), (torch.SymInt, torch.SymFloat, torch.SymBool, int, float, bool)) and \
        node.target is not torch.ops.aten._local_scalar_dense.default


#: Checks of what the compiler has seen hold for the shapes of this graph.
ASSERTIONS = ("_assert_tensor_metadata", "_assert_scalar", "sym_constrain_range", "sym_constrain_range_for_size", "_assert_async")


def is_assertion(node):
    return node.op == "call_function" and getattr(node.target, "__name__", "").split(".")[0] in ASSERTIONS


def work_nodes(graph):
    return [n for n in graph.nodes if n.op == "call_function" and not is_size_node(n) and not is_assertion(n)]


def unsupported(nodes):
    """node -> reason, of those that no emitter writes. What takes parts of a tuple goes where the tuple is made."""
    reasons, known = {}, {}
    for node in nodes:
        if node.target is operator.getitem:
            if node.args[0] in reasons:
                reasons[node] = reasons[node.args[0]]
            continue
        key = _signature(node)
        if key not in known:
            known[key] = importer.probe(node)
        if known[key] is not None:
            reasons[node] = known[key]
    return reasons


def _signature(node):
    """Nodes of one signature are all written or none of them."""
    def text(argument):
        if isinstance(argument, torch.fx.Node):
            argument = argument.meta.get("val")
        if is_tensor(argument):
            return (str(argument.dtype), tuple(map(str, argument.shape)), tuple(map(str, argument.stride())), str(argument.layout))
        if isinstance(argument, (list, tuple)):
            return tuple(map(text, argument))
        if isinstance(argument, torch.nn.Module):
            return id(argument)
        return repr(argument)
    return (node.target, text(list(node.args)), tuple((k, text(v)) for k, v in node.kwargs.items()), text(node.meta.get("val")))


def writes(node):
    """An operation that writes to an argument, which others may have to read before."""
    schema = getattr(node.target, "_schema", None)
    return schema is None or schema.is_mutable


def stages(graph, reasons, results):
    """The stages in order. `results`: the nodes whose tensors the caller gets."""
    of_node, made = {}, {}
    nodes = work_nodes(graph)
    for node in nodes:
        wanted = 1 if node in reasons else 0
        stage = wanted if writes(node) else -wanted
        for source in node.all_input_nodes:
            if source in of_node:
                stage = max(stage, of_node[source])
        if stage % 2 != wanted:
            stage += 1
        if node.target is operator.getitem:
            stage = of_node[node.args[0]]
        of_node[node] = stage
    order = {n: i for i, n in enumerate(graph.nodes)}
    wanted_outside = set(results)
    for node in nodes:
        made.setdefault(of_node[node], Stage(of_node[node] % 2 == 0)).nodes.append(node)
    for number, stage in made.items():
        members = set(stage.nodes)
        inputs = {}
        for node in stage.nodes:
            for source in node.all_input_nodes:
                if source not in members and is_tensor(source.meta.get("val")):
                    inputs[source] = None
            # Of a result that is a view its base is wanted, which is among `results`.
            outside = node in wanted_outside or any(user not in members and user.op != "output" and not is_size_node(user)
                                                    for user in node.users)
            if outside and is_tensor(node.meta.get("val")):
                stage.outputs.append(node)
        stage.inputs = sorted(inputs, key=order.get)
    return [made[number] for number in sorted(made)]


def live(stage):
    """The nodes of a compiled stage that its outputs need, in order."""
    needed = set()
    pending = list(stage.outputs)
    members = set(stage.nodes)
    while pending:
        node = pending.pop()
        if node in needed or node not in members:
            continue
        needed.add(node)
        pending.extend(node.all_input_nodes)
    return [n for n in stage.nodes if n in needed]


# Results that are views


def base_of(node):
    """The tensor whose memory a node's result looks at: itself, or what its chain of views begins with."""
    while node.op == "call_function" and is_tensor(node.meta.get("val")):
        source = node.args[0] if node.args else None
        if node.target is operator.getitem:
            schema = getattr(source.target, "_schema", None)
            viewed = source.args[0] if source.op == "call_function" and source.args else None
        else:
            schema, viewed, = getattr(node.target, "_schema", None), source
        if schema is None or not schema.arguments or not isinstance(viewed, torch.fx.Node) or not is_tensor(viewed.meta.get("val")):
            return node
        alias = schema.arguments[0].alias_info
        if alias is None or alias.is_write or not schema.returns[0].alias_info:
            return node
        mine, other = node.meta["val"], viewed.meta["val"]
        if mine.dtype != other.dtype or mine.untyped_storage()._cdata != other.untyped_storage()._cdata:
            return node
        node = viewed
    return node
