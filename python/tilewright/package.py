"""Packages: programs for one or several targets with their weights in one file, which runs without compiler and framework.

A package is a zip file whose members are stored as they are, each aligned, so that weights are mapped and not read:

    manifest.json           {"format": 2, "version": "0.1.0", "data": any, "programs": [{
                               "name": "forward",
                               "signature": {..},           the manifest of the program (docs/runtime.md), without steps
                               "names": ["x", "w"],         of its inputs; may be empty
                               "ranges": {"0": [1, 64]},    of its sizes; null: no bound
                               "weights": [{"input": 1, "file": "weights/0"}, {"input": 2}],   no file: all code has it packed
                               "artifacts": [{"target": "cpu:zen4", "kind": "so", "file": "artifacts/0.so",
                                              "triple": "x86_64-..", "needs": ["avx2"],    as /proc/cpuinfo calls it
                                              "signature": {..},    where it has a bound input (docs/contractions.md)
                                              "bound": "bound/0"}],  what is bound; none: bound when it is loaded
                               "source": "sources/0.mlir",  where the text was kept
                               "data": any}]}               what a front end keeps: trees of arguments, strides
    artifacts/0.so          code, as tw-compile writes it
    weights/0               elements of one array, dense and row-major, little endian, aligned to 64 bytes
    bound/0                 what an artifact's function `NAME_bind` has made of weights

A package without bound inputs has format 1.
"""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import json
import mmap
import os
import pathlib
import struct
import zipfile
import zlib
from typing import Any, Callable, Iterator, Mapping, Optional, Sequence, Union

import numpy as np

from . import arrays, calls
from ._version import version
from .artifact import Artifact, refusal
from .cache import whole_file
from .compiler import compile, load_artifact
from .errors import CallError, PackageError
from .program import NO_STATE, Program
from .signature import Signature

_FORMAT = 2
_ALIGNMENT = 64
#: The extra field that pads a member's header, as other writers of aligned zip files number it.
_PADDING_FIELD = 0xD935


@dataclasses.dataclass
class Entry:
    """One program of a package."""

    #: One for each target, all of one interface apart from bound inputs (`tilewright.build`).
    artifacts: Sequence[Artifact]
    #: Arrays for inputs by number: the package has them, callers do not pass them. Where all artifacts read the packed form of
    #: one alone, the package has that in its place.
    weights: Mapping[int, Any] = dataclasses.field(default_factory=dict)
    #: Names of all inputs, for messages and for callers in other languages.
    names: Sequence[str] = ()
    #: Smallest and largest value of sizes by number; None: no bound.
    ranges: Mapping[int, tuple[Optional[int], Optional[int]]] = dataclasses.field(default_factory=dict)
    #: What a front end wants back, as JSON can say it.
    data: Any = None
    #: Whether the text goes along, so that `load` can compile it for another target or the emulator.
    keep_source: bool = False


#===-- Writing --------------------------------------------------------------===#


class _Writer:
    def __init__(self, file: Any) -> None:
        self.zip = zipfile.ZipFile(file, "w", zipfile.ZIP_STORED)
        self.weights: dict[tuple, str] = {}
        self.bound: dict[bytes, str] = {} # by a digest: targets of one kind pack alike
        self.kept: list[np.ndarray] = [] # addresses tell arrays apart, so none may go
        self.counts: dict[str, int] = {}

    def add(self, name: str, contents: Any, alignment: int = _ALIGNMENT) -> str:
        """A member whose bytes begin at a multiple of `alignment`."""
        view = memoryview(contents).cast("B") if len(contents) else memoryview(b"")
        info = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0)) # the same package has the same bytes
        info.external_attr = 0o644 << 16
        info.file_size = len(view)
        large = len(view) * 1.05 > zipfile.ZIP64_LIMIT
        start = self.zip.fp.tell() + 30 + len(name.encode()) + 20 * large + 4 # type: ignore[union-attr]
        info.extra = struct.pack("<HH", _PADDING_FIELD, -start % alignment) + bytes(-start % alignment)
        with self.zip.open(info, "w", force_zip64=large) as member:
            assert self.zip.fp.tell() % alignment == 0 # type: ignore[union-attr]
            for begin in range(0, len(view), 1 << 24):
                member.write(view[begin: begin + (1 << 24)])
        return name

    def number(self, kind: str) -> int:
        self.counts[kind] = self.counts.get(kind, -1) + 1
        return self.counts[kind]

    def weight(self, array: np.ndarray) -> str:
        """The member of an array; one for all programs that share its memory."""
        identity = (array.ctypes.data, array.nbytes)
        if identity not in self.weights or array.nbytes == 0:
            bits = array.reshape(-1).view(np.uint8)
            self.weights[identity] = self.add(f"weights/{self.number('weights')}", bits)
        return self.weights[identity]

    def packed(self, array: np.ndarray) -> str:
        """The member of what an artifact binds."""
        identity = hashlib.blake2b(array).digest()
        if identity not in self.bound:
            self.bound[identity] = self.add(f"bound/{self.number('bound')}", array)
        return self.bound[identity]


def _entry(writer: _Writer, name: str, entry: Entry) -> dict:
    if not entry.artifacts:
        raise PackageError(f"program '{name}' has no artifact: build it for at least one target")
    signature = entry.artifacts[0].signature.without()
    _check_interfaces(name, entry, signature)
    if entry.names and len(entry.names) != len(signature.inputs):
        raise PackageError(f"program '{name}' has {len(signature.inputs)} inputs and {len(entry.names)} names")
    weights = dict(_weights(name, entry, signature))
    writer.kept += weights.values()
    code = [_code(writer, name, artifact, weights) for artifact in entry.artifacts]
    packed_alone = set.intersection(*(set(a.signature.bind_releases) if "bound" in facts else set() for a, facts in zip(entry.artifacts, code)))
    read = {number for number in weights if entry.keep_source or number not in packed_alone}
    facts = {"name": name, "signature": signature.manifest, "names": list(entry.names), "ranges": {str(k): list(v) for k, v in entry.ranges.items()},
             "weights": [{"input": n, **({"file": writer.weight(array)} if n in read else {})} for n, array in weights.items()],
             "artifacts": code, "data": entry.data}
    if entry.keep_source and entry.artifacts[0].text is not None:
        facts["source"] = writer.add(f"sources/{writer.number('sources')}.mlir", entry.artifacts[0].text)
    return facts


def _check_interfaces(name: str, entry: Entry, signature: Signature) -> None:
    interface = [(a.type, a.expressions, a.is_written, a.is_result) for a in signature.arguments]
    for other in entry.artifacts:
        if [(a.type, a.expressions, a.is_written, a.is_result) for a in other.signature.without().arguments] != interface:
            raise PackageError(f"program '{name}' for {other.target} is {other.signature}, for {entry.artifacts[0].target} "
                               f"{signature}: one program has one interface")
        for number in other.signature.bind_inputs:
            if number not in entry.weights:
                raise PackageError(f"input {number} of '{name}' is marked with tilewright.constant and {other.target} packs it, so the package has to "
                                   "have its array (weights=), or leave the mark out")


def _weights(name: str, entry: Entry, signature: Signature) -> Iterator[tuple[int, np.ndarray]]:
    """The arrays of a package by the number of the input, dense and row-major."""
    for number, value in sorted(entry.weights.items()):
        if not 0 <= number < len(signature.inputs):
            raise PackageError(f"program '{name}' has {len(signature.inputs)} inputs; there is no input {number} to bind")
        argument = signature.inputs[number]
        array = arrays.as_array(value, argument, f"weight {number} of '{name}'")
        if argument.fixed is None or argument.fixed != array.shape:
            raise PackageError(f"weight {number} of '{name}' has shape {array.shape}; the program takes {argument}")
        yield number, array


def _code(writer: _Writer, name: str, artifact: Artifact, weights: Mapping[int, np.ndarray]) -> dict:
    """The facts of an artifact, whose code and bound input become members."""
    file = f"artifacts/{writer.number('artifacts')}.{artifact.kind}"
    facts = {"target": artifact.target, "kind": artifact.kind, "triple": artifact.codegen["triple"], "needs": artifact.needs,
             "file": writer.add(file, artifact.bytes, 4096)}
    if artifact.signature.bind is not None:
        facts["signature"] = artifact.signature.manifest
        if not refusal(artifact.codegen["triple"], artifact.needs):
            try:
                facts["bound"] = writer.packed(packed(load_artifact(artifact), weights))
            except CallError as error:
                if error.status != NO_STATE: # this machine has the instructions and does not let programs use them
                    raise
    return facts


def packed(program: Program, weights: Mapping[int, Optional[np.ndarray]]) -> np.ndarray:
    """What the program binds of its constant inputs, aligned as members are. `weights`: arrays by the number of the input."""
    (count,) = program.signature.bind.results[0].fixed # type: ignore[union-attr, misc]
    memory = np.zeros(count + _ALIGNMENT, np.uint8) # what lies between panels is not filled
    begin = -memory.ctypes.data % _ALIGNMENT
    made = memory[begin: begin + count]
    program.bind(*(weights[number].ctypes.data for number in program.signature.bind_inputs), made.ctypes.data) # type: ignore[union-attr]
    return made


def save(path: Union[str, os.PathLike], programs: Union[Entry, Mapping[str, Entry]], *, data: Any = None) -> None:
    """Writes a package, completely or not at all."""
    if isinstance(programs, Entry):
        programs = {programs.artifacts[0].signature.name if programs.artifacts else "program": programs}
    target = pathlib.Path(path)
    with whole_file(target, lambda why: PackageError(f"cannot write {target}: {why}")) as file:
        writer = _Writer(file)
        with writer.zip:
            entries = [_entry(writer, name, entry) for name, entry in programs.items()]
            is_bound = any("signature" in artifact for facts in entries for artifact in facts["artifacts"])
            manifest = {"format": _FORMAT if is_bound else 1, "version": version, "data": data, "programs": entries}
            writer.add("manifest.json", json.dumps(manifest, indent=1).encode())


class _Reader:
    """A package's members; the file is mapped once, copy on write."""

    def __init__(self, path: pathlib.Path) -> None:
        self.path = path
        try:
            with open(path, "rb") as file:
                self.zip = zipfile.ZipFile(file)
                self.members = {info.filename: info for info in self.zip.infolist()}
                self.map = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY)
        except OSError as error:
            raise PackageError(f"cannot read {path}: {error.strerror or error}") from None
        except (zipfile.BadZipFile, ValueError) as error:
            raise PackageError(f"{path} is no intact package: {error}") from None

    def extent(self, name: str) -> tuple[int, int]:
        """Where a member's bytes are."""
        info = self.members.get(name)
        if info is None:
            raise PackageError(f"{self.path} is no intact package: it has no member '{name}'")
        header = self.map[info.header_offset: info.header_offset + 30]
        if info.compress_type != zipfile.ZIP_STORED or len(header) < 30 or header[:4] != b"PK\3\4":
            raise PackageError(f"{self.path} is no intact package: member '{name}' is damaged or compressed")
        names, extra = struct.unpack("<HH", header[26:30])
        begin = info.header_offset + 30 + names + extra
        if begin + info.file_size > len(self.map):
            raise PackageError(f"{self.path} is no intact package: it ends inside '{name}'")
        return begin, info.file_size

    def read(self, name: str) -> bytes:
        """A member's bytes, compared with their checksum."""
        begin, size = self.extent(name)
        contents = self.map[begin: begin + size]
        if zlib.crc32(contents) != self.members[name].CRC:
            raise PackageError(f"{self.path} is no intact package: '{name}' does not have its checksum")
        return contents

    def array(self, name: str, argument: Any) -> np.ndarray:
        begin, size = self.extent(name)
        dtype = arrays.numpy_type(argument.type)
        count = size // dtype.itemsize
        if argument.fixed is None or count * dtype.itemsize != size or count != int(np.prod(argument.fixed, dtype=np.int64)):
            raise PackageError(f"{self.path} is no intact package: '{name}' has {size} bytes, the program takes {argument}")
        return np.frombuffer(self.map, dtype, count, begin).reshape(argument.fixed)


def _hidden(code: Union[Artifact, Program], weights: Mapping[int, Optional[np.ndarray]], facts: Mapping[str, Any],
            is_packed: bool) -> tuple[dict[int, Optional[np.ndarray]], Signature]:
    """The arrays of a package by position, and the interface without them, with what the package knows of its sizes."""
    signature = code.signature
    for number, array in weights.items():
        if array is None and (number not in signature.bind_releases or not is_packed):
            raise PackageError(f"'{signature.name}' has no array for input {number}, which its code for {code.target} reads")
    inputs = [n for n, argument in enumerate(signature.arguments) if not argument.is_result]
    positions = {inputs[number]: array for number, array in weights.items()}
    known = {key: facts["signature"][key] for key in ("constraints",) if key in facts.get("signature", ())}
    return positions, signature.without(positions, **known, ranges=facts.get("ranges", {}))


def bound(whole: Program, weights: Mapping[int, Optional[np.ndarray]], facts: Mapping[str, Any] = {},
          given: Optional[np.ndarray] = None) -> Program:
    """A program that is called without the arrays `weights` of some inputs; it keeps those that it reads as they are. None: it reads the
    packed form alone. `given`: what it binds of them, else that is computed now. `facts`: of a package."""
    positions, interface = _hidden(whole, weights, facts, given is not None)
    if whole.artifact is not None and whole.artifact.kind == "tw":
        from .device import DeviceProgram

        return DeviceProgram(whole.artifact, weights=positions, signature=interface) # type: ignore[arg-type]
    launch, learner, position = whole.launch, whole.learner, whole.signature.bound
    if positions:
        template = [0] * len(whole.signature.arguments)
        for n, array in positions.items():
            template[n] = array.ctypes.data if array is not None else 0
        free = [n for n in range(len(template)) if n not in positions]
        if learner: # has no bound input
            learner = functools.partial(_BoundLearner, learner, *_unbound(template, free, position))
        if position is not None:
            given = packed(whole, weights) if given is None else given
            template[position] = given.ctypes.data
            free.remove(position)
        launch = _binding(whole.launch, whole.signature.sizes, template, free)
    program = Program(interface, launch, target=whole.target, device=whole.device, code=(whole, given), artifact=whole.artifact, learner=learner)
    program.weights = {number: array for number, array in weights.items() if array is not None and number not in whole.signature.bind_releases}
    return program


def _unbound(template: list[int], free: list[int], position: Optional[int]) -> tuple[list[int], list[int]]:
    """The same for a program without the argument at `position`."""
    if position is None:
        return template, free
    return template[:position] + template[position + 1:], [n - (n > position) for n in free if n != position]


def _filled(template: list[int], free: list[int], addresses: Sequence[int]) -> list[int]:
    whole = template.copy()
    for position, address in zip(free, addresses):
        whole[position] = address
    return whole


def _binding(launch: Callable[..., None], sizes: int, template: list[int], free: list[int]) -> Callable[..., None]:
    """A launch with the addresses of `template` for arguments that are not in `free`."""
    return lambda *slots: launch(*slots[:sizes], *_filled(template, free, slots[sizes:]))


class _BoundLearner:
    """The same of a program that makes sizes of its data."""

    def __init__(self, learner: Callable[[], Any], template: list[int], free: list[int]) -> None:
        self._whole, self._template, self._free = learner(), template, free

    def learn(self, sizes: list[int], addresses: Sequence[int]) -> bool:
        return self._whole.learn(sizes, _filled(self._template, self._free, addresses))


class Package:
    """A package that has been opened: its programs by name, and what the front end kept. Called, it is its only program."""

    def __init__(self, path: pathlib.Path, programs: dict[str, Program], data: Any) -> None:
        self.path, self.programs, self.data = path, programs, data

    def __getitem__(self, name: str) -> Program:
        if name not in self.programs:
            raise PackageError(f"{self.path} has no program '{name}'; it has {', '.join(self.programs)}")
        return self.programs[name]

    def __call__(self, *inputs: Any, **keywords: Any) -> Any:
        return self.call(*inputs, **keywords)

    @functools.cached_property
    def call(self) -> Callable[..., Any]:
        """The only program; with arguments and results as the exported function has them, where a front end kept their form (calls.py)."""
        return calls.of(self.only) or self.only

    @property
    def only(self) -> Program:
        if len(self.programs) != 1:
            raise PackageError(f"{self.path} has {len(self.programs)} programs ({', '.join(self.programs)}): name one, "
                               "as package['NAME']")
        return next(iter(self.programs.values()))

    def __repr__(self) -> str:
        return f"<Package {self.path}: {', '.join(map(str, self.programs.values()))}>"


def _named(target: str, wanted: Optional[str]) -> bool:
    return wanted is None or target == wanted or target.split(":")[0] == wanted


def _artifacts(reader: _Reader, facts: Mapping[str, Any], target: Optional[str]) -> Iterator[Artifact]:
    for each in facts["artifacts"]:
        if _named(each["target"], target):
            begin, size = reader.extent(each["file"])
            artifact = Artifact(Signature(each.get("signature", facts["signature"])), each["kind"], each["target"],
                                {"triple": each["triple"]}, path=reader.path, offset=begin, size=size, bound=each.get("bound"))
            artifact.file, artifact.__dict__["needs"] = each["file"], each["needs"]
            yield artifact


def _choose(reader: _Reader, facts: Mapping[str, Any], target: Optional[str], device: Optional[str]) -> Artifact:
    """The code for this machine, or for what the caller names; its bytes have their checksum."""
    refusals = []
    for artifact in _artifacts(reader, facts, target):
        if artifact.kind != "so":
            reason = "" if device == "gpu" and artifact.kind == "tw" else "it runs on a device (device='gpu')"
        else:
            reason = "it is code of a processor" if device == "gpu" else refusal(artifact.codegen["triple"], artifact.needs)
        if not reason:
            reader.read(artifact.file)
            return artifact
        refusals.append(f"{artifact.target}: {reason}")
    raise PackageError(f"{reader.path} has no code of '{facts['name']}' for this machine; " + "; ".join(refusals))


def _open(reader: _Reader, facts: Mapping[str, Any], target: Optional[str], device: Optional[str], plugins: Sequence[str]) -> Program:
    """One program, with the arrays of the package bound."""
    signature = Signature(facts["signature"])
    weights = {each["input"]: reader.array(each["file"], signature.inputs[each["input"]]) if "file" in each else None for each in facts["weights"]}
    foreign = target is not None and not any(_named(each["target"], target) for each in facts["artifacts"])
    if device in ("emulator", "model") or foreign:
        if "source" not in facts:
            has = ", ".join(each["target"] for each in facts["artifacts"])
            raise PackageError(f"{reader.path} has code of '{facts['name']}' for {has} and no source to compile for "
                               f"{target or 'this machine'}{f' on the {device}' if device else ''}")
        whole = compile(reader.read(facts["source"]), target=target or "cpu:host", device=device, name=facts["source"],
                        function=signature.name, plugins=plugins)
        program = bound(whole, weights, facts)
    elif (artifact := _choose(reader, facts, target, device)).kind == "tw":
        from .device import DeviceProgram

        positions, interface = _hidden(artifact, weights, facts, False)
        program = DeviceProgram(artifact, weights=positions, signature=interface) # type: ignore[arg-type]
    else:
        position, given = artifact.signature.bound, None
        if position is not None and artifact.bound is not None:
            given = reader.array(artifact.bound, artifact.signature.arguments[position])
        program = bound(load_artifact(artifact), weights, facts, given)
    names = facts.get("names", [])
    program.names = [names[number] for number in range(len(signature.inputs)) if number not in weights] if names else []
    program.data, program.weights = facts.get("data"), {number: array for number, array in weights.items() if array is not None}
    return program


def load(path: Union[str, os.PathLike], *, target: Optional[str] = None, device: Optional[str] = None,
         plugins: Sequence[str] = ()) -> Package:
    """Opens a package. `target`: the code meant, where there is more than what this machine's processor runs; `device`: "gpu" for
    a device of this machine; with a package that has its source, any target, and "emulator"; `plugins`: of a vendor's target."""
    reader = _Reader(pathlib.Path(path))
    try:
        manifest = json.loads(reader.read("manifest.json"))
        if manifest["format"] > _FORMAT:
            raise PackageError(f"{path} has format {manifest['format']}; this version ({version}) reads formats up to {_FORMAT}: "
                               "take a newer one")
        programs = {facts["name"]: _open(reader, facts, target, device, plugins) for facts in manifest["programs"]}
    except (KeyError, IndexError, TypeError, ValueError) as error:
        raise PackageError(f"{path} is no intact package: its manifest is damaged ({type(error).__name__}: {error})") from None
    return Package(reader.path, programs, manifest.get("data"))
