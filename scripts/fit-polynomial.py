#!/usr/bin/env python3
"""Fits the polynomials of core/Transforms/Lower/Math/Trigonometry.cpp and Powers.cpp (needs mpmath).

    f(x) = lead(x) + factor(x) P(u(x)),   0 <= x <= limit,   with the smallest error relative to f

Least squares whose weights grow where the error is large (Lawson) converge to the minimax fit. Coefficients are rounded to
the type from the lowest power on, and the rest is fitted again. `words` prints 2/pi as words of integers.

    fit-polynomial.py f32 sin 3      fit-polynomial.py f64 atan 11      fit-polynomial.py words 32 7
"""

import struct
import sys

import mpmath
from mpmath import mp, mpf

mp.dps = 60
ROUND = {"f32": lambda v: mpf(struct.unpack("f", struct.pack("f", float(v)))[0]), "f64": lambda v: mpf(float(v))}
#: name: (function, leading part, factor of the polynomial, its argument, limit)
FITS = {
    "sin": (mpmath.sin, lambda x: x, lambda x: x**3, lambda x: x * x, mpmath.pi / 4),
    "cos": (mpmath.cos, lambda x: 1 - x * x / 2, lambda x: x**4, lambda x: x * x, mpmath.pi / 4),
    "asin": (mpmath.asin, lambda x: x, lambda x: x**3, lambda x: x * x, mpf(1) / 2),
    "atan": (mpmath.atan, lambda x: x, lambda x: x**3, lambda x: x * x, mpmath.tan(mpmath.pi / 8)),
    # log((1 + s) / (1 - s)) behind its first two terms
    "log": (lambda s: mpmath.log((1 + s) / (1 - s)), lambda s: 2 * s + 2 * s**3 / 3, lambda s: s**5, lambda s: s * s,
            (mpmath.sqrt(2) - 1) / (mpmath.sqrt(2) + 1)),
}


def fit(kind, name, count):
    function, lead, factor, argument, limit = FITS[name]
    points = 8 * count + 40
    grid = [limit * (1 - mpmath.cos(mpmath.pi * (k + 1) / points)) / 2 for k in range(points)]
    rest = [(function(x) - lead(x)) / function(x) for x in grid]
    rows = [[factor(x) * argument(x) ** i / function(x) for i in range(count)] for x in grid]
    weights, fixed, best = [mpf(1)] * points, {}, None
    for turn in range(count + 1):
        free = [i for i in range(count) if i not in fixed]
        best = None
        for _ in range(60 if turn == 0 else 12):
            if free:
                left, right = mpmath.matrix(len(free), len(free)), mpmath.matrix(len(free), 1)
                for row, want, weight in zip(rows, rest, weights):
                    want = want - sum(row[i] * v for i, v in fixed.items())
                    for a, i in enumerate(free):
                        right[a] += row[i] * weight * want
                        for b, j in enumerate(free):
                            left[a, b] += row[i] * weight * row[j]
                values = list(mpmath.lu_solve(left, right))
            every = [fixed[i] if i in fixed else values[free.index(i)] for i in range(count)]
            errors = [abs(sum(r * v for r, v in zip(row, every)) - want) for row, want in zip(rows, rest)]
            if best is None or max(errors) < best[0]:
                best = max(errors), every
            weights = [w * e for w, e in zip(weights, errors)]
            top = max(weights)
            weights = [max(w / top, mpf(10) ** -15) for w in weights]
        if turn < count:
            fixed[turn] = ROUND[kind](best[1][turn])
    return best


def words(width, count):
    scaled = int(mpmath.floor(2 / mpmath.pi * mpf(2) ** (width * count)))
    return [(scaled >> (width * (count - 1 - i))) & ((1 << width) - 1) for i in range(count)]


def main():
    if sys.argv[1] == "words":
        mp.prec = int(sys.argv[2]) * int(sys.argv[3]) + 64
        print(", ".join(f"0x{word:0{int(sys.argv[2]) // 4}x}" for word in words(int(sys.argv[2]), int(sys.argv[3]))))
        return
    error, coefficients = fit(sys.argv[1], sys.argv[2], int(sys.argv[3]))
    print(", ".join(mpmath.nstr(v, 9 if sys.argv[1] == "f32" else 17) for v in coefficients))
    print("error", mpmath.nstr(error, 3))


if __name__ == "__main__":
    main()
