"""Programs of many operations, whose compilation is timed: layers of BERT-base, rows of small operations, rows of
convolutions."""

import itertools

MAPS = """#full = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (i)>
#column = affine_map<(i, j) -> (j)>
#whole = affine_map<(h, i, j) -> (h, i, j)>
"""


def tensor(*sizes):
    return f"tensor<{'x'.join(map(str, sizes))}xf32>"


class Program:
    """The text of one public function, operation by operation."""

    def __init__(self):
        self.lines, self.arguments, self.numbers = [], [], itertools.count()

    def argument(self, *sizes):
        value = f"%arg{len(self.arguments)}"
        self.arguments.append(f"{value}: {tensor(*sizes)}")
        return value

    def op(self, words):
        value = f"%v{next(self.numbers)}"
        self.lines.append(f"  {value} = {words}")
        return value

    def constant(self, number):
        return self.op(f"arith.constant {number} : f32")

    def filled(self, number, *sizes):
        t = tensor(*sizes)
        empty = self.op(f"tensor.empty() : {t}")
        return self.op(f"linalg.fill ins({self.constant(number)} : f32) outs({empty} : {t}) -> {t}")

    def generic(self, inputs, out, sizes, body, maps, iterators=None):
        """`inputs`: value and sizes of each; `body` computes with %a0, %a1, ... and %o, and leaves %r."""
        iterators = iterators or ["parallel"] * len(sizes)
        types = ", ".join(tensor(*each) for _, each in inputs)
        values = ", ".join(value for value, _ in inputs)
        block = ", ".join([f"%a{i}: f32" for i in range(len(inputs))] + ["%o: f32"])
        names = ", ".join(f'"{each}"' for each in iterators)
        lines = "\n".join(f"    {line}" for line in body)
        return self.op(f"linalg.generic {{indexing_maps = [{', '.join(maps)}], iterator_types = [{names}]}} "
                       f"ins({values} : {types}) outs({out} : {tensor(*sizes)}) {{\n  ^bb0({block}):\n{lines}\n"
                       f"    linalg.yield %r : f32\n  }} -> {tensor(*sizes)}")

    def matmul(self, a, b, m, n, k):
        return self.op(f"linalg.matmul ins({a}, {b} : {tensor(m, k)}, {tensor(k, n)}) "
                       f"outs({self.filled('0.0', m, n)} : {tensor(m, n)}) -> {tensor(m, n)}")

    def over_rows(self, inputs, m, n, body, maps):
        """An element-wise operation over m x n; `maps` of the inputs."""
        empty = self.op(f"tensor.empty() : {tensor(m, n)}")
        return self.generic(inputs, empty, (m, n), body, [*maps, "#full"])

    def row_sum(self, inputs, m, n, body, maps):
        return self.generic(inputs, self.filled("0.0", m), (m,), body, [*maps, "#row"], ["parallel", "reduction"])

    def text(self, result, *sizes):
        arguments, lines = ", ".join(self.arguments), "\n".join(self.lines)
        return (f"{MAPS}func.func @compute({arguments}) -> {tensor(*sizes)} {{\n{lines}\n"
                f"  return {result} : {tensor(*sizes)}\n}}\n")


def linear(p, x, m, n, k):
    bias, weights = p.argument(n), p.argument(k, n)
    return p.over_rows([(p.matmul(x, weights, m, n, k), (m, n)), (bias, (n,))], m, n, ["%r = arith.addf %a0, %a1 : f32"],
                       ["#full", "#column"])


def layer_norm(p, x, m, n):
    gain, shift = p.argument(n), p.argument(n)
    count, epsilon = p.constant(f"{n}.0"), p.constant("1.0e-12")
    total = p.row_sum([(x, (m, n))], m, n, ["%r = arith.addf %o, %a0 : f32"], ["#full"])
    squares = p.row_sum([(x, (m, n)), (total, (m,))], m, n,
                        [f"%mean = arith.divf %a1, {count} : f32", "%d = arith.subf %a0, %mean : f32",
                         "%q = arith.mulf %d, %d : f32", "%r = arith.addf %o, %q : f32"], ["#full", "#row"])
    body = [f"%mean = arith.divf %a1, {count} : f32", f"%variance = arith.divf %a2, {count} : f32",
            f"%v = arith.addf %variance, {epsilon} : f32", "%inverse = math.rsqrt %v : f32",
            "%d = arith.subf %a0, %mean : f32", "%s = arith.mulf %d, %inverse : f32", "%g = arith.mulf %s, %a3 : f32",
            "%r = arith.addf %g, %a4 : f32"]
    return p.over_rows([(x, (m, n)), (total, (m,)), (squares, (m,)), (gain, (n,)), (shift, (n,))], m, n, body,
                       ["#full", "#row", "#row", "#column", "#column"])


def heads_product(p, a, b, maps, h, sizes, m, n):
    """A product for each head, of operands that hold the heads side by side or one after the other."""
    return p.generic([(a, sizes[0]), (b, sizes[1])], p.filled("0.0", *sizes[2]), sizes[2],
                     ["%p = arith.mulf %a0, %a1 : f32", "%r = arith.addf %o, %p : f32"], maps,
                     ["parallel", "parallel", "parallel", "reduction"])


def bert_layer(p, x, tokens, width, heads):
    size = width // heads
    split = (tokens, heads, size)
    q, k, v = (p.op(f"tensor.expand_shape {linear(p, x, tokens, width, width)} [[0], [1, 2]] output_shape "
                    f"[{tokens}, {heads}, {size}] : {tensor(tokens, width)} into {tensor(*split)}") for _ in range(3))
    square = (heads, tokens, tokens)
    scores = heads_product(p, q, k, ["affine_map<(h, i, j, d) -> (i, h, d)>", "affine_map<(h, i, j, d) -> (j, h, d)>",
                                     "affine_map<(h, i, j, d) -> (h, i, j)>"], heads, (split, split, square), 0, 0)
    empty = p.op(f"tensor.empty() : {tensor(*square)}")
    scale = p.constant(size ** -0.5)
    scaled = p.generic([(scores, square)], empty, square, [f"%r = arith.mulf %a0, {scale} : f32"], ["#whole", "#whole"])
    shares = p.op(f"linalg.softmax dimension(2) ins({scaled} : {tensor(*square)}) outs({empty} : {tensor(*square)}) -> "
                  f"{tensor(*square)}")
    context = heads_product(p, shares, v,
                            ["affine_map<(i, h, d, j) -> (h, i, j)>", "affine_map<(i, h, d, j) -> (j, h, d)>",
                             "affine_map<(i, h, d, j) -> (i, h, d)>"], heads, (square, split, split), 0, 0)
    flat = p.op(f"tensor.collapse_shape {context} [[0], [1, 2]] : {tensor(*split)} into {tensor(tokens, width)}")
    rows = (tokens, width)
    add = ["%r = arith.addf %a0, %a1 : f32"]
    attended = linear(p, flat, tokens, width, width)
    x = layer_norm(p, p.over_rows([(attended, rows), (x, rows)], *rows, add, ["#full", "#full"]), *rows)
    hidden = linear(p, x, tokens, 4 * width, width)
    half, one, root = p.constant("0.5"), p.constant("1.0"), p.constant("0.70710678")
    gelu = [f"%s = arith.mulf %a0, {root} : f32", "%e = math.erf %s : f32", f"%f = arith.addf %e, {one} : f32",
            f"%h = arith.mulf %a0, {half} : f32", "%r = arith.mulf %h, %f : f32"]
    hidden = p.over_rows([(hidden, (tokens, 4 * width))], tokens, 4 * width, gelu, ["#full"])
    out = linear(p, hidden, tokens, width, 4 * width)
    return layer_norm(p, p.over_rows([(out, rows), (x, rows)], *rows, add, ["#full", "#full"]), *rows)


def bert(layers=1, tokens=128, width=768, heads=12):
    """Encoder layers, each with weights of its own."""
    p = Program()
    x = p.argument(tokens, width)
    for _ in range(layers):
        x = bert_layer(p, x, tokens, width, heads)
    return p.text(x, tokens, width)


def product(size):
    """A product of square matrices in f32."""
    p = Program()
    a, b = p.argument(size, size), p.argument(size, size)
    return p.text(p.matmul(a, b, size, size, size), size, size)


def small_operations(count, m=128, n=256):
    """Element-wise operations and sums of rows, in turn."""
    p = Program()
    x, bias = p.argument(m, n), p.argument(n)
    scale, zero, share = p.constant("0.75"), p.constant("0.0"), p.constant(1 / n)
    rows = (m, n)
    for at in range(count):
        if at % 5 == 0:
            x = p.over_rows([(x, rows)], *rows, [f"%r = arith.mulf %a0, {scale} : f32"], ["#full"])
        elif at % 5 == 1:
            x = p.over_rows([(x, rows), (bias, (n,))], *rows, ["%r = arith.addf %a0, %a1 : f32"], ["#full", "#column"])
        elif at % 5 == 2:
            x = p.over_rows([(x, rows)], *rows, [f"%r = arith.maximumf %a0, {zero} : f32"], ["#full"])
        elif at % 5 == 3:
            total = p.row_sum([(x, rows)], *rows, ["%r = arith.addf %o, %a0 : f32"], ["#full"])
        else:
            x = p.over_rows([(x, rows), (total, (m,))], *rows,
                            [f"%mean = arith.mulf %a1, {share} : f32", "%r = arith.subf %a0, %mean : f32"],
                            ["#full", "#row"])
    return p.text(x, *rows)


def convolutions(count, side=32, channels=32):
    """3 x 3 windows with padding, each followed by a maximum with zero."""
    p = Program()
    shape, padded = (1, side, side, channels), (1, side + 2, side + 2, channels)
    x, zero = p.argument(*shape), p.constant("0.0")
    same = "affine_map<(a, b, c, d) -> (a, b, c, d)>"
    for _ in range(count):
        window = p.argument(3, 3, channels, channels)
        pad = p.op(f"tensor.pad {x} low[0, 1, 1, 0] high[0, 1, 1, 0] {{\n  ^bb0(%i: index, %j: index, %k: index, "
                   f"%l: index):\n    tensor.yield {zero} : f32\n  }} : {tensor(*shape)} to {tensor(*padded)}")
        x = p.op(f"linalg.conv_2d_nhwc_hwcf ins({pad}, {window} : {tensor(*padded)}, "
                 f"{tensor(3, 3, channels, channels)}) outs({p.filled('0.0', *shape)} : {tensor(*shape)}) -> "
                 f"{tensor(*shape)}")
        empty = p.op(f"tensor.empty() : {tensor(*shape)}")
        x = p.generic([(x, shape)], empty, shape, [f"%r = arith.maximumf %a0, {zero} : f32"], [same, same])
    return p.text(x, *shape)
