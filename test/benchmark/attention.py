"""Attention: compiled code beside PyTorch's eager scaled_dot_product_attention. Run with PyTorch's interpreter:

    build/venv-torch/bin/python test/benchmark/attention.py [--build build/release] [--samples 15] [--threads 1] [--write]

Programs of `flex_attention` stand beside Inductor's kernel of it, since eager writes all scores.

Both are called in one process, in turns of one call each; every result is compared with a float64 evaluation first. The ratio is the
median over the turns of PyTorch's time over that of compiled code. docs/performance-attention.md has a section for each processor (--write).
"""

import argparse
import dataclasses
import os
import pathlib
import statistics
import sys
import time

SOURCE = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(SOURCE / "python"))

import sections  # noqa: E402: beside this file

PAGE = SOURCE / "docs/performance-attention.md"


@dataclasses.dataclass(frozen=True)
class Case:
    """One call: `queries` rows of `features` in each head against `keys` rows; values have `values` features."""
    heads: int
    queries: int
    keys: int
    features: int
    values: int = 0         # 0: as many as features
    groups: int = 1         # query heads that share a head of keys and values
    causal: bool = False
    bias: bool = False      # an additive one for each query and key
    dtype: str = "float32"
    flexible: str = ""      # a name in FLEXIBLE: a program of flex_attention

    def inputs(self, torch):
        kind = getattr(torch, self.dtype)
        shapes = [(self.heads, self.queries, self.features), (self.heads // self.groups, self.keys, self.features),
                  (self.heads // self.groups, self.keys, self.values or self.features)]
        return [torch.randn(1, *shape).to(kind) for shape in shapes] + (
            [torch.randn(1, 1, self.queries, self.keys).to(kind)] if self.bias else [])

    def call(self, attention):
        if self.flexible:
            return flexible(self.flexible, self.queries, self.keys)
        options = {"is_causal": self.causal, "enable_gqa": self.groups > 1}
        if self.bias:
            return lambda q, k, v, bias: attention(q, k, v, attn_mask=bias, **options)
        return lambda q, k, v: attention(q, k, v, **options)

    def row(self):
        what = [f"{self.groups} query heads a key head"] * (self.groups > 1) + ["causal"] * self.causal + ["bias"] * self.bias + \
            [f"flex_attention: {self.flexible}"] * bool(self.flexible)
        features = f"{self.features}, {self.values}" if self.values else self.features
        return [self.heads, self.queries, self.keys, features, self.dtype, ", ".join(what)]


#: Functions of a place that say which keys count, of a score that say what it becomes.
FLEXIBLE = {
    "causal": (lambda b, h, q, k: q >= k, None),
    "window of 256": (lambda b, h, q, k: (q >= k) & (q - k < 256), None),
    "window of 256, soft-cap": (lambda b, h, q, k: (q >= k) & (q - k < 256), lambda s, b, h, q, k: 20 * (s / 20).tanh()),
}


def flexible(name, queries, keys):
    from torch.nn.attention.flex_attention import create_block_mask, flex_attention
    mask, score = FLEXIBLE[name]
    blocks = create_block_mask(mask, None, None, queries, keys, device="cpu")
    return lambda q, k, v: flex_attention(q, k, v, score_mod=score, block_mask=blocks)


CASES = [
    Case(12, 128, 128, 64),
    Case(12, 512, 512, 64),
    Case(8, 2048, 2048, 64),
    Case(4, 4096, 4096, 128),
    Case(12, 512, 512, 64, causal=True),
    Case(8, 2048, 2048, 64, causal=True),
    Case(16, 512, 512, 64, groups=4),
    Case(8, 1024, 1024, 64, bias=True),
    Case(32, 1, 4096, 128),
    Case(8, 512, 512, 128, values=64),
    Case(12, 512, 512, 64, dtype="bfloat16"),
    Case(8, 2048, 2048, 64, dtype="bfloat16"),
    *(Case(8, 2048, 2048, 64, flexible=name) for name in FLEXIBLE),
]


def seconds(call, clock):
    begin = clock()
    call()
    return clock() - begin


def measure(case, samples, threads):
    """Milliseconds of both, and the ratio."""
    import tilewright.torch  # noqa: F401: the back end
    import torch
    from torch.nn.functional import scaled_dot_product_attention as attention

    torch.manual_seed(1)
    inputs, call = case.inputs(torch), case.call(attention)
    torch.compiler.reset()
    compiled = torch.compile(call, backend="tilewright", options={"threads": threads}, dynamic=False)
    theirs = torch.compile(call, backend="inductor", dynamic=False) if case.flexible else call
    contenders = {"PyTorch": lambda: theirs(*inputs), "compiled": lambda: compiled(*inputs)}
    times = {name: [] for name in contenders}
    # One thread's own time leaves out what other processes of the machine take; of several, only the wall's is theirs.
    clock = time.thread_time if threads == 1 else time.perf_counter
    with torch.no_grad():
        expected = call(*(x.double() for x in inputs))
        for name, each in contenders.items():
            error = (each().double() - expected).abs().max().item()
            if not error < (1e-5 if case.dtype == "float32" else 2e-2):
                raise SystemExit(f"{name} is wrong at {case}: error {error}")
        for turn in range(samples):
            for name in sorted(contenders, reverse=turn % 2 == 1):
                times[name].append(seconds(contenders[name], clock))
    ratio = statistics.median(a / b for a, b in zip(times["PyTorch"], times["compiled"]))
    return [statistics.median(times[name]) * 1e3 for name in contenders], ratio


INTRODUCTION = """# Attention beside PyTorch

How fast is attention, compared with PyTorch's eager `scaled_dot_product_attention` (its flash kernel), and `flex_attention` compared with Inductor's kernel of
it? Each section is generated on its processor by `test/benchmark/attention.py --write`. How it is compiled: [chains.md](chains.md).

Both are called in one process in turns; times (of one thread: the processor's, of the calling thread; else of the wall) are medians, ratios are medians of the
turns' ratios, and every result was compared with a float64 evaluation (largest error below 1e-5, of bfloat16 below 2e-2).
"""


def of_ratios(what, ratios):
    return f"Geometric mean of the ratios{what}: {statistics.geometric_mean(ratios):.2f}; the least: {min(ratios):.2f}.\n"


def section(torch, options, rows, plain, others):
    header = ("| heads | queries | keys | features | type | | PyTorch, ms | compiled, ms | PyTorch's time / ours |\n"
              "|---|---|---|---|---|---|---|---|---|")
    return f"""PyTorch {torch.__version__}, {options.samples} turns.

{header}
{chr(10).join(rows)}

{of_ratios("", plain)}{of_ratios(", flex_attention", others)}"""


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=pathlib.Path, default=SOURCE / "build/release")
    parser.add_argument("--samples", type=int, default=15)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--write", action="store_true", help=f"write {PAGE.relative_to(SOURCE)}")
    options = parser.parse_args()
    os.environ["TILEWRIGHT_SDK"] = str(options.build)
    import torch
    torch.set_num_threads(options.threads)
    rows, ratios = [], {False: [], True: []}
    for case in CASES:
        times, ratio = measure(case, options.samples, options.threads)
        rows.append("| " + " | ".join(map(str, case.row() + [f"{each:.2f}" for each in times] + [f"{ratio:.2f}"])) + " |")
        ratios[bool(case.flexible)].append(ratio)
        print(rows[-1], file=sys.stderr, flush=True)
    text = section(torch, options, rows, ratios[False], ratios[True])
    if options.write:
        sections.write(PAGE, INTRODUCTION, text, sections.cores(options.threads))
    else:
        print(text)


if __name__ == "__main__":
    main()
