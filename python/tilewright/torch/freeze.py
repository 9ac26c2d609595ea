"""`options={"freeze": True}`: what follows from parameters and buffers alone is computed once.

    conv(x, w) ; batch_norm(., scale, shift, mean, var)        conv(x, w', b')      w', b': computed at the first call,
                                                        ->                          and again when a tensor that they
    y + (p * 2)                                                y + q                follow from has been written to
"""

import math

import torch
from torch._guards import TracingContext
from torch._subclasses.fake_tensor import FakeTensor, unset_fake_temporarily

from ..emit.sizes import is_static, plain
from .context import memory_order
from .importer import CONSTANT, is_tensor
from .partition import is_assertion, is_size_node

aten = torch.ops.aten

#: Batch norm with the statistics of its buffers.
NORMS = (aten._native_batch_norm_legit_no_training.default,)


class Held:
    """What `compute` gives for constant tensors, until one of them is another one or is written to."""

    def __init__(self, compute):
        self.compute = compute
        self.known = None, None, None  # the identities of the tensors, the tensors (so that no other takes their place), the values

    def __call__(self, tensors):
        try:
            identity = [(t.data_ptr(), t._version) for t in tensors]
        except RuntimeError as error:
            raise RuntimeError("options={'freeze': True} recomputes what follows from a weight when the weight is written to, but tensors "
                               "made under torch.inference_mode() do not tell; make the model outside of it") from error
        before, _, values = self.known
        if before != identity:
            values = self.compute(list(tensors))
            self.known = identity, tensors, values
        return values


def computed(graph):
    """What calls the constant part with PyTorch's own operations. Results lie in memory as the graph says."""
    output = next(n for n in graph.nodes if n.op == "output")
    forms = [n.meta["val"] for n in output.args[0]]
    interpreter = torch.fx.Interpreter(torch.nn.Module(), graph=graph)

    def compute(tensors):
        # Programs and other values that are held ask for the versions of these, which tensors of inference do not have.
        with torch.inference_mode(False), torch.no_grad():
            return [laid_out(value, form) for value, form in zip(interpreter.run(*tensors), forms, strict=True)]
    return compute


def laid_out(value, form):
    strides = tuple(plain(n) for n in form.stride())
    if value.stride() == strides or not is_static(strides):
        return value
    return value.new_empty_strided(value.shape, strides).copy_(value)


def split(module, fold=True, static=None):
    """Takes the constant part out of the graph. Gives it as a graph, and the numbers of its inputs among the graph's; its results are new
    inputs of the graph, after the others. (None, []) where there is none. `fold`: batch norms go into their convolutions. `static`: the
    numbers of the inputs that are constant; None: as AOTAutograd says."""
    graph = module.graph
    graph.eliminate_dead_code()
    placeholders = [n for n in graph.nodes if n.op == "placeholder"]
    static = static_inputs() if static is None else static
    constant = {placeholders[i] for i in static if i < len(placeholders) and is_tensor(placeholders[i].meta.get("val"))}
    if fold:
        fold_norms(graph, constant)
    for node in graph.nodes:
        if node.op == "call_function" and follows(node, constant):
            constant.add(node)
    lay_out_filters(graph, constant)
    for node in constant:
        node.meta[CONSTANT] = True
    inner = [n for n in graph.nodes if n in constant and n.op != "placeholder"]
    made = [n for n in inner if is_tensor(n.meta["val"]) and worth(n, constant) and any(u not in constant for u in n.users)]
    if not made:
        return None, []
    part, copies = torch.fx.Graph(), {}
    needed = sources(made)
    inputs = [i for i, n in enumerate(placeholders) if n in needed]
    for i in inputs:
        copies[placeholders[i]] = part.placeholder(placeholders[i].name)
        copies[placeholders[i]].meta = dict(placeholders[i].meta)
    for node in inner:
        if all(source in copies for source in node.all_input_nodes):
            copies[node] = part.node_copy(node, copies.__getitem__)
    part.output([copies[n] for n in made])
    for node in made:
        with graph.inserting_after(placeholders[-1]):
            held = graph.placeholder(f"held_{node.name}")
        held.meta["val"] = node.meta["val"]
        held.meta[CONSTANT] = True
        placeholders.append(held)
        node.replace_all_uses_with(held, lambda user: user not in constant)
    graph.eliminate_dead_code()
    return part, inputs


def static_inputs():
    """The numbers of the inputs that are the module's own."""
    context = TracingContext.try_get()
    return context.fw_metadata.static_input_indices if context and context.fw_metadata else []


def follows(node, constant):
    """The node's result is the same at each call: it reads constants, and draws no random numbers."""
    if is_size_node(node) or is_assertion(node) or not all(source in constant for source in node.all_input_nodes):
        return False
    return bool(node.all_input_nodes) and torch.Tag.nondeterministic_seeded not in getattr(node.target, "tags", ())


def is_view(node):
    schema = getattr(node.target, "_schema", None)
    return bool(schema and schema.returns and schema.returns[0].alias_info)


def worth(node, constant):
    """A view costs nothing at a call; it is not held, but what it looks at may be. What a narrow weight is unpacked to is not held either:
    the products that read it unpack it, and memory holds the narrow one alone."""
    return node.op == "call_function" and not is_view(node) and not unpacks(node, constant)


def unpacks(node, constant):
    """Whether the result is computed from a weight of elements of 8 bits, as many as it has itself, and is wider."""
    value, seen, pending = node.meta["val"], set(), [node]
    while pending:
        one = pending.pop()
        for source in one.all_input_nodes:
            other = source.meta.get("val")
            if source in constant and source not in seen and is_tensor(other) and other.numel() == value.numel():
                if other.dtype.itemsize == 1 < value.dtype.itemsize and other.dtype is not torch.bool and other.numel() > 1:
                    return True
                seen.add(source)
                pending.append(source)
    return False


def sources(nodes):
    """All that the nodes follow from."""
    seen, pending = set(), list(nodes)
    while pending:
        for source in pending.pop().all_input_nodes:
            if source not in seen:
                seen.add(source)
                pending.append(source)
    return seen


def fold_norms(graph, constant):
    """A batch norm after a convolution becomes another weight and bias of the convolution."""
    forms = Forms()
    for norm in list(graph.nodes):
        if norm.op != "call_function" or norm.target not in NORMS:
            continue
        conv, scale, shift, mean, variance, _, epsilon = norm.args
        if not foldable(conv, norm, (scale, shift, mean, variance), constant):
            continue

        def write(target, *args):
            node = graph.call_function(target, args)
            node.meta["val"] = forms.made(target, [a.meta["val"] if isinstance(a, torch.fx.Node) else a for a in args])
            constant.add(node)
            return node
        x, weight, bias, *rest = conv.args
        rank = weight.meta["val"].dim()
        with graph.inserting_before(conv):
            factor = write(aten.rsqrt.default, write(aten.add.Tensor, variance, epsilon))
            if scale is not None:
                factor = write(aten.mul.Tensor, factor, scale)
            new_weight = write(aten.mul.Tensor, weight, write(aten.view.default, factor, [-1] + [1] * (rank - 1)))
            offset = mean if bias is None else write(aten.sub.Tensor, mean, bias)
            new_bias = write(aten.neg.default, write(aten.mul.Tensor, offset, factor))
            if shift is not None:
                new_bias = write(aten.add.Tensor, new_bias, shift)
        conv.args = (x, new_weight, new_bias, *rest)
        for user in list(norm.users):  # taking the first of several results
            user.replace_all_uses_with(conv)
            graph.erase_node(user)
        graph.erase_node(norm)


def lay_out_filters(graph, constant):
    """Filters of one channel each lie as the channels of the image: last, where those do. Others are read as eager's strides have them."""
    for conv in list(graph.nodes):
        if conv.op != "call_function" or conv.target is not aten.convolution.default or conv.args[1] not in constant or conv.args[6]:
            continue
        image, weight = (node.meta["val"] for node in conv.args[:2])
        channels = weight.shape[0]
        order = memory_order(conv.meta["val"])
        if weight.dim() != image.dim() or not order or order[-1] != 1 or not conv.args[8] == channels == image.shape[1] != 1:
            continue
        with graph.inserting_before(conv):
            copy = graph.call_function(aten.clone.default, (conv.args[1],))
        sizes = [*weight.shape[1:], channels]
        strides = [math.prod(sizes[i + 1:]) for i in range(len(sizes))]
        copy.meta["val"] = weight.new_empty_strided(weight.shape, (1, *strides[:-1]))
        constant.add(copy)
        conv.args = (conv.args[0], copy, *conv.args[2:])


class Forms:
    """What arithmetic and views make of tensors of known sizes. PyTorch's fake tensors take milliseconds an operation to say it. So each
    question is asked once, of tensors without elements ("meta"), and results of one form are one fake tensor."""

    def __init__(self):
        self.tensors, self.results = {}, {}

    def made(self, target, values):
        """The fake result of an operation of fake tensors and numbers."""
        first = next(v for v in values if is_tensor(v))
        if not all(isinstance(v, FakeTensor) and is_static((*v.shape, *v.stride())) for v in values if is_tensor(v)):
            return target(*values)
        forms = [form_of(v) for v in values]
        for form, value in zip(forms, values):
            if is_tensor(value):
                self.tensors.setdefault(form, value)
        key = target, *forms
        if key not in self.results:
            with unset_fake_temporarily():
                result = target(*[torch.empty_strided(v.shape, v.stride(), dtype=v.dtype, device="meta") if is_tensor(v) else v for v in values])
            form = result.dtype, first.device, tuple(result.shape), result.stride()
            if form not in self.tensors:
                self.tensors[form] = FakeTensor(first.fake_mode, result, first.device)
            self.results[key] = self.tensors[form]
        return self.results[key]


def form_of(value):
    """What the form of a result depends on."""
    return (value.dtype, value.device, tuple(value.shape), value.stride()) if is_tensor(value) else str(value)


def foldable(conv, norm, operands, constant):
    if not (isinstance(conv, torch.fx.Node) and conv.target is aten.convolution.default and len(conv.users) == 1):
        return False
    weight, bias, transposed = conv.args[1], conv.args[2], conv.args[6]
    tensors = [t for t in (weight, bias, *operands) if t is not None]
    return not transposed and all(t in constant and t.meta["val"].dtype in (torch.float32, torch.float64) for t in tensors) and \
        all(user.args[1] == 0 for user in norm.users)
