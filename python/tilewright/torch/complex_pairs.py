"""Complex tensors as pairs of real ones, on the graph of ATen operations:

    z * w        ->   (re z * re w - im z * im w, re z * im w + im z * re w)
    abs(z)       ->   hypot(re z, im z)

A pair comes from `view_as_real` of a tensor that arrives, or of what an operation without a rule here has made (a Fourier transform); it
is put together by `view_as_complex` where such an operation reads it, or the caller. Both are views of memory, so nothing is copied but
what a program writes anyway. An imaginary part of None is 0: of real tensors among the operands.
"""

import torch
from torch._subclasses.fake_tensor import FakeTensor
from torch.fx.node import map_arg

aten = torch.ops.aten
COMPLEX = {torch.complex64: torch.float32, torch.complex128: torch.float64}

#: In the meta of a node: a view of memory where complex tensors arrive or leave.
BOUNDARY = "tilewright.boundary"
#: How a tensor that arrives is read.
FROM_MEMORY = aten.view_as_real.default


def is_complex(node):
    value = node.meta.get("val") if isinstance(node, torch.fx.Node) else None
    return isinstance(value, torch.Tensor) and value.is_complex()


def members(argument):
    """The nodes of an argument, also of a list."""
    if isinstance(argument, (list, tuple)):
        return [n for a in argument for n in members(a)]
    return [argument] if isinstance(argument, torch.fx.Node) else []


class Pair:
    """Real and imaginary part: nodes or numbers. `im`: None where it is 0."""

    def __init__(self, re, im=None):
        self.re, self.im = re, im

    def parts(self):
        return [self.re] if self.im is None else [self.re, self.im]


class Builder:
    """Writes nodes before `node`, one of the graph's own."""

    def __init__(self, graph, node=None):
        self.graph, self.node = graph, node

    def call(self, target, *args, **kwargs):
        made = self.graph.call_function(target, args, kwargs)
        made.meta = {k: v for k, v in self.node.meta.items() if k not in ("val", "tensor_meta")}
        made.meta["val"] = target(*map_arg(args, lambda n: n.meta["val"]), **map_arg(kwargs, lambda n: n.meta["val"]))
        return made

    @property
    def real_type(self):
        """Of the parts of the node's result."""
        value = self.node.meta["val"]
        return COMPLEX.get(value.dtype, value.dtype)

    def split(self, node):
        """The parts of a complex tensor in memory."""
        fake = node.meta["val"]
        if fake.is_conj():
            node = self.view(aten.resolve_conj.default, node)
        real = self.view(FROM_MEMORY, node)
        return Pair(self.call(aten.select.int, real, -1, 0), self.call(aten.select.int, real, -1, 1))

    def stacked(self, pair):
        im = pair.im if pair.im is not None else self.call(aten.zeros_like.default, pair.re)
        return self.call(aten.stack.default, [pair.re, im], -1)

    def joined(self, pair, like):
        """A complex tensor in memory with the strides of `like`, where these leave no gaps."""
        order = sorted(range(like.dim()), key=lambda i: (-hint(like.stride(i)), i))
        if order != list(range(like.dim())):
            inverse = [order.index(i) for i in range(like.dim())]
            inner = self.stacked(Pair(*(self.call(aten.permute.default, p, order) for p in pair.parts())))
            return self.view(aten.permute.default, self.view(aten.view_as_complex.default, inner), inverse)
        return self.view(aten.view_as_complex.default, self.stacked(pair))

    def view(self, target, *args):
        made = self.call(target, *args)
        made.meta[BOUNDARY] = True
        return made

    # Arithmetic: operands are nodes or numbers; None is 0

    def part(self, value):
        """A part in the type of the result's parts."""
        if not isinstance(value, torch.fx.Node) or value.meta["val"].dtype == self.real_type:
            return value
        return self.call(torch.ops.prims.convert_element_type.default, value, self.real_type)

    def add(self, a, b, sign=1):
        if b is None:
            return a
        if a is None:
            return b if sign == 1 else self.neg(b)
        if not isinstance(a, torch.fx.Node) and not isinstance(b, torch.fx.Node):
            return a + sign * b
        if not isinstance(a, torch.fx.Node):
            return self.add(b if sign == 1 else self.neg(b), a)
        return self.call(aten.add.Tensor if sign == 1 else aten.sub.Tensor, a, b)

    def neg(self, a):
        return None if a is None else self.call(aten.neg.default, a) if isinstance(a, torch.fx.Node) else -a

    def mul(self, a, b):
        if a is None or b is None:
            return None
        if not isinstance(a, torch.fx.Node):
            a, b = b, a
        return self.call(aten.mul.Tensor, a, b) if isinstance(a, torch.fx.Node) else a * b

    def product(self, a, b, mul=None):
        mul = mul or self.mul
        return Pair(self.add(mul(a.re, b.re), mul(a.im, b.im), -1), self.add(mul(a.re, b.im), mul(a.im, b.re)))

    def hypot(self, pair):
        if pair.im is None:
            return self.call(aten.abs.default, pair.re)
        return self.call(aten.hypot.default, pair.re, pair.im)

    def quotient(self, a, b):
        if b.im is None:
            return Pair(*(self.call(aten.div.Tensor, p, b.re) if isinstance(p, torch.fx.Node) else
                          self.mul(self.call(aten.reciprocal.default, b.re), p) for p in a.parts()))
        if not isinstance(b.re, torch.fx.Node):
            inverse = 1 / complex(b.re, b.im)
            return self.product(a, Pair(inverse.real, inverse.imag))
        # Scaled by the larger part of the divisor, so that its square neither overflows nor vanishes.
        size = self.call(aten.maximum.default, self.call(aten.abs.default, b.re), self.call(aten.abs.default, b.im))
        c, d = self.call(aten.div.Tensor, b.re, size), self.call(aten.div.Tensor, b.im, size)
        square = self.mul(self.add(self.mul(c, c), self.mul(d, d)), size)
        top = self.product(a, Pair(c, self.neg(d)))
        return Pair(self.call(aten.div.Tensor, top.re, square), self.call(aten.div.Tensor, top.im, square))

    def polar(self, size, angle):
        return Pair(self.mul(size, self.call(aten.cos.default, angle)), self.mul(size, self.call(aten.sin.default, angle)))


def hint(n):
    return int(n.node.hint) if hasattr(n, "node") else int(n)


# Rules: each takes a builder and the node's arguments, complex tensors and scalars as pairs, and gives a pair or a real node; None where
# the node has to stay

RULES = {}


def rule(*targets):
    def register(function):
        for target in targets:
            RULES[target] = function
        return function
    return register


def as_pair(value):
    if isinstance(value, Pair):
        return value
    if isinstance(value, complex):
        return Pair(value.real, value.imag)
    return Pair(value)


def of_type(b, value):
    return Pair(*map(b.part, as_pair(value).parts()))


@rule(aten.add.Tensor, aten.add.Scalar)
def add(b, x, y, *, alpha=1):
    x, y = of_type(b, x), of_type(b, y)
    if alpha != 1:
        y = b.product(y, as_pair(alpha))
    return Pair(b.add(x.re, y.re), b.add(x.im, y.im))


@rule(aten.sub.Tensor, aten.sub.Scalar)
def sub(b, x, y, *, alpha=1):
    x, y = of_type(b, x), of_type(b, y)
    if alpha != 1:
        y = b.product(y, as_pair(alpha))
    return Pair(b.add(x.re, y.re, -1), b.add(x.im, y.im, -1))


@rule(aten.rsub.Tensor, aten.rsub.Scalar)
def rsub(b, x, y, *, alpha=1):
    return sub(b, y, x, alpha=alpha) if isinstance(y, Pair) else add(b, neg(b, x), y) if alpha == 1 else None


@rule(aten.mul.Tensor, aten.mul.Scalar)
def mul(b, x, y):
    return b.product(of_type(b, x), of_type(b, y))


@rule(aten.div.Tensor, aten.div.Scalar)
def div(b, x, y):
    return b.quotient(of_type(b, x), of_type(b, y))


@rule(aten.reciprocal.default)
def reciprocal(b, x):
    return b.quotient(Pair(1), x)


@rule(aten.neg.default)
def neg(b, x):
    return Pair(*map(b.neg, x.parts()))


@rule(aten._conj.default, aten._conj_physical.default, aten.conj_physical.default)
def conj(b, x):
    return Pair(x.re, b.neg(x.im))


@rule(aten.resolve_conj.default, aten.resolve_neg.default)
def same(b, x):
    return x


@rule(aten.abs.default)
def absolute(b, x):
    return b.hypot(x)


@rule(aten.angle.default)
def angle(b, x):
    return b.call(aten.atan2.default, x.im, x.re) if x.im is not None else None


@rule(aten.sgn.default)
def sgn(b, x):
    size = b.hypot(x)
    none = b.call(aten.eq.Scalar, size, 0)
    safe = b.call(aten.masked_fill.Scalar, size, none, 1)
    return Pair(*(b.call(aten.div.Tensor, p, safe) for p in x.parts()))


@rule(aten.exp.default)
def exp(b, x):
    return b.polar(b.call(aten.exp.default, x.re), x.im) if x.im is not None else Pair(b.call(aten.exp.default, x.re))


@rule(aten.log.default)
def log(b, x):
    return Pair(b.call(aten.log.default, b.hypot(x)), b.call(aten.atan2.default, x.im, x.re)) if x.im is not None else None


@rule(aten.pow.Tensor_Scalar)
def power(b, x, exponent):
    if exponent not in (1, 2, 3, 4):
        return None
    square = b.product(x, x)
    return {1: lambda: x, 2: lambda: square, 3: lambda: b.product(square, x), 4: lambda: b.product(square, square)}[exponent]()


@rule(aten.eq.Tensor, aten.eq.Scalar)
def eq(b, x, y):
    x, y = as_pair(x), as_pair(y)
    return b.call(aten.logical_and.default, b.call(aten.eq.Tensor, x.re, y.re),
                  b.call(aten.eq.Tensor, *((x.im, y.im or 0) if x.im is not None else (y.im, 0))))


@rule(aten.ne.Tensor, aten.ne.Scalar)
def ne(b, x, y):
    return b.call(aten.logical_not.default, eq(b, x, y))


@rule(aten.view_as_real.default)
def view_as_real(b, x):
    return b.stacked(x)


@rule(aten.real.default)
def real(b, x):
    return x.re


@rule(aten.imag.default)
def imag(b, x):
    return x.im if x.im is not None else b.call(aten.zeros_like.default, x.re)


@rule(aten.view_as_complex.default)
def view_as_complex(b, x):
    return Pair(b.call(aten.select.int, x, -1, 0), b.call(aten.select.int, x, -1, 1))


@rule(aten.complex.default)
def complex_(b, re, im):
    shape = list(b.node.meta["val"].shape)
    return Pair(*(p if list(p.meta["val"].shape) == shape else b.call(aten.expand.default, p, shape) for p in (re, im)))


@rule(aten.polar.default)
def polar(b, size, angle):
    return b.polar(size, angle)


@rule(aten._to_copy.default, torch.ops.prims.convert_element_type.default)
def convert(b, x, *_, **options):
    if is_complex(b.node):
        return of_type(b, x)
    return b.part(x.re)  # as PyTorch does, the imaginary part is dropped


@rule(aten.copy.default)
def copy(b, x, source, non_blocking=False):
    shape = list(b.node.meta["val"].shape)
    if not is_complex(b.node):
        return None
    return Pair(*(b.call(aten.expand.default, b.part(p), shape) for p in as_pair(source).parts()))


@rule(aten.fill.Scalar, aten.fill.Tensor)
def fill(b, x, value):
    if not is_complex(b.node):
        return None
    value, re = as_pair(value), b.part(as_pair(x).re)
    parts = [value.re, value.im if value.im is not None else 0]
    return Pair(*(b.call(aten.fill.Tensor, re, b.part(p)) if isinstance(p, torch.fx.Node) else b.call(aten.full_like.default, re, p) for p in parts))


@rule(aten.zeros_like.default, aten.ones_like.default, aten.full_like.default)
def filled_like(b, x, *value, **options):
    if not is_complex(b.node):
        return None
    value = complex(value[0] if value else b.node.target is aten.ones_like.default)
    re = as_pair(x).re
    return Pair(*(b.call(aten.full_like.default, b.part(re), part) for part in (value.real, value.imag)))


@rule(aten.full.default, aten.zeros.default, aten.ones.default)
def filled(b, shape, *value, **options):
    value = complex(value[0] if value else b.node.target is aten.ones.default)
    options = {"dtype": b.real_type, "device": b.node.meta["val"].device}
    with b.node.meta["val"].fake_mode:
        return Pair(*(b.call(aten.full.default, shape, part, **options) for part in (value.real, value.imag)))


@rule(aten.mm.default, aten.bmm.default, aten.mv.default, aten.dot.default)
def matrix_product(b, x, y):
    target = b.node.target
    return b.product(of_type(b, x), of_type(b, y), lambda p, q: None if p is None or q is None else b.call(target, p, q))


@rule(aten.vdot.default)
def vdot(b, x, y):
    x, y = of_type(b, x), of_type(b, y)
    return b.product(conj(b, x), y, lambda p, q: None if p is None or q is None else b.call(aten.dot.default, p, q))


#: The product whose result `target` adds to its first operand.
ADDED = {aten.addmm.default: aten.mm.default, aten.baddbmm.default: aten.bmm.default}


@rule(*ADDED)
def added_product(b, z, x, y, *, beta=1, alpha=1):
    inner = ADDED[b.node.target]
    made = b.product(of_type(b, x), of_type(b, y), lambda p, q: None if p is None or q is None else b.call(inner, p, q))
    made, z = b.product(made, as_pair(alpha)) if alpha != 1 else made, of_type(b, z)
    z = b.product(z, as_pair(beta)) if beta != 1 else z
    return Pair(b.add(made.re, z.re), b.add(made.im, z.im))


#: Linear operations that do with both parts the same. `reshape` serves where the parts lie with gaps.
LINEAR = {aten.view.default: aten.reshape.default, aten._unsafe_view.default: aten.reshape.default,
          aten.lift_fresh_copy.default: aten.clone.default, aten.sum.default: aten.sum.default, aten.mean.default: aten.mean.default}
LINEAR.update({target: target for target in (
    aten.reshape.default, aten.permute.default, aten.transpose.int, aten.t.default, aten.expand.default, aten.slice.Tensor,
    aten.select.int, aten.squeeze.default, aten.squeeze.dim, aten.squeeze.dims, aten.unsqueeze.default, aten.alias.default,
    aten.detach.default, aten.clone.default, aten.flip.default, aten.roll.default, aten.repeat.default, aten.diagonal.default,
    aten.index.Tensor, aten.index_select.default, aten.gather.default, aten.embedding.default, aten.cumsum.default, aten.sum.dim_IntList,
    aten.mean.dim, aten.cat.default, aten.stack.default, aten.slice_scatter.default, aten.select_scatter.default, aten.where.self,
    aten.index_put.default, aten.index_add.default, aten.scatter_add.default, aten.tril.default, aten.triu.default)})

#: Those whose operands that are real have an imaginary part of 0: the places of these operands.
VALUES = {aten.cat.default: (0, ), aten.stack.default: (0, ), aten.slice_scatter.default: (0, 1), aten.select_scatter.default: (0, 1),
          aten.where.self: (1, 2), aten.index_put.default: (0, 2), aten.index_add.default: (0, 3), aten.scatter_add.default: (0, 3)}


def linear(b, *args, **kwargs):
    target = LINEAR[b.node.target]
    kwargs = {k: v for k, v in kwargs.items() if k != "dtype"}
    results = []
    for imaginary in (False, True):
        def take(argument, value):
            if isinstance(argument, (list, tuple)):
                return [take(a, value) for a in argument]
            if not value and not isinstance(argument, Pair) or not isinstance(argument, (Pair, torch.fx.Node)):
                return argument
            pair = of_type(b, argument)
            if not imaginary:
                return pair.re
            return pair.im if pair.im is not None else b.call(aten.zeros_like.default, pair.re)
        places = VALUES.get(b.node.target, (0, ))
        results.append(b.call(target, *(take(a, i in places) for i, a in enumerate(args)), **kwargs))
    return Pair(*results)


for target in LINEAR:
    RULES[target] = linear


class Rewriting:
    def __init__(self, graph):
        self.graph, self.pairs, self.memory = graph, {}, {}
        self.builder = Builder(graph)
        mode = next((n.meta["val"].fake_mode for n in graph.nodes if isinstance(n.meta.get("val"), FakeTensor)), None)
        for node in graph.nodes:  # constants of the program, whose parts are no more known than those of arguments
            if node.op == "get_attr" and is_complex(node) and mode is not None:
                node.meta["val"] = mode.from_tensor(node.meta["val"])

    def pair(self, node):
        if node not in self.pairs:
            self.pairs[node] = self.builder.split(node)
        return self.pairs[node]

    def in_memory(self, node):
        """The complex tensor of a node that has been exchanged."""
        if node not in self.memory:
            reader, self.builder.node = self.builder.node, node  # messages name the line that makes the tensor
            self.memory[node] = self.builder.joined(self.pairs[node], node.meta["val"])
            self.builder.node = reader
        return self.memory[node]

    def run(self):
        exchanged = set()
        for node in list(self.graph.nodes):
            self.builder.node = node
            with self.graph.inserting_before(node):
                if node.op == "call_function" and (is_complex(node) or any(map(is_complex, node.all_input_nodes))):
                    made = self.exchange(node)
                    if isinstance(made, Pair):
                        self.pairs[node] = made
                        exchanged.add(node)
                        continue
                    if made is not None:
                        node.replace_all_uses_with(made)
                        continue
                for source in {n for n in node.all_input_nodes if n in exchanged}:
                    node.replace_input_with(source, self.in_memory(source))
        self.graph.eliminate_dead_code()

    def exchange(self, node):
        """What takes the place of a node; None where it stays."""
        function = RULES.get(node.target)
        tensors = [n.meta.get("val") for n in (node, *node.all_input_nodes)]
        if function is None or any(isinstance(t, torch.Tensor) and t.is_complex() and t.dtype not in COMPLEX for t in tensors):
            return None

        def resolve(argument):
            if isinstance(argument, (list, tuple)):
                return [resolve(a) for a in argument]
            return self.pair(argument) if is_complex(argument) else argument
        return function(self.builder, *map(resolve, node.args), **{k: resolve(v) for k, v in node.kwargs.items()})


def rewrite(graph):
    """Exchanges complex arithmetic. Nodes of complex tensors remain where no rule is, as views at the boundary, and in the results."""
    if any(is_complex(n) for n in graph.nodes):
        Rewriting(graph).run()
