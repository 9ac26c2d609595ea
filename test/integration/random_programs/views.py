"""Slices, padding, concatenation, reshapes, transposition, single elements."""

import numpy as np

from random_programs.builder import Builder
from random_programs.values import FLOATS, Axis, Reject, Value


class Views(Builder):
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
        if np.prod([x.size for x in axes], dtype=float) > self.most:
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
        if result.data.size > self.most:
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
