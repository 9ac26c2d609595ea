#!/usr/bin/env python3
"""Fits the tail of the normal distribution for core/Transforms/Lower/Math/ErrorFunction.cpp (needs mpmath).

    Phi(-t) 2^(h t^2) = M(t) / ((a t + b) M(t) + N(t)),   0 <= t <= limit

with the smallest relative error. The quotient M / D with a free D gives a and b by division of polynomials; for given a
and b the equation is linear in the coefficients of M and N, and least squares whose weights grow where the error is
large (Lawson) converge to the minimax fit. Coefficients are rounded to
the type one after the other, from the constant ones on, and the rest is fitted again. M(0) = 15/8 makes the numbers of
small t long ones of their binade, whose rounding errors are relatively small.

    fit-tail.py f32 4          fit-tail.py f64 10
"""

import math
import struct
import sys

import mpmath
from mpmath import mp, mpf

mp.dps = 70
FIRST = mpf(15) / 8
#: limit of t, points of the grid, and the rounding to the type
TYPES = {"f32": (mpf("14.5"), 110, lambda v: mpf(struct.unpack("f", struct.pack("f", float(v)))[0])),
         "f64": (mpf("38.8"), 150, lambda v: mpf(float(v)))}


class Fit:
    """M of `degree` and N of `other`; coefficients are M1.. and then N0.."""

    def __init__(self, kind, degree, other, slope, offset):
        limit, points, self.round = TYPES[kind]
        self.degree, self.other = degree, other
        half = self.round(1 / (2 * mpmath.log(2)))
        self.grid = [limit * ((1 - mpmath.cos(mpmath.pi * k / points)) / 2) ** mpf("1.5") for k in range(points + 1)]
        self.exact = [mpmath.erfc(t / mpmath.sqrt(2)) * mpmath.exp(t * t * half * mpmath.log(2)) / 2
                      for t in self.grid]
        self.powers = [[t ** i for i in range(max(degree, other) + 1)] for t in self.grid]
        self.line = [slope * t + offset for t in self.grid]
        self.weights, self.below = [mpf(1)] * len(self.grid), [mpf(1)] * len(self.grid)

    def solve(self, fixed, rounds):
        """The best (error, coefficients) with `fixed` ones given."""
        d, count, best = self.degree, self.degree + self.other + 1, None
        free = [i for i in range(count) if i not in fixed]
        for _ in range(rounds):
            left, right = mpmath.matrix(len(free), len(free)), mpmath.matrix(len(free), 1)
            for f, line, power, weight, below in zip(self.exact, self.line, self.powers, self.weights, self.below):
                g = 1 - f * line
                row = [g * power[j] for j in range(1, d + 1)] + [-f * power[j] for j in range(self.other + 1)]
                rest = -g * FIRST - sum(row[i] * v for i, v in fixed.items())
                scale = weight / (f * below) ** 2
                for a, i in enumerate(free):
                    right[a] += row[i] * scale * rest
                    for b, j in enumerate(free):
                        left[a, b] += row[i] * scale * row[j]
            values = list(mpmath.lu_solve(left, right)) if free else []
            coefficients = [fixed[i] if i in fixed else values[free.index(i)] for i in range(count)]
            errors = []
            for k, (f, line, power) in enumerate(zip(self.exact, self.line, self.powers)):
                m = FIRST + sum(coefficients[j - 1] * power[j] for j in range(1, d + 1))
                self.below[k] = line * m + sum(coefficients[d + j] * power[j] for j in range(self.other + 1))
                errors.append(abs(m / self.below[k] / f - 1))
            if best is None or max(errors) < best[0]:
                best = max(errors), coefficients
            if not free:
                break
            self.weights = [w * e for w, e in zip(self.weights, errors)]
            top = max(self.weights)
            self.weights = [max(w / top, mpf(10) ** -15) for w in self.weights]
        return best


def main():
    kind, degree = sys.argv[1], int(sys.argv[2])
    round_to = TYPES[kind][2]
    quotient = Fit(kind, degree, degree + 1, mpf(0), mpf(0)).solve({}, 40)[1]
    m, n = [FIRST] + quotient[:degree], quotient[degree:]
    slope = n[-1] / m[-1]
    slope, offset = round_to(slope), round_to((n[-2] - slope * m[-2]) / m[-1])
    fit = Fit(kind, degree, degree - 1, slope, offset)
    error, coefficients = fit.solve({}, 40)
    print("before rounding:", mpmath.nstr(error, 3), file=sys.stderr)
    fixed = {}
    for i in [degree] + [i for j in range(1, degree + 1) for i in (j - 1, degree + j) if i < 2 * degree]:
        fixed[i] = round_to(coefficients[i])
        error, coefficients = fit.solve(fixed, 25 if kind == "f32" else 2)
    digits = 9 if kind == "f32" else 17
    print("a", mpmath.nstr(slope, digits), "b", mpmath.nstr(offset, digits), "error", mpmath.nstr(error, 3))
    print("M", ", ".join(mpmath.nstr(v, digits) for v in [FIRST] + coefficients[:degree]))
    print("N", ", ".join(mpmath.nstr(v, digits) for v in coefficients[degree:]))


if __name__ == "__main__":
    main()
