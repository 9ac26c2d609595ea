"""Programs that can be called."""

from __future__ import annotations

import ctypes
import functools
import tempfile
from typing import Any, Callable, Optional, Sequence

import numpy as np

from . import arrays
from .artifact import Artifact
from .errors import ArgumentError, CallError, Diagnostic
from .signature import Signature

#: The status of code whose instructions this machine has, but does not let programs use.
NO_STATE = 3
_STATUS = {
    1: "the program refuses its sizes{sizes}: they disagree, are negative, make an array that no memory holds, or differ from "
       "what it makes of its data",
    2: "the program has no memory for its temporaries{sizes}",
    NO_STATE: "this machine does not grant a state of registers that the program's units need (a limit of the kernel or of the "
       "virtual machine); compile for a chip without these units",
    9: "an index made of data lies outside of its array{sizes}",
}


class HostCode:
    """A shared library with functions of C."""

    def __init__(self, artifact: Artifact) -> None:
        signature = artifact.signature
        self._sizes = signature.sizes
        self._slots = ctypes.c_int64 * max(1, signature.sizes + len(signature.arguments))
        if artifact.path is not None and artifact.offset == 0:
            self.library = ctypes.CDLL(str(artifact.path))
        else: # the loader tells libraries apart by their paths, so each needs one of its own
            with tempfile.NamedTemporaryFile(prefix="tilewright-", suffix=".so") as file:
                file.write(artifact.bytes)
                file.flush()
                self.library = ctypes.CDLL(file.name)
        self._function = getattr(self.library, f"{signature.name}_packed")
        self._function.argtypes = None # an array of slots is passed as it is
        self._function.restype = ctypes.c_int
        self._bind = None
        if signature.bind is not None:
            self._bind = getattr(self.library, f"{signature.bind.name}_packed")
            self._bind.restype = ctypes.c_int
        self._failure = getattr(self.library, f"{signature.name}_failure", None)
        if self._failure is not None:
            self._failure.argtypes = [ctypes.POINTER(ctypes.c_int64)]
            self._failure.restype = ctypes.c_char_p

    def launch(self, *slots: int) -> None:
        status = self._function(self._slots(*slots))
        if status:
            self.failed(status, slots)

    def bind(self, *slots: int) -> None:
        status = self._bind((ctypes.c_int64 * len(slots))(*slots)) # type: ignore[misc]
        if status:
            self.failed(status, ())

    def failed(self, status: int, slots: Sequence[int]) -> None:
        found = (ctypes.c_int64 * 2)()
        told = self._failure(found) if self._failure is not None and status in (1, 9) else None
        if told is not None: # of the thread that called
            code, extent = found
            text = told.decode().replace("{index}", str(code - (code > 0))).replace("{extent}", str(extent))
            raise CallError(f"status {status}: {text}", status)
        sizes = "".join(f" {size}" for size in slots[: self._sizes])
        text = _STATUS.get(status, "no compiled program returns it; its code or memory is damaged")
        raise CallError(f"status {status}: {text.format(sizes=sizes)}", status)


class Program:
    """A compiled program. Call it with arrays; `launch` takes addresses.

    Several threads may call one program at once."""

    def __init__(self, signature: Signature, launch: Callable[..., None], *, target: str, device: str, code: Any,
                 artifact: Optional[Artifact] = None, diagnostics: Sequence[Diagnostic] = (),
                 learner: Optional[Callable[[], Any]] = None) -> None:
        self.signature = signature
        self.target = target
        #: The same as `launch` with addresses of the host.
        self._call = launch
        self.device = device
        #: The code, where it is code of the host.
        self.artifact = artifact
        #: launch(*slots): sizes in order, then one address for each argument, inputs before results, of dense row-major memory
        #: (i1: a byte an element). Checks nothing; raises CallError where the program refuses. Other threads run meanwhile.
        self.launch = launch
        #: Of a program of a package: the names of its inputs, what the front end kept, and the arrays that it has of its own,
        #: by the number of the input.
        self.names: list[str] = []
        self.data: Any = None
        self.weights: dict[int, np.ndarray] = {}
        #: What the compiler said: remarks, warnings.
        self.diagnostics = list(diagnostics)
        self._code = code # keeps the library
        #: Gives what calls programs that make sizes of their data.
        self.learner = learner
        #: Sizes and shapes of results by the shapes of inputs that were seen.
        self._plans: dict[tuple, tuple[tuple[int, ...], list[tuple[tuple[int, ...], np.dtype]]]] = {}

    def bind(self, *slots: int) -> None:
        """Computes the program's bound input of its constant arguments: the addresses of these (`signature.bind_inputs`), then that
        of the bytes."""
        if self.signature.bind is None:
            raise ArgumentError(f"'{self.signature.name}' has no bound input: no argument is marked with tilewright.constant, or nothing is "
                                "computed of one alone")
        self._code.bind(*slots)

    def __repr__(self) -> str:
        return f"<Program {self.signature} for {self.target} on {self.device}>"

    def __call__(self, *inputs: Any, sizes: Optional[Sequence[int]] = None, out: Any = None) -> Any:
        """Results for `inputs`: arrays of numpy, PyTorch, or what has __array_interface__ or DLPack. Returns one array, a
        tuple of several, or None; they are tensors of PyTorch where an input is one. `sizes`: where they do not follow from
        the inputs; `out`: an array or a tuple of arrays for the results."""
        if sizes is None and out is None:
            try:
                result = self._quick(*inputs)
            except (TypeError, ValueError, BufferError, KeyError): # another number, read-only, empty, no buffer, new shapes
                result = NotImplemented
            if result is not NotImplemented:
                return result
        if len(inputs) != len(self.signature.inputs):
            raise ArgumentError(f"'{self.signature.name}' takes {len(self.signature.inputs)} inputs, {len(inputs)} were given: "
                                f"{self.signature}")
        given = [arrays.as_array(value, argument, f"input {number}")
                 for number, (value, argument) in enumerate(zip(inputs, self.signature.inputs))]
        if sizes is None:
            shapes = tuple(array.shape for array in given)
            plan = self._plans.get(shapes) or self._plan(self.signature.solve(shapes))
            if len(self._plans) < 1024: # a program with more is called with sizes that rarely come again
                self._plans[shapes] = plan
        else:
            plan = self._plan(self._checked(given, sizes))
        known, made = plan
        if self.signature.made:
            return self._call_learning(given, known, inputs)
        results = [np.empty(shape, dtype) for shape, dtype in made] if out is None else self._given_results(out, known, given)
        self._call(*known, *(array.ctypes.data for array in (*given, *results)))
        return self._returned(results, inputs) if out is None else out

    @functools.cached_property
    def _quick(self) -> Callable[..., Any]:
        """The call of arrays of numpy as they should be, for shapes that were seen: written out, since a loop over the
        arguments takes as long as all of it. Returns NotImplemented where it is another case."""
        inputs, results = range(len(self.signature.inputs)), range(len(self.signature.results))
        if self.signature.made or any(a.is_written for a in self.signature.inputs):
            return lambda *_: NotImplemented
        checks = " and ".join(f"type(a{i}) is array and a{i}.dtype is t{i} and a{i}.flags.c_contiguous" for i in inputs) or "True"
        lines = [f"def quick({', '.join(f'a{i}' for i in inputs)}):",
                 f"    if not ({checks}): return NotImplemented",
                 f"    sizes, made = plans[({''.join(f'a{i}.shape, ' for i in inputs)})]"]
        lines += [f"    r{i} = empty(*made[{i}])" for i in results]
        addresses = [f"address(view(a{i}))" for i in inputs] + [f"address(view(r{i}))" for i in results]
        lines += [f"    call(*sizes, {', '.join(addresses)})",
                  f"    return {'None' if not results else 'r0' if len(results) == 1 else ', '.join(f'r{i}' for i in results)}"]
        names = {"array": np.ndarray, "plans": self._plans, "empty": np.empty, "address": ctypes.addressof,
                 "view": ctypes.c_char.from_buffer, "call": self._call,
                 **{f"t{i}": arrays.numpy_type(argument.type) for i, argument in enumerate(self.signature.inputs)}}
        exec("\n".join(lines), names)
        return names["quick"]

    def _plan(self, sizes: tuple[int, ...]) -> tuple[tuple[int, ...], list[tuple[tuple[int, ...], np.dtype]]]:
        return sizes, [(a.extents(*sizes), arrays.numpy_type(a.type)) for a in self.signature.results]

    def _checked(self, given: Sequence[np.ndarray], sizes: Sequence[int]) -> tuple[int, ...]:
        if len(sizes) != self.signature.sizes:
            raise ArgumentError(f"'{self.signature.name}' has {self.signature.sizes} sizes, sizes= has {len(sizes)}")
        for number, (argument, array) in enumerate(zip(self.signature.inputs, given)):
            if argument.extents(*sizes) != array.shape:
                raise ArgumentError(f"input {number} has shape {array.shape}; with sizes {tuple(sizes)} it is "
                                    f"{argument.extents(*sizes)} ({argument})")
        return tuple(sizes)

    def _given_results(self, out: Any, sizes: Sequence[int], given: Sequence[np.ndarray]) -> list[np.ndarray]:
        values = out if isinstance(out, (tuple, list)) else (out,)
        if len(values) != len(self.signature.results):
            raise ArgumentError(f"'{self.signature.name}' has {len(self.signature.results)} results, out= has {len(values)}")
        results = []
        for number, (value, argument) in enumerate(zip(values, self.signature.results)):
            array = arrays.as_array(value, argument, f"out {number}")
            if array.shape != argument.extents(*sizes):
                raise ArgumentError(f"out {number} has shape {array.shape}; the program makes {argument.extents(*sizes)}")
            if any(np.may_share_memory(array, other) for other in (*given, *results)):
                raise ArgumentError(f"out {number} shares memory with an input or another result")
            results.append(array)
        return results

    def _call_learning(self, given: Sequence[np.ndarray], sizes: Sequence[int], inputs: Sequence[Any]) -> Any:
        """A call of a program that makes sizes of results of its data: called again until the arrays fit."""
        loaded, tried = self.learner(), list(sizes) # type: ignore[misc]
        for _ in range(self.signature.sizes + 1):
            results = [np.empty(shape, dtype) for shape, dtype in self._plan(tuple(tried))[1]]
            if loaded.learn(tried, [array.ctypes.data for array in (*given, *results)]):
                return self._returned(results, inputs)
        raise CallError(f"'{self.signature.name}' makes other sizes at each call", 1)

    def _returned(self, results: list[np.ndarray], inputs: Sequence[Any]) -> Any:
        example = next(filter(arrays.is_tensor, inputs), None) if arrays.has_torch() else None
        if example is not None:
            results = [arrays.like(array, argument, example) for array, argument in zip(results, self.signature.results)]
        return results[0] if len(results) == 1 else tuple(results) if results else None
