"""Writes the programs that test/gpu/run.py measures, and an index of them. `python programs.py FOLDER [--small] [--experiments]`

Products of f16 and bf16 with sums in f32 (square ones, and those of transformer layers), products with epilogues, convolutions of
a residual network, attention, soft-max and layer normalisation; with --experiments, those of experiments.py. --small: one of each
kind, small, for the tests of the script itself. Words for tw-compile stand in NAME.words.
"""

import argparse
import importlib.util
import json
import pathlib
import sys

from experiments import experiments

BENCHMARK = pathlib.Path(__file__).resolve().parents[1] / "benchmark"

#: m, n, k of the products in layers of models of 7, 13 and 70 billion parameters: queries to values, output, both halves of
#: the feed-forward part; 4096, 512 and 16 tokens.
MODEL_SHAPES = [(4096, 12288, 4096), (512, 4096, 4096), (4096, 11008, 4096), (4096, 4096, 11008),
                (512, 15360, 5120), (512, 5120, 5120), (512, 13824, 5120), (512, 5120, 13824),
                (4096, 10240, 8192), (4096, 57344, 8192), (4096, 8192, 28672), (16, 8192, 8192)]

#: Images, rows and columns, channels, filters, taps and stride of convolutions in a residual network of 50 layers.
CONVOLUTIONS = [(64, 56, 64, 64, 3, 1), (64, 28, 128, 128, 3, 1), (64, 14, 256, 256, 3, 1), (64, 7, 512, 512, 3, 1),
                (64, 56, 64, 256, 1, 1), (64, 56, 128, 128, 3, 2)]


#: Heads (of all sequences together), tokens, features of a head, whether causal: 16 K tokens of a model of 2048 features.
ATTENTIONS = [(2048 // features * 16384 // tokens, tokens, features, causal) for features in (64, 128)
              for tokens in (1024, 4096, 16384) for causal in (False, True)]


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


def conv(shape):
    """Images and filters with the channels last, zeros around the image; rounded once to the type of the inputs."""
    n, h, w, c, f, taps, stride, pad, t = (shape[key] for key in ("images", "h", "w", "c", "f", "taps", "stride", "padding", "type"))
    oh, ow = ((extent + 2 * pad - taps) // stride + 1 for extent in (h, w))
    x, padded = f"tensor<{n}x{h}x{w}x{c}x{t}>", f"tensor<{n}x{h + 2 * pad}x{w + 2 * pad}x{c}x{t}>"
    y, filters = f"tensor<{n}x{oh}x{ow}x{f}x{t}>", f"tensor<{taps}x{taps}x{c}x{f}x{t}>"
    around = "" if pad == 0 else f"""
  %p = tensor.pad %X low[0, {pad}, {pad}, 0] high[0, {pad}, {pad}, 0] {{
    ^bb0(%i: index, %j: index, %k: index, %l: index):
      tensor.yield %zero : {t}
  }} : {x} to {padded}"""
    return f"""func.func @compute(%X: {x}, %W: {filters}) -> {y} {{
  %zero = arith.constant 0.0 : {t}{around}
  %empty = tensor.empty() : {y}
  %init = linalg.fill ins(%zero : {t}) outs(%empty : {y}) -> {y}
  %r = linalg.conv_2d_nhwc_hwcf {{dilations = dense<1> : tensor<2xi64>, strides = dense<{stride}> : tensor<2xi64>}}
      ins(%{'p' if pad else 'X'}, %W : {padded}, {filters}) outs(%init : {y}) -> {y}
  return %r : {y}
}}
"""


def increment(shape):
    """y = x + 1."""
    x = f"tensor<{shape['m']}x{shape['type']}>"
    return f"""func.func @compute(%X: {x}) -> {x} {{
  %one = arith.constant 1.0 : {shape['type']}
  %empty = tensor.empty() : {x}
  %r = linalg.generic {{indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}}
      ins(%X : {x}) outs(%empty : {x}) {{
    ^bb0(%v: {shape['type']}, %o: {shape['type']}):
      %s = arith.addf %v, %one : {shape['type']}
      linalg.yield %s : {shape['type']}
  }} -> {x}
  return %r : {x}
}}
"""


def attention(shape):
    """soft-max(q k^T) v, arrays heads x tokens x features; sums and soft-max in f32, the powers rounded to the type of the inputs.
    Causal: of the keys up to the query's own number."""
    h, m, n, t = (shape[key] for key in ("heads", "m", "n", "type"))
    x, s, p = f"tensor<{h}x{m}x{n}x{t}>", f"tensor<{h}x{m}x{m}xf32>", f"tensor<{h}x{m}x{m}x{t}>"
    wide = f"tensor<{h}x{m}x{n}xf32>"
    masked = "" if not shape["causal"] else f"""
  %none = arith.constant 0xFF800000 : f32
  %masked = linalg.generic {{indexing_maps = [#same, #same], iterator_types = ["parallel", "parallel", "parallel"]}}
      ins(%scores : {s}) outs(%es : {s}) {{
    ^bb0(%a: f32, %b: f32):
      %i = linalg.index 1 : index
      %j = linalg.index 2 : index
      %c = arith.cmpi sle, %j, %i : index
      %r = arith.select %c, %a, %none : f32
      linalg.yield %r : f32
  }} -> {s}"""
    return f"""#same = affine_map<(b, i, j) -> (b, i, j)>
func.func @compute(%Q: {x}, %K: {x}, %V: {x}) -> {x} {{
  %zero = arith.constant 0.0 : f32
  %es = tensor.empty() : {s}
  %zs = linalg.fill ins(%zero : f32) outs(%es : {s}) -> {s}
  %scores = linalg.generic {{indexing_maps = [affine_map<(b, i, j, k) -> (b, i, k)>, affine_map<(b, i, j, k) -> (b, j, k)>,
                                              affine_map<(b, i, j, k) -> (b, i, j)>],
                             iterator_types = ["parallel", "parallel", "parallel", "reduction"]}}
      ins(%Q, %K : {x}, {x}) outs(%zs : {s}) {{
    ^bb0(%a: {t}, %b: {t}, %c: f32):
      %aw = arith.extf %a : {t} to f32
      %bw = arith.extf %b : {t} to f32
      %m = arith.mulf %aw, %bw : f32
      %r = arith.addf %c, %m : f32
      linalg.yield %r : f32
  }} -> {s}{masked}
  %soft = linalg.softmax dimension(2) ins(%{'masked' if masked else 'scores'} : {s}) outs(%es : {s}) -> {s}
  %ep = tensor.empty() : {p}
  %narrow = linalg.generic {{indexing_maps = [#same, #same], iterator_types = ["parallel", "parallel", "parallel"]}}
      ins(%soft : {s}) outs(%ep : {p}) {{
    ^bb0(%a: f32, %b: {t}):
      %c = arith.truncf %a : f32 to {t}
      linalg.yield %c : {t}
  }} -> {p}
  %ew = tensor.empty() : {wide}
  %zw = linalg.fill ins(%zero : f32) outs(%ew : {wide}) -> {wide}
  %sum = linalg.batch_matmul ins(%narrow, %V : {p}, {x}) outs(%zw : {wide}) -> {wide}
  %eo = tensor.empty() : {x}
  %o = linalg.generic {{indexing_maps = [#same, #same], iterator_types = ["parallel", "parallel", "parallel"]}}
      ins(%sum : {wide}) outs(%eo : {x}) {{
    ^bb0(%a: f32, %b: {t}):
      %c = arith.truncf %a : f32 to {t}
      linalg.yield %c : {t}
  }} -> {x}
  return %o : {x}
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

    def heads(t, count, tokens, features, causal=False):
        return {"name": f"attention-{t}-{count}x{tokens}x{features}{'-causal' if causal else ''}", "kind": "attention", "type": t,
                "heads": count, "m": tokens, "n": features, "causal": causal}

    def images(t, n, h, c, f, taps, stride):
        out = (h + 2 * (taps // 2) - taps) // stride + 1
        return {"name": f"conv-{t}-{n}x{h}x{h}x{c}-{f}x{taps}x{taps}-{stride}", "kind": "conv", "type": t, "images": n, "h": h,
                "w": h, "c": c, "f": f, "taps": taps, "stride": stride, "padding": taps // 2, "results": n * out * out * f,
                "terms": taps * taps * c}

    if small:
        return [product("gemm", "f16", 64, 128, 64), product("gemm-bias-relu", "bf16", 128, 64, 64),
                images("f16", 1, 6, 16, 16, 3, 1), rows("softmax", 8, 64), rows("layernorm", 8, 64),
                heads("f16", 2, 64, 32), heads("f16", 2, 64, 32, causal=True)]
    squares = [product("gemm", t, size, size, size) for t in ("f16", "bf16") for size in (4096, 8192)]
    models = [product("gemm", t, *shape) for t in ("f16", "bf16") for shape in MODEL_SHAPES]
    convolutions = [images(t, *shape) for t in ("f16", "bf16") for shape in CONVOLUTIONS]
    epilogues = [product("gemm-bias-relu", t, *shape) for t in ("f16", "bf16") for shape in ((4096, 4096, 4096),
                                                                                            (4096, 11008, 4096))]
    attentions = [heads("f16", *shape) for shape in ATTENTIONS]
    return squares + models + epilogues + convolutions + attentions + [rows(kind, *s) for kind in ("softmax", "layernorm")
                                           for s in ((4096, 4096), (16384, 1024), (1024, 32768))]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--small", action="store_true")
    parser.add_argument("--experiments", action="store_true")
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    all_shapes = shapes(options.small) + (experiments(options.small) if options.experiments else [])
    for shape in all_shapes:
        writer = {"gemm": gemm, "gemm-bias-relu": gemm, "conv": conv, "increment": increment,
                  "attention": attention}.get(shape["kind"], row_program)
        text = writer(shape)
        if shape.get("force"):
            maps, function = text.split("func.func", 1)
            text = f'{maps}module attributes {{tilewright.force = "{shape["force"]}"}} {{\nfunc.func{function}}}\n'
        (options.folder / f"{shape['name']}.mlir").write_text(text)
        (options.folder / f"{shape['name']}.words").write_text(" ".join(shape.get("words", [])))
    (options.folder / "index.json").write_text(json.dumps(all_shapes, indent=1) + "\n")


if __name__ == "__main__":
    main()
