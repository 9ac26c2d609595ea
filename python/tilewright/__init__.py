"""Tilewright: tensor programs compiled for described chips.

    import tilewright

    program = tilewright.compile(open("mlp.mlir").read(), target="cpu:host")
    y = program(x, weights)

docs/python.md of the SDK is the manual.
"""

from ._version import version as __version__
from .artifact import Artifact
from .cache import Cache
from .compiler import build, compile, describe, version
from .errors import (ArgumentError, CacheError, CallError, CompileError, CompilerCrash, DeviceError, Diagnostic, Error,
                     OptionError, PackageError, SdkError)
from .package import Entry, Package, load, save
from .program import Program
from .signature import Argument, Signature

__all__ = ["Argument", "ArgumentError", "Artifact", "Cache", "CacheError", "CallError", "CompileError", "CompilerCrash",
           "DeviceError", "Diagnostic", "Entry", "Error", "OptionError", "Package", "PackageError", "Program", "SdkError",
           "Signature", "__version__", "build", "compile", "describe", "load", "save", "version"]
