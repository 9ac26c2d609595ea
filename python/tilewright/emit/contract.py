"""Contractions. `c` is the context of a reader; its `f` is the function under construction."""


def contract(c, lhs, rhs, loops, lhs_map, rhs_map, out_map, shape, type, reductions):
    """Sums lhs * rhs over `reductions`, in `type` (bool: any of all pairs)."""
    into = c.f.fill(shape, type, 0)

    def body(s, a, b, t):
        return s.add(t, s.mul(s.cast(a, type), s.cast(b, type)))
    return c.f.generic(loops, [(lhs, lhs_map), (rhs, rhs_map)], [(into, out_map)], body, set(reductions))
