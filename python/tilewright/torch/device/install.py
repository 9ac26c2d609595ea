"""Registers a device with PyTorch."""

import difflib
import re

import torch

from ...errors import OptionError
from . import autocast, copies, eager, extension
from .boards import DriverBoard, ProcessBoard
from .module import module
from .state import Registered, registered, remember

RUNS = ("emulator", "model", "host", "driver")
FALLBACKS = ("error", "host")


def install(name, target, plugins, run, driver, devices, fp, fallback):
    before = registered()
    if before is not None:
        if (before.name, before.target) == (name, target):
            return before
        raise OptionError(
            f"this process has the device '{before.name}' for {before.target} already; PyTorch has one place for one "
            f"of this kind, so '{name}' needs a process of its own")
    one_of("run", run, RUNS)
    one_of("fallback", fallback, FALLBACKS)
    one_of("fp", fp, ("default", "strict", "fast"))
    check_name(name)
    if driver is not None and run != "driver":
        raise OptionError(f"driver={str(driver)!r} belongs to run='driver', but run is {run!r}")
    if not 1 <= devices <= 64:
        raise OptionError(f"devices is {devices}; it is 1 to 64")
    boards = [
        DriverBoard(target, plugins, fp, driver, i) if run == "driver" else ProcessBoard(target, plugins, fp, run)
        for i in range(devices)
    ]
    if run != "driver":
        from ...compiler import describe

        check_run(target, run, describe(target, plugins=boards[0].plugins))
    library = extension.library()
    torch.utils.rename_privateuse1_backend(name)
    for board in boards:
        board.add()
    library.tilewright_register()
    device = Registered(name, target, fallback, boards)
    remember(device)
    torch._register_device_module(name, module(device))
    torch.utils.generate_methods_for_privateuse1_backend(for_storage=True)
    copies.register()
    eager.register()
    device.kernels = autocast.register(name)
    return device


def one_of(what, value, known):
    if value not in known:
        near = difflib.get_close_matches(str(value), known, 1)
        raise OptionError(f"{what} is {value!r}{f'; did you mean {near[0]!r}?' if near else ''} It is one of "
                          f"{', '.join(map(repr, known))}")


def check_name(name):
    if not re.fullmatch(r"[a-z][a-z0-9_]*", name):
        raise OptionError(
            f"'{name}' cannot be the name of a device of PyTorch; it is a small letter, then small ones, digits or '_'"
        )
    if hasattr(torch, name):
        raise OptionError(f"'{name}' cannot be the name of a device of PyTorch, which has a torch.{name} of its own")


def check_run(target, run, chip):
    if run == "host" and chip["refusal"]:
        raise OptionError(
            f"programs of '{target}' do not run on this machine ({chip['refusal']}); take run='emulator' or run='model'"
        )
    if run == "emulator" and chip["form"] == "functions":
        raise OptionError(
            f"programs of '{target}' are functions of a processor, which nothing emulates; take run='host' or 'model'"
        )
