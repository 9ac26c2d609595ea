"""What a device type runs on: the emulator, this machine, or a driver. A board compiles programs and has memory."""

import ctypes
import pathlib

import torch

from ... import _sdk
from ... import device as runtime
from ...compiler import build, compile
from ...errors import DeviceError
from . import extension

#: The functions of the runtime library that a device of PyTorch is made of, in the order of `tilewright_add_device`.
FUNCTIONS = ("tw_device_allocate", "tw_device_release", "tw_device_copy_in", "tw_device_copy_out", "tw_device_wait")


class Board:
    """One chip. `compile(text)` gives a program; its `launch(*sizes, *addresses)` takes addresses of the board."""
    def __init__(self, target, plugins, fp):
        self.target, self.plugins, self.fp = target, tuple(map(str, plugins)), fp


class ProcessBoard(Board):
    """Programs on memory of this process: on the emulator, by the records ("model"), or as its code ("host")."""
    def __init__(self, target, plugins, fp, run):
        super().__init__(target, plugins, fp)
        self.run = run
        self.name = {"emulator": f"{target} on the emulator",
                     "model": f"{target} by its records"}.get(run, f"{target} as this machine")

    def add(self):
        """Makes it a device of PyTorch; its number."""
        return extension.library().tilewright_add_device(None, None, None, None, None, None)

    def compile(self, text, name, fp=None):
        threads = torch.get_num_threads() if self.run == "host" else 1
        return compile(text,
                       target=self.target,
                       device=self.run,
                       plugins=self.plugins,
                       fp=fp or self.fp,
                       threads=threads,
                       name=name)


class DriverBoard(Board):
    """A device behind a driver (tilewright/tilewright_driver.h)."""
    def __init__(self, target, plugins, fp, driver, ordinal=0):
        super().__init__(target, plugins, fp)
        lib = runtime.library()
        if driver is None:  # one that the SDK was built with
            self.handle = runtime._make(lib.tw_device_open, target.encode(), ordinal)
        else:
            self.handle = runtime._make(open_driver(lib), driver_table(driver, target), ordinal)
        self.name = lib.tw_device_name(self.handle).decode()

    def add(self):
        lib = runtime.library()
        addresses = [ctypes.cast(getattr(lib, name), ctypes.c_void_p) for name in FUNCTIONS]
        return extension.library().tilewright_add_device(self.handle, *addresses)

    def compile(self, text, name, fp=None):
        artifact = build(text, target=self.target, plugins=self.plugins, fp=fp or self.fp, name=name, output="tw")
        return runtime.DeviceProgram(artifact, device=self.handle)


def open_driver(lib):
    function = lib.tw_device_open_driver
    function.restype, function.argtypes = ctypes.c_int, (ctypes.c_void_p, ctypes.c_int, runtime._out,
                                                         runtime._error_pointer)
    return function


def driver_table(path, target):
    """The table `tw_driver_NAME` of a shared library."""
    name = f"tw_driver_{target.split(':')[0]}"
    if not pathlib.Path(path).exists():
        raise DeviceError(
            f"there is no driver {path}; build it: cc -shared -fPIC Driver.c -I $TILEWRIGHT/include -o {path}")
    try:  # the driver calls functions of the runtime library, and code of its programs calls functions of the driver
        ctypes.CDLL(str(_sdk.folder() / _sdk._RUNTIME), ctypes.RTLD_GLOBAL)
        library = ctypes.CDLL(str(path), ctypes.RTLD_GLOBAL)
        return ctypes.addressof(ctypes.c_char.in_dll(library, name))
    except OSError as error:
        raise DeviceError(f"cannot load the driver {path}: {error}") from None
    except ValueError:
        raise DeviceError(
            f"the driver {path} has no table '{name}'; it is a const tw_driver (tilewright/tilewright_driver.h)"
        ) from None
