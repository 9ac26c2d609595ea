"""Options of the back end, checked when they are given."""

import dataclasses
import difflib

import torch

from .device import board_of, registered

#: What `mode=` of torch.compile means here. Nothing is ever tuned by running it.
MODES = {
    None: "", "default": "",
    "reduce-overhead": "launches are direct calls already",
    "max-autotune": "the cost model decides; nothing is tuned by running it",
    "max-autotune-no-cudagraphs": "the cost model decides; nothing is tuned by running it",
}


@dataclasses.dataclass(frozen=True)
class Options:
    """
    target      the chip that is compiled for: "cpu:host", "nvidia:H200", ... (`tw-targets` lists them)
    device      None: where the tensors are; "emulator": on the emulator, with tensors of the host
    fp          "default" | "strict" | "reproducible" | "fast": may sums be re-associated (`tw-run --fp`)
    strict      an operation that cannot be compiled is an error; else it runs eagerly
    threads     threads of parallel loops on hosts; None: as many as PyTorch uses
    check_indices  an index made of data that lies outside of its array is an error of the call; PyTorch's own operations at
                indices are compared anyway
    plugins     files of target plugins to load, where the target is none of the SDK's own
    freeze      what follows from parameters and buffers alone is computed once, not at each call (`freeze.py`)
    """
    target: str = "cpu:host"
    device: str = None
    fp: str = "default"
    strict: bool = False
    threads: int = None
    freeze: bool = False
    check_indices: bool = False
    plugins: tuple = ()

    def __post_init__(self):
        if self.fp not in ("default", "strict", "reproducible", "fast"):
            raise ValueError(f"option 'fp' of tilewright is {self.fp!r}; it is 'default', 'strict', 'reproducible' or 'fast'")
        if self.device not in (None, "host", "gpu", "emulator", "model") and self.board is None:
            raise ValueError(f"option 'device' of tilewright is {self.device!r}; it is None, 'host', 'gpu', 'emulator' or 'model'")
        object.__setattr__(self, "plugins", (self.plugins,) if isinstance(self.plugins, str) else tuple(map(str, self.plugins)))
        if self.threads is None:
            object.__setattr__(self, "threads", torch.get_num_threads() if self.target.startswith("cpu") else 1)


    @property
    def board(self):
        """What programs run on, where `device` is the device that this process has registered (`device/`); else None."""
        known = registered()
        return board_of(torch.device(self.device)) if known and self.device and self.device.split(":")[0] == known.name else None


def on_registered(options, device):
    """The options for tensors on a registered device: its target and plugins are the device's own."""
    known = registered()
    for name, own in (("target", known.target), ("device", known.name), ("plugins", board_of(device).plugins)):
        given, default = getattr(options, name), getattr(Options, name)
        if given not in (default, own) and not (name == "device" and given == str(device)):
            raise ValueError(f"option {name!r} of tilewright is {given!r}, but the tensors are on '{device}', a device for {known.target}; "
                             f"leave the option out")
    return dataclasses.replace(options, target=known.target, device=str(device), plugins=board_of(device).plugins)


def read(options, mode=None):
    """Options from what torch.compile was given; a name that is none is an error that says the nearest."""
    if mode not in MODES:
        raise ValueError(f"mode {mode!r} of torch.compile is not known; known are {', '.join(repr(m) for m in MODES if m)}")
    known = [field.name for field in dataclasses.fields(Options)]
    for name in options or {}:
        if name not in known:
            near = difflib.get_close_matches(name, known, 1)
            hint = f"; did you mean {near[0]!r}?" if near else ""
            raise ValueError(f"tilewright has no option {name!r}{hint} Its options are {', '.join(known)}" if not hint else
                             f"tilewright has no option {name!r}{hint} (its options: {', '.join(known)})")
    return Options(**(options or {}))
