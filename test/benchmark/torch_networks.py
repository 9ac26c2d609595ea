"""Networks of PyTorch: compiled code beside Inductor, XLA and eager. Run with PyTorch's interpreter:

    build/venv-torch/bin/python test/benchmark/torch_networks.py --only gpt2,unet [--large] [--threads 1] [--write]
    build/venv-torch/bin/python test/benchmark/torch_networks.py --first resnet50,bert_base --first-only [--freeze]     # compile times
    build/venv-torch/bin/python test/benchmark/torch_networks.py --int8 --large --freeze --only resnet50,bert_base [--write]     # quantised
    build/venv-bench/bin/python test/benchmark/torch_networks.py --blocks --freeze --peers inductor,max-autotune,xla   # made by get-peers.sh

Every contender's result is compared with a float64 evaluation before it is timed. Contenders take turns sample by sample, in an order that
rotates; ratios are medians over the turns of the other's time over that of compiled code, so that other work on the machine falls on both.
"""

import argparse
import copy
import importlib.util
import json
import math
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

SOURCE = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(SOURCE / "python"), str(SOURCE / "test/python/torch"), str(pathlib.Path(__file__).resolve().parent)]
import sections  # noqa: E402: beside this file
import xla_peer  # noqa: E402

os.environ.setdefault("TILEWRIGHT_SDK", str(SOURCE / "build/release"))

#: Where the compilers keep code: empty folders, so that the first compilation is a cold one.
CACHES = {"TILEWRIGHT_CACHE_DIR": "tilewright", "TORCHINDUCTOR_CACHE_DIR": "inductor"}
#: The compilers that can be asked for beside ours: Inductor, Inductor with all that it can search, XLA by way of JAX (xla_peer.py).
PEERS = ("inductor", "max-autotune", "xla")
PAGE, BLOCKS_PAGE, INT8_PAGE = (SOURCE / f"docs/performance-{name}.md" for name in ("networks", "blocks", "int8"))


def known():
    """All that has a name: networks of a test's size, those at full size, blocks, and rows."""
    from full_networks import LARGE
    from network_blocks import BLOCKS, ROWS
    from networks import NETWORKS
    return {**NETWORKS, **LARGE, **BLOCKS, **ROWS}


def build(name, batch):
    import torch
    torch.manual_seed(1)
    model, arguments = known()[name]()
    return model.eval(), arguments(batch)


def contender(kind, model, freeze):
    import torch
    if kind == "eager":
        return model
    torch._dynamo.reset()
    if kind == "tilewright":
        import tilewright.torch  # noqa: F401 (registers the back end)
        return torch.compile(model, backend="tilewright", options={"strict": True, "freeze": freeze}, fullgraph=True, dynamic=False)
    import torch._inductor.config
    torch._inductor.config.freezing = freeze  # as an option of torch.compile it does not reach the passes that pack int8 weights
    mode = "max-autotune" if kind == "max-autotune" else None
    return torch.compile(model, backend="inductor", mode=mode, fullgraph=True, dynamic=False)


def call_of(kind, model, values, freeze):
    """What is timed: a function without arguments."""
    compiled = contender(kind, model, freeze)
    return lambda: compiled(*values)


def as_list(result):
    return list(result) if isinstance(result, (tuple, list)) else [result]


def distance(results, exact):
    """The largest error, relative to the largest element; infinite where one is no number."""
    worst = 0.0
    import numpy
    import torch
    for got, want in zip(as_list(results), exact, strict=True):
        got = got if isinstance(got, torch.Tensor) else torch.from_numpy(numpy.array(got))
        error = float(((got.double() - want).abs().max()) / want.abs().max().clamp(min=1e-30))
        worst = max(worst, error if math.isfinite(error) else math.inf)
    return worst


def sample(call, repeats, clock):
    if hasattr(call, "sample"):  # runs in a process of its own
        return call.sample(repeats)
    start = clock()
    for _ in range(repeats):
        call()
    return (clock() - start) / repeats


def in_turns(calls, samples, threads):
    """Times by contender, turn by turn. Each call runs once untimed before its sample. With one thread the clock is the processor time of the
    process, so that other work on the machine does not count; with several it is the wall's."""
    clock = time.process_time if threads == 1 else time.perf_counter
    repeats = {k: max(1, int(0.002 / max(1e-7, min(sample(c, 1, clock) for _ in range(3))))) for k, c in calls.items()}
    times, order = {k: [] for k in calls}, list(calls)
    for turn in range(samples):
        first = turn % len(order)
        for kind in order[first:] + order[:first]:
            calls[kind]()
            times[kind].append(sample(calls[kind], repeats[kind], clock))
    return times


def ratios_of(times):
    """By contender: the median over the turns of its time over that of compiled code."""
    return {k: statistics.median(o / t for o, t in zip(each, times["tilewright"])) for k, each in times.items() if k != "tilewright"}


#: The largest difference of a quantised network from the reference graph: single steps of activations that lie on a tie.
OF_TIES = 0.05


def quantised(name, batch):
    """The network quantised by PyTorch's quantizer of x86 processors, its arguments, and results of the reference graph in eager."""
    import torch
    from quantised import quantise
    model, values = build(name, batch)
    model = quantise(model, values)
    with torch.no_grad():
        return model, values, [r.double() for r in as_list(model(*values))]


def measure(name, batch, threads, samples, freeze, peers=PEERS[:1], int8=False):
    """One row: milliseconds of each contender, the medians of the ratios, and seconds of the first call."""
    import torch
    torch.set_num_threads(threads)
    if int8:
        model, values, exact = quantised(name, batch)
    else:
        model, values = build(name, batch)
        exact = [r.detach() for r in as_list(copy.deepcopy(model).double()(*[v.double() if v.is_floating_point() else v for v in values]))]
    calls, first, errors = {}, {}, {}
    with torch.no_grad(), torch._dynamo.config.patch(allow_rnn=True):
        for kind in ("tilewright", *peers, "eager"):
            start = time.perf_counter()
            calls[kind] = xla_peer.Peer(name, batch, threads) if kind == "xla" else call_of(kind, model, values, freeze)
            result = calls[kind]()
            first[kind] = time.perf_counter() - start
            errors[kind] = distance(result, exact)
        limit = OF_TIES if int8 else 2 * errors["eager"] + 1e-6
        if not errors["tilewright"] <= limit:
            raise SystemExit(f"{name}, batch {batch}: error {errors['tilewright']:.3g} of compiled code, {errors['eager']:.3g} of eager")
        times = in_turns(calls, samples, threads)
        if "xla" in calls:
            calls["xla"].close()
    return {"name": name, "batch": batch, "threads": threads, "first": first, "ratios": ratios_of(times),
            "ms": {k: 1e3 * statistics.median(v) for k, v in times.items()}, "errors": errors}


def overhead(samples):
    """Microseconds of a call of a function of three tensors and one result, 16 x 16 each."""
    import torch
    torch.set_num_threads(1)

    def f(a, b, c):
        return a * b + c
    values = [torch.randn(16, 16) for _ in range(3)]
    with torch.no_grad():
        calls = {kind: call_of(kind, f, values, False) for kind in ("tilewright", "inductor", "eager")}
        for call in calls.values():
            torch.testing.assert_close(call(), f(*values))
        times = in_turns(calls, samples, 1)
    return {k: 1e6 * statistics.median(v) for k, v in times.items()}, ratios_of(times)["inductor"]


def first_call(kind, name, environment, freeze=False):
    """Of the first call in a process of its own, in seconds: "first", from the model to the result; "own", of compiled code, the processor
    seconds that are not PyTorch's: the import of `tilewright.torch`, its tables, and from the graph that AOTAutograd hands over to a function
    that can be called; "callable", wall seconds from the text (Inductor: from the graph) to what can be called, and "processor", those of all
    threads meanwhile; "texts", how many."""
    program = f"""
import json, resource, sys, time; sys.path.insert(0, {str(pathlib.Path(__file__).parent)!r})
import torch, torch._dynamo.backends.common, torch_networks as t
torch._dynamo.list_backends()
model, values = t.build({name!r}, 1)
spent = dict(own=0.0, callable=0.0, processor=0.0, texts=0)
def processor():
    return sum(u.ru_utime + u.ru_stime for u in map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)))
def timed(place, name, counted, clocks):
    inner = getattr(place, name)
    def call(*arguments, **more):
        before = [clock() for clock in clocks.values()]
        result = inner(*arguments, **more)
        for key, clock, start in zip(clocks, clocks.values(), before):
            spent[key] += clock() - start
        spent["texts"] += counted
        return result
    setattr(place, name, call)
compiling = dict(callable=time.perf_counter, processor=processor)
if {kind == "tilewright"}:
    start = time.process_time()
    import tilewright.torch
    spent["own"] += time.process_time() - start
    backend = sys.modules["tilewright.torch.backend"]
    timed(backend.decompositions, "table", 0, dict(own=time.process_time))
    timed(backend, "compile_inference", 0, dict(own=time.process_time))
    timed(backend, "compile_program", 1, compiling)
elif {kind == "inductor"}:
    import torch._inductor.compile_fx as place
    timed(place, "fx_codegen_and_compile", 1, compiling)
call = t.contender({kind!r}, model, {freeze})
with torch.no_grad(), torch._dynamo.config.patch(allow_rnn=True):
    start = time.perf_counter(); call(*values); print(json.dumps(dict(spent, first=time.perf_counter() - start)))
"""
    run = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True)
    return json.loads(run.stdout.splitlines()[-1])


def first_calls(names, freeze=False):
    """By network, and contender, what `first_call` says of two processes: one with empty caches, one with what that has left. Python keeps its
    bytecode, as of a package that is installed."""
    rows, kept = {}, {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    for name in names:
        with tempfile.TemporaryDirectory() as folder:
            environment = {**kept, **{k: os.path.join(folder, v) for k, v in CACHES.items()}}
            rows[name] = {kind: [first_call(kind, name, environment, freeze) for _ in range(2)] for kind in ("tilewright", "inductor")}
            print(name, rows[name], flush=True)
    return rows


MEASURED = """Ratio: time of the other over that of compiled code; above 1, compiled code is faster; medians over interleaved turns. *Fastest*: the least of the
ratios to the compilers named. Error: largest, relative to the largest element, against float64.
"""

INTRODUCTION = """# Networks of PyTorch: measured speed

How fast are networks, compared with Inductor and eager PyTorch? Each section is generated on its processor by `test/benchmark/torch_networks.py --write`. Networks are those
of `test/python/torch/networks.py`, which are of a test's size, so that the cost of a call weighs much in them, and of `full_networks.py` at full size, without gradient: {large}.

""" + MEASURED

BLOCKS_INTRODUCTION = """# Blocks of networks on CPUs: measured speed

How fast are blocks of networks and rows of normalisations, compared with PyTorch's compiler (also with `mode="max-autotune"`) and XLA? Each section is generated on its
processor by `test/benchmark/torch_networks.py --blocks --write`; the modules are those of `test/python/torch/network_blocks.py`. XLA compiles what PyTorch exports and
torchax takes to JAX, with weights as constants.

""" + MEASURED

INT8_INTRODUCTION = """# Networks in int8 on CPUs: measured speed

How fast are networks that PyTorch's quantizer of x86 processors made int8 (torchao's PT2E; activations of 8 bits, weights by channel), compared with Inductor's int8 path?
Each section is generated on its processor by `test/benchmark/torch_networks.py --int8 --write`. How they are compiled: [quantisation.md](quantisation.md).

Ratio: time of the other over that of compiled code; above 1, compiled code is faster; medians over interleaved turns. *Eager* runs the reference graph, which computes in
f32. Error: largest difference from it, relative to the largest element: steps of activations that lie on a tie.
"""


def jax_version():
    import jax
    return f", XLA of JAX {jax.__version__}"


def section(rows, calls, firsts, options):
    import torch
    compiler = subprocess.run(["g++", "-dumpfullversion"], capture_output=True, text=True, check=True).stdout.strip()
    kinds = ["tilewright", *options.peers, "eager"]
    lines = [
        f"PyTorch {torch.__version__}, Inductor with g++ {compiler}{jax_version() if 'xla' in options.peers else ''}, {options.samples} turns, "
        f"{'int8 by X86InductorQuantizer, compared with the reference graph in eager' if options.int8 else 'f32'}"
        f"{', weights frozen on both sides' if options.freeze else ''}; load of the machine at the end {os.getloadavg()[1]:.1f}.", "",
        f"| network | batch | threads | {', '.join(kinds)}, ms".replace(", ", ", ms | ", len(kinds) - 1) +
        " | ratio to the fastest | to eager | error | eager's error |", "|---" * (len(kinds) + 7) + "|"]
    fastest = [min(r["ratios"][k] for k in options.peers) for r in rows]
    for r, ratio in zip(rows, fastest):
        lines.append(f"| {r['name']} | {r['batch']} | {r['threads']} | " + " | ".join(f"{r['ms'][k]:.3f}" for k in kinds) +
                     f" | {ratio:.2f} | {r['ratios']['eager']:.2f} | {r['errors']['tilewright']:.1e} | {r['errors']['eager']:.1e} |")
    lines += ["", f"Geometric mean of the ratios to the fastest: {statistics.geometric_mean(fastest):.2f}; the least: {min(fastest):.2f}."]
    if calls:
        microseconds, ratio = calls
        lines += ["", "### Cost of a call", "", "A function of three 16 x 16 tensors and one result, one thread, in microseconds: " +
                  ", ".join(f"{k} {each:.1f}" for k, each in microseconds.items()) + f". Ratio to Inductor: {ratio:.2f}."]
    if firsts:
        lines += first_lines(firsts)
    return "\n".join(lines) + "\n"


def first_lines(firsts):
    """The part of a page about first calls."""
    lines = ["", "### First call", "", "Seconds from the model to its first result, batch 1: with empty caches, and in a second process. Most of a "
             "second process is PyTorch's: Dynamo's and AOTAutograd's tracing. *Own*: processor seconds of the import of `tilewright.torch`, its "
             "tables, writing the text, looking it up and loading the code.", "",
             "| network | Tilewright | from the cache | own | Inductor | from the cache |", "|---|---|---|---|---|---|"]
    for name, row in firsts.items():
        (cold, warm), (other, again) = row["tilewright"], row["inductor"]
        lines.append(f"| {name} | {cold['first']:.1f} | {warm['first']:.1f} | {warm['own']:.2f} | {other['first']:.1f} | {again['first']:.1f} |")
    lines += ["", "Of the first process: wall seconds from the text of a program (Inductor: from the graph) to what can be called, and the processor "
              "seconds of all threads and processes meanwhile.", "",
              "| network | Tilewright | processor | Inductor | processor | ratio |", "|---|---|---|---|---|---|"]
    for name, row in firsts.items():
        (cold, _), (other, _) = row["tilewright"], row["inductor"]
        lines.append(f"| {name} | {cold['callable']:.2f} | {cold['processor']:.2f} | {other['callable']:.1f} | {other['processor']:.1f} | "
                     f"{other['callable'] / cold['callable']:.1f} |")
    return lines


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--only", default="", help="names of networks, by commas")
    parser.add_argument("--large", action="store_true", help="those at full size too")
    parser.add_argument("--blocks", action="store_true", help="blocks and rows in place of networks")
    parser.add_argument("--peers", default="inductor", help=f"other compilers, by commas: {', '.join(PEERS)}")
    parser.add_argument("--batch", type=int, nargs="+", default=[1, 8])
    parser.add_argument("--threads", type=int, nargs="+", default=sorted({1, os.cpu_count()}))
    parser.add_argument("--samples", type=int, default=15)
    parser.add_argument("--freeze", action="store_true", help="freeze weights on both sides")
    parser.add_argument("--int8", action="store_true", help="quantise the networks")
    parser.add_argument("--first", default="", help="networks whose first call is timed in processes of their own, by commas")
    parser.add_argument("--first-only", action="store_true", help="times no other calls; prints, and does not write")
    parser.add_argument("--write", action="store_true", help="writes the page in docs")
    options = parser.parse_args()
    from full_networks import LARGE
    from network_blocks import BLOCKS, ROWS
    from networks import NETWORKS
    options.peers = options.peers.split(",")
    for peer in options.peers:
        if peer not in PEERS:
            parser.error(f"there is no peer {peer!r}; there are {', '.join(PEERS)}")
    if "xla" in options.peers and importlib.util.find_spec("torchax") is None:
        parser.error("XLA needs an interpreter with JAX and torchax: test/benchmark/get-peers.sh makes build/venv-bench")
    everything = [*BLOCKS, *ROWS] if options.blocks else [*NETWORKS, *(LARGE if options.large else ())]
    names = options.only.split(",") if options.only else everything
    firsts = options.first.split(",") if options.first else []
    for name in (*names, *firsts):
        if name not in known():
            parser.error(f"there is no network {name!r}; there are {', '.join(known())}")
    if options.first_only:
        print("\n".join(first_lines(first_calls(firsts, options.freeze))))
        return
    rows, processors = [], os.sched_getaffinity(0)
    if options.threads == [1]:  # before any library begins its threads; XLA has some of its own
        os.sched_setaffinity(0, {max(processors)})
    with tempfile.TemporaryDirectory() as folder:
        os.environ.update({k: os.path.join(folder, v) for k, v in CACHES.items()})
        calls = None if options.blocks or options.int8 else overhead(options.samples)
        if calls:
            print("call:", {k: round(v, 1) for k, v in calls[0].items()}, f"ratio {calls[1]:.2f}", flush=True)
        for name in names:
            for batch in options.batch:
                for threads in options.threads:
                    rows.append(measure(name, batch, threads, options.samples, options.freeze, options.peers, options.int8))
                    print(rows[-1], flush=True)
    os.sched_setaffinity(0, processors)  # compilers may use all
    text = section(rows, calls, first_calls(firsts, options.freeze), options)
    print(text)
    if options.write:
        page = (INT8_PAGE, INT8_INTRODUCTION) if options.int8 else (BLOCKS_PAGE, BLOCKS_INTRODUCTION) if options.blocks else \
            (PAGE, INTRODUCTION.format(large=", ".join(LARGE)))
        run = "" if 1 in options.batch else f"batch {', '.join(map(str, options.batch))}"
        sections.write(*page, text, run)


if __name__ == "__main__":
    main()
