"""From a graph of ONNX to the text of one function.

Each node is written by the emitter of its operation (`registry.py`). What follows from shapes and small constants
alone is computed while the graph is read (`folds.py`), so that shapes of results are known. An operation without an
emitter that ONNX defines by others is written as those.
"""

import dataclasses

import numpy as np
import onnx
from onnx import numpy_helper

from ..emit import context, types
from ..emit.context import Unsupported
from ..emit.function import Function, float_literal
from ..emit.scalars import Scalars
from ..emit.sizes import plain
from ..emit.value import Value, tensor_type
from . import registry
from .folds import fold
from .values import TO_ONNX, Constant, dtype_of, element_type, of_array, of_sizes, stored

#: Constants of more elements are arguments of the program, to which the arrays of the model are bound.
LARGEST_IN_TEXT = 16


class NeedsValue(Unsupported):
    """What has to be known when the model is compiled follows from these inputs of the graph."""

    def __init__(self, inputs, reason):
        super().__init__(reason)
        self.inputs = inputs


@dataclasses.dataclass
class Input:
    """An input of the graph: its type in the text, and its sizes: numbers, names, or None where nothing is known."""
    name: str
    type: str
    dims: tuple


def inputs_of(graph):
    """The inputs that a call passes."""
    bound = {i.name for i in graph.initializer} | {i.values.name for i in graph.sparse_initializer}
    result = []
    for value in graph.input:
        if value.name in bound:
            continue
        if not value.type.HasField("tensor_type"):
            kind = value.type.WhichOneof("value") or "unknown"
            raise Unsupported(
                f"input '{value.name}' is of {kind.removesuffix('_type')} type; inputs that are tensors are compiled")
        tensor = value.type.tensor_type
        dims = None
        if tensor.HasField("shape"):
            dims = tuple(d.dim_value if d.HasField("dim_value") else d.dim_param or None for d in tensor.shape.dim)
        try:
            type = element_type(tensor.elem_type)
        except Unsupported as error:
            raise Unsupported(f"input '{value.name}': {error}") from None
        result.append(Input(value.name, type, dims))
    return result


class Scope(dict):
    """Names of a graph; those of an enclosing graph are seen inside. `opsets`: versions of the domains."""

    def __init__(self, parent=None, opsets=None):
        super().__init__()
        self.parent, self.opsets = parent, opsets or parent.opsets
        self.producers = {}  # of names that nodes give: the nodes
        self.passed = {}     # of inputs of a function: the name and the scope where it is called

    def __missing__(self, name):
        if self.parent is None:
            raise KeyError(name)
        return self.parent[name]

    def producer(self, name):
        scope = self
        while scope is not None:
            if name in scope.producers:
                return scope.producers[name], scope
            if name in scope:
                return None, scope
            scope = scope.parent
        return None, None


class Reader:
    """Writes one function of a model.

    given    arrays of inputs that are known when the model is compiled
    shapes   sizes of inputs: numbers, or sympy symbols; of all that are not given
    bind     whether large constants are arguments of the program (`weights`, by the number of the argument); else
             they are in the text
    """

    def __init__(self, model, given, shapes, bind=True, locations=False):
        registry.load()
        self.f = Function("graph", locations)
        self.model, self.bind = model, bind
        self.functions = {(f.domain, f.name, getattr(f, "overload", "")): f for f in model.functions}
        self.weights = {}
        self.inputs = []           # names, in the order of the arguments
        self.trail = []            # functions that are being written, from the outermost
        self.scope = self.top = Scope(opsets={o.domain or "": o.version for o in model.opset_import})
        for value in inputs_of(model.graph):
            if value.name in given:
                self.scope[value.name] = Constant(given[value.name], value.type)
                continue
            argument = self.f.argument(shapes[value.name], value.type)
            self.inputs.append(value.name)
            self.scope[value.name] = argument
            for i, n in enumerate(argument.shape):
                if not isinstance(n, int) and n.is_Symbol:
                    self.f.sizes.bind(n, lambda a=argument, i=i: self.f.size_of_argument(a, i))

    def text(self):
        outputs = self.graph(self.model.graph)
        results = []
        for name, held in zip((o.name for o in self.model.graph.output), outputs):
            if isinstance(held, list) or held is None:
                raise Unsupported(f"output '{name}' is a sequence or optional; outputs that are tensors are compiled")
            results.append(self.tensor(held))
        self.result_types = [r.type for r in results]
        return self.f.finish(results)

    # Constants as tensors

    def tensor(self, held):
        """A value of the text."""
        if not isinstance(held, Constant):
            return held
        if held.value is None:
            value = self._written(held)
            if not held.is_symbolic and 0 not in held.shape:  # at the function's head, where all see it
                held.value = value
            return value
        return held.value

    def _written(self, constant):
        f, array, type = self.f, constant.array, constant.type
        if array.size == 0:
            return f.empty(array.shape, type)
        if constant.is_symbolic:
            s = Scalars(f)
            names = [s.cast(s.size(n), type).name for n in array.flat]
            flat = (array.size,) if array.ndim else ()
            made = Value(f.op(f"tensor.from_elements {', '.join(names)} : {tensor_type(flat, type)}"), flat, type)
            return f.view(made, array.shape)
        if array.size > LARGEST_IN_TEXT and self.bind and constant.splat() is None:
            argument = f.argument(array.shape, type, constant=True)
            self.weights[len(f.arguments) - 1] = np.ascontiguousarray(stored(array, type))
            return argument
        value = Value(f.fresh(), array.shape, type)
        number = constant.splat()
        entries = _literal(number, type) if number is not None else _entries(array, type)
        f.heads.append(f"{value.name} = arith.constant dense<{entries}> : {value.text}")
        return value

    # Graphs

    def graph(self, graph, inputs=()):
        """Writes the nodes of a graph, whose inputs are held as `inputs`; gives what its outputs are held as."""
        scope = self.scope
        if graph is not self.model.graph:
            scope = Scope(self.scope)
            scope.update(zip((i.name for i in graph.input), inputs))
        for each in graph.initializer:
            if each.name not in scope or not isinstance(scope[each.name], Constant):
                scope[each.name] = self.initializer(each)
        for each in graph.sparse_initializer:
            scope[each.values.name] = self.sparse(each)
        return self.nodes(graph.node, scope, [o.name for o in graph.output])

    def initializer(self, tensor):
        element_type(tensor.data_type)
        return of_array(numpy_helper.to_array(tensor), tensor.name)

    def sparse(self, tensor):
        values, indices = numpy_helper.to_array(tensor.values), numpy_helper.to_array(tensor.indices)
        flat = np.zeros(int(np.prod(tensor.dims)), values.dtype)
        flat[indices if indices.ndim == 1 else np.ravel_multi_index(tuple(indices.T), tuple(tensor.dims))] = values
        return of_array(flat.reshape(tuple(tensor.dims)))

    def nodes(self, nodes, scope, outputs):
        outer, self.scope = self.scope, scope
        try:
            for node in nodes:
                for name in node.output:
                    scope.producers[name] = node
                self.write(node)
            return [scope[name] if name else None for name in outputs]
        finally:
            self.scope = outer

    def function(self, function, node, inputs):
        """Writes the nodes of a function where a node calls it."""
        scope = Scope(opsets={o.domain or "": o.version for o in function.opset_import})
        inputs = list(inputs) + [None] * (len(function.input) - len(inputs))
        scope.update(zip(function.input, inputs))
        scope.passed = {inner: (outer, self.scope) for inner, outer in zip(function.input, node.input)}
        attributes = {a.name: a for a in node.attribute}
        for each in (*function.attribute_proto, *defaults_of(node, self.scope.opsets)):
            attributes.setdefault(each.name, each)
        self.trail.append(node)
        try:
            # An optional output may have no node that gives it, where it is not wanted.
            made = {name for n in function.node for name in n.output} | set(function.input)
            return self.nodes([with_attributes(n, attributes) for n in function.node], scope,
                              [name if name in made else "" for name in function.output])
        finally:
            self.trail.pop()

    # Nodes

    def write(self, node):
        f = self.f
        f.location = f'"{(self.trail[0] if self.trail else node).name or node.output[0]}"'.replace("\\", "/")
        c = Context(self, node)
        try:
            results = self._results(c, node)
        except NeedsValue:
            raise
        except (Unsupported, NotImplementedError) as error:
            if getattr(error, "is_located", False):
                raise
            located = Unsupported(f"{describe(node, self.trail)}: {error}")
            located.is_located = True
            raise located from None
        for name, held in zip(node.output, results):
            if name:
                self.scope[name] = held

    def _results(self, c, node):
        for name in node.input:
            if name and self.scope.producer(name)[1] is None:
                c.refuse(f"its input '{name}' is made by no node before it: this is no sound model")
        inputs = [self.scope[name] if name else None for name in node.input]
        function = self.functions.get((node.domain, node.op_type, getattr(node, "overload", "")))
        if function is not None:
            return self.function(function, node, inputs)
        if node.domain not in ("", "ai.onnx", "ai.onnx.preview"):
            c.refuse(
                f"operations of the domain '{node.domain}' are not compiled; export the model with those of the "
                f"standard domain "
                "alone, or with its functions")
        folded = fold(c, inputs)
        if folded is not None:
            return folded
        emitter = registry.EMITTERS.get(node.op_type)
        if emitter is None:
            function = defined_by_others(c, inputs)
            if function is None:
                c.refuse("there is no emitter of this operation")
            return self.function(function, node, inputs)
        if not emitter.raw:
            inputs = [held if held is None or isinstance(held, list) else c.static(number) if number in emitter.static
                      else self.tensor(held) for number, held in enumerate(inputs)]
        results = emitter.emit(c, *inputs)
        return results if isinstance(results, tuple) else (results,)

    def sources(self, name):
        """The inputs of the graph from which a name follows."""
        found, seen, pending = set(), set(), [(name, self.scope)]
        while pending:
            name, scope = pending.pop()
            node, where = scope.producer(name)
            if (name, id(where)) in seen:
                continue
            seen.add((name, id(where)))
            if node is not None and node.op_type in ("Shape", "Size"):
                continue  # sizes are known
            if node is not None:
                pending += [(n, where) for n in (*node.input, *captured(node)) if n]
            elif where is not None and name in where.passed:
                pending.append(where.passed[name])
            elif name in self.inputs and where is self.top:
                found.add(name)
            elif where is None or not isinstance(where.get(name), Constant):
                found.add(None)  # what a loop carries
        return found


def captured(node):
    """Names that the graphs of a node read from outside."""
    names = []
    for attribute in node.attribute:
        for graph in [attribute.g, *attribute.graphs] if attribute.type in (attribute.GRAPH, attribute.GRAPHS) else []:
            own = {i.name for i in (*graph.input, *graph.initializer)} | {o for n in graph.node for o in n.output}
            names += [name for n in graph.node for name in (*n.input, *captured(n)) if name not in own]
            names += [o.name for o in graph.output if o.name not in own]
    return names


def describe(node, trail=()):
    domain, output = node.domain + "." if node.domain else "", node.output[0] if node.output else ""
    text = f"{domain}{node.op_type} (node '{node.name}', output '{output}')"
    return text + (f" of {describe(trail[-1])}" if trail else "")


def defaults_of(node, opsets):
    """The attributes that an operation of ONNX has where a node leaves them out."""
    try:
        schema = onnx.defs.get_schema(node.op_type, opsets.get(node.domain, 1), node.domain)
    except onnx.defs.SchemaError:
        return []
    return [a.default_value for a in schema.attributes.values() if a.default_value.name]


def with_attributes(node, attributes):
    """A node of a function with the attributes of the call."""
    if not any(a.ref_attr_name for a in node.attribute):
        return node
    copy = onnx.NodeProto()
    copy.CopyFrom(node)
    del copy.attribute[:]
    for each in node.attribute:
        if not each.ref_attr_name:
            copy.attribute.append(each)
        elif each.ref_attr_name in attributes:
            given = copy.attribute.add()
            given.CopyFrom(attributes[each.ref_attr_name])
            given.name = each.name
    return copy


def defined_by_others(c, inputs):
    """The function by which ONNX defines an operation; None where it has none."""
    try:
        schema = onnx.defs.get_schema(c.node.op_type, c.version, c.node.domain)
    except onnx.defs.SchemaError:
        return None
    if schema.has_function:
        return schema.function_body
    if not schema.has_context_dependent_function:
        return None
    described = []
    for held in inputs:
        proto = onnx.TypeProto()
        if held is not None and not isinstance(held, list):
            shape = [n if isinstance(n, int) else str(n) for n in held.shape]
            proto = onnx.helper.make_tensor_type_proto(TO_ONNX[held.type], shape)
        described.append(proto.SerializeToString())
    body = schema.get_context_dependent_function(c.node.SerializeToString(), described)
    function = onnx.FunctionProto()
    function.ParseFromString(body)
    return function


class Context(context.Context):
    """One node, as its emitter sees it."""

    def __init__(self, reader, node):
        super().__init__(reader.f)
        self.reader, self.node = reader, node

    @property
    def version(self):
        """The version of the operation's domain."""
        opsets = self.reader.scope.opsets
        return opsets.get(self.node.domain, opsets.get("ai.onnx", opsets.get("", 1)))

    def attribute(self, name, default=None):
        for each in self.node.attribute:
            if each.name == name:
                value = onnx.helper.get_attribute_value(each)
                if isinstance(value, bytes):
                    return value.decode()
                if isinstance(value, (list, tuple)):
                    return [v.decode() if isinstance(v, bytes) else v for v in value]
                return value
        return default

    def has(self, name):
        return any(each.name == name for each in self.node.attribute)

    @property
    def outputs(self):
        return len(self.node.output)

    def wants(self, number):
        return number < len(self.node.output) and bool(self.node.output[number])

    # Inputs

    def tensor(self, held):
        return self.reader.tensor(held)

    def held(self, number):
        names = self.node.input
        return self.reader.scope[names[number]] if number < len(names) and names[number] else None

    def static(self, number, what=None):
        """An input as an array that is known when the model is compiled; None where it is left out."""
        held = self.held(number)
        if held is None:
            return None
        if isinstance(held, Constant):
            return held.array
        name = self.node.input[number]
        sources = self.reader.sources(name)
        schema = what or f"input {number}, '{name}',"
        reason = f"{schema} has to be known when the model is compiled"
        if None in sources or not sources:
            self.refuse(f"{reason}, but it follows from what a loop or a branch computes")
        raise NeedsValue(sources, f"{describe(self.node, self.reader.trail)}: {reason}; it follows from the inputs "
                                  f"{', '.join(sorted(sources))}")

    def sizes(self, number, what=None):
        """The same as a list of sizes."""
        array = self.static(number, what)
        return None if array is None else [
            n if not isinstance(n, (np.integer, np.bool_)) else int(n) for n in array.reshape(-1).tolist()
        ]

    def number(self, held, what):
        """A constant of one element as Python's number."""
        if held is None:
            return None
        if isinstance(held, Constant) and held.splat() is not None:
            return held.splat()
        return self.refuse(f"{what} that is computed is not compiled")

    # Element-wise operations

    def map(self, operands, body, compute=None, type=None, shape=None):
        """Element-wise, as in `emit/context.py`. Operands may be constants; the result has their broadcast shape, and
        the type of the first tensor."""
        held = [o for o in operands if isinstance(o, (Value, Constant))]
        shape = broadcast(self, [o.shape for o in held]) if shape is None else shape
        type = type or held[0].type
        plain_operands = []
        for o in operands:
            if isinstance(o, Constant):
                number = o.splat()
                plain_operands.append(self.tensor(o) if number is None else number)
            else:
                plain_operands.append(o)
        return super().map(plain_operands, body, compute, type, tuple(shape))

    def fill(self, shape, type, value):
        return self.f.fill(tuple(shape), type, value)


def broadcast(c, shapes):
    """The shape of tensors that are broadcast as numpy does. Of two different dynamic sizes the first is taken."""
    rank = max(map(len, shapes), default=0)
    result = []
    for i in range(rank):
        sizes = [s[i - rank] for s in shapes if len(s) >= rank - i]
        wide = [n for n in sizes if n != 1]
        numbers = {n for n in wide if isinstance(n, int)}
        if len(numbers) > 1:
            c.refuse(f"its inputs of shapes {', '.join(map(str, shapes))} cannot be broadcast")
        result.append(numbers.pop() if numbers else wide[0] if wide else 1)
    return tuple(result)


def _literal(number, type):
    if types.is_float(type):
        return float_literal(float(number), type)
    if type == "i1":
        return "true" if number else "false"
    return str(int(number))


def _entries(array, type):
    array = stored(array, type)
    if types.is_unsigned(type) and type != "i1":  # the text has no signs
        array = array.view(array.dtype.name.removeprefix("u"))

    def nested(part):
        return "[" + ", ".join(nested(p) if p.ndim else _literal(p, type) for p in part) + "]"
    return nested(array) if array.ndim else _literal(array, type)


__all__ = [
    "Constant", "Context", "Input", "NeedsValue", "Reader", "broadcast", "dtype_of", "inputs_of", "of_sizes", "plain"
]
