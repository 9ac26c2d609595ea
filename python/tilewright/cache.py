"""Compiled programs on disk. An entry is the artifact itself, so that the loader can map it, followed by facts (JSON) and a
checksum. It is written beside its place and renamed: several processes may share one directory. What is damaged is compiled
again.

    artifact | JSON | sha256 of both | bytes of the artifact, 8 | magic, 16
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import mmap
import os
import pathlib
import secrets
import struct
from typing import Any, BinaryIO, Callable, Iterator, Mapping, Optional

from .errors import CacheError

_MAGIC = b"tilewright cache"
_TRAILER = struct.Struct("<32sQ16s")


def default_directory() -> pathlib.Path:
    """TILEWRIGHT_CACHE_DIR, else a folder of the user's cache directory."""
    given = os.environ.get("TILEWRIGHT_CACHE_DIR")
    if given:
        return pathlib.Path(given)
    return pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache") / "tilewright"


def key(text: bytes, facts: Mapping[str, Any]) -> str:
    """A name for what is compiled from `text` under `facts`."""
    digest = hashlib.sha256(json.dumps(facts, sort_keys=True).encode())
    digest.update(b"\0")
    digest.update(text)
    return digest.hexdigest()


class Cache:
    """A directory of entries: each has facts (JSON) and one artifact (bytes)."""

    def __init__(self, directory: Optional[os.PathLike] = None) -> None:
        self.directory = pathlib.Path(directory) if directory is not None else default_directory()

    def _path(self, name: str) -> pathlib.Path:
        return self.directory / name[:2] / name[2:]

    def get(self, name: str) -> Optional[tuple[dict, pathlib.Path, int]]:
        """Facts, file and bytes of the artifact at its start; None where there is no entry or it is damaged."""
        path = self._path(name)
        try:
            with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as contents:
                body = len(contents) - _TRAILER.size
                if body < 0:
                    return None
                digest, size, magic = _TRAILER.unpack(contents[body:])
                with memoryview(contents) as view, view[:body] as covered:
                    if magic != _MAGIC or size > body or hashlib.sha256(covered).digest() != digest:
                        return None
                return json.loads(contents[size:body]), path, size
        except (OSError, ValueError):
            return None

    def put(self, name: str, facts: Mapping[str, Any], write: Callable[[BinaryIO], Any]) -> tuple[pathlib.Path, int]:
        """Keeps an entry, whose artifact `write` writes; the file that has it, and the bytes of the artifact. It is read for its
        checksum in pieces, since it may be larger than one likes to hold."""
        text, path = json.dumps(facts).encode(), self._path(name)
        hint = "set TILEWRIGHT_CACHE_DIR to another directory, or compile with cache=False"
        with whole_file(path, lambda why: CacheError(f"cannot write {path}: {why}; {hint}"), folders=True) as file:
            write(file)
            file.flush()
            digest, size = hashlib.sha256(), 0
            with open(file.name, "rb") as written:
                while piece := written.read(1 << 20):
                    digest.update(piece)
                    size += len(piece)
            digest.update(text)
            file.seek(size)
            file.write(text)
            file.write(_TRAILER.pack(digest.digest(), size, _MAGIC))
        return path, size

    def clear(self) -> None:
        """Removes all entries."""
        for path in self.directory.glob("[0-9a-f][0-9a-f]/*"):
            path.unlink(missing_ok=True)


@contextlib.contextmanager
def whole_file(path: pathlib.Path, refusal: Callable[[str], Exception], folders: bool = False) -> Iterator[Any]:
    """A file that appears under its name when the block ends, and not at all if it fails; `refusal` makes the error of
    what the system refuses, `folders`: its folder is made if need be."""
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(6)}.tmp")
    try:
        if folders:
            path.parent.mkdir(parents=True, exist_ok=True)
        with open(temporary, "xb") as file:
            yield file
        os.replace(temporary, path)
    except BaseException as error:
        try:
            temporary.unlink(missing_ok=True)
        except OSError:
            pass
        if isinstance(error, OSError):
            raise refusal(error.strerror or str(error)) from None
        raise
