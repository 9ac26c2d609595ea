"""Finds the SDK: its libraries, loaded by name and version."""

from __future__ import annotations

import ctypes
import os
import pathlib
import shutil
import threading
from typing import Iterator

from ._version import version
from .errors import SdkError

_COMPILER = "libTilewright.so.0"
_RUNTIME = "libtilewright-runtime.so.0"
_lock = threading.Lock()
_folders: dict[str, pathlib.Path] = {}


def _library_folders(prefix: pathlib.Path) -> Iterator[pathlib.Path]:
    """Where an install prefix or a build folder keeps libraries."""
    yield prefix / "lib"
    yield prefix / "lib64"
    yield from sorted(prefix.glob("lib/*-linux-gnu"))
    yield prefix


def _prefixes() -> Iterator[tuple[pathlib.Path, str]]:
    """Where an SDK may be, the nearest first."""
    here = pathlib.Path(__file__).resolve()
    yield here.parents[2] / "build" / "release", "the checkout's build"
    yield here.parent / "sdk", "the package"
    tool = shutil.which("tw-compile")
    if tool:
        yield pathlib.Path(tool).resolve().parents[1], "the path of tw-compile"
    for prefix in ("/usr/local", "/usr", "/opt/tilewright"):
        yield pathlib.Path(prefix), prefix


def _find(library: str) -> pathlib.Path:
    given = os.environ.get("TILEWRIGHT_SDK")
    if given:
        for folder in _library_folders(pathlib.Path(given)):
            if (folder / library).exists():
                return folder
        raise SdkError(f"TILEWRIGHT_SDK is '{given}', which has no {library}; it names an install prefix or a build folder")
    for prefix, _ in _prefixes():
        for folder in _library_folders(prefix):
            if (folder / library).exists():
                return folder
    raise SdkError(
        f"no Tilewright SDK found: {library} is in none of "
        + ", ".join(str(prefix) for prefix, _ in _prefixes())
        + "; build it (cmake --build --preset release), install it, or name it in TILEWRIGHT_SDK"
    )


def folder(library: str = _COMPILER) -> pathlib.Path:
    """The folder with a library of the SDK. Where packages alone are run, there may be the runtime and no compiler."""
    with _lock:
        if library not in _folders:
            _folders[library] = _find(library)
        return _folders[library]


def load(name: str) -> ctypes.CDLL:
    """A library of the SDK, with symbols of its own: other LLVMs in the process stay apart."""
    path = folder(name) / name
    try:
        return ctypes.CDLL(str(path))
    except OSError as error:
        hint = ""
        if "libMLIR" in str(error) or "libLLVM" in str(error):
            hint = "; it needs LLVM and MLIR 22: apt-get install libmlir-22 libllvm22"
        raise SdkError(f"cannot load {path}: {error}{hint}") from None


def load_compiler() -> ctypes.CDLL:
    library = load(_COMPILER)
    try:
        library.twc_version.restype = ctypes.c_char_p
        found = library.twc_version().decode()
    except AttributeError:
        raise SdkError(f"{folder() / _COMPILER} has no C interface of the compiler: take an SDK of version {version}") from None
    if found.split(".")[:2] != version.split(".")[:2]:
        raise SdkError(f"{folder() / _COMPILER} is version {found}, this package is {version}: take those of one version")
    return library


def load_runtime() -> ctypes.CDLL:
    return load(_RUNTIME)


def fingerprint() -> str:
    """Changes with every build of the compiler."""
    base = folder()
    facts = []
    for path in (base / _COMPILER, base / "tilewright" / "libtilewright-linked-targets.so"):
        status = path.stat()
        facts.append(f"{status.st_size}.{status.st_mtime_ns}")
    return "-".join(facts)
