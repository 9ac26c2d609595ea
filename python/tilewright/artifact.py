"""What a compilation leaves: code for one target with its signature, in memory or in a file."""

from __future__ import annotations

import dataclasses
import functools
import pathlib
import platform
from typing import Any, Mapping, Optional, Sequence

from .errors import Diagnostic
from .signature import Signature


@dataclasses.dataclass
class Artifact:
    """Code of one program for one target: a shared library ("so"), launches for a device ("tw"), source ("c")."""

    signature: Signature
    kind: str
    target: str
    #: {"triple", "cpu", "features"} of the code, as LLVM calls them.
    codegen: Mapping[str, str]
    contents: Optional[bytes] = None
    #: The artifact is `size` bytes of this file; in a package from `offset` on, in its member `file`. What it binds of constant
    #: arguments is the member `bound`; none: it is bound when the code is loaded.
    path: Optional[pathlib.Path] = None
    size: int = 0
    offset: int = 0
    file: str = ""
    bound: Optional[str] = None
    diagnostics: Sequence[Diagnostic] = ()
    text: Optional[bytes] = None
    name: str = "<text>"
    options: Mapping[str, Any] = dataclasses.field(default_factory=dict)

    @property
    def bytes(self) -> bytes:
        if self.contents is not None:
            return self.contents
        with open(self.path, "rb") as file:  # type: ignore[arg-type]
            file.seek(self.offset)
            return file.read(self.size)

    @functools.cached_property
    def needs(self) -> list[str]:
        """What the kernel of a machine calls the features of its processor that the code uses."""
        wanted = [word[1:] for word in self.codegen.get("features", "").split(",") if word.startswith("+")]
        return sorted({_ALIASES.get(name, name.replace("-", "_").replace(".", "_")) for name in wanted
                       if name.startswith(_CHECKED) and name not in _SETS})


#: LLVM's names of features whose names in /proc/cpuinfo differ.
_ALIASES = {"sse3": "pni", "bmi": "bmi1", "lzcnt": "abm", "avx512vnni": "avx512_vnni", "avx512bf16": "avx512_bf16",
            "avx512fp16": "avx512_fp16", "avx512vbmi2": "avx512_vbmi2", "avx512bitalg": "avx512_bitalg",
            "avx512vpopcntdq": "avx512_vpopcntdq", "avx512vp2intersect": "avx512_vp2intersect", "avxvnni": "avx_vnni",
            "avx512vbmi": "avx512vbmi", "avxifma": "avx_ifma", "dotprod": "asimddp", "neon": "asimd", "fullfp16": "asimdhp"}
#: Names of nothing but other features, which are listed beside them: kernels of Linux list these alone.
_SETS = {"avx10.1"}
#: Features that vector code uses; the kernel of a machine lists them under these beginnings.
_CHECKED = ("sse", "ssse", "avx", "amx", "fma", "f16c", "bmi", "lzcnt", "gfni", "vaes", "vpclmul", "sve", "sme", "neon",
            "dotprod", "i8mm", "bf16", "fullfp16")


@functools.lru_cache(maxsize=None)
def _machine_features() -> frozenset:
    try:
        with open("/proc/cpuinfo", encoding="ascii", errors="replace") as file:
            for line in file:
                if line.startswith(("flags", "Features")):
                    return frozenset(line.partition(":")[2].split())
    except OSError:
        pass
    return frozenset()


def refusal(triple: str, needs: Sequence[str]) -> str:
    """Why this machine does not run code for `triple` that needs these features; empty: it does."""
    architecture = triple.split("-")[0]
    if architecture != platform.machine():
        return f"its code is for {architecture or 'no processor'}, this machine is {platform.machine()}"
    have = _machine_features()
    lacking = sorted(set(needs) - have) if have else []
    return f"this machine lacks {', '.join(lacking)}" if lacking else ""
