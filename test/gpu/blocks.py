"""Blocks of networks in half precision, exported ahead of time and called on CUDA tensors: beside eager PyTorch and its own compiler.

  python3 blocks.py make FOLDER [--target nvidia:H200] [--small]     on any machine with PyTorch and the SDK: FOLDER/NAME.tw
  python3 blocks.py run FOLDER [--no-compiler] [--json FILE]         on the machine with the GPU; no compiler of ours is needed
  python3 blocks.py page FILE --json FILE                            what `run` has written, as docs/performance-gpu-blocks.md

The folder `python` of the source has to be on PYTHONPATH, and TILEWRIGHT_SDK to name the runtime. A result is right if its error against
float64 is at most twice eager's own. Times are of the device alone, kernels one behind the other as each has been called in turn (medians of nine samples).
The exit status is 2 if a result is wrong, 1 if a block failed.
"""

import argparse
import json
import pathlib
import statistics
import sys
import time
import traceback

import torch

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "python/torch"))
from network_blocks import Bottleneck, Layer, Llama, Mixer  # noqa: E402: beside the networks of the tests

def blocks(small):
    """name: (module, inputs as functions of a device). f16, but LLaMA's, which is bf16."""
    def made(*shape): return lambda device: torch.randn(*shape, device=device)
    def last(*shape): return lambda device: torch.randn(*shape, device=device).to(memory_format=torch.channels_last)
    if small:
        return {"bert": (Layer(64, 2, before=False), [made(2, 64, 64)], torch.float16),
                "bottleneck": (Bottleneck(32, 16), [last(1, 32, 8, 8)], torch.float16)}
    return {"bert-base, 16 x 512": (Layer(768, 12, before=False), [made(16, 512, 768)], torch.float16),
            "bert-large, 8 x 512": (Layer(1024, 16, before=False), [made(8, 512, 1024)], torch.float16),
            "gpt-2, 8 x 1024": (Layer(768, 12, causal=True), [made(8, 1024, 768)], torch.float16),
            "vit-base, 64 x 197": (Layer(768, 12), [made(64, 197, 768)], torch.float16),
            "llama-8b, 1 x 4096": (Llama(), [made(1, 4096, 4096), made(4096, 128), made(4096, 128)], torch.bfloat16),
            "resnet bottleneck, 64 x 56 x 56": (Bottleneck(), [last(64, 256, 56, 56)], torch.float16),
            "mixer, 64 x 196": (Mixer(), [made(64, 196, 768)], torch.float16)}


def file_of(folder, name):
    return folder / f"{name.replace(', ', '-').replace(' ', '')}.tw"


def make(options):
    import tilewright.torch
    status = 0
    for name, (module, inputs, kind) in blocks(options.small).items():
        module = module.eval().to(kind)
        for parameter in module.parameters():
            parameter.requires_grad_(False)
        begin = time.perf_counter()
        try:
            tilewright.torch.export(module, tuple(make("cpu").to(kind) for make in inputs), file_of(options.folder, name),
                                    target=options.target, bind=False, freeze=False)
            print(f"{name}: {time.perf_counter() - begin:.1f} s", flush=True)
        except Exception as problem:  # each block is told, the others go on
            print(f"{name}: {problem}", file=sys.stderr)
            status = 1
    return status


def error(got, expected):
    """The largest error over the largest element; infinite if something is NaN."""
    value = ((got.double() - expected).abs().max() / expected.abs().max()).item()
    return value if value == value else float("inf")


def medians(calls, samples=9):
    """Microseconds on the device of each, called in turn: as many calls a sample as take five milliseconds."""
    def sample(call, count):
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        for _ in range(count):
            call()
        end.record()
        end.synchronize()
        return begin.elapsed_time(end) / count * 1e3
    counts = {}
    for name, call in calls.items():
        sample(call, 3)
        counts[name] = max(3, int(5e3 / sample(call, 3)))
    times = {name: [] for name in calls}
    for _ in range(samples):
        for name, call in calls.items():
            times[name].append(sample(call, counts[name]))
    return {name: round(sorted(each)[samples // 2], 1) for name, each in times.items()}


def kernels(call, count=5):
    """Microseconds of all kernels of a call, and their number, by the profiler."""
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as profile:
        for _ in range(count):
            call()
        torch.cuda.synchronize()
    events = [event for event in profile.key_averages() if event.self_device_time_total]
    return round(sum(e.self_device_time_total for e in events) / count, 1), sum(e.count for e in events) // count


def run_one(name, module, inputs, kind, options):
    import tilewright
    torch.manual_seed(1)
    module = module.eval().to("cuda", kind)
    for parameter in module.parameters():
        parameter.requires_grad_(False)
    arrays = [make("cuda").to(kind) for make in inputs]
    weights = module.state_dict()
    package = tilewright.load(file_of(options.folder, name), device="gpu")
    calls = {"tilewright": lambda: package(*arrays, weights=weights), "eager": lambda: module(*arrays)}
    with torch.no_grad():
        got, eager = calls["tilewright"](), calls["eager"]()
        wide = module.double()(*(x.double() for x in arrays))
        module.to(kind)
        record = {"name": name, "error": error(got, wide), "error of eager": error(eager, wide)}
        record["right"] = record["error"] <= max(2 * record["error of eager"], 1e-5)
        if not options.no_compiler:
            compiled = torch.compile(module)
            calls["torch.compile"] = lambda: compiled(*arrays)
        record["us"] = medians(calls)
        record["us of kernels"] = {who: kernels(call) for who, call in calls.items()}
    return record


def run(options):
    records, status = [], 0
    for name, (module, inputs, kind) in blocks(options.small).items():
        if options.only and options.only not in name:
            continue
        try:
            records.append(run_one(name, module, inputs, kind, options))
            status = status if records[-1]["right"] else 2
        except Exception as problem:  # each block is told, the others go on
            traceback.print_exc()
            records.append({"name": name, "problem": str(problem)})
            status = status or 1
        print(json.dumps(records[-1]), flush=True)
        torch.cuda.empty_cache()
    if options.json:
        where = {"device": torch.cuda.get_device_name(), "PyTorch": torch.__version__, "date": time.strftime("%Y-%m-%d")}
        options.json.write_text(json.dumps({"machine": where, "blocks": records}, indent=1) + "\n")
    return status


def page(options):
    """The records of `run` as a page of the documentation."""
    said = json.loads(options.json.read_text())
    lines = ["# Blocks of networks on a GPU", "",
             "How fast are layers of networks, exported ahead of time and called on tensors of the device? Written by `test/gpu/blocks.py page`; what "
             "is measured is said there.", "", "; ".join(f"{what}: {value}" for what, value in said["machine"].items()) + ".", "",
             "Microseconds of calls, one behind the other, and of their kernels alone with the number of kernels. Ratio: time of torch.compile's over ours, of calls "
             "and of kernels. Error: largest, relative to the largest element, against float64.", "",
             "| block | us | eager us | torch.compile us | ratio | kernels us | of eager | of torch.compile | ratio | error | eager's error |",
             "|---" + "|---:" * 10 + "|"]
    ratios = []
    for each in said["blocks"]:
        if "problem" in each:
            lines.append(f"| {each['name']} | failed: {each['problem']} |" + " |" * 9)
            continue
        us, own = each["us"], {who: f"{time_:.0f} ({count})" for who, (time_, count) in each["us of kernels"].items()}
        kernel = {who: time_ for who, (time_, _) in each["us of kernels"].items()}
        ratios.append((us["torch.compile"] / us["tilewright"], kernel["torch.compile"] / kernel["tilewright"]))
        cells = [each["name"], f"{us['tilewright']:.0f}", f"{us['eager']:.0f}", f"{us['torch.compile']:.0f}", f"{ratios[-1][0]:.2f}", own["tilewright"],
                 own["eager"], own["torch.compile"], f"{ratios[-1][1]:.2f}",
                 f"{each['error']:.1e}" if each["right"] else "WRONG", f"{each['error of eager']:.1e}"]
        lines.append(f"| {' | '.join(cells)} |")
    if ratios:
        means = [statistics.geometric_mean(column) for column in zip(*ratios)]
        lines += ["", f"Geometric mean of the ratios: {means[0]:.2f} of calls, {means[1]:.2f} of kernels."]
    options.folder.write_text("\n".join(lines) + "\n")
    return 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=["make", "run", "page"])
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--target", default="nvidia:H200")
    parser.add_argument("--small", action="store_true")
    parser.add_argument("--only")
    parser.add_argument("--no-compiler", action="store_true")
    parser.add_argument("--json", type=pathlib.Path)
    options = parser.parse_args()
    if options.what == "page":
        return page(options)
    options.folder.mkdir(parents=True, exist_ok=True)
    return make(options) if options.what == "make" else run(options)


if __name__ == "__main__":
    sys.exit(main())
