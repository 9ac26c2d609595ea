"""Writes the bodies of linalg operations: arithmetic on single elements, typed as in `types.py`."""

from . import types


class Scalar:
    __slots__ = ("name", "type")

    def __init__(self, name, type):
        self.name, self.type = name, type


#: Arithmetic by kind of type: float, signed, unsigned, bool.
BINARY = {
    "add": ("addf", "addi", "addi", "ori"), "sub": ("subf", "subi", "subi", "xori"), "mul": ("mulf", "muli", "muli", "andi"),
    "div": ("divf", "divsi", "divui", None), "rem": ("remf", "remsi", "remui", None),
    "max": ("maximumf", "maxsi", "maxui", "ori"), "min": ("minimumf", "minsi", "minui", "andi"),
    "and": (None, "andi", "andi", "andi"), "or": (None, "ori", "ori", "ori"), "xor": (None, "xori", "xori", "xori"),
    "shl": (None, "shli", "shli", None), "shr": (None, "shrsi", "shrui", None), "shr_logical": (None, "shrui", "shrui", None),
}
FLOAT_TESTS = {"eq": "oeq", "ne": "une", "lt": "olt", "le": "ole", "gt": "ogt", "ge": "oge"}


class Scalars:
    """The scalars of one body. Operands are `Scalar`s, or Python numbers and sizes, which take the other operand's type."""

    def __init__(self, function, place=None):
        """`place`: the number that each loop has in the text."""
        self.function, self.place = function, place

    def block_argument(self, type):
        return Scalar(self.function.fresh(), type)

    def op(self, text, type):
        return Scalar(self.function.op(text), type)

    def constant(self, value, type):
        return Scalar(self.function.constant(value, type), type)

    def _pair(self, a, b):
        if not isinstance(a, Scalar):
            a = self._of_type(a, b.type)
        if not isinstance(b, Scalar):
            b = self._of_type(b, a.type)
        assert types.text(a.type) == types.text(b.type), (a.type, b.type)
        return a, b

    def _of_type(self, number, type):
        return self.size(number, type) if hasattr(number, "free_symbols") else self.constant(number, type)

    def binary(self, kind, a, b):
        a, b = self._pair(a, b)
        column = 0 if types.is_float(a.type) else 3 if a.type == "i1" else 2 if types.is_unsigned(a.type) else 1
        name = BINARY[kind][column]
        assert name, f"no {kind} on {a.type}"
        return self.op(f"arith.{name} {a.name}, {b.name} : {types.text(a.type)}", a.type)

    def add(self, a, b):
        return self.binary("add", a, b)

    def sub(self, a, b):
        return self.binary("sub", a, b)

    def mul(self, a, b):
        return self.binary("mul", a, b)

    def div(self, a, b):
        return self.binary("div", a, b)

    def max(self, a, b):
        return self.binary("max", a, b)

    def min(self, a, b):
        return self.binary("min", a, b)

    def neg(self, a):
        if types.is_float(a.type):
            return self.op(f"arith.negf {a.name} : {a.type}", a.type)
        return self.sub(0, a)

    def math(self, name, *operands):
        operands = [o if isinstance(o, Scalar) else self.constant(o, operands[0].type) for o in operands]
        return self.op(f"math.{name} {', '.join(o.name for o in operands)} : {operands[0].type}", operands[0].type)

    def compare(self, test, a, b):
        """eq, ne, lt, le, gt, ge; with NaN, all but ne are false."""
        a, b = self._pair(a, b)
        if types.is_float(a.type):
            return self.op(f"arith.cmpf {FLOAT_TESTS[test]}, {a.name}, {b.name} : {a.type}", "i1")
        if test not in ("eq", "ne"):
            test = ("u" if types.is_unsigned(a.type) else "s") + test
        return self.op(f"arith.cmpi {test}, {a.name}, {b.name} : {types.text(a.type)}", "i1")

    def is_nan(self, a):
        return self.op(f"arith.cmpf uno, {a.name}, {a.name} : {a.type}", "i1")

    def select(self, condition, a, b):
        a, b = self._pair(a, b)
        return self.op(f"arith.select {condition.name}, {a.name}, {b.name} : {types.text(a.type)}", a.type)

    def logical_not(self, a):
        return self.op(f"arith.xori {a.name}, {self.function.constant(True, 'i1')} : i1", "i1")

    def index(self, loop):
        """The number of the iteration of a loop, as i64."""
        loop = loop if self.place is None else self.place[loop]
        return self.index_cast(self.op(f"linalg.index {loop} : index", "index"), "i64")

    def index_cast(self, a, type):
        return self.op(f"arith.index_cast {a.name} : {a.type} to {type}", type)

    def size(self, size, type="i64"):
        """A size of the program as a scalar."""
        if isinstance(size, int):
            return self.constant(size, type)
        index = Scalar(self.function.outer_index(size), "index")
        return self.cast(self.index_cast(index, "i64"), type)

    def number(self, number, type):
        """A number that is computed from sizes (`Number`)."""
        return self.cast(Scalar(self.function.outer_number(number), "f64"), type)

    def extract(self, value, indices):
        """The element of a tensor at computed indices (i64 scalars, or integers)."""
        names = [self.function.constant(i, "index") if isinstance(i, int) else
                 i.name if i.type == "index" else self.index_cast(i, "index").name for i in indices]
        array = value.array
        return self.op(f"tensor.extract {array.name}[{', '.join(names[i] for i in value.order)}] : {array.text}", value.type)

    def cast(self, a, type):
        """Conversion as PyTorch does it: to bool by comparison with 0, from float to integer towards 0."""
        source = a.type
        if source == type:
            return a
        if types.BITS[type] < 8 and type != "i1":
            return self._narrowed(self.cast(a, "u8" if types.is_unsigned(type) else "i8"), type)
        if types.text(source) == types.text(type):
            return Scalar(a.name, type)
        if type == "i1":
            return self.compare("ne", a, 0)
        if type in types.FLOATS8 and source != "f32":
            return self.cast(self.cast(a, "f32"), type)
        if type == "f8E4M3FN":  # saturates, infinities too; NaN stays
            a = self.min(self.max(a, -types.LARGEST_E4M3FN), types.LARGEST_E4M3FN)
        if types.is_float(source) and types.is_float(type):
            wide, narrow = types.BITS[type] > types.BITS[source], types.BITS[type] < types.BITS[source]
            if not wide and not narrow or source in types.FLOATS8 and type != "f32":
                return self.cast(self.cast(a, "f32"), type)
            return self.op(f"arith.{'extf' if wide else 'truncf'} {a.name} : {source} to {type}", type)
        if types.is_float(type):
            name = "uitofp" if types.is_unsigned(source) else "sitofp"
            return self.op(f"arith.{name} {a.name} : {types.text(source)} to {type}", type)
        if types.is_float(source):
            if types.BITS[type] < 32:  # as C does on the way through int
                return self.cast(self.op(f"arith.fptosi {a.name} : {source} to i64", "i64"), type)
            return self.op(f"arith.fptosi {a.name} : {source} to {type}", type)
        if types.BITS[type] < types.BITS[source]:
            return self.op(f"arith.trunci {a.name} : {types.text(source)} to {types.text(type)}", type)
        if types.BITS[types.text(source)] == types.BITS[types.text(type)]:
            return Scalar(a.name, type)
        name = "extui" if types.is_unsigned(source) else "extsi"
        return self.op(f"arith.{name} {a.name} : {types.text(source)} to {types.text(type)}", type)

    def _narrowed(self, a, type):
        """A byte with the bits above those of `type` as its sign says."""
        gone = 8 - types.BITS[type]
        made = self.binary("shr", self.binary("shl", a, gone), gone)
        return Scalar(made.name, type)
