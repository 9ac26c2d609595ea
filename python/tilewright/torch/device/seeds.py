"""Where the random numbers of a device come from: each call of a program takes 64 bits of a generator of the device."""

import contextlib
import threading

import torch

_local = threading.local()


@contextlib.contextmanager
def drawn_from(generator):
    """Programs that this thread starts take their seeds from this generator; None: from the device's own."""
    before = getattr(_local, "generator", None)
    _local.generator = generator
    try:
        yield
    finally:
        _local.generator = before


def number(device):
    return torch.ops.tilewright_device.draw_seed(getattr(_local, "generator", None), device)


def new_seed(device):
    """One seed as a tensor of the device."""
    from . import copies

    return copies.to_device(torch.tensor(number(device), dtype=torch.int64), device)
