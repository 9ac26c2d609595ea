"""Operations, a family in one program, compared with JAX's own results: floats with those of float64, all else exactly."""

import jax
import numpy as np
import pytest

import op_cases
import tilewright.jax

#: Largest error of f32 beside float64, relative to the larger of 1 and the value.
TOLERANCE = 2e-5
LOOSE = {"f16 and bf16": 2e-2, "reduce_precision": 1e-2, "erf_inv of f64": 1e-12, "normal": 1e-4, "power": 1e-4, "tan": 1e-4, "hypot": 1e-5}


def is_float(array):
    return jax.numpy.issubdtype(array.dtype, np.floating)


def wide(arguments):
    return [a.astype(np.float64) if isinstance(a, (np.ndarray, np.generic)) and a.dtype == np.float32 else a for a in arguments]


def differences(name, got, same, exact):
    """What is wrong with the results of a case, as text. `same`: JAX's results on the same arrays."""
    if jax.tree.structure(got) != jax.tree.structure(same):
        return [f"{name}: the structure is {jax.tree.structure(got)}, not {jax.tree.structure(same)}"]
    found = []
    for number, (g, s, e) in enumerate(zip(*map(jax.tree.leaves, (got, same, exact)), strict=True)):
        g, s, e = np.asarray(g), np.asarray(s), np.asarray(e)
        if (g.dtype, g.shape) != (s.dtype, s.shape):
            found.append(f"{name}[{number}]: {g.dtype}{g.shape}, not {s.dtype}{s.shape}")
        elif not is_float(g):
            if not np.array_equal(g, s):
                found.append(f"{name}[{number}]: {g} is not {s}")
        else:
            g, s, e = (a.astype(np.float64) for a in (g, s, e if is_float(e) else s))
            if not np.array_equal(np.isnan(g), np.isnan(s)) or not np.array_equal(np.isinf(g), np.isinf(s)):
                found.append(f"{name}[{number}]: NaN or infinity differ: {g} is not {s}")
                continue
            there = np.isfinite(g) & np.isfinite(e)
            error = np.max(np.abs(g[there] - e[there]) / np.maximum(1, np.abs(e[there])), initial=0)
            if not error <= LOOSE.get(name, TOLERANCE) or not np.array_equal(g[np.isinf(g)], s[np.isinf(s)]):
                found.append(f"{name}[{number}]: error {error:.2g}: {g} is not {e}")
    return found


@pytest.mark.parametrize("family", op_cases.FAMILIES, ids=lambda f: f.__name__)
def test_family(family):
    cases = list(family())
    arguments = [a for _, _, a in cases]

    def all_of(arguments):
        return [function(*a) for (_, function, _), a in zip(cases, arguments, strict=True)]
    got = tilewright.jax.jit(all_of, threads=1)(arguments)
    same, exact = jax.jit(all_of)(arguments), jax.jit(all_of)([wide(a) for a in arguments])
    found = [line for (name, _, _), *results in zip(cases, got, same, exact, strict=True) for line in differences(name, *results)]
    assert not found, "\n".join(found)
