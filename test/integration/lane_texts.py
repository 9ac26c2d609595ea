"""Programs for SIMT targets, as text: products, convolutions and reductions of all types, shapes and forms."""

#: What a type's products are summed in.
WIDE = {"f16": "f32", "bf16": "f32", "i8": "i32", "ui8": "i32", "f8E4M3FN": "f32", "f8E5M2": "f32", "f8E4M3FNUZ": "f32",
        "f8E5M2FNUZ": "f32"}


class Text:
    """The body of a function, value by value."""

    def __init__(self):
        self.lines, self.arguments, self.count = [], [], 0

    def add(self, op):
        self.count += 1
        self.lines.append(f"%v{self.count} = {op}")
        return f"%v{self.count}"

    def input(self, shape, kind):
        self.arguments.append(f"%a{len(self.arguments)}: {tensor(shape, kind)}")
        return f"%a{len(self.arguments) - 1}"

    def constant(self, value, kind):
        if is_float(kind) and not isinstance(value, str):
            value = f"{float(value):e}"
        return self.add(f"arith.constant {value} : {kind}")

    def size(self, value, shape, dim):
        """Dimension `dim` of `value`, an index."""
        return self.add(f"tensor.dim {value}, {self.constant(dim, 'index')} : {shape}")

    def filled(self, shape, kind, value, sizes=()):
        empty = self.add(f"tensor.empty({', '.join(sizes)}) : {tensor(shape, kind)}")
        return self.add(f"linalg.fill ins({self.constant(value, kind)} : {kind}) outs({empty} : {tensor(shape, kind)}) -> "
                        f"{tensor(shape, kind)}")

    def convert(self, value, have, want):
        """A number of type `have` as one of `want`: wider, or the other kind of number."""
        if have == want:
            return value
        word = "ext" if is_float(have) == is_float(want) else "itofp"
        if is_float(have):
            return self.add(f"arith.extf {value} : {have} to {want}")
        sign = "u" if have.startswith("u") else "s"
        return self.add(f"arith.{'ext' + sign + 'i' if word == 'ext' else sign + 'itofp'} {value} : {signless(have)} to {want}")

    def generic(self, loops, reductions, operands, out, body):
        """A linalg.generic: operands and `out` are (value, shape, kind, dimensions); `body` gets the elements' names."""
        dims = [f"d{i}" for i in range(loops)]
        maps = ", ".join(f"affine_map<({', '.join(dims)}) -> ({', '.join(f'd{d}' for d in each[3])})>"
                         for each in [*operands, out])
        kinds = ", ".join('"reduction"' if i in reductions else '"parallel"' for i in range(loops))
        types = ", ".join(tensor(shape, kind) for _, shape, kind, _ in operands)
        block = [f"%e{self.count}_{i}" for i in range(len(operands) + 1)]
        head = ", ".join(f"{name}: {kind}" for name, (_, _, kind, _) in zip(block, [*operands, out]))
        outer, self.lines = self.lines, []
        result = body(self, block)
        inner, self.lines = self.lines, outer
        ins = f"ins({', '.join(each[0] for each in operands)} : {types}) " if operands else ""
        return self.add(
            f"linalg.generic {{indexing_maps = [{maps}], iterator_types = [{kinds}]}}\n      {ins}"
            f"outs({out[0]} : {tensor(out[1], out[2])}) {{\n    ^bb0({head}):\n      " + "\n      ".join(inner) +
            f"\n      linalg.yield {result} : {out[2]}\n  }} -> {tensor(out[1], out[2])}")

    def function(self, result, shape, kind):
        return (f"func.func @f({', '.join(self.arguments)}) -> {tensor(shape, kind)} {{\n  " + "\n  ".join(self.lines) +
                f"\n  return {result} : {tensor(shape, kind)}\n}}\n")


def is_float(kind):
    return kind[0] in "fb"


def signless(kind):
    return kind.removeprefix("u")


def tensor(shape, kind):
    return "tensor<" + "".join(f"{'?' if d is None else d}x" for d in shape) + f"{signless(kind)}>"


def product(kind, m, n, k, trans_a=False, trans_b=False, batch=None, tail="none", dynamic=False):
    """C = A B, `batch` of them, with what follows (`tail`). `kind`: of A and B, or "f16.f16" for sums in f16 too.
    `dynamic`: of any sizes, which `product_sizes` gives."""
    kind, _, wide = kind.partition(".")
    wide = wide or WIDE.get(kind, kind)
    text, first = Text(), 0 if batch is None else 1
    lead, leads = ([] if batch is None else [batch]), list(range(first))
    sizes = {"m": m, "n": n, "k": k}

    def shape(*dims):
        return [None if dynamic else d for d in lead] + [None if dynamic else sizes[d] for d in dims]

    dims = {"m": first, "n": first + 1, "k": first + 2}
    left, right = ("k", "m") if trans_a else ("m", "k"), ("n", "k") if trans_b else ("k", "n")
    a, b = text.input(shape(*left), kind), text.input(shape(*right), kind)
    shown = []
    if dynamic:
        of_a, of_b = tensor(shape(*left), kind), tensor(shape(*right), kind)
        shown = [text.size(a, of_a, 0) for _ in lead] + [text.size(a, of_a, first + left.index("m")),
                                                         text.size(b, of_b, first + right.index("n"))]
    out = shape("m", "n")
    zero = text.filled(out, wide, 0, shown)

    def multiply(t, v):
        op = "f" if is_float(wide) else "i"
        p = t.add(f"arith.mul{op} {t.convert(v[0], kind, wide)}, {t.convert(v[1], kind, wide)} : {wide}")
        return t.add(f"arith.add{op} {v[2]}, {p} : {wide}")

    plain = [*leads, dims["m"], dims["n"]]
    value = text.generic(first + 3, [dims["k"]],
                         [(a, shape(*left), signless(kind), [*leads, *(dims[d] for d in left)]),
                          (b, shape(*right), signless(kind), [*leads, *(dims[d] for d in right)])],
                         (zero, out, wide, plain), multiply)
    value, result = epilogue(text, value, out, wide, kind, tail, shown)
    return text.function(value, out, result)


def product_sizes(m, n, k, trans_a=False, batch=None, **_):
    """The sizes of a dynamic product in the order in which its arrays show them."""
    return [*([] if batch is None else [batch]), *((k, m) if trans_a else (m, k)), n]


#: What may follow a product.
TAILS = ["none", "bias-relu", "gelu", "residual", "narrow"]


def epilogue(text, value, shape, kind, narrow, tail, sizes):
    """`value` after the element-wise `tail`, and its type."""
    if tail == "none":
        return value, kind
    rank, op = len(shape), "f" if is_float(kind) else "i"
    every = list(range(rank))
    other = []
    if tail in ("bias-relu", "gelu"):
        other = [(text.input(shape[-1:], kind), shape[-1:], kind, [rank - 1])]
    elif tail == "residual":
        other = [(text.input(shape, kind), shape, kind, every)]
    to = signless(narrow) if tail == "narrow" else kind
    # `narrow`: the type of A and B; of integers scaled, rounded and saturated.
    empty = text.add(f"tensor.empty({', '.join(sizes)}) : {tensor(shape, to)}")

    def body(t, v):
        x = t.add(f"arith.add{op} {v[0]}, {v[1]} : {kind}") if other else v[0]
        if tail == "bias-relu":
            return t.add(f"arith.max{'imumf' if op == 'f' else 'si'} {x}, {t.constant(0, kind)} : {kind}")
        if tail == "gelu":
            scaled = t.add(f"arith.mulf {x}, {t.constant(0.70710678, kind)} : {kind}")
            one = t.add(f"arith.addf {t.add(f'math.erf {scaled} : {kind}')}, {t.constant(1, kind)} : {kind}")
            half = t.add(f"arith.mulf {x}, {t.constant(0.5, kind)} : {kind}")
            return t.add(f"arith.mulf {half}, {one} : {kind}")
        if tail == "narrow" and op == "i":
            x = t.add(f"arith.mulf {t.add(f'arith.sitofp {x} : {kind} to f32')}, {t.constant(0.125, 'f32')} : f32")
            x = t.add(f"math.roundeven {x} : f32")
            x = t.add(f"arith.maximumf {x}, {t.constant(0 if narrow[0] == 'u' else -128, 'f32')} : f32")
            x = t.add(f"arith.minimumf {x}, {t.constant(255 if narrow[0] == 'u' else 127, 'f32')} : f32")
            return t.add(f"arith.fpto{'u' if narrow[0] == 'u' else 's'}i {x} : f32 to {to}")
        if tail == "narrow" and to != kind:
            return t.add(f"arith.truncf {x} : {kind} to {to}")
        return x

    return text.generic(rank, [], [(value, shape, kind, every), *other], (empty, shape, to, every), body), to


def convolution(layout, kind, stride, dilation, groups, padding, taps=3, channels=8, filters=12, points=(13, 11)):
    """2 images of `points`, `filters` filters of `taps` x `taps`. Channels and filters: of all groups."""
    wide = WIDE.get(kind, kind)
    n, c, (h, w), f = 2, channels, points, filters
    oh, ow = ((x + 2 * padding - dilation * (taps - 1) - 1) // stride + 1 for x in (h, w))
    ph, pw = h + 2 * padding, w + 2 * padding
    if layout == "nchw":
        image, padded, out, low = [n, c, h, w], [n, c, ph, pw], [n, f, oh, ow], [0, 0, padding, padding]
        weights, op = [f, c, taps, taps], "linalg.conv_2d_nchw_fchw"
        grouped = "linalg.conv_2d_ngchw_gfchw", [n, groups, c // groups], [groups, f // groups, c // groups, taps, taps]
    else:
        image, padded, out, low = [n, h, w, c], [n, ph, pw, c], [n, oh, ow, f], [0, padding, padding, 0]
        weights, op = [taps, taps, c, f], "linalg.conv_2d_nhwc_hwcf"
        grouped = "linalg.conv_2d_nhwgc_gfhwc", [groups, c // groups], [groups, f // groups, taps, taps, c // groups]
    if groups > 1:
        op, split, weights = grouped
        at = 0 if layout == "nchw" else 3
        image, padded = ([*x[:at], *split, *x[at + (2 if at == 0 else 1):]] for x in (image, padded))
        low = [*low[:2], 0, *low[2:]] if layout == "nchw" else [*low, 0]
        out = [n, groups, f // groups, oh, ow] if layout == "nchw" else [n, oh, ow, groups, f // groups]
    text = Text()
    x, y = text.input(image, kind), text.input(weights, kind)
    zero = text.constant(0, signless(kind))
    indices = ", ".join(f"%i{d}: index" for d in range(len(image)))
    x = text.add(f"tensor.pad {x} low{low} high{low} {{\n    ^bb0({indices}):\n      tensor.yield {zero} : {signless(kind)}\n"
                 f"  }} : {tensor(image, kind)} to {tensor(padded, kind)}")
    start = text.filled(out, wide, 0)
    r = text.add(f"{op} {{dilations = dense<{dilation}> : tensor<2xi64>, strides = dense<{stride}> : tensor<2xi64>}}\n"
                 f"      ins({x}, {y} : {tensor(padded, kind)}, {tensor(weights, kind)}) "
                 f"outs({start} : {tensor(out, wide)}) -> {tensor(out, wide)}")
    return text.function(r, out, wide)


#: What rows, columns or everything become.
REDUCTIONS = ["sum", "product", "max", "min", "mean", "softmax", "norm"]


def reduction(op, kind, axis, batch, rows, cols):
    """`op` over "last", "middle", "first", the last two or "all" dimensions of batch x rows x cols."""
    text, shape = Text(), [batch, rows, cols]
    wide = WIDE.get(kind, kind)
    x = text.input(shape, kind)
    over = {"last": [2], "middle": [1], "first": [0], "two": [1, 2], "all": [0, 1, 2]}[axis]
    kept = [d for d in range(3) if d not in over]
    small, count = [shape[d] for d in kept], 1
    for d in over:
        count *= shape[d]
    flt = "f" if is_float(wide) else "i"
    start = {"product": 1, "max": "0xFF800000" if flt == "f" else -(2**31), "min": "0x7F800000" if flt == "f" else 2**31 - 1}
    if wide == "f64":
        start.update({"max": "0xFFF0000000000000", "min": "0x7FF0000000000000"})
    name = {"sum": f"add{flt}", "product": f"mul{flt}", "max": "maximumf" if flt == "f" else "maxsi",
            "min": "minimumf" if flt == "f" else "minsi"}

    def reduce(how, value, kind, before=None, others=()):
        def body(t, v):
            e = t.convert(v[0], kind, wide)
            if before:
                e = before(t, e, v[1:])
            return t.add(f"arith.{name[how]} {v[-1]}, {e} : {wide}")
        init = text.filled(small, wide, start.get(how, 0))
        return text.generic(3, over, [(value, shape, signless(kind), [0, 1, 2]), *others], (init, small, wide, kept), body)

    def each(operands, body):
        empty = text.add(f"tensor.empty() : {tensor(shape, wide)}")
        return text.generic(3, [], operands, (empty, shape, wide, [0, 1, 2]), body)

    def away(t, e, _):
        return t.add(f"arith.addf {e}, {t.constant(2, wide)} : {wide}")

    def near(t, e, _):
        small = t.add(f"arith.mulf {e}, {t.constant(0.03125, wide)} : {wide}")
        return t.add(f"arith.addf {small}, {t.constant(1, wide)} : {wide}")

    # Sums of few numbers around 0 may cancel to less than their rounding errors: they are of numbers around 2. A product
    # stays in range: of factors near 1.
    before = {"sum": away, "mean": away, "product": near}.get(op) if flt == "f" else None
    if op in name:
        return text.function(reduce(op, x, kind, before), small, wide)
    all_x = (x, shape, signless(kind), [0, 1, 2])
    if op == "softmax":
        top = (reduce("max", x, kind), small, wide, kept)
        power = each([all_x, top], lambda t, v: t.add(
            f"math.exp {t.add(f'arith.subf {t.convert(v[0], kind, wide)}, {v[1]} : {wide}')} : {wide}"))
        total = (reduce("sum", power, wide), small, wide, kept)
        result = each([(power, shape, wide, [0, 1, 2]), total], lambda t, v: t.add(f"arith.divf {v[0]}, {v[1]} : {wide}"))
        return text.function(result, shape, wide)
    total = (reduce("sum", x, kind, before), small, wide, kept)

    def mean(t, value):
        return t.add(f"arith.divf {value}, {t.constant(count, wide)} : {wide}")

    if op == "mean":
        empty = text.add(f"tensor.empty() : {tensor(small, wide)}")
        every = list(range(len(small)))
        return text.function(text.generic(len(small), [], [(*total[:3], every)], (empty, small, wide, every),
                                          lambda t, v: mean(t, v[0])), small, wide)

    def centred(t, e, sums):
        return t.add(f"arith.subf {e}, {mean(t, sums[0])} : {wide}")

    def square(t, e, v):
        d = centred(t, e, v)
        return t.add(f"arith.mulf {d}, {d} : {wide}")

    variance = (reduce("sum", x, kind, square, [total]), small, wide, kept)

    def normal(t, v):
        d = centred(t, t.convert(v[0], kind, wide), [v[1]])
        v = t.add(f"arith.addf {mean(t, v[2])}, {t.constant(0.00001, wide)} : {wide}")
        return t.add(f"arith.mulf {d}, {t.add(f'math.rsqrt {v} : {wide}')} : {wide}")

    return text.function(each([all_x, total, variance], normal), shape, wide)


def transposition(kind, shape, order, dynamic=(), operand=False):
    """An array with its dimensions in another order; `operand`: plus one that lies as the result does. `dynamic`: dimensions of the
    array that only the call knows."""
    text, dims = Text(), range(len(shape))
    have, want = ([None if d in dynamic else shape[d] for d in each] for each in (dims, order))
    source = text.input(have, kind)
    operands = [(source, have, kind, [order.index(d) for d in dims])]
    if operand:
        operands.append((text.input(want, kind), want, kind, dims))
    sizes = [text.size(source, tensor(have, kind), d) for d in order if d in dynamic]
    empty = text.add(f"tensor.empty({', '.join(sizes)}) : {tensor(want, kind)}")

    def body(t, v):
        return t.add(f"arith.add{'f' if is_float(kind) else 'i'} {v[0]}, {v[1]} : {kind}") if operand else v[0]

    return text.function(text.generic(len(shape), [], operands, (empty, want, kind, dims), body), want, kind)
