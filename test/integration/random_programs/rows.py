"""Random chains of nests over the same rows: what soft-max, layer norm and their gradients are made of."""

import numpy as np

from random_programs.program import Program
from random_programs.values import FLOATS, Axis, Reject, Value

#: Elements of a row: one, around a vector's and a subgroup's width, several subgroups', longer than a scratchpad holds.
LENGTHS = [1, 2, 3, 5, 7, 8, 13, 16, 31, 32, 33, 63, 64, 65, 96, 97, 127, 128, 129, 200, 255, 256, 257, 384, 500, 511, 513, 768,
           1000, 1023, 1024, 1025, 1500, 2047, 2048, 2049, 3000]
LONG = [4095, 4096, 4097, 5000, 8192, 10007, 12288, 16384, 16411, 20000, 32768]


class Rows(Program):
    """All values have the rows' dimensions, some of them or none, and a row's elements as the last one or not at all."""

    def arrange(self, axes):
        axes.sort(key=self.axes.index)

    def build(self, seed):
        rng = self.rng = np.random.default_rng([seed, 3])
        # Half of the lengths are multiples of a vector, one in six is longer than what lanes keep in registers.
        lengths = LONG if rng.random() < 0.17 else [n for n in LENGTHS if n < 700] if rng.random() < 0.5 else LENGTHS
        length = Axis(self.pick([n for n in lengths if n % 8 == 0] if rng.random() < 0.4 else lengths))
        most = max(1, self.most // 3 * (4 if length.size > 3000 else 1) // length.size)
        outer = []
        for _ in range(self.pick([0] + [1] * 10 + [2] * 6 + [3] * 2)):
            left = most // int(np.prod([a.size for a in outer], dtype=np.int64))
            drawn = self.pick([1, 1, 2, 3, 4, 5, 7, 8, 12, 16, 31, 64, 100, 256])
            outer.append(Axis(0 if rng.random() < 0.01 else max(1, min(left, drawn))))
            if not outer[-1].size:
                break
        self.axes = [*outer, length]
        self.most = int(np.prod([a.size for a in self.axes], dtype=np.int64))
        if rng.random() < 0.35 and outer:
            outer[0].name = self.fresh("n")
        if rng.random() < 0.08:
            for axis in self.axes:
                axis.name = axis.name or self.fresh("n")
        main = self.pick(["f32", "f32", "f32", "f32", "f64", "bf16", "f16", "i32"])
        self.kinds = ["f32", "f32", "f64", "f16", "bf16", "i32", "i8", "i1"]
        # Whole rows, what they have one value of, gains of the elements; masks of bytes.
        shapes = [self.axes] * 3 + [outer, [length], [length], outer[:1]]
        forms = [(self.axes, main)]
        for _ in range(int(rng.integers(0, 4))):
            forms.append((self.pick(shapes), main if rng.random() < 0.7 else self.pick(self.kinds)))
        if rng.random() < 0.3:
            forms.append((self.pick([self.axes, [length]]), self.pick(["i1", "i8"])))
        for index, (axes, kind) in enumerate(forms):
            self.inputs.append(Value(f"%arg{index}", list(axes), kind, self.random_data(axes, kind)))
        for dim, axis in enumerate(self.axes):
            if axis.name:
                c = self.const_index(dim)
                self.emit(f"{axis.name} = tensor.dim %arg0, {c} : {self.inputs[0].type()}")
        self.values, made = list(self.inputs), []
        operations = ([self.op_binary] * 5 + [self.op_unary] * 2 + [self.op_divide, self.op_select, self.op_cast, self.op_column] +
                      [self.op_sum] * 4 + [self.op_top] * 2 + [self.op_moments] * 2 + [self.op_pair, self.op_mask] * 2 +
                      [self.op_softmax, self.op_masked_softmax] * 2 + [self.op_norm] * 3 + [self.op_reduce])
        self.add(operations, int(rng.integers(3, 11)), made)
        made = made or [self.inputs[0]]
        # What no other nest uses, and some of what others do.
        text = "\n".join(self.lines) + " "
        values = [v for v in self.values if v not in self.inputs]
        self.outputs = [v for v in values if rng.random() < 0.15 or
                        not any(text.count(v.name + end) > (end == " ") for end in (" ", ",", "["))][-4:] or made[-1:]
        arguments = ", ".join(f"{v.name}: {v.type()}" for v in self.inputs)
        results = ", ".join(v.type() for v in self.outputs)
        self.text = f"func.func @main({arguments}) -> ({results}) {{\n" + "\n".join(self.lines) + \
            f"\n  return {', '.join(v.name for v in self.outputs)} : {results}\n}}\n"

    def row(self, where=lambda v: True):
        """A value of whole rows of floats."""
        return self.pick_value(lambda v: v.axes == self.axes and v.kind in FLOATS and where(v))

    def ones(self, kind):
        """A value of the rows of which each has one, or None."""
        fitting = [v for v in self.values if v.axes == self.axes[:-1] and v.kind == kind]
        return self.pick(fitting) if fitting and self.rng.random() < 0.6 else None

    def reduce_numbers(self, terms, errors, kind, dims):
        """Roundings of a long sum's terms are as good as random: four times their deviation for partial sums in any order,
        which are the sum or four deviations of it away. The sum of all magnitudes would leave a lost element unseen."""
        total, bound = super().reduce_numbers(terms, errors, kind, dims)
        if kind not in FLOATS:
            return total, bound
        unit, count = min(FLOATS[kind], FLOATS["f32"]), np.prod([terms.shape[d] for d in dims])
        partial = np.abs(total) + 4 * np.sqrt(np.add.reduce(terms * terms, axis=dims))
        rounding = unit * (4 * np.sqrt(count) + 8) * partial
        return total, np.minimum(bound, np.add.reduce(errors, axis=dims) + rounding)

    def inner(self, op, *operands):
        """A line of a body."""
        out = self.fresh("t")
        self.emit(f"{out} = {op} {', '.join(operands[:-1])} : {operands[-1]}")
        return out

    def reduced(self, inputs, kind, start, name, sums, before, init=None):
        """One nest that reduces rows: `sums` are (data, error), `before` gives the elements from the inputs'."""
        outer, loops = self.axes[:-1], len(self.axes)
        results = [self.finish(Value("", list(outer), kind, *each), 0) for each in sums]
        inits = [init.name if init else self.fill(outer, kind, start) for _ in results]

        def body(args):
            elements = before(args)
            return [self.inner(name, *((old, new) if flip else (new, old)), kind) for new, old in zip(elements, args[len(inputs):])]

        flip = self.rng.random() < 0.5
        maps = self.maps(inputs, self.axes) + [tuple(range(loops - 1))] * len(results)
        return self.generics(inputs, maps, loops, (loops - 1,), inits, results, body)

    def terms(self, a, b=None, scale=None):
        """Elements a * b * scale over whole rows, with their errors."""
        x, ex = a.data, a.error
        unit = FLOATS[a.kind]
        if b is not None:
            (y, ey) = self.aligned(b, self.axes)
            x, ex = x * y, np.abs(x) * ey + np.abs(y) * ex + ex * ey
            ex = ex + unit * np.abs(x)
        if scale is not None:
            x, ex = x * scale, ex * abs(scale) + unit * np.abs(x * scale)
        return np.broadcast_to(x, tuple(s.size for s in self.axes)), np.broadcast_to(ex, tuple(s.size for s in self.axes))

    def op_sum(self):
        """A sum of elements, of products of two arrays or of squares, that begins with 0 or with values given."""
        a = self.row()
        b = self.pick([None, a, self.pick_value(lambda v: v.kind == a.kind)])
        scale = self.pick([None, 2.0 ** -int(np.log2(self.axes[-1].size))])
        init = self.ones(a.kind)
        data, error = self.reduce_numbers(*self.terms(a, b, scale), a.kind, (len(self.axes) - 1,))
        if init:
            data = data + init.data
            error = error + init.error + min(FLOATS[a.kind], FLOATS["f32"]) * np.abs(init.data) * (8 + 4 * self.axes[-1].size ** 0.5)
        factor = None if scale is None else self.scalar(a.kind, scale)

        def before(args):
            e = args[0]
            if b is not None:
                e = self.inner("arith.mulf", e, args[0] if b is a else args[1], a.kind)
            return [e if factor is None else self.inner("arith.mulf", e, factor, a.kind)]

        return self.reduced([a] if b is None or b is a else [a, b], a.kind, 0, "arith.addf", [(data, error)], before, init)[0]

    def op_top(self):
        """The largest or smallest element, of magnitudes or of the elements."""
        a = self.row()
        plain, top = self.rng.random() < 0.6, self.rng.random() < 0.6
        data = a.data if plain else np.abs(a.data)
        init = self.ones(a.kind)
        start = init.data[..., None] if init else np.full(data.shape[:-1] + (1,), -100.0 if top else 100.0)
        all_ = np.concatenate([data, start], axis=-1)
        error = np.maximum.reduce(np.concatenate([a.error, init.error[..., None] if init else 0 * start], axis=-1), axis=-1)
        data = all_.max(axis=-1) if top else all_.min(axis=-1)

        def before(args):
            return [args[0] if plain else self.inner("math.absf", args[0], a.kind)]

        return self.reduced([a], a.kind, -100 if top else 100, f"arith.{'max' if top else 'min'}imumf", [(data, error)], before,
                            init)[0]

    def op_moments(self):
        """Sums of the elements and of their squares in one nest."""
        a = self.row()
        scale = 2.0 ** -int(np.log2(self.axes[-1].size) + 1)
        dims = (len(self.axes) - 1,)
        first = self.reduce_numbers(*self.terms(a, None, scale), a.kind, dims)
        second = self.reduce_numbers(*self.terms(a, a, scale), a.kind, dims)
        factor = self.scalar(a.kind, scale)

        def before(args):
            q = self.inner("arith.mulf", args[0], args[0], a.kind)
            return [self.inner("arith.mulf", e, factor, a.kind) for e in (args[0], q)]

        results = self.reduced([a], a.kind, 0, "arith.addf", [first, second], before)
        self.values.append(results[0])
        return results[1]

    def op_pair(self):
        """Sum and difference of two values in one nest with two results."""
        a = self.row()
        b = self.pick_value(lambda v: v.kind == a.kind)
        names = ["arith.addf", "arith.subf"]
        results = [self.finish(Value("", list(self.axes), a.kind, *self.binary(a, b, self.axes, name)), 0) for name in names]
        identity = tuple(range(len(self.axes)))
        inits = [self.empty(self.axes, a.kind) for _ in results]
        self.generics([a, b], self.maps([a, b], self.axes) + [identity] * 2, len(identity), (), inits, results,
                      lambda args: [self.inner(name, args[0], args[1], a.kind) for name in names])
        self.values.append(results[0])
        return results[1]

    def mask(self):
        """A value that is a mask, and its elements for whole rows. Bytes are one where they are positive."""
        m = self.pick_value(lambda v: v.kind in ("i1", "i8") and v.axes and v.axes[-1] is self.axes[-1] and not v.error.any())
        return m, np.broadcast_to(self.aligned(m, self.axes)[0] > 0, tuple(s.size for s in self.axes))

    def op_mask(self, hidden=0.0):
        """Elements, or `hidden` where a mask is not set."""
        a = self.row()
        m, set_ = self.mask()
        result = Value("", list(self.axes), a.kind, np.where(set_, a.data, hidden), np.where(set_, a.error, 0.0))

        def body(args):
            wide = {"f64": "0xFFF0000000000000", "f32": "0xFF800000", "f16": "0xFC00", "bf16": "0xFF80"}
            other = self.fresh("s")
            self.emit(f"{other} = arith.constant {wide[a.kind] if hidden else '0.0'} : {a.kind}")
            out = self.fresh("t")
            self.emit(f"{out} = arith.select {self.condition(args[1], m.kind)}, {args[0]}, {other} : {a.kind}")
            return out

        identity = tuple(range(len(self.axes)))
        return self.generic([a, m], self.maps([a, m], self.axes) + [identity], len(identity), (), self.empty(self.axes, a.kind),
                            result, body)

    def condition(self, name, kind):
        if kind == "i1":
            return name
        zero, out = self.fresh("s"), self.fresh("t")
        self.emit(f"{zero} = arith.constant 0 : {kind}")
        self.emit(f"{out} = arith.cmpi sgt, {name}, {zero} : {kind}")
        return out

    def op_softmax(self):
        return self.softmax(self.row(lambda v: v.kind in ("f32", "f64") and v.data.size))

    def op_masked_softmax(self):
        a = self.op_mask(-np.inf)
        if a.kind not in ("f32", "f64") or not a.data.size:
            raise Reject
        return self.softmax(a)

    def softmax(self, a):
        """Along rows; elements may be minus infinity, a row of nothing else gives NaN, which is not compared."""
        with np.errstate(invalid="ignore"):
            top = a.data.max(axis=-1, keepdims=True)
            e = np.exp(a.data - top)
            data = e / e.sum(axis=-1, keepdims=True)
            spread = 2 * (a.error.max(axis=-1, keepdims=True) + a.error)
            units = (4 * np.sqrt(a.axes[-1].size) + 40) * (1 + np.where(np.isinf(a.data), 0, np.abs(a.data - top)))
            error = data * (np.expm1(np.minimum(2 * spread, 50)) + units * FLOATS[a.kind])
        if np.isnan(data).any():
            raise Reject
        result = self.finish(Value("", list(a.axes), a.kind, data, error), 0)
        empty = self.empty(a.axes, a.kind)
        result.name = self.fresh()
        self.emit(f"{result.name} = linalg.softmax dimension({len(a.axes) - 1}) ins({a.name} : {a.type()}) "
                  f"outs({empty} : {result.type()}) -> {result.type()}")
        return result

    def op_column(self):
        """One element of each row, the same in all."""
        a = self.row(lambda v: v.data.size)
        at = int(self.rng.integers(self.axes[-1].size))
        outer = self.axes[:-1]
        result = Value(self.fresh(), list(outer), a.kind, a.data[..., at].copy(), a.error[..., at].copy())
        first, extent = ", ".join([*("0" for _ in outer), str(at)]), ", ".join([*(f"{x.name or x.size}" for x in outer), "1"])
        self.emit(f"{result.name} = tensor.extract_slice {a.name}[{first}] [{extent}] [{', '.join('1' for _ in self.axes)}] : "
                  f"{a.type()} to {result.type()}")
        return result

    def op_norm(self):
        """(x - mean) / sqrt(mean of squares + 1), from sums that are there: the factor is a power of two, not the length."""
        a = self.row(lambda v: v.data.size)
        scale = 2.0 ** -int(np.log2(self.axes[-1].size))
        dims, unit, outer = (len(self.axes) - 1,), FLOATS[a.kind], self.axes[:-1]
        factor, one = self.scalar(a.kind, scale), self.scalar(a.kind, 1)
        mean = self.reduced([a], a.kind, 0, "arith.addf", [self.reduce_numbers(*self.terms(a, None, scale), a.kind, dims)],
                            lambda args: [self.inner("arith.mulf", args[0], factor, a.kind)])[0]
        d, e = a.data - mean.data[..., None], a.error + mean.error[..., None]
        e = e + unit * np.abs(d)
        centred = Value("", self.axes, a.kind, d, e)

        def before(args):
            x = self.inner("arith.subf", args[0], args[1], a.kind)
            return [self.inner("arith.mulf", self.inner("arith.mulf", x, x, a.kind), factor, a.kind)]

        square = self.reduced([a, mean], a.kind, 0, "arith.addf",
                              [self.reduce_numbers(*self.terms(centred, centred, scale), a.kind, dims)], before)[0]
        under = square.data + 1
        inverse = under ** -0.5
        rough = 0.5 * (square.error + unit * under) / np.maximum(under - square.error, 0.5) ** 1.5 + 4 * unit * inverse
        data = d * inverse[..., None]
        error = e * inverse[..., None] + np.abs(d) * rough[..., None] + e * rough[..., None]
        result = self.finish(Value("", list(self.axes), a.kind, data, error), unit * np.abs(data))
        identity = tuple(range(len(self.axes)))

        def body(args):
            x = self.inner("arith.subf", args[0], args[1], a.kind)
            r = self.inner("math.rsqrt", self.inner("arith.addf", args[2], one, a.kind), a.kind)
            return self.inner("arith.mulf", x, r, a.kind)

        self.generic([a, mean, square], self.maps([a, mean, square], self.axes) + [identity], len(identity), (),
                     self.empty(self.axes, a.kind), result, body)
        if self.rng.random() < 0.3:
            self.values += [mean, square]
        return result
