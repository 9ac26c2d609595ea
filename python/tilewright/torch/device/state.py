"""The device that this process has, if any."""

import dataclasses


@dataclasses.dataclass
class Registered:
    name: str  # of the type of device
    target: str  # "TARGET[:CHIP]"
    fallback: str  # "error" or "host"
    boards: list  # of each number of the device (`boards.py`)
    kernels: tuple = ()  # what PyTorch calls, as long as it is held here


_device = None


def registered():
    """The device; None where none was registered."""
    return _device


def remember(device):
    global _device
    _device = device


def board_of(device):
    """The board of a torch.device; None where it is another type of device, or none."""
    if _device is None or device is None or device.type != _device.name:
        return None
    return _device.boards[device.index or 0]
