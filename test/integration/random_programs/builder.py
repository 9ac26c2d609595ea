"""Text of a program and drawing of its operands: what every kind of operation shares."""

import numpy as np

from random_programs.values import FLOATS, INTS, LIMIT, LIMITS, TINY, Reject, Value, store


class Builder:
    """Lines of MLIR, and the values that they have computed so far."""

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

    def generic(self, inputs, maps, loops, reduction, init, result, body):
        """One linalg.generic. `maps` are tuples of loop numbers, the last for the result; `body` gets argument names."""
        return self.generics(inputs, maps, loops, reduction, [init], [result], lambda arguments: [body(arguments)])[0]

    def generics(self, inputs, maps, loops, reduction, inits, results, body):
        """The same with several results: `maps` ends with theirs, `body` gives what each becomes."""
        dims = ", ".join(f"d{i}" for i in range(loops))
        affine = ", ".join(f"affine_map<({dims}) -> ({', '.join('d%d' % d for d in m)})>" for m in maps)
        kinds = ", ".join('"reduction"' if i in reduction else '"parallel"' for i in range(loops))
        out = self.fresh()
        ins = f"ins({', '.join(v.name for v in inputs)} : {', '.join(v.type() for v in inputs)}) " if inputs else ""
        types = ", ".join(v.type() for v in results)
        several = f":{len(results)}" if len(results) > 1 else ""
        self.emit(f"{out}{several} = linalg.generic {{indexing_maps = [{affine}], iterator_types = [{kinds}]}} {ins}"
                  f"outs({', '.join(inits)} : {types}) {{")
        arguments = [self.fresh("x") for _ in inputs] + [self.fresh("o") for _ in results]
        self.emit("^bb0(" + ", ".join(f"{a}: {v.kind}" for a, v in zip(arguments, [*inputs, *results])) + "):")
        self.indent += "  "
        yielded = body(arguments)
        self.emit(f"linalg.yield {', '.join(yielded)} : {', '.join(v.kind for v in results)}")
        self.indent = self.indent[:-2]
        self.emit(f"}} -> {f'({types})' if several else types}")
        for index, value in enumerate(results):
            value.name = f"{out}#{index}" if several else out
        return results

    def fill(self, axes, kind, value):
        scalar, empty, out = self.scalar(kind, value), self.empty(axes, kind), self.fresh("f")
        type_ = Value("", axes, kind, np.zeros(0)).type()
        self.emit(f"{out} = linalg.fill ins({scalar} : {kind}) outs({empty} : {type_}) -> {type_}")
        return out

    def finish(self, value, local):
        """Rounds a computed float value to its type, adds what one operation in it may err, checks the range."""
        if value.kind in FLOATS:
            unit = FLOATS[value.kind]
            value.data = store(value.data, value.kind)
            magnitude = np.abs(value.data)
            if magnitude.size and not magnitude.max() < LIMITS.get(value.kind, LIMIT):
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

    def arrange(self, axes):
        """The order of a result's dimensions."""
        self.rng.shuffle(axes)

    def union(self, *values):
        axes = []
        for value in values:
            axes += [a for a in value.axes if a not in axes]
        self.arrange(axes)
        if len(axes) > 5 or np.prod([a.size for a in axes], dtype=float) > self.most:
            raise Reject
        return axes

    def maps(self, values, axes):
        return [tuple(axes.index(a) for a in v.axes) for v in values]

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
