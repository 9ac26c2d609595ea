"""Turns the stages of a graph into one Python function: it binds sizes, hands addresses to the compiled programs, runs the nodes that
stay eager, and rebuilds results that are views.

The function is written as source, so that a call does nothing that could have been decided before:

    def run(args):
        s0, v1, v2 = args
        args.clear()
        if v1.stride() != (8, 1): v1 = dense(v1, (0, 1))
        v5 = empty((s0, 4), (4, 1), f32)
        launch0(s0, v1.data_ptr(), v2.data_ptr(), v5.data_ptr())
        return [v5.as_strided((4, s0), (1, 4), 0)]
"""

import math
import operator

import torch

from ..errors import CallError
from ..emit.sizes import plain, python_source
from .device import board_of, seeds
from .freeze import Held
from .importer import is_tensor, memory_order


def dense(tensor, order):
    """The tensor with the dimensions of `order` from the outermost to the innermost in memory, without gaps; itself if it is so."""
    inner = tensor.permute(order)
    if inner.is_contiguous():
        return tensor
    return inner.contiguous().permute([order.index(i) for i in range(len(order))])


class Source:
    """The function's text and what it refers to."""

    def __init__(self):
        self.lines = ["def run(args):"]
        self.globals = {"dense": dense, "math": math}
        self.names = {}      # node -> variable
        self.symbols = {}    # symbol -> Python expression

    def line(self, text):
        self.lines.append("    " + text)

    def bind(self, value, stem):
        """A name for an object."""
        name = f"{stem}{len(self.globals)}"
        self.globals[name] = value
        return name

    def size(self, n):
        return python_source(plain(n), self.symbols)

    def tuple(self, sizes):
        return "(" + "".join(self.size(n) + ", " for n in sizes) + ")"

    def finish(self):
        exec(compile("\n".join(self.lines) + "\n", "<tilewright.torch launcher>", "exec"), self.globals)
        run = self.globals["run"]
        run._boxed_call = True
        run.source = "\n".join(self.lines)
        return run


def bind_inputs(source, placeholders):
    names = []
    for i, node in enumerate(placeholders):
        value = node.meta.get("val")
        names.append(f"v{i}")
        source.names[node] = f"v{i}"
        if isinstance(value, torch.SymInt) and getattr(plain(value), "is_Symbol", False):
            source.symbols[plain(value)] = f"v{i}"
    if names:
        source.line(", ".join(names) + ", = args")
    source.line("args.clear()")
    for node in placeholders:  # symbols that came with a tensor alone
        value = node.meta.get("val")
        if is_tensor(value):
            for i, n in enumerate(value.shape):
                n = plain(n)
                if getattr(n, "is_Symbol", False) and n not in source.symbols:
                    source.symbols[n] = f"{source.names[node]}.shape[{i}]"


def allocate(source, node, name):
    fake = node.meta["val"]
    if fake.device.type == "cpu":
        source.globals.setdefault("empty", torch._C._dynamo.guards._empty_strided_cpu)
        call = "empty({}, {}, {})"
    else:
        device = source.bind(fake.device, "device")
        source.globals.setdefault("empty_on", torch.empty_strided)
        call = "empty_on({}, {}, dtype={}, device=" + device + ")"
    strides = fake.stride()
    if memory_order(fake) is None:  # gaps: the program writes dense rows, which are copied into place
        strides = torch.empty(fake.shape, device="meta").stride()
    source.line(f"{name} = " + call.format(source.tuple(fake.shape), source.tuple(strides), source.bind(fake.dtype, "dtype")))


def call_program(source, program, inputs, scalars, seeded, outputs, sizes, indexed, device=None):
    """One compiled stage. `sizes`: Python expressions of the program's sizes; `seeded`: it takes a seed, after the scalars; `indexed`: it
    compares indices with sizes, so that a refused call is an IndexError; `device`: that of the tensors, where addresses are not those of
    the host; on PyTorch's `cuda`, launches go to its current stream."""
    there = f", device={source.bind(device, 'device')}" if device else ""
    for node in inputs:
        fake, name = node.meta["val"], source.names[node]
        order = memory_order(fake) or tuple(range(fake.dim()))
        if memory_order(fake) is None:
            source.line(f"{name}_ = dense({name}, {order})")
        else:
            source.line(f"{name}_ = {name} if {name}.stride() == {source.tuple(fake.stride())} else dense({name}, {order})")
    for symbol in scalars:
        source.globals.setdefault("tensor", torch.tensor)
        source.line(f"_{symbol} = tensor({source.symbols[symbol]}{there})")
    if seeded:
        own = board_of(device) is not None
        source.globals.setdefault("new_seed", seeds.new_seed if own else new_seed)
        name = there.split("=")[-1]
        source.line(f"seed = new_seed({name if own else ''}){f'.to({name})' if there and not own else ''}")
    for node in outputs:
        name = source.names[node] = f"r{len(source.names)}"
        allocate(source, node, name)
    addresses = [f"{source.names[n]}_.data_ptr()" for n in inputs] + [f"_{s}.data_ptr()" for s in scalars] + \
        ["seed.data_ptr()"] * seeded + bound_address(source, program, inputs) + [f"{source.names[n]}.data_ptr()" for n in outputs]
    launch = source.bind(program.launch, "launch")
    stream = []
    if device and device.type == "cuda":
        source.globals.setdefault("current_stream", torch.cuda.current_stream)
        stream = [f"stream=current_stream({there.split('=')[1]}).cuda_stream"]
    call = f"{launch}({', '.join([*sizes, *addresses, *stream])})"
    if indexed:
        source.globals.update(CallError=CallError, refused=refused)
        source.line(f"try: {call}")
        source.line("except CallError as error: raise refused(error) from None")
    else:
        source.line(call)
    for node in outputs:
        fake, name = node.meta["val"], source.names[node]
        if memory_order(fake) is None:
            source.globals.setdefault("copy_to", copy_to)
            source.line(f"{name} = copy_to({name}, {source.tuple(fake.stride())})")


def bound_address(source, program, inputs):
    """The address of what the program computes of its constant arguments alone, if anything: computed at the first call, and when one
    of them is another tensor or was written to."""
    bind = program.signature.bind
    if bind is None:
        return []
    constants = [inputs[i] for i in program.signature.bind_inputs]
    orders = [memory_order(n.meta["val"]) or tuple(range(n.meta["val"].dim())) for n in constants]

    def compute(tensors):
        bytes = torch.empty(bind.results[0].fixed, dtype=torch.int8)
        arrays = [dense(tensor, order) for tensor, order in zip(tensors, orders)]
        program.bind(*(array.data_ptr() for array in (*arrays, bytes)))
        return bytes
    held = source.bind(Held(compute), "bound")
    return [f"{held}([{', '.join(source.names[n] for n in constants)}]).data_ptr()"]


def refused(error):
    """What a call of a program that reads at computed indices says where it is refused."""
    return IndexError(str(error)) if error.status in (1, 9) else error


def new_seed():
    """64 bits from PyTorch's generator."""
    return torch.randint(-2**63, 2**63 - 1, (), dtype=torch.int64)


def copy_to(tensor, strides):
    """The tensor in a memory of these strides, which leave gaps, or are 0 where elements are one in memory."""
    result = torch.empty_strided(tensor.shape, strides, dtype=tensor.dtype, device=tensor.device)
    target = result
    for axis, stride in enumerate(strides):
        if stride == 0 and tensor.shape[axis] > 1:
            target, tensor = target.narrow(axis, 0, 1), tensor.narrow(axis, 0, 1)
    target.copy_(tensor)
    return result


def call_eager(source, node):
    """One node as PyTorch runs it."""
    name = source.names[node] = f"r{len(source.names)}"

    def text(argument):
        if isinstance(argument, torch.fx.Node):
            if argument in source.names:
                return source.names[argument]
            return source.size(argument.meta["val"])
        if isinstance(argument, list):
            return "[" + ", ".join(map(text, argument)) + "]"
        if isinstance(argument, tuple):  # operations with graphs as arguments tell the two apart
            return "(" + "".join(text(a) + ", " for a in argument) + ")"
        if isinstance(argument, slice):
            return f"slice({text(argument.start)}, {text(argument.stop)}, {text(argument.step)})"
        if isinstance(argument, torch.SymInt):
            return source.size(argument)
        if isinstance(argument, (int, str, bool, type(None))):
            return repr(argument)
        return source.bind(argument, "constant")
    if node.target is operator.getitem:
        source.line(f"{name} = {text(node.args[0])}[{node.args[1]}]")
        if is_tensor(node.meta.get("val")) and any(plain(n) == 0 for n in node.meta["val"].shape):  # some kernels give nothing for it
            source.globals.setdefault("empty_tensor", torch.empty(0, dtype=node.meta["val"].dtype))
            source.line(f"{name} = empty_tensor if {name} is None else {name}")
        return
    target = source.bind(node.target, "op")
    arguments = [text(a) for a in node.args] + [f"{k}={text(v)}" for k, v in node.kwargs.items()]
    source.line(f"{name} = {target}({', '.join(arguments)})")
    value = node.meta.get("val")
    if isinstance(value, torch.SymInt) and getattr(plain(value), "is_Symbol", False):
        source.symbols[plain(value)] = name
