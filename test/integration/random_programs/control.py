"""Branches, loops and calls."""

from random_programs.builder import Builder
from random_programs.values import FLOATS, Value


class Control(Builder):
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
