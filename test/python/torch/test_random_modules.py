"""Random programs, forward and backward, against eager; several at once in one graph, so that each costs little."""

import pytest
import torch
from torch._functorch.aot_autograd import aot_function
from torch._functorch.partitioners import min_cut_rematerialization_partition

from settings import FULL
from op_samples import same_strides
from random_modules import Program, fresh
from tilewright.torch import decompositions
from tilewright.torch.backend import compile_graph
from tilewright.torch.options import Options

STRICT = Options(strict=True, threads=1)
TOGETHER = 10


def compiled(function):
    def compiler(graph, _):
        return compile_graph(graph, STRICT)
    return aot_function(function, fw_compiler=compiler, bw_compiler=compiler, decompositions=decompositions.table(),
                        partition_fn=min_cut_rematerialization_partition)


def verify(seed, program, got, want, exact, strides=True):
    for g, w, e in zip(got, want, exact, strict=True):
        where = f"seed {seed}:\n{program}"
        if w is None:  # a compiled function has a gradient, of zeros, for all that it has taken
            assert g is None or not g.any(), where
            continue
        assert (g.dtype, g.shape) == (w.dtype, w.shape), where
        assert not strides or same_strides(g, w), f"strides {g.stride()}, eager's {w.stride()}: {where}"
        if not w.is_floating_point():
            assert torch.equal(g, w), where
        elif w.numel():
            ours, theirs = (g - e).abs().max(), (w - e).abs().max()
            assert ours <= 2 * theirs + 16 * max(program.eps, torch.finfo(w.dtype).eps) * (1 + e.abs().max()), f"error {ours:.3g}, eager's {theirs:.3g}: {where}"


def all_at_once(programs):
    def together(groups):
        return [p.run(*arguments) for p, arguments in zip(programs, groups)]
    return together


def forward(seeds):
    programs = [Program(s) for s in seeds]
    groups, others, exact = ([fresh(p.arguments, double) for p in programs] for double in (False, False, True))
    with torch.no_grad():
        got = compiled(all_at_once(programs))(groups)
        for seed, p, g, mine, theirs, e in zip(seeds, programs, got, groups, others, exact):
            verify(seed, p, g, p.run(*theirs), p.run(*e))
            verify(seed, p, mine, theirs, e)  # arguments that were written to


def backward(seeds):
    programs = [Program(s, differentiable=True) for s in seeds]
    groups, others, exact = ([fresh(p.arguments, double, True) for p in programs] for double in (False, False, True))

    def gradients(results, arguments):
        total = sum(r.square().mean() for rs in results for r in rs if r.numel())
        return torch.autograd.grad(total, [a for group in arguments for a in group], allow_unused=True)
    got = gradients(compiled(all_at_once(programs))(groups), groups)
    want, reference = (gradients(all_at_once(programs)(values), values) for values in (others, exact))
    place = 0
    for seed, p in zip(seeds, programs):
        part = slice(place, place + len(p.arguments))
        verify(seed, p, got[part], want[part], reference[part], strides=False)  # decompositions of PyTorch's choose those
        place = part.stop


def each_alone(run, seeds):
    """Together; where that fails, one after the other, so that the message names the program."""
    try:
        run(seeds)
    except Exception:
        for seed in seeds:
            run([seed])
        raise


@pytest.mark.parametrize("first", range(0, 1000 if FULL else 30, TOGETHER))
def test_forward(first):
    each_alone(forward, list(range(first, first + TOGETHER)))


@pytest.mark.parametrize("first", range(0, 300 if FULL else 10, TOGETHER))
def test_backward(first):
    each_alone(backward, list(range(first, first + TOGETHER)))
