"""The compiler in a process of its own: a crash there ends one compilation. Messages are a length and a pickle."""

from __future__ import annotations

import os
import pickle
import struct
import subprocess
import sys
import threading
from typing import Any, Mapping, Optional

from . import _capi
from .errors import CompilerCrash, Diagnostic, Error


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
    """One process that compiles one program at a time; it is started anew after a crash."""

    def __init__(self) -> None:
        self._process: Optional[subprocess.Popen] = None
        self._lock = threading.Lock()

    def _start(self) -> subprocess.Popen:
        folder = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, [folder, os.environ.get("PYTHONPATH")]))}
        return subprocess.Popen([sys.executable, "-c", "from tilewright.worker import main; main()"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                env=environment)

    def compile(self, text: bytes, name: str, options: Mapping[str, Any]) -> _capi.Compiled:
        with self._lock:
            if self._process is None or self._process.poll() is not None:
                self._process = self._start()
            process = self._process
            try:
                _send(process.stdin, (text, name, dict(options)))
                answer = _receive(process.stdout)
            except (EOFError, OSError):
                status = process.wait()
                self._process = None
                how = f"signal {-status}" if status < 0 else f"exit status {status}"
                raise CompilerCrash([Diagnostic("error", name, 0, 0, f"the process of the compiler ended with {how}")]) from None
            if isinstance(answer, CompilerCrash):  # the process is about to end
                process.wait()
                self._process = None
        if isinstance(answer, Error):
            raise answer
        return answer

    def close(self) -> None:
        with self._lock:
            process, self._process = self._process, None
        if process is not None:
            process.stdin.close()  # type: ignore[union-attr]
            process.wait()


def main() -> None:
    stdin, stdout = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # whatever prints does not disturb the messages
    while True:
        try:
            text, name, options = _receive(stdin)
        except EOFError:
            return
        try:
            answer: Any = _capi.compile(text, name, options)
        except Error as error:
            answer = error
        _send(stdout, answer)
        if isinstance(answer, CompilerCrash):
            return
