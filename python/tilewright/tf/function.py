"""`tilewright.tf.function`: a function of nested structures of tensors, compiled once for each structure, shape and
type of its arguments. Variables are read at each call and written back after it."""

from __future__ import annotations

import functools
import inspect
import os
import threading
from typing import Any, Callable, Iterable, Optional, Union

import numpy as np
import tensorflow as tf

from .. import package
from ..emit.context import Unsupported
from ..errors import ArgumentError
from ..options import Options, read
from .lower import Lowered


def _is_tensor(leaf: Any) -> bool:
    return isinstance(leaf, (tf.Tensor, tf.TensorSpec, np.ndarray, np.generic))


def _static(spec: tf.TensorSpec) -> tf.TensorSpec:
    """The same; sizes that are left open are refused."""
    if not spec.shape.is_fully_defined():
        raise Unsupported(f"{spec} leaves sizes open, and XLA's bridge of TensorFlow gives StableHLO of static sizes alone. Leave out the "
                          "signature: each shape that comes then gets a program of its own, once. One program for all sizes is what "
                          "tilewright.jax, tilewright.torch and tilewright.onnx have")
    return spec


def _spec(leaf: Any) -> tf.TensorSpec:
    if isinstance(leaf, tf.TensorSpec):
        return _static(tf.TensorSpec(leaf.shape, leaf.dtype))
    tensor = tf.convert_to_tensor(leaf) if not isinstance(leaf, tf.Tensor) else leaf
    return tf.TensorSpec(tensor.shape, tensor.dtype)


def _identity(leaf: Any) -> Any:
    """What tells leaves apart that are compiled in: values of Python, objects such as variables."""
    return (type(leaf), leaf) if isinstance(leaf, (int, float, bool, str, bytes, type(None), tf.DType)) else id(leaf)


class _Traced:
    """A function for one structure of arguments: its program, and that of its gradient when it is first needed."""

    def __init__(self, function: Callable, structure: Any, leaves: list, options: Options) -> None:
        self.options = options
        tensors = [i for i, leaf in enumerate(leaves) if _is_tensor(leaf)]
        held = {i: leaf for i, leaf in enumerate(leaves) if not _is_tensor(leaf)}

        def flat(*given):
            given = dict(zip(tensors, given))
            arguments, keywords = tf.nest.pack_sequence_as(structure, [given[i] if i in given else held[i]
                                                                       for i in range(len(leaves))])
            results = function(*arguments, **keywords)
            flattened = tf.nest.flatten(results)
            self.results, self.given = tf.nest.map_structure(lambda r: None,
                                                             results), [r is not None for r in flattened]
            return [tf.convert_to_tensor(r) for r in flattened if r is not None]
        self.flat, self.specs = flat, [_spec(leaves[i]) for i in tensors]
        self.forward = Lowered(flat, self.specs, options)
        self._backward: dict = {}

    def __call__(self, tensors: list) -> Any:
        """Differentiable with respect to the tensors and the variables, which are read here, so that a tape sees it."""
        count, new = len(tensors), []

        @tf.custom_gradient
        def run(*values):
            results, new[:] = self.forward(values[:count], values[count:])
            return [tf.convert_to_tensor(r) for r in results], functools.partial(self._gradient, values)
        results = run(*tensors, *[c.value() for c in self.forward.captured])
        for (variable, _), value in zip(self.forward.written, new):
            variable.assign(value)
        made = iter(results)
        return tf.nest.pack_sequence_as(self.results, [next(made) if given else None for given in self.given])

    def _gradient(self, values: tuple, *slopes: Any) -> list:
        """The gradient by a program of its own, which computes the function again from the values that it was called
        with."""
        wanted = [i for i, v in enumerate(values) if v.dtype.is_floating]
        real = [i for i, s in enumerate(slopes) if s.dtype.is_floating]
        count = len(self.specs)
        if not self._backward:
            captured = self.forward.captured

            def backward(*given):
                inputs, above = given[:count], given[count:]
                with tf.GradientTape() as tape:
                    tape.watch([v for v in inputs if v.dtype.is_floating])
                    for each in captured:
                        if each.variable is not None and each.variable.dtype.is_floating:
                            tape.watch(each.variable)
                    results = self.flat(*inputs)
                sources = [inputs[i] if i < count else captured[i - count].variable for i in wanted]
                known = [i for i, s in enumerate(sources) if s is not None]
                made = tape.gradient([results[i] for i in real], [sources[i] for i in known], list(above),
                                     unconnected_gradients=tf.UnconnectedGradients.ZERO)
                made = dict(zip(known, map(tf.convert_to_tensor, made)))
                return [made.get(i, tf.zeros_like(values[w])) for i, w in enumerate(wanted)]
            specs = self.specs + [_spec(slopes[i]) for i in real]
            self._backward["program"] = Lowered(backward, specs, self.options)
        program = self._backward["program"]
        held = {c.identity: v for c, v in zip(self.forward.captured, values[count:])}
        again = [held[c.identity] if c.identity in held else c.value() for c in program.captured]
        made, _ = program([*values[:count], *[slopes[i] for i in real]], again)
        made = dict(zip(wanted, map(tf.convert_to_tensor, made)))
        return [made.get(i) for i in range(len(values))]


class Function:
    """What `function` gives. Arguments and results are nested structures; arrays may be TensorFlow's or numpy's,
    results are TensorFlow's. Numbers and strings of Python are compiled in."""

    def __init__(self, function: Callable, options: Options, input_signature: Optional[Iterable] = None) -> None:
        self.function, self.options = function, options
        given = input_signature if input_signature is not None else getattr(function, "input_signature", None)
        self.signature = None if given is None else [_static(s) for s in tf.nest.flatten(list(given))]
        self._traced: dict = {}
        self._lock = threading.RLock()
        functools.update_wrapper(self, function, updated=())

    def __repr__(self) -> str:
        name = getattr(self.function, "__qualname__", self.function)
        return f"<tilewright.tf.function of {name} for {self.options.target}>"

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self if instance is None else functools.partial(self, instance)

    def __call__(self, *arguments: Any, **keywords: Any) -> Any:
        if not tf.executing_eagerly():  # inside of another function it becomes part of that
            return self.function(*arguments, **keywords)
        traced, leaves = self._prepared(arguments, keywords)
        if any(isinstance(leaf, tf.TensorSpec) for leaf in leaves):
            raise ArgumentError(f"{self!r} is called with a TensorSpec; text and save take one in the place of a tensor")
        return traced([tf.convert_to_tensor(leaf) for leaf in leaves if _is_tensor(leaf)])

    def text(self, *arguments: Any, **keywords: Any) -> str:
        """The text that is compiled for these arguments."""
        return self._prepared(arguments, keywords)[0].forward.text()

    def _prepared(self, arguments: tuple, keywords: dict) -> tuple:
        try:
            bound = inspect.signature(self.function).bind(*arguments, **keywords)
        except ValueError:
            structure: Any = (arguments, keywords)
        except TypeError as error:
            raise ArgumentError(f"{self!r}: {error}") from None
        else:
            structure = (bound.args, bound.kwargs)
        structure = (list(structure[0]), dict(structure[1]))
        leaves = tf.nest.flatten(structure)
        if self.signature is not None:
            self._check([_spec(leaf) for leaf in leaves if _is_tensor(leaf)])
        key = (repr(tf.nest.map_structure(lambda leaf: None, structure)), tuple(
            (tuple(leaf.shape), np.dtype(leaf.dtype.as_numpy_dtype) if isinstance(leaf, (tf.Tensor, tf.TensorSpec)) else leaf.dtype)
            if _is_tensor(leaf) else _identity(leaf) for leaf in leaves))
        with self._lock:
            if key not in self._traced:
                self._traced[key] = _Traced(self.function, structure, leaves, self.options)
                self._traced[key].kept = leaves  # so that no other object takes the identity of one of them
            return self._traced[key], leaves

    def _check(self, specs: list) -> None:
        """Whether tensors are those of the signature."""
        if len(specs) != len(self.signature):
            raise ArgumentError(f"{self!r} takes {len(self.signature)} tensors by its signature; {len(specs)} were given")
        for number, (given, wanted) in enumerate(zip(specs, self.signature)):
            if (given.shape, given.dtype) != (wanted.shape, wanted.dtype):
                raise ArgumentError(f"tensor {number} is {given.dtype.name}{list(given.shape)}; the signature of {self!r} has "
                                    f"{wanted.dtype.name}{list(wanted.shape)}")

    def save(self, path: Union[str, os.PathLike], *arguments: Any, targets: Union[None, str, Iterable[str]] = None,
             keep_source: bool = False, **keywords: Any) -> None:
        """Writes a package for arguments of these shapes, with the variables as they are. It runs without TensorFlow
        and without a compiler (docs/packages.md)."""
        forward = self._prepared(arguments, keywords)[0].forward
        if forward.written:
            names = ", ".join(variable.name for variable, _ in forward.written)
            raise Unsupported(f"a package has no variables to write; this function writes {names}")
        chosen = [targets] if isinstance(targets, str) else list(targets or [self.options.target])
        artifacts = [self.options.build(lambda places: forward.text(places, are_constant=True), target) for target in chosen]
        count = len(forward.specs)
        weights = {count + i: np.asarray(c.value()) for i, c in enumerate(forward.captured)}
        package.save(path, package.Entry(artifacts, weights, keep_source=keep_source))


def function(function: Optional[Callable] = None, *, input_signature: Optional[Iterable] = None, **options: Any) -> Any:
    """Compiles `function`, or a Keras model, with Tilewright: `@function`, `@function(target=...)` or
    `function(model, target=...)`.

    input_signature   as of tf.function: the shapes and types of the tensors that are taken; a `tf.function` brings its own
    options           target, device, fp, threads (`Options`)
    """
    settings = read(options, "tilewright.tf.function")

    def wrap(function: Callable) -> Function:
        return Function(function, settings, input_signature)
    return wrap if function is None else wrap(function)
