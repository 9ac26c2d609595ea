"""Random numbers from a counter: Philox of (element, operation of the graph) under a seed that PyTorch's generator gives for
each call. So `torch.manual_seed` makes results reproducible; they are not the numbers that eager draws.
"""

import math

from ..emit import types
from ..emit.philox import high, low, philox, wide
from ..emit.scalars import Scalars
from .context import shape_of, type_of
from .registry import op


def words(s, element, stream, seed):
    """Four i32 words for an element (i64)."""
    return philox(s, [low(s, element), high(s, element), s.constant(stream, "i32"), s.constant(0, "i32")], [low(s, seed), high(s, seed)])


def unit(s, bits, type):
    """A float in [0, 1) from 24 bits of a word (f64: from 53 of two)."""
    if type == "f64":
        first, second = (wide(s, b) for b in bits[:2])
        all_bits = s.binary("or", s.binary("shl", second, 32), first)
        return s.mul(s.cast(s.binary("shr_logical", all_bits, 11), "f64"), 2.0**-53)
    return s.mul(s.cast(s.binary("shr_logical", bits[0], 8), "f32"), 2.0**-24)


def draw(c, shape, type, body):
    """A tensor whose elements are `body(s, words)`."""
    f = c.f
    seed_array, stream = f.seed()
    seed = Scalars(f).extract(seed_array, [])

    def write(s):
        element = s.constant(0, "i64")
        for i, n in enumerate(shape):
            element = s.add(s.mul(element, s.size(n)), s.index(i))
        return s.cast(body(s, words(s, element, stream, seed)), type)
    return f.map([], shape, type, write)


def compute_of(type):
    return "f64" if type == "f64" else "f32"


def uniform_of(c, shape, type, low=0.0, high=1.0):
    compute = compute_of(type)

    def body(s, bits):
        value = unit(s, bits, compute)
        if type in ("f16", "bf16"):  # fewer bits, so that rounding never gives 1
            value = s.mul(s.math("floor", s.mul(value, 2.0**(11 if type == "f16" else 8))), 2.0**-(11 if type == "f16" else 8))
        return value if (low, high) == (0.0, 1.0) else s.add(s.mul(value, high - low), low)
    return draw(c, shape, type, body)


def normal_of(c, shape, type, mean=0.0, deviation=1.0):
    """Box and Muller's: sqrt(-2 log u) cos(2 pi v), u in (0, 1]."""
    compute = compute_of(type)

    def body(s, bits):
        u = s.sub(1, unit(s, bits, compute))
        v = unit(s, bits[2:], compute)
        value = s.mul(s.math("sqrt", s.mul(s.math("log", u), -2.0)), s.math("cos", s.mul(v, 2 * math.pi)))
        return value if (mean, deviation) == (0.0, 1.0) else s.add(s.mul(value, deviation), mean)
    return draw(c, shape, type, body)


@op("rand", "rand_like", "prims::rand")
def rand(c, *_, **options):
    return uniform_of(c, c.shape, c.type)


@op("uniform")
def uniform(c, x, low=0.0, high=1.0, generator=None):
    return uniform_of(c, c.shape, c.type, float(low), float(high))


@op("randn", "randn_like")
def randn(c, *_, **options):
    return normal_of(c, c.shape, c.type)


@op("normal_functional")
def normal(c, x, mean=0.0, std=1.0, generator=None):
    return normal_of(c, c.shape, c.type, float(mean), float(std))


@op("randint", "randint.low", "randint_like", "randint_like.low_dtype")
def randint(c, *arguments, **options):
    name = str(c.node.target)
    bounds = arguments[1:] if "like" in name else arguments[:-1]
    first, last = (0, bounds[0]) if len(bounds) == 1 else bounds[:2]
    if not isinstance(first, int) or not isinstance(last, int) or not 0 < last - first < 2**31:
        c.refuse("random integers over a range that is dynamic or beyond 31 bits are not compiled")

    def body(s, bits):
        return s.add(s.binary("shr_logical", s.mul(wide(s, bits[0]), last - first), 32), first)
    return draw(c, c.shape, c.type, body)


@op("bernoulli.p", "bernoulli")
def bernoulli(c, x, p=None, generator=None):
    if isinstance(p, (int, float)):
        return draw(c, c.shape, c.type, lambda s, bits: s.cast(s.compare("lt", unit(s, bits, "f32"), float(p)), "f32"))
    chance = uniform_of(c, c.shape, "f32")
    return c.map([chance, x], lambda s, u, q: s.cast(s.compare("lt", u, q), "f32"), compute="f32")


@op("native_dropout")
def native_dropout(c, x, p, train=True):
    """The result, and the mask of what is kept."""
    shape = shape_of(c.meta[0])
    if train is False or p == 0:
        return x, c.f.fill(shape, type_of(c.meta[1]), 1)
    mask = draw(c, shape, "i1", lambda s, bits: s.compare("ge", unit(s, bits, "f32"), float(p)))
    scale = 0.0 if p == 1 else 1.0 / (1.0 - p)
    compute = types.compute(x.type)
    y = c.f.map([x, mask], shape, x.type, lambda s, a, m: s.cast(
        s.mul(s.mul(s.cast(a, compute), s.cast(m, compute)), scale), x.type))
    return y, mask
