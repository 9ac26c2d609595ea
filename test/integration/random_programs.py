#!/usr/bin/env python3
"""Random tensor programs against NumPy.

A seed gives a program: its MLIR text, its inputs, and its outputs as this file computes them in float64 with the
roundings of the storage types, each with an error bound that is carried along with the values (running error analysis:
an operation adds the unit roundoff of its type times the magnitude, reductions add that of the accumulator times the sum
of magnitudes). `tw-run` compiles and runs the text; an output is wrong where it differs by more than its bound.
Comparisons and conversions to integers whose outcome the bound leaves open are not compared.

    random_programs.py --seeds 0:300              what CI runs
    random_programs.py --seeds 0:2000             full mode
    random_programs.py --seeds 17:18 --keep DIR   leaves the program and its arrays there
"""

import argparse
import concurrent.futures
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

import numpy as np

FLOATS = {"f64": 2.0**-52, "f32": 2.0**-23, "f16": 2.0**-10, "bf16": 2.0**-7}
TINY = {"f64": 2.0**-1022, "f32": 2.0**-126, "f16": 2.0**-24, "bf16": 2.0**-126}
INTS = {"i8": np.int8, "i32": np.int32, "i1": np.bool_}
LIMIT = 256.0  # programs keep floats below this magnitude, so that f16 never overflows
SIZES = [0, 1, 2, 3, 4, 5, 7, 8, 13, 16, 17, 31, 32, 33, 48, 64, 97]


def store(values, kind):
    """`values` (float64) rounded to `kind`."""
    if kind == "f64":
        return values
    if kind in ("f32", "f16"):
        return values.astype({"f32": np.float32, "f16": np.float16}[kind]).astype(np.float64)
    bits = values.astype(np.float32).view(np.uint32).astype(np.uint64)
    one, half = np.uint64(1), np.uint64(16)  # NumPy 1 shifts a 64-bit scalar only by its own type
    bits = (bits + np.uint64(0x7FFF) + ((bits >> half) & one)) & np.uint64(0xFFFF0000)
    return bits.astype(np.uint32).view(np.float32).astype(np.float64)


class Axis:
    """A dimension: its size, and the name of the index value that holds it where it is dynamic."""

    def __init__(self, size, name=None):
        self.size, self.name = size, name


class Value:
    """A tensor of a program: its SSA name, axes, element type, values and error bounds."""

    def __init__(self, name, axes, kind, data, error=None):
        self.name, self.axes, self.kind, self.data = name, axes, kind, data
        self.error = np.zeros(data.shape) if error is None else error

    def type(self):
        return "tensor<" + "".join(("?" if a.name else str(a.size)) + "x" for a in self.axes) + self.kind + ">"


class Reject(Exception):
    """The operation drawn does not fit the values drawn; another is drawn."""


class Program:
    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)
        self.lines, self.functions, self.inputs, self.values, self.counter = [], [], [], [], 0
        self.indent = "  "
        self.build()

    # -- text ------------------------------------------------------------------------------------------------------

    def fresh(self, stem="v"):
        self.counter += 1
        return f"%{stem}{self.counter}"

    def emit(self, text):
        self.lines.append(self.indent + text)

    def const_index(self, value):
        name = self.fresh("c")
        self.emit(f"{name} = arith.constant {value} : index")
        return name

    def scalar(self, kind, value):
        name = self.fresh("s")
        text = {"i1": "true" if value else "false"}.get(kind)
        if text is None:
            text = f"{float(value):.17e} : {kind}" if kind in FLOATS else f"{int(value)} : {kind}"
        self.emit(f"{name} = arith.constant {text}")
        return name

    def empty(self, axes, kind):
        name = self.fresh("e")
        sizes = ", ".join(a.name for a in axes if a.name)
        self.emit(f"{name} = tensor.empty({sizes}) : {Value(name, axes, kind, np.zeros(0)).type()}")
        return name

    def generic(self, inputs, maps, loops, reduction, init, result, body, extra_dims=0):
        """One linalg.generic. `maps` are tuples of loop numbers, the last for the result; `body` gets argument names."""
        dims = ", ".join(f"d{i}" for i in range(loops))
        affine = ", ".join(f"affine_map<({dims}) -> ({', '.join('d%d' % d for d in m)})>" for m in maps)
        kinds = ", ".join('"reduction"' if i in reduction else '"parallel"' for i in range(loops))
        out = self.fresh()
        ins = f"ins({', '.join(v.name for v in inputs)} : {', '.join(v.type() for v in inputs)}) " if inputs else ""
        self.emit(f"{out} = linalg.generic {{indexing_maps = [{affine}], iterator_types = [{kinds}]}} {ins}"
                  f"outs({init} : {result.type()}) {{")
        arguments = [self.fresh("x") for _ in inputs] + [self.fresh("o")]
        types = [v.kind for v in inputs] + [result.kind]
        self.emit("^bb0(" + ", ".join(f"{a}: {t}" for a, t in zip(arguments, types)) + "):")
        self.indent += "  "
        yielded = body(arguments)
        self.emit(f"linalg.yield {yielded} : {result.kind}")
        self.indent = self.indent[:-2]
        self.emit(f"}} -> {result.type()}")
        result.name = out
        return result

    # -- numbers ---------------------------------------------------------------------------------------------------

    def finish(self, value, local):
        """Rounds a computed float value to its type, adds what one operation in it may err, checks the range."""
        if value.kind in FLOATS:
            unit = FLOATS[value.kind]
            value.data = store(value.data, value.kind)
            magnitude = np.abs(value.data)
            if magnitude.size and not magnitude.max() < LIMIT:
                raise Reject
            value.error = value.error + local + unit * (magnitude + value.error) + TINY[value.kind]
        return value

    def random_data(self, axes, kind):
        shape = tuple(a.size for a in axes)
        if kind == "i1":
            return self.rng.random(shape) < 0.5
        if kind in INTS:
            return self.rng.integers(-8, 8, shape).astype(INTS[kind])
        return store(self.rng.standard_normal(shape), kind)

    # -- drawing ---------------------------------------------------------------------------------------------------

    def pick(self, sequence):
        return sequence[int(self.rng.integers(len(sequence)))]

    def pick_value(self, where=lambda v: True):
        fitting = [v for v in self.values if where(v)]
        if not fitting:
            raise Reject
        # Later values more often: programs become deep, not wide.
        return fitting[min(len(fitting) - 1, int(len(fitting) * self.rng.random() ** 0.5))]

    def aligned(self, value, axes):
        """`value`'s data and error with one dimension for each of `axes`, 1 where it has none."""
        order = [value.axes.index(a) for a in axes if a in value.axes]
        shape = [a.size if a in value.axes else 1 for a in axes]
        return value.data.transpose(order).reshape(shape), value.error.transpose(order).reshape(shape)

    def union(self, *values):
        axes = []
        for value in values:
            axes += [a for a in value.axes if a not in axes]
        self.rng.shuffle(axes)
        if len(axes) > 5 or np.prod([a.size for a in axes], dtype=float) > 60000:
            raise Reject
        return axes

    def maps(self, values, axes):
        return [tuple(axes.index(a) for a in v.axes) for v in values]

    # -- operations ------------------------------------------------------------------------------------------------

    def op_unary(self):
        a = self.pick_value(lambda v: v.kind in FLOATS)
        table = {  # MLIR, function, bound of |derivative| (over the values), relative error of the function itself
            "math.absf": (np.abs, lambda x: 1 + 0 * x, 0),
            "arith.negf": (np.negative, lambda x: 1 + 0 * x, 0),
            "math.tanh": (np.tanh, lambda x: 1 + 0 * x, 8),
            "math.exp": (np.exp, lambda x: np.exp(x) * 1.1, 8),
            "math.erf": (np.vectorize(__import__("math").erf, otypes=[float]), lambda x: 1.2 + 0 * x, 8),
            "math.sin": (np.sin, lambda x: 1 + 0 * x, 16),
            "math.floor": (np.floor, None, 0),
        }
        name = self.pick(list(table))
        function, slope, units = table[name]
        unit = FLOATS[a.kind]
        if name == "math.exp" and a.data.size and a.data.max() > 5:
            raise Reject
        data = function(a.data) if a.data.size else a.data.copy()
        if slope is None:
            local = np.where((np.floor(a.data - a.error) == data) & (np.floor(a.data + a.error) == data), 0, np.inf)
            error = np.zeros(data.shape)
        else:
            error, local = slope(np.abs(a.data) + a.error if name == "math.exp" else a.data) * a.error, units * unit * np.abs(data)
        axes = list(a.axes)
        self.rng.shuffle(axes)
        result = Value("", axes, a.kind, data, error + local)
        result.data, result.error = self.aligned(Value("", a.axes, a.kind, data, error + local), axes)
        result = self.finish(result, 4 * unit * 1e-3 if name == "math.sin" else 0)

        def body(args):
            out = self.fresh("t")
            self.emit(f"{out} = {name} {args[0]} : {a.kind}")
            return out

        return self.generic([a], self.maps([a], axes) + [tuple(range(len(axes)))], len(axes), (),
                            self.empty(axes, a.kind), result, body)

    def binary(self, a, b, axes, name):
        """Data and error of `a name b`, aligned to `axes`."""
        (x, ex), (y, ey) = self.aligned(a, axes), self.aligned(b, axes)
        with np.errstate(over="ignore"):
            if name in ("arith.addf", "arith.subf"):
                data, error = (x + y if name == "arith.addf" else x - y), ex + ey
            elif name == "arith.mulf":
                data, error = x * y, np.abs(x) * ey + np.abs(y) * ex + ex * ey
            elif name == "arith.maximumf":
                data, error = np.maximum(x, y), np.maximum(ex, ey)
            elif name == "arith.minimumf":
                data, error = np.minimum(x, y), np.maximum(ex, ey)
            else:
                error = np.where((ex + ey) > 0, np.inf, 0.0) + 0.0
                data = {"arith.addi": np.add, "arith.subi": np.subtract, "arith.muli": np.multiply,
                        "arith.maxsi": np.maximum, "arith.minsi": np.minimum, "arith.andi": np.bitwise_and,
                        "arith.ori": np.bitwise_or, "arith.xori": np.bitwise_xor}[name](x, y)
        shape = tuple(s.size for s in axes)
        return np.broadcast_to(data, shape).copy(), np.broadcast_to(error, shape).copy()

    def op_binary(self):
        a = self.pick_value()
        b = self.pick_value(lambda v: v.kind == a.kind)
        if a.kind in FLOATS:
            name = self.pick(["arith.addf", "arith.subf", "arith.mulf", "arith.maximumf", "arith.minimumf"])
        elif a.kind == "i1":
            name = self.pick(["arith.andi", "arith.ori", "arith.xori"])
        else:
            name = self.pick(["arith.addi", "arith.subi", "arith.muli", "arith.maxsi", "arith.minsi", "arith.xori"])
        axes = self.union(a, b)
        data, error = self.binary(a, b, axes, name)
        result = self.finish(Value("", axes, a.kind, data, error), 0)
        if a.axes == b.axes == axes and a.kind in FLOATS and name != "arith.minimumf" and self.rng.random() < 0.5:
            named = {"arith.addf": "add", "arith.subf": "sub", "arith.mulf": "mul", "arith.maximumf": "max"}[name]
            result.name = self.fresh()
            self.emit(f"{result.name} = linalg.{named} ins({a.name}, {b.name} : {a.type()}, {b.type()}) "
                      f"outs({self.empty(axes, a.kind)} : {result.type()}) -> {result.type()}")
            # The empty tensor's line stands before: `emit` of the f-string evaluated it first.
            return result

        def body(args):
            out = self.fresh("t")
            self.emit(f"{out} = {name} {args[0]}, {args[1]} : {a.kind}")
            return out

        return self.generic([a, b], self.maps([a, b], axes) + [tuple(range(len(axes)))], len(axes), (),
                            self.empty(axes, a.kind), result, body)

    def op_divide(self):
        """a / (|b| + 1), in one body."""
        a = self.pick_value(lambda v: v.kind in FLOATS)
        b = self.pick_value(lambda v: v.kind == a.kind)
        axes = self.union(a, b)
        (x, ex), (y, ey) = self.aligned(a, axes), self.aligned(b, axes)
        d = np.abs(y) + 1
        ed = ey + FLOATS[a.kind] * d
        shape = tuple(s.size for s in axes)
        data = np.broadcast_to(x / d, shape).copy()
        error = np.broadcast_to(ex / np.maximum(d - ed, 0.5) + np.abs(x) * ed / np.maximum(d - ed, 0.5) ** 2, shape).copy()
        result = self.finish(Value("", axes, a.kind, data, error), 2 * FLOATS[a.kind] * np.abs(data))
        one = self.scalar(a.kind, 1)

        def body(args):
            t, u, w = self.fresh("t"), self.fresh("t"), self.fresh("t")
            self.emit(f"{t} = math.absf {args[1]} : {a.kind}")
            self.emit(f"{u} = arith.addf {t}, {one} : {a.kind}")
            self.emit(f"{w} = arith.divf {args[0]}, {u} : {a.kind}")
            return w

        return self.generic([a, b], self.maps([a, b], axes) + [tuple(range(len(axes)))], len(axes), (),
                            self.empty(axes, a.kind), result, body)

    def op_cast(self):
        a = self.pick_value()
        kind = self.pick([k for k in list(FLOATS) + list(INTS) if k != a.kind])
        wide = {"f64": 8, "f32": 4, "f16": 2, "bf16": 2, "i32": 4, "i8": 1, "i1": 0}
        error = a.error.copy()
        if a.kind in FLOATS and kind in FLOATS:
            if wide[a.kind] == wide[kind]:
                raise Reject
            name = "arith.extf" if wide[kind] > wide[a.kind] else "arith.truncf"
            data = a.data
        elif a.kind in FLOATS:
            if kind == "i1" or (a.data.size and np.abs(a.data).max() > 100):
                raise Reject
            name, data = "arith.fptosi", np.trunc(a.data).astype(INTS[kind])
            error = np.where(np.trunc(a.data - a.error) == np.trunc(a.data + a.error), 0, np.inf)
        elif kind in FLOATS:
            name, data = ("arith.uitofp" if a.kind == "i1" else "arith.sitofp"), a.data.astype(np.float64)
            if data.size and np.abs(data).max() >= LIMIT:
                raise Reject
        elif kind == "i1":
            name, data = "arith.trunci", (a.data & 1).astype(np.bool_)
        else:
            name = ("arith.extui" if a.kind == "i1" else
                    "arith.extsi" if wide[kind] > wide[a.kind] else "arith.trunci")
            data = a.data.astype(INTS[kind])
        result = self.finish(Value("", list(a.axes), kind, data, error), 0)
        identity = tuple(range(len(a.axes)))

        def body(args):
            out = self.fresh("t")
            self.emit(f"{out} = {name} {args[0]} : {a.kind} to {kind}")
            return out

        return self.generic([a], [identity, identity], len(a.axes), (), self.empty(a.axes, kind), result, body)

    def op_select(self):
        """cmp of two values of one kind, select between two others."""
        a = self.pick_value(lambda v: v.kind != "i1")
        b = self.pick_value(lambda v: v.kind == a.kind)
        axes = self.union(a, b)
        (x, ex), (y, ey) = self.aligned(a, axes), self.aligned(b, axes)
        shape = tuple(s.size for s in axes)
        x, y, ex, ey = (np.broadcast_to(t, shape) for t in (x, y, ex, ey))
        open_ = np.abs(x.astype(np.float64) - y.astype(np.float64)) <= ex + ey
        open_ &= (ex + ey) > 0
        less = x < y
        keep = self.rng.random() < 0.5
        kind = "i1" if keep else a.kind
        data = less.copy() if keep else np.where(less, y, x)
        error = np.where(open_, np.inf, 0.0) if keep else np.where(open_, np.maximum(ex, ey) * 2, np.where(less, ey, ex))
        if not keep and a.kind in INTS:
            error = np.where(error > 0, np.inf, 0.0)
            data = data.astype(INTS[a.kind])
        result = self.finish(Value("", axes, kind, data, error), 0)

        def body(args):
            c, out = self.fresh("t"), self.fresh("t")
            op = "arith.cmpf olt" if a.kind in FLOATS else "arith.cmpi slt"
            self.emit(f"{c} = {op}, {args[0]}, {args[1]} : {a.kind}")
            if keep:
                return c
            self.emit(f"{out} = arith.select {c}, {args[1]}, {args[0]} : {a.kind}")
            return out

        return self.generic([a, b], self.maps([a, b], axes) + [tuple(range(len(axes)))], len(axes), (),
                            self.empty(axes, kind), result, body)

    def op_index(self):
        """Adds an index of a loop to an i32 value."""
        a = self.pick_value(lambda v: v.kind == "i32" and v.axes)
        dim = int(self.rng.integers(len(a.axes)))
        shape = [1] * len(a.axes)
        shape[dim] = a.axes[dim].size
        data = (a.data + np.arange(a.axes[dim].size, dtype=np.int32).reshape(shape)).astype(np.int32)
        result = Value("", list(a.axes), "i32", data, a.error)
        identity = tuple(range(len(a.axes)))

        def body(args):
            i, c, out = self.fresh("t"), self.fresh("t"), self.fresh("t")
            self.emit(f"{i} = linalg.index {dim} : index")
            self.emit(f"{c} = arith.index_cast {i} : index to i32")
            self.emit(f"{out} = arith.addi {args[0]}, {c} : i32")
            return out

        return self.generic([a], [identity, identity], len(a.axes), (), self.empty(a.axes, "i32"), result, body)

    def reduce_numbers(self, terms, errors, kind, dims):
        """Sum over `dims`, with the bound of accumulation in at least f32 and one rounding."""
        if kind not in FLOATS:
            with np.errstate(over="ignore"):
                total = np.add.reduce(terms, axis=dims, dtype=INTS[kind])
            return total, np.where(np.add.reduce(errors, axis=dims) > 0, np.inf, 0.0)
        count = int(np.prod([terms.shape[d] for d in dims], dtype=np.int64))
        unit = min(FLOATS[kind], FLOATS["f32"])
        bound = np.add.reduce(errors, axis=dims) + (count + 2) * unit * np.add.reduce(np.abs(terms), axis=dims)
        return np.add.reduce(terms, axis=dims), bound

    def op_reduce(self):
        a = self.pick_value(lambda v: v.axes and v.kind != "i1")
        count = int(self.rng.integers(1, len(a.axes) + 1))
        dims = tuple(sorted(int(d) for d in self.rng.choice(len(a.axes), count, replace=False)))
        axes = [x for d, x in enumerate(a.axes) if d not in dims]
        if self.rng.random() < 0.6:
            name, start = ("arith.addf" if a.kind in FLOATS else "arith.addi"), 0
            data, error = self.reduce_numbers(a.data, a.error, a.kind, dims)
        else:
            name, start = ("arith.maximumf" if a.kind in FLOATS else "arith.maxsi"), -100
            data = np.maximum.reduce(a.data, axis=dims, initial=start)
            error = np.maximum.reduce(a.error, axis=dims, initial=0)
            if a.kind in INTS:
                error = np.where(error > 0, np.inf, 0.0)
        result = self.finish(Value("", axes, a.kind, np.asarray(data), np.asarray(error)), 0)
        init = self.fill(axes, a.kind, start)
        if self.rng.random() < 0.5:
            result.name = self.fresh()
            self.emit(f"{result.name} = linalg.reduce {{ {name} }} ins({a.name} : {a.type()}) outs({init} : {result.type()})"
                      f" dimensions = [{', '.join(map(str, dims))}]")
            return result

        def body(args):
            out = self.fresh("t")
            self.emit(f"{out} = {name} {args[0]}, {args[1]} : {a.kind}")
            return out

        loops = len(a.axes)
        return self.generic([a], [tuple(range(loops)), tuple(d for d in range(loops) if d not in dims)], loops, dims, init,
                            result, body)

    def fill(self, axes, kind, value):
        scalar, empty, out = self.scalar(kind, value), self.empty(axes, kind), self.fresh("f")
        type_ = Value("", axes, kind, np.zeros(0)).type()
        self.emit(f"{out} = linalg.fill ins({scalar} : {kind}) outs({empty} : {type_}) -> {type_}")
        return out

    def op_contract(self):
        a = self.pick_value(lambda v: v.axes and v.kind != "i1")
        b = self.pick_value(lambda v: v.axes and v.kind == a.kind and any(x in a.axes for x in v.axes))
        shared = [x for x in a.axes if x in b.axes]
        summed = [x for x in shared if self.rng.random() < 0.7] or shared[:1]
        everything = self.union(a, b)
        if np.prod([x.size for x in everything], dtype=float) > 400000:
            raise Reject
        axes = [x for x in everything if x not in summed]
        (x, ex), (y, ey) = self.aligned(a, everything), self.aligned(b, everything)
        dims = tuple(everything.index(s) for s in summed)
        shape = tuple(s.size for s in everything)
        with np.errstate(over="ignore"):
            terms = np.broadcast_to(x * y, shape)
        if a.kind in FLOATS:
            errors = np.broadcast_to(np.abs(x) * ey + np.abs(y) * ex + ex * ey, shape)
        else:
            errors = np.broadcast_to(ex + ey, shape)
        data, error = self.reduce_numbers(terms, errors, a.kind, dims)
        wide = {"f16": "f32", "bf16": "f32", "i8": "i32"}.get(a.kind) if self.rng.random() < 0.5 else None
        kind = wide or a.kind
        if wide == "i32":
            terms = np.broadcast_to(x.astype(np.int32) * y.astype(np.int32), shape)
            data, error = self.reduce_numbers(terms, errors, "i32", dims)
        result = self.finish(Value("", axes, kind, np.asarray(data), np.asarray(error)), 0)
        init = self.fill(axes, kind, 0)
        loops = {s: i for i, s in enumerate(axes + summed)}
        float_ = a.kind in FLOATS

        def body(args):
            left, right = args[0], args[1]
            if wide:
                left, right = self.fresh("t"), self.fresh("t")
                for out, argument in ((left, args[0]), (right, args[1])):
                    self.emit(f"{out} = {'arith.extf' if float_ else 'arith.extsi'} {argument} : {a.kind} to {kind}")
            t, u = self.fresh("t"), self.fresh("t")
            self.emit(f"{t} = {'arith.mulf' if float_ else 'arith.muli'} {left}, {right} : {kind}")
            self.emit(f"{u} = {'arith.addf' if float_ else 'arith.addi'} {args[2]}, {t} : {kind}")
            return u

        maps = [tuple(loops[s] for s in v.axes) for v in (a, b)] + [tuple(range(len(axes)))]
        return self.generic([a, b], maps, len(loops), tuple(range(len(axes), len(loops))), init, result, body)

    def new_axis(self, size, source=None, dim=None):
        """An axis of `size`; dynamic if `source`'s dimension was, with the size read from the tensor `source`."""
        return Axis(size, None)

    def op_slice(self):
        a = self.pick_value(lambda v: v.axes and all(x.size for x in v.axes))
        offsets, sizes, strides, axes, index = [], [], [], [], []
        for x in a.axes:
            if self.rng.random() < 0.4:
                offsets.append(0), sizes.append(x), strides.append(1), axes.append(x), index.append(slice(None))
                continue
            stride = int(self.rng.integers(1, 4))
            start = int(self.rng.integers(0, x.size))
            count = int(self.rng.integers(1, (x.size - 1 - start) // stride + 2))
            axis = Axis(count)
            offsets.append(start), sizes.append(axis), strides.append(stride), axes.append(axis)
            index.append(slice(start, start + (count - 1) * stride + 1, stride))
        # A dynamic axis may be sliced by a dynamic size: the size is an argument of type index then.
        result = Value(self.fresh(), axes, a.kind, a.data[tuple(index)].copy(), a.error[tuple(index)].copy())
        texts = [", ".join(map(str, offsets)), ", ".join(s.name or str(s.size) for s in sizes), ", ".join(map(str, strides))]
        self.emit(f"{result.name} = tensor.extract_slice {a.name}[{texts[0]}] [{texts[1]}] [{texts[2]}] : {a.type()} to {result.type()}")
        return result

    def op_insert_slice(self):
        """A slice of one value into another of the same kind and rank."""
        b = self.pick_value(lambda v: v.axes and all(x.size for x in v.axes))
        a = self.pick_value(lambda v: v.kind == b.kind and len(v.axes) == len(b.axes) and v is not b
                            and all(not x.name and x.size <= y.size for x, y in zip(v.axes, b.axes)))
        offsets = [int(self.rng.integers(0, y.size - x.size + 1)) for x, y in zip(a.axes, b.axes)]
        # MLIR wants an offset inside the array even for a slice without elements.
        offsets = [min(o, max(y.size - 1, 0)) for o, y in zip(offsets, b.axes)]
        index = tuple(slice(o, o + x.size) for o, x in zip(offsets, a.axes))
        data, error = b.data.copy(), b.error.copy()
        data[index], error[index] = a.data, a.error
        result = Value(self.fresh(), list(b.axes), b.kind, data, error)
        ones = ", ".join("1" for _ in offsets)
        self.emit(f"{result.name} = tensor.insert_slice {a.name} into {b.name}[{', '.join(map(str, offsets))}] "
                  f"[{', '.join(str(x.size) for x in a.axes)}] [{ones}] : {a.type()} into {b.type()}")
        return result

    def op_pad(self):
        a = self.pick_value(lambda v: v.axes and v.kind != "i1" and not any(x.name for x in v.axes))
        low = [int(self.rng.integers(0, 3)) for _ in a.axes]
        high = [int(self.rng.integers(0, 3)) for _ in a.axes]
        axes = [x if l == h == 0 else Axis(x.size + l + h) for x, l, h in zip(a.axes, low, high)]
        if np.prod([x.size for x in axes], dtype=float) > 60000:
            raise Reject
        fill = 1 if a.kind in FLOATS else 3
        widths = list(zip(low, high))
        result = Value("", axes, a.kind, np.pad(a.data, widths, constant_values=fill), np.pad(a.error, widths))
        scalar = self.scalar(a.kind, fill)
        result.name = self.fresh()
        arguments = ", ".join(f"{self.fresh('i')}: index" for _ in axes)
        self.emit(f"{result.name} = tensor.pad {a.name} low[{', '.join(map(str, low))}] high[{', '.join(map(str, high))}] {{")
        self.emit(f"^bb0({arguments}):")
        self.emit(f"  tensor.yield {scalar} : {a.kind}")
        self.emit(f"}} : {a.type()} to {result.type()}")
        return result

    def op_concat(self):
        a = self.pick_value(lambda v: v.axes and not any(x.name for x in v.axes))
        dim = int(self.rng.integers(len(a.axes)))
        b = self.pick_value(lambda v: v.kind == a.kind and len(v.axes) == len(a.axes) and not any(x.name for x in v.axes)
                            and all(d == dim or x.size == y.size for d, (x, y) in enumerate(zip(v.axes, a.axes))))
        axes = [Axis(x.size + b.axes[d].size) if d == dim else x for d, x in enumerate(a.axes)]
        result = Value(self.fresh(), axes, a.kind, np.concatenate([a.data, b.data], dim),
                       np.concatenate([a.error, b.error], dim))
        if result.data.size > 60000:
            raise Reject
        self.emit(f"{result.name} = tensor.concat dim({dim}) {a.name}, {b.name} : ({a.type()}, {b.type()}) -> {result.type()}")
        return result

    def op_reshape(self):
        a = self.pick_value(lambda v: v.axes and not any(x.name for x in v.axes))
        if self.rng.random() < 0.5 and len(a.axes) > 1:
            at = int(self.rng.integers(len(a.axes) - 1))
            axes = a.axes[:at] + [Axis(a.axes[at].size * a.axes[at + 1].size)] + a.axes[at + 2:]
            groups = [[d] for d in range(at)] + [[at, at + 1]] + [[d] for d in range(at + 2, len(a.axes))]
            name, extra = "collapse_shape", ""
        else:
            at = int(self.rng.integers(len(a.axes)))
            size = a.axes[at].size
            divisors = [d for d in range(1, size + 1) if size % d == 0]
            if not divisors or len(a.axes) > 4:
                raise Reject
            inner = self.pick(divisors)
            axes = a.axes[:at] + [Axis(size // inner), Axis(inner)] + a.axes[at + 1:]
            groups = [[d] for d in range(at)] + [[at, at + 1]] + [[d + 1] for d in range(at + 1, len(a.axes))]
            name, extra = "expand_shape", " output_shape [" + ", ".join(str(x.size) for x in axes) + "]"
        shape = tuple(x.size for x in axes)
        result = Value(self.fresh(), axes, a.kind, a.data.reshape(shape), a.error.reshape(shape))
        text = ", ".join("[" + ", ".join(map(str, g)) + "]" for g in groups)
        self.emit(f"{result.name} = tensor.{name} {a.name} [{text}]{extra} : {a.type()} into {result.type()}")
        return result

    def op_transpose(self):
        a = self.pick_value(lambda v: len(v.axes) > 1)
        order = [int(d) for d in self.rng.permutation(len(a.axes))]
        axes = [a.axes[d] for d in order]
        result = Value("", axes, a.kind, a.data.transpose(order).copy(), a.error.transpose(order).copy())
        empty = self.empty(axes, a.kind)
        result.name = self.fresh()
        self.emit(f"{result.name} = linalg.transpose ins({a.name} : {a.type()}) outs({empty} : {result.type()}) "
                  f"permutation = [{', '.join(map(str, order))}]")
        return result

    def op_softmax(self):
        a = self.pick_value(lambda v: v.axes and v.kind in ("f32", "f64") and all(x.size for x in v.axes))
        dim = int(self.rng.integers(len(a.axes)))
        top = a.data.max(axis=dim, keepdims=True)
        e = np.exp(a.data - top)
        total = e.sum(axis=dim, keepdims=True)
        data = e / total
        spread = 2 * (a.error.max(axis=dim, keepdims=True) + a.error)
        unit = FLOATS[a.kind]
        relative = np.expm1(np.minimum(2 * spread, 50)) + (a.axes[dim].size + 40) * unit * (1 + np.abs(a.data - top))
        result = self.finish(Value("", list(a.axes), a.kind, data, data * relative), 0)
        empty = self.empty(a.axes, a.kind)
        result.name = self.fresh()
        self.emit(f"{result.name} = linalg.softmax dimension({dim}) ins({a.name} : {a.type()}) outs({empty} : {result.type()})"
                  f" -> {result.type()}")
        return result

    def op_if(self):
        """scf.if on a flag that is read from an element of an input of i1, or on a comparison of sizes."""
        a = self.pick_value(lambda v: v.kind in FLOATS)
        flag = self.pick_value(lambda v: v.kind == "i1" and v.data.size and not v.error.any())
        at = [0] * len(flag.axes)
        zero = self.const_index(0)
        c = self.fresh("b")
        self.emit(f"{c} = tensor.extract {flag.name}[{', '.join(zero for _ in at)}] : {flag.type()}")
        taken = bool(flag.data[tuple(at)])
        data, error = self.binary(a, a, a.axes, "arith.addf") if taken else (a.data.copy(), a.error.copy())
        result = self.finish(Value(self.fresh(), list(a.axes), a.kind, data, error), 0)
        inner = self.fresh()
        self.emit(f"{result.name} = scf.if {c} -> ({a.type()}) {{")
        self.emit(f"  {inner} = arith.addf {a.name}, {a.name} : {a.type()}")
        self.emit(f"  scf.yield {inner} : {a.type()}")
        self.emit("} else {")
        self.emit(f"  scf.yield {a.name} : {a.type()}")
        self.emit("}")
        return result

    def op_loop(self):
        """x = x * b + a, a few times; scf.for or scf.while."""
        a = self.pick_value(lambda v: v.kind in FLOATS)
        b = self.pick_value(lambda v: v.kind == a.kind and v.axes == a.axes)
        trips = int(self.rng.integers(0, 4))
        current = Value("", a.axes, a.kind, a.data.copy(), a.error.copy())
        for _ in range(trips):
            data, error = self.binary(current, b, a.axes, "arith.mulf")
            current = self.finish(Value("", a.axes, a.kind, data, error), 0)
            data, error = self.binary(current, a, a.axes, "arith.addf")
            current = self.finish(Value("", a.axes, a.kind, data, error), 0)
        zero, one, n = self.const_index(0), self.const_index(1), self.const_index(trips)
        x, t, u, i = self.fresh("x"), self.fresh("t"), self.fresh("t"), self.fresh("i")
        name = self.fresh()
        if self.rng.random() < 0.5:
            self.emit(f"{name} = scf.for {i} = {zero} to {n} step {one} iter_args({x} = {a.name}) -> ({a.type()}) {{")
            self.emit(f"  {t} = arith.mulf {x}, {b.name} : {a.type()}")
            self.emit(f"  {u} = arith.addf {t}, {a.name} : {a.type()}")
            self.emit(f"  scf.yield {u} : {a.type()}")
            self.emit("}")
            current.name = name
        else:
            y, j, k, c = self.fresh("y"), self.fresh("j"), self.fresh("k"), self.fresh("b")
            self.emit(f"{name}:2 = scf.while ({x} = {a.name}, {i} = {zero}) : ({a.type()}, index) -> ({a.type()}, index) {{")
            self.emit(f"  {c} = arith.cmpi slt, {i}, {n} : index")
            self.emit(f"  scf.condition({c}) {x}, {i} : {a.type()}, index")
            self.emit("} do {")
            self.emit(f"^bb0({y}: {a.type()}, {j}: index):")
            self.emit(f"  {t} = arith.mulf {y}, {b.name} : {a.type()}")
            self.emit(f"  {u} = arith.addf {t}, {a.name} : {a.type()}")
            self.emit(f"  {k} = arith.addi {j}, {one} : index")
            self.emit(f"  scf.yield {u}, {k} : {a.type()}, index")
            self.emit("}")
            current.name = name + "#0"
        current.axes = list(a.axes)
        return current

    def op_call(self):
        """A private function that squares."""
        a = self.pick_value(lambda v: v.kind in FLOATS)
        data, error = self.binary(a, a, a.axes, "arith.mulf")
        result = self.finish(Value(self.fresh(), list(a.axes), a.kind, data, error), 0)
        name = f"helper{len(self.functions)}"
        self.functions.append(f"func.func private @{name}(%x: {a.type()}) -> {a.type()} {{\n"
                              f"  %y = arith.mulf %x, %x : {a.type()}\n  return %y : {a.type()}\n}}\n")
        self.emit(f"{result.name} = func.call @{name}({a.name}) : ({a.type()}) -> {a.type()}")
        return result

    def op_insert(self):
        """One element of a value into another place of it."""
        a = self.pick_value(lambda v: v.axes and all(x.size for x in v.axes))
        start = [self.const_index(0) for _ in a.axes]
        end_at = [x.size - 1 if not x.name else 0 for x in a.axes]
        end = [self.const_index(e) for e in end_at]
        scalar, result = self.fresh("t"), Value(self.fresh(), list(a.axes), a.kind, a.data.copy(), a.error.copy())
        first = (0,) * len(a.axes)
        result.data[tuple(end_at)], result.error[tuple(end_at)] = a.data[first], a.error[first]
        self.emit(f"{scalar} = tensor.extract {a.name}[{', '.join(start)}] : {a.type()}")
        self.emit(f"{result.name} = tensor.insert {scalar} into {a.name}[{', '.join(end)}] : {a.type()}")
        return result

    # -- the whole -------------------------------------------------------------------------------------------------

    def build(self):
        rng = self.rng
        dynamic = rng.random() < 0.4
        main = self.pick(["f32", "f32", "f32", "f64", "bf16", "f16", "i8", "i32"])
        axes, header = [], []
        for _ in range(int(rng.integers(2, 6))):
            axes.append(Axis(self.pick(SIZES) if rng.random() < 0.9 else 1))
        if dynamic:
            for axis in axes:
                if rng.random() < 0.7:
                    axis.name = self.fresh("n")
        for index in range(int(rng.integers(2, 5))):
            for _ in range(50):
                rank = int(rng.integers(0, min(len(axes), 5) + 1))
                chosen = [axes[int(i)] for i in rng.choice(len(axes), rank, replace=False)]
                if np.prod([a.size for a in chosen], dtype=float) <= 20000:
                    break
            else:
                chosen = []
            kind = main if rng.random() < 0.8 else self.pick(list(FLOATS) + list(INTS))
            value = Value(f"%arg{index}", chosen, kind, self.random_data(chosen, kind))
            self.inputs.append(value)
        self.values = list(self.inputs)
        seen = set()
        for value in self.inputs:
            for dim, axis in enumerate(value.axes):
                if axis.name and axis not in seen:
                    seen.add(axis)
                    c = self.const_index(dim)
                    self.emit(f"{axis.name} = tensor.dim {value.name}, {c} : {value.type()}")
        operations = ([self.op_unary] * 3 + [self.op_binary] * 5 + [self.op_divide] + [self.op_cast] * 3 +
                      [self.op_select] * 2 + [self.op_index, self.op_insert, self.op_softmax, self.op_if, self.op_loop,
                                              self.op_call, self.op_pad, self.op_concat, self.op_insert_slice] +
                      [self.op_reduce] * 3 + [self.op_contract] * 4 + [self.op_slice] * 2 + [self.op_reshape] * 2 +
                      [self.op_transpose])
        wanted = int(rng.integers(2, 10))
        made = []
        for _ in range(200):
            if len(made) == wanted:
                break
            state = (list(self.lines), list(self.functions), self.counter, self.indent)
            try:
                with np.errstate(all="ignore"):
                    value = self.pick(operations)()
            except Reject:
                self.lines, self.functions, self.counter, self.indent = state
                continue
            self.values.append(value)
            made.append(value)
        if not made:
            made = [self.inputs[0]]
        used = "\n".join(self.lines)
        outputs = [v for v in made if used.count(v.name.split("#")[0] + ",") + used.count(v.name + ")") +
                   used.count(v.name + " ") + used.count(v.name + "[") <= 2] or made[-1:]
        self.outputs = outputs[-3:]
        arguments = ", ".join(f"{v.name}: {v.type()}" for v in self.inputs)
        results = ", ".join(v.type() for v in self.outputs)
        self.text = "".join(self.functions) + f"func.func @main({arguments}) -> ({results}) {{\n" + "\n".join(self.lines) + \
            f"\n  return {', '.join(v.name for v in self.outputs)} : {results}\n}}\n"


# -- running -----------------------------------------------------------------------------------------------------------

def save(path, value):
    if value.kind == "bf16":
        np.save(path, (value.data.astype(np.float32).view(np.uint32) >> np.uint32(16)).astype(np.uint16))
    elif value.kind in FLOATS:
        np.save(path, value.data.astype({"f64": np.float64, "f32": np.float32, "f16": np.float16}[value.kind]))
    else:
        np.save(path, value.data)


def load(path, value):
    data = np.load(path)
    if value.kind == "bf16":
        bits = np.frombuffer(data.tobytes(), np.uint16).astype(np.uint32) << np.uint32(16)
        return bits.view(np.float32).astype(np.float64).reshape(data.shape)
    return data.astype(np.float64) if value.kind in FLOATS else data


def compare(got, want):
    """What is wrong with `got`, or None."""
    if got.shape != want.data.shape:
        return f"shape {got.shape}, expected {want.data.shape}"
    if want.kind in FLOATS:
        wrong = ~(np.abs(got - want.data) <= want.error)
        wrong &= np.isfinite(want.error)  # infinite: any value may come; NaN (infinite times 0): the bound is not known
    else:
        wrong = (got != want.data) & (want.error == 0)
    if not wrong.any():
        return None
    at = tuple(int(i) for i in np.unravel_index(np.argmax(wrong), wrong.shape))
    return (f"{int(wrong.sum())} of {wrong.size} elements wrong; at {at}: {got[at]}, expected {want.data[at]} "
            f"within {want.error[at]:.3g}")


def run_seed(seed, tool, options, keep=None):
    """None if the program of `seed` is right, else the reason."""
    program = Program(seed)
    folder = pathlib.Path(keep) / str(seed) if keep else pathlib.Path(tempfile.mkdtemp(prefix="tw-random-"))
    folder.mkdir(parents=True, exist_ok=True)
    try:
        source = folder / "program.mlir"
        source.write_text(program.text)
        command = [tool, str(source)] + options
        suffix = lambda v: ".bf16.npy" if v.kind == "bf16" else ".npy"
        for index, value in enumerate(program.inputs):
            path = folder / f"in{index}{suffix(value)}"
            save(path, value)
            command += ["--input", str(path)]
        paths = [folder / f"out{i}{suffix(v)}" for i, v in enumerate(program.outputs)]
        for path in paths:
            command += ["--output", str(path)]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=120)
        except subprocess.TimeoutExpired:
            return "no end after 120 s"
        if done.returncode != 0:
            lines = [line for line in done.stderr.splitlines() if line.strip()]
            return f"exit status {done.returncode}: " + (lines[0] if lines else "")
        for index, (path, value) in enumerate(zip(paths, program.outputs)):
            reason = compare(load(path, value), value)
            if reason:
                return f"output {index} ({value.type()}): {reason}"
        return None
    finally:
        if not keep:
            shutil.rmtree(folder, ignore_errors=True)


def default_tool():
    build = pathlib.Path(os.environ.get("TILEWRIGHT_BUILD", pathlib.Path(__file__).parents[2] / "build" / "release"))
    return str(build / "bin" / "tw-run")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--seeds", default="0:300", help="first:last (excluded)")
    parser.add_argument("--tool", default=default_tool())
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--keep", help="folder that keeps programs and arrays")
    parser.add_argument("--print", action="store_true", help="print the programs and do not run them")
    parser.add_argument("options", nargs="*", help="further options of tw-run, after --")
    arguments = parser.parse_args()
    first, last = (int(x) for x in arguments.seeds.split(":"))
    if arguments.print:
        for seed in range(first, last):
            print(f"// seed {seed}\n{Program(seed).text}")
        return 0
    bad = 0
    with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        work = {seed: pool.submit(run_seed, seed, arguments.tool, arguments.options, arguments.keep)
                for seed in range(first, last)}
        for seed, future in work.items():
            reason = future.result()
            if reason:
                bad += 1
                print(f"seed {seed}: {reason}\n  reproduce: {sys.argv[0]} --seeds {seed}:{seed + 1} --keep random-failures",
                      flush=True)
    print(f"{last - first - bad} of {last - first} programs right")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
