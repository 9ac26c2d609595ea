"""From a module of StableHLO to the text of one function.

Each operation is then written by the emitter of its name (`registry.py`). Three kinds of values stand for
tensors, so that constants and broadcasts cost nothing where element-wise operations read them:

    Value       a tensor of the text
    Splat       one number or scalar in every element
    Spread      a tensor of the text, with the dimensions of the result that its own become
"""

import dataclasses

import numpy as np
from jaxlib.mlir import ir

from ..emit import context, types
from ..emit.function import Function
from ..emit.scalars import Scalar, Scalars
from ..emit.value import Value
from . import registry
from .attributes import integers, operation_name, shape_and_type, source_line
from .registry import Unsupported


@dataclasses.dataclass
class Splat:
    """Every element is `number`: a Python number, or a `Scalar` of the text."""
    number: object
    shape: tuple
    type: str


@dataclasses.dataclass
class Spread:
    """`value` with its dimension i as dimension `dims[i]` of `shape`; a size of 1 repeats."""
    value: Value
    dims: list
    shape: tuple

    @property
    def type(self):
        return self.value.type


class Reader:
    def __init__(self, name, functions, locations=False):
        self.f = Function(name, locations)
        self.functions = functions
        self.calls = []           # the calls whose functions are being written, from the outermost
        self.values = {}          # value of the module -> Value, Splat or Spread

    # What a value of the module is in the text

    def tensor(self, value):
        """As a tensor of the text."""
        held = self.values[value] if not isinstance(value, (Value, Splat, Spread)) else value
        if isinstance(held, Value):
            return held
        if isinstance(held, Splat):
            made = self._filled(held)
        else:
            made = self.f.generic(len(held.shape), [(held.value, self.access(held))],
                                  [(self.f.empty(held.shape, held.type), [f"d{i}" for i in range(len(held.shape))])], lambda s, a, _: a)
        return made

    def _filled(self, held):
        f = self.f
        if not isinstance(held.number, Scalar):
            return f.fill(held.shape, held.type, held.number)
        if held.shape:
            return f.fill(held.shape, held.type, held.number)
        text = types.text(held.type)
        return Value(f.op(f"tensor.from_elements {held.number.name} : tensor<{text}>"), (), held.type)

    def scalar(self, value):
        """A tensor of rank 0 as a scalar."""
        held = self.values[value]
        s = Scalars(self.f)
        if isinstance(held, Splat):
            return held.number if isinstance(held.number, Scalar) else s.constant(held.number, held.type)
        return s.extract(self.tensor(value), [])

    def access(self, held):
        """The results of the map by which an operation over the value's shape reads it."""
        if isinstance(held, Value):
            return [f"d{i}" for i in range(held.rank)]
        return ["0" if n == 1 and held.shape[d] != 1 else f"d{d}" for n, d in zip(held.value.shape, held.dims)]

    def map(self, operands, shape, type, body):
        """Element-wise over values of any kind; `body(s, *scalars)` gives the element. Operands of rank 0 are broadcast."""
        reads = []
        for held in operands:
            if isinstance(held, Value):
                reads.append((held, self.access(held)))
            elif isinstance(held, Spread):
                reads.append((held.value, self.access(held)))

        def write(s, *elements):
            elements = iter(elements)
            scalars = []
            for held in operands:
                if isinstance(held, Splat):
                    scalars.append(held.number if isinstance(held.number, Scalar) else s.constant(held.number, held.type))
                else:
                    scalars.append(next(elements))
            return body(s, *scalars)
        if not reads and operands:
            return Splat(write(Scalars(self.f)), tuple(shape), type)
        return self.f.generic(len(shape), reads, [(self.f.empty(shape, type), [f"d{i}" for i in range(len(shape))])],
                              lambda s, *e: write(s, *e[:-1]))

    # Regions

    def elements(self, s, block, scalars, round_each=True):
        """A block of operations on tensors of rank 0, written on single elements; gives what it returns."""
        inner = dict(zip(block.arguments, scalars, strict=True))

        def of(value):
            if value in inner:
                return inner[value]
            held = self.values[value]
            if isinstance(held, Splat):
                return held.number if isinstance(held.number, Scalar) else s.constant(held.number, held.type)
            return s.extract(self.tensor(value), [])
        for op in block.operations:
            op = op.operation
            if op.name in ("stablehlo.return", "func.return"):
                return [of(v) for v in op.operands]
            if op.name == "stablehlo.constant":
                inner[op.results[0]] = s.constant(_constant(op).number, shape_and_type(op.results[0].type)[1])
            elif op.name in ("stablehlo.reshape", "stablehlo.broadcast_in_dim"):
                inner[op.results[0]] = of(op.operands[0])
            elif op.name == "func.call":
                inner.update(zip(op.results, self.elements(s, self.callee(op), [of(v) for v in op.operands], round_each)))
            elif op.name in registry.ELEMENTS:
                inner[op.results[0]] = one_element(s, op, [of(v) for v in op.operands], round_each)
            else:
                raise located(op, "a region of a reduction, scatter or sort holds operations on single elements only", self.calls)
        raise AssertionError("a region without return")

    def callee(self, op, attribute="callee"):
        """The block of the function that an operation calls."""
        return self.functions[str(op.attributes[attribute]).strip('@"')].regions[0].blocks[0]

    # Operations

    def block(self, block):
        """Writes the operations of a block; gives the operands of its end."""
        for op in block.operations:
            op = op.operation
            if op.name in ("stablehlo.return", "func.return"):
                return list(op.operands)
            self.write(op)
        return []

    def write(self, op):
        self.f.location = None if not self.f.with_locations else _text_location(op.location)
        try:
            results = self._results(op)
        except Unsupported as error:
            raise error if getattr(error, "is_located", False) else located(op, str(error), self.calls) from None
        for result, held in zip(op.results, results, strict=True):
            shape, type = shape_and_type(result.type)
            assert tuple(held.shape) == shape and held.type == type, \
                f"{op.name} made {held.type}{list(held.shape)} where the module has {type}{list(shape)}"
            self.values[result] = held

    def _results(self, op):
        made = [shape_and_type(r.type) for r in op.results]
        if op.name == "stablehlo.constant":
            return [_constant(op) or self._dense(op)]
        for value in op.operands:
            if value not in self.values:
                raise Unsupported("an operand is no tensor of this function")
        if made and all(0 in shape for shape, _ in made):
            return [self.f.empty(shape, type) for shape, type in made]
        if op.name in registry.ELEMENTS:
            (shape, type), = made
            held = [self.values[v] for v in op.operands]
            return [self.map(held, shape, type, lambda s, *e: one_element(s, op, e))]
        emitter = registry.EMITTERS.get(op.name)
        if emitter is None:
            raise Unsupported("there is no emitter of this operation")
        results = emitter(Context(self, op))
        return list(results) if isinstance(results, (tuple, list)) else [results]

    def _dense(self, op):
        shape, type = shape_and_type(op.results[0].type)
        entries = str(op.attributes["value"]).rsplit(" : ", 1)[0]
        if type == "i1" and '"' in entries:  # versions of MLIR differ in the bits of hexadecimal text
            held = ir.DenseIntElementsAttr(op.attributes["value"])
            flat = np.array([bool(held[i]) for i in range(len(held))]).reshape(shape)
            entries = f"dense<{str(flat.tolist()).lower()}>"
        value = Value(self.f.fresh(), shape, type)
        self.f.line(f"{value.name} = arith.constant {entries} : {value.text}")
        return value


class Context(context.Context):
    """One operation, as its emitter sees it."""

    def __init__(self, reader, op):
        super().__init__(reader.f)
        self.reader, self.op = reader, op

    def held(self, number):
        return self.reader.values[self.op.operands[number]]

    def value(self, number):
        return self.reader.tensor(self.op.operands[number])

    def scalar(self, number):
        return self.reader.scalar(self.op.operands[number])

    @property
    def results(self):
        return [shape_and_type(r.type) for r in self.op.results]

    @property
    def shape(self):
        return self.results[0][0]

    @property
    def type(self):
        return self.results[0][1]

    def has(self, name):
        return name in self.op.attributes

    def integers(self, name, default=None):
        return integers(self.op.attributes[name]) if self.has(name) else default

    def integer(self, name):
        return ir.IntegerAttr(self.op.attributes[name]).value

    def region(self, number=0):
        return self.op.regions[number].blocks[0]

    def initial(self, number):
        """A start value of rank 0 as what `fill` takes."""
        held = self.held(number)
        return held.number if isinstance(held, Splat) else self.scalar(number)


def one_element(s, op, scalars, round_each=True):
    """16-bit floats are computed in f32 and rounded after each operation."""
    _, type = shape_and_type(op.results[0].type)
    if op.name not in ("stablehlo.convert", "stablehlo.bitcast_convert", "stablehlo.compare", "stablehlo.select", "chlo.next_after"):
        scalars = [s.cast(a, types.compute(a.type)) for a in scalars]
    result = registry.ELEMENTS[op.name](s, op, *scalars)
    return s.cast(result, type) if round_each or not types.is_float(type) else result


def _constant(op):
    from .attributes import splat_number
    shape, type = shape_and_type(op.results[0].type)
    if "dense" not in str(op.attributes["value"])[:6] or 0 in shape:
        return None
    number = splat_number(ir.DenseElementsAttr(op.attributes["value"]))
    return None if number is None else Splat(number, shape, type)


def located(op, reason, calls=()):
    """The error with the name of the operation and its line; where it has none, that of the call that it comes from."""
    line = next(filter(None, (source_line(o.location) for o in (op, *reversed(calls)))), None)
    name = operation_name(op.location) if not line else None
    error = Unsupported(f"{op.name}{f' at {line}' if line else f' of {name!r}' if name else ''}: {reason}")
    error.is_located = True
    return error


def _text_location(location):
    line = source_line(location)
    if line is None:
        name = operation_name(location)
        return f'"{name}"' if name else None
    path, number = line.rsplit(":", 1)
    return f'"{path}":{number}:1'


def read(module, name="graph", locations=False):
    """The text of the module's one public function; those that it calls are written where they are called."""
    registry.load()
    functions = {str(op.operation.attributes["sym_name"]).strip('"'): op.operation for op in module.body.operations
                 if op.operation.name == "func.func"}
    public = [f for f in functions.values() if "sym_visibility" not in f.attributes or "private" not in str(f.attributes["sym_visibility"])]
    if len(public) != 1:
        raise Unsupported(f"the module has {len(public)} public functions; one is compiled")
    reader = Reader(name, functions, locations)
    block = public[0].regions[0].blocks[0]
    for argument in block.arguments:
        reader.values[argument] = reader.f.argument(*shape_and_type(argument.type))
    results = [reader.tensor(v) for v in reader.block(block)]
    return reader.f.finish(results)
