"""Writes the programs that test/gpu/run.py measures, and an index of them. `python programs.py FOLDER [--small]`

Products of f16 and bf16 with sums in f32 (square ones, and those of transformer layers), products with epilogues, soft-max and
layer normalisation. --small: one of each kind, small, for the tests of the script itself.
"""

import argparse
import importlib.util
import json
import pathlib
import sys

BENCHMARK = pathlib.Path(__file__).resolve().parents[1] / "benchmark"

#: m, n, k of the products in layers of models of 7, 13 and 70 billion parameters: queries to values, output, both halves of
#: the feed-forward part; 4096, 512 and 16 tokens.
MODEL_SHAPES = [(4096, 12288, 4096), (4096, 4096, 4096), (4096, 11008, 4096), (4096, 4096, 11008),
                (512, 15360, 5120), (512, 5120, 5120), (512, 13824, 5120), (512, 5120, 13824),
                (4096, 10240, 8192), (4096, 57344, 8192), (4096, 8192, 28672), (16, 8192, 8192)]


def gemm(shape):
    """c = epilogue(a b): rounded once to the type of the inputs."""
    m, n, k, t = (shape[key] for key in ("m", "n", "k", "type"))
    a, b, c, row = f"tensor<{m}x{k}x{t}>", f"tensor<{k}x{n}x{t}>", f"tensor<{m}x{n}x{t}>", f"tensor<{n}x{t}>"
    bias = shape["kind"] == "gemm-bias-relu"
    tail = "" if not bias else f"""
  %zf = arith.constant 0.0 : {t}
  %o = linalg.generic {{indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (j)>,
                                         affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}}
      ins(%r, %bias : {c}, {row}) outs(%empty : {c}) {{
    ^bb0(%x: {t}, %y: {t}, %q: {t}):
      %s = arith.addf %x, %y : {t}
      %m = arith.maximumf %s, %zf : {t}
      linalg.yield %m : {t}
  }} -> {c}"""
    return f"""func.func @compute(%A: {a}, %B: {b}{f', %bias: {row}' if bias else ''}) -> {c} {{
  %zero = arith.constant 0.0 : {t}
  %empty = tensor.empty() : {c}
  %init = linalg.fill ins(%zero : {t}) outs(%empty : {c}) -> {c}
  %r = linalg.matmul ins(%A, %B : {a}, {b}) outs(%init : {c}) -> {c}{tail}
  return {'%o' if bias else '%r'} : {c}
}}
"""


def row_program(shape):
    """Soft-max and layer normalisation as the benchmarks of CPUs have them."""
    sys.path.append(str(BENCHMARK))
    specification = importlib.util.spec_from_file_location("cpu_programs", BENCHMARK / "programs.py")
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module.text(shape)


def shapes(small):
    def product(kind, t, m, n, k):
        return {"name": f"{kind}-{t}-{m}x{n}x{k}", "kind": kind, "type": t, "m": m, "n": n, "k": k}

    def rows(kind, m, n):
        return {"name": f"{kind}-f32-{m}x{n}", "kind": kind, "type": "f32", "m": m, "n": n}

    if small:
        return [product("gemm", "f16", 64, 128, 64), product("gemm-bias-relu", "bf16", 128, 64, 64),
                rows("softmax", 8, 64), rows("layernorm", 8, 64)]
    squares = [product("gemm", t, s, s, s) for t in ("f16", "bf16") for s in (4096, 8192)]
    models = [product("gemm", "f16", *shape) for shape in MODEL_SHAPES]
    epilogues = [product("gemm-bias-relu", t, *shape) for t in ("f16", "bf16") for shape in ((4096, 4096, 4096),
                                                                                            (4096, 11008, 4096))]
    return squares + models + epilogues + [rows(kind, *s) for kind in ("softmax", "layernorm")
                                           for s in ((4096, 4096), (16384, 1024), (1024, 32768))]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--small", action="store_true")
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    all_shapes = shapes(options.small)
    for shape in all_shapes:
        text = gemm(shape) if shape["kind"].startswith("gemm") else row_program(shape)
        (options.folder / f"{shape['name']}.mlir").write_text(text)
    (options.folder / "index.json").write_text(json.dumps(all_shapes, indent=1) + "\n")


if __name__ == "__main__":
    main()
