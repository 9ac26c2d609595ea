"""The C interface of the compiler (tilewright/tilewright_compiler.h) through ctypes."""

from __future__ import annotations

import collections
import ctypes
import dataclasses
import functools
import json
import os
import threading
import weakref
from typing import Any, BinaryIO, Callable, Mapping, Optional, Sequence

from . import _sdk
from .errors import CallError, CompileError, CompilerCrash, Diagnostic, OptionError

_OK, _BAD_OPTION, _BAD_PROGRAM, _CRASHED, _BAD_CALL = range(5)
_SEVERITIES = ("note", "remark", "warning", "error")
_pointer = ctypes.c_void_p


class _Diagnostic(ctypes.Structure):
    _fields_ = [("severity", ctypes.c_int), ("file", ctypes.c_char_p), ("line", ctypes.c_int64),
                ("column", ctypes.c_int64), ("message", ctypes.c_char_p)]


_FUNCTIONS: dict[str, tuple[Any, tuple[Any, ...]]] = {
    "twc_version": (ctypes.c_char_p, ()),
    "twc_llvm_version": (ctypes.c_char_p, ()),
    "twc_options_create": (_pointer, ()),
    "twc_options_destroy": (None, (_pointer,)),
    "twc_options_set": (ctypes.c_int, (_pointer, ctypes.c_char_p, ctypes.c_char_p, ctypes.POINTER(_pointer))),
    "twc_compile": (ctypes.c_int, (_pointer, ctypes.c_char_p, ctypes.c_char_p, ctypes.c_size_t, ctypes.POINTER(_pointer))),
    "twc_result_artifact": (_pointer, (_pointer, ctypes.POINTER(ctypes.c_size_t))),
    "twc_result_write": (ctypes.c_int, (_pointer, ctypes.c_int)),
    "twc_result_signatures": (ctypes.c_char_p, (_pointer,)),
    "twc_result_header": (ctypes.c_char_p, (_pointer,)),
    "twc_result_explanation": (ctypes.c_char_p, (_pointer,)),
    "twc_result_diagnostics": (ctypes.c_size_t, (_pointer,)),
    "twc_result_diagnostic": (ctypes.c_int, (_pointer, ctypes.c_size_t, ctypes.POINTER(_Diagnostic))),
    "twc_result_destroy": (None, (_pointer,)),
    "twc_describe": (ctypes.c_int, (_pointer, ctypes.POINTER(_pointer))),
    "twc_program_create": (_pointer, (_pointer, ctypes.c_char_p, ctypes.c_char_p, ctypes.c_size_t, ctypes.POINTER(_pointer))),
    "twc_program_call": (ctypes.c_int, (_pointer, _pointer, ctypes.c_size_t, _pointer, ctypes.c_size_t,
                                        ctypes.POINTER(_pointer))),
    "twc_program_destroy": (None, (_pointer,)),
}


@functools.lru_cache(maxsize=None)
def library() -> ctypes.CDLL:
    loaded = _sdk.load_compiler()
    for name, (result, arguments) in _FUNCTIONS.items():
        function = getattr(loaded, name)
        function.restype, function.argtypes = result, arguments
    return loaded


def _text(value: Optional[bytes]) -> str:
    return (value or b"").decode("utf-8", "replace")


class _Result:
    """A twc_result for the length of a `with`."""

    def __init__(self) -> None:
        self.address = _pointer()

    def __enter__(self) -> "_Result":
        return self

    def __exit__(self, *_: object) -> None:
        if self.address:
            library().twc_result_destroy(self.address)

    def diagnostics(self) -> list[Diagnostic]:
        lib, found, one = library(), [], _Diagnostic()
        if not self.address:
            return []
        for index in range(lib.twc_result_diagnostics(self.address)):
            lib.twc_result_diagnostic(self.address, index, ctypes.byref(one))
            message = Diagnostic(_SEVERITIES[one.severity], _text(one.file), one.line, one.column, _text(one.message))
            if message.severity == "note" and found:
                found[-1] = dataclasses.replace(found[-1], notes=found[-1].notes + (message,))
            else:
                found.append(message)
        return found

    def check(self, status: int) -> None:
        if status == _OK:
            return
        messages = self.diagnostics()
        if status == _BAD_OPTION:
            raise OptionError("\n".join(message.message for message in messages))
        if status == _BAD_CALL:
            raise CallError("\n".join(message.message for message in messages), 1)
        raise (CompilerCrash if status == _CRASHED else CompileError)(messages)


class _Options:
    """twc_options for the length of a `with`, from names and values; a list sets its name several times."""

    def __init__(self, options: Mapping[str, Any]) -> None:
        self.address = library().twc_options_create()
        try:
            # Plugins first: a target may be theirs.
            for name in sorted(options, key=lambda name: name != "plugin"):
                value = options[name]
                for each in value if isinstance(value, (list, tuple)) else [value]:
                    with _Result() as result:
                        result.check(library().twc_options_set(self.address, name.encode(), str(each).encode(),
                                                               ctypes.byref(result.address)))
        except BaseException:
            library().twc_options_destroy(self.address)
            raise

    def __enter__(self) -> int:
        return self.address

    def __exit__(self, *_: object) -> None:
        library().twc_options_destroy(self.address)


@dataclasses.dataclass
class Compiled:
    """What one compilation leaves."""

    artifact: bytes
    signatures: list[dict]
    header: str
    explanation: str
    diagnostics: list[Diagnostic]


def compile(text: bytes, name: str, options: Mapping[str, Any],
            keep: Optional[Callable[[Callable[[BinaryIO], None], list[dict]], Any]] = None) -> Compiled:
    """Compiles. `keep` gets what writes the artifact to a file, which works for the length of the call, and the signatures; then the
    result has no copy of the artifact, which may have constants of many megabytes."""
    lib = library()
    with _Options(options) as chosen, _Result() as result:
        result.check(lib.twc_compile(chosen, name.encode(), text, len(text), ctypes.byref(result.address)))
        signatures = json.loads(lib.twc_result_signatures(result.address))
        contents = b""
        if keep is not None:
            keep(functools.partial(_write, result), signatures)
        else:
            size = ctypes.c_size_t()
            artifact = lib.twc_result_artifact(result.address, ctypes.byref(size))
            contents = ctypes.string_at(artifact, size.value) if artifact else b""
        return Compiled(contents, signatures, _text(lib.twc_result_header(result.address)),
                        _text(lib.twc_result_explanation(result.address)), result.diagnostics())


def _write(result: _Result, file: BinaryIO) -> None:
    file.flush()
    error = library().twc_result_write(result.address, file.fileno())
    if error:
        raise OSError(error, os.strerror(error))


def describe(target: str, plugins: Sequence[str] = ()) -> str:
    with _Options({"target": target, "plugin": list(plugins)}) as chosen, _Result() as result:
        result.check(library().twc_describe(chosen, ctypes.byref(result.address)))
        return _text(library().twc_result_explanation(result.address))


class _Handle:
    """A twc_program; it goes when nobody calls it any more."""

    def __init__(self, text: bytes, name: str, options: Mapping[str, Any]) -> None:
        lib = library()
        self.address = None
        with _Options(options) as chosen, _Result() as result:
            address = lib.twc_program_create(chosen, name.encode(), text, len(text), ctypes.byref(result.address))
            if not address:
                result.check(_status(result))
            self.address = address
            self.signature = json.loads(lib.twc_result_signatures(result.address))[0]
            self.diagnostics = result.diagnostics()

    def __del__(self) -> None:
        if self.address and library is not None:  # else the interpreter ends
            library().twc_program_destroy(self.address)


#: An emulated program takes addresses below 4 GiB for its scratchpads, of which a process has enough for some fifty. So these
#: many stay loaded, those that were called last; others are compiled again when they are called.
_MOST_EMULATED = 40
_emulated: "collections.OrderedDict[int, weakref.ref[LoadedProgram]]" = collections.OrderedDict()
_emulated_lock = threading.RLock()  # a finaliser may come in between


class LoadedProgram:
    """A program in this process, as code of it or on the emulator of kernels."""

    def __init__(self, text: bytes, name: str, options: Mapping[str, Any]) -> None:
        self._source = text, name, dict(options)
        self._is_emulated = options.get("device") == "emulator"
        self._handle: Optional[_Handle] = None
        handle = self._loaded()
        self.signature, self.diagnostics = handle.signature, handle.diagnostics
        self._sizes = self.signature["sizes"]
        self._slots = ctypes.c_int64 * max(1, self._sizes)
        self._arrays = _pointer * max(1, len(self.signature["arguments"]))

    def _loaded(self) -> _Handle:
        handle = self._handle
        if not self._is_emulated:
            if handle is None:
                handle = self._handle = _Handle(*self._source)
            return handle
        with _emulated_lock:
            if self._handle is None:
                self._handle = _Handle(*self._source)
            _emulated[id(self)] = weakref.ref(self)
            _emulated.move_to_end(id(self))
            while len(_emulated) > _MOST_EMULATED:
                oldest = _emulated.popitem(last=False)[1]()
                if oldest is not None:
                    oldest._handle = None
            return self._handle

    def call(self, *slots: int) -> None:
        """Sizes, then addresses."""
        self.learn(list(slots[: self._sizes]), slots[self._sizes:])

    def learn(self, sizes: list[int], addresses: Sequence[int]) -> bool:
        """The same; where the program makes other sizes of its data than these, they are in `sizes`: then False."""
        slots = self._slots(*sizes)
        handle = self._loaded()
        with _Result() as result:
            status = library().twc_program_call(handle.address, slots, len(sizes), self._arrays(*addresses), len(addresses),
                                                ctypes.byref(result.address))
            made = list(slots[: len(sizes)])
            if status == _BAD_CALL and made != sizes:
                sizes[:] = made
                return False
            result.check(status)
        return True


def _status(result: _Result) -> int:
    function = library().twc_result_status
    function.restype, function.argtypes = ctypes.c_int, (_pointer,)
    return function(result.address) or _BAD_PROGRAM
