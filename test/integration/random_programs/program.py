"""One random program, from its seed."""

import numpy as np

from random_programs.control import Control
from random_programs.elementwise import Elementwise
from random_programs.reductions import Reductions
from random_programs.sizes import Sizes
from random_programs.values import FLOATS8, INTS, SIZES, USUAL, Axis, Reject, Value
from random_programs.views import Views


class Program(Elementwise, Reductions, Views, Control, Sizes):
    """`text`, `inputs` and `outputs`. `small`: few operations on few elements, for an emulator."""

    options = []  # of tw-run, beside those that are asked for

    def __init__(self, seed, small=False):
        self.rng = np.random.default_rng(seed)
        self.lines, self.functions, self.inputs, self.values, self.counter = [], [], [], [], 0
        self.indent = "  "
        self.most = 1500 if small else 60000  # elements of a value
        self.sizes = [s for s in SIZES if s < 40] if small else SIZES
        self.build(seed)

    def add(self, operations, wanted, made):
        """`wanted` more values, appended to `made`."""
        wanted += len(made)
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

    def build(self, seed):
        rng = self.rng
        dynamic = rng.random() < 0.4
        main = self.pick(["f32", "f32", "f32", "f64", "bf16", "f16", "i8", "i32"])
        # Every fifth program has one of the 8-bit floats among its types, half of those as the main one.
        self.kinds, short = USUAL + list(INTS), np.random.default_rng([seed, 2])
        if short.random() < 0.2:
            kind = sorted(FLOATS8)[int(short.integers(len(FLOATS8)))]
            self.kinds = [*self.kinds, kind, kind]
            main = kind if short.random() < 0.5 else main
        axes, header = [], []
        for _ in range(int(rng.integers(2, 6))):
            axes.append(Axis(self.pick(self.sizes) if rng.random() < 0.9 else 1))
        if dynamic:
            for axis in axes:
                if rng.random() < 0.7:
                    axis.name = self.fresh("n")
        for index in range(int(rng.integers(2, 5))):
            for _ in range(50):
                rank = int(rng.integers(0, min(len(axes), 5) + 1))
                chosen = [axes[int(i)] for i in rng.choice(len(axes), rank, replace=False)]
                if np.prod([a.size for a in chosen], dtype=float) <= self.most / 3:
                    break
            else:
                chosen = []
            kind = main if rng.random() < 0.8 else self.pick(self.kinds)
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
        self.add(operations, wanted, made)
        # Every third program goes on with sizes that follow from data.
        self.rng = np.random.default_rng([seed, 1])
        if self.rng.random() < 0.33:
            numbers = self.rng.integers(0, 20, (1,)).astype(np.int32)
            self.inputs.append(Value(f"%arg{len(self.inputs)}", [Axis(1)], "i32", numbers))
            self.values.insert(0, self.inputs[-1])
            self.add([self.op_read_slice, self.op_shrink, self.op_sides, self.op_iota], int(self.rng.integers(1, 3)), made)
            self.add(operations, int(self.rng.integers(0, 4)), made)
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
