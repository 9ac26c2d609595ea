"""From an FX graph of ATen operations to the text of one function.

    text, plan = import_graph(nodes, outputs)

Each node is written by the emitter of its operation (`registry.py`). Arrays of a compiled program are dense and row-major, so a
tensor that lies otherwise in memory is an array whose dimensions are in the order of its memory (`emit/value.py`).
"""

import operator
import os
import re

import torch

from ..emit import types
from ..emit.function import Function
from ..emit.sizes import Number, plain, symbols_of
from ..emit.value import Value
from . import registry
from .context import Context, memory_order, shape_of, type_of
from .registry import Unsupported

NAME = "graph"
#: Where PyTorch's own modules lie.
FRAMEWORK = os.path.dirname(torch.__file__) + os.sep


def source_location(node):
    """MLIR's text of the line of the user's program that a node comes from."""
    trace = node.meta.get("stack_trace") or ""
    frames = re.findall(r'File "([^"]+)", line (\d+)', trace)
    if not frames:
        return None
    path, line = next((frame for frame in reversed(frames) if not frame[0].startswith(FRAMEWORK)), frames[-1])
    return f'"{path}":{line}:1'


def source_line(node):
    """`model.py:12` for messages; None where it is not known."""
    location = source_location(node)
    if location is None:
        return None
    path, line = re.fullmatch(r'"(.*)":(\d+):1', location).groups()
    return f"{os.path.relpath(path) if not os.path.relpath(path).startswith('..') else path}:{line}"


#: In the meta of an input: it is the same in many calls (`freeze`).
CONSTANT = "tilewright.constant"


def is_tensor(value):
    return isinstance(value, torch.Tensor)


def is_tensors(value):
    """A tensor, or results of which each is one or left out."""
    return is_tensor(value) or isinstance(value, (tuple, list)) and all(v is None or is_tensor(v) for v in value)


def is_size(value):
    return isinstance(value, (torch.SymInt, int)) and not isinstance(value, bool)


class Writer:
    """Writes nodes of a graph into a function. `values`: what is known of them, tensors and tuples of tensors."""

    def __init__(self, function):
        self.function = function
        self.values = {}

    def value_of(self, node):
        return self.values[node]

    def resolve(self, argument):
        """An argument of a node as its emitter takes it."""
        if isinstance(argument, torch.fx.Node):
            value = argument.meta.get("val")
            if is_size(value):
                return plain(value)
            if isinstance(value, torch.SymFloat):
                return Number(plain(value))
            if isinstance(value, torch.SymBool):
                raise Unsupported("a condition on a dynamic size is not compiled")
            return value if isinstance(value, torch.nn.Module) else self.value_of(argument)
        if isinstance(argument, (list, tuple)):
            return [self.resolve(a) for a in argument]
        if isinstance(argument, (torch.SymInt,)):
            return plain(argument)
        return argument

    def write(self, node):
        """One node; `Unsupported` where it cannot be."""
        self.function.location = source_location(node)
        if node.target is operator.getitem:
            source = self.values[node.args[0]]
            self.values[node] = source[node.args[1]]
            return
        emitter = registry.emitter_of(node.target)
        if emitter is None:
            raise Unsupported("there is no emitter of this operation")
        fake = node.meta.get("val")
        for result in fake if isinstance(fake, (tuple, list)) else [fake]:
            if is_tensor(result):
                check_tensor(result)
        if fake is not None and all(m is None or 0 in m.shape for m in _flat([fake])):
            self.values[node] = self._without_elements(fake)
            return
        arguments = [self.resolve(a) for a in node.args]
        keywords = {k: self.resolve(v) for k, v in node.kwargs.items()}
        check_numbers(node.target, arguments, keywords)
        result = emitter(Context(self.function, node), *arguments, **keywords)
        self.values[node] = self._typed(result, fake)

    def _without_elements(self, fake):
        if isinstance(fake, (tuple, list)):
            return tuple(self._without_elements(m) for m in fake)
        return None if fake is None else self.function.empty(shape_of(fake), type_of(fake))

    def _typed(self, result, fake):
        """Results under the shapes that the graph knows for them."""
        if isinstance(result, tuple):
            return tuple(self._typed(r, m) if r is not None else None for r, m in zip(result, fake))
        shape, type = shape_of(fake), type_of(fake)
        assert result.type == type, f"the emitter made {result.type} where the graph has {type}"
        assert len(result.shape) == len(shape), f"the emitter made {result.shape} where the graph has {shape}"
        return self.function.cast_shape(result, shape)

    def graph(self, module, operands):
        """The results of a graph that an operation has as an argument, on these operands."""
        operands = iter(operands)
        for node in module.graph.nodes:
            if node.op == "placeholder":
                self.values[node] = next(operands)
            elif node.op == "get_attr":
                self.values[node] = self._attribute(node, getattr(module, node.target))
            elif node.op == "call_function" and is_tensors(node.meta.get("val")):
                try:
                    self.write(node)
                except Unsupported as error:
                    raise Unsupported(f"inside of it {registry.name_of(node.target) or node.target}: {error}") from None
            elif node.op == "output":
                results = node.args[0]
                return [self.resolve(r) for r in (results if isinstance(results, (tuple, list)) else [results])]
        raise AssertionError("a graph without an output")

    def _attribute(self, node, held):
        """A graph, or a tensor of one element."""
        node.meta.setdefault("val", held)
        if not is_tensor(held):
            return held
        if held.numel() != 1:
            raise Unsupported(f"its graph holds a tensor of {held.numel()} elements; give it as an operand")
        return self.function.fill(shape_of(held), type_of(held), held.item())


class Importer(Writer):
    """Writes one function. `inputs` are the nodes that arrive as arguments, in this order; `binds`: those that are the same in many
    calls are marked, so that the program has a bound input for what is computed of them alone."""

    def __init__(self, inputs, locations=False, name=NAME, binds=False):
        super().__init__(Function(name, locations))
        self.binds = binds
        self.argument_orders = []    # of each tensor argument: its dimensions in the order of memory
        self.tensors = []            # the input nodes that are tensors, in the order of the arguments
        self.scalars = []            # symbols that arrive as arrays of one i64, after the tensors
        for node in inputs:
            if is_tensor(node.meta["val"]):
                self._argument(node)

    def _argument(self, node):
        fake = node.meta["val"]
        shape, type = shape_of(fake), type_of(fake)
        order = memory_order(fake) or tuple(range(len(shape)))
        argument = self.function.argument([shape[i] for i in order], type, constant=self.binds and node.meta.get(CONSTANT, False))
        for position, i in enumerate(order):
            if not isinstance(shape[i], int) and shape[i].is_Symbol:
                self.function.sizes.bind(shape[i], lambda a=argument, p=position: self.function.size_of_argument(a, p))
            elif not isinstance(shape[i], int):
                self._bind_multiple(shape[i], argument, position)
        self.tensors.append(node)
        self.argument_orders.append(order)
        self.values[node] = self.function.ordered(argument, order)

    def _bind_multiple(self, size, argument, position):
        """The symbol of a size a * symbol + b follows from it."""
        symbols = symbols_of(size)
        if len(symbols) != 1:
            return
        symbol, = symbols
        factor, offset = size.coeff(symbol, 1), size.coeff(symbol, 0)
        if not (factor.is_Integer and offset.is_Integer and factor > 0 and plain(factor * symbol + offset) == size):
            return

        def write():
            f = self.function
            whole, scale, start = f.size_of_argument(argument, position), f.constant(int(factor), "index"), f.constant(int(offset), "index")
            part, name = f.fresh(), f.fresh()
            f.heads.append(f"{part} = arith.subi {whole}, {start} : index")
            f.heads.append(f"{name} = arith.floordivsi {part}, {scale} : index")
            f.sizes.known[0][symbol] = name
            return name
        self.function.sizes.bind(symbol, write)

    def bind_scalars(self, nodes):
        """Symbols that are no size of an argument become arguments of their own."""
        needed = set()
        for node in nodes:
            for value in _flat([node.meta.get("val"), *node.args, *node.kwargs.values()]):
                if isinstance(value, torch.fx.Node):
                    value = value.meta.get("val")
                for n in (*value.shape, *value.stride()) if is_tensor(value) else \
                        [value] if isinstance(value, (torch.SymInt, torch.SymFloat)) else []:
                    if type(n) is not int:
                        needed |= symbols_of(plain(n))
        for symbol in sorted(needed, key=str):
            if symbol in self.function.sizes.sources:
                continue
            argument = self.function.argument((), "i64")
            self.scalars.append(symbol)
            self.function.sizes.bind(symbol, lambda a=argument, s=symbol: self._scalar(a, s))

    def _scalar(self, argument, symbol):
        f = self.function
        element, name = f.fresh(), f.fresh()
        f.heads.append(f"{element} = tensor.extract {argument.name}[] : {argument.text}")
        f.heads.append(f"{name} = arith.index_cast {element} : i64 to index")
        f.sizes.known[0][symbol] = name
        return name

    def finish(self, outputs, sizes=()):
        """The text; `outputs` are nodes. Gives with it the order of memory of each result. `sizes`: of them results too, after the others,
        each an array of one i64."""
        orders, results = [], []
        for node in outputs:
            order = memory_order(node.meta["val"]) or tuple(range(node.meta["val"].dim()))
            results.append(self.function.arranged(self.value_of(node), order))
            orders.append(order)
        for size in sizes:
            number = self.function.op(f"arith.index_cast {self.function.index(size)} : index to i64")
            results.append(Value(self.function.op(f"tensor.from_elements {number} : tensor<i64>"), (), "i64"))
        return self.function.finish(results), orders


def check_tensor(fake):
    """Raises `Unsupported` for tensors that no program takes."""
    type_of(fake)
    if fake.layout is not torch.strided:
        raise Unsupported(f"tensors of layout {fake.layout} are not compiled")
    if fake.is_conj() or fake.is_neg():
        raise Unsupported("a conjugated or negated view is not compiled")


def check_numbers(target, arguments, keywords):
    """Raises `Unsupported` where a number that is computed from a dynamic size is no operand of arithmetic."""
    if registry.name_of(target) in registry.OF_NUMBERS:
        return
    schema = getattr(target, "_schema", None)
    kinds = [a.type for a in schema.arguments] if schema else []
    others = [a for i, a in enumerate(arguments) if not (i < len(kinds) and isinstance(kinds[i], torch.TensorType))]
    if any(isinstance(a, Number) for a in _flat([*others, *keywords.values()])):
        raise Unsupported("a number that is computed from a dynamic size is compiled as an operand of arithmetic alone")


def _flat(values):
    for value in values:
        if isinstance(value, (list, tuple)):
            yield from _flat(value)
        else:
            yield value


def probe(node):
    """Why a node cannot be written; None where it can. Writes it by itself, into a function that is thrown away."""
    try:
        for value in _flat([node.meta.get("val")]):
            if value is not None and not is_tensor(value):
                return "its result is no tensor"
        inputs = [n for n in node.all_input_nodes]
        importer = Importer([n for n in inputs if is_tensor(n.meta.get("val"))])
        for source in inputs:
            fake = source.meta.get("val")
            if isinstance(fake, (tuple, list)):
                importer.values[source] = tuple(
                    Value(f"%p{i}", shape_of(m), type_of(m)) if is_tensor(m) else None for i, m in enumerate(fake))
        for source in inputs:
            if is_tensor(source.meta.get("val")):
                check_tensor(source.meta["val"])
        importer.bind_scalars([node])
        importer.write(node)
    except Unsupported as error:
        return str(error)
    except NotImplementedError as error:
        return str(error)
    return None
