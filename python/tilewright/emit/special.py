"""Special functions of single elements that several readers write; `s` is a `Scalars`, `a` a float of 32 or 64 bits."""

import math

#: Coefficients of M. Giles, "Approximating the erfinv function" (2012), single precision, highest power first.
_CENTRE = (2.81022636e-08, 3.43273939e-07, -3.5233877e-06, -4.39150654e-06, 0.00021858087, -0.00125372503, -0.00417768164,
           0.246640727, 1.50140941)
_TAIL = (-0.000200214257, 0.000100950558, 0.00134934322, -0.00367342844, 0.00573950773, -0.0076224613, 0.00943887047, 1.00167406,
         2.83297682)


def polynomial(s, coefficients, x):
    """With the highest power first."""
    value = s.constant(coefficients[0], x.type)
    for coefficient in coefficients[1:]:
        value = s.add(s.mul(value, x), coefficient)
    return value


def erf_inv(s, a):
    """Giles' polynomials; in f64 three steps of Halley's after them."""
    w = s.neg(s.math("log1p", s.neg(s.mul(a, a)))) if a.type != "f64" else s.neg(s.math("log", s.mul(s.sub(1, a), s.add(1, a))))
    centre = polynomial(s, _CENTRE, s.sub(w, 2.5))
    tail = polynomial(s, _TAIL, s.sub(s.math("sqrt", s.max(w, 0)), 3))
    y = s.mul(s.select(s.compare("lt", w, 5), centre, tail), a)
    if a.type == "f64":
        magnitude, root = s.math("absf", a), s.math("absf", y)
        rest = s.sub(1, magnitude)
        for _ in range(3):  # near 1 the complement is exact and the function is not
            error = s.select(s.compare("gt", magnitude, 0.5), s.sub(rest, s.math("erfc", root)), s.sub(s.math("erf", root), magnitude))
            slope = s.mul(s.math("exp", s.neg(s.mul(root, root))), 2 / math.sqrt(math.pi))
            step = s.div(error, slope)
            root = s.sub(root, s.div(step, s.add(s.mul(root, step), 1)))
        y = s.math("copysign", root, a)
    return s.select(s.compare("eq", s.math("absf", a), 1), s.mul(a, math.inf), y)


#: C. Lanczos, "A Precision Approximation of the Gamma Function" (1964): gamma(z + 1) = sqrt(2 pi) t^(z + 1/2) e^-t A(z) with t = z + g + 1/2
#: and A(z) = c0 + c1 / (z + 1) + c2 / (z + 2) + ..; these are the coefficients for g = 7 of P. Godfrey (2001).
_G = 7.0
_FIRST = 0.99999999999980993227684700473478
_TERMS = (676.520368121885098567009190444019, -1259.13921672240287047156078755283, 771.3234287776530788486528258894,
          -176.61502916214059906584551354, 12.507343278686904814458936853, -0.13857109526572011689554706984971,
          9.984369578019570859563e-6, 1.50563273514931155834e-7)


def reflected(s, a):
    """Whether the formula of 1 - a serves, and the z of the one that does."""
    small = s.compare("lt", a, 0.5)
    return small, s.select(small, s.neg(a), s.sub(a, 1))


def log_t(s, z):
    return s.add(s.math("log1p", s.div(z, _G + 0.5)), math.log(_G + 0.5))


def lgamma(s, a):
    """The logarithm of the magnitude of gamma(a): infinite at 0 and at negative integers."""
    small, z = reflected(s, a)
    series = s.constant(_FIRST, a.type)
    for i, term in enumerate(_TERMS, 1):
        series = s.add(series, s.div(term, s.add(z, i)))
    logarithm = log_t(s, z)
    t = s.add(z, _G + 0.5)
    value = s.mul(s.sub(s.add(z, 0.5), s.div(t, logarithm)), logarithm)
    value = s.add(s.add(value, s.math("log", series)), math.log(math.sqrt(2 * math.pi)))
    # gamma(a) gamma(1 - a) = pi / sin(pi a)
    magnitude = s.math("absf", a)
    part = s.sub(magnitude, s.math("floor", magnitude))
    part = s.select(s.compare("gt", part, 0.5), s.sub(1, part), part)
    sine = s.math("log", s.math("sin", s.mul(part, math.pi)))
    other = s.select(s.compare("eq", part, 0), s.constant(math.inf, a.type), s.sub(s.sub(math.log(math.pi), sine), value))
    return s.select(s.compare("eq", magnitude, math.inf), magnitude, s.select(small, other, value))


def digamma(s, a):
    """The derivative of lgamma: NaN at negative integers, infinite at 0 with the other sign."""
    small, z = reflected(s, a)
    slope, series = s.constant(0, a.type), s.constant(_FIRST, a.type)
    for i, term in enumerate(_TERMS, 1):
        place = s.add(z, i)
        quotient = s.div(term, place)
        series = s.add(series, quotient)
        slope = s.sub(slope, s.div(quotient, place))
    value = s.sub(s.add(log_t(s, z), s.div(slope, series)), s.div(_G, s.add(z, _G + 0.5)))
    # digamma(1 - a) - digamma(a) = pi cot(pi a); the angle from the nearest integer, where few bits are lost
    angle = s.mul(s.sub(a, s.math("floor", s.add(a, 0.5))), math.pi)
    other = s.sub(value, s.div(s.mul(s.math("cos", angle), math.pi), s.math("sin", angle)))
    whole = s.binary("and", s.compare("lt", a, 0), s.compare("eq", s.math("floor", a), a))
    other = s.select(whole, s.constant(math.nan, a.type), other)
    other = s.select(s.compare("eq", a, 0), s.math("copysign", s.constant(math.inf, a.type), s.neg(a)), other)
    return s.select(s.compare("eq", a, math.inf), a, s.select(small, other, value))
