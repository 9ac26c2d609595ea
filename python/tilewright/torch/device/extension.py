"""The part that PyTorch takes only in C++ (`privateuse1.cpp`): compiled once for each version of PyTorch, and kept."""

import ctypes
import functools
import hashlib
import os
import pathlib
import shutil
import subprocess

import torch

from ...cache import default_directory, whole_file
from ...errors import SdkError

SOURCE = pathlib.Path(__file__).with_name("privateuse1.cpp")
COMPILERS = ("c++", "g++", "clang++", "clang++-22")
FLAGS = ("-std=c++20", "-O1", "-fPIC", "-shared", "-fvisibility=hidden")


def compiler():
    """The path of a C++ compiler: that of $CXX, or the first of COMPILERS."""
    given = os.environ.get("CXX")
    for name in (given, ) if given else COMPILERS:
        found = shutil.which(name)
        if found:
            return found
    looked = f"CXX is '{given}', which is no command" if given else f"none of {', '.join(COMPILERS)} is there"
    raise SdkError(
        f"a device of PyTorch needs a C++ compiler once: {looked}; install one (apt-get install g++), or name it in CXX"
    )


def built():
    """The file of the library, which is compiled if need be."""
    root = pathlib.Path(torch.__file__).parent
    digest = hashlib.sha256("\0".join((SOURCE.read_text(), torch.__version__, str(root), *FLAGS)).encode()).hexdigest()
    path = default_directory() / "extensions" / f"privateuse1-{digest[:32]}.so"
    if path.exists():
        return path
    command = [
        compiler(), *FLAGS, f"-I{root}/include",
        str(SOURCE), f"-L{root}/lib", "-lc10", "-ltorch_cpu", f"-Wl,-rpath,{root}/lib"
    ]

    def refusal(why):
        return SdkError(f"cannot write {path}: {why}; set TILEWRIGHT_CACHE_DIR to another directory")

    with whole_file(path, refusal, folders=True) as file:
        result = subprocess.run([*command, "-o", file.name], capture_output=True, text=True)
        if result.returncode:
            first = next((line for line in result.stderr.splitlines() if "error" in line), result.stderr[-500:])
            raise SdkError(f"{command[0]} does not compile the device for PyTorch {torch.__version__}: {first.strip()}")
    return path


@functools.lru_cache(maxsize=None)
def library():
    """The library, loaded."""
    try:
        loaded = ctypes.CDLL(str(built()))
    except OSError as error:
        raise SdkError(f"cannot load the device for PyTorch {torch.__version__}: {error}") from None
    loaded.tilewright_add_device.argtypes = [ctypes.c_void_p] * 6
    loaded.tilewright_memory.restype = ctypes.c_int64
    return loaded
