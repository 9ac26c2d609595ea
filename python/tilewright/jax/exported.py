"""Functions of `jax.export`: compiled once for all sizes that their symbolic shapes leave open."""

from __future__ import annotations

import functools
import os
from typing import Any, Iterable, Union

import jax
import numpy as np
from jax import export, tree_util

from ..errors import ArgumentError
from ..options import Options, read
from ..program import Program
from ..stablehlo import Unsupported
from . import symbolic
from .lower import logged, module_of, save, text_of_module


class Exported:
    """What `compile` gives. Arguments and results are as those of the function that was exported."""

    def __init__(self, exported: export.Exported, options: Options) -> None:
        self.exported, self.options = exported, options
        if len(exported.platforms) != 1:
            raise Unsupported(f"{self!r} is exported for the platforms {', '.join(exported.platforms)}; export it for one, 'cpu'")
        if exported.nr_devices != 1:
            raise Unsupported(f"{self!r} is exported for {exported.nr_devices} devices; functions of one are compiled")
        for aval in (*exported.in_avals, *exported.out_avals):
            if jax.dtypes.issubdtype(aval.dtype, jax.dtypes.prng_key):
                raise Unsupported(f"{self!r} takes or gives typed random keys; export a function of jax.random.key_data")

    def __repr__(self) -> str:
        return f"<tilewright.jax.compile of {self.exported.fun_name} for {self.options.target}>"

    @functools.cached_property
    def program(self) -> Program:
        return self.options.compile(lambda places: logged(self.text(places)))

    def text(self, places: bool = False) -> str:
        """The text that is compiled."""
        return text_of_module(module_of(self.exported), places)

    def __call__(self, *arguments: Any, **keywords: Any) -> Any:
        leaves, tree = tree_util.tree_flatten((arguments, keywords))
        avals = self.exported.in_avals
        if tree != self.exported.in_tree:
            raise ArgumentError(f"{self!r} takes arguments of the structure {self.exported.in_tree}, not {tree}")
        for i, (leaf, aval) in enumerate(zip(leaves, avals)):
            shape, dtype = np.shape(leaf), jax.dtypes.result_type(leaf)
            fits = len(shape) == len(aval.shape) and all(export.is_symbolic_dim(d) or d == n for d, n in zip(aval.shape, shape))
            if not fits or dtype != aval.dtype:
                raise ArgumentError(f"argument {i} is {dtype}{list(shape)}; {self!r} takes {aval.str_short()}")
        symbolic.solved(avals, [np.shape(leaf) for leaf in leaves])
        arrays = [np.asarray(leaves[i], dtype=avals[i].dtype) for i in self.exported.module_kept_var_idx]
        made = self.program(*arrays)
        made = [made] if len(self.exported.out_avals) == 1 else list(made or ())
        made = [jax.numpy.asarray(a.view(o.dtype) if a.dtype != o.dtype else a) for a, o in zip(made, self.exported.out_avals)]
        return tree_util.tree_unflatten(self.exported.out_tree, made)

    def save(self, path: Union[str, os.PathLike], *, targets: Union[None, str, Iterable[str]] = None, keep_source: bool = False) -> None:
        """Writes a package, which runs without JAX and without a compiler (docs/packages.md)."""
        save(path, self.text, self.options, targets, keep_source)


def compile(exported: export.Exported, **options: Any) -> Exported:
    """Compiles what `jax.export.export(jax.jit(function))(...)` gives, or `jax.export.deserialize`. Options: target, device, fp,
    threads (`Options`)."""
    return Exported(exported, read(options, "tilewright.jax.compile"))
