"""The compiler in a process of its own: a crash there ends one compilation. Messages are a length and a pickle."""

from __future__ import annotations

import ctypes
import math
import os
import pickle
import struct
import subprocess
import sys
import threading
from typing import Any, Mapping, Optional, Sequence

from . import _capi
from .errors import CompilerCrash, Diagnostic, Error
from .signature import Signature


def _send(stream: Any, message: Any) -> None:
    data = pickle.dumps(message)
    stream.write(struct.pack("<Q", len(data)))
    stream.write(data)
    stream.flush()


def _receive(stream: Any) -> Any:
    head = stream.read(8)
    if len(head) < 8:
        raise EOFError
    data = stream.read(struct.unpack("<Q", head)[0])
    return pickle.loads(data)


class Worker:
    """One process that answers one message at a time; it is started anew after a crash."""

    def __init__(self) -> None:
        self.process: Optional[subprocess.Popen] = None
        #: Programs that nobody calls any more; the process is told with the next message.
        self.dropped: list[int] = []
        self._lock = threading.Lock()

    def _start(self) -> subprocess.Popen:
        folder = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
        path = os.pathsep.join(filter(None, [folder, os.environ.get("PYTHONPATH")]))
        return subprocess.Popen([sys.executable, "-c", "from tilewright.worker import main; main()"],
                                stdin=subprocess.PIPE, stdout=subprocess.PIPE, env={**os.environ, "PYTHONPATH": path})

    def ask(self, name: str, kind: str, *contents: Any) -> Any:
        """The answer of the function `kind` of the process; errors name the program."""
        with self._lock:
            if self.process is None or self.process.poll() is not None:
                self.process, self.dropped = self._start(), []
            process, dropped, self.dropped = self.process, self.dropped, []
            try:
                _send(process.stdin, (dropped, kind, contents))
                answer = _receive(process.stdout)
            except (EOFError, OSError):
                status = process.wait()
                self.process = None
                how = f"signal {-status}" if status < 0 else f"exit status {status}"
                raise CompilerCrash([Diagnostic("error", name, 0, 0,
                                                f"the process of the compiler ended with {how}")]) from None
            if isinstance(answer, CompilerCrash):  # the process is about to end
                process.wait()
                self.process = None
        if isinstance(answer, Error):
            raise answer
        return answer

    def compile(self, text: bytes, name: str, options: Mapping[str, Any]) -> _capi.Compiled:
        return self.ask(name, "compile", text, name, dict(options))

    def close(self) -> None:
        with self._lock:
            process, self.process = self.process, None
        if process is not None:
            process.stdin.close()  # type: ignore[union-attr]
            process.wait()


class RemoteProgram:
    """A program that is loaded in the worker, as `_capi.LoadedProgram` is in this process. Arrays are sent there and
    back."""

    def __init__(self, worker: Worker, text: bytes, name: str, options: Mapping[str, Any]) -> None:
        self._worker, self._source, self._name = worker, (text, name, dict(options)), name
        self._process: Optional[subprocess.Popen] = None
        self._load()

    def _load(self) -> None:
        self._number, self.signature, self.diagnostics = self._worker.ask(self._name, "load", *self._source)
        self._process = self._worker.process
        self._arguments = Signature(self.signature).arguments

    def call(self, *slots: int) -> None:
        """Sizes, then addresses."""
        count = self.signature["sizes"]
        self.learn(list(slots[:count]), slots[count:])

    def learn(self, sizes: list[int], addresses: Sequence[int]) -> bool:
        """The same; where the program makes other sizes of its data than these, they are in `sizes`: then False."""
        if self._process is not self._worker.process:  # that one has ended
            self._load()
        arrays = []
        for argument, address in zip(self._arguments, addresses):
            bytes_ = math.prod(argument.extents(*sizes)) * argument.itemsize
            arrays.append(bytes_ if argument.is_result else ctypes.string_at(address, bytes_))
        fits, sizes[:], written = self._worker.ask(self._name, "call", self._number, sizes, arrays)
        for position, contents in written.items():
            ctypes.memmove(addresses[position], contents, len(contents))
        return fits

    def __del__(self) -> None:
        if self._process is not None and self._process is self._worker.process:
            self._worker.dropped.append(self._number)


class _Served:
    """What the process answers with: its methods are the kinds of messages."""

    def __init__(self) -> None:
        self.programs: dict[int, _capi.LoadedProgram] = {}

    def compile(self, text: bytes, name: str, options: Mapping[str, Any]) -> _capi.Compiled:
        return _capi.compile(text, name, options)

    def load(self, text: bytes, name: str, options: Mapping[str, Any]) -> tuple:
        program = _capi.LoadedProgram(text, name, options)
        number = max(self.programs, default=0) + 1
        self.programs[number] = program
        return number, program.signature, program.diagnostics

    def call(self, number: int, sizes: list[int], arrays: list) -> tuple:
        """`arrays`: contents, or of results their bytes."""
        program = self.programs[number]
        held = [(ctypes.c_char * max(1, a))() if isinstance(a, int) else ctypes.create_string_buffer(a, max(1, len(a)))
                for a in arrays]
        fits = program.learn(sizes, [ctypes.addressof(a) for a in held])
        written = [i for i, a in enumerate(program.signature["arguments"]) if a["written"] or a["result"]]
        lengths = [a if isinstance(a, int) else len(a) for a in arrays]
        return fits, sizes, {i: held[i].raw[:lengths[i]] for i in written} if fits else {}


def main() -> None:
    stdin, stdout = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # whatever prints does not disturb the messages
    served = _Served()
    while True:
        try:
            dropped, kind, contents = _receive(stdin)
        except EOFError:
            return
        for number in dropped:
            served.programs.pop(number, None)
        try:
            answer: Any = getattr(served, kind)(*contents)
        except Error as error:
            answer = error
        _send(stdout, answer)
        if isinstance(answer, CompilerCrash):
            return
