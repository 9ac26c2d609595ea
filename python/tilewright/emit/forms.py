"""Divisions of sizes as sympy expressions, for readers whose framework has none of its own."""

import sympy


class _Division(sympy.Function):
    nargs = (2,)
    is_integer = True

    @classmethod
    def eval(cls, a, b):
        if a.is_Integer and b.is_Integer:
            return sympy.Integer(cls.divided(int(a), int(b)))
        if b.is_Integer:
            quotient = sympy.cancel(a / b)
            if quotient.as_numer_denom()[1] == 1 and all(c.is_Integer for c in sympy.Poly(quotient, *quotient.free_symbols).coeffs()):
                return cls.exact(quotient)
        elif sympy.cancel(a / b).as_numer_denom()[1] == 1:
            return cls.exact(sympy.cancel(a / b))
        return None


class FloorDiv(_Division):
    """The quotient, rounded down."""
    divided = staticmethod(lambda a, b: a // b)
    exact = staticmethod(lambda quotient: quotient)


class CeilDiv(_Division):
    """The quotient, rounded up."""
    divided = staticmethod(lambda a, b: -(-a // b))
    exact = staticmethod(lambda quotient: quotient)


class Mod(_Division):
    """What a division leaves, with the sign of the divisor."""
    divided = staticmethod(lambda a, b: a % b)
    exact = staticmethod(lambda quotient: sympy.Integer(0))
