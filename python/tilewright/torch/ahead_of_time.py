"""`tilewright.torch.export`: a model as one file, which runs without PyTorch and without a compiler.

    tilewright.torch.export(model, (x,), "net.tw", target=["cpu:host", "nvidia:H200"], dynamic_shapes=({0: Dim("batch", max=64)},))
    y = tilewright.load("net.tw")(x)

`torch.export` captures the graph, which the decompositions and the importer of torch.compile's back end turn into one program. Its
arguments, in order: the tensors among the model's arguments; parameters, buffers and what follows from them (`freeze.py`), which the package
has; integers among the arguments; a seed, where random numbers are drawn.
"""

import dataclasses
import functools
import inspect
import os
import warnings

import torch
from torch.export import ExportedProgram
from torch.export.graph_signature import ConstantArgument, InputKind, OutputKind, SymIntArgument, TensorArgument
from torch.utils import _pytree

from .. import bounds, package, trees
from ..compiler import build, describe
from ..emit.sizes import plain
from ..errors import OptionError
from ..options import with_places
from . import assumed, attention, complex_pairs, decompositions, flexible, freeze as freeze_, integers, partition, recurrent, registry, unpack
from .backend import UnsupportedError
from .importer import CONSTANT, Importer, is_tensor, source_line
from .options import Options

NAME = "forward"


def export(model, args, path, *, kwargs=None, target="cpu:host", dynamic_shapes=None, fp="default", threads=None, freeze=None, bind=True,
           keep_source=False, plugins=()):
    """Writes a package with a model.

    model           a module, a function, or what torch.export.export gives
    args, kwargs    example arguments, as for torch.export.export
    path            the file
    target          the chip, or a list of chips: "cpu:host", "nvidia:H200", ... (`tw-targets` lists them)
    dynamic_shapes  which sizes are dynamic, and their bounds, as for torch.export.export
    fp              "default" | "strict" | "reproducible" | "fast": may sums be re-associated
    threads         threads of parallel loops on hosts; None: as many as PyTorch uses
    freeze          what follows from weights alone is computed now; None: where weights are bound
    bind            the package has the weights; False: callers pass them, in the order of the state dict
    keep_source     the text goes along, so that `load` can compile it for other targets and for the emulator
    plugins         files of target plugins, for a target that is none of the SDK's own
    """
    options = settings(target, fp, threads, plugins)
    if freeze and not bind:
        raise OptionError("freeze=True computes what follows from the weights, which bind=False leaves to the callers; leave one of them out")
    exported = capture(model, args, kwargs, dynamic_shapes)
    graph = Graph(decomposed(exported), bind, parameters_of(model, exported), place_of(model))
    graph.simplify(options, bind if freeze is None else freeze)
    graph.check()
    artifacts = []
    for one in options:
        artifacts.append(with_places(lambda text: build(text, target=one.target, fp=one.fp, threads=one.threads, plugins=one.plugins,
                                                        name=NAME), graph.text))
    package.save(path, {NAME: graph.entry(artifacts, keep_source)})


def settings(target, fp, threads, plugins):
    """The options for each target, checked before anything is compiled."""
    targets = [target] if isinstance(target, str) else list(target)
    if not targets:
        raise OptionError("target=[] names no chip; name one as target='cpu:host', or several in a list")
    options = [Options(target=one, fp=fp, threads=threads, plugins=plugins) for one in targets]
    for one in options:
        describe(one.target, plugins=one.plugins)
    return options


def signature_of(function, count):
    """The parameters of a function; of one that does not tell them (torch.relu), `count` without names of their own."""
    try:
        return inspect.signature(function)
    except ValueError:
        return inspect.Signature([inspect.Parameter(f"arg{i}", inspect.Parameter.POSITIONAL_OR_KEYWORD) for i in range(count)])


def as_module(function, count):
    """A function as a module with its parameters."""
    def forward(self, *args, **kwargs):
        return function(*args, **kwargs)
    own = inspect.Parameter("self", inspect.Parameter.POSITIONAL_ONLY)
    forward.__signature__ = inspect.Signature([own, *signature_of(function, count).parameters.values()])
    return type("Function", (torch.nn.Module,), {"forward": forward})()


def capture(model, args, kwargs, dynamic_shapes):
    if isinstance(model, ExportedProgram):
        return model
    if not isinstance(args, (tuple, list)):
        raise OptionError(f"args is a {type(args).__name__}; it has to be the tuple of the model's arguments, as (x,)")
    module = model if isinstance(model, torch.nn.Module) else as_module(model, len(args))
    try:
        with warnings.catch_warnings(), torch.no_grad():
            warnings.simplefilter("ignore")  # of PyTorch about its own modules
            return torch.export.export(module, tuple(args), kwargs, dynamic_shapes=dynamic_shapes, strict=False)
    except Exception as error:
        hint = "\nIn the example a dynamic size has to be 2 or more: PyTorch takes 0 and 1 for fixed." if "specialized it to be a constant" in \
            str(error) else ""
        raise UnsupportedError(f"torch.export does not capture this model: {error}{hint}") from error


def parameters_of(model, exported):
    """Names of the positional arguments."""
    count = len(_pytree.tree_unflatten(range(exported.call_spec.in_spec.num_leaves), exported.call_spec.in_spec)[0])
    function = getattr(model, "forward", model)
    names = []
    if callable(function) and not isinstance(model, ExportedProgram):
        names = [p.name for p in signature_of(function, count).parameters.values() if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    return names[:count] + [f"arg{i}" for i in range(len(names), count)]


def place_of(model):
    """Where a function is written, since the lines of its operations are not kept; None for modules, where they are."""
    code = getattr(model, "__code__", None)
    return f"{os.path.relpath(code.co_filename)}:{code.co_firstlineno}" if code else None


def decomposed(exported):
    """The functional graph; composite operations that the importer writes as a whole stay whole."""
    registry.load()
    module = exported.graph_module
    parts = [part for part in module.modules() if isinstance(part, torch.fx.GraphModule)]
    before = {node: (node.op, node.target, node.args) for part in parts for node in part.graph.nodes}
    added = []
    try:
        recurrent.keep_whole(module)
        attention.keep_whole(module)
        added = flexible.take_apart(module)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return exported.run_decompositions(decompositions.export_table())
    finally:
        for node, was in before.items():
            node.op, node.target, node.args = was
        for part, name in added:
            part.delete_submodule(name)
        for part in parts:
            part.recompile()


@dataclasses.dataclass
class Weight:
    """An input that callers do not pass: its name in the state dict, its value."""
    name: str
    value: torch.Tensor


def expression_of(size, known):
    """A sum of products of sizes in the manifest's form; `known`: of symbols. None: another form, or an unknown symbol."""
    if size.is_Symbol or size.is_Integer:
        return int(size) if size.is_Integer else known.get(size)
    parts = [expression_of(part, known) for part in size.args]
    sign = "+" if size.is_Add else "*" if size.is_Mul else None
    if sign is None or None in parts:
        return None
    return functools.reduce(lambda a, b: [sign, a, b], parts)


class Graph:
    """The graph of an exported program on its way to an entry of a package."""

    def __init__(self, exported, bind, parameters, place):
        self.exported, self.bind, self.place = exported, bind, place
        self.module = exported.graph_module
        self.graph = self.module.graph
        self.parameters = parameters
        self.specs = exported.graph_signature
        self.placeholders = [n for n in self.graph.nodes if n.op == "placeholder"]
        self.output = next(n for n in self.graph.nodes if n.op == "output")
        #: Of placeholders: what the model has of its own.
        self.weights = {node: self._weight(spec) for node, spec in zip(self.placeholders, self.specs.input_specs)
                        if spec.kind is not InputKind.USER_INPUT}
        self.users = [(node, spec.arg) for node, spec in zip(self.placeholders, self.specs.input_specs) if spec.kind is InputKind.USER_INPUT]
        for node in self.graph.nodes:
            if node.op == "get_attr":
                node.meta["val"] = getattr(self.exported.graph_module, node.target)

    def _weight(self, spec):
        if spec.kind not in (InputKind.PARAMETER, InputKind.BUFFER, InputKind.CONSTANT_TENSOR):
            raise UnsupportedError(f"the model uses '{spec.target}', an object that is no tensor; a package has tensors alone")
        values = self.exported.state_dict if spec.target in self.exported.state_dict else self.exported.constants
        return Weight(spec.target, values[spec.target].detach())

    # Before the text is written

    def exchange_complex(self):
        """Complex arithmetic becomes that of pairs; a complex weight is an array of its parts, the last dimension."""
        complex_pairs.rewrite(self.graph)
        for node in [n for n in self.graph.nodes if n.target is complex_pairs.FROM_MEMORY and n.args[0] in self.weights and self.bind]:
            weight = self.weights[node.args[0]]
            with self.graph.inserting_after(node.args[0]):
                parts = self.graph.placeholder(f"{node.args[0].name}_parts")
            parts.meta["val"] = node.meta["val"]
            self.weights[parts] = Weight(weight.name, torch.view_as_real(weight.value.resolve_conj()))
            node.replace_all_uses_with(parts)
            self.graph.erase_node(node)
        self.placeholders = [n for n in self.graph.nodes if n.op == "placeholder"]

    def simplify(self, options, freeze):
        """Complex arithmetic, products of integers, and what follows from weights alone."""
        self.exchange_complex()
        static = [i for i, node in enumerate(self.placeholders) if node in self.weights] if self.bind else []
        zeros = [i for i, is_zero in zip(static, assumed.all_zero([self.weights[self.placeholders[i]].value for i in static])) if is_zero]
        units = [integers.unit_types(one) for one in options]
        integers.rewrite(self.graph, options[0], {self.placeholders[i] for i in zeros}, set.intersection(*units))
        unpack.sink_permutations(self.graph)
        if not freeze:
            return
        before = set(self.placeholders)
        constants, inputs = freeze_.split(self.module, all(one.fp != "strict" for one in options), static)
        if constants is None:
            return
        made = [n for n in self.graph.nodes if n.op == "placeholder" and n not in before]
        values = freeze_.computed(constants)([self.weights[self.placeholders[i]].value for i in inputs])
        # split puts a new placeholder after the one before it, in the order of the results
        for node, value in zip(made, values, strict=True):
            self.weights[node] = Weight(node.name, value)

    def check(self):
        """Everything is compiled, or an error says what is not."""
        self.graph.eliminate_dead_code()
        reasons = partition.unsupported(partition.work_nodes(self.graph))
        lines = {}
        for node, reason in reasons.items():
            name, line = registry.name_of(node.target) or str(node.target), self.place or source_line(node)
            if complex_pairs.BOUNDARY in node.meta:
                reason = "a complex tensor is an argument or a result of the program; pass torch.view_as_real(x), and call " \
                         "torch.view_as_complex in the model"
            lines.setdefault(f"{name}{f' at {line}' if line else ''}: {reason}")
        if lines:
            raise UnsupportedError("tilewright.torch.export cannot compile this model:\n  " + "\n  ".join(lines) + "\nA package is one program, so "
                                   "nothing of it runs eagerly. Write these operations by others (docs/pytorch-operations.md), or export the part "
                                   "before them and the part after them.")
        for spec in self.specs.output_specs:
            if spec.kind is OutputKind.BUFFER_MUTATION and self.bind:
                raise UnsupportedError(f"the model writes to its buffer '{spec.target}', but the weights of a package stay as they are; call "
                                       "model.eval() first (batch norm), make it an argument whose new value is returned, or let callers "
                                       "pass the weights with bind=False")
            if spec.kind not in (OutputKind.USER_OUTPUT, OutputKind.BUFFER_MUTATION, OutputKind.USER_INPUT_MUTATION):
                raise UnsupportedError(f"the graph has results of kind {spec.kind.name}; export the forward pass of the model alone")
        outputs = [n for n in self.output.args[0] if isinstance(n, torch.fx.Node)]
        for value in (n.meta.get("val") for n in (*outputs, *(node for node, _ in self.users))):
            if isinstance(value, (torch.SymFloat, torch.SymBool)):
                raise UnsupportedError("arguments and results that are floats or booleans computed from sizes are not compiled; use tensors")
        #: Tensors that the program gives, each once, and sizes.
        self.results = list(dict.fromkeys(n for n in outputs if is_tensor(n.meta["val"])))
        self.sizes = list(dict.fromkeys(plain(n.meta["val"]) for n in outputs if isinstance(n.meta["val"], (torch.SymInt, int))))
        used = set(self.results)
        for node in partition.work_nodes(self.graph):
            used |= set(node.all_input_nodes)
        self.bound = [n for n in self.graph.nodes if n in self.weights and n in used]
        self.tensors = [node for node, arg in self.users if isinstance(arg, TensorArgument)]

    # The text

    def text(self, locations=False):
        """The program; sets the writer, which knows the arguments."""
        stage = partition.Stage(compiled=True)
        stage.nodes, stage.inputs, stage.outputs = partition.work_nodes(self.graph), [*self.tensors, *self.bound], self.results
        for node in self.bound if self.bind else []:
            node.meta[CONSTANT] = True
        writer = Importer(stage.inputs, locations, NAME, binds=self.bind)
        nodes = partition.live(stage)
        symbols = [n for n in self.output.args[0] if isinstance(n, torch.fx.Node)]
        writer.bind_scalars([*nodes, *symbols])
        for node in nodes:
            writer.write(node)
        text, self.orders = writer.finish(self.results, self.sizes)
        self.writer = writer
        return text

    # The package

    def entry(self, artifacts, keep_source):
        writer, numbers = self.writer, {}
        for number, node in enumerate([*self.tensors, *self.bound]):
            numbers[node] = number
        leaves, names = self._leaves(numbers)
        weights = {}
        for node in self.bound if self.bind else []:
            value = self.weights[node].value.cpu()
            weights[numbers[node]] = value.permute(writer.argument_orders[numbers[node]]).contiguous()
        symbols = {plain(n.meta["val"]): name for n, name in names.items() if not is_tensor(n.meta["val"])}
        known = [names.get(node) or self.weights[node].name for node in (*self.tensors, *self.bound)]
        known += [symbols[symbol] for symbol in writer.scalars] + ["seed"] * (writer.function.seed_argument is not None)
        if artifacts[0].signature.made:
            raise UnsupportedError("a result has a size that follows from values of the arguments, not from their sizes; return an array whose "
                                   "size an argument shows, and how much of it counts")
        shapes = [[plain(node.meta["val"].shape[i]) for i in writer.argument_orders[number]] for number, node in enumerate(self.tensors)]
        constraints, ranges = bounds.of(artifacts[0].signature, shapes, lambda size: size.is_Symbol, expression_of, self._bounds)
        artifacts = [bounds.hold(artifact, constraints) for artifact in artifacts]
        return package.Entry(artifacts, weights, known, ranges, {"call": self._call(leaves, numbers, len(weights))}, keep_source)

    def _free(self, number, count):
        """The number of an input among those that the package does not have; these stand after the tensors."""
        return number if number < len(self.tensors) else number - count

    def _leaves(self, numbers):
        """What is known of each leaf of the arguments; names of placeholders."""
        spec = self.exported.call_spec.in_spec
        self.arguments, self.keywords = (trees.encode(part, "the arguments of the model", UnsupportedError) for part in _pytree.tree_unflatten(range(spec.num_leaves), spec))
        texts = {}
        for name, tree in [*zip(self.parameters, self.arguments["tuple"]), *self.keywords["dict"]]:
            texts |= trees.names(tree, name)
        leaves, names = [], {}
        scalars = {symbol: len(numbers) + i for i, symbol in enumerate(self.writer.scalars)}
        for i, (node, arg) in enumerate(self.users):
            fact = {"name": texts[i]}
            if isinstance(arg, TensorArgument):
                fact |= {"input": numbers[node], "order": list(self.writer.argument_orders[numbers[node]])}
            elif isinstance(arg, SymIntArgument) and plain(node.meta["val"]) in scalars:
                fact |= {"input": scalars[plain(node.meta["val"])], "scalar": "int"}
            else:
                fact["value"] = arg.value if isinstance(arg, ConstantArgument) else None
                if isinstance(fact["value"], torch.dtype | torch.device | torch.layout):
                    fact["value"] = str(fact["value"])
            names[node] = texts[i]
            leaves.append(fact)
        unknown = [s for s in self.writer.scalars if s not in {plain(n.meta["val"]) for n, a in self.users if isinstance(a, SymIntArgument)}]
        if unknown:
            raise UnsupportedError(f"the size {unknown[0]} follows from no dimension of the arguments by itself; pass dynamic_shapes in which it is "
                                   "a dimension of its own")
        return leaves, names

    def _bounds(self, symbol):
        """PyTorch takes 2 as the least size of its own accord; the program is right from 1 on."""
        known = self.exported.range_constraints.get(symbol)
        if known is None:
            return 1, None
        low, high = int(known.lower), int(known.upper) if known.upper.is_Integer else None
        return 1 if low <= 2 else low, high if high is None or high < 2 ** 62 else None

    def _call(self, leaves, numbers, count):
        """What `calls.py` reads."""
        for fact in leaves:
            if "input" in fact:
                fact["input"] = self._free(fact["input"], count)
        made, written = [], []
        for spec, value in zip(self.specs.output_specs, self.output.args[0]):
            fact = self._made(value)
            if spec.kind is OutputKind.USER_OUTPUT:
                made.append(fact)
            elif spec.kind is OutputKind.BUFFER_MUTATION:
                written.append({"weight": spec.target, **fact})
            else:
                leaf = next(i for i, (node, _) in enumerate(self.users) if node.name == spec.target)
                written.append({"leaf": leaf, **fact})
        spec = self.exported.call_spec.out_spec
        facts = {"parameters": self.parameters, "arguments": self.arguments, "keywords": self.keywords, "leaves": leaves,
                 "results": self._results(spec), "made": made, "written": written}
        if not self.bind:
            facts["weights"] = {self.weights[node].name: {"input": numbers[node], "order": list(self.writer.argument_orders[numbers[node]])}
                                for node in self.bound}
        if self.writer.function.seed_argument is not None:
            facts["seed"] = self._free(len(numbers) + len(self.writer.scalars), count)
        return facts

    def _results(self, spec):
        return trees.encode(_pytree.tree_unflatten(range(spec.num_leaves), spec), "the results of the model", UnsupportedError)

    def _made(self, value):
        if not isinstance(value, torch.fx.Node):
            return {"value": value}
        if is_tensor(value.meta["val"]):
            number = self.results.index(value)
            return {"result": number, "order": list(self.orders[number])}
        return {"result": len(self.results) + self.sizes.index(plain(value.meta["val"])), "scalar": "int"}
