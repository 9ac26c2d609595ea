"""`tilewright.jax.jit`: a function of pytrees of arrays, compiled once for each structure, shape and type of its arguments."""

from __future__ import annotations

import contextlib
import functools
import inspect
import threading
from typing import Any, Callable, Iterable, Optional, Union

import jax
import numpy as np
from jax import tree_util

from ..options import Options, read
from .lower import Compiled
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
    """A function for one structure of arguments: its program, and the one of its gradient, each traced when first needed."""

    def __init__(self, function: Callable, tree: Any, shapes: list, keys: dict, options: Options) -> None:
        self.options, self.shapes = options, shapes
        self.out_keys: dict = {}

        def flat(*leaves):
            arguments, keywords = tree_util.tree_unflatten(tree, _wrapped(leaves, keys))
            results, self.out_tree = tree_util.tree_flatten(function(*arguments, **keywords))
            self.out_keys = {i: jax.random.key_impl(r) for i, r in enumerate(results) if _is_key(r)}
            return [jax.random.key_data(r) if _is_key(r) else jax.numpy.asarray(r) for r in results]
        self.flat = flat
        with _inside():
            self.forward = Compiled(jax.make_jaxpr(flat)(*shapes), options)
        self._pulls: dict = {}
        self.differentiable = self._with_gradient()

    def _with_gradient(self) -> Callable:
        """Reverse mode: the forward program of the gradient gives what its backward program needs."""
        @jax.custom_vjp
        def run(*leaves):
            return call.bind(*leaves, compiled=self.forward)

        def forward(*leaves):
            made = self._gradient[0](*leaves)
            count = self.out_tree.num_leaves
            return made[:count], made[count:]

        def backward(residuals, cotangents):
            return tuple(self._backward(self._gradient[1]["tree"], residuals, cotangents))
        run.defvjp(forward, backward)
        return run

    @functools.cached_property
    def _gradient(self) -> tuple:
        """The function that also gives the residuals, and a table that gets the structure of the function that takes them."""
        kept: dict = {}

        def forward(*leaves):
            results, pull = jax.vjp(self.flat, *leaves)
            residuals, kept["tree"] = tree_util.tree_flatten(pull)
            return [*results, *residuals]
        return Function(forward, self.options, (), ()), kept

    def _backward(self, tree: Any, residuals: Any, cotangents: Any) -> list:
        """Gradients by the backward program, which is itself differentiable. Integers have gradients without elements (float0)."""
        none = jax.dtypes.float0
        real = {i: c for i, c in enumerate(cotangents) if c.dtype != none}
        shapes = [c.shape for c in cotangents]
        wanted = [jax.numpy.issubdtype(s.dtype, jax.numpy.floating) for s in self.shapes]
        if tuple(real) not in self._pulls:
            def backward(residuals, given):
                given = dict(zip(real, given))
                whole = [given[i] if i in given else np.zeros(shape, none) for i, shape in enumerate(shapes)]
                gradients = tree_util.tree_unflatten(tree, residuals)(whole)
                return [g for g, is_wanted in zip(gradients, wanted) if is_wanted]
            self._pulls[tuple(real)] = Function(backward, self.options, (), ())
        made = iter(self._pulls[tuple(real)](list(residuals), list(real.values())))
        return [next(made) if is_wanted else np.zeros(s.shape, none) for is_wanted, s in zip(wanted, self.shapes)]


class Function:
    """What `jit` gives. Arguments and results are pytrees; arrays may be JAX's or numpy's, results are JAX's."""

    def __init__(self, function: Callable, options: Options, static_argnums: tuple, static_argnames: tuple) -> None:
        self.function, self.options = function, options
        self.static_argnames = frozenset(static_argnames)
        self.static_argnums = frozenset(static_argnums)
        if static_argnames:
            try:
                names = list(inspect.signature(function).parameters)
            except (TypeError, ValueError):
                names = []
            self.static_argnums |= {names.index(n) for n in static_argnames if n in names}
        self._traced: dict = {}
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
            results = traced.differentiable(*leaves)
        else:
            results = [jax.numpy.asarray(a) for a in traced.forward(as_arrays(leaves, traced.forward))]
        return tree_util.tree_unflatten(traced.out_tree, _wrapped(results, traced.out_keys))

    def text(self, *arguments: Any, **keywords: Any) -> str:
        """The text that is compiled for these arguments."""
        from .lower import text_of_jaxpr
        return text_of_jaxpr(self._prepared(arguments, keywords)[0].forward.closed)

    def _prepared(self, arguments: tuple, keywords: dict) -> tuple:
        count = len(arguments)
        static_numbers = {n + count if n < 0 else n for n in self.static_argnums}
        static = {i: a for i, a in enumerate(arguments) if i in static_numbers}
        static_names = {k: v for k, v in keywords.items() if k in self.static_argnames}
        leaves, tree = tree_util.tree_flatten(([a for i, a in enumerate(arguments) if i not in static],
                                               {k: v for k, v in keywords.items() if k not in static_names}))
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
                self._traced[key] = _Traced(bound, tree, shapes, keys, self.options)
            return self._traced[key], leaves


def jit(function: Optional[Callable] = None, *, static_argnums: Union[None, int, Iterable[int]] = None,
        static_argnames: Union[None, str, Iterable[str]] = None, **options: Any) -> Any:
    """Compiles `function` with Tilewright: `@jit`, `@jit(target=...)` or `jit(function, target=...)`.

    static_argnums, static_argnames   arguments that are no arrays: one program for each of their values
    options                           target, device, fp, threads (`Options`)
    """
    settings = read(options, "tilewright.jax.jit")

    def wrap(function: Callable) -> Function:
        return Function(function, settings, _listed(static_argnums), _listed(static_argnames))
    return wrap if function is None else wrap(function)
