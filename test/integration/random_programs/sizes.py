"""Tensors whose sizes follow from data: read from an element, left by a loop, or those of the side that a branch takes."""

import numpy as np

from random_programs.builder import Builder
from random_programs.values import FLOATS, INTS, Axis, Value


class Sizes(Builder):
    def front(self, a, dim, size, name):
        """The first `size` (`name` in the program) elements of dimension `dim`, as a value without a name."""
        axes = list(a.axes)
        axes[dim] = Axis(size, name)
        index = tuple(slice(0, size) if d == dim else slice(None) for d in range(len(axes)))
        return Value("", axes, a.kind, a.data[index].copy(), a.error[index].copy())

    def slice_text(self, a, value):
        zeros, ones = ", ".join("0" for _ in a.axes), ", ".join("1" for _ in a.axes)
        sizes = ", ".join(x.name or str(x.size) for x in value.axes)
        return f"tensor.extract_slice {a.name}[{zeros}] [{sizes}] [{ones}] : {a.type()} to {value.type()}"

    def extent(self, axis):
        return axis.name or self.const_index(axis.size)

    def read_size(self, axis):
        """A size between 0 and that of `axis`, from an element of an input of integers: the index value, and the size."""
        numbers = self.pick([v for v in self.inputs if v.kind in INTS and v.kind != "i1" and v.data.size])
        zero, most = self.const_index(0), self.extent(axis)
        read, index, low, size = self.fresh("t"), self.fresh("i"), self.fresh("i"), self.fresh("n")
        self.emit(f"{read} = tensor.extract {numbers.name}[{', '.join(zero for _ in numbers.axes)}] : {numbers.type()}")
        self.emit(f"{index} = arith.index_cast {read} : {numbers.kind} to index")
        self.emit(f"{low} = arith.maxsi {index}, {zero} : index")
        self.emit(f"{size} = arith.minsi {low}, {most} : index")
        return size, min(max(int(numbers.data[(0,) * numbers.data.ndim]), 0), axis.size)

    def with_axes(self):
        a = self.pick_value(lambda v: v.axes and not v.kind == "i1" and all(x.size or x.name for x in v.axes))
        return a, int(self.rng.integers(len(a.axes)))

    def op_read_slice(self):
        """A slice whose size is read."""
        a, dim = self.with_axes()
        name, size = self.read_size(a.axes[dim])
        result = self.front(a, dim, size, name)
        result.name = self.fresh()
        self.emit(f"{result.name} = {self.slice_text(a, result)}")
        return result

    def named(self, result, dim):
        """The size of a result is that of its tensor."""
        at, name = self.const_index(dim), result.axes[dim].name
        self.emit(f"{name} = tensor.dim {result.name}, {at} : {result.type()}")
        return result

    def op_shrink(self):
        """A loop that halves a dimension and doubles floats, until at most a size that is read is left."""
        a, dim = self.with_axes()
        limit, most = self.read_size(a.axes[dim])
        current = self.front(a, dim, a.axes[dim].size, self.fresh("n"))
        while current.axes[dim].size > most:
            current = self.front(current, dim, current.axes[dim].size // 2, current.axes[dim].name)
            if a.kind in FLOATS:
                data, error = self.binary(current, current, current.axes, "arith.addf")
                current = self.finish(Value("", current.axes, a.kind, data, error), 0)
        type_ = current.type()
        at, two = self.const_index(dim), self.const_index(2)
        x, y, c, d, e, half, s = (self.fresh(stem) for stem in ("x", "y", "b", "n", "n", "n", "v"))
        begin, current.name = self.fresh(), self.fresh()
        self.emit(f"{begin} = tensor.cast {a.name} : {a.type()} to {type_}")
        self.emit(f"{current.name} = scf.while ({x} = {begin}) : ({type_}) -> {type_} {{")
        self.emit(f"  {d} = tensor.dim {x}, {at} : {type_}")
        self.emit(f"  {c} = arith.cmpi sgt, {d}, {limit} : index")
        self.emit(f"  scf.condition({c}) {x} : {type_}")
        self.emit("} do {")
        self.emit(f"^bb0({y}: {type_}):")
        self.emit(f"  {e} = tensor.dim {y}, {at} : {type_}")
        self.emit(f"  {half} = arith.divui {e}, {two} : index")
        inner = Value(y, list(current.axes), a.kind, current.data)
        cut = Value(s, list(current.axes), a.kind, current.data)
        cut.axes[dim] = Axis(0, half)
        self.emit(f"  {s} = {self.slice_text(inner, cut)}")
        last = s
        if a.kind in FLOATS:
            last = self.fresh("v")
            self.emit(f"  {last} = arith.addf {s}, {s} : {type_}")
        self.emit(f"  scf.yield {last} : {type_}")
        self.emit("}")
        return self.named(current, dim)

    def op_sides(self):
        """A branch whose sides differ in size."""
        a, dim = self.with_axes()
        name, size = self.read_size(a.axes[dim])
        if self.rng.random() < 0.5:
            flag = self.pick_value(lambda v: v.kind == "i1" and v.data.size and not v.error.any())
            zero, c = self.const_index(0), self.fresh("b")
            self.emit(f"{c} = tensor.extract {flag.name}[{', '.join(zero for _ in flag.axes)}] : {flag.type()}")
            taken = bool(flag.data[(0,) * len(flag.axes)])
        else:
            c, two = self.fresh("b"), self.const_index(2)
            self.emit(f"{c} = arith.cmpi sgt, {name}, {two} : index")
            taken = size > 2
        part, whole = self.front(a, dim, size, name), self.fresh("v")
        part.name = self.fresh()
        self.emit(f"{part.name} = {self.slice_text(a, part)}")
        result = self.front(a, dim, size if taken else a.axes[dim].size, self.fresh("n"))
        result.name, type_ = self.fresh(), result.type()
        self.emit(f"{whole} = tensor.cast {a.name} : {a.type()} to {type_}")
        work = a.kind in FLOATS and self.rng.random() < 0.5
        if work and taken:
            data, error = self.binary(result, result, result.axes, "arith.addf")
            result.data, result.error = data, error
            self.finish(result, 0)
        self.emit(f"{result.name} = scf.if {c} -> ({type_}) {{")
        side = part.name
        if work:
            side = self.fresh("v")
            self.emit(f"  {side} = arith.addf {part.name}, {part.name} : {type_}")
        self.emit(f"  scf.yield {side} : {type_}")
        self.emit("} else {")
        self.emit(f"  scf.yield {whole} : {type_}")
        self.emit("}")
        return self.named(result, dim)

    def op_iota(self):
        """A tensor that is as large as an element says."""
        count = Axis(17)
        name, size = self.read_size(count)
        result = Value(self.fresh(), [Axis(size, name)], "i32", np.arange(size, dtype=np.int32))
        i, j = self.fresh("i"), self.fresh("j")
        self.emit(f"{result.name} = tensor.generate {name} {{")
        self.emit(f"^bb0({i}: index):")
        self.emit(f"  {j} = arith.index_cast {i} : index to i32")
        self.emit(f"  tensor.yield {j} : i32")
        self.emit(f"}} : {result.type()}")
        return result
