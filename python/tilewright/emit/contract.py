"""Contractions. `c` is the context of a reader; its `f` is the function under construction."""


def contract(c, lhs, rhs, loops, lhs_map, rhs_map, out_map, shape, type, reductions, order=None):
    """Sums lhs * rhs over `reductions`, in `type` (bool: any of all pairs). `order`: that of the result's dimensions in its array."""
    into = c.f.fill(shape, type, 0, order)

    def body(s, a, b, t):
        return s.add(t, s.mul(s.cast(a, type), s.cast(b, type)))
    return c.f.generic(loops, [(lhs, lhs_map), (rhs, rhs_map)], [(into, out_map)], body, set(reductions))
