"""Compares operations with eager on the samples of PyTorch's own test-suite (OpInfo): broadcasting, sizes of 0, memory that is not
contiguous, negative dimensions, ranks 0 and up.

All samples of an operation and type become one graph, so that each costs one compilation; a graph that fails is taken apart.
"""

import warnings

import torch
import torch.utils._pytree as pytree
from torch._functorch.aot_autograd import aot_function

from tilewright.torch import decompositions
from tilewright.torch.backend import UnsupportedError, compile_graph
from tilewright.torch.options import Options

#: How many results are compared, where of equal elements any may be chosen.
JUDGED = {"topk": 1}

STRICT = Options(strict=True, threads=1)


class Sample:
    """One call of an operation: a function of the tensors in it."""

    def __init__(self, operation, sample):
        self.operation, self.text = operation, str(sample)[:300]
        self.leaves, self.tree = pytree.tree_flatten((sample.input, sample.args, sample.kwargs))
        self.tensors = [leaf for leaf in self.leaves if isinstance(leaf, torch.Tensor)]

    def __call__(self, *tensors):
        rest = iter(tensors)
        value, arguments, keywords = pytree.tree_unflatten(
            [next(rest) if isinstance(leaf, torch.Tensor) else leaf for leaf in self.leaves], self.tree)
        return [r for r in pytree.tree_leaves(self.operation(value, *arguments, **keywords)) if isinstance(r, torch.Tensor)]

    def reference(self):
        """The call on float64; None where the operation has none."""
        try:
            return self(*(t.double() if t.is_floating_point() else t for t in self.tensors))
        except (RuntimeError, NotImplementedError, TypeError, ValueError):
            return None


def samples_of(info, dtype, count):
    result = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for sample in info.sample_inputs("cpu", dtype, requires_grad=False):
            entry = Sample(info, sample)
            if all(t.layout is torch.strided and not t.is_complex() for t in entry.tensors):
                result.append(entry)
            if len(result) == count:
                break
    return result


def run(samples):
    """What the compiled graph of all samples gives: a list of results for each."""
    def together(*tensors):
        rest, results = iter(tensors), []
        for sample in samples:
            results.append(sample(*[next(rest) for _ in sample.tensors]))
        return results
    compiled = aot_function(together, fw_compiler=lambda graph, _: compile_graph(graph, STRICT), decompositions=decompositions.table())
    with torch.no_grad(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return compiled(*[t.detach().clone(memory_format=torch.preserve_format) for s in samples for t in s.tensors])


def same_strides(one, other):
    return all(a == b or n <= 1 for a, b, n in zip(one.stride(), other.stride(), one.shape)) or one.numel() == 0


def difference(got, want, reference):
    """What is wrong with a result; None where it is right: close to eager's, or no farther from float64 than twice eager's distance."""
    if (got.dtype, got.shape) != (want.dtype, want.shape):
        return f"{got.dtype} {tuple(got.shape)} instead of {want.dtype} {tuple(want.shape)}"
    if not same_strides(got, want):
        return f"strides {got.stride()} instead of {want.stride()} of sizes {tuple(want.shape)}"
    try:
        torch.testing.assert_close(got, want, equal_nan=True)
        return None
    except AssertionError as error:
        message = str(error)
    if reference is None or reference.shape != want.shape or not want.is_floating_point():
        return message
    if not torch.equal(got.isfinite(), want.isfinite()):
        return message
    finite = want.isfinite()
    limit = torch.finfo(want.dtype).eps * reference[finite].abs().max()
    ours, theirs = ((t.double() - reference)[finite].abs().max() for t in (got, want))
    return None if ours <= 2 * theirs + 4 * limit else f"error {ours:.3g}, eager's {theirs:.3g}: {message}"


def check(samples):
    """Compares samples with eager: pairs (sample, what is wrong)."""
    results = run(samples)
    wrong = []
    for sample, got in zip(samples, results, strict=True):
        want = sample(*sample.tensors)
        reference = sample.reference() or [None] * len(want)
        judged = JUDGED.get(sample.operation.name, len(want))
        for g, w, r in list(zip(got, want, reference, strict=True))[:judged]:
            message = difference(g, w, r)
            if message:
                wrong.append((sample.text, message))
                break
    return wrong


def check_each(samples):
    """One graph for each sample: (number compiled, messages of unsupported ones, [(sample, what is wrong)])."""
    compiled, unsupported, wrong = 0, [], []
    for sample in samples:
        try:
            wrong += check([sample])
            compiled += 1
        except UnsupportedError as error:
            unsupported.append(str(error).splitlines()[1].strip())
        except Exception as error:  # reported with the sample that raises it
            wrong.append((sample.text, f"{type(error).__name__}: {error}"))
    return compiled, unsupported, wrong


def check_operation(info, dtype, count=None):
    """The same, together where nothing fails."""
    samples = samples_of(info, dtype, count)
    try:
        return len(samples), [], check(samples) if samples else []
    except Exception:  # whatever it is, it is found again sample by sample
        return check_each(samples)
