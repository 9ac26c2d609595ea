"""Compiling: text and options to a program, through the cache."""

from __future__ import annotations

import functools
import json
import os
import sys
import threading
from typing import Any, BinaryIO, Callable, Optional, Sequence, Union

from . import _capi, _sdk
from .artifact import Artifact
from .cache import Cache, key
from .errors import CompilerCrash, Error, OptionError
from .program import HostCode, Program
from .signature import Signature
from .worker import RemoteProgram, Worker

_state = threading.Lock()
_worker: Optional[Worker] = None
_crashed = False


def version() -> str:
    """The version of the SDK that is in use."""
    return _capi.library().twc_version().decode()


@functools.lru_cache(maxsize=None)
def _described(target: str, plugins: tuple[str, ...]) -> str:
    return _capi.describe(target, plugins)


def describe(target: str, *, plugins: Sequence[str] = ()) -> dict:
    """The description of a chip as tw-targets --json gives it; "form" is what its programs are ("functions", "launches",
    "source"), "refusal" says why they do not run on this machine (empty: they do)."""
    return json.loads(_described(target, tuple(plugins)))


def _is_safe_here() -> bool:
    """Whether the compiler runs in this process where nobody says so. TensorFlow brings an LLVM whose symbols are seen
    in all of its process, so beside it the compiler has a process of its own."""
    chosen = os.environ.get("TILEWRIGHT_IN_PROCESS")
    return chosen != "0" if chosen is not None else "tensorflow" not in sys.modules


def _shared_worker() -> Worker:
    global _worker
    with _state:
        if _worker is None:
            _worker = Worker()
    return _worker


def _compile(text: bytes, name: str, options: dict, in_process: bool,
             keep: Optional[Callable[[Callable[[BinaryIO], Any], list[dict]], None]]) -> _capi.Compiled:
    """In this process, or in the worker where the caller or an earlier crash says so. `keep` gets what writes the artifact to a
    file, and the signatures; without it the artifact is in the result."""
    global _crashed
    if in_process and not _crashed:
        try:
            return _capi.compile(text, name, options, keep)
        except CompilerCrash:
            _crashed = True
            raise
    compiled = _shared_worker().compile(text, name, options)
    if keep is not None:
        keep(lambda file: file.write(compiled.artifact), compiled.signatures)
    return compiled


def build(text: Union[str, bytes], *, target: str = "cpu:host", function: Optional[str] = None, fp: str = "default",
          threads: int = 1, name: str = "<text>", plugins: Sequence[str] = (), output: Optional[str] = None,
          cache: Union[None, bool, str, os.PathLike, Cache] = None, in_process: Optional[bool] = None,
          check_indices: bool = False) -> Artifact:
    """Compiles MLIR text or bytecode for any target, without loading what comes of it. The options are those of `compile`;
    `output` is the kind of the artifact, as the end of a file's name says it ("so" for processors, "tw" for devices)."""
    source = text.encode() if isinstance(text, str) else bytes(text)
    options: dict[str, Any] = {"plugin": list(plugins), "target": target, "fp": fp, "threads": threads}
    if check_indices:
        options["check-indices"] = "yes"
    if function:
        options["function"] = function
    facts = _described(target, tuple(plugins))
    chip = json.loads(facts)
    kind = output or next(kind for kind in ("so", "tw", *chip["outputs"]) if kind in chip["outputs"])
    if in_process is None:
        in_process = _is_safe_here()
    artifact = Artifact(None, kind, f"{chip['target']}:{chip['chip']}", chip["codegen"], text=source,  # type: ignore[arg-type]
                        name=name, options=options)
    store = cache if isinstance(cache, Cache) else None if cache is False else Cache(None if cache in (None, True) else cache)
    if store is not None:
        identity = key(source, {**options, "output": kind, "chip": facts, "sdk": [version(), _sdk.fingerprint()]})
        entry = store.get(identity)
        if entry is not None:
            kept, artifact.path, artifact.size = entry
            artifact.signature = Signature(kept["signature"])
            return artifact

    def sign(signatures: list[dict]) -> None:
        if len(signatures) != 1:
            names = ", ".join(one["entry"] for one in signatures)
            raise OptionError(f"{name} has {len(signatures)} public functions ({names}); name one with function=")
        artifact.signature = Signature(signatures[0])

    def keep(write: Callable[[BinaryIO], Any], signatures: list[dict]) -> None:
        sign(signatures)
        artifact.path, artifact.size = store.put(identity, {"signature": artifact.signature.manifest}, write)  # type: ignore[union-attr]

    compiled = _compile(source, name, {**options, "output": kind, "soname": "libtilewright-program.so"}, in_process,
                        None if store is None else keep)
    artifact.diagnostics = compiled.diagnostics
    if store is None:
        sign(compiled.signatures)
        artifact.contents, artifact.size = compiled.artifact, len(compiled.artifact)
    return artifact


def compile(text: Union[str, bytes], *, target: str = "cpu:host", function: Optional[str] = None, fp: str = "default",
            threads: int = 1, device: Optional[str] = None, name: str = "<text>", plugins: Sequence[str] = (),
            cache: Union[None, bool, str, os.PathLike, Cache] = None, in_process: Optional[bool] = None,
            check_indices: bool = False) -> Program:
    """Compiles MLIR text or bytecode to a program that can be called.

    target      "TARGET[:CHIP]", as tw-targets lists them
    function    the function meant, where there are several public ones
    fp          floating-point contract: "default", "strict" (no re-association), "reproducible" (the same bits on all chips) or "fast"
    threads     threads of parallel loops
    device      where it runs: "host", "gpu" (a device of this machine, through its driver), "emulator" (kernels of a device,
                with arrays of the host), "model" (a chip's plan as code of this machine); None: where the target's code runs by
                itself, the host or a device
    name        what diagnostics call the text
    plugins     target plugins to load
    cache       None: the default directory (TILEWRIGHT_CACHE_DIR); False: none; else a directory
    in_process  False: in a process of its own; None: in this one, unless TILEWRIGHT_IN_PROCESS is 0, TensorFlow is loaded, or
                it crashed before
    check_indices  an index made of data that lies outside of its array is an error of the call; else such an access is undefined
    """
    chip = json.loads(_described(target, tuple(plugins)))
    if device is None:
        device = "gpu" if chip["form"] == "launches" else "host"
    if device not in ("host", "emulator", "model", "gpu"):
        raise OptionError(f"unknown device '{device}'; expected host, emulator, model or gpu")
    if device in ("emulator", "model"):
        source = text.encode() if isinstance(text, str) else bytes(text)
        options: dict[str, Any] = {"plugin": list(plugins), "target": target, "fp": fp, "threads": threads, "device": device}
        if check_indices:
            options["check-indices"] = "yes"
        if function:
            options["function"] = function
        here = _is_safe_here() if in_process is None else in_process
        loaded = _capi.LoadedProgram(source, name, options) if here else RemoteProgram(_shared_worker(), source, name, options)
        return Program(Signature(loaded.signature), loaded.call, target=target, device=device, code=loaded,
                       diagnostics=loaded.diagnostics, learner=lambda: loaded)
    if device == "gpu" and chip["form"] != "launches":
        raise OptionError(f"programs of '{target}' are no launches of a device; leave out device='gpu'")
    if device == "host" and chip["refusal"]:
        raise OptionError(f"programs of '{target}' do not run here: {chip['refusal']}")
    return load_artifact(build(text, target=target, function=function, fp=fp, threads=threads, name=name, plugins=plugins,
                               cache=cache, in_process=in_process, check_indices=check_indices))


def load_artifact(artifact: Artifact) -> Program:
    """A shared library as a program of this process, launches as one of this machine's device."""
    if artifact.kind == "tw":
        from .device import DeviceProgram

        return DeviceProgram(artifact)
    if artifact.kind != "so":
        raise OptionError(f"an artifact of kind '{artifact.kind}' is not loaded; build one of kind so or tw")

    @functools.lru_cache(maxsize=None)
    def learner() -> _capi.LoadedProgram:
        if artifact.text is None:
            raise Error(f"'{artifact.signature.name}' makes sizes of its data; it can only be called where it was compiled")
        return _capi.LoadedProgram(artifact.text, artifact.name, {**artifact.options, "device": "host"})

    code = HostCode(artifact)
    return Program(artifact.signature, code.launch, target=artifact.target, device="host", artifact=artifact, code=code,
                   diagnostics=artifact.diagnostics, learner=learner)
