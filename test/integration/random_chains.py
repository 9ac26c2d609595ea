# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random chains of dependent reductions, as nests of one kernel and as their value in float64.

Functions are drawn from the rules by which they are split: sums, products, quotients by results, exponentials at a
maximum or minimum, choices by inputs, distances from a mean. Each value carries a bound of what its parts add up to, so
that a result is wrong where its error is larger than roundings of the parts explain.
"""

import random
import re

import numpy as np

ROWS, COLUMNS = 5, 6


class Value:
    """What a term is, and what the parts of its pairs add up to in absolute value."""

    def __init__(self, of, most):
        self.of, self.most = of, most


class Chain:
    def __init__(self, seed, length):
        self.draw = random.Random(seed)
        self.length = length
        data = np.random.default_rng(seed)
        self.inputs = {"x": data.standard_normal((ROWS, length)).astype(np.float32),
                       "y": data.uniform(-1, 2, (ROWS, length)).astype(np.float32),
                       "v": data.standard_normal((length, COLUMNS)).astype(np.float32)}
        self.nests, self.names = [], 0  # a nest: its lines, and how many loops it has
        self.results = []  # (array, Value over rows, whether it is above zero)
        self.extremes = []  # (array, "maximumf" or "minimumf", function of its terms, Value over rows)
        self.means = []  # (array, Value)
        self.write()

    # Terms: a function that writes operations into a list and returns the name of the result, and its value.

    def name(self):
        self.names += 1
        return f"%t{self.names}"

    def operation(self, lines, text):
        name = self.name()
        lines.append(f"{name} = {text}")
        return name

    def input(self, which):
        of = self.inputs[which].astype(np.float64)
        return (lambda lines: self.operation(lines, f"affine.load %{which}[%i, %j] : memref<{ROWS}x{self.length}xf32>"),
                Value(of, np.abs(of)))

    def result(self, array, value):
        return (lambda lines: self.operation(lines, f"affine.load {array}[%i] : memref<{ROWS}xf32>"),
                Value(value.of[:, None], value.most[:, None]))

    def number(self):
        of = self.draw.choice([0.5, 2.0, -1.0, 0.25, 3.0])
        return (lambda lines: self.operation(lines, f"arith.constant {of:.6f} : f32"), Value(np.float64(of), abs(of)))

    def binary(self, kind, a, b):
        (write_a, x), (write_b, y) = a, b
        with np.errstate(all="ignore"):
            value = {
                "addf": lambda: Value(x.of + y.of, x.most + y.most),
                "subf": lambda: Value(x.of - y.of, x.most + y.most),
                "mulf": lambda: Value(x.of * y.of, x.most * y.most),
                "divf": lambda: Value(x.of / y.of, x.most * y.most / y.of**2),
            }[kind]()

        def write(lines):
            first = write_a(lines)
            return self.operation(lines, f"arith.{kind} {first}, {write_b(lines)} : f32")

        return write, value

    def exponential(self):
        """exp of the distance from the largest of a function's values, or from the least."""
        array, kind, term, value = self.draw.choice(self.extremes)
        write_term, x = term
        write_result, m = self.result(array, value)
        write_distance, distance = (self.binary("subf", term, (write_result, m)) if kind == "maximumf" else
                                    self.binary("subf", (write_result, m), term))
        factor = self.draw.choice([None, 0.5, 2.0])
        base = self.draw.choice(["exp", "exp2"])

        def write(lines):
            exponent = write_distance(lines)
            if factor:
                number = self.operation(lines, f"arith.constant {factor:.6f} : f32")
                exponent = self.operation(lines, f"arith.mulf {exponent}, {number} : f32")
            return self.operation(lines, f"math.{base} {exponent} : f32")

        scaled = distance.of * (factor or 1)
        of = np.exp(scaled) if base == "exp" else np.exp2(scaled)
        return write, Value(of, of * (1 + distance.most * (factor or 1)))

    def choice(self, depth):
        a, b = self.term(depth - 1), self.term(depth - 1)
        where = self.inputs["y"] > 0
        write_y, _ = self.input("y")

        def write(lines):
            first, second, y = a[0](lines), b[0](lines), write_y(lines)
            zero = self.operation(lines, "arith.constant 0.0 : f32")
            mask = self.operation(lines, f"arith.cmpf ogt, {y}, {zero} : f32")
            return self.operation(lines, f"arith.select {mask}, {first}, {second} : f32")

        return write, Value(np.where(where, a[1].of, b[1].of), a[1].most + b[1].most)

    def term(self, depth):
        kinds = ["x", "y"]
        if self.results:
            kinds += ["result"] * 2
        if self.means:
            kinds += ["distance"] * 2
        if self.extremes:
            kinds += ["exponential"] * 3
        if depth > 0:
            kinds += ["addf", "subf", "mulf", "mulf", "choice", "scaled"]
            kinds += ["divf"] * any(each[2] for each in self.results)
        kind = self.draw.choice(kinds)
        if kind in "xy":
            return self.input(kind)
        if kind == "result":
            array, value, _ = self.draw.choice(self.results)
            return self.result(array, value)
        if kind == "distance":
            array, value = self.draw.choice(self.means)
            return self.binary("subf", self.input("x"), self.result(array, value))
        if kind == "exponential":
            return self.exponential()
        if kind == "choice":
            return self.choice(depth)
        if kind == "scaled":
            return self.binary("mulf", self.term(depth - 1), self.number())
        if kind == "divf":
            array, value, _ = self.draw.choice([each for each in self.results if each[2]])
            return self.binary("divf", self.term(depth - 1), self.result(array, value))
        return self.binary(kind, self.term(depth - 1), self.term(depth - 1))

    def plain(self, depth):
        """A term of inputs alone."""
        kind = self.draw.choice(["x", "y"] + ["addf", "mulf", "scaled"] * (depth > 0))
        if kind in "xy":
            return self.input(kind)
        if kind == "scaled":
            return self.binary("mulf", self.plain(depth - 1), self.number())
        return self.binary(kind, self.plain(depth - 1), self.plain(depth - 1))

    # Nests.

    def nest(self, loops, lines):
        names = ("%i", ROWS), ("%d", COLUMNS), ("%j", self.length)
        chosen = [each for each in names if each[0][1] in loops]
        text = ["  " * depth + f"affine.for {name} = 0 to {count} {{" for depth, (name, count) in enumerate(chosen)]
        text += ["  " * len(chosen) + line for line in lines]
        text += ["  " * depth + "}" for depth in reversed(range(len(chosen)))]
        self.nests.append(("\n".join(text), len(chosen)))

    def drop_unread(self):
        """A nest that writes what nobody reads is in no tile."""
        needed, kept = {"%o"}, []
        for text, loops in reversed(self.nests):
            written = re.search(r"affine\.store %\w+, (%\w+)\[", text)[1]
            if written in needed:
                needed |= set(re.findall(r"affine\.load (%\w+)\[", text))
                kept.insert(0, (text, loops))
        self.nests = kept

    def reduce(self, array, kind, term, begin="%zero", loops="ij", index="%i", shape=f"{ROWS}"):
        self.nest(loops.replace("j", ""), [f"affine.store {begin}, {array}[{index}] : memref<{shape}xf32>"])
        lines = []
        last = self.operation(lines, f"affine.load {array}[{index}] : memref<{shape}xf32>")
        value = term(lines)
        both = self.operation(lines, f"arith.{kind} {last}, {value} : f32")
        lines.append(f"affine.store {both}, {array}[{index}] : memref<{shape}xf32>")
        self.nest(loops, lines)

    def write_result(self, at):
        array = f"%r{at}"
        full = np.ones((ROWS, self.length))
        kind = self.draw.choice(["sum", "sum", "squares", "extreme", "extreme", "mean"])
        if kind == "extreme":
            term = self.plain(2)
            name, begin, best = self.draw.choice([("maximumf", "%least", np.max), ("minimumf", "%most", np.min)])
            self.reduce(array, name, term[0], begin)
            value = Value(best(term[1].of * full, axis=1), np.max(term[1].most * full, axis=1))
            self.extremes.append((array, name, term, value))
            return
        if kind == "squares":
            term = self.plain(1)
            term = self.binary("mulf", term, term)
        elif kind == "mean":
            term = self.input("x")
        else:
            term = self.term(self.draw.randint(1, 3))
        self.reduce(array, "addf", term[0])
        value = Value((term[1].of * full).sum(axis=1), (term[1].most * full).sum(axis=1))
        if kind == "mean":
            row = f"%m{at}"
            lines = []
            total = self.operation(lines, f"affine.load {array}[%i] : memref<{ROWS}xf32>")
            count = self.operation(lines, f"arith.constant {self.length}.0 : f32")
            share = self.operation(lines, f"arith.divf {total}, {count} : f32")
            lines.append(f"affine.store {share}, {row}[%i] : memref<{ROWS}xf32>")
            self.nest("i", lines)
            self.means.append((row, Value(value.of / self.length, value.most / self.length)))
            return
        self.results.append((array, value, kind == "squares"))

    def write_largest(self, at):
        """The largest of x less a result, or over one that is above zero."""
        term, of = self.input("x"), self.draw.choice(self.results)
        term = self.binary("divf" if of[2] else "subf", term, self.result(*of[:2]))
        self.reduce(f"%r{at}", "maximumf", term[0], "%least")
        self.results.append((f"%r{at}", Value(term[1].of.max(axis=1), term[1].most.max(axis=1)), False))

    def write(self):
        count = self.draw.randint(1, 3)
        for at in range(count):
            self.write_result(at)
        if self.results and self.draw.random() < 0.3:
            self.write_largest(3)
        for _ in range(20):  # a term that reads a result
            lines, term = [], self.term(self.draw.randint(1, 4))
            term[0](lines)
            if any("%r" in line or "%m" in line for line in lines):
                break
        if self.draw.random() < 0.6:  # handed on as an array
            lines = []
            lines.append(f"affine.store {term[0](lines)}, %p[%i, %j] : memref<{ROWS}x{self.length}xf32>")
            self.nest("ij", lines)
            load = f"affine.load %p[%i, %j] : memref<{ROWS}x{self.length}xf32>"
            term = (lambda lines: self.operation(lines, load), term[1])

        def product(lines):
            first = term[0](lines)
            v = self.operation(lines, f"affine.load %v[%j, %d] : memref<{self.length}x{COLUMNS}xf32>")
            return self.operation(lines, f"arith.mulf {first}, {v} : f32")

        self.reduce("%o", "addf", product, loops="idj", index="%i, %d", shape=f"{ROWS}x{COLUMNS}")
        self.drop_unread()
        v = self.inputs["v"].astype(np.float64)
        full = np.ones((ROWS, self.length))
        self.expected = (term[1].of * full) @ v
        self.most = (term[1].most * full) @ np.abs(v)

    def module(self, step=None, tile=None):
        """The kernel, with the schedule that computes it in steps, in tiles of rows; without a step as it is."""
        x, v = f"memref<{ROWS}x{self.length}xf32>", f"memref<{self.length}x{COLUMNS}xf32>"
        o, row = f"memref<{ROWS}x{COLUMNS}xf32>", f"memref<{ROWS}xf32>"
        loop = sum(loops for _, loops in self.nests[:-1])
        text = [nest for nest, _ in self.nests]
        if step is not None:
            text[0] += (f' {{tile.schedule = #tile.schedule<level = "core", members = 1, ops = {len(text)}, step = {step}, '
                        f"loops = [<loop = {loop}, tile = {tile}, spread = true>]>}}")
        buffers = [f"%{name}{at} = memref.alloc() : {row}" for name in "rm" for at in range(4)]
        return "\n".join([
            f"func.func private @kernel(%x: {x}, %y: {x}, %v: {v}, %o: {o}) attributes {{tilewright.kernel}} {{",
            "%zero = arith.constant 0.0 : f32", "%least = arith.constant 0xFF800000 : f32",
            "%most = arith.constant 0x7F800000 : f32", f"%p = memref.alloc() : {x}", *buffers, *text, "return", "}",
            f"func.func @f(%x: {x}, %y: {x}, %v: {v}, %o: {o}) {{",
            f"call @kernel(%x, %y, %v, %o) : ({x}, {x}, {v}, {o}) -> ()", "return", "}", ""
        ])
