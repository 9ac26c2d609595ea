"""Philox4x32-10: random words from a counter and a key.

J. K. Salmon et al., Parallel Random Numbers: As Easy as 1, 2, 3, SC 2011.
"""

MULTIPLIERS = (0xD2511F53, 0xCD9E8D57)
WEYL = (0x9E3779B9, 0xBB67AE85)


def low(s, a):
    """The lower half of an i64, as i32."""
    return s.cast(a, "i32")


def high(s, a):
    return s.cast(s.binary("shr_logical", a, 32), "i32")


def wide(s, a):
    """An i32 as the i64 of its bits."""
    return s.op(f"arith.extui {a.name} : i32 to i64", "i64")


def philox(s, counter, key):
    """Four i32 words of four words of a counter and two of a key."""
    x, key = list(counter), list(key)
    for round_ in range(10):
        first, second = (s.mul(wide(s, x[i]), s.constant(m, "i64")) for i, m in zip((0, 2), MULTIPLIERS))
        x = [s.binary("xor", s.binary("xor", high(s, second), x[1]), key[0]), low(s, second),
             s.binary("xor", s.binary("xor", high(s, first), x[3]), key[1]), low(s, first)]
        if round_ < 9:
            key = [s.add(k, s.constant(w, "i32")) for k, w in zip(key, WEYL)]
    return x
