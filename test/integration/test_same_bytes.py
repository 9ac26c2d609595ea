"""The same input gives the same bytes: every kind of output, compiled twice, with another directory, number of processors and
environment, and with tw-run's results for every number of threads (test_code.py)."""

import os
import subprocess
import sys

import pytest

from conftest import BUILD, SOURCE

sys.path.insert(0, str(SOURCE / "test/benchmark"))
import networks  # noqa: E402

ACCELERATOR = [f"--load-target={BUILD / 'lib/tilewright/libtilewright-target-accelerator.so'}", "--target=accelerator"]
LAYER = SOURCE / "templates/accelerator/test/layer.mlir"
GEMM = SOURCE / "examples/gemm-bias-gelu.mlir"
MLP = SOURCE / "examples/mlp-f32.mlir"
OUTPUTS = {
    "object": ([MLP, "--target=cpu:zen4", "--header", "x.h"], "x.o"),
    "object-threads": ([MLP, "--target=cpu:zen4", "--threads=4"], "x.o"),
    "library": ([MLP, "--target=cpu:zen4"], "x.so"),
    "kernels-side-by-side": ([networks.bert, "--target=cpu:zen4"], "x.so"),
    "foreign": ([MLP, "--target=cpu:neoverse-v1"], "x.o"),
    "llvm": ([MLP, "--target=cpu:zen4"], "x.ll"),
    "ptx": ([GEMM, "--target=nvidia:H100"], "x.tw"),
    "hsaco": ([GEMM, "--target=amd:MI300X"], "x.tw"),
    "source": ([LAYER, *ACCELERATOR, "--header", "x.h"], "x.c"),
    "decisions": ([MLP, "--target=cpu:zen4", "--explain=json", "--dump-stages", "stages"], "x.o"),
}


def files(folder):
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


@pytest.mark.parametrize("name", OUTPUTS)
def test_same_bytes(tmp_path, name):
    arguments, output = OUTPUTS[name]
    if callable(arguments[0]):  # of one layer
        program = tmp_path / "program.mlir"
        program.write_text(arguments[0](1))
        arguments = [program, *arguments[1:]]
    found = []
    for run, prefix, extra in (("first", [], {}), ("second-run", ["taskset", "-c", "0"], {"OMP_NUM_THREADS": "7", "LANG": "C"})):
        folder = tmp_path / run
        folder.mkdir()
        result = subprocess.run([*prefix, BUILD / "bin/tw-compile", *map(str, arguments), "-o", output], cwd=folder,
                                env={**os.environ, **extra}, capture_output=True, timeout=600)
        assert result.returncode == 0, result.stderr
        found.append({**files(folder), "standard output": result.stdout})
    assert output in found[0] and len(found[0][output]) > 1000
    assert found[0].keys() == found[1].keys()
    assert [key for key in found[0] if found[0][key] != found[1][key]] == []
