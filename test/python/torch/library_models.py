"""Writes docs/pytorch-models.md: models of public libraries with random weights, compiled for this host beside eager.

    python3 -m venv build/venv-models && build/venv-models/bin/pip install torch==2.13.0 torchvision transformers timm diffusers
    build/venv-models/bin/python test/python/torch/library_models.py --write          # some two hours
    build/venv-models/bin/python test/python/torch/library_models.py timm --only resnet18,vgg11_bn

Nothing is downloaded. Each model runs in a process of its own and is compared with its float64 copy: first the results, then, where the
library's table asks for them (`GRADIENTS`), the gradients of all parameters.
"""

import argparse
import contextlib
import copy
import importlib
import importlib.metadata
import json
import logging
import os
import pathlib
import subprocess
import sys
import warnings

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[2]
PAGE = ROOT / "docs/pytorch-models.md"
LIBRARIES = ("transformers", "timm", "torchvision", "diffusers")
TIME_LIMIT = 600  # seconds of one model


def library(name):
    sys.path.insert(0, str(HERE))
    return importlib.import_module(f"libraries.of_{name}")


def tensors(value):
    import torch
    if torch.is_tensor(value):
        yield value
    elif isinstance(value, (dict, list, tuple)):
        for each in value.values() if isinstance(value, dict) else value:
            yield from tensors(each)
    elif hasattr(value, "__dataclass_fields__"):
        yield from tensors(vars(value))


def widened(value):
    import torch
    if isinstance(value, (list, tuple)):
        return type(value)(map(widened, value))
    if isinstance(value, dict):
        return {k: widened(v) for k, v in value.items()}
    return value.double() if torch.is_tensor(value) and value.is_floating_point() else value


def results(call, arguments):
    return list(tensors(call(*arguments[0], **arguments[1])))


def gradients(call, model, arguments):
    model.zero_grad()
    sum(r.pow(2).mean() for r in results(call, arguments) if r.is_floating_point() and r.requires_grad).backward()
    return [g if (g := p.grad) is None else g.clone() for p in model.parameters()]


def ratio(got, want, exact):
    """The largest error over eager's own, which counts as at least two units in the last place of f32 of the largest element."""
    worst = 0.0
    for g, w, x in zip(got, want, exact, strict=True):
        if (g is None) != (w is None):
            return float("nan")
        if g is None or not w.is_floating_point():
            if g is not None and not g.equal(w):
                return float("nan")
            continue
        there = w.isfinite()
        if not g.isfinite().equal(there):
            return float("nan")
        there &= x.isfinite()
        if there.any():
            scale = x[there].abs().max() + 1e-30
            ours, theirs = (((y.double() - x)[there].abs().max() / scale).item() for y in (g, w))
            worst = max(worst, ours / max(theirs, 2.4e-7))
    return worst


def without_dropout(model):
    import torch
    for module in model.modules():
        if isinstance(module, torch.nn.modules.dropout._DropoutNd):
            module.p = 0.0


@contextlib.contextmanager
def in_double():
    """What a model makes without a type, such as coordinates, is f64."""
    import torch
    torch.set_default_dtype(torch.float64)
    try:
        yield
    finally:
        torch.set_default_dtype(torch.float32)


def judge(of, name):
    """What one model gives, as JSON on standard output."""
    import torch
    import tilewright.torch  # noqa: F401: the back end
    warnings.simplefilter("ignore")
    lines = []
    handler = logging.Handler()
    handler.emit = lambda record: lines.append(record.getMessage())
    logging.getLogger("tilewright.torch").addHandler(handler)
    torch.manual_seed(0)
    model, *arguments = library(of).make(name)
    without_dropout(model.eval())
    wide, exact = copy.deepcopy(model).double(), widened(arguments)
    row = {"gradients": None}
    with torch.no_grad():
        try:
            with in_double():
                precise = results(wide, exact)
        except RuntimeError:  # such as grouped products, which eager has in f32 at most: eager itself is the measure
            wide, exact = copy.deepcopy(model), arguments
            precise = results(wide, exact)
        row["forward"] = ratio(results(torch.compile(model, backend="tilewright"), arguments), results(model, arguments), precise)
    torch.compiler.reset()
    row["graphs"] = torch._dynamo.utils.counters["stats"]["unique_graphs"]
    if library(of).GRADIENTS:
        ours = gradients(torch.compile(model, backend="tilewright"), model, arguments)
        eager = gradients(model, model, arguments)
        with in_double() if exact is not arguments else contextlib.nullcontext():
            row["gradients"] = ratio(ours, eager, gradients(wide, wide, exact))
    row["eager"] = sorted({part.split(" at ")[0].split(": ")[-1] for line in lines for part in line.split("; ") if "::" in part})
    print(json.dumps(row))


def row_of(of, name):
    """What `judge` says in a process of its own; `error` where there is nothing."""
    try:
        run = subprocess.run([sys.executable, __file__, of, "--judge", name], capture_output=True, text=True, timeout=TIME_LIMIT)
    except subprocess.TimeoutExpired:
        return {"error": f"more than {TIME_LIMIT} s"}
    if run.returncode:
        return {"error": (run.stderr.strip().splitlines() or [f"exit status {run.returncode}"])[-1]}
    return json.loads(run.stdout.splitlines()[-1])


def text_of(name, row):
    if "error" in row:
        return f"| {name} | {row['error'][:120]} | | | |"
    gradients = "" if row["gradients"] is None else f"{row['gradients']:.1f}"
    return f"| {name} | {row['forward']:.1f} | {gradients} | {row['graphs']} | {' '.join(f'`{n}`' for n in row['eager'])} |"


HEAD = """# Models of public libraries

Do models of public libraries compile as they are? Written by `test/python/torch/library_models.py --write`: models with random weights and
small inputs in evaluation, f32, on the host. The largest error of all results, and of the gradients of all parameters, against float64, as a multiple of eager's
own; graphs that Dynamo makes (1: no break); operations that run eagerly. "nan": another result, or NaN where eager has numbers.
Where a model does not run in float64 (`raft_small`), eager's results in f32 stand in their place, and 1 is two units in the last place.
"""


def section(of, rows):
    version = importlib.metadata.version(of)
    return f"""
## {of}

{library(of).__doc__.splitlines()[0]} {of} {version}; {len(rows)} of {len(library(of).MODELS)} models of the table.

| model | error of results | of gradients | graphs | eagerly |
|---|---|---|---|---|
""" + "".join(text + "\n" for text in rows)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("library", nargs="?", choices=LIBRARIES, help="default: all of them")
    parser.add_argument("--only", help="names of models, with commas between them")
    parser.add_argument("--write", action="store_true", help=f"write {PAGE.relative_to(ROOT)}")
    parser.add_argument("--judge", help=argparse.SUPPRESS)
    options = parser.parse_args()
    os.environ.setdefault("TILEWRIGHT_SDK", str(ROOT / "build/release"))
    os.environ["PYTHONPATH"] = str(ROOT / "python")
    sys.path.insert(0, os.environ["PYTHONPATH"])
    if options.judge:
        return judge(options.library, options.judge)
    page = HEAD
    for of in [options.library] if options.library else LIBRARIES:
        rows = []
        for name in options.only.split(",") if options.only else library(of).MODELS:
            rows.append(text_of(name, row_of(of, name)))
            print(rows[-1], flush=True)
        page += section(of, rows)
    if options.write:
        PAGE.write_text(page)


if __name__ == "__main__":
    main()
