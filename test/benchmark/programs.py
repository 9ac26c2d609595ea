"""The MLIR text of each shape, and its compilation to a shared object with a C interface."""

import json
import math
import os
import pathlib
import subprocess

import peers

ELEMENT = {"f32": ("f32", "f32", "f32"), "f64": ("f64", "f64", "f64"), "bf16": ("bf16", "bf16", "f32"),
           "u8s8": ("i8", "i8", "i32"), "s8s8": ("i8", "i8", "i32")}


def name(shape):
    if shape["kind"] == "fused":
        return f"fused-{shape['type']}-{shape['m']}x{shape['n']}x{shape['k']}"
    if shape["kind"].startswith("conv"):
        window = f"{shape['window']}x{shape['window']}"
        return f"{shape['kind']}-{shape['type']}-{shape['channels']}-{shape['filters']}-{shape['side']}-{window}"
    if shape["kind"] != "gemm":
        return f"{shape['kind']}-{shape['type']}-{shape['m']}x{shape['n']}"
    letters = "nt"[shape.get("transA", False)] + "nt"[shape.get("transB", False)]
    threads = f"-{shape['threads']}t" if shape.get("threads", 1) > 1 else ""
    layout = "" if letters == "nn" else f"-{letters}"
    return f"{shape['type']}-{shape['m']}x{shape['n']}x{shape['k']}{layout}{threads}"


def text(shape):
    """One public function `compute` on tensors that computes the shape."""
    return {"gemm": gemm, "fused": fused, "softmax": softmax, "layernorm": layer_norm, "chain": chain,
            "rowsum": row_sum, "colsum": column_sum, "maxpool": max_pool, "maxpool-last": max_pool_last,
            "mean": mean, "conv": convolution, "conv-last": convolution_last, "transpose": transpose, "stencil": stencil,
            "exp": element_wise, "tanh": element_wise, "erf": element_wise}[shape["kind"]](shape)


def gemm(shape):
    m, n, k = shape["m"], shape["n"], shape["k"]
    left, right, out = ELEMENT[shape["type"]]
    ta, tb = shape.get("transA", False), shape.get("transB", False)
    a = f"tensor<{k}x{m}x{left}>" if ta else f"tensor<{m}x{k}x{left}>"
    b = f"tensor<{n}x{k}x{right}>" if tb else f"tensor<{k}x{n}x{right}>"
    c = f"tensor<{m}x{n}x{out}>"
    integer = out == "i32"
    zero = f"arith.constant {'0' if integer else '0.0'} : {out}"
    if left == out:
        body = "      %p = arith.mulf %x, %y : {0}\n      %s = arith.addf %z, %p : {0}\n".format(out)
    elif integer:
        extend = "arith.extui" if shape["type"] == "u8s8" else "arith.extsi"
        body = (f"      %xe = {extend} %x : i8 to i32\n      %ye = arith.extsi %y : i8 to i32\n"
                "      %p = arith.muli %xe, %ye : i32\n      %s = arith.addi %z, %p : i32\n")
    else:
        body = ("      %xe = arith.extf %x : bf16 to f32\n      %ye = arith.extf %y : bf16 to f32\n"
                "      %p = arith.mulf %xe, %ye : f32\n      %s = arith.addf %z, %p : f32\n")
    return f"""func.func @compute(%A: {a}, %B: {b}) -> {c} {{
  %zero = {zero}
  %empty = tensor.empty() : {c}
  %init = linalg.fill ins(%zero : {out}) outs(%empty : {c}) -> {c}
  %r = linalg.generic {{
      indexing_maps = [affine_map<(i, j, k) -> {'(k, i)' if ta else '(i, k)'}>,
                       affine_map<(i, j, k) -> {'(j, k)' if tb else '(k, j)'}>,
                       affine_map<(i, j, k) -> (i, j)>],
      iterator_types = ["parallel", "parallel", "reduction"]}}
      ins(%A, %B : {a}, {b}) outs(%init : {c}) {{
    ^bb0(%x: {left}, %y: {right}, %z: {out}):
{body}      linalg.yield %s : {out}
  }} -> {c}
  return %r : {c}
}}
"""


def fused(shape):
    """GELU is the exact one; the residual comes last."""
    m, n, k = shape["m"], shape["n"], shape["k"]
    a, b, c, row = f"tensor<{m}x{k}xf32>", f"tensor<{k}x{n}xf32>", f"tensor<{m}x{n}xf32>", f"tensor<{n}xf32>"
    return f"""#full = affine_map<(i, j) -> (i, j)>
func.func @compute(%A: {a}, %B: {b}, %bias: {row}, %residual: {c}) -> {c} {{
  %zero = arith.constant 0.0 : f32
  %half = arith.constant 0.5 : f32
  %one = arith.constant 1.0 : f32
  %rsqrt2 = arith.constant 0.707106781 : f32
  %empty = tensor.empty() : {c}
  %init = linalg.fill ins(%zero : f32) outs(%empty : {c}) -> {c}
  %p = linalg.matmul ins(%A, %B : {a}, {b}) outs(%init : {c}) -> {c}
  %r = linalg.generic {{indexing_maps = [#full, affine_map<(i, j) -> (j)>, #full, #full],
                        iterator_types = ["parallel", "parallel"]}}
      ins(%p, %bias, %residual : {c}, {row}, {c}) outs(%empty : {c}) {{
    ^bb0(%x: f32, %b: f32, %y: f32, %o: f32):
      %v = arith.addf %x, %b : f32
      %scaled = arith.mulf %v, %rsqrt2 : f32
      %erf = math.erf %scaled : f32
      %one_erf = arith.addf %erf, %one : f32
      %halved = arith.mulf %v, %half : f32
      %gelu = arith.mulf %halved, %one_erf : f32
      %t = arith.addf %gelu, %y : f32
      linalg.yield %t : f32
  }} -> {c}
  return %r : {c}
}}
"""


def chain(shape):
    rows, row = f"tensor<{shape['m']}x{shape['n']}xf32>", f"tensor<{shape['n']}xf32>"
    maps = "affine_map<(i, j) -> (i, j)>"
    step = f'{{indexing_maps = [{maps}, {maps}], iterator_types = ["parallel", "parallel"]}}'
    add = f'{{indexing_maps = [{maps}, affine_map<(i, j) -> (j)>, {maps}], iterator_types = ["parallel", "parallel"]}}'
    return f"""func.func @compute(%x: {rows}, %bias: {row}) -> {rows} {{
  %half = arith.constant 0.5 : f32
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : {rows}
  %scaled = linalg.generic {step} ins(%x : {rows}) outs(%e : {rows}) {{
    ^bb0(%a: f32, %o: f32):
      %t = arith.mulf %a, %half : f32
      linalg.yield %t : f32
  }} -> {rows}
  %shifted = linalg.generic {add} ins(%scaled, %bias : {rows}, {row}) outs(%e : {rows}) {{
    ^bb0(%a: f32, %b: f32, %o: f32):
      %t = arith.addf %a, %b : f32
      linalg.yield %t : f32
  }} -> {rows}
  %r = linalg.generic {step} ins(%shifted : {rows}) outs(%e : {rows}) {{
    ^bb0(%a: f32, %o: f32):
      %t = arith.maximumf %a, %zero : f32
      linalg.yield %t : f32
  }} -> {rows}
  return %r : {rows}
}}
"""


def row_sum(shape):
    return reduction(shape, shape["m"], "i", '"parallel", "reduction"')


def column_sum(shape):
    return reduction(shape, shape["n"], "j", '"reduction", "parallel"')


def reduction(shape, size, index, iterators):
    rows, out = f"tensor<{shape['m']}x{shape['n']}xf32>", f"tensor<{size}xf32>"
    return f"""func.func @compute(%x: {rows}) -> {out} {{
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : {out}
  %init = linalg.fill ins(%zero : f32) outs(%e : {out}) -> {out}
  %r = linalg.generic {{indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> ({index})>],
                        iterator_types = [{iterators}]}} ins(%x : {rows}) outs(%init : {out}) {{
    ^bb0(%a: f32, %s: f32):
      %t = arith.addf %s, %a : f32
      linalg.yield %t : f32
  }} -> {out}
  return %r : {out}
}}
"""


def max_pool(shape):
    side = math.isqrt(shape["n"])
    return pool([shape["m"], 1, side, side], "nchw_max", 2, 2, "0xFF800000")


def max_pool_last(shape):
    side = shape["k"]
    return pool([shape["m"] // side**2, side, side, shape["n"]], "nhwc_max", 2, 2, "0xFF800000")


def mean(shape):
    """The sums, times a ninth."""
    side = math.isqrt(shape["n"])
    return pool([shape["m"], 1, side, side], "nchw_sum", 3, 1, "0.0", scale=1 / 9)


def pool(sizes, how, window, stride, start, scale=None):
    space = (2, 3) if how.startswith("nchw") else (1, 2)
    out = [(size - window) // stride + 1 if at in space else size for at, size in enumerate(sizes)]
    tensor = lambda shape: f"tensor<{'x'.join(map(str, shape))}xf32>"
    x, y, w, same = tensor(sizes), tensor(out), tensor([window] * 2), "affine_map<(a, b, c, d) -> (a, b, c, d)>"
    scaled = "" if scale is None else f"""
  %scale = arith.constant {scale:.9e} : f32
  %s = linalg.generic {{indexing_maps = [{same}, {same}],
                        iterator_types = ["parallel", "parallel", "parallel", "parallel"]}} ins(%r : {y}) outs(%e : {y}) {{
    ^bb0(%a: f32, %o: f32):
      %t = arith.mulf %a, %scale : f32
      linalg.yield %t : f32
  }} -> {y}"""
    return f"""func.func @compute(%x: {x}) -> {y} {{
  %start = arith.constant {start} : f32
  %e = tensor.empty() : {y}
  %init = linalg.fill ins(%start : f32) outs(%e : {y}) -> {y}
  %w = tensor.empty() : {w}
  %r = linalg.pooling_{how} {{strides = dense<{stride}> : tensor<2xi64>}} ins(%x, %w : {x}, {w}) outs(%init : {y}) -> {y}{scaled}
  return {"%r" if scale is None else "%s"} : {y}
}}
"""


def convolution(shape, last=False):
    """Batch 1, no padding; `side` of the image with what its border has."""
    channels, filters, side, window = (shape[key] for key in ("channels", "filters", "side", "window"))
    out = side - window + 1
    if last:
        x, w, y = (1, side, side, channels), (window, window, channels, filters), (1, out, out, filters)
    else:
        x, w, y = (1, channels, side, side), (filters, channels, window, window), (1, filters, out, out)
    x, w, y = (f"tensor<{'x'.join(map(str, sizes))}xf32>" for sizes in (x, w, y))
    operation = "conv_2d_nhwc_hwcf" if last else "conv_2d_nchw_fchw"
    return f"""func.func @compute(%x: {x}, %w: {w}) -> {y} {{
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : {y}
  %init = linalg.fill ins(%zero : f32) outs(%e : {y}) -> {y}
  %r = linalg.{operation} ins(%x, %w : {x}, {w}) outs(%init : {y}) -> {y}
  return %r : {y}
}}
"""


def convolution_last(shape):
    """Channels last."""
    return convolution(shape, last=True)


def transpose(shape):
    m, n = shape["m"], shape["n"]
    x, y = f"tensor<{m}x{n}xf32>", f"tensor<{n}x{m}xf32>"
    return f"""func.func @compute(%x: {x}) -> {y} {{
  %e = tensor.empty() : {y}
  %r = linalg.transpose ins(%x : {x}) outs(%e : {y}) permutation = [1, 0]
  return %r : {y}
}}
"""


def stencil(shape):
    """Five points, two weights."""
    m, n = shape["m"], shape["n"]
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


def element_wise(shape):
    """The elementary function that the kind names, of each element."""
    x = f"tensor<{shape['m']}x{shape['n']}xf32>"
    same = "affine_map<(i, j) -> (i, j)>"
    return f"""func.func @compute(%x: {x}) -> {x} {{
  %e = tensor.empty() : {x}
  %r = linalg.generic {{indexing_maps = [{same}, {same}], iterator_types = ["parallel", "parallel"]}} ins(%x : {x}) outs(%e : {x}) {{
    ^bb0(%a: f32, %o: f32):
      %t = math.{shape['kind']} %a : f32
      linalg.yield %t : f32
  }} -> {x}
  return %r : {x}
}}
"""


def softmax(shape):
    rows = f"tensor<{shape['m']}x{shape['n']}xf32>"
    return f"""func.func @compute(%x: {rows}) -> {rows} {{
  %empty = tensor.empty() : {rows}
  %r = linalg.softmax dimension(1) ins(%x : {rows}) outs(%empty : {rows}) -> {rows}
  return %r : {rows}
}}
"""


def layer_norm(shape):
    m, n = shape["m"], shape["n"]
    rows, row, column = f"tensor<{m}x{n}xf32>", f"tensor<{n}xf32>", f"tensor<{m}xf32>"
    return f"""#full = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (i)>
#column = affine_map<(i, j) -> (j)>
func.func @compute(%x: {rows}, %gain: {row}, %bias: {row}) -> {rows} {{
  %zero = arith.constant 0.0 : f32
  %count = arith.constant {n}.0 : f32
  %epsilon = arith.constant 1.0e-5 : f32
  %e = tensor.empty() : {column}
  %init = linalg.fill ins(%zero : f32) outs(%e : {column}) -> {column}
  %sum = linalg.generic {{indexing_maps = [#full, #row], iterator_types = ["parallel", "reduction"]}}
      ins(%x : {rows}) outs(%init : {column}) {{
    ^bb0(%a: f32, %s: f32):
      %t = arith.addf %s, %a : f32
      linalg.yield %t : f32
  }} -> {column}
  %squares = linalg.generic {{indexing_maps = [#full, #row, #row], iterator_types = ["parallel", "reduction"]}}
      ins(%x, %sum : {rows}, {column}) outs(%init : {column}) {{
    ^bb0(%a: f32, %s: f32, %q: f32):
      %mean = arith.divf %s, %count : f32
      %d = arith.subf %a, %mean : f32
      %p = arith.mulf %d, %d : f32
      %t = arith.addf %q, %p : f32
      linalg.yield %t : f32
  }} -> {column}
  %out = tensor.empty() : {rows}
  %r = linalg.generic {{indexing_maps = [#full, #row, #row, #column, #column, #full],
                        iterator_types = ["parallel", "parallel"]}}
      ins(%x, %sum, %squares, %gain, %bias : {rows}, {column}, {column}, {row}, {row}) outs(%out : {rows}) {{
    ^bb0(%a: f32, %s: f32, %q: f32, %g: f32, %b: f32, %o: f32):
      %mean = arith.divf %s, %count : f32
      %variance = arith.divf %q, %count : f32
      %v = arith.addf %variance, %epsilon : f32
      %inverse = math.rsqrt %v : f32
      %d = arith.subf %a, %mean : f32
      %scaled = arith.mulf %d, %inverse : f32
      %gained = arith.mulf %scaled, %g : f32
      %t = arith.addf %gained, %b : f32
      linalg.yield %t : f32
  }} -> {rows}
  return %r : {rows}
}}
"""


def build_folder():
    """Where the compiler was built."""
    return pathlib.Path(os.environ.get("TILEWRIGHT_BUILD", peers.SOURCE / "build" / "release"))


def compiled(shape, target, quiet=False, folder=None, explain=False):
    """The contender made of Tilewright's code; None, with the compiler's words on the terminal, if it refuses.
    `force` of a shape overrides fields of the plan (the pass map-contractions says which); `explain` adds the plan
    as `choice`."""
    folder = folder or peers.BUILD / "code"
    folder.mkdir(parents=True, exist_ok=True)
    source, library = folder / f"{shape['name']}.mlir", folder / f"{shape['name']}.so"
    program = text(shape)
    if "force" in shape:
        program = f'module attributes {{tilewright.force = "{shape["force"]}"}} {{\n{program}}}\n'
    source.write_text(program)
    command = [str(build_folder() / "bin" / "tw-compile"), str(source), "--target", target, "-o", str(library)]
    if shape.get("threads", 1) > 1:
        command += ["--threads", str(shape["threads"])]
    if explain:
        command.append("--explain=json")
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        if quiet:
            return None
        print(f"{shape['name']}: not compiled: {done.stderr.strip()[:500]}")
        return None
    contender = {"name": "tilewright", "library": False, "command": ["code", str(library), "compute"]}
    if explain:
        words = done.stdout + done.stderr
        decisions, _ = json.JSONDecoder().raw_decode(words, words.index("["))
        contender["choice"] = next((one["choice"] for one in decisions if one["decision"] == "contraction"), {})
    return contender
