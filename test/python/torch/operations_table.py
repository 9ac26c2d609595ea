"""Writes docs/pytorch-operations.md: the overloads of ATen that the importer has an emitter of, by family.

    build/venv-torch/bin/python test/python/torch/operations_table.py --write
    build/venv-torch/bin/python test/python/torch/operations_table.py --judge      # minutes: those that PyTorch's samples run, all right
"""

import importlib
import multiprocessing
import os
import pathlib
import sys
import warnings

HERE = pathlib.Path(__file__).resolve().parent
PAGE = HERE.parents[2] / "docs/pytorch-operations.md"
SAMPLES = 4

HEAD = """# PyTorch: operations

Written by `test/python/torch/operations_table.py --write`; a test compares. These **{total} overloads** of ATen, and the operations of other
namespaces among them, are compiled where they reach the importer; others that PyTorch can take apart into them are compiled too ([pytorch.md](pytorch.md)). `test_ops.py` runs
PyTorch's own samples of more than 450 operations through them.

| family | overloads |
|---|---|
"""


def judged_by(name):
    """Overloads in the graphs of an operation's samples, if all are right."""
    import torch
    import test_ops
    from op_samples import check_operation
    from tilewright.torch import partition, registry
    torch.set_num_threads(1)
    seen = set()
    original = partition.unsupported

    def recording(nodes):
        seen.update(registry.name_of(n.target) for n in nodes)
        return original(nodes)
    partition.unsupported = recording
    try:
        _, unsupported, wrong = check_operation(test_ops.OPERATIONS[name], test_ops.first_type(test_ops.OPERATIONS[name]), SAMPLES)
    finally:
        partition.unsupported = original
    return set() if wrong or unsupported else seen


def families():
    """family -> (what it is for, its overloads)."""
    from tilewright.torch import registry
    registry.load()
    result = {}
    for name, emitter in registry.EMITTERS.items():
        if name.startswith("tilewright::"):  # what passes of the importer write
            continue
        result.setdefault(emitter.__module__, []).append(name)
    order = [f"tilewright.torch.ops_{family}" for family in registry.FAMILIES]
    return [(importlib.import_module(m).__doc__.split(".")[0].replace("\n", " "), sorted(result[m])) for m in order if m in result]


def page():
    rows, total = [], 0
    for title, names in families():
        total += sum(name.startswith("aten::") for name in names)
        rows.append(f"| {title} ({len(names)}) | {' '.join('`' + name.removeprefix('aten::') + '`' for name in names)} |")
    return HEAD.format(total=total) + "\n".join(rows) + "\n"


def all_judged():
    import test_ops
    with multiprocessing.Pool(os.cpu_count()) as pool:
        return set().union(*pool.imap_unordered(judged_by, test_ops.COMPILED))


if __name__ == "__main__":
    sys.path[:0] = [str(HERE), str(HERE.parents[2] / "python")]
    warnings.simplefilter("ignore")
    if "--judge" in sys.argv:
        judged = all_judged()
        print(f"{len(judged)} overloads:", *sorted(judged))
    elif "--write" in sys.argv:
        PAGE.write_text(page())
    else:
        print(page())
