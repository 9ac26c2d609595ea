"""Operations on tensors of a device, one at a time. Each is compiled once for shapes, strides and types of tensors.

    torch.add(x, y)  ->  (aten::add.Tensor, f32[8, 4], f32[4])  ->  function of two tensors (`backend.compile_graph`)

What an operation writes to (`add_`, `out=`) becomes a result, which is copied there.
"""

import functools

import torch
import torch.utils._pytree as pytree
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.fx.experimental.proxy_tensor import make_fx

from .. import decompositions, registry
from . import copies, seeds
from .state import registered
from .trace import in_own_thread

aten = torch.ops.aten

#: Operations whose results' sizes follow from data, or that give numbers: the host looks at the data anyway.
ON_HOST = {
    "aten::nonzero", "aten::nonzero_static", "aten::masked_select", "aten::_unique2", "aten::unique_dim",
    "aten::unique_consecutive", "aten::equal", "aten::repeat_interleave.Tensor", "aten::randperm.generator_out",
    "aten::bincount", "aten::histc", "aten::is_set_to"
}
#: What PyTorch composes of others on every device, or what is native (`privateuse1.cpp`, `copies.py`).
COMPOSED = {
    "clone", "_to_copy", "copy", "contiguous", "lift_fresh", "lift_fresh_copy", "empty", "empty_like", "empty_permuted",
    "empty_strided", "new_empty", "new_empty_strided", "zeros", "zeros_like", "new_zeros", "ones", "ones_like",
    "new_ones", "full", "full_like", "new_full", "scalar_tensor", "rand", "rand_like", "randn", "randn_like", "randint",
    "randint_like", "arange", "linspace", "eye", "tril_indices", "triu_indices", "alias", "detach", "_unsafe_view",
    "_reshape_alias", "view", "unfold", "as_strided"
}
_entries = {}
_library = _fallback = None


def register():
    """Emitters first: PyTorch would take some operations apart that are compiled whole."""
    global _library, _fallback
    registry.load()
    _library = torch.library.Library("aten", "IMPL")
    for name in sorted(registry.EMITTERS):
        space, _, rest = name.partition("::")
        packet, _, overload = rest.partition(".")
        if space != "aten" or packet in COMPOSED:
            continue
        op = getattr(getattr(aten, packet, None), overload or "default", None)
        if op is None or is_view(op) or has_kernel(op, "CompositeImplicitAutograd") or has_kernel(op, "PrivateUse1"):
            continue
        _library.impl(op, functools.partial(call, op), "PrivateUse1")
    _fallback = torch.library.Library("_", "IMPL")
    _fallback.fallback(call, "PrivateUse1")


def has_kernel(op, key):
    return torch._C._dispatch_has_kernel_for_dispatch_key(op.name(), key)


def is_view(op):
    return any(r.alias_info is not None and not r.alias_info.is_write for r in op._schema.returns)


def call(op, *args, **kwargs):
    """One operation with tensors of the device among its arguments, or made on it."""
    leaves, structure = pytree.tree_flatten((args, kwargs))
    device = device_of(leaves)
    generator, leaves = without_generator(leaves)
    if registry.name_of(op) in ON_HOST or chooses(op, leaves):
        return on_host(op, leaves, structure, device, generator)
    leaves = numbers_as_tensors(op, beside(op, leaves, device), structure, device)
    key = (op, device, structure, tuple(map(describe, leaves)), same_tensors(leaves))
    entry = _entries.get(key)
    if entry is None:
        entry = _entries[key] = make(op, leaves, structure, device)
    with seeds.drawn_from(generator):
        return entry(leaves)


def device_of(leaves):
    """The device that the arguments name, or the current one of the type."""
    name = registered().name
    for leaf in leaves:
        found = leaf.device if isinstance(leaf, torch.Tensor) else leaf if isinstance(leaf, torch.device) else None
        if found is not None and found.type == name and found.index is not None:
            return found
    return torch.device(name, torch.get_device_module(name).current_device())


def without_generator(leaves):
    generator = next((leaf for leaf in leaves if isinstance(leaf, torch.Generator)), None)
    return generator, [None if isinstance(leaf, torch.Generator) else leaf for leaf in leaves]


def beside(op, leaves, device):
    """The arguments on one device. Single numbers of the host may stand beside tensors of the device, and indices."""
    first = next((leaf for leaf in leaves if isinstance(leaf, torch.Tensor) and leaf.device == device), None)
    return [
        on_device(op, leaf, device, first) if isinstance(leaf, torch.Tensor) and leaf.device != device else leaf
        for leaf in leaves
    ]


def on_device(op, tensor, device, first):
    if tensor.device.type != "cpu" or (tensor.dim() and "index" not in registry.name_of(op)):
        raise RuntimeError(
            f"{registry.name_of(op)}: a tensor of shape {tuple(tensor.shape)} is on {tensor.device}, another on "
            f"{device}; an operation takes tensors of one device: move it with .to('{device}')")
    return copies.to_device(tensor, device)


def chooses(op, leaves):
    """Whether it reads or writes where a mask is true."""
    return "index" in registry.name_of(op) and any(
        isinstance(x, torch.Tensor) and x.dtype in (torch.bool, torch.uint8) for x in leaves[1:])


# Numbers are arguments of the program, so that it serves all of them

#: Operations with a number in terms of tensors. The number is the first argument, then come those before it.
SCALED = {
    ("add", "alpha"): lambda n, x, y: x + y * n,
    ("sub", "alpha"): lambda n, x, y: x - y * n,
    ("addcmul", "value"): lambda n, x, y, z: x + y * z * n,
    ("addcdiv", "value"): lambda n, x, y, z: x + y / z * n,
    ("fill_", "value"): lambda n, x: n.expand(x.shape),
    ("fill", "value"): lambda n, x: n.expand(x.shape),
}
#: Types in which a number can be an argument. Narrow floats are computed in a wider type, which keeps all of it.
WIDE = (torch.float32, torch.float64, torch.int32, torch.int64)


def numbers_as_tensors(op, leaves, structure, device):
    """Numbers in the place of tensors, and those of SCALED, as tensors of the device."""
    if not any(type(leaf) in (float, int) for leaf in leaves):
        return leaves
    first = next((leaf for leaf in leaves if isinstance(leaf, torch.Tensor)), None)
    if first is None or first.dtype not in WIDE:
        return leaves
    packet = registry.name_of(op).split("::")[1].split(".")[0]
    args, kwargs = pytree.tree_unflatten(leaves, structure)
    args = list(args)
    for position, argument in enumerate(op._schema.arguments):
        place, name = (args, position) if position < len(args) and not argument.kwarg_only else (kwargs, argument.name)
        value = place[name] if place is args else kwargs.get(name)
        if type(value) not in (float, int) or (type(value) is float and not first.dtype.is_floating_point):
            continue
        if str(argument.type) == "Tensor" or (value != 1 and (packet, argument.name) in SCALED):
            place[name] = copies.to_device(torch.tensor(value, dtype=first.dtype), device)
    return pytree.tree_flatten((tuple(args), kwargs))[0]


def in_terms_of_tensors(op, args, kwargs):
    """The call of an operation of SCALED whose number is a tensor; None for others."""
    packet = registry.name_of(op).split("::")[1].split(".")[0]
    names = [a.name for a in op._schema.arguments]
    values = {**dict(zip(names, args)), **kwargs}
    found = next((n for n in names if (packet, n) in SCALED and isinstance(values.get(n), torch.Tensor)), None)
    if found is None or registry.name_of(op).startswith("aten::fill") and op._overloadname == "Tensor":
        return None
    made = SCALED[packet, found](values[found], *(values[n] for n in names[:names.index(found)]))
    target = next((values[a.name] for a in op._schema.arguments if alias_set(a)), None)
    return made if target is None else target.copy_(made)


def describe(leaf):
    """What the code depends on."""
    if isinstance(leaf, torch.Tensor):
        return leaf.dtype, tuple(leaf.shape), leaf.stride(), leaf.is_neg() or leaf.is_conj()
    return type(leaf), leaf


def same_tensors(leaves):
    """Which of the tensors are one."""
    tensors = [leaf for leaf in leaves if isinstance(leaf, torch.Tensor)]
    return tuple(next(i for i, other in enumerate(tensors) if other is tensor) for tensor in tensors)


class Entry:
    """One operation for one signature. `run` takes the tensors; its first results belong into those of `written`."""
    def __init__(self, op, run, places, written, structure, results):
        self.op, self.run, self.places, self.written = op, run, places, written
        self.structure, self.results = structure, results  # of the arguments, and of the new results

    def __call__(self, leaves):
        tensors = [leaves[i] for i in self.places]
        made = self.run(list(tensors))
        for number, value in zip(self.written, made):
            if tensors[number].shape != value.shape:  # a result of `out=`, which PyTorch lets have another size
                tensors[number].resize_(value.shape)
            copies.copy_from(value, tensors[number])
        return self.returned(leaves, made[len(self.written):])

    def returned(self, leaves, made):
        """As the schema says it: what is written to is returned itself."""
        given = arguments_by_set(self.op, *pytree.tree_unflatten(leaves, self.structure))
        made = iter(pytree.tree_unflatten(made, self.results))
        values = [given[alias] if alias else next(made) for alias in map(alias_set, self.op._schema.returns)]
        return values[0] if len(values) == 1 else tuple(values) if values else None


def alias_set(part):
    """The name under which a schema's argument or result is written to; None where it is not."""
    info = part.alias_info
    return next(iter(info.before_set)) if info is not None and info.is_write else None


def arguments_by_set(op, args, kwargs):
    """The arguments that are written to, by the name of their set."""
    found = {}
    for position, argument in enumerate(op._schema.arguments):
        if alias_set(argument):
            by_position = position < len(args) and not argument.kwarg_only
            found[alias_set(argument)] = args[position] if by_position else kwargs.get(argument.name)
    return found


def make(op, leaves, structure, device):
    """The function of the leaves that runs the operation."""
    from ..backend import UnsupportedError, compile_graph
    from ..options import Options

    places = [i for i, leaf in enumerate(leaves) if isinstance(leaf, torch.Tensor)]
    try:
        if any(leaves[i].is_conj() or leaves[i].is_neg() for i in places):
            raise UnsupportedError("a conjugated or negated view is not compiled")
        module, results = in_own_thread(traced, op, leaves, places, structure)
        written = take_copies(module.graph)
        module.recompile()
        run = compile_graph(module, Options(target=registered().target, device=str(device), strict=True, threads=1))
    except (UnsupportedError, NotImplementedError) as error:
        if registered().fallback == "host":
            return functools.partial(run_on_host, op, structure, device)
        raise NotImplementedError(missing(op, error, device)) from None
    return Entry(op, run, places, written, structure, results)


def traced(op, leaves, places, structure):
    """The graph of the operation for tensors like these, in what is compiled; the structure of its results."""
    resize_results(op, leaves, structure)
    mode = FakeTensorMode()
    converted = {}
    for i in places:  # one tensor given twice is one in the graph, too
        if id(leaves[i]) not in converted:
            converted[id(leaves[i])] = mode.from_tensor(leaves[i].detach())
    fakes = [converted[id(leaves[i])] for i in places]
    found = []

    def function(*tensors):
        values = list(leaves)
        for i, tensor in zip(places, tensors):
            values[i] = tensor
        args, kwargs = pytree.tree_unflatten(values, structure)
        made = in_terms_of_tensors(op, args, kwargs)
        made = op(*args, **kwargs) if made is None else made
        returns = op._schema.returns
        made = [made] if len(returns) == 1 else list(made) if returns else []
        flat, spec = pytree.tree_flatten([value for value, r in zip(made, returns) if not alias_set(r)])
        found[:] = [spec]
        return flat

    with mode:
        module = make_fx(torch.func.functionalize(function, remove="mutations"), decomposition_table=table())(*fakes)
    return module, found[0]


@functools.lru_cache(None)
def table():
    """What the operations are taken apart into; beside that of graphs, what only eager programs call."""
    return {
        **decompositions.table(), aten._index_put_impl.default: index_put,
        getattr(aten.random, "from"): random_between,
        aten.random.to: lambda x, high, generator=None: random_between(x, 0, high), aten.random.default: random_between
    }


def index_put(x, indices, values, accumulate=False, unsafe=False):
    return aten.index_put(x, indices, values, accumulate)


def random_between(x, low=0, high=None, generator=None):
    if high is None:  # all that the type tells apart
        digits = {torch.float64: 53, torch.float32: 24, torch.float16: 11, torch.bfloat16: 8, torch.bool: 0}
        high = 2**digits[x.dtype] + 1 if x.dtype in digits else torch.iinfo(x.dtype).max
    return aten.randint.low(low, high, list(x.shape), dtype=x.dtype, device=x.device)


def resize_results(op, leaves, structure):
    """Gives tensors of `out=` the sizes that the operation makes, as PyTorch does."""
    outs = [a.name for a in op._schema.arguments if alias_set(a) and a.kwarg_only]
    if not outs:
        return
    mode = FakeTensorMode()
    fakes = [mode.from_tensor(x.detach()) if isinstance(x, torch.Tensor) else x for x in leaves]
    args, kwargs = pytree.tree_unflatten(fakes, structure)
    with mode:
        if in_terms_of_tensors(op, args, kwargs) is None:
            op(*args, **kwargs)
    real = pytree.tree_unflatten(leaves, structure)[1]
    for name in outs:
        if isinstance(real.get(name), torch.Tensor) and real[name].shape != kwargs[name].shape:
            real[name].resize_(kwargs[name].shape)


def take_copies(graph):
    """Turns writes to inputs into results, the first ones. Their numbers among the inputs."""
    placeholders = [n for n in graph.nodes if n.op == "placeholder"]
    output = next(n for n in graph.nodes if n.op == "output")
    written = {}
    for node in list(graph.nodes):
        if node.op == "call_function" and node.target is aten.copy_.default and node.args[0] in placeholders:
            written[placeholders.index(node.args[0])] = node.args[1]
            node.replace_all_uses_with(node.args[1])
            graph.erase_node(node)
    output.args = ([*written.values(), *output.args[0]], )
    return list(written)


# What is not compiled


def missing(op, error, device):
    reason = str(error).removeprefix("tilewright cannot compile this graph (strict=True):").split(
        "\nWithout strict=True")[0].strip()
    return (
        f"{registry.name_of(op)} does not run on '{device}': {reason}. What helps: move its tensors to the host for it "
        f"(x.cpu()); register the device with fallback='host', so that this happens by itself; or write an emitter of "
        f"the operation (tilewright/torch/ops_*.py). docs/pytorch-operations.md lists what is compiled")


def on_host(op, leaves, structure, device, generator):
    """An operation that needs the data itself: on copies on the host, with random numbers of its seed."""
    with seeds.drawn_from(generator):
        needs = any(a.name == "generator" for a in op._schema.arguments)
        source = torch.Generator().manual_seed(seeds.number(device) & (2**63 - 1)) if needs else None
    return run_on_host(op, structure, device, leaves, source)


def run_on_host(op, structure, device, leaves, generator=None):
    there = [
        copies.to_host(leaf) if isinstance(leaf, torch.Tensor) and leaf.device.type != "cpu" else
        torch.device("cpu") if isinstance(leaf, torch.device) else leaf for leaf in leaves
    ]
    args, kwargs = pytree.tree_unflatten(there, structure)
    if generator is not None:
        kwargs["generator"] = generator
        args = args[:next(i for i, a in enumerate(op._schema.arguments) if a.name == "generator")]
    made = op(*args, **kwargs)
    mine, theirs = arguments_by_set(op, *pytree.tree_unflatten(leaves, structure)), arguments_by_set(op, args, kwargs)
    for name, target in mine.items():
        if isinstance(target, torch.Tensor):
            if target.shape != theirs[name].shape:
                target.resize_(theirs[name].shape)
            copies.copy_from(theirs[name], target)
    returns = op._schema.returns
    values = [made] if len(returns) == 1 else list(made) if returns else []
    values = [
        mine[alias_set(r)]
        if alias_set(r) else pytree.tree_map_only(torch.Tensor, lambda t: copies.to_device(t, device), value)
        for value, r in zip(values, returns)
    ]
    return values[0] if len(values) == 1 else tuple(values) if values else None
