"""Networks that PyTorch's two exporters write as ONNX, read by `tilewright.onnx`: the error against float64 at most
twice that of eager; one program for several batches."""

import copy

import numpy as np
import pytest
import torch

from networks import NETWORKS
from settings import FULL

onnx = pytest.importorskip("onnx", reason="ONNX is not installed")
pytest.importorskip("onnxscript", reason="the exporter of ONNX is not installed")

#: What an exporter of PyTorch 2.13 cannot write.
NOT_WRITTEN = {("t5", "script"), ("llama", "script"), ("decode", "script"), ("decode", "graph")}
CASES = [case for name in NETWORKS for case in ((name, "script"), (name, "graph")) if case not in NOT_WRITTEN]


def exported(model, values, exporter, path):
    """The batch is a dynamic dimension."""
    names = [f"x{i}" for i in range(len(values))]
    with torch.no_grad():
        if exporter == "script":
            torch.onnx.export(model, tuple(values), path, dynamo=False, input_names=names, opset_version=17,
                              dynamic_axes={n: {0: "batch"} for n, v in zip(names, values) if v.dim()})
        else:
            shapes = [{0: torch.export.Dim("batch")} if v.dim() else None for v in values]
            torch.onnx.export(model, tuple(values), path, dynamo=True, input_names=names, dynamic_shapes=shapes,
                              external_data=False, verbose=False)
    return path


def as_list(result):
    return list(result) if isinstance(result, (tuple, list)) else [result]


@pytest.mark.parametrize("name, exporter", CASES if FULL else [("vit", "script"), ("lstm", "graph")])
@pytest.mark.filterwarnings("ignore")
def test_exported(name, exporter, tmp_path):
    import tilewright.onnx
    torch.manual_seed(1)
    model, arguments = NETWORKS[name]()
    model.eval()
    exact = copy.deepcopy(model).double()
    path = exported(model, arguments(2), exporter, tmp_path / "model.onnx")
    run = tilewright.onnx.load(path, dynamic=True, threads=1)
    for batch in (2, 3):
        values = arguments(batch)
        with torch.no_grad():
            eager = [r.numpy() for r in as_list(model(*values))]
            wide = [v.double() if v.is_floating_point() else v for v in values]
            reference = [r.numpy() for r in as_list(exact(*wide))]
        made = run(*[v.numpy() for v in values])
        for got, theirs, want in zip(made if isinstance(made, tuple) else (made,), eager, reference, strict=True):
            assert got.shape == theirs.shape and got.dtype == theirs.dtype
            limit = 2 * np.abs(theirs - want).max() + 8 * np.finfo(got.dtype).eps * np.abs(want).max()
            assert np.abs(got - want).max() <= limit
