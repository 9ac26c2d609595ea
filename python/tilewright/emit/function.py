"""Writes one function of linalg on tensors as MLIR text.

    f = Function("main")
    x = f.argument((4, 8), "f32")
    y = f.map([x], (4, 8), "f32", lambda s, a: s.math("exp", a))
    f.finish([y])                   # func.func @main(%a0: tensor<4x8xf32>) -> tensor<4x8xf32> { ... }

Sizes are Python integers or sympy expressions over the symbols of the graph (`sizes.py` turns these into index values).
"""

import contextlib
import math
import re
import struct

from . import types
from .reshape import reshape, reshape_ordered
from .scalars import Scalars
from .sizes import SizeWriter
from .value import Ordered, Value, long_dimensions, order_of, places, tensor_type


def float_literal(value, type):
    """A float so that the parser reads the same value back."""
    if math.isfinite(value):
        return f"{value:.17e}"
    if type in types.FLOATS8:
        from ..arrays import numpy_type
        return "0x%02X" % numpy_type(type).type(value).view("uint8")
    bits = {"f64": ("<d", "<Q", 16), "f32": ("<f", "<I", 8), "f16": ("<e", "<H", 4)}.get(type)
    if bits is None:  # bf16: the upper half of f32
        return "0x%04X" % (struct.unpack("<I", struct.pack("<f", value))[0] >> 16)
    return "0x%0*X" % (bits[2], struct.unpack(bits[1], struct.pack(bits[0], value))[0])


def dims(rank):
    return [f"d{i}" for i in range(rank)]


def affine_map(rank, results):
    """`affine_map<(d0, d1) -> (d1)>` from the number of loops and the texts of the results."""
    return f"affine_map<({', '.join(dims(rank))}) -> ({', '.join(map(str, results))})>"


class Function:
    """One function under construction. Values may be used where they are in scope: inside of a `loop`, those made outside."""

    def __init__(self, name, locations=False):
        self.name = name
        self.lines = []
        self.arguments = []
        self.constant_arguments = set()  # those that are the same in many calls
        self.location = None          # MLIR text of the location of what is being written
        self.with_locations = locations
        self.count = 0
        self.constants = {}           # (value, type) -> name, all at the head of the function
        self.heads = []
        self.outer_lines = self.lines  # while a body is written: the lines around its operation
        self.in_body = False
        self.copies = [{}]             # (array, permutation) -> its transposed copy; one table a scope
        self.sizes = SizeWriter(self)
        self.seed_argument, self.streams = None, 0
        self.bounds = {}               # name of a tensor -> the least and the largest of its elements, where they are known
        self.reads_at_indices = False  # indices are compared with sizes, and the call is refused where one is out of range

    # Lines, names, constants

    def fresh(self):
        self.count += 1
        return f"%{self.count}"

    def line(self, text):
        if self.with_locations and self.location:
            text += f" loc({self.location})"
        self.lines.append(text)

    def op(self, text):
        """Writes `%n = text` and returns the name."""
        name = self.fresh()
        self.line(f"{name} = {text}")
        return name

    def constant(self, value, type):
        """The name of a scalar constant of `type`."""
        if types.is_float(type):
            literal = float_literal(float(value), type)
        elif type == "i1":
            literal = "true" if value else "false"
        else:
            literal = str(int(value))
            if type != "index" and type not in types.UNSIGNED and not types.lowest(type) <= int(value) <= types.highest(type):
                literal = str((int(value) + (1 << types.BITS[type] - 1)) % (1 << types.BITS[type]) - (1 << types.BITS[type] - 1))
        key = (literal, types.text(type))
        if key not in self.constants:
            name = f"%c{len(self.constants)}"
            suffix = "" if type == "i1" else f" : {types.text(type)}"
            self.heads.append(f"{name} = arith.constant {literal}{suffix}")
            self.constants[key] = name
        return self.constants[key]

    def index(self, size):
        """The name of an index value: a constant, or what `size` is at the call."""
        return self.constant(size, "index") if isinstance(size, int) else self.sizes.value(size)

    @contextlib.contextmanager
    def scope(self):
        """Names that are written inside are not known after it."""
        self.copies.append({})
        with self.sizes.scope():
            yield
        self.copies.pop()

    def size_of_argument(self, argument, position):
        """The name of a size that an argument has, written at the head of the function, where every use is in scope."""
        name = self.fresh()
        self.heads.append(f"{name} = tensor.dim {argument.name}, {self.constant(position, 'index')} : {argument.text}")
        self.sizes.known[0][argument.shape[position]] = name
        return name

    def local_size(self, name):
        """A size that is known where the index value `name` is."""
        import sympy
        symbol = sympy.Symbol(f"n{self.fresh()[1:]}", integer=True, nonnegative=True)
        self.sizes.bind(symbol, lambda: name)
        return symbol

    def outer_index(self, size):
        """The same from inside of a body, written before its operation."""
        return self._outside(lambda: self.index(size))

    def outer_number(self, number):
        """The name of an f64, likewise."""
        return self._outside(lambda: self.sizes.number(number.expression))

    def _outside(self, write):
        inner, self.lines = self.lines, self.outer_lines
        name = write()
        self.lines = inner
        return name

    def argument(self, shape, type, constant=False):
        """`constant`: the array is the same in many calls, so that what is computed of it alone may be bound (docs/python.md)."""
        value = Value(f"%a{len(self.arguments)}", shape, type)
        self.arguments.append(value)
        if constant:
            self.constant_arguments.add(value)
        return value

    def seed(self):
        """The array of one i64 that random numbers begin with, and a number for the operation that draws them."""
        if self.seed_argument is None:
            self.seed_argument = self.argument((), "i64")
        self.streams += 1
        return self.seed_argument, self.streams

    # The order of dimensions in arrays

    def ordered(self, array, order):
        """The tensor whose array is the tensor `array`: dimension i of that is dimension `order[i]` of this one. Nothing is written."""
        order = tuple(order[i] for i in array.order)
        return array.array if order == tuple(range(len(order))) else Ordered(self, array.array, order)

    def arranged(self, value, order):
        """A plain tensor with the elements of `value` whose dimension i is dimension `order[i]` of it: the array itself, or a copy that
        is written here, before the operation whose body is being written, once in a scope."""
        order = tuple(order)
        if value.order == order:
            return value.array
        permutation = tuple(value.order.index(i) for i in order)  # of one array, which tensors of several orders may share
        key = (value.array.name, value.type, permutation)
        for table in self.copies:
            if key in table:
                return table[key]
        inner = self.lines
        self.lines = self.outer_lines if self.in_body else self.lines
        shape = tuple(value.shape[i] for i in order)
        if long_dimensions(value.order, value.shape) == long_dimensions(order, value.shape):
            made = reshape(self, value.array, shape)
        else:
            made = self._transposed(value.array, list(permutation))
        self.lines = inner
        self.copies[-1][key] = made
        return made

    # Tensors without content, and filled ones

    def empty(self, shape, type, order=None):
        """`order`: that of the dimensions in the array."""
        if order is not None:
            return self.ordered(self.empty([shape[i] for i in order], type), order)
        dynamic = ", ".join(self.index(n) for n in shape if not isinstance(n, int))
        return Value(self.op(f"tensor.empty({dynamic}) : {tensor_type(shape, type)}"), shape, type)

    def fill(self, shape, type, value, order=None):
        """A tensor of one value: a Python number or a scalar in the text."""
        if order is not None:
            return self.ordered(self.fill([shape[i] for i in order], type, value), order)
        scalar = value.name if hasattr(value, "name") else self.constant(value, type)
        into = self.empty(shape, type)
        return Value(self.op(f"linalg.fill ins({scalar} : {types.text(type)}) outs({into.name} : {into.text}) -> {into.text}"),
                     shape, type)

    def dense(self, entries, shape, type):
        """A constant tensor of integers from nested lists."""
        value = Value(self.fresh(), shape, type)
        self.line(f"{value.name} = arith.constant dense<{entries}> : {value.text}")
        return value

    # Generics

    def generic(self, loops, inputs, outputs, body, reductions=()):
        """One `linalg.generic`.

        `inputs`: pairs of a value and the texts of its access map's results. `outputs`: the same, of the tensors that are
        written (their content is read where the body uses it). `body(s, *elements)` takes a `Scalars` and one scalar for each
        input and output and returns one scalar for each output. `reductions`: the loops that are reductions. All arrays are accessed
        in the order that they have; loops follow each other as the dimensions of the first output's array.
        """
        given, into = [*inputs, *outputs], outputs
        place = loop_places(loops, *outputs[0])
        inputs, outputs = ([(v.array, [renumbered(results[i], place) for i in v.order]) for v, results in side] for side in (inputs, outputs))
        reductions = {place[i] for i in reductions} if place else reductions
        maps = ", ".join(affine_map(loops, results) for _, results in inputs + outputs)
        kinds = ", ".join('"reduction"' if i in reductions else '"parallel"' for i in range(loops))
        scalars = Scalars(self, place)
        elements = [scalars.block_argument(value.type) for value, _ in given]
        outer, self.lines = self.lines, []
        enclosing, self.outer_lines, self.in_body = self.outer_lines, outer, True
        results = body(scalars, *elements)
        results = results if isinstance(results, (tuple, list)) else (results,)
        yielded = [scalars.cast(r, value.type) for r, (value, _) in zip(results, outputs, strict=True)]
        names = ", ".join(r.name for r in yielded)
        result_types = ", ".join(types.text(value.type) for value, _ in outputs)
        self.line(f"linalg.yield {names} : {result_types}")
        inner, self.lines = self.lines, outer
        self.outer_lines, self.in_body = enclosing, False
        ins = ""
        if inputs:
            ins = f" ins({', '.join(v.name for v, _ in inputs)} : {', '.join(v.text for v, _ in inputs)})"
        out_types = ", ".join(v.text for v, _ in outputs)
        name = self.fresh()
        binding = name if len(outputs) == 1 else f"{name}:{len(outputs)}"
        self.lines.append(
            f"{binding} = linalg.generic {{indexing_maps = [{maps}], iterator_types = [{kinds}]}}{ins} "
            f"outs({', '.join(v.name for v, _ in outputs)} : {out_types}) {{")
        self.lines.append(f"^bb0({', '.join(f'{e.name}: {types.text(e.type)}' for e in elements)}):")
        self.lines.extend(inner)
        self.line(f"}} -> {out_types}" if len(outputs) == 1 else f"}} -> ({out_types})")
        names = [name] if len(outputs) == 1 else [f"{name}#{i}" for i in range(len(outputs))]
        results = tuple(self.ordered(Value(n, v.shape, v.type), w.order) for n, (v, _), (w, _) in zip(names, outputs, into))
        return results[0] if len(outputs) == 1 else results

    def map(self, inputs, shape, type, body, order=None):
        """Element-wise: inputs are broadcast to `shape` as PyTorch does; `body(s, *elements)` gives the result's element. `order`: that
        of the result's dimensions in its array; None: that of the inputs of this shape."""
        into = self.empty(shape, type, order_of(inputs, shape) if order is None else order)
        reads = [(value, broadcast_map(value, shape)) for value in inputs]
        return self.generic(len(shape), reads, [(into, dims(len(shape)))], lambda s, *e: body(s, *e[:-1]))

    def cast(self, value, type):
        """The tensor with its elements converted; types of one text differ in name alone."""
        if value.type == type:
            return value
        if types.text(value.type) == types.text(type):
            return value.typed(type=type)
        return self.map([value], value.shape, type, lambda s, a: s.cast(a, type))

    def reduce(self, inputs, axes, type, initial, body, keep=False):
        """Reduces equally shaped inputs over `axes`: `body(s, *elements, accumulator)` gives the new accumulator."""
        shape = inputs[0].shape
        axes = set(axes)
        kept = [i for i in range(len(shape)) if i not in axes]
        order = [i for i in order_of(inputs, shape) if i in kept]
        into = self.fill([shape[i] for i in kept], type, initial, [kept.index(i) for i in order])
        result = self.generic(len(shape), [(v, dims(len(shape))) for v in inputs], [(into, [f"d{i}" for i in kept])], body, axes)
        return self.view(result, [1 if i in axes else n for i, n in enumerate(shape)]) if keep else result

    # Views

    def view(self, value, shape):
        """`value` in another shape with the same elements in the same order."""
        return reshape_ordered(self, value, tuple(shape))

    def transpose(self, value, permutation):
        if list(permutation) == list(range(value.rank)):
            return value
        if value.array is not value:
            place = places(permutation)
            return self.ordered(value.array, [place[i] for i in value.order])
        return self._transposed(value, permutation)

    def _transposed(self, value, permutation):
        shape = [value.shape[p] for p in permutation]
        into = self.empty(shape, value.type)
        return Value(self.op(f"linalg.transpose ins({value.name} : {value.text}) outs({into.name} : {into.text}) "
                             f"permutation = [{', '.join(map(str, permutation))}]"), shape, value.type)

    def _ranges(self, offsets, sizes, strides):
        def text(entries):
            return "[" + ", ".join(str(e) if isinstance(e, int) else e if isinstance(e, str) else self.index(e) for e in entries) + "]"
        return f"{text(offsets)} {text(sizes)} {text(strides)}"

    def slice(self, value, offsets, sizes, strides=None, drop=()):
        """A box of `value`. Offsets are integers, size expressions or names of index values; `drop`: dimensions of size 1 left out."""
        strides = strides or [1] * value.rank
        shape = [n for i, n in enumerate(sizes) if i not in set(drop)]
        if 0 in shape or 0 in value.shape:
            return self.empty(shape, value.type)
        if value.array is not value:
            order = value.order
            left = [i for i in range(value.rank) if i not in set(drop)]
            inner = self.slice(value.array, *([side[i] for i in order] for side in (offsets, sizes, strides)), [order.index(i) for i in drop])
            return self.ordered(inner, [left.index(i) for i in order if i in left])
        ranges = self._ranges(offsets, sizes, strides)
        return Value(self.op(f"tensor.extract_slice {value.name}{ranges} : {value.text} to {tensor_type(shape, value.type)}"),
                     shape, value.type)

    def insert(self, value, into, offsets, strides=None, sizes=None):
        """`into` with `value` written over the box that begins at `offsets`; `sizes`: where dimensions of size 1 are left out."""
        strides = strides or [1] * into.rank
        if 0 in value.shape:
            return into
        if into.array is not into and sizes is None:
            value = self.arranged(value, into.order)
            inner = self.insert(value, into.array, [offsets[i] for i in into.order], [strides[i] for i in into.order])
            return self.ordered(inner, into.order)
        ranges = self._ranges(offsets, sizes or value.shape, strides)
        return Value(self.op(f"tensor.insert_slice {value.name} into {into.name}{ranges} : {value.text} into {into.text}"),
                     into.shape, into.type)

    def pad(self, value, low, high, shape, fill):
        """`value` with borders of `fill`, a Python number or a scalar in the text; the result has `shape`."""
        if not any(low) and not any(high):
            return value
        if value.array is not value:
            return self.ordered(self.pad(value.array, *([side[i] for i in value.order] for side in (low, high, shape)), fill), value.order)
        scalar = fill.name if hasattr(fill, "name") else self.constant(fill, value.type)
        low, high = (", ".join(str(n) if isinstance(n, int) else self.index(n) for n in side) for side in (low, high))
        arguments = ", ".join(f"{self.fresh()}: index" for _ in shape)
        name = self.fresh()
        self.lines.append(f"{name} = tensor.pad {value.name} low[{low}] high[{high}] {{")
        self.lines.append(f"^bb0({arguments}):")
        self.line(f"tensor.yield {scalar} : {types.text(value.type)}")
        self.line(f"}} : {value.text} to {tensor_type(shape, value.type)}")
        return Value(name, shape, value.type)

    def concat(self, values, axis, shape):
        order = values[0].order
        if values[0].array is not values[0] and all(v.order == order for v in values):
            inner = self.concat([v.array for v in values], order.index(axis), [shape[i] for i in order])
            return self.ordered(inner, order)
        result = tensor_type(shape, values[0].type)
        name = self.op(f"tensor.concat dim({axis}) {', '.join(v.name for v in values)} : "
                       f"({', '.join(v.text for v in values)}) -> {result}")
        return Value(name, shape, values[0].type)

    def cast_shape(self, value, shape):
        """The same tensor under a type that knows more, or less, of its sizes."""
        if tensor_type(shape, value.type) == value.text:
            return value.typed(shape)
        if value.array is not value:
            return self.ordered(self.cast_shape(value.array, [shape[i] for i in value.order]), value.order)
        return Value(self.op(f"tensor.cast {value.name} : {value.text} to {tensor_type(shape, value.type)}"), shape, value.type)

    # Control flow

    @contextlib.contextmanager
    def loop(self, count, carried):
        """`for i in range(count)`: yields (name of i, carried values, results); the body sets `results[:]`, and after the loop
        `results` holds the last ones. `count` is a size or the name of an index value."""
        upper = count if isinstance(count, str) else self.index(count)
        zero, one = self.constant(0, "index"), self.constant(1, "index")
        induction, name = self.fresh(), self.fresh()
        inner = [Value(self.fresh(), v.shape, v.type) for v in carried]
        outer, self.lines = self.lines, []
        results = []
        with self.scope():
            yield induction, inner, results
            yielded = [r.name for r in results]
        body, self.lines = self.lines, outer
        texts = [r.text for r in results]
        inits = ", ".join(f"{i.name} = {v.name}" for i, v in zip(inner, carried, strict=True))
        binding = name if len(carried) == 1 else f"{name}:{len(carried)}"
        self.lines.append(f"{binding} = scf.for {induction} = {zero} to {upper} step {one} iter_args({inits}) -> ({', '.join(texts)}) {{")
        self.lines.extend(body)
        self.line(f"scf.yield {', '.join(yielded)} : {', '.join(texts)}")
        self.line("}")
        results[:] = [Value(name if len(carried) == 1 else f"{name}#{i}", v.shape, v.type) for i, v in enumerate(carried)]

    @contextlib.contextmanager
    def captured(self):
        """What is written inside goes to the list that this gives, for a region of an operation."""
        outer, self.lines = self.lines, []
        inner = self.lines
        with self.scope():
            yield inner
        self.lines = outer

    def branch(self, condition, then, otherwise):
        """`scf.if`: both take nothing and give the list of results as values."""
        sides = []
        for side in (then, otherwise):
            with self.captured() as lines:
                results = side()
                texts = ", ".join(r.text for r in results)
                self.line(f"scf.yield {', '.join(r.name for r in results)} : {texts}" if results else "scf.yield")
            sides.append(lines)
        name = self.fresh()
        if not results:
            return []
        binding = name if len(results) == 1 else f"{name}:{len(results)}"
        self.lines += [f"{binding} = scf.if {condition.name} -> ({texts}) {{", *sides[0], "} else {", *sides[1], "}"]
        return [Value(name if len(results) == 1 else f"{name}#{i}", r.shape, r.type) for i, r in enumerate(results)]

    def repeat(self, carried, condition, body):
        """`scf.while`: `condition(values)` gives a scalar, `body(values)` the new values."""
        texts = ", ".join(v.text for v in carried)

        def names(values):
            return ", ".join(v.name for v in values)
        before, inside = ([Value(self.fresh(), v.shape, v.type) for v in carried] for _ in range(2))
        with self.captured() as test:
            self.line(f"scf.condition({condition(before).name}) {names(before)} : {texts}")
        with self.captured() as step:
            self.line(f"scf.yield {names(body(inside))} : {texts}")
        name = self.fresh()
        binding = name if len(carried) == 1 else f"{name}:{len(carried)}"
        inits = ", ".join(f"{b.name} = {v.name}" for b, v in zip(before, carried))
        self.lines += [f"{binding} = scf.while ({inits}) : ({texts}) -> ({texts}) {{", *test, "} do {",
                       f"^bb0({', '.join(f'{v.name}: {v.text}' for v in inside)}):", *step, "}"]
        return [Value(name if len(carried) == 1 else f"{name}#{i}", v.shape, v.type) for i, v in enumerate(carried)]

    # The end

    def finish(self, results):
        """The text of the whole module."""
        arguments = ", ".join(f"{a.name}: {a.text}{' {tilewright.constant}' if a in self.constant_arguments else ''}" for a in self.arguments)
        self.location = None
        result_types = ", ".join(r.text for r in results)
        body = "\n".join("  " + line for line in [*self.heads, *self.lines])
        returned = f"return {', '.join(r.name for r in results)} : {result_types}" if results else "return"
        arrow = f" -> ({result_types})" if results else ""
        return f"func.func @{self.name}({arguments}){arrow} {{\n{body}\n  {returned}\n}}\n"


def loop_places(loops, value, results):
    """Where each loop of a nest that writes `value` at the indices `results` comes to stand: loops that are an index of it are
    exchanged among each other so that they follow the dimensions of its array. None: where it stands."""
    if value.array is value:
        return None
    direct = [int(text[1:]) for text in (str(results[i]) for i in value.order) if re.fullmatch(r"d\d+", text)]
    if len(set(direct)) != len(direct):
        return None
    place = list(range(loops))
    for loop, at in zip(direct, sorted(direct)):
        place[loop] = at
    return place


def renumbered(text, place):
    """The text of an index with each loop under its new number."""
    return re.sub(r"\bd(\d+)\b", lambda found: f"d{place[int(found[1])]}", str(text)) if place else str(text)


def broadcast_map(value, shape):
    """The access map of an operand that is broadcast to `shape`: trailing dimensions match, those of size 1 are held at 0."""
    lead = len(shape) - value.rank
    return ["0" if n == 1 and shape[lead + i] != 1 else f"d{lead + i}" for i, n in enumerate(value.shape)]
