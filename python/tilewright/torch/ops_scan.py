"""Running sums, products and extrema: loops along one dimension that carry the last row."""

from ..emit import types
from ..emit.scan import accumulator, scan
from .registry import op


def _running(name, kind, initial):
    @op(name)
    def emit(c, x, axis, *, dtype=None):
        wide = accumulator(c.type)
        x = c.cast(x, c.type)
        return scan(c, x, axis, [(wide, initial)], lambda s, i, a, t: s.binary(kind, t, s.cast(a, wide)), [c.type])[0]


_running("cumsum", "add", 0)
_running("cumprod", "mul", 1)


def _running_extremum(name, test, initial):
    @op(name)
    def emit(c, x, axis):
        """Values, and the last positions where they stand."""
        def step(s, i, a, best, at):
            better = s.compare(test, a, best)
            if types.is_float(a.type):
                better = s.binary("or", s.is_nan(a), s.binary("and", better, s.logical_not(s.is_nan(best))))
            return s.select(better, a, best), s.select(better, i, at)
        return scan(c, x, axis, [(x.type, initial(x.type)), ("i64", 0)], step, [x.type, "i64"])


_running_extremum("cummax", "ge", types.lowest)
_running_extremum("cummin", "le", types.highest)


@op("logcumsumexp")
def logcumsumexp(c, x, axis):
    """Carries the largest element and the sum of exponentials of the differences from it."""
    wide = accumulator(c.type)

    def step(s, i, a, total):
        a = s.cast(a, wide)
        large, small = s.max(a, total), s.min(a, total)
        same = s.binary("and", s.compare("eq", large, small), s.compare("eq", s.math("absf", large), float("inf")))
        return s.select(same, large, s.add(large, s.math("log1p", s.math("exp", s.sub(small, large)))))
    return scan(c, x, axis, [(wide, float("-inf"))], step, [c.type])[0]
