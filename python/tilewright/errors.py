"""Errors of the package. All derive from `Error`; each message says what is wrong and what would be right."""

from __future__ import annotations

import dataclasses
from typing import Sequence


@dataclasses.dataclass(frozen=True)
class Diagnostic:
    """One message of the compiler. Lines and columns count from 1; 0 is unknown."""

    severity: str  # "note", "remark", "warning" or "error"
    file: str
    line: int
    column: int
    message: str
    notes: tuple["Diagnostic", ...] = ()

    def __str__(self) -> str:
        place = self.file
        if self.line:
            place += f":{self.line}:{self.column}" if self.column else f":{self.line}"
        text = f"{place}: {self.severity}: {self.message}" if place else f"{self.severity}: {self.message}"
        return "\n".join([text, *map(str, self.notes)])


class Error(Exception):
    """Of everything that this package raises."""


class SdkError(Error):
    """No SDK is found, or it is of another version."""


class OptionError(Error, ValueError):
    """An option, a target or a value that is not known."""


class CompileError(Error):
    """The program cannot be compiled."""

    def __init__(self, diagnostics: Sequence[Diagnostic]):
        self.diagnostics = list(diagnostics)
        shown = [d for d in self.diagnostics if d.severity == "error"] or self.diagnostics
        super().__init__("\n".join(map(str, shown)) or "the program could not be compiled")

    def __reduce__(self):
        return type(self), (self.diagnostics,)


class CompilerCrash(CompileError):
    """The compiler crashed. It runs in a process of its own from then on."""


class ArgumentError(Error, TypeError):
    """An array of another element type, shape or device than a program takes, or another number of arrays."""


class CallError(Error):
    """A call of a program failed; `status` is what the program returned."""

    def __init__(self, message: str, status: int = 0):
        super().__init__(message)
        self.status = status

    def __reduce__(self):
        return type(self), (self.args[0], self.status)


class DeviceError(Error):
    """This machine has no driver of the target, or its device is another chip than the code is for."""


class CacheError(Error, OSError):
    """The cache of compiled programs cannot be written."""


class PackageError(Error):
    """A package that is damaged, or for another machine or version."""
