"""Contractions: products of matrices, batched ones, with addends. 16-bit floats accumulate in f32 and round once."""

from ..emit import types
from ..emit.contract import contract
from .registry import op


def product_of(c, a, b, accumulator=None):
    """(m, k) x (k, n), (b, m, k) x (b, k, n), (m, k) x (k) or (k) x (k)."""
    type = accumulator or types.compute(a.type)
    if a.rank == 3:
        return contract(c, a, b, 4, ["d0", "d1", "d3"], ["d0", "d3", "d2"], ["d0", "d1", "d2"],
                        (a.shape[0], a.shape[1], b.shape[2]), type, [3])
    if a.rank == 2 and b.rank == 2:
        return contract(c, a, b, 3, ["d0", "d2"], ["d2", "d1"], ["d0", "d1"], (a.shape[0], b.shape[1]), type, [2])
    if a.rank == 2:
        return contract(c, a, b, 2, ["d0", "d1"], ["d1"], ["d0"], (a.shape[0],), type, [1])
    return contract(c, a, b, 1, ["d0"], ["d0"], [], (), type, [0])


@op("mm", "bmm", "mv", "dot", "vdot")
def mm(c, a, b):
    return c.cast(product_of(c, a, b), c.type)


@op("_int_mm")
def int_mm(c, a, b):
    return c.cast(product_of(c, a, b, "i32"), c.type)


def _with_addend(c, addend, product, beta, alpha):
    def body(s, *scalars):
        value = scalars[-1] if alpha == 1 else s.mul(scalars[-1], alpha)
        if beta == 0:
            return value
        return s.add(scalars[0] if beta == 1 else s.mul(scalars[0], beta), value)
    return c.map(([addend] if beta != 0 else []) + [product], body)


@op("addmm", "baddbmm", "addmv")
def addmm(c, addend, a, b, *, beta=1, alpha=1):
    return _with_addend(c, addend, product_of(c, a, b), beta, alpha)


@op("addbmm")
def addbmm(c, addend, a, b, *, beta=1, alpha=1):
    product = contract(c, a, b, 4, ["d2", "d0", "d3"], ["d2", "d3", "d1"], ["d0", "d1"], (a.shape[1], b.shape[2]),
                       types.compute(a.type), [2, 3])
    return _with_addend(c, addend, product, beta, alpha)


@op("addr")
def addr(c, addend, a, b, *, beta=1, alpha=1):
    return _with_addend(c, addend, outer(c, a, b), beta, alpha)


def outer(c, a, b):
    column = c.f.view(a, (a.shape[0], 1))
    return c.map([column, b], lambda s, x, y: s.mul(x, y), shape=(a.shape[0], b.shape[0]), type=types.compute(a.type))


@op("linear")
def linear(c, x, weight, bias=None):
    """(..., k) x (n, k)."""
    rank = x.rank
    k = f"d{rank}"
    lead = [f"d{i}" for i in range(rank - 1)]
    product = contract(c, x, weight, rank + 1, lead + [k], [f"d{rank - 1}", k], lead + [f"d{rank - 1}"],
                       (*x.shape[:-1], weight.shape[0]), types.compute(x.type), [rank])
    return c.cast(product, c.type) if bias is None else _with_addend(c, bias, product, 1, 1)
