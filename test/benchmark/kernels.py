"""Programs of many kinds, to compare how long they are expected to take with how long they take (calibration.py)."""

import programs

#: (name, shape for programs.text) of products, rows, chains, reductions and windows: near, in the last cache, in memory.
SHAPES = [
    *[dict(kind="gemm", type="f32", m=m, n=n, k=k) for m, n, k in (
        (64, 64, 64), (128, 128, 128), (256, 256, 256), (512, 512, 512), (1000, 1000, 1000), (128, 768, 3072), (128, 3072, 768),
        (1, 4096, 4096), (16, 4096, 4096), (1024, 1024, 16), (1024, 48, 1024))],
    dict(kind="gemm", type="f32", m=512, n=512, k=512, transA=True),
    dict(kind="gemm", type="f32", m=512, n=512, k=512, transB=True),
    dict(kind="gemm", type="f32", m=128, n=3072, k=768, transA=True, transB=True),
    dict(kind="gemm", type="f64", m=256, n=256, k=256),
    dict(kind="gemm", type="bf16", m=256, n=256, k=256),
    dict(kind="gemm", type="u8s8", m=512, n=512, k=512),
    dict(kind="fused", type="f32", m=128, n=3072, k=768),
    *[dict(kind=kind, type="f32", m=m, n=n) for kind in ("softmax", "layernorm", "chain", "rowsum", "colsum")
      for m, n in ((64, 64), (512, 512), (4096, 1024))],
    dict(kind="maxpool", type="f32", m=64, n=4096),
    dict(kind="maxpool-last", type="f32", m=16384, n=64, k=128),
    dict(kind="mean", type="f32", m=256, n=4096),
]


def convolution(channels, filters, side, window, last):
    """Batch 1, f32; `last`: channels last."""
    out = side - window + 1
    if last:
        x, w, y = (1, side, side, channels), (window, window, channels, filters), (1, out, out, filters)
    else:
        x, w, y = (1, channels, side, side), (filters, channels, window, window), (1, filters, out, out)
    x, w, y = (f"tensor<{'x'.join(map(str, sizes))}xf32>" for sizes in (x, w, y))
    name = "conv_2d_nhwc_hwcf" if last else "conv_2d_nchw_fchw"
    return f"""func.func @compute(%x: {x}, %w: {w}) -> {y} {{
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : {y}
  %init = linalg.fill ins(%zero : f32) outs(%e : {y}) -> {y}
  %r = linalg.{name} ins(%x, %w : {x}, {w}) outs(%init : {y}) -> {y}
  return %r : {y}
}}
"""


def transpose(m, n):
    x, y = f"tensor<{m}x{n}xf32>", f"tensor<{n}x{m}xf32>"
    return f"""func.func @compute(%x: {x}) -> {y} {{
  %e = tensor.empty() : {y}
  %r = linalg.transpose ins(%x : {x}) outs(%e : {y}) permutation = [1, 0]
  return %r : {y}
}}
"""


def stencil(m, n):
    """Five points, each with a weight of its own."""
    x, y = f"tensor<{m + 2}x{n + 2}xf32>", f"tensor<{m}x{n}xf32>"
    parts = [(0, 1), (1, 0), (1, 1), (1, 2), (2, 1)]
    slices = "".join(f"  %s{i} = tensor.extract_slice %x[{r}, {c}] [{m}, {n}] [1, 1] : {x} to {y}\n"
                     for i, (r, c) in enumerate(parts))
    maps = ", ".join(["affine_map<(i, j) -> (i, j)>"] * 6)
    return f"""func.func @compute(%x: {x}) -> {y} {{
  %side = arith.constant 0.125 : f32
  %middle = arith.constant 0.5 : f32
{slices}  %e = tensor.empty() : {y}
  %r = linalg.generic {{indexing_maps = [{maps}], iterator_types = ["parallel", "parallel"]}}
      ins(%s0, %s1, %s2, %s3, %s4 : {', '.join([y] * 5)}) outs(%e : {y}) {{
    ^bb0(%a: f32, %b: f32, %c: f32, %d: f32, %f: f32, %o: f32):
      %t0 = arith.addf %a, %b : f32
      %t1 = arith.addf %d, %f : f32
      %t2 = arith.addf %t0, %t1 : f32
      %t3 = arith.mulf %t2, %side : f32
      %t4 = arith.mulf %c, %middle : f32
      %t5 = arith.addf %t3, %t4 : f32
      linalg.yield %t5 : f32
  }} -> {y}
  return %r : {y}
}}
"""


def element_wise(m, n, operation):
    """One elementary function of each element."""
    x = f"tensor<{m}x{n}xf32>"
    same = "affine_map<(i, j) -> (i, j)>"
    return f"""func.func @compute(%x: {x}) -> {x} {{
  %e = tensor.empty() : {x}
  %r = linalg.generic {{indexing_maps = [{same}, {same}], iterator_types = ["parallel", "parallel"]}} ins(%x : {x}) outs(%e : {x}) {{
    ^bb0(%a: f32, %o: f32):
      %t = math.{operation} %a : f32
      linalg.yield %t : f32
  }} -> {x}
  return %r : {x}
}}
"""


def all_of():
    """Text by name."""
    found = {}
    for shape in SHAPES:
        found[programs.name(shape)] = programs.text(shape)
    for channels, filters, side, window, last in ((64, 64, 58, 3, False), (64, 64, 58, 3, True), (256, 64, 56, 1, True),
                                                  (64, 256, 28, 1, False)):
        name = f"conv-{channels}-{filters}-{side}-{window}x{window}{'-last' if last else ''}"
        found[name] = convolution(channels, filters, side, window, last)
    for m, n in ((256, 256), (2048, 2048)):
        found[f"transpose-{m}x{n}"] = transpose(m, n)
        found[f"stencil-{m}x{n}"] = stencil(m, n)
    for operation in ("exp", "tanh", "erf"):
        found[f"{operation}-512x512"] = element_wise(512, 512, operation)
    return found
