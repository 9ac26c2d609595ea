"""Covering arrays: few cases in which every pair of values of two factors occurs."""

import itertools
import random


def pairwise(factors, allowed=lambda case: True, attempts=40):
    """Dicts of the factors' names to values. Each pair of values that some allowed case holds occurs in one; the same
    cases every time. `allowed` gets dicts that may lack factors and answers whether what they hold may go together.

    Case by case: of `attempts` that begin with a pair that is still missing and add factors in random order, each with
    the value that completes most missing pairs, the one with most of them."""
    names = list(factors)
    generator = random.Random(0)

    def completed(case, order):
        """`case` with a value for each factor of `order`; None if nothing is allowed."""
        if not allowed(case):
            return None
        if not order:
            return case
        name, *rest = order

        def gain(value):
            return sum(pair(name, value, other, case[other]) in missing for other in case)

        values = sorted(factors[name], key=lambda value: (-gain(value), generator.random()))
        return next((full for value in values if (full := completed({**case, name: value}, rest))), None)

    def pair(a, x, b, y):
        return ((a, x), (b, y)) if names.index(a) < names.index(b) else ((b, y), (a, x))

    def pairs(case):
        return {pair(a, case[a], b, case[b]) for a, b in itertools.combinations(names, 2)}

    def attempt(start):
        rest = [name for name in names if name not in start]
        return completed(start, generator.sample(rest, len(rest)))

    missing = {}
    missing = dict.fromkeys(found for a, b in itertools.combinations(names, 2) for x in factors[a] for y in factors[b]
                            if attempt(dict(found := pair(a, x, b, y))))
    cases = []
    while missing:
        start = dict(next(iter(missing)))
        case = max((attempt(start) for _ in range(attempts)), key=lambda case: len(pairs(case) & missing.keys()))
        for each in pairs(case):
            missing.pop(each, None)
        cases.append({name: case[name] for name in names})
    return cases
