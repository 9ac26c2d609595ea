"""`tilewright.jax.jit`: a function of pytrees of arrays, compiled once for each structure, shape and type of its arguments."""

from __future__ import annotations

import contextlib
import functools
import inspect
import os
import threading
from typing import Any, Callable, Iterable, Optional, Sequence, Union

import jax
from jax import export, tree_util

from ..errors import OptionError
from ..options import Options, read
from . import symbolic
from .lower import Compiled, save, text_of_jaxpr, with_weights
from .primitive import as_arrays, call

_tracing = threading.local()


@contextlib.contextmanager
def _inside():
    """While a function is traced for a program, functions inside of it become part of that program."""
    before = getattr(_tracing, "on", False)
    _tracing.on = True
    try:
        yield
    finally:
        _tracing.on = before


def _shape(leaf: Any) -> jax.ShapeDtypeStruct:
    aval = jax.typeof(leaf)
    return jax.ShapeDtypeStruct(aval.shape, aval.dtype, weak_type=getattr(aval, "weak_type", False))


def _listed(numbers: Union[None, int, str, Iterable]) -> tuple:
    return () if numbers is None else (numbers,) if isinstance(numbers, (int, str)) else tuple(numbers)


def _is_key(value: Any) -> bool:
    """Whether this is an array of typed random keys, which programs take as their words."""
    return hasattr(value, "dtype") and jax.dtypes.issubdtype(value.dtype, jax.dtypes.prng_key)


def _wrapped(leaves: Iterable, kinds: dict) -> list:
    """Leaves with their keys typed again; `kinds`: generators by the numbers of the leaves."""
    return [jax.random.wrap_key_data(leaf, impl=kinds[i]) if i in kinds else leaf for i, leaf in enumerate(leaves)]


class _Traced:
    """A function for one structure of arguments, and for their shapes or for all that fit to symbolic ones: its program."""

    def __init__(self, function: Callable, tree: Any, shapes: list, keys: dict, options: Options) -> None:
        self.out_keys: dict = {}

        def flat(*leaves):
            arguments, keywords = tree_util.tree_unflatten(tree, _wrapped(leaves, keys))
            results, self.out_tree = tree_util.tree_flatten(function(*arguments, **keywords))
            self.out_keys = {i: jax.random.key_impl(r) for i, r in enumerate(results) if _is_key(r)}
            return [jax.random.key_data(r) if _is_key(r) else jax.numpy.asarray(r) for r in results]
        with _inside():
            self.forward = Compiled(jax.make_jaxpr(flat)(*shapes), options)


class Function:
    """What `jit` gives. Arguments and results are pytrees; arrays may be JAX's or numpy's, results are JAX's."""

    def __init__(self, function: Callable, options: Options, static_argnums: tuple, static_argnames: tuple,
                 dynamic_shapes: Any = None, constraints: Sequence[str] = ()) -> None:
        self.function, self.options = function, options
        self.dynamic_shapes, self.constraints = dynamic_shapes, tuple(constraints)
        self.static_argnames = frozenset(static_argnames)
        self.static_argnums = frozenset(static_argnums)
        if static_argnames:
            try:
                names = list(inspect.signature(function).parameters)
            except (TypeError, ValueError):
                names = []
            self.static_argnums |= {names.index(n) for n in static_argnames if n in names}
        self._traced: dict = {}    # by the shapes of arguments
        self._dynamic: dict = {}   # by symbolic ones, too
        self._lock = threading.RLock()
        functools.update_wrapper(self, function, updated=())

    def __repr__(self) -> str:
        return f"<tilewright.jax.jit of {getattr(self.function, '__qualname__', self.function)} for {self.options.target}>"

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self if instance is None else functools.partial(self, instance)

    def __call__(self, *arguments: Any, **keywords: Any) -> Any:
        if getattr(_tracing, "on", False):
            return self.function(*arguments, **keywords)
        traced, leaves = self._prepared(arguments, keywords)
        if any(isinstance(leaf, jax.core.Tracer) for leaf in leaves):
            results = call.bind(*leaves, compiled=traced.forward)
        else:
            results = [jax.numpy.asarray(a) for a in traced.forward(as_arrays(leaves, traced.forward))]
        return tree_util.tree_unflatten(traced.out_tree, _wrapped(results, traced.out_keys))

    def text(self, *arguments: Any, **keywords: Any) -> str:
        """The text that is compiled for these arguments."""
        return text_of_jaxpr(self._prepared(arguments, keywords)[0].forward.closed)

    def save(self, path: Union[str, os.PathLike], *arguments: Any, targets: Union[None, str, Iterable[str]] = None,
             keep_source: bool = False, **keywords: Any) -> None:
        """Writes a package for arguments of these shapes, or of all that `dynamic_shapes` leaves open. It takes the leaves of the
        arguments in JAX's order, and runs without JAX and without a compiler (docs/packages.md)."""
        closed, weights = with_weights(self._prepared(arguments, keywords)[0].forward.closed)
        save(path, lambda places: text_of_jaxpr(closed, places, constants=weights), self.options, targets, keep_source, weights)

    def traced(self, arguments: tuple, keywords: dict) -> tuple:
        """What is compiled for these arguments, their leaves, and the structure of those that are no static ones."""
        return (*self._prepared(arguments, keywords), self._split(arguments, keywords)[1])

    def _split(self, arguments: tuple, keywords: dict) -> tuple:
        """Leaves and structure of the arguments that are no static ones, and those that are."""
        static_numbers = {n + len(arguments) if n < 0 else n for n in self.static_argnums}
        static = {i: a for i, a in enumerate(arguments) if i in static_numbers}
        static_names = {k: v for k, v in keywords.items() if k in self.static_argnames}
        leaves, tree = tree_util.tree_flatten(([a for i, a in enumerate(arguments) if i not in static],
                                               {k: v for k, v in keywords.items() if k not in static_names}))
        return leaves, tree, static, static_names

    def _prepared(self, arguments: tuple, keywords: dict) -> tuple:
        count = len(arguments)
        leaves, tree, static, static_names = self._split(arguments, keywords)
        keys = {i: jax.random.key_impl(leaf) for i, leaf in enumerate(leaves) if _is_key(leaf)}
        leaves = [jax.random.key_data(leaf) if i in keys else leaf for i, leaf in enumerate(leaves)]
        shapes = [_shape(leaf) for leaf in leaves]
        facts = tuple((s.shape, s.dtype, s.weak_type) for s in shapes)
        try:
            key = (tree, facts, tuple((i, str(k)) for i, k in keys.items()), count, tuple(sorted(static.items())), tuple(sorted(static_names.items())), jax.config.jax_enable_x64)
            hash(key)
        except TypeError as error:
            raise TypeError(f"static arguments of {self!r} have to be hashable: {error}") from None
        with self._lock:
            if key not in self._traced:
                def bound(*dynamic, **given):
                    rest = iter(dynamic)
                    return self.function(*[static[i] if i in static else next(rest) for i in range(count)], **given, **static_names)
                symbolic_shapes = self._symbolic(tree, shapes) if self.dynamic_shapes is not None else shapes
                if symbolic_shapes is shapes:
                    self._traced[key] = _Traced(bound, tree, shapes, keys, self.options)
                else:
                    general = (key[0], tuple((str(s.shape), s.dtype, s.weak_type) for s in symbolic_shapes), *key[2:])
                    if general not in self._dynamic:
                        self._dynamic[general] = _Traced(bound, tree, symbolic_shapes, keys, self.options)
                    self._traced[key] = self._dynamic[general]
            return self._traced[key], leaves

    def _symbolic(self, tree: Any, shapes: list) -> list:
        """The shapes as `dynamic_shapes` gives them; these themselves where a size is 0, which symbolic ones are not."""
        if any(0 in s.shape for s in shapes):
            return shapes
        arguments, keywords = tree_util.tree_unflatten(tree, shapes)
        try:
            made = export.symbolic_args_specs(tuple(arguments), self.dynamic_shapes, constraints=self.constraints)
        except (ValueError, IndexError) as error:  # what JAX raises for shapes of another rank
            raise OptionError(f"dynamic_shapes={self.dynamic_shapes!r} of {self!r} does not fit: {error}") from None
        made = [jax.ShapeDtypeStruct(m.shape, s.dtype, weak_type=s.weak_type)
                for m, s in zip(tree_util.tree_leaves((list(made), keywords)), shapes, strict=True)]
        symbolic.solved(made, [s.shape for s in shapes], self.constraints)
        return made


def jit(function: Optional[Callable] = None, *, static_argnums: Union[None, int, Iterable[int]] = None,
        static_argnames: Union[None, str, Iterable[str]] = None, dynamic_shapes: Any = None,
        constraints: Iterable[str] = (), **options: Any) -> Any:
    """Compiles `function` with Tilewright: `@jit`, `@jit(target=...)` or `jit(function, target=...)`.

    static_argnums, static_argnames   arguments that are no arrays: one program for each of their values
    dynamic_shapes                    sizes that one program leaves open, as `jax.export.symbolic_args_specs` takes them for
                                      the arguments that are arrays: `("b, ...", None)`; one text serves all arguments
    constraints                       what holds for them: `["b >= 4"]`
    options                           target, device, fp, threads (`Options`)
    """
    settings = read(options, "tilewright.jax.jit")

    def wrap(function: Callable) -> Function:
        return Function(function, settings, _listed(static_argnums), _listed(static_argnames), dynamic_shapes, constraints)
    return wrap if function is None else wrap(function)
