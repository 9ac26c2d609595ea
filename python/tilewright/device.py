"""Programs on a device of this machine, through the runtime library (tilewright/tilewright_runtime.h) and the driver."""

from __future__ import annotations

import ctypes
import functools
import threading
from typing import Any, Mapping, Optional, Sequence

import numpy as np

from . import _sdk, arrays
from .artifact import Artifact
from .errors import ArgumentError, CallError, DeviceError, PackageError
from .program import Program
from .signature import Signature

_pointer = ctypes.c_void_p
_BAD_SIZES, _NO_MEMORY, _DEVICE_ERROR, _BAD_FILE, _BAD_VERSION, _WRONG_CHIP, _NO_DRIVER, _BAD_ARGUMENT = range(1, 9)


class _Error(ctypes.Structure):
    _fields_ = [("status", ctypes.c_int), ("message", ctypes.c_char * 1020)]


_error_pointer = ctypes.POINTER(_Error)
_out = ctypes.POINTER(_pointer)
_FUNCTIONS: dict[str, tuple[Any, tuple[Any, ...]]] = {
    "tw_artifact_parse": (ctypes.c_int, (ctypes.c_char_p, ctypes.c_size_t, _out, _error_pointer)),
    "tw_artifact_close": (None, (_pointer,)),
    "tw_artifact_program": (_pointer, (_pointer, ctypes.c_char_p)),
    "tw_artifact_target": (ctypes.c_char_p, (_pointer,)),
    "tw_program_bytes": (ctypes.c_int, (_pointer, ctypes.c_size_t, _pointer, ctypes.POINTER(ctypes.c_int64), _error_pointer)),
    "tw_device_open": (ctypes.c_int, (ctypes.c_char_p, ctypes.c_int, _out, _error_pointer)),
    "tw_device_close": (None, (_pointer,)),
    "tw_device_name": (ctypes.c_char_p, (_pointer,)),
    "tw_device_allocate": (ctypes.c_int, (_pointer, ctypes.c_int64, _out, _error_pointer)),
    "tw_device_release": (None, (_pointer, _pointer)),
    "tw_device_copy_in": (ctypes.c_int, (_pointer, _pointer, _pointer, ctypes.c_int64, _error_pointer)),
    "tw_device_copy_out": (ctypes.c_int, (_pointer, _pointer, _pointer, ctypes.c_int64, _error_pointer)),
    "tw_device_wait": (ctypes.c_int, (_pointer, _pointer, _error_pointer)),
    "tw_module_load": (ctypes.c_int, (_pointer, _pointer, _out, _error_pointer)),
    "tw_module_unload": (None, (_pointer,)),
    "tw_launch": (ctypes.c_int, (_pointer, _pointer, _pointer, _pointer, _pointer, _pointer, _error_pointer)),
}


@functools.lru_cache(maxsize=None)
def library() -> ctypes.CDLL:
    loaded = _sdk.load_runtime()
    for name, (result, arguments) in _FUNCTIONS.items():
        function = getattr(loaded, name)
        function.restype, function.argtypes = result, arguments
    return loaded


def _check(status: int, error: _Error) -> None:
    if status == 0:
        return
    message = error.message.decode("utf-8", "replace")
    if status in (_BAD_FILE, _BAD_VERSION):
        raise PackageError(message)
    if status in (_WRONG_CHIP, _NO_DRIVER):
        raise DeviceError(f"{message}; device='emulator' runs the program on arrays of the host")
    raise CallError(message, status)


def _make(function: Any, *arguments: Any) -> _pointer:
    """What a function gives by its last parameter but one."""
    result, error = _pointer(), _Error()
    _check(function(*arguments, ctypes.byref(result), ctypes.byref(error)), error)
    return result


class DeviceCode:
    """The kernels of an artifact on a device."""

    def __init__(self, artifact: Artifact, ordinal: int, weights: Mapping[int, np.ndarray],
                 device: Optional[_pointer] = None) -> None:
        """`weights`: arrays for arguments by position, which are copied to the device once; calls pass the others. `device`: an
        open one of the caller's, in place of number `ordinal`."""
        lib = library()
        signature = artifact.signature
        self._sizes = signature.sizes
        self._size_slots = ctypes.c_int64 * max(1, signature.sizes)
        self._array_slots = _pointer * max(1, len(signature.arguments))
        self._arguments = signature.arguments
        self._free = [n for n in range(len(signature.arguments)) if n not in weights]
        self._template = [0] * len(signature.arguments)
        self._memory: list[_pointer] = []
        self._lock = threading.Lock() # a module is used by one thread at a time
        self._artifact = self._device = self._module = None
        self._is_mine = device is None
        contents = artifact.bytes
        self._artifact = _make(lib.tw_artifact_parse, contents, len(contents))
        self._program = lib.tw_artifact_program(self._artifact, None)
        self._device = _make(lib.tw_device_open, lib.tw_artifact_target(self._artifact), ordinal) if device is None else device
        self._module = _make(lib.tw_module_load, self._device, self._artifact)
        self.name = lib.tw_device_name(self._device).decode()
        for position, array in weights.items():
            error = _Error()
            self._memory.append(_make(lib.tw_device_allocate, self._device, array.nbytes))
            _check(lib.tw_device_copy_in(self._device, self._memory[-1], array.ctypes.data, array.nbytes, ctypes.byref(error)),
                   error)
            self._template[position] = self._memory[-1].value or 0

    def __del__(self) -> None:
        if library is None:  # the interpreter ends
            return
        lib = library()
        for memory in self._memory:
            lib.tw_device_release(self._device, memory)
        if self._module:
            lib.tw_module_unload(self._module)
        if self._device and self._is_mine:
            lib.tw_device_close(self._device)
        if self._artifact:
            lib.tw_artifact_close(self._artifact)

    def launch(self, *slots: int, stream: int = 0) -> None:
        """Starts the program on arrays of the device, on a stream of the driver, and returns."""
        error = _Error()
        arrays = self._template.copy()
        for position, address in zip(self._free, slots[self._sizes:]):
            arrays[position] = address
        sizes, addresses = self._size_slots(*slots[: self._sizes]), self._array_slots(*arrays)
        with self._lock:
            status = library().tw_launch(self._module, self._program, sizes, addresses, None, stream or None,
                                         ctypes.byref(error))
        _check(status, error)

    def call(self, *slots: int) -> None:
        """The same with arrays of the host: copied to the device, and those that are written back."""
        lib, error = library(), _Error()
        sizes = self._size_slots(*slots[: self._sizes])
        copies: list[tuple[_pointer, int]] = []
        try:
            for position, address in zip(self._free, slots[self._sizes:]):
                count = ctypes.c_int64()
                _check(lib.tw_program_bytes(self._program, position, sizes, ctypes.byref(count), ctypes.byref(error)), error)
                copies.append((_make(lib.tw_device_allocate, self._device, count.value), count.value))
                if not self._arguments[position].is_result:
                    _check(lib.tw_device_copy_in(self._device, copies[-1][0], address, count.value, ctypes.byref(error)), error)
            self.launch(*slots[: self._sizes], *[memory.value or 0 for memory, _ in copies])
            _check(lib.tw_device_wait(self._device, None, ctypes.byref(error)), error)
            for position, address, (memory, bytes) in zip(self._free, slots[self._sizes:], copies):
                if self._arguments[position].is_written:
                    _check(lib.tw_device_copy_out(self._device, address, memory, bytes, ctypes.byref(error)), error)
        finally:
            for memory, _ in copies:
                lib.tw_device_release(self._device, memory)


class DeviceProgram(Program):
    """A program on a device. Called with arrays of the host, it copies them; with tensors of PyTorch on the device, it takes
    their addresses and PyTorch's current stream. `launch` takes addresses of the device."""

    def __init__(self, artifact: Artifact, ordinal: int = 0, weights: Mapping[int, np.ndarray] = {},
                 signature: Optional[Signature] = None, device: Optional[_pointer] = None) -> None:
        """`weights`: arrays for arguments by position; `signature`: the interface without them; `device`: an open one."""
        code = DeviceCode(artifact, ordinal, weights, device)
        super().__init__(signature or artifact.signature, code.call, target=artifact.target, device="gpu", artifact=artifact, code=code,
                         diagnostics=artifact.diagnostics)
        self.launch = code.launch

    def __call__(self, *inputs: Any, sizes: Optional[Sequence[int]] = None, out: Any = None) -> Any:
        on_device = [arrays.is_tensor(value) and value.device.type != "cpu" for value in inputs]
        if not any(on_device):
            return super().__call__(*inputs, sizes=sizes, out=out)
        if not all(on_device) or len({value.device for value in inputs}) != 1:
            where = ", ".join(str(getattr(value, "device", "the host")) for value in inputs)
            raise ArgumentError(f"the inputs are on {where}; '{self.signature.name}' takes all on one device")
        return self._call_on_device(inputs, sizes, out)

    def _call_on_device(self, inputs: Sequence[Any], sizes: Optional[Sequence[int]], out: Any) -> Any:
        import torch

        given = []
        for number, (tensor, argument) in enumerate(zip(inputs, self.signature.inputs)):
            if tensor.dtype != arrays.torch_type(argument.type):
                raise ArgumentError(f"input {number} is {tensor.dtype}; the program takes {argument}")
            if argument.is_written and not tensor.is_contiguous():
                raise ArgumentError(f"input {number} is written, so it has to be dense and row-major")
            given.append(tensor.contiguous())
        known = tuple(sizes) if sizes is not None else self.signature.solve([tuple(t.shape) for t in given])
        results = list(out if isinstance(out, (tuple, list)) else [out]) if out is not None else [
            torch.empty(a.extents(*known), dtype=arrays.torch_type(a.type), device=given[0].device)
            for a in self.signature.results]
        stream = torch.cuda.current_stream(given[0].device).cuda_stream
        self._code.launch(*known, *(t.data_ptr() for t in (*given, *results)), stream=stream)
        return out if out is not None else results[0] if len(results) == 1 else tuple(results) if results else None
