"""Contractions: products of matrices, batched ones, with addends. 16-bit floats accumulate in f32 and round once."""

from ..emit import types
from ..emit.contract import contract
from ..emit.scalars import Scalar, Scalars
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


# Products of groups


def product_of_groups(c, a, b, offs, shape, type):
    """Products whose number differs from group to group, as the tokens of each expert: `offs` says where a group of rows of `a` ends (of
    columns of `b`, of terms where both have two dimensions). A loop over groups; what is in none of them is 0, and ends beyond the last are
    held there, so that nothing else is touched."""
    f, groups = c.f, offs.shape[0]
    whole = a.shape[-1] if a.rank == b.rank else a.shape[0] if a.rank == 2 else b.shape[1]
    with f.loop(groups, [f.fill(shape, type, 0)]) as (i, carried, results):
        s = Scalars(f)
        group, all_of_them = Scalar(i, "index"), Scalar(f.index(whole), "index")

        def end(which):
            """That of a group, between 0 and the last one."""
            return s.max(s.min(s.index_cast(s.extract(offs, [which]), "index"), all_of_them), 0)
        before = s.select(s.compare("eq", group, 0), s.constant(0, "index"), end(s.max(s.sub(group, 1), 0)))
        count = f.local_size(s.max(s.sub(end(group), before), 0).name)

        def part(value, dimension):
            """The part of the group; dimension -1 stands for a matrix of a group."""
            offsets, sizes = [0] * value.rank, list(value.shape)
            offsets[max(dimension, 0)], sizes[max(dimension, 0)] = (i, 1) if dimension < 0 else (before.name, count)
            return f.slice(value, offsets, sizes, drop=[0] if dimension < 0 else ())
        split = (1, 0) if a.rank == b.rank else (0, -1) if a.rank == 2 else (-1, 1)
        product = c.cast(product_of(c, part(a, split[0]), part(b, split[1])), type)
        if a.rank == b.rank:
            results[:] = [f.insert(product, carried[0], [i, 0, 0], sizes=[1, *product.shape])]
        else:
            results[:] = [f.insert(product, carried[0], [before.name, 0] if a.rank == 2 else [0, before.name])]
    return results[0]


@op("_grouped_mm", "transformers::grouped_mm_fallback")
def grouped_mm(c, a, b, offs=None, bias=None, out_dtype=None):
    if bias is not None:
        c.refuse("a bias inside of a grouped product is not compiled; add it to the result")
    if a.rank == 3 and b.rank == 3:
        return c.cast(product_of(c, a, b), c.type)
    return product_of_groups(c, a, b, offs, c.shape, c.type)


@op("transformers::grouped_mm_fallback_backward")
def grouped_mm_backward(c, a, b, offs, gradient):
    """Of both operands, rows and matrices of groups."""
    return (product_of_groups(c, gradient, c.f.transpose(b, (0, 2, 1)), offs, a.shape, a.type),
            product_of_groups(c, c.f.transpose(a, (1, 0)), gradient, offs, b.shape, b.type))
