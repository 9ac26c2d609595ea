"""TOSA, through upstream's conversions to linalg, tensor, arith and scf."""

import math

import numpy as np

from breadth.case import Case, Random, Tensor

#: What upstream does not bring to linalg, tensor, arith or scf: refused by name.
REFUSED = {"custom", "variable", "variable_read", "variable_write", "dim", "add_shape", "concat_shape", "div_ceil_shape", "div_floor_shape", "exp2_shape",
           "log2_ceil_shape", "log2_floor_shape", "max_shape", "min_shape", "mod_shape", "mul_shape", "slice_shape", "sub_shape"}


class Program:
    """Lines of a function: constants and one operation, in the generic syntax that all operations share."""

    def __init__(self, inputs):
        self.inputs, self.lines, self.types = inputs, [], {f"%a{i}": t.type() for i, t in enumerate(inputs)}

    def constant(self, kind, values):
        values = np.asarray(values)
        text = str(values.tolist()).lower() if values.size else ""
        return self.bind(f"%k{len(self.types)}", "tensor<" + "".join(f"{s}x" for s in values.shape) + f"{kind}>",
                         '"tosa.const"() <{{values = dense<' + text + "> : {0}}}> : () -> {0}")

    def shape(self, *sizes):
        kind = f"tensor<{len(sizes)}xindex>"
        return self.bind(f"%k{len(self.types)}", f"!tosa.shape<{len(sizes)}>",
                         f'"tosa.const_shape"() <{{{{values = dense<{list(sizes)}> : {kind}}}}}> : () -> {{0}}')

    def bind(self, name, kind, line):
        self.types[name] = kind
        self.lines.append(f"  {name} = " + line.format(kind))
        return name

    def case(self, name, operation, operands, outputs, attributes="", region="", **words):
        types = ", ".join(t.type() for t in outputs)
        results = ", ".join(f"%r{i}" for i in range(len(outputs)))
        attributes = f" <{{{attributes}}}>" if attributes else ""
        line = (f'  {results} = "tosa.{operation}"({", ".join(operands)}){attributes}{region} : '
                f"({', '.join(self.types[x] for x in operands)}) -> ({types})")
        arguments = ", ".join(f"%a{i}: {t.type()}" for i, t in enumerate(self.inputs))
        text = f"func.func @main({arguments}) -> ({types}) {{\n" + "\n".join([*self.lines, line])
        return Case(f"tosa.{operation}-{name}", text + f"\n  return {results} : {types}\n}}\n", self.inputs, outputs, **words)


def plain(name, operation, inputs, expected, kind=None, attributes="", **words):
    """An operation of its inputs alone."""
    dynamic = inputs[0].dynamic
    return Program(inputs).case(name, operation, [f"%a{i}" for i in range(len(inputs))],
                                [Tensor(kind or inputs[0].kind, expected, dynamic)], attributes, **words)


def elementwise(random):
    sigmoid = lambda x: 1 / (1 + np.exp(-x))
    unary = {"abs": np.abs, "ceil": np.ceil, "cos": np.cos, "sin": np.sin, "erf": np.vectorize(math.erf), "exp": np.exp,
             "floor": np.floor, "log": np.log, "reciprocal": lambda x: 1 / x, "rsqrt": lambda x: 1 / np.sqrt(x),
             "sigmoid": sigmoid, "tanh": np.tanh, "identity": lambda x: x}
    binary = {"add": np.add, "sub": np.subtract, "maximum": np.maximum, "minimum": np.minimum, "pow": np.power}
    compare = {"equal": np.equal, "greater": np.greater, "greater_equal": np.greater_equal}
    logic = {"logical_and": np.logical_and, "logical_or": np.logical_or, "logical_xor": np.logical_xor}
    bits = {"bitwise_and": np.bitwise_and, "bitwise_or": np.bitwise_or, "bitwise_xor": np.bitwise_xor,
            "logical_left_shift": np.left_shift, "logical_right_shift": np.right_shift}
    for kind in ("f32", "f16"):
        dynamic = kind == "f16"
        a, b = random(kind, 3, 5, 4, dynamic=dynamic), random(kind, 3, 5, 4, dynamic=dynamic)
        positive = Tensor(kind, np.abs(a.data) + 0.25, dynamic)
        for name, function in unary.items():
            x = positive if name in ("log", "rsqrt", "reciprocal") else a
            yield plain(kind, name, [x], function(x.data))
        for name, function in binary.items():
            x = positive if name == "pow" else a
            yield plain(kind, name, [x, b], function(x.data, b.data))
        for name, function in compare.items():
            yield plain(kind, name, [a, b], function(a.data, b.data), "i1")
        low, high = f"min_val = -0.5 : {kind}", f"max_val = 0.75 : {kind}"
        yield plain(kind, "clamp", [a], np.clip(a.data, -0.5, 0.75), attributes=f"{high}, {low}")
    a, b = random("i32", 3, 5), random("i32", 3, 5, low=1, high=9)
    row = random("i32", 1, 5)
    for name in ("add", "sub", "maximum", "minimum"):
        yield plain("broadcast", name, [a, row], binary[name](a.data, row.data))
    for name, function in compare.items():
        yield plain("i32", name, [a, row], function(a.data, row.data), "i1")
    shifted, shift = random("i32", 3, 5, low=0, high=90), random("i32", 3, 5, low=0, high=5)
    for name, function in bits.items():
        x, y = (shifted, shift) if "shift" in name else (a, b)
        yield plain("i32", name, [x, y], function(x.data, y.data))
    yield plain("i32", "abs", [a], np.abs(a.data))
    yield plain("i32", "bitwise_not", [a], ~a.data)
    yield plain("i32", "clz", [shifted], np.vectorize(lambda v: 32 - int(v).bit_length())(shifted.data))
    yield plain("i32", "intdiv", [a, b], np.trunc(a.data / b.data))
    yield plain("i32", "clamp", [a], np.clip(a.data, -3, 4), attributes="max_val = 4 : i32, min_val = -3 : i32")
    rounded = (a.data >> shift.data) + ((a.data >> np.maximum(shift.data - 1, 0)) & (shift.data > 0))
    yield plain("i32", "arithmetic_right_shift", [a, shift], a.data >> shift.data, attributes="round = false")
    yield plain("i32-round", "arithmetic_right_shift", [a, shift], rounded, attributes="round = true")
    p, q = random("i1", 3, 5), random("i1", 3, 5)
    for name, function in logic.items():
        yield plain("i1", name, [p, q], function(p.data, q.data))
    yield plain("i1", "logical_not", [p], ~p.data)
    yield plain("i32", "select", [p, a, b], np.where(p.data, a.data, b.data), "i32")
    for kind in ("f32", "i32"):
        a, b = random(kind, 3, 5), random(kind, 1, 5)
        program = Program([a, b])
        yield program.case(kind, "mul", ["%a0", "%a1", program.constant("i8", [0])], [Tensor(kind, a.data * b.data)])
        program = Program([a])
        zeros = [program.constant(kind, [0.0 if kind == "f32" else 0]) for _ in range(2)]
        yield program.case(kind, "negate", ["%a0", *zeros], [Tensor(kind, -a.data)])
    a, b = random("i32", 3, 5, low=-1000, high=1000), random("i32", 3, 5, low=-1000, high=1000)
    program = Program([a, b])
    yield program.case("shift", "mul", ["%a0", "%a1", program.constant("i8", [4])],
                       [Tensor("i32", (a.data.astype(int) * b.data + 8) >> 4)])
    a = random("i8", 3, 5)
    program = Program([a])
    points = [program.constant("i8", [3]), program.constant("i8", [-2])]
    yield program.case("i8", "negate", ["%a0", *points], [Tensor("i8", -(a.data.astype(int) - 3) - 2)])


def casts(random):
    a = Tensor("f32", [[-3.5, -2.5, -0.5, 0.5], [1.5, 2.4, 2.6, 300.0]])
    yield plain("f32-i32", "cast", [a], np.round(a.data), "i32")
    yield plain("f32-i8", "cast", [a], np.clip(np.round(a.data), -128, 127), "i8")
    yield plain("f32-f16", "cast", [a], a.data, "f16")
    i = random("i8", 3, 5)
    for kind in ("i32", "i16", "f32", "i1"):
        yield plain(f"i8-{kind}", "cast", [i], i.data != 0 if kind == "i1" else i.data, kind)
    p = random("i1", 3, 5)
    for kind in ("i32", "f32"):
        yield plain(f"i1-{kind}", "cast", [p], p.data, kind)
    wide = random("i32", 3, 4, low=-100000, high=100000)
    program = Program([wide])
    words = ("input_unsigned = false, output_unsigned = false, per_channel = false, rounding_mode = #tosa.rounding_mode<SINGLE_ROUND>, "
             "scale32 = true")
    operands = ["%a0", program.constant("i32", [1431655765]), program.constant("i8", [40]), program.constant("i32", [0]),
                program.constant("i8", [-5])]
    scaled = (wide.data.astype(int) * 1431655765 + (1 << 39)) >> 40
    yield program.case("i32-i8", "rescale", operands, [Tensor("i8", np.clip(scaled - 5, -128, 127))], words)
    program = Program([wide])
    operands = [operands[0], program.constant("i32", [1 << 30, 1 << 29, 3 << 29, 1 << 30]),
                program.constant("i8", [38, 37, 40, 39]), program.constant("i32", [0]), program.constant("i16", [0])]
    many = (wide.data.astype(int) * [1 << 30, 1 << 29, 3 << 29, 1 << 30] + (1 << np.array([37, 36, 39, 38]))) >> np.array([38, 37, 40, 39])
    yield program.case("per-channel", "rescale", operands, [Tensor("i16", np.clip(many, -2**15, 2**15 - 1))],
                       words.replace("per_channel = false", "per_channel = true"))
    value, multiplier = random("i32", 3, 4, low=-1000, high=1000), random("i32", 3, 4, low=1 << 20, high=1 << 30)
    shift = random("i8", 3, 4, low=20, high=35)
    yield plain("i32", "apply_scale", [value, multiplier, shift],
                (value.data.astype(int) * multiplier.data + (1 << (shift.data.astype(int) - 1))) >> shift.data.astype(int),
                attributes="rounding_mode = #tosa.rounding_mode<SINGLE_ROUND>")
    index, table = random("i8", 3, 5, low=-128, high=128), random("i8", 256, low=-128, high=128)
    yield plain("i8", "table", [index, table], table.data[index.data.astype(int) + 128])
    index, table = random("i16", 3, 5, low=-2**15, high=2**15), random("i16", 513, low=-2**15, high=2**15)
    at, rest = (index.data.astype(int) + 2**15) >> 7, (index.data.astype(int) + 2**15) & 127
    base, following = table.data.astype(int)[at], table.data.astype(int)[at + 1]
    yield plain("i16", "table", [index, table], (base << 7) + (following - base) * rest, "i32")


def reductions(random):
    a, p = random("f32", 3, 5, 4), random("i1", 3, 5, 4)
    for axis in range(3):
        for name, function in (("sum", np.sum), ("max", np.max), ("min", np.min), ("product", np.prod)):
            yield plain(f"f32-{axis}", f"reduce_{name}", [a], function(a.data, axis, keepdims=True),
                        attributes=f"axis = {axis} : i32", units=16)
        for name, function in (("all", np.all), ("any", np.any)):
            yield plain(f"i1-{axis}", f"reduce_{name}", [p], function(p.data, axis, keepdims=True),
                        attributes=f"axis = {axis} : i32")
        yield plain(f"f32-{axis}", "argmax", [a], np.argmax(a.data, axis), "i32", f"axis = {axis} : i32")
        yield plain(f"f32-{axis}", "reverse", [a], np.flip(a.data, axis), attributes=f"axis = {axis} : i32")
    i = random("i32", 3, 5)
    yield plain("i32", "reduce_sum", [i], i.data.sum(1, keepdims=True), attributes="axis = 1 : i32")


def moves(random):
    for kind in ("f32", "i8"):
        a, b = random(kind, 2, 3, 4), random(kind, 2, 5, 4)
        yield plain(kind, "concat", [a, b], np.concatenate([a.data, b.data], 1), attributes="axis = 1 : i32")
        yield plain(kind, "transpose", [a], a.data.transpose(2, 0, 1), attributes="perms = array<i32: 2, 0, 1>")
        for name, operation, sizes, expected in [
                (kind, "reshape", [(6, 4)], a.data.reshape(6, 4)), (kind + "-inferred", "reshape", [(4, -1)], a.data.reshape(4, 6)),
                (kind, "tile", [(2, 1, 3)], np.tile(a.data, (2, 1, 3))),
                (kind, "slice", [(0, 1, 1), (2, 2, 3)], a.data[:, 1:3, 1:4])]:
            program = Program([a])
            yield program.case(name, operation, ["%a0", *(program.shape(*s) for s in sizes)], [Tensor(kind, expected)])
        program = Program([a])
        value = -1.5 if kind == "f32" else -1
        padding = program.shape(0, 0, 1, 2, 3, 0)
        yield program.case(kind, "pad", ["%a0", padding, program.constant(kind, [value])],
                           [Tensor(kind, np.pad(a.data, [(0, 0), (1, 2), (3, 0)], constant_values=value))])
        program = Program([])
        values = program.constant(kind, a.data.astype(float if kind == "f32" else int))
        yield program.case(f"const-{kind}", "identity", [values], [a])
    values, at = random("f32", 2, 6, 3), random("i32", 2, 4, low=0, high=6)
    picked = np.stack([values.data[n, at.data[n]] for n in range(2)])
    yield plain("f32", "gather", [values, at], picked)
    at = Tensor("i32", [[4, 0, 2], [1, 5, 3]])
    update = random("f32", 2, 3, 3)
    scattered = values.data.copy()
    for n in range(2):
        scattered[n, at.data[n]] = update.data[n]
    yield plain("f32", "scatter", [values, at, update], scattered)
    image = random("f32", 1, 3, 4, 2)
    program = Program([image])
    operands = ["%a0", program.shape(2, 1, 2, 1), program.shape(0, 0), program.shape(1, 1)]
    yield program.case("nearest", "resize", operands, [Tensor("f32", nearest(image.data, (6, 8)))],
                       "mode = #tosa.resize_mode<NEAREST_NEIGHBOR>")
    yield program.case("bilinear", "resize", operands, [Tensor("f32", bilinear(image.data, (6, 8)))], "mode = #tosa.resize_mode<BILINEAR>")


def nearest(image, size):
    """Scale 2 with offset 0: element i of the result lies at i / 2; a tie goes to the later element."""
    rows, columns = (np.minimum(np.floor(np.arange(n) / 2 + 0.5).astype(int), limit - 1)
                     for n, limit in zip(size, image.shape[1:3]))
    return image[:, rows][:, :, columns]


def bilinear(image, size):
    for axis, n in ((1, size[0]), (2, size[1])):
        at = np.arange(n) / 2
        low = np.minimum(np.floor(at).astype(int), image.shape[axis] - 1)
        high = np.minimum(low + 1, image.shape[axis] - 1)
        weight = (at - np.floor(at)).reshape([-1 if d == axis else 1 for d in range(4)])
        image = image.take(low, axis) * (1 - weight) + image.take(high, axis) * weight
    return image


def block_scaled(random):
    """One scale, a power of two, for 32 elements of the last dimension; one B may serve all of a batch."""
    block = "block_size = #tosa.block_size<BLOCK_SIZE_32>"

    def operand(kind, *shape, dynamic=False):
        powers = 2.0**random.rng.integers(-9, 9, (*shape[:-1], shape[-1] // 32))
        data, scale = random(kind, *shape, dynamic=dynamic), Tensor("f8E8M0FNU", powers, dynamic)
        return data, scale, data.data * np.repeat(scale.data, 32, axis=-1)

    for kind, result, dynamic in (("f8E4M3FN", "f32", False), ("f8E5M2", "bf16", True)):
        data, scale, expected = operand(kind, 3, 64, dynamic=dynamic)
        yield plain(f"{kind}-{result}", "cast_from_block_scaled", [data, scale], expected, result, block)
    for kind, have, largest, dynamic in (("f8E4M3FN", "f32", 464, False), ("f8E5M2", "bf16", 61440, True)):
        x = random(have, 3, 64, dynamic=dynamic)
        ratio = np.log2(np.abs(x.data).reshape(3, 2, 32).max(axis=2) / largest)  # no block reaches the bound itself
        scale = 2.0 ** (np.floor(ratio) + 1)
        yield Program([x]).case(f"{kind}-{have}", "cast_to_block_scaled", ["%a0"],
                                [Tensor(kind, x.data / scale.repeat(32, axis=1), dynamic), Tensor("f8E8M0FNU", scale, dynamic)], block)
    for kind, batch, dynamic in (("f8E4M3FN", 1, False), ("f8E5M2", 2, True)):
        a, sa, left = operand(kind, 2, 5, 96, dynamic=dynamic)
        b, sb, right = operand(kind, batch, 7, 96, dynamic=dynamic)
        yield plain(f"{kind}-{batch}", "matmul_t_block_scaled", [a, sa, b, sb], left @ right.swapaxes(1, 2), "f32", block,
                    units=96)


def control(random):
    a, b, p = random("f32", 3, 4), random("f32", 3, 4), Tensor("i1", True)
    t = a.type()
    region = f""" ({{
  ^bb0(%x: {t}, %y: {t}):
    %s = "tosa.add"(%x, %y) : ({t}, {t}) -> {t}
    "tosa.yield"(%s) : ({t}) -> ()
  }}, {{
  ^bb0(%x: {t}, %y: {t}):
    %s = "tosa.sub"(%x, %y) : ({t}, {t}) -> {t}
    "tosa.yield"(%s) : ({t}) -> ()
  }})"""
    yield Program([p, a, b]).case("f32", "cond_if", ["%a0", "%a1", "%a2"], [Tensor("f32", a.data + b.data)], region=region)
    n = Tensor("i32", 0)
    region = f""" ({{
  ^bb0(%i: tensor<i32>, %x: {t}):
    %limit = "tosa.const"() <{{values = dense<5> : tensor<i32>}}> : () -> tensor<i32>
    %more = "tosa.greater"(%limit, %i) : (tensor<i32>, tensor<i32>) -> tensor<i1>
    "tosa.yield"(%more) : (tensor<i1>) -> ()
  }}, {{
  ^bb0(%i: tensor<i32>, %x: {t}):
    %one = "tosa.const"() <{{values = dense<1> : tensor<i32>}}> : () -> tensor<i32>
    %j = "tosa.add"(%i, %one) : (tensor<i32>, tensor<i32>) -> tensor<i32>
    %s = "tosa.add"(%x, %x) : ({t}, {t}) -> {t}
    "tosa.yield"(%j, %s) : (tensor<i32>, {t}) -> ()
  }})"""
    yield Program([n, a]).case("f32", "while_loop", ["%a0", "%a1"], [Tensor("i32", 5), Tensor("f32", 32 * a.data)], region=region)


def cases():
    from breadth import tosa_convolutions
    random = Random(7)
    for family in (elementwise, casts, reductions, moves, block_scaled, control):
        yield from family(random)
    yield from tosa_convolutions.cases()
