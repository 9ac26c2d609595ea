"""`tilewright.onnx.load`: a model as a function of arrays, compiled when it is first called."""

from __future__ import annotations

import dataclasses
import logging
import os
import threading
from typing import Any, Callable, Iterable, Mapping, Optional, Sequence, Union

import numpy as np
import onnx

from .. import package
from ..emit.context import Unsupported
from ..errors import ArgumentError, Error, OptionError
from ..options import Options, read
from ..program import Program
from .reader import Input, NeedsValue, Reader, inputs_of
from .values import NARROW, dtype_of, stored

log = logging.getLogger("tilewright.onnx")

#: Inputs that have to be known when the model is compiled have at most so many elements; there is one program for
#: each value.
LARGEST_VALUE, LARGEST_FLOATS = 4096, 64
NARROW_TYPES = [dtype_of(type) for type in NARROW]


@dataclasses.dataclass(frozen=True)
class Case:
    """What one program is compiled for: values of some inputs, and the sizes of the others (None: any)."""
    values: tuple
    shapes: tuple


@dataclasses.dataclass
class Built:
    """The text for one case, and what its arguments are."""
    text: str
    inputs: list
    weights: dict
    dtypes: list


class Model:
    """A model. `model(x, y)` or `model(x=.., y=..)` gives one array, or a tuple of several."""

    def __init__(self, proto: onnx.ModelProto, options: Options, bind_weights: bool = True,
                 dynamic: Optional[bool] = None, name: str = "model") -> None:
        self.proto, self.options, self.bind_weights, self.name = proto, options, bind_weights, name
        self._inputs = {i.name: i for i in inputs_of(proto.graph)}
        #: Names, in the order of a call.
        self.inputs, self.outputs = list(self._inputs), [o.name for o in proto.graph.output]
        self._dynamic = dynamic
        self._each_shape = dynamic is False
        self._valued: set = set()  # inputs whose values are compiled in
        self._programs: dict = {}
        self._lock = threading.RLock()

    def __repr__(self) -> str:
        inputs, outputs = ", ".join(self.inputs), ", ".join(self.outputs)
        return f"<tilewright.onnx.Model {self.name}({inputs}) -> {outputs} for {self.options.target}>"

    # Calls

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        arrays = self._arrays(arguments, named)
        try:
            made, dtypes = self._run(arrays)
        except ArgumentError:  # sizes of different names that were taken for equal, since they are combined
            if self._dynamic or self._each_shape or not self._has_dynamic_sizes():
                raise
            made, dtypes = self._run(arrays, exact=True)
        made = [made] if len(dtypes) == 1 else list(made or ())
        made = [a if a.dtype == t else a.astype(t) if t in NARROW_TYPES else a.view(t) for a, t in zip(made, dtypes)]
        return made[0] if len(made) == 1 else tuple(made)

    def _run(self, arrays: Mapping[str, np.ndarray], exact: bool = False) -> tuple:
        """What the program gives, and numpy's types of its results. `exact`: by a program for these shapes alone."""
        with self._lock:
            run, inputs, dtypes = self._found(arrays, self._programs, self._compiled, exact)
        return run(*[stored(arrays[name], self._inputs[name].type) for name in inputs]), dtypes

    def _arrays(self, arguments: Sequence[Any], named: Mapping[str, Any]) -> dict:
        if len(arguments) > len(self.inputs):
            raise ArgumentError(
                f"{self.name} takes {len(self.inputs)} inputs ({', '.join(self.inputs)}), {len(arguments)} were given")
        given = dict(zip(self.inputs, arguments))
        for name, value in named.items():
            if name not in self._inputs:
                raise ArgumentError(f"{self.name} has no input '{name}'; it has {', '.join(self.inputs)}")
            if name in given:
                raise ArgumentError(f"input '{name}' is given twice")
            given[name] = value
        missing = [name for name in self.inputs if name not in given]
        if missing:
            raise ArgumentError(f"{self.name} needs the input{'s' if len(missing) > 1 else ''} {', '.join(missing)}")
        return {name: self._array(self._inputs[name], given[name]) for name in self.inputs}

    def _array(self, expected: Input, value: Any) -> np.ndarray:
        dtype = dtype_of(expected.type)
        is_array = hasattr(value, "dtype") or hasattr(value, "__array__")
        array = np.asarray(value) if is_array else np.asarray(value, dtype)
        if array.dtype != dtype:
            raise ArgumentError(f"input '{expected.name}' is {array.dtype}; the model takes {dtype}")
        if expected.dims is not None:
            fits = len(array.shape) == len(expected.dims) and all(
                not isinstance(d, int) or d == n for d, n in zip(expected.dims, array.shape))
            if not fits:
                dims = ", ".join("?" if d is None else str(d) for d in expected.dims)
                raise ArgumentError(f"input '{expected.name}' has shape {array.shape}; the model takes ({dims})")
        return np.ascontiguousarray(array).reshape(array.shape)

    def _case(self, arrays: Mapping[str, np.ndarray], exact: bool) -> Case:
        values = tuple(
            (n, arrays[n].dtype.str, arrays[n].shape, arrays[n].tobytes()) for n in self.inputs if n in self._valued)
        def fixed(name: str) -> bool:  # what is written for all sizes is for those of 1 and more
            return exact or self._each_shape or self._inputs[name].dims is None or 0 in arrays[name].shape
        shapes = tuple((n, arrays[n].shape if fixed(n) else None) for n in self.inputs if n not in self._valued)
        return Case(values, shapes)

    def _found(self, arrays: Mapping[str, np.ndarray], known: dict, make: Any, exact: bool = False) -> Any:
        """What `make` gives for the case of these arrays; it turns out here which inputs' values, and whether sizes,
        are compiled in."""
        while True:
            case = self._case(arrays, exact)
            if case in known:
                return known[case]
            try:
                known[case] = make(self._build(case, arrays), case, arrays)
                return known[case]
            except NeedsValue as error:
                self._require(error, arrays)
            except (Unsupported, NotImplementedError) as error:
                if self._each_shape or self._dynamic or not self._has_dynamic_sizes():
                    raise error if isinstance(error, Unsupported) else Unsupported(str(error)) from None
                log.info("%s is compiled for each shape: %s", self.name, error)
                self._each_shape = True

    def _has_dynamic_sizes(self) -> bool:
        return any(i.dims is not None and not all(isinstance(d, int) for d in i.dims) for i in self._inputs.values())

    def _require(self, error: NeedsValue, arrays: Mapping[str, np.ndarray]) -> None:
        for name in error.inputs:
            array = arrays[name]
            if array.size > (LARGEST_VALUE if array.dtype.kind in "iub" else LARGEST_FLOATS):
                raise Unsupported(
                    f"{error}. Make it a constant of the model: the input '{name}' of {array.size} elements of "
                    f"{array.dtype} is "
                    "not compiled in") from None
        if error.inputs <= self._valued:
            raise Unsupported(str(error)) from None
        self._valued |= error.inputs

    def _build(self, case: Case, arrays: Mapping[str, np.ndarray], locations: bool = False) -> Built:
        shapes = {name: self._sizes(self._inputs[name]) if shape is None else shape for name, shape in case.shapes}
        reader = Reader(self.proto, {name: arrays[name] for name, *_ in case.values}, shapes, self.bind_weights,
                        locations)
        text = reader.text()
        return Built(text, reader.inputs, reader.weights, [dtype_of(t) for t in reader.result_types])

    @staticmethod
    def _sizes(given: Input) -> tuple:
        if all(isinstance(d, int) for d in given.dims):
            return given.dims
        import sympy
        return tuple(d if isinstance(d, int) else sympy.Symbol(d or f"{given.name}.{i}", integer=True, positive=True)
                     for i, d in enumerate(given.dims))

    def _writer(self, built: Built, case: Case, arrays: Mapping[str, np.ndarray]) -> Callable[[bool], str]:
        """Gives the text, or one with the names of nodes."""
        return lambda places: self._build(case, arrays, True).text if places else built.text

    def _compiled(self, built: Built, case: Case, arrays: Mapping[str, np.ndarray]) -> tuple:
        log.debug("compiles:\n%s", built.text)
        program = self.options.compile(self._writer(built, case, arrays), self.name)
        if built.weights:
            program = package.bound(program, built.weights)  # keeps what it reads
        program.names = built.inputs
        return program, built.inputs, built.dtypes

    # For a look, and for packages

    def text(self, *arguments: Any, **named: Any) -> str:
        """The text that is compiled for these inputs."""
        with self._lock:
            return self._found(self._arrays(arguments, named), {}, lambda built, *_: built).text

    def program(self, *arguments: Any, **named: Any) -> Program:
        """The program for these inputs; its weights are bound."""
        with self._lock:
            return self._found(self._arrays(arguments, named), self._programs, self._compiled)[0]

    def save(self, path: Union[str, os.PathLike], *, targets: Union[None, str, Iterable[str]] = None,
             values: Optional[Mapping[str, Any]] = None, shapes: Optional[Mapping[str, Sequence[int]]] = None,
             ranges: Optional[Mapping[str, tuple]] = None, keep_source: bool = False) -> None:
        """Writes a package that runs without ONNX and without a compiler (docs/packages.md).

        targets   one or several; the model's own where none is named
        values    arrays for inputs that have to be known when the model is compiled: they are no inputs of the package
        shapes    sizes for inputs, where the package is for these alone
        ranges    smallest and largest value of sizes, by the names that the model has for them
        """
        values, shapes, ranges = dict(values or {}), dict(shapes or {}), dict(ranges or {})
        self._check_names({**values, **shapes})
        arrays = {name: self._array(self._inputs[name], value) for name, value in values.items()}
        sizes = tuple((n, tuple(shapes[n]) if n in shapes else None) for n in self.inputs if n not in values)
        for name, shape in sizes:
            if shape is None and self._inputs[name].dims is None:
                raise OptionError(
                    f"the model does not say how many dimensions the input '{name}' has; give its shape with shapes=")
        case = Case(tuple((n, None) for n in values), sizes)
        try:
            built = self._build(case, arrays)
        except NeedsValue as error:
            raise Unsupported(f"{error}; give them with values=") from None
        chosen = [targets] if isinstance(targets, str) else list(targets or [self.options.target])
        artifacts = [self.options.build(self._writer(built, case, arrays), t, self.name) for t in chosen]
        names = built.inputs + [f"weight.{i}" for i in range(len(built.weights))]
        bounds = self._ranges(artifacts[0].signature, built, sizes, ranges)
        entry = package.Entry(artifacts, built.weights, names, bounds, {"outputs": self.outputs}, keep_source)
        package.save(path, entry)

    def _check_names(self, given: Iterable[str]) -> None:
        for name in given:
            if name not in self._inputs:
                raise OptionError(f"{self.name} has no input '{name}'; it has {', '.join(self.inputs)}")

    def _ranges(self, signature: Any, built: Built, sizes: Sequence[tuple], ranges: dict) -> dict:
        """Bounds by the numbers of the program's sizes."""
        found = {}
        for name, shape in sizes:
            for dim, expression in zip(self._inputs[name].dims or (),
                                       signature.inputs[built.inputs.index(name)].expressions):
                if shape is None and isinstance(dim, str) and isinstance(expression, dict):
                    found.setdefault(dim, expression["size"])
        for name in ranges:
            if name not in found:
                raise OptionError(f"{self.name} has no dynamic size '{name}'; it has {', '.join(found) or 'none'}")
        return {found[name]: tuple(bounds) for name, bounds in ranges.items()}


def load(model: Union[str, os.PathLike, bytes, onnx.ModelProto], *, bind_weights: bool = True,
         dynamic: Optional[bool] = None, **options: Any) -> Model:
    """A model of a file, of its bytes, or as a ModelProto.

    bind_weights   False: all constants stand in the text, so that the compiler sees their values
    dynamic        True: one program serves all sizes, or an error says why not; False: one for each shape; None: the
                   first where it can be
    options        target, device, fp, threads (`Options`)
    """
    settings = read(options, "tilewright.onnx.load")
    if isinstance(model, onnx.ModelProto):
        return Model(model, settings, bind_weights, dynamic, model.graph.name or "model")
    try:
        if isinstance(model, bytes):
            return Model(onnx.load_from_string(model), settings, bind_weights, dynamic)
        return Model(onnx.load(model), settings, bind_weights, dynamic, os.path.basename(os.fspath(model)))
    except Unsupported:
        raise
    except OSError as error:
        raise Error(f"cannot read {model}: {error.strerror or error}") from None
    except Exception as error:
        if type(error).__name__ != "DecodeError":
            raise
        raise Error(
            f"{'these bytes are' if isinstance(model, bytes) else f'{model} is'} no model of ONNX: {error}") from None
