"""`torch.compile(model, backend="tilewright")`.

Dynamo's graph goes through AOTAutograd, which makes it functional, splits it into forward and backward, and takes composite operations
apart; `compile_graph` makes one Python function of each of these graphs.
"""

import contextlib
import copy
import dataclasses
import gc
import logging
import operator

import torch
from torch._dynamo.backends.common import aot_autograd
from torch._functorch.partitioners import min_cut_rematerialization_partition

from ..emit.sizes import plain
from . import assumed, attention, checkpoints, complex_pairs, decompositions, flexible, freeze, integers, options as options_, partition, recurrent, \
    registry, unpack
from .device import board_of
from .importer import Importer, is_tensor, memory_order, source_line
from .launch import Source, bind_inputs, call_eager, call_program
from .program import CompilerError, compile_program

log = logging.getLogger(__name__)


class UnsupportedError(RuntimeError):
    """An operation cannot be compiled, and `strict` does not let it run eagerly."""


@contextlib.contextmanager
def collector_paused():
    """Cyclic garbage waits until a graph is compiled: a full collection walks all that PyTorch has loaded."""
    runs = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if runs:
            gc.enable()


@collector_paused()
def backend(graph, example_inputs, *, mode=None, options=None):
    """The back end as torch.compile calls it."""
    settings = on_device(options_.read(options, mode), example_inputs)
    check_devices(example_inputs, settings)
    if options_.MODES[mode]:
        log.info("mode %r: %s", mode, options_.MODES[mode])

    zero = assumed.all_zero(example_inputs)
    recurrent.keep_whole(graph)
    attention.keep_whole(graph)
    flexible.take_apart(graph)

    @collector_paused()
    def compiler(module, inputs):
        if settings.freeze:
            raise UnsupportedError("options={'freeze': True} holds what follows from the weights, so that no gradient reaches them; call "
                                   "the model under torch.no_grad(), or leave the option out")
        return compile_graph(module, settings)

    def inference_compiler(module, inputs):
        return compile_inference(module, settings, zero)
    return aot_autograd(fw_compiler=compiler, bw_compiler=compiler, inference_compiler=inference_compiler, decompositions=decompositions.table(),
                        partition_fn=min_cut_rematerialization_partition)(graph, example_inputs)


def on_device(options, inputs):
    """The options with `device` set where tensors of a device say it."""
    places = {t.device for t in inputs if isinstance(t, torch.Tensor)}
    if options.device is None and any(place.type == "cuda" for place in places):
        return dataclasses.replace(options, device="gpu")
    own = next((place for place in places if board_of(place) is not None), None)
    if own is not None:
        return options_.on_registered(options, own)
    return options


def check_devices(inputs, options):
    """Tensors lie where the programs of this target run."""
    where = "cuda" if options.device == "gpu" else "cpu" if options.board is None else torch.device(options.device).type
    for i, tensor in enumerate(inputs):
        if isinstance(tensor, torch.Tensor) and tensor.device.type != where:
            raise UnsupportedError(
                f"tensor {i} of the graph is on {tensor.device}, but programs for '{options.target}' "
                f"take tensors on {where}")


def compile_graph(module, options):
    """One graph of ATen operations as a function of a list of its inputs, which it empties."""
    registry.load()
    graph = module.graph
    graph.eliminate_dead_code()
    for node in graph.nodes:
        if node.op == "get_attr":
            node.meta.setdefault("val", getattr(module, node.target))
    checkpoints.run_without_state(graph)
    complex_pairs.rewrite(graph)
    reasons = partition.unsupported(partition.work_nodes(graph))
    report(reasons, options)
    output = next(n for n in graph.nodes if n.op == "output")
    results = output.args[0] if isinstance(output.args[0], (tuple, list)) else [output.args[0]]
    bases = {n: partition.base_of(n) for n in results if isinstance(n, torch.fx.Node) and is_tensor(n.meta.get("val"))}
    source = Source()
    bind_inputs(source, [n for n in graph.nodes if n.op == "placeholder"])
    for node in graph.nodes:
        if node.op == "get_attr":
            source.names[node] = source.bind(getattr(module, node.target), "attribute")
    for stage in partition.stages(graph, reasons, list(bases.values())):
        if not stage.compiled or (stage.outputs and not write_stage(source, stage, options)):
            for node in stage.nodes:
                call_eager(source, node)
    source.line("return [" + ", ".join(result_text(source, n, bases) for n in results) + "]")
    return source.finish()


def compile_inference(module, options, zero):
    """A graph without gradients. `zero`: of each input whether it is 0 now (`assumed.py`)."""
    registry.load()
    zeros = assumed.zero_inputs(module.graph, zero)
    before = copy.deepcopy(module.graph) if zeros else None
    _, used = integers.rewrite(module.graph, options, set(zeros))
    unpack.sink_permutations(module.graph)
    run = compile_frozen(module, options) if options.freeze else compile_graph(module, options)
    if not used:
        return run

    def otherwise():
        integers.rewrite(before, options)
        unpack.sink_permutations(before)
        return compile_graph(torch.fx.GraphModule(module, before), options)
    return assumed.Zeros(run, sorted(zeros[n] for n in used), otherwise).function()


def compile_frozen(module, options):
    """The same of a graph without gradients: its part that follows from the module's own tensors is a function of its own, called when
    these are new or changed."""
    registry.load()
    constants, inputs = freeze.split(module, fold=options.fp != "strict")
    run = compile_graph(module, options)
    if constants is None:
        return run
    # It runs once: to compile it takes longer. Where the contract says how sums are added it is compiled, and where a board has the tensors.
    eagerly = options.fp in ("default", "fast") and options.board is None
    held = freeze.Held(freeze.computed(constants) if eagerly else compile_graph(torch.fx.GraphModule(module, constants), options))

    def run_frozen(args):
        args.extend(held([args[i] for i in inputs]))
        return run(args)
    run_frozen._boxed_call = True
    return run_frozen


def result_text(source, node, bases):
    if not isinstance(node, torch.fx.Node):
        return repr(node)
    if node not in bases:
        return source.size(node.meta["val"]) if node not in source.names else source.names[node]
    base = bases[node]
    if base is node:
        return source.names[node]
    fake, origin = node.meta["val"], base.meta["val"]
    offset = plain(fake.storage_offset()) - plain(origin.storage_offset())
    start = source.size(offset)
    if base.op == "placeholder":
        start = f"{source.names[base]}.storage_offset() + {start}"
    return f"{source.names[base]}.as_strided({source.tuple(fake.shape)}, {source.tuple(fake.stride())}, {start})"


def report(reasons, options):
    """What runs eagerly: one line, or under `strict` an error."""
    lines = {}
    for node, reason in reasons.items():
        if node.target is operator.getitem or complex_pairs.BOUNDARY in node.meta:
            continue
        key = (registry.name_of(node.target) or str(node.target), source_line(node), reason)
        lines[key] = lines.get(key, 0) + 1
    if not lines:
        return
    texts = [f"{name}{f' at {line}' if line else ''}: {reason}" for name, line, reason in lines]
    if options.strict:
        raise UnsupportedError(
            "tilewright cannot compile this graph (strict=True):\n  " + "\n  ".join(texts) +
            "\nWithout strict=True these operations run eagerly.")
    log.warning("%d of the graph's operations run eagerly: %s", sum(lines.values()), "; ".join(texts))


def stage_text(stage, locations=False):
    """The text of a compiled stage, with the symbols that are arguments."""
    writer = Importer(stage.inputs, locations, binds=True)
    nodes = partition.live(stage)
    writer.bind_scalars([*nodes, *stage.outputs])
    for node in nodes:
        writer.write(node)
    text, _ = writer.finish(stage.outputs)
    return text, writer


def memory_shape(node):
    """The sizes of a node's tensor in the order of its memory."""
    fake = node.meta["val"]
    return [fake.shape[i] for i in memory_order(fake) or range(fake.dim())]


def refusal(stage, options):
    """The compiler's diagnostic at the line of the user's model: the text once more, with locations."""
    try:
        compile_program(stage_text(stage, locations=True)[0], options)
    except CompilerError as error:
        return str(error)
    return "the compiler refuses the text without locations alone"


def write_stage(source, stage, options):
    """Compiles a stage and writes its call; False where the compiler refuses it, so that it runs eagerly."""
    text, writer = stage_text(stage)
    log.debug("compiles %d operations:\n%s", len(stage.nodes), text)
    try:
        program = compile_program(text, options)
    except CompilerError:
        message = refusal(stage, options)
        if options.strict:
            raise UnsupportedError(f"tilewright cannot compile this graph (strict=True): {message}") from None
        log.warning("a part of %d operations runs eagerly: %s", len(stage.nodes), message)
        return False
    seeded = writer.function.seed_argument is not None
    bound = [a.expressions for a in program.signature.inputs if a.is_bound]
    shapes = [memory_shape(n) for n in stage.inputs] + [()] * (len(writer.scalars) + seeded) + bound + [memory_shape(n) for n in stage.outputs]
    sizes = [None] * program.signature.sizes
    for shape, argument in zip(shapes, program.signature.arguments, strict=True):
        for n, extent in zip(shape, argument.expressions, strict=True):
            if isinstance(extent, dict) and sizes[extent["size"]] is None:
                sizes[extent["size"]] = source.size(n)
    assert None not in sizes, (program.signature, sizes)
    there = program.device == "gpu" or options.board is not None
    devices = {n.meta["val"].device for n in (*stage.inputs, *stage.outputs)} if there else {None}
    if len(devices) != 1:
        raise UnsupportedError(f"a compiled part has tensors on {', '.join(sorted(map(str, devices)))}; a program takes all on one device")
    call_program(source, program, stage.inputs, writer.scalars, seeded, stage.outputs, sizes, writer.function.reads_at_indices, *devices)
    return True
