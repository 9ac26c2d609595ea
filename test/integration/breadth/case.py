"""One program with its inputs and expected outputs, and how it is run."""

import pathlib
import subprocess
import tempfile

import ml_dtypes
import numpy as np

from random_programs import values

FLOATS = {kind: values.FLOATS[kind] for kind in values.USUAL}
#: 8-bit floats: NumPy's type, spacing of its values around 1, smallest number. Types of storage: operations err by less than a
#: spacing, whatever they compute.
FLOATS8 = {"f8E4M3FN": (ml_dtypes.float8_e4m3fn, 2.0**-3, 2.0**-9), "f8E5M2": (ml_dtypes.float8_e5m2, 2.0**-2, 2.0**-16),
           "f8E4M3FNUZ": (ml_dtypes.float8_e4m3fnuz, 2.0**-3, 2.0**-10),
           "f8E5M2FNUZ": (ml_dtypes.float8_e5m2fnuz, 2.0**-2, 2.0**-17)}
#: And the type of scales, which has no arithmetic of its own.
SHORT = FLOATS8 | {"f8E8M0FNU": (ml_dtypes.float8_e8m0fnu, 1.0, 2.0**-127)}
NUMPY = {"f64": np.float64, "f32": np.float32, "f16": np.float16, "i1": np.bool_, "i8": np.int8, "i16": np.int16,
         "i32": np.int32, "i64": np.int64, "index": np.int64, "ui8": np.uint8, "si16": np.int16, "ui32": np.uint32}


def is_float(kind):
    return kind in FLOATS or kind in SHORT


def store(data, kind):
    """`data` (float64) rounded to `kind`."""
    return data.astype(np.float32).astype(SHORT[kind][0]).astype(np.float64) if kind in SHORT else values.store(data, kind)


class Tensor:
    """An input or an expected output: element type, values (float64 for floats), and whether its sizes are dynamic."""

    def __init__(self, kind, data, dynamic=False):
        self.kind, self.dynamic = kind, dynamic
        data = np.asarray(data)
        with np.errstate(over="ignore"):  # what a narrow float cannot hold is infinite
            self.data = store(data.astype(np.float64), kind) if is_float(kind) else data.astype(NUMPY[kind])

    def type(self):
        sizes = ("?" if self.dynamic else str(size) for size in self.data.shape)
        return "tensor<" + "".join(size + "x" for size in sizes) + self.kind + ">"

    def path(self, folder, stem):
        return folder / (stem + (".bf16.npy" if self.kind == "bf16" else ".npy"))

    def save(self, path):
        if self.kind == "bf16":
            np.save(path, (self.data.astype(np.float32).view(np.uint32) >> np.uint32(16)).astype(np.uint16))
        elif self.kind in SHORT:
            np.save(path, self.data.astype(SHORT[self.kind][0]).view(np.uint8))
        else:
            np.save(path, self.data.astype(NUMPY[self.kind]))

    def load(self, path):
        data = np.load(path)
        if self.kind == "bf16":
            data = (data.view(np.uint16).astype(np.uint32) << np.uint32(16)).view(np.float32)
        if self.kind in SHORT:
            data = data.view(SHORT[self.kind][0])
        return data.astype(np.float64) if is_float(self.kind) else data


class Random:
    """Inputs: normal floats, integers from -8 to 7; the same in every run."""

    def __init__(self, seed=0):
        self.rng = np.random.default_rng(seed)

    def __call__(self, kind, *shape, dynamic=False, low=-8, high=8):
        if is_float(kind):
            return Tensor(kind, self.rng.standard_normal(shape), dynamic)
        if kind == "i1":
            return Tensor(kind, self.rng.random(shape) < 0.5, dynamic)
        return Tensor(kind, self.rng.integers(low, high, shape), dynamic)


class Case:
    """A program: `text` of MLIR, input Tensors, expected Tensors. `units`: roundings of the result's type, of its
    largest magnitude, that a float may err (sums carry several).
    `long`: compiled for seconds, for the full mode."""

    def __init__(self, name, text, inputs, outputs, units=8, long=False):
        self.name, self.text, self.inputs, self.outputs = name, text, list(inputs), list(outputs)
        self.units, self.long = units, long

    def run(self, tool, *options):
        """None if the outputs are right, else the reason. `options`: more of `tw-run`."""
        with tempfile.TemporaryDirectory(prefix="tw-breadth-") as name:
            folder = pathlib.Path(name)
            source = folder / "program.mlir"
            source.write_text(self.text)
            command = [str(tool), str(source), *options]
            for index, tensor in enumerate(self.inputs):
                path = tensor.path(folder, f"in{index}")
                tensor.save(path)
                command += ["--input", str(path)]
            paths = [tensor.path(folder, f"out{index}") for index, tensor in enumerate(self.outputs)]
            for path in paths:
                command += ["--output", str(path)]
            try:
                done = subprocess.run(command, capture_output=True, text=True, timeout=120, cwd=folder)
            except subprocess.TimeoutExpired:
                return "no end after 120 s\n" + self.text
            if done.returncode:
                return f"exit status {done.returncode}\n{done.stderr}\n{self.text}"
            for index, (path, want) in enumerate(zip(paths, self.outputs)):
                reason = self.compare(want.load(path), want)
                if reason:
                    return f"output {index} ({want.type()}): {reason}\n{self.text}"
        return None

    def compare(self, got, want):
        if got.shape != want.data.shape:
            return f"shape {got.shape}, expected {want.data.shape}"
        if not is_float(want.kind):
            wrong = got != want.data
        else:
            finite = np.abs(want.data[np.isfinite(want.data)])
            if want.kind in SHORT:
                bound = SHORT[want.kind][1] * np.abs(want.data) + SHORT[want.kind][2]
            else:
                bound = self.units * FLOATS[want.kind] * (finite.max() if finite.size else 1.0)
            with np.errstate(invalid="ignore"):
                wrong = ~(np.abs(got - want.data) <= bound)
            wrong &= ~((got == want.data) | (np.isnan(got) & np.isnan(want.data)))
        if not wrong.any():
            return None
        at = tuple(int(i) for i in np.unravel_index(np.argmax(wrong), wrong.shape))
        return f"{int(wrong.sum())} of {wrong.size} elements wrong; at {at}: {got[at]}, expected {want.data[at]}"


def function(inputs, outputs, body, private=""):
    """A module with `main`: arguments %a0, %a1, ..., `body` lines, and what its last line binds: %r0, %r1, ..."""
    arguments = ", ".join(f"%a{index}: {tensor.type()}" for index, tensor in enumerate(inputs))
    types = ", ".join(tensor.type() for tensor in outputs)
    results = ", ".join(f"%r{index}" for index in range(len(outputs)))
    return f"{private}func.func @main({arguments}) -> ({types}) {{\n{body}\n  return {results} : {types}\n}}\n"


def simple(name, inputs, outputs, body, **words):
    """A case whose body is `body`; {a0}, {r0} stand for the types of arguments and results."""
    names = {f"a{i}": t.type() for i, t in enumerate(inputs)} | {f"r{i}": t.type() for i, t in enumerate(outputs)}
    for key, value in names.items():
        body = body.replace("{" + key + "}", value)
    private = words.pop("private", "")
    return Case(name, function(inputs, outputs, body, private), inputs, outputs, **words)


def destination(name, operation, inputs, init, expected, tail="", arrow=True, **words):
    """A case of one destination-style operation: `operation ins(inputs) outs(init) tail`; the init is an argument.
    `arrow`: whether its syntax ends with the type of the result."""
    every = [*inputs, init]
    ins = ", ".join(f"%a{i}" for i in range(len(inputs)))
    types = ", ".join(tensor.type() for tensor in inputs)
    result = Tensor(init.kind, expected, init.dynamic)
    ins = f" ins({ins} : {types})" if inputs else ""
    body = f"  %r0 = {operation}{ins} outs(%a{len(inputs)} : {init.type()}){tail}"
    body += f" -> {init.type()}" if arrow else ""
    return Case(name, function(every, [result], body), every, [result], **words)
