"""From a Python function over tensors to a program of a board, without the tensors."""

import logging
import threading

import torch
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.fx.experimental.proxy_tensor import make_fx
from torch.fx.experimental.symbolic_shapes import DimDynamic, ShapeEnv, StatelessSymbolicContext

from .. import decompositions, partition, registry
from ..importer import Importer


def in_own_thread(function, *arguments):
    """What the function gives in a thread of its own: in that of an operation, the dispatcher has left the keys of
    autograd and of functionalisation behind, which tracing needs."""
    result = []

    def run():
        torch.set_grad_enabled(False)
        try:
            result.append((function(*arguments), None))
        except BaseException as error:
            result.append((None, error))

    thread = threading.Thread(target=run, name="tilewright-trace")
    messages = logging.getLogger(
        "torch._subclasses.fake_tensor")  # what is wrong with the sizes is the caller's error, once
    before, messages.disabled = messages.disabled, True
    thread.start()
    thread.join()
    messages.disabled = before
    value, error = result[0]
    if error is not None:
        raise error
    return value


def program(function, inputs, board, name):
    """The program of a function of a list of tensors: `inputs` are their shapes (a text is a dynamic size) and types;
    row-major on both sides."""
    registry.load()
    return board.compile(in_own_thread(text_of, function, inputs), name)


def text_of(function, inputs):
    dynamic = any(isinstance(n, str) for shape, _ in inputs for n in shape)
    mode = FakeTensorMode(shape_env=ShapeEnv() if dynamic else None)
    fakes = []
    for shape, dtype in inputs:
        example = torch.empty([7 if isinstance(n, str) else n for n in shape], dtype=dtype, device="meta")
        context = StatelessSymbolicContext(
            dynamic_sizes=[DimDynamic.DYNAMIC if isinstance(n, str) else DimDynamic.STATIC
                           for n in shape]) if dynamic else None
        fakes.append(mode.from_tensor(example, symbolic_context=context))
    with mode:
        module = make_fx(function, decomposition_table=decompositions.table(), _allow_non_fake_inputs=True)(fakes)
    graph = module.graph
    graph.eliminate_dead_code()
    placeholders = [n for n in graph.nodes if n.op == "placeholder"]
    output = next(n for n in graph.nodes if n.op == "output").args[0]
    outputs = list(output) if isinstance(output, (tuple, list)) else [output]
    writer = Importer(placeholders)
    for node in partition.work_nodes(graph):
        writer.write(node)
    return writer.finish(outputs)[0]
