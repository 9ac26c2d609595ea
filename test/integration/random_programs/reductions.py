"""Sums, maxima, contractions and soft-max."""

import numpy as np

from random_programs.builder import Builder
from random_programs.values import FLOATS, FLOATS8, INTS, Reject, Value


class Reductions(Builder):
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

    def op_contract(self):
        a = self.pick_value(lambda v: v.axes and v.kind != "i1")
        b = self.pick_value(lambda v: v.axes and v.kind == a.kind and any(x in a.axes for x in v.axes))
        shared = [x for x in a.axes if x in b.axes]
        summed = [x for x in shared if self.rng.random() < 0.7] or shared[:1]
        everything = self.union(a, b)
        if np.prod([x.size for x in everything], dtype=float) > 7 * self.most:
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
        wides = {"f16": "f32", "bf16": "f32", "i8": "i32"} | {kind: "f32" for kind in FLOATS8}
        wide = wides.get(a.kind) if self.rng.random() < 0.5 else None
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
