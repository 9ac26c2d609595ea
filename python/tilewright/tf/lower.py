"""From a TensorFlow function to a program: StableHLO by XLA's bridge, text by the reader, code by the compiler."""

from __future__ import annotations

import dataclasses
import functools
import logging
import re
from typing import Any, Callable, Sequence

import numpy as np
import tensorflow as tf
from jaxlib.mlir import ir
from jaxlib.mlir._mlir_libs import _jax_mlir_ext
from jaxlib.mlir.dialects import chlo, mhlo, stablehlo

from .. import stablehlo as reader
from ..emit.context import Unsupported
from ..options import Options
from ..program import Program

log = logging.getLogger("tilewright.tf")


def parsed(module: bytes) -> Any:
    """A module of StableHLO, read by the dialects of jaxlib."""
    registry = ir.DialectRegistry()
    _jax_mlir_ext.register_dialects(registry)
    context = ir.Context()
    context.append_dialect_registry(registry)
    context.load_all_available_dialects()
    for register in (stablehlo.register_dialect, chlo.register_dialect, mhlo.register_mhlo_dialect):
        register(context)
    return ir.Module.parse(module, context)


@dataclasses.dataclass
class Captured:
    """What a program takes beside the arguments: a variable, or a tensor that the function holds."""
    variable: Any
    tensor: Any

    @property
    def identity(self) -> int:
        return id(self.variable.handle if self.variable is not None else self.tensor)

    def value(self) -> Any:
        return self.variable.read_value() if self.variable is not None else self.tensor


class Lowered:
    """A function of tensors that gives a list of tensors, for one list of shapes: its program, compiled at the first
    call, what it captures, and which variables it writes."""

    def __init__(self, function: Callable, specs: Sequence[tf.TensorSpec], options: Options) -> None:
        self.options, self.specs = options, list(specs)
        traced = tf.function(function, jit_compile=True)
        self.concrete = traced.get_concrete_function(*specs)
        variables = {id(v.handle): v for v in self.concrete.variables}
        self.captured = [self._captured(t, variables) for t in self.concrete.captured_inputs]
        try:
            module = traced.experimental_get_compiler_ir(*specs)(stage="stablehlo_serialized")
        except (ValueError, tf.errors.InvalidArgumentError, tf.errors.UnimplementedError) as error:
            if "HLO" not in str(error) and "compile" not in str(error):
                raise
            raise Unsupported(f"XLA does not lower this function: {str(error).splitlines()[0]}") from None
        self.module = parsed(module)
        self.outputs = len(self.concrete.outputs)
        self.written = self._written()
        if len(self._main().arguments) != len(self.specs) + len(self.captured):
            raise Unsupported(f"XLA takes {len(self._main().arguments)} arrays for {len(self.specs)} arguments and "
                              f"{len(self.captured)} captured values")

    @staticmethod
    def _captured(tensor: Any, variables: dict) -> Captured:
        if tensor.dtype != tf.resource:
            return Captured(None, tensor)
        if id(tensor) not in variables:
            raise Unsupported(
                f"the function captures a resource that is no variable ({tensor}); pass its content as an "
                "argument")
        return Captured(variables[id(tensor)], None)

    def _main(self) -> Any:
        return next(f for f in self.module.body.operations
                    if str(f.operation.attributes["sym_name"]).strip('"') == "main").regions[0].blocks[0]

    def _written(self) -> list:
        """(variable, number of the result that is its new value): results alias the parameters whose places they
        take."""
        text = str(self.module.operation.attributes["mhlo.input_output_alias"])
        pairs = re.findall(r"parameter_number = (\d+) : i64\}, output_index = array<i64(?:: (\d+))?>", text)
        return [(self.captured[int(parameter) - len(self.specs)].variable, int(result or 0))
                for parameter, result in pairs]

    def text(self, places: bool = False, are_constant: bool = False) -> str:
        """`are_constant`: captured values are the same in many calls."""
        count = len(self.specs)
        with self.module.context:
            return reader.read(self.module, "graph", places, range(count, count + len(self.captured)) if are_constant else ())

    @functools.cached_property
    def program(self) -> Program:
        def write(places: bool) -> str:
            text = self.text(places)
            log.debug("compiles:\n%s", text)
            return text
        return self.options.compile(write)

    @functools.cached_property
    def types(self) -> list:
        """numpy's types of all results."""
        written = {result: variable.dtype for variable, result in self.written}
        rest = iter(self.concrete.outputs)
        count = self.outputs + len(self.written)
        return [np.dtype((written[i] if i in written else next(rest).dtype).as_numpy_dtype) for i in range(count)]

    def __call__(self, arguments: Sequence[Any], captured: Sequence[Any]) -> tuple:
        """(results, new values of variables in the order of `written`), as arrays of numpy."""
        arrays = [np.asarray(a) for a in (*arguments, *captured)]
        made = self.program(*arrays)
        made = [made] if len(self.types) == 1 else list(made or ())
        made = [a.view(t) if a.dtype != t else a for a, t in zip(made, self.types)]
        new = [made[result] for _, result in self.written]
        taken = {result for _, result in self.written}
        return [a for i, a in enumerate(made) if i not in taken], new
