"""ONNX's own cases of single operations (onnx.backend.test): models with inputs and expected outputs.

    build/venv-onnx/bin/python test/python/onnx/node_cases.py [PART OF A NAME ..]      runs cases, all without a name;
    prints the counts build/venv-onnx/bin/python test/python/onnx/node_cases.py --write                  writes
    not-compiled.txt again
"""

import collections
import functools
import pathlib
import re
import sys
import warnings

import ml_dtypes
import numpy as np
import onnx
from onnx import numpy_helper

HERE = pathlib.Path(__file__).resolve().parent
LIST = HERE / "not-compiled.txt"


@functools.lru_cache(maxsize=None)
def cases():
    """Cases by name."""
    from onnx.backend.test.loader import load_model_tests
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return {case.name: case for case in load_model_tests(kind="node") if case.model is not None}


def operation(case):
    """The operation that a case is for: the first part of its name decides where there are several."""
    return case.model.graph.node[-1].op_type if case.model.graph.node else ""


def as_array(value):
    return numpy_helper.to_array(value) if isinstance(value, onnx.TensorProto) else value


def differences(case, number, got, want):
    """What is wrong with an output; empty: nothing. Beside the case's own tolerance, two roundings of a type of less
    than 32 bits, and four of the largest element are allowed."""
    want = np.asarray(want)
    if got.dtype != want.dtype or got.shape != want.shape:
        return f"output {number} is {got.dtype}{got.shape}, not {want.dtype}{want.shape}"
    if not ("float" in want.dtype.name):
        return "" if np.array_equal(got,
                                    want) else f"output {number}: {got.reshape(-1)[:8]}, not {want.reshape(-1)[:8]}"
    epsilon = float(ml_dtypes.finfo(want.dtype).eps)
    got, want = got.astype(np.float64), want.astype(np.float64)
    largest = np.abs(want[np.isfinite(want)]).max(initial=0)
    relative = max(case.rtol, 2 * epsilon) if epsilon > 1e-6 else case.rtol
    good = np.isclose(got, want, rtol=relative, atol=max(case.atol, 4 * epsilon * largest), equal_nan=True)
    return "" if good.all() else f"output {number}: {got[~good][:8]}, not {want[~good][:8]}"


def run(case):
    """(what is wrong, why it is refused): both empty where the outputs are right."""
    import tilewright.onnx
    try:
        model = tilewright.onnx.load(case.model, threads=1)
        for inputs, outputs in case.data_sets:
            made = model(*map(as_array, inputs))
            made = made if isinstance(made, tuple) else (made,)
            if len(made) != len(outputs):
                return f"{len(made)} outputs, not {len(outputs)}", ""
            for number, (got, want) in enumerate(zip(made, outputs)):
                wrong = differences(case, number, got, as_array(want))
                if wrong:
                    return wrong, ""
    except tilewright.onnx.UnsupportedError as error:
        return "", str(error)
    return "", ""


def refused():
    """Cases that are known not to be compiled: reasons by name."""
    found = {}
    for line in LIST.read_text().splitlines():
        if line and not line.startswith("#"):
            name, _, reason = line.partition(": ")
            found[name] = reason
    return found


def shortened(reason):
    """A reason without what differs from case to case."""
    return re.sub(r" \(node '[^']*', output '[^']*'\)", "", reason)


def main(names):
    chosen = {name: case for name, case in cases().items() if not names or any(n in name for n in names)}
    counts, reasons = collections.Counter(), {}
    for name, case in chosen.items():
        try:
            wrong, reason = run(case)
        except Exception as error:  # a crash of one case is that case's
            wrong, reason = f"{type(error).__name__}: {error}", ""
        counts["wrong" if wrong else "refused" if reason else "right"] += 1
        if wrong:
            print(f"{name}: {wrong}")
        if reason:
            reasons[name] = shortened(reason)
            if names:
                print(f"{name}: {reason}")
    print(", ".join(f"{counts[kind]} {kind}" for kind in ("right", "refused", "wrong")))
    return reasons


if __name__ == "__main__":
    sys.path.insert(0, str(HERE.parents[2] / "python"))
    arguments = sys.argv[1:]
    found = main([a for a in arguments if a != "--write"])
    if "--write" in arguments:
        head = "# Cases of onnx.backend.test that are not compiled, and why: written by node_cases.py --write\n"
        LIST.write_text(head + "".join(f"{name}: {reason}\n" for name, reason in sorted(found.items())))
