"""Scalar operations of arith and math in generics, for every type; conversions between all types."""

import math

import numpy as np

from breadth.case import FLOATS, FLOATS8, NUMPY, Case, Random, Tensor, store

INTS = ["i8", "i16", "i32", "i64", "index"]
BITS = {"i1": 1, "i8": 8, "i16": 16, "i32": 32, "i64": 64, "index": 64}
vector = np.vectorize


def pointwise(name, inputs, lines, outputs, units=8):
    """A program of one generic with several results. `lines` name the inputs %x0, %x1, ... and bind %v0, %v1, ..."""
    every = [*inputs, *outputs]
    rank = inputs[0].data.ndim
    dims = ", ".join(f"d{i}" for i in range(rank))
    maps = ", ".join([f"affine_map<({dims}) -> ({dims})>"] * len(every))
    iterators = ", ".join(['"parallel"'] * rank)
    types = ", ".join(t.type() for t in outputs)
    text = "func.func @main(" + ", ".join(f"%a{i}: {t.type()}" for i, t in enumerate(inputs)) + f") -> ({types}) {{\n"
    dynamic = inputs[0].dynamic
    if dynamic:
        for i in range(rank):
            text += f"  %c{i} = arith.constant {i} : index\n  %n{i} = tensor.dim %a0, %c{i} : {inputs[0].type()}\n"
    sizes = ", ".join(f"%n{i}" for i in range(rank)) if dynamic else ""
    for i, t in enumerate(outputs):
        text += f"  %e{i} = tensor.empty({sizes}) : {t.type()}\n"
    results = ", ".join(f"%r{i}" for i in range(len(outputs)))
    text += f"  {results} = linalg.generic {{indexing_maps = [{maps}], iterator_types = [{iterators}]}}\n"
    text += f"      ins({', '.join(f'%a{i}' for i in range(len(inputs)))} : {', '.join(t.type() for t in inputs)})\n"
    text += f"      outs({', '.join(f'%e{i}' for i in range(len(outputs)))} : {types}) {{\n  ^bb0("
    text += ", ".join([f"%x{i}: {t.kind}" for i, t in enumerate(inputs)] + [f"%o{i}: {t.kind}" for i, t in enumerate(outputs)])
    text += "):\n" + "".join(f"    {line}\n" for line in lines)
    text += f"    linalg.yield {', '.join(f'%v{i}' for i in range(len(outputs)))} : {', '.join(t.kind for t in outputs)}\n"
    text += f"  }} -> ({types})\n  return {results} : {types}\n}}\n"
    return Case(name, text, inputs, outputs, units=units)


def wrap(values, kind):
    """Integers modulo the range of `kind`, signed."""
    bits = BITS[kind]
    values = np.asarray(values).astype(object) % 2**bits
    return vector(lambda v: v - 2**bits if v >= 2**(bits - 1) else v, otypes=[object])(values).astype(np.int64)


def unsigned(values, kind):
    return np.asarray(values).astype(object) % 2**BITS[kind]


def towards_zero(a, b):
    q = abs(int(a)) // abs(int(b))
    return q if (a < 0) == (b < 0) else -q


def integers(random):
    for kind in INTS:
        bits = BITS[kind]
        a = Tensor(kind, random.rng.integers(-2**(bits - 2), 2**(bits - 2), (5, 9)), kind in ("i16", "i32"))
        b = Tensor(kind, random.rng.integers(1, 7, (5, 9)) * np.where(random.rng.random((5, 9)) < 0.5, 1, -1), a.dynamic)
        x, y, ux, uy = a.data.astype(object), b.data.astype(object), unsigned(a.data, kind), unsigned(b.data, kind)
        shift = np.abs(b.data).astype(object)
        quotient = vector(towards_zero, otypes=[object])(x, y)
        up = vector(lambda p, q: -((-p) // q), otypes=[object])
        binary = {"addi": x + y, "subi": x - y, "muli": x * y, "divsi": quotient, "remsi": x - quotient * y,
                  "divui": ux // uy, "remui": ux % uy, "ceildivsi": up(x, y), "ceildivui": up(ux, uy),
                  "floordivsi": x // y, "andi": x & y, "ori": x | y, "xori": x ^ y, "maxsi": np.maximum(x, y),
                  "minsi": np.minimum(x, y), "maxui": np.maximum(ux, uy), "minui": np.minimum(ux, uy)}
        names = list(binary)
        for first in range(0, len(names), 6):
            part = names[first:first + 6]
            yield pointwise(f"arith-{kind}-{'-'.join(part)}", [a, b],
                            [f"%v{i} = arith.{name} %x0, %x1 : {kind}" for i, name in enumerate(part)],
                            [Tensor(kind, wrap(binary[name], kind), a.dynamic) for name in part])
        shifts = {"shli": x * 2**shift, "shrsi": x // 2**shift, "shrui": ux // 2**shift}
        yield pointwise(f"arith-{kind}-shifts", [a, Tensor(kind, shift.astype(np.int64), a.dynamic)],
                        [f"%v{i} = arith.{name} %x0, %x1 : {kind}" for i, name in enumerate(shifts)],
                        [Tensor(kind, wrap(value, kind), a.dynamic) for value in shifts.values()])
        compare = {"eq": x == y, "ne": x != y, "slt": x < y, "sle": x <= y, "sgt": x > y, "sge": x >= y,
                   "ult": ux < uy, "ule": ux <= uy, "ugt": ux > uy, "uge": ux >= uy}
        yield pointwise(f"arith-{kind}-cmpi", [a, b],
                        [f"%v{i} = arith.cmpi {name}, %x0, %x1 : {kind}" for i, name in enumerate(compare)],
                        [Tensor("i1", value.astype(bool), a.dynamic) for value in compare.values()])
        if kind == "index":
            continue
        high = {"low": x * y, "high": (x * y) // 2**bits, "ulow": ux * uy, "uhigh": (ux * uy) // 2**bits,
                "sum": ux + uy, "carry": (ux + uy) >= 2**bits}
        yield pointwise(f"arith-{kind}-extended", [a, b], [f"%v0, %v1 = arith.mulsi_extended %x0, %x1 : {kind}",
                                                          f"%v2, %v3 = arith.mului_extended %x0, %x1 : {kind}",
                                                          f"%v4, %v5 = arith.addui_extended %x0, %x1 : {kind}, i1"],
                        [Tensor("i1" if key == "carry" else kind, value.astype(bool) if key == "carry" else wrap(value, kind),
                                a.dynamic) for key, value in high.items()])
        count = {"ctpop": vector(lambda v: bin(v).count("1")), "ctlz": vector(lambda v: bits - int(v).bit_length()),
                 "cttz": vector(lambda v: (int(v) & -int(v)).bit_length() - 1 if v else bits), "absi": None}
        base, power = Tensor(kind, b.data % 7, a.dynamic), Tensor(kind, shift.astype(np.int64) % 3, a.dynamic)
        if bits > 8:
            yield pointwise(f"math-{kind}-ipowi", [base, power], [f"%v0 = math.ipowi %x0, %x1 : {kind}"],
                            [Tensor(kind, base.data ** power.data, a.dynamic)])
            ones = Tensor(kind, np.sign(b.data), a.dynamic)
            yield pointwise(f"math-{kind}-ipowi-negative", [ones, Tensor(kind, -shift, a.dynamic)],
                            ["%two = arith.constant 2 : " + kind, f"%v0 = math.ipowi %x0, %x1 : {kind}",
                             f"%v1 = math.ipowi %two, %x1 : {kind}"],
                            [Tensor(kind, ones.data ** (shift % 2), a.dynamic), Tensor(kind, 0 * shift, a.dynamic)])
        yield pointwise(f"math-{kind}", [a], [f"%v{i} = math.{name} %x0 : {kind}" for i, name in enumerate(count)],
                        [Tensor(kind, np.abs(a.data) if f is None else f(ux), a.dynamic) for f in count.values()])


def odd_integers(random):
    """Widths without a C type: the low bits of an input count, results are sign-extended."""
    for bits, kind, dynamic in ((4, "i8", False), (4, "i8", True), (7, "i8", False), (24, "i32", True), (33, "i64", False)):
        a, b = (Tensor(kind, random.rng.integers(-2**(min(bits + 3, BITS[kind]) - 1), 2**(min(bits + 3, BITS[kind]) - 1), (5, 9)), dynamic)
                for _ in range(2))
        low = [(t.data.astype(object) + 2**(bits - 1)) % 2**bits - 2**(bits - 1) for t in (a, b)]
        total = (low[0] + low[1] + 2**(bits - 1)) % 2**bits - 2**(bits - 1)
        t, odd = a.type(), a.type().replace(kind + ">", f"i{bits}>")
        wide = odd.replace(f"i{bits}>", "i64>")
        yield Case(f"odd-i{bits}-{dynamic}", f"""
func.func @main(%a0: {odd}, %a1: {odd}) -> ({odd}, {wide}, {wide}) {{
  %s = arith.addi %a0, %a1 : {odd}
  %w = arith.extsi %a0 : {odd} to {wide}
  %u = arith.extui %s : {odd} to {wide}
  return %s, %w, %u : {odd}, {wide}, {wide}
}}""", [a, b], [Tensor(kind, total.astype(np.int64), dynamic), Tensor("i64", low[0].astype(np.int64), dynamic),
                Tensor("i64", (total % 2**bits).astype(np.int64), dynamic)])
    a, b, c = random("i8", 9, 20), random("i8", 20, 17), random("i32", 9, 17)
    yield Case("odd-i4-matmul", """
func.func @main(%a: tensor<9x20xi4>, %b: tensor<20x17xi4>, %c: tensor<9x17xi32>) -> tensor<9x17xi32> {
  %r = linalg.matmul ins(%a, %b : tensor<9x20xi4>, tensor<20x17xi4>) outs(%c : tensor<9x17xi32>) -> tensor<9x17xi32>
  return %r : tensor<9x17xi32>
}""", [a, b, c], [Tensor("i32", c.data + a.data.astype(int) @ b.data.astype(int))])


def floats(random):
    for kind in (*FLOATS, "f8E5M2"):  # of the 8-bit floats that which has infinities
        dynamic = kind in ("f64", "bf16")
        a, b, c = (random(kind, 5, 9, dynamic=dynamic) for _ in range(3))
        for data in (a.data, b.data):
            data[0, :2] = [np.nan, np.inf]
        b.data[1, :2] = [np.nan, -np.inf]
        x, y = a.data, b.data
        with np.errstate(all="ignore"):
            binary = {"addf": x + y, "subf": x - y, "mulf": x * y, "divf": x / y, "remf": np.fmod(x, y),
                      "maximumf": np.maximum(x, y), "minimumf": np.minimum(x, y), "maxnumf": np.fmax(x, y), "minnumf": np.fmin(x, y)}
            ordered = ~(np.isnan(x) | np.isnan(y))
            relation = {"eq": x == y, "gt": x > y, "ge": x >= y, "lt": x < y, "le": x <= y, "ne": (x != y) & ordered}
        for part in (list(binary)[:5], list(binary)[5:]):
            yield pointwise(f"arith-{kind}-{'-'.join(part)}", [a, b],
                            [f"%v{i} = arith.{name} %x0, %x1 : {kind}" for i, name in enumerate(part)],
                            [Tensor(kind, binary[name], dynamic) for name in part])
        comparisons = {"o" + k: v & ordered for k, v in relation.items()} | {"u" + k: v | ~ordered for k, v in relation.items()}
        comparisons |= {"ord": ordered, "uno": ~ordered, "true": ordered | True, "false": ordered & False}
        yield pointwise(f"arith-{kind}-cmpf", [a, b],
                        [f"%v{i} = arith.cmpf {name}, %x0, %x1 : {kind}" for i, name in enumerate(comparisons)],
                        [Tensor("i1", value, dynamic) for value in comparisons.values()])
        tests = {"isnan": np.isnan(x), "isinf": np.isinf(x), "isfinite": np.isfinite(x),
                 "isnormal": np.isfinite(x) & (x != 0)}
        yield pointwise(f"math-{kind}-tests", [a], [f"%v{i} = math.{name} %x0 : {kind}" for i, name in enumerate(tests)],
                        [Tensor("i1", value, dynamic) for value in tests.values()])
        u = Tensor(kind, np.clip(np.abs(c.data), 0.05, 0.95), dynamic)
        v = u.data
        functions = {"sin": np.sin, "cos": np.cos, "tan": np.tan, "asin": np.arcsin, "acos": np.arccos, "atan": np.arctan,
                     "sinh": np.sinh, "cosh": np.cosh, "tanh": np.tanh, "asinh": np.arcsinh, "atanh": np.arctanh,
                     "exp": np.exp, "exp2": np.exp2, "expm1": np.expm1, "log": np.log, "log2": np.log2, "log10": np.log10,
                     "log1p": np.log1p, "sqrt": np.sqrt, "rsqrt": lambda t: 1 / np.sqrt(t), "cbrt": np.cbrt,
                     "erf": vector(math.erf), "erfc": vector(math.erfc), "absf": np.abs, "ceil": np.ceil, "floor": np.floor,
                     "trunc": np.trunc, "round": lambda t: np.floor(t + 0.5), "roundeven": np.round}
        names = list(functions)
        for first in range(0, len(names), 8):
            part = names[first:first + 8]
            yield pointwise(f"math-{kind}-{'-'.join(part)}", [u],
                            [f"%v{i} = math.{name} %x0 : {kind}" for i, name in enumerate(part)],
                            [Tensor(kind, functions[name](v), dynamic) for name in part])
        n = Tensor("i32", random.rng.integers(-2, 4, (5, 9)), dynamic)
        yield pointwise(f"math-{kind}-several", [u, c, n], [
            f"%v0 = math.powf %x0, %x1 : {kind}", f"%v1 = math.atan2 %x0, %x1 : {kind}",
            f"%v2 = math.copysign %x0, %x1 : {kind}", f"%v3 = math.fma %x0, %x1, %x1 : {kind}",
            f"%v4 = math.fpowi %x0, %x2 : {kind}, i32", f"%v5 = math.clampf %x1 to [%x0, %x0] : {kind}",
            f"%v6 = arith.negf %x1 : {kind}", f"%v7, %v8 = math.sincos %x0 : {kind}",
            f"%one = arith.constant 1.0 : {kind}", f"%w = arith.addf %one, %x0 : {kind}", f"%v9 = math.acosh %w : {kind}"],
            [Tensor(kind, value, dynamic) for value in
             (v**c.data, np.arctan2(v, c.data), np.copysign(v, c.data), v * c.data + c.data, v**n.data, v, -c.data, np.sin(v),
              np.cos(v), np.arccosh(1 + v if kind in FLOATS8 else store(1 + v, kind)))])  # inside a body 8-bit floats are not rounded


def conversions(random):
    for source in FLOATS:
        a = Tensor(source, np.abs(random(source, 3, 11).data) * 20, source == "f16")
        others = [kind for kind in FLOATS if kind != source and {kind, source} != {"f16", "bf16"}]
        order = ["bf16", "f16", "f32", "f64"]
        lines = [f"%v{i} = arith.{'extf' if order.index(kind) > order.index(source) else 'truncf'} %x0 : {source} to {kind}"
                 for i, kind in enumerate(others)]
        outputs = [Tensor(kind, a.data, a.dynamic) for kind in others]
        for kind in INTS[:-1]:
            for how in ("fptosi", "fptoui"):
                lines.append(f"%v{len(outputs)} = arith.{how} %x0 : {source} to {kind}")
                outputs.append(Tensor(kind, np.trunc(a.data), a.dynamic))
        yield pointwise(f"arith-convert-{source}", [a], lines, outputs)
    for source in ("i1", *INTS[:-1]):
        a = random(source, 3, 11, dynamic=source == "i8")
        data = -a.data.astype(int) if source == "i1" else a.data.astype(int)  # a set bit is -1
        lines, outputs = [], []
        for kind in FLOATS:
            for how, values in (("sitofp", data), ("uitofp", unsigned(data, source))):
                lines.append(f"%v{len(outputs)} = arith.{how} %x0 : {source} to {kind}")
                outputs.append(Tensor(kind, values.astype(float), a.dynamic))
        for kind in ("i1", *INTS[:-1]):
            wide, narrow = BITS[kind] > BITS[source], BITS[kind] < BITS[source]
            for how, values in (("extsi", data), ("extui", unsigned(data, source))) if wide else (("trunci", data),) if narrow else ():
                lines.append(f"%v{len(outputs)} = arith.{how} %x0 : {source} to {kind}")
                outputs.append(Tensor(kind, values % 2 if kind == "i1" else wrap(values, kind), a.dynamic))
        for how, values in (("index_cast", data), ("index_castui", unsigned(data, source))):
            lines.append(f"%v{len(outputs)} = arith.{how} %x0 : {source} to index")
            outputs.append(Tensor("index", wrap(values, "index"), a.dynamic))
        yield pointwise(f"arith-convert-{source}", [a], lines, outputs)
    for kind in FLOATS8:
        a = Tensor(kind, random(kind, 3, 11).data * 20, kind == "f8E5M2")
        lines = [f"%v{i} = arith.extf %x0 : {kind} to {wide}" for i, wide in enumerate(FLOATS)]
        outputs = [Tensor(wide, a.data, a.dynamic) for wide in FLOATS]
        for integer in ("i8", "i32", "i64"):
            lines.append(f"%v{len(outputs)} = arith.fptosi %x0 : {kind} to {integer}")
            outputs.append(Tensor(integer, np.trunc(a.data), a.dynamic))
        yield pointwise(f"arith-convert-{kind}", [a], lines, outputs)
        n, wide = random("i32", 3, 11, dynamic=a.dynamic), random("f64", 3, 11, dynamic=a.dynamic)
        yield pointwise(f"arith-convert-to-{kind}", [n, wide],
                        [f"%v0 = arith.sitofp %x0 : i32 to {kind}", f"%v1 = arith.truncf %x1 : f64 to {kind}"],
                        [Tensor(kind, n.data.astype(np.float64), a.dynamic), Tensor(kind, wide.data, a.dynamic)])
    for real, integer in (("f32", "i32"), ("f64", "i64"), ("f16", "i16")):
        a = random(real, 3, 4)
        bits = a.data.astype(NUMPY[real]).view(NUMPY[integer])
        yield pointwise(f"arith-bitcast-{real}", [a, Tensor(integer, bits)],
                        [f"%v0 = arith.bitcast %x0 : {real} to {integer}", f"%v1 = arith.bitcast %x1 : {integer} to {real}"],
                        [Tensor(integer, bits), a])
    for kind in ["i1", *INTS, *FLOATS, *FLOATS8]:
        p, a, b = random("i1", 4, 5), random(kind, 4, 5), random(kind, 4, 5)
        yield pointwise(f"arith-select-{kind}", [p, a, b], [f"%v0 = arith.select %x0, %x1, %x2 : {kind}"],
                        [Tensor(kind, np.where(p.data, a.data, b.data))])


def cases():
    random = Random(6)
    for family in (integers, odd_integers, floats, conversions):
        yield from family(random)
