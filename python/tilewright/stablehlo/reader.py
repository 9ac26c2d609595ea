"""From a module of StableHLO to the text of one function.

Each operation is then written by the emitter of its name (`registry.py`). Three kinds of values stand for
tensors, so that constants and broadcasts cost nothing where element-wise operations read them:

    Value       a tensor of the text
    Splat       one number or scalar in every element
    Spread      a tensor of the text, with the dimensions of the result that its own become
    Numbers     few integers, each a constant or an expression of sizes: what dynamic shapes are given by

Dynamic sizes are sympy expressions (`sizes.py`) over the sizes of the arguments; `shapes.py` gives those of results.
"""

import dataclasses

import numpy as np
from jaxlib.mlir import ir

from ..emit import context, types
from ..emit.elements import rounded
from ..emit.function import Function
from ..emit.scalars import Scalar, Scalars
from ..emit.sizes import is_static
from ..emit.value import Value
from . import registry, sizes
from .attributes import enum, integers, operation_name, shape_and_type, source_line
from .registry import Unsupported
from .shapes import completed

#: Constants of more elements are no sizes.
LARGEST_NUMBERS = 64


@dataclasses.dataclass
class Splat:
    """Every element is `number`: a Python number, a number that follows from sizes, or a `Scalar` of the text."""
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


@dataclasses.dataclass
class Numbers:
    """`entries`: numpy's array of Python integers and expressions of sizes."""
    entries: np.ndarray
    type: str

    @property
    def shape(self):
        return self.entries.shape


class Reader:
    def __init__(self, name, functions, locations=False):
        self.f = Function(name, locations)
        self.functions = functions
        self.calls = []           # the calls whose functions are being written, from the outermost
        self.has_dynamic_sizes = False
        self.sizes = 0            # how many sizes have names
        self.computed = {}        # name of a scalar in the text -> name of the size that it is
        self.sums = {}            # name of a scalar -> (name of another, what was added to it), of lists of sizes
        self.values = {}          # value of the module -> Value, Splat or Spread

    # What a value of the module is in the text

    def tensor(self, value):
        """As a tensor of the text."""
        held = self.values[value] if not isinstance(value, (Value, Splat, Spread, Numbers)) else value
        if isinstance(held, Value):
            return held
        if isinstance(held, Splat):
            made = self._filled(held)
        elif isinstance(held, Numbers):
            made = self._listed(held)
        else:
            made = self.f.generic(len(held.shape), [(held.value, self.access(held))],
                                  [(self.f.empty(held.shape, held.type), [f"d{i}" for i in range(len(held.shape))])], lambda s, a, _: a)
        return made

    def _filled(self, held):
        f, number = self.f, held.number
        if sizes.is_symbolic(number):
            number = self.number(Scalars(f), held)
        if held.shape or not isinstance(number, Scalar):
            return f.fill(held.shape, held.type, number)
        text = types.text(held.type)
        return Value(f.op(f"tensor.from_elements {number.name} : tensor<{text}>"), (), held.type)

    def _listed(self, held):
        f, s = self.f, Scalars(self.f)
        names = [self.number(s, Splat(n, (), held.type)).name for n in held.entries.flat]
        flat = Value(f.fresh(), (held.entries.size,), held.type)
        f.line(f"{flat.name} = tensor.from_elements {', '.join(names)} : {flat.text}")
        return f.view(flat, held.shape)

    def number(self, s, held):
        """The element of a `Splat` as a scalar."""
        number = held.number
        if isinstance(number, Scalar):
            return number
        if isinstance(number, sizes.Relation):
            return s.compare(number.test, *[s.size(n) if sizes.is_symbolic(n) else s.constant(n, "i64") for n in (number.a, number.b)])
        return s.size(number, held.type) if sizes.is_symbolic(number) else s.constant(number, held.type)

    def scalar(self, value):
        """A tensor of rank 0 as a scalar."""
        held = self.values[value]
        s = Scalars(self.f)
        if isinstance(held, Splat):
            return self.number(s, held)
        return s.extract(self.tensor(value), [])

    def access(self, held):
        """The results of the map by which an operation over the value's shape reads it."""
        if isinstance(held, Value):
            return [f"d{i}" for i in range(held.rank)]
        return ["0" if n == 1 and held.shape[d] != 1 else f"d{d}" for n, d in zip(held.value.shape, held.dims)]

    def map(self, operands, shape, type, body):
        """Element-wise over values of any kind; `body(s, *scalars)` gives the element. Operands of rank 0 are broadcast."""
        reads = []
        operands = [self.tensor(o) if isinstance(o, Numbers) else o for o in operands]
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
                    scalars.append(self.number(s, held))
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
                return self.number(s, held)
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
        return self.functions[str(op.attributes[attribute]).strip('[]@"')].regions[0].blocks[0]

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
            self.values[result] = self._fitted(op, held, *shape_and_type(result.type))

    def _fitted(self, op, held, shape, type):
        """What an emitter made, with the sizes that the module knows."""
        fits = held.type == type and len(held.shape) == len(shape) and \
            all(k is None or not isinstance(n, int) or n == k for n, k in zip(held.shape, shape))
        assert fits, f"{op.name} made {held.type}{list(held.shape)} where the module has {type}{list(shape)}"
        known = tuple(n if k is None else k for n, k in zip(held.shape, shape))
        return self.f.cast_shape(held, known) if isinstance(held, Value) and known != tuple(held.shape) else held

    def _results(self, op):
        made = [shape_and_type(r.type) for r in op.results]
        if op.name == "stablehlo.constant":
            return [_constant(op) or self._few_numbers(op) or self._dense(op)]
        for value in op.operands:
            if value not in self.values:
                raise Unsupported("an operand is no tensor of this function")
        number = self._folded(op)
        if number is not None:
            return [number]
        if not registry.gives_shapes(op.name):
            made = completed(Context(self, op, made), made)
        if made and all(0 in shape for shape, _ in made):
            return [self.f.empty(shape, type) for shape, type in made]
        emitter = registry.EMITTERS.get(op.name)
        if emitter is not None:
            results = emitter(Context(self, op, made))
            return list(results) if isinstance(results, (tuple, list)) else [results]
        if op.name not in registry.ELEMENTS:
            raise Unsupported("there is no emitter of this operation")
        return [self.element_wise(op, *made[0])]

    def element_wise(self, op, shape, type):
        return self.map([self.values[v] for v in op.operands], shape, type, lambda s, *e: one_element(s, op, e))

    # Dynamic sizes

    def argument(self, type, constant=False):
        """An argument of the function; its dynamic sizes get names. `constant`: `Function.argument`."""
        shape, type = shape_and_type(type)
        names = {d: self.named_size() for d, n in enumerate(shape) if n is None}
        value = self.f.argument([names.get(d, n) for d, n in enumerate(shape)], type, constant)
        for d, name in names.items():
            self.f.sizes.bind(name, lambda d=d: self.f.size_of_argument(value, d))
        return value

    def named_size(self, is_positive=True):
        self.has_dynamic_sizes = True
        self.sizes += 1
        return sizes.symbol(f"n{self.sizes - 1}", is_positive)

    def _few_numbers(self, op):
        shape, type = shape_and_type(op.results[0].type)
        if not self.has_dynamic_sizes or type not in ("i32", "i64") or np.prod(shape) > LARGEST_NUMBERS or 0 in shape:
            return None
        return Numbers(np.array(integers(op.attributes["value"]), object).reshape(shape), type)

    def entries(self, held):
        """Integers, expressions of sizes and scalars that make up a value, as numpy's array; None where it is another tensor."""
        if isinstance(held, Numbers):
            return held.entries
        if not isinstance(held, Splat) or not is_static(held.shape) or np.prod(held.shape) > LARGEST_NUMBERS:
            return None
        made = np.empty(held.shape, object)
        made[...] = held.number
        return made

    def _folded(self, op):
        """The result of an operation on sizes, where it is one that shapes may be given by."""
        if not self.has_dynamic_sizes or len(op.results) != 1:
            return None
        from . import folds
        type = shape_and_type(op.results[0].type)[1]
        held = [self.values[v] for v in op.operands]
        if not folds.folds(op.name) or types.is_float(type) or any(types.is_float(h.type) for h in held):
            return None
        entries = [self.entries(h) for h in held]
        if any(e is None for e in entries) or not any(isinstance(h, Numbers) for h in held) and \
                any(isinstance(h.number, Scalar) for h in held):
            return None
        test = enum(op.attributes["comparison_direction"]) if op.name == "stablehlo.compare" else None
        cells = np.broadcast_arrays(*entries)
        made = np.empty(cells[0].shape, object)
        for at in np.ndindex(made.shape):
            made[at] = self._cell(op, type, test, [c[at] for c in cells], [h.type for h in held])
            if made[at] is None:
                return None
        return self.of_entries(made, type)

    def _cell(self, op, type, test, numbers, kinds):
        """One number of a result; None where it is no expression of sizes and no scalars go into it."""
        from . import folds
        if any(isinstance(n, Scalar) for n in numbers):
            s = Scalars(self.f)
            made = one_element(s, op, [self.number(s, Splat(n, (), kind)) for n, kind in zip(numbers, kinds)])
            if op.name == "stablehlo.add":
                base, more = numbers if isinstance(numbers[0], Scalar) else numbers[::-1]
                self.sums[made.name] = (base.name, more)
            return made
        number = folds.folded(op.name, test, numbers)
        fits = number is None or sizes.is_symbolic(number) or types.lowest(type) <= number <= types.highest(type)
        return number if fits else None

    def extent(self, first, end):
        """How many positions there are from one to another."""
        if isinstance(end, Scalar) and isinstance(first, Scalar):
            if end.name == first.name:
                return 0
            base, more = self.sums.get(end.name, (None, None))
            if base == first.name and not isinstance(more, Scalar):
                return more
        return self.size(end) - self.size(first)

    def of_entries(self, entries, type):
        """Numbers as what is held for them."""
        first = entries.flat[0]
        return Splat(first, entries.shape, type) if all(n == first for n in entries.flat) else Numbers(entries, type)

    def size(self, number):
        """A number as a size: one that is computed in the text gets a name."""
        if not isinstance(number, Scalar):
            return number
        if number.name not in self.computed:
            name = self.computed[number.name] = self.named_size(False)
            self.f.sizes.bind(name, lambda: Scalars(self.f).index_cast(number, "index").name)
        return self.computed[number.name]

    def is_at_least_0(self, size):
        """Whether a size, which may be the difference of others, is known not to be negative."""
        if isinstance(size, int):
            return size >= 0
        from . import folds
        return folds.is_at_least(size, 0)

    def require(self, op, held, message):
        """A condition on sizes: an equality tells of one argument's size what it is by others; what is left is looked at in the call."""
        number = held.number if isinstance(held, Splat) else None
        if number is True or (isinstance(number, sizes.Relation) and number.test == "eq" and self._unified(number)):
            return
        if number is False:
            raise Unsupported(f"no sizes fulfil this condition: {message}")
        self.f.reads_at_indices = True
        self.f.line(f'cf.assert {self.scalar(op.operands[0]).name}, "{message}"')

    def _unified(self, relation):
        """Writes a size of an argument as the expression that it equals, before anything else is written."""
        from . import folds
        free = {n for a in self.f.arguments for n in a.shape if getattr(n, "is_Symbol", False)}
        if any(isinstance(h, (Value, Spread)) and h not in self.f.arguments for h in self.values.values()):
            return False
        old, new = folds.solved(relation, free, self.named_size)
        if old is None:
            return False
        for argument in self.f.arguments:
            argument.shape = tuple(sizes.replaced(n, old, new) for n in argument.shape)
        for held in self.values.values():
            if isinstance(held, Splat):
                held.number = sizes.replaced(held.number, old, new)
            elif isinstance(held, Numbers):
                held.entries = np.frompyfunc(lambda n: sizes.replaced(n, old, new), 1, 1)(held.entries)
        for name in new.free_symbols - set(self.f.sizes.sources):
            self.f.sizes.bind(name, lambda: self.f.index(folds.inverse(old, new, name)))
        return True

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

    def __init__(self, reader, op, results):
        super().__init__(reader.f)
        self.reader, self.op, self.results = reader, op, results  # of each result (shape, type)

    def held(self, number):
        return self.reader.values[self.op.operands[number]]

    def value(self, number):
        return self.reader.tensor(self.op.operands[number])

    def scalar(self, number):
        return self.reader.scalar(self.op.operands[number])

    def sizes(self, number):
        """An operand that gives sizes, as a list, nested for a matrix."""
        entries = self.entries(number)
        made = np.empty(entries.shape, object)
        made.flat[:] = [self.reader.size(n) for n in entries.flat]
        return made.tolist()

    def entries(self, number):
        """The same as numpy's array, which may have scalars of the text."""
        entries = self.reader.entries(self.held(number))
        if entries is None:
            self.refuse("it makes a shape of data; shapes have to follow from the sizes of the arguments")
        return entries

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
        return held.number if isinstance(held, Splat) and not sizes.is_symbolic(held.number) else self.scalar(number)


def one_element(s, op, scalars, round_each=True):
    """Floats of 16 and 8 bits are computed in f32 and rounded after each operation."""
    _, type = shape_and_type(op.results[0].type)
    if op.name not in ("stablehlo.convert", "stablehlo.bitcast_convert", "stablehlo.compare", "stablehlo.select", "chlo.next_after"):
        scalars = [s.cast(a, types.compute(a.type)) for a in scalars]
    result = registry.ELEMENTS[op.name](s, op, *scalars)
    return rounded(s, result, type) if round_each or not types.is_float(type) else result


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


def read(module, name="graph", locations=False, constants=()):
    """The text of the module's `main`, or of its one public function; those that it calls are written where they are called.
    `constants`: the numbers of its arguments that are the same in many calls."""
    registry.load()
    functions = {str(op.operation.attributes["sym_name"]).strip('"'): op.operation for op in module.body.operations
                 if op.operation.name == "func.func"}
    public = [f for f in functions.values() if "sym_visibility" not in f.attributes or "private" not in str(f.attributes["sym_visibility"])]
    public = [f for f in public if f.attributes["sym_name"].value == "main"] or public  # regions may be functions, too
    if len(public) != 1:
        raise Unsupported(f"the module has {len(public)} public functions; one is compiled")
    reader = Reader(name, functions, locations)
    block = public[0].regions[0].blocks[0]
    for number, argument in enumerate(block.arguments):
        reader.values[argument] = reader.argument(argument.type, number in constants)
    results = [reader.tensor(v) for v in reader.block(block)]
    return reader.f.finish(results)
