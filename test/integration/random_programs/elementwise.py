"""Operations on each element: arithmetic, functions, conversions, comparisons, indices."""

import numpy as np

from random_programs.builder import Builder
from random_programs.values import FLOATS, FLOATS8, INTS, LIMIT, LIMITS, Reject, Value


class Elementwise(Builder):
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
        self.arrange(axes)
        result = Value("", axes, a.kind, data, error + local)
        result.data, result.error = self.aligned(Value("", a.axes, a.kind, data, error + local), axes)
        result = self.finish(result, 4 * unit * 1e-3 if name == "math.sin" else 0)

        def body(args):
            out = self.fresh("t")
            self.emit(f"{out} = {name} {args[0]} : {a.kind}")
            return out

        return self.generic([a], self.maps([a], axes) + [tuple(range(len(axes)))], len(axes), (),
                            self.empty(axes, a.kind), result, body)

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
        kind = self.pick([k for k in self.kinds if k != a.kind])
        wide = {"f64": 8, "f32": 4, "f16": 2, "bf16": 2, "i32": 4, "i8": 1, "i1": 0} | {k: 1 for k in FLOATS8}
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
            if data.size and np.abs(data).max() >= LIMITS.get(kind, LIMIT):
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
