"""Sizes that are not known when a graph is compiled: sympy expressions over the graph's symbols, as index values in the
text, and as Python source for the launcher. sympy is imported where there is such a size. Divisions are known by the names of
their classes, which are those of PyTorch's sizes and of `forms.py`."""

import contextlib
import dataclasses


def plain(size):
    """A size of a graph (an integer or a SymInt) as an integer or a sympy expression."""
    if isinstance(size, int) and not hasattr(size, "node"):
        return size
    import sympy
    expression = size.node.expr if hasattr(size, "node") else size
    return int(expression) if isinstance(expression, (int, sympy.Integer)) else sympy.expand(expression)


def is_static(shape):
    return all(isinstance(n, int) for n in shape)


def product(sizes):
    result = 1
    for n in sizes:
        result = result * n
    return result if isinstance(result, int) else plain(result)


def floor_div(a, b):
    """The quotient, rounded down."""
    if isinstance(a, int) and isinstance(b, int):
        return a // b
    from .forms import FloorDiv
    return plain(FloorDiv(a, b))


def ceil_div(a, b):
    """The quotient, rounded up."""
    if isinstance(a, int) and isinstance(b, int):
        return -(-a // b)
    from .forms import CeilDiv
    return plain(CeilDiv(a, b))


def symbols_of(expression):
    return getattr(expression, "free_symbols", set())


#: Divisions and extrema: what they are in the text, and in Python.
OPERATIONS = {"FloorDiv": "floordivsi", "CleanDiv": "floordivsi", "CeilDiv": "ceildivsi", "Mod": "remsi", "PythonMod": "remsi",
              "Max": "maxsi", "Min": "minsi"}
SOURCES = {"FloorDiv": "({0[0]} // {0[1]})".format, "CleanDiv": "({0[0]} // {0[1]})".format, "CeilDiv": "(-(-{0[0]} // {0[1]}))".format,
           "Mod": "({0[0]} % {0[1]})".format, "PythonMod": "({0[0]} % {0[1]})".format,
           "Max": lambda parts: f"max({', '.join(parts)})", "Min": lambda parts: f"min({', '.join(parts)})",
           # Numbers that are computed from sizes, as PyTorch names them, for operations that run eagerly.
           "FloatTrueDiv": "({0[0]} / {0[1]})".format, "IntTrueDiv": "({0[0]} / {0[1]})".format, "ToFloat": "float({0[0]})".format,
           "FloatPow": "({0[0]} ** {0[1]})".format, "PowByNatural": "({0[0]} ** {0[1]})".format,
           "TruncToInt": "math.trunc({0[0]})".format, "FloorToInt": "math.floor({0[0]})".format,
           "CeilToInt": "math.ceil({0[0]})".format, "RoundToInt": "round({0[0]})".format,
           "TruncToFloat": "float(math.trunc({0[0]}))".format}
#: The same of numbers, which are f64.
NUMBERS = {"FloatTrueDiv": "arith.divf", "IntTrueDiv": "arith.divf", "FloatPow": "math.powf", "PowByNatural": "math.powf", "Max": "arith.maximumf",
           "Min": "arith.minimumf"}
#: How PyTorch names functions of one number, such as the square root.
FUNCTION = "OpaqueUnaryFn_"
FUNCTIONS = ("sqrt", "cos", "sin", "tan", "cosh", "sinh", "tanh", "acos", "asin", "atan", "exp", "log", "log2")


def form_of(expression):
    return type(expression).__name__


@dataclasses.dataclass(frozen=True)
class Number:
    """A float that is computed from sizes, as an operand of element-wise operations."""
    expression: object


class SizeWriter:
    """Writes index arithmetic once for each expression and scope."""

    def __init__(self, function):
        self.function = function
        self.sources = {}       # symbol -> callable that writes its value and gives the name
        self.known = [{}]       # expression -> name; one table a scope

    def bind(self, symbol, write):
        self.sources.setdefault(symbol, write)

    @contextlib.contextmanager
    def scope(self):
        self.known.append({})
        try:
            yield
        finally:
            self.known.pop()

    def value(self, expression):
        for table in self.known:
            if expression in table:
                return table[expression]
        name = self._write(expression)
        self.known[-1][expression] = name
        return name

    def _write(self, e):
        import sympy
        f = self.function
        if isinstance(e, (int, sympy.Integer)):
            return f.constant(int(e), "index")
        if e in self.sources:
            return self.sources[e]()
        if isinstance(e, (sympy.Add, sympy.Mul)):
            names = [self.value(a) if not isinstance(a, sympy.Integer) else f.constant(int(a), "index") for a in e.args]
            result = names[0]
            for name in names[1:]:
                result = f.op(f"arith.{'addi' if isinstance(e, sympy.Add) else 'muli'} {result}, {name} : index")
            return result
        if isinstance(e, sympy.Pow) and isinstance(e.exp, sympy.Integer) and int(e.exp) > 0:
            base = result = self.value(e.base)
            for _ in range(int(e.exp) - 1):
                result = f.op(f"arith.muli {result}, {base} : index")
            return result
        name = OPERATIONS.get(form_of(e))
        if name:
            operands = [self.value(a) if not isinstance(a, sympy.Integer) else f.constant(int(a), "index") for a in e.args]
            result = operands[0]
            for operand in operands[1:]:
                result = f.op(f"arith.{name} {result}, {operand} : index")
            return result
        raise NotImplementedError(f"the size {e} ({type(e).__name__})")

    def number(self, e):
        """The f64 value of a number that is computed from sizes."""
        import sympy
        f, form = self.function, form_of(e)
        if isinstance(e, (float, sympy.Number)):
            return f.constant(float(e), "f64")
        if e.is_integer and form != "PowByNatural":
            integer = f.op(f"arith.index_cast {self.value(e)} : index to i64")
            return f.op(f"arith.sitofp {integer} : i64 to f64")
        operands = [self.number(a) for a in e.args]
        if form == "ToFloat":
            return operands[0]
        if form.startswith(FUNCTION) and form.removeprefix(FUNCTION) in FUNCTIONS:
            return f.op(f"math.{form.removeprefix(FUNCTION)} {operands[0]} : f64")
        name = "arith.addf" if isinstance(e, sympy.Add) else "arith.mulf" if isinstance(e, sympy.Mul) else \
            "math.powf" if isinstance(e, sympy.Pow) else NUMBERS.get(form)
        if name is None:
            raise NotImplementedError(f"the number {e} ({form})")
        result = operands[0]
        for operand in operands[1:]:
            result = f.op(f"{name} {result}, {operand} : f64")
        return result


def python_source(e, names):
    """Python source of a size, or of a number that is computed from sizes; `names` maps symbols to Python expressions. The source may
    refer to the module math."""
    import sympy
    if isinstance(e, (int, sympy.Integer)):
        return str(int(e))
    if isinstance(e, (float, sympy.Float)):
        return repr(float(e))
    if isinstance(e, sympy.Symbol):
        return names[e]
    if isinstance(e, sympy.Rational):
        return f"({e.p} / {e.q})"
    parts = [python_source(a, names) for a in e.args]
    if isinstance(e, sympy.Add):
        return "(" + " + ".join(parts) + ")"
    if isinstance(e, sympy.Mul):
        return "(" + " * ".join(parts) + ")"
    if isinstance(e, sympy.Pow):
        return f"({parts[0]} ** {parts[1]})"
    form = form_of(e)
    if form.startswith(FUNCTION):
        return f"math.{form.removeprefix(FUNCTION)}({', '.join(parts)})"
    source = SOURCES.get(form)
    if source:
        return source(parts)
    raise NotImplementedError(f"the size {e} ({type(e).__name__})")
