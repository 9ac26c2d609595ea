"""Random bits of a state that the program is given, as XLA on processors draws them."""

import math

from ..emit import types
from ..emit.philox import high, low, philox, wide
from ..emit.scalars import Scalar, Scalars
from ..emit.value import Value
from .attributes import enum
from .registry import op


def added(s, counter, more):
    """(low, high) of a counter of 128 bits, u64 each, and a u64 that is added to it."""
    first = s.add(counter[0], more)
    return first, s.add(counter[1], s.cast(s.compare("lt", first, counter[0]), "u64"))


def element_number(s, shape):
    """Of the element whose body is written, in row-major order, as u64."""
    number = s.constant(0, "i64")
    for i, n in enumerate(shape):
        number = s.add(s.mul(number, s.size(n)), s.index(i))
    return s.cast(number, "u64")


def chosen(s, number, values):
    """The one of `values`, a power of two of them, that `number` (u64) says."""
    while len(values) > 1:
        bit = s.compare("ne", s.binary("and", number, len(values) // 2), 0)
        half = len(values) // 2
        values = [s.select(bit, b, a) for a, b in zip(values[:half], values[half:])]
    return values[0]


@op("stablehlo.rng_bit_generator")
def rng_bit_generator(c):
    """The new state, and bits. The state is a key and a counter of 128 bits, of which a state of two numbers holds the lower half, and
    the key the upper one. Four words of 32 bits follow from each counter; results of 8 and 16 bits take the lower ones of a word."""
    if enum(c.op.attributes["rng_algorithm"]) == "THREE_FRY":
        c.refuse("the generator THREE_FRY is not compiled; PHILOX and DEFAULT are")
    (kept, _), (shape, type) = c.results
    state, outer, bits = c.value(0), Scalars(c.f), types.BITS[type]
    if state.type != "u64" or kept[0] not in (2, 3):
        c.refuse(f"the state of this generator is two or three numbers of u64, not {kept[0]} of {state.type}")
    key, *counter = (outer.extract(state, [i]) for i in range(kept[0]))
    counter = counter if len(counter) == 2 else [*counter, key]
    each = 2 if bits == 64 else 4  # elements of a counter

    def body(s, *_):
        number = element_number(s, shape)
        halves = added(s, counter, s.div(number, each))
        signed = [Scalar(n.name, "i64") for n in (*halves, key)]
        words = philox(s, [part(s, n) for n in signed[:2] for part in (low, high)], [low(s, signed[2]), high(s, signed[2])])
        if bits == 64:
            words = [s.binary("or", wide(s, a), s.binary("shl", wide(s, b), 32)) for a, b in (words[:2], words[2:])]
        return s.cast(Scalar((made := chosen(s, number, words)).name, f"u{types.BITS[made.type]}"), type)
    made = c.f.map([], shape, type, body)
    after = added(outer, counter, outer.constant(-(-math.prod(shape) // each), "u64"))
    listed = Value(c.f.fresh(), kept, "u64")
    c.f.line(f"{listed.name} = tensor.from_elements {', '.join(n.name for n in (key, *after[:kept[0] - 1]))} : {listed.text}")
    return listed, made
