"""Options of the front ends that compile whole functions, checked when they are given."""

from __future__ import annotations

import dataclasses
import difflib
import os
from typing import Any, Callable, Optional

from .compiler import build, compile
from .errors import CompileError, OptionError
from .program import Program


def with_places(make: Callable[[str], Any], write: Callable[[bool], str]) -> Any:
    """What `make` gives for the text of `write(False)`. Its errors are those for the text of `write(True)`, which has
    the places of the user's program."""
    try:
        return make(write(False))
    except CompileError as error:
        try:
            make(write(True))
        except CompileError as located:
            raise located from None
        raise error from None


@dataclasses.dataclass(frozen=True)
class Options:
    """
    target    the chip that is compiled for: "cpu:host", "nvidia:H200", ... (`tw-targets` lists them)
    device    None: the host, or the device of the target; "emulator": kernels of a device with arrays of the host;
              "model"
    fp        "default" | "strict" | "reproducible" | "fast": may sums be re-associated (`tw-run --fp`)
    threads   threads of parallel loops on hosts; None: as many as this process may use
    check_indices  an index made of data that lies outside of its array is an error of the call
    """
    target: str = "cpu:host"
    device: Optional[str] = None
    fp: str = "default"
    threads: Optional[int] = None
    check_indices: bool = False

    def __post_init__(self) -> None:
        if self.threads is None:
            cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
            object.__setattr__(self, "threads", cores if self.target.startswith("cpu") else 1)

    def compile(self, write: Callable[[bool], str], name: str = "<graph>") -> Program:
        """The program of the text of `write` (`with_places`)."""
        return with_places(lambda text: compile(text, target=self.target, device=self.device, fp=self.fp,
                                                threads=self.threads, name=name, check_indices=self.check_indices), write)

    def build(self, write: Callable[[bool], str], target: str, name: str = "<graph>") -> Any:
        """The artifact of the text for a target, for a package."""
        threads = self.threads if target.startswith("cpu") else 1
        return with_places(lambda text: build(text, target=target, fp=self.fp, threads=threads, name=name,
                                              check_indices=self.check_indices), write)


#: Values that an option may have, where they can be listed.
_VALUES = {"fp": ("default", "strict", "reproducible", "fast"), "device": (None, "host", "emulator", "model")}


def read(options: dict, caller: str) -> Options:
    """Options by name; an unknown name is an error that says the nearest. `caller`: whose options they are, for
    messages."""
    known = [field.name for field in dataclasses.fields(Options)]
    for name, value in options.items():
        if name not in known:
            near = difflib.get_close_matches(name, known, 1)
            raise OptionError(f"{caller} has no option {name!r}{f'; did you mean {near[0]!r}?' if near else ''} "
                              f"(its options: {', '.join(known)})")
        if name in _VALUES and value not in _VALUES[name]:
            raise OptionError(
                f"option {name!r} of {caller} is {value!r}; it is one of {', '.join(map(repr, _VALUES[name]))}")
    return Options(**options)
