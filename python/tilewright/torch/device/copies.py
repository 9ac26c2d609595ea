"""Copies between the host and the device, and on it.

Between the host and the device the region of memory from a tensor's first element to its last is copied; strides and
types are the host's work. On the device a compiled program does it: it reads the region of the source as a flat array,
and writes the elements where they belong.

    flat(source) -> as_strided -> convert -> in the order of the target's memory                     target without gaps
    flat(source) -> as_strided -> convert -> scatter into flat(target) -> copied over its region     target with gaps
"""

import functools

import torch

from . import trace
from .state import board_of

aten = torch.ops.aten
BYTES = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}


def is_dense(tensor):
    """Whether each element of the tensor's region of memory is one of its own."""
    expected = 1
    for stride, n in sorted((s, n) for s, n in zip(tensor.stride(), tensor.shape) if n != 1):
        if stride != expected:
            return False
        expected *= n
    return True


def region(tensor):
    """The elements from the first to the last in memory, as a flat tensor, which shares the memory."""
    reach = 1 + sum((n - 1) * s for n, s in zip(tensor.shape, tensor.stride()))
    return tensor.as_strided((reach, ), (1, ), tensor.storage_offset())


def to_host(tensor):
    """A tensor of the device on the host, with its strides."""
    made = torch.empty_strided(tensor.shape, tensor.stride(), dtype=tensor.dtype)
    if tensor.numel():
        torch.ops.tilewright_device.copy_region(made, tensor)
    return made


def to_device(tensor, device):
    """A tensor of the host on the device, with its strides where it has no gaps."""
    if not is_dense(tensor):
        tensor = tensor.contiguous()
    made = torch.empty_strided(tensor.shape, tensor.stride(), dtype=tensor.dtype, device=device)
    if tensor.numel():
        torch.ops.tilewright_device.copy_region(made, tensor)
    return made


def copy_from(source, target, non_blocking=False):
    """aten::_copy_from: `source` into `target`, one of them or both on the device."""
    source = source.expand(target.shape)
    if not target.numel():
        return target
    if source.device == target.device:
        copy_on_device(source, target)
    elif target.device.type == "cpu":
        target.copy_(to_host(source))
    elif source.device.type == "cpu":
        if is_dense(target):
            staged = torch.empty_strided(target.shape, target.stride(), dtype=target.dtype)
        else:  # what lies between its elements stays
            staged = to_host(target)
        staged.copy_(source)
        torch.ops.tilewright_device.copy_region(target, staged)
    else:  # from one device to another
        target.copy_(to_host(source))
    return target


def copy_from_and_resize(source, target):
    if target.shape != source.shape:
        target.resize_(source.shape)
    return copy_from(source, target)


def copy_on_device(source, target):
    if is_dense(target) and not overlap(source, target):
        strided_program(spec(source), spec(target), None,
                        board_of(target.device)).launch(source.data_ptr(), target.data_ptr())
        return
    flat = region(target)
    fresh = torch.empty_like(flat)
    program = strided_program(spec(source), spec(target), tuple(flat.shape), board_of(target.device))
    program.launch(source.data_ptr(), flat.data_ptr(), fresh.data_ptr())
    copy_flat(fresh, flat)


def overlap(one, other):
    """Whether their regions of memory may have bytes in common."""
    def bounds(t):
        first = t.data_ptr()
        return first, first + region(t).numel() * t.element_size()

    (a, b), (c, d) = bounds(one), bounds(other)
    return a < d and c < b


def copy_flat(source, target):
    """One flat region over another of its size and type."""
    count, size = source.numel(), source.element_size()
    flat_program(BYTES[size], board_of(target.device)).launch(count, source.data_ptr(), target.data_ptr())


def spec(tensor):
    return tuple(tensor.shape), tuple(tensor.stride()), tensor.dtype


@functools.lru_cache(maxsize=4096)
def strided_program(source, target, scattered, board):
    """launch(address of the source, address of the target): elements of one layout and type into another
    without gaps; with `scattered`, the length of the target's region, launch(source, region, new region)."""
    (shape, strides, dtype), (_, into, kind) = source, target
    reach = 1 + sum((n - 1) * s for n, s in zip(shape, strides))

    def write(flats):
        values = torch.as_strided(flats[0], shape, strides, 0)
        if dtype != kind:
            values = aten._to_copy(values, dtype=kind)
        if scattered is None:
            order = sorted(range(len(shape)), key=lambda i: (-into[i], shape[i] == 1, i))
            return values.permute(order).clone(memory_format=torch.contiguous_format)
        places = sum((torch.arange(n, device=values.device).mul(s).reshape([-1] + [1] * (len(shape) - 1 - i))
                      for i, (n, s) in enumerate(zip(shape, into))),
                     torch.zeros((), dtype=torch.int64, device=values.device))
        return flats[1].scatter(0, places.expand(shape).reshape(-1), values.reshape(-1))

    inputs = [((reach, ), dtype)] + ([(scattered, kind)] if scattered else [])
    return trace.program(write, inputs, board, "<copy>")


@functools.lru_cache(maxsize=64)
def flat_program(dtype, board):
    """launch(count, source, target) for elements of a width."""
    return trace.program(lambda flats: flats[0].clone(), [(("n", ), dtype)], board, "<copy>")


def local_scalar_dense(tensor):
    return to_host(tensor).reshape(()).item()


_library = None


def register():
    global _library
    _library = torch.library.Library("aten", "IMPL")
    for name, function in (("_copy_from", copy_from), ("_copy_from_and_resize", copy_from_and_resize),
                           ("_local_scalar_dense", local_scalar_dense)):
        _library.impl(name, function, "PrivateUse1")
