# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Element-wise nests that a product's packing copies compute: dequantisation, casts and scales along each dimension,
every copy's form, partial vectors, dynamic sizes, several cores; compared with the plain path in float64."""

import json

import pytest

from conftest import FULL

WIDENED = {"f32": "", "i8": "%f = arith.sitofp %x : i8 to f32", "bf16": "%f = arith.extf %x : bf16 to f32",
           "u8": "%f = arith.uitofp %x : i8 to f32"}


def producer(name, source, stored, rows, columns, scale, shifted):
    """`name`w = (cast(`name`) * scale[..] + 1) cast to `stored`: what lies beyond the end is one, unless it is masked."""
    size = lambda extent: "?" if extent is None else extent
    kind = lambda element: f"tensor<{size(rows)}x{size(columns)}x{element}>"
    memory = "i8" if source == "u8" else source
    along = {"rows": "d0", "columns": "d1", "both": "d0, d1"}[scale]
    lengths = {"rows": f"{size(rows)}", "columns": f"{size(columns)}", "both": f"{size(rows)}x{size(columns)}"}[scale]
    sizes = "" if rows is not None else f"%{name}0, %{name}1"
    lines = [WIDENED[source] or "%f = arith.addf %x, %x : f32", "%g = arith.mulf %f, %s : f32"]
    if shifted:
        lines.append("%one = arith.constant 1.0 : f32\n    %h = arith.addf %g, %one : f32")
    last = "%h" if shifted else "%g"
    if stored != "f32":
        lines.append(f"%t = arith.truncf {last} : f32 to {stored}")
        last = "%t"
    body = "\n    ".join(lines)
    dims = "" if rows is not None else "".join(
        f"  %{name}d{i} = arith.constant {i} : index\n  %{name}{i} = tensor.dim %{name}, %{name}d{i} : {kind(memory)}\n"
        for i in (0, 1))
    return f"%{name}: {kind(memory)}, %{name}s: tensor<{lengths}xf32>", f"""{dims}  %{name}e = tensor.empty({sizes}) : {kind(stored)}
  %{name}w = linalg.generic {{indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> ({along})>,
      affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]}}
      ins(%{name}, %{name}s : {kind(memory)}, tensor<{lengths}xf32>) outs(%{name}e : {kind(stored)}) {{
  ^bb0(%x: {memory}, %s: f32, %o: {stored}):
    {body}
    linalg.yield {last} : {stored}
  }} -> {kind(stored)}
""", kind(stored)


def program(m, n, k, source, stored="f32", of="b", scale="columns", turned="", force="", dynamic=False, shifted=True):
    """C = A B; `of`: the operands that have a producer; `turned`: those that lie with k last (B) or first (A)."""
    given = (None, None, None) if dynamic else (m, n, k)
    shapes = {"a": (given[2], given[0]) if "a" in turned else (given[0], given[2]),
              "b": (given[1], given[2]) if "b" in turned else (given[2], given[1])}
    arguments, code, values = [], "", {}
    for name, (rows, columns) in shapes.items():
        text = f"tensor<{rows or '?'}x{columns or '?'}x{stored}>"
        if name in of:
            argument, lines, text = producer(name, source, stored, rows, columns, scale, shifted)
            code += lines
            values[name] = (f"%{name}w", text)
        else:
            argument, values[name] = f"%{name}: {text}", (f"%{name}", text)
        arguments.append(argument)
    c = f"tensor<{given[0] or '?'}x{given[1] or '?'}xf32>"
    cast = "" if stored == "f32" else f"""    %xw = arith.extf %x : {stored} to f32
    %yw = arith.extf %y : {stored} to f32
"""
    x, y = ("%x", "%y") if stored == "f32" else ("%xw", "%yw")
    maps = ", ".join(f"affine_map<(i, j, k) -> ({one})>" for one in (
        "k, i" if "a" in turned else "i, k", "j, k" if "b" in turned else "k, j", "i, j"))
    return f"""module attributes {{tilewright.force = "{force}"}} {{
func.func @compute({", ".join(arguments)}, %C: {c}) -> {c} {{
{code}  %r = linalg.generic {{indexing_maps = [{maps}], iterator_types = ["parallel", "parallel", "reduction"]}}
      ins({values["a"][0]}, {values["b"][0]} : {values["a"][1]}, {values["b"][1]}) outs(%C : {c}) {{
  ^bb0(%x: {stored}, %y: {stored}, %z: f32):
{cast}    %p = arith.mulf {x}, {y} : f32
    %q = arith.addf %z, %p : f32
    linalg.yield %q : f32
  }} -> {c}
  return %r : {c}
}}
}}
"""


BOTH = "fuse_producers=1"


@pytest.mark.parametrize("sizes, source, fused, options", [
    ((256, 1024, 512), "i8", 1, {}),
    ((256, 1024, 512), "f32", 1, {"scale": "both"}),
    ((128, 256, 192), "i8", 0, {"force": "fuse_producers=0"}),
    ((67, 83, 97), "i8", 1, {"turned": "b", "force": BOTH}),
    ((67, 83, 97), "u8", 2, {"of": "ab", "force": BOTH}),
    ((67, 83, 97), "i8", 2, {"of": "ab", "force": BOTH, "turned": "ab", "scale": "rows"}),
    ((67, 83, 97), "bf16", 2, {"of": "ab", "force": BOTH + ",lanes_on=m", "turned": "a"}),
    ((67, 83, 97), "i8", 2, {"of": "ab", "force": BOTH + ",lanes_on=m,row_block=2", "scale": "rows"}),
    ((67, 83, 97), "i8", 2, {"of": "ab", "force": BOTH + ",rows_outside=1", "scale": "both"}),
    ((67, 83, 98), "f32", 2, {"of": "ab", "force": BOTH, "stored": "bf16"}),
    ((67, 83, 97), "i8", 2, {"of": "ab", "force": BOTH, "stored": "bf16", "turned": "b"}),
    ((61, 150, 70), "i8", 2, {"of": "ab", "force": BOTH, "dynamic": True, "turned": "ab", "scale": "rows"}),
    *([((256, 1024, 512), "i8", 1, {"scale": "rows"}),
       ((61, 150, 70), "i8", 2, {"of": "ab", "force": BOTH, "dynamic": True})] if FULL else []),
], ids=str)
@pytest.mark.parametrize("threads", [1, 3] if FULL else [3])
def test_packing_computes_an_operand(tool, tmp_path, sizes, source, fused, options, threads):
    path = tmp_path / "product.mlir"
    path.write_text(program(*sizes, source, **options))
    # What the model decides by itself depends on the processor: it is asked for one. The host computes what its own model decides.
    target = [] if "force" in options else ["--target=cpu:sapphire-rapids"]
    text = tool("tw-compile", path, "--threads", threads, *target, "-o", tmp_path / "product.ll", "--explain=json")
    decision = next(one for one in json.loads(text[text.index("["):]) if one["decision"] == "contraction")
    assert decision["fused_producers"] == fused
    m, n, k = sizes
    given = []
    if options.get("dynamic"):
        given = ["--sizes", f"{k},{m},{n}" if "a" in options.get("turned", "") else f"{m},{k},{n}"]
    tool("tw-run", path, "--threads", threads, "--verify", *given)


@pytest.mark.parametrize("sizes, options, fused", [
    ((1, 4096, 4096), {}, 1),                                   # the buffer takes most of the time
    ((16, 4096, 4096), {"turned": "b", "scale": "rows"}, 0),    # read in place, packing would transpose
], ids=str)
def test_model_decides(tool, tmp_path, sizes, options, fused):
    path = tmp_path / "product.mlir"
    path.write_text(program(*sizes, "i8", **options))
    text = tool("tw-compile", path, "--target=cpu:sapphire-rapids", "-o", tmp_path / "product.ll", "--explain=json")
    decision = next(one for one in json.loads(text[text.index("["):]) if one["decision"] == "contraction")
    assert decision["fused_producers"] == fused


def widened(name, shape, scale, result):
    """`result` = cast(`name`) + scale along the last dimension."""
    dims = ", ".join(f"d{i}" for i in range(len(shape)))
    of = lambda element: "tensor<" + "x".join(map(str, shape)) + f"x{element}>"
    return f"""  {result}e = tensor.empty() : {of("f32")}
  {result} = linalg.generic {{indexing_maps = [affine_map<({dims}) -> ({dims})>, affine_map<({dims}) -> (d{len(shape) - 1})>,
      affine_map<({dims}) -> ({dims})>], iterator_types = [{", ".join(['"parallel"'] * len(shape))}]}}
      ins({name}, {scale} : {of("i8")}, tensor<{shape[-1]}xf32>) outs({result}e : {of("f32")}) {{
  ^bb0(%u: i8, %v: f32, %o: f32):
    %f = arith.sitofp %u : i8 to f32
    %g = arith.addf %f, %v : f32
    linalg.yield %g : f32
  }} -> {of("f32")}
"""


CONVOLUTION = f"""func.func @compute(%q: tensor<2x18x18x13xi8>, %z: tensor<13xf32>, %w: tensor<3x3x13x37xi8>, %s: tensor<37xf32>,
                   %C: tensor<2x16x16x37xf32>) -> tensor<2x16x16x37xf32> {{
{widened("%q", (2, 18, 18, 13), "%z", "%x")}{widened("%w", (3, 3, 13, 37), "%s", "%y")}
  %r = linalg.conv_2d_nhwc_hwcf ins(%x, %y : tensor<2x18x18x13xf32>, tensor<3x3x13x37xf32>)
      outs(%C : tensor<2x16x16x37xf32>) -> tensor<2x16x16x37xf32>
  return %r : tensor<2x16x16x37xf32>
}}
"""
BATCH = f"""func.func @compute(%q: tensor<5x40x30xi8>, %z: tensor<30xf32>, %w: tensor<5x30x50xi8>, %s: tensor<50xf32>,
                   %C: tensor<5x40x50xf32>) -> tensor<5x40x50xf32> {{
{widened("%q", (5, 40, 30), "%z", "%x")}{widened("%w", (5, 30, 50), "%s", "%y")}
  %r = linalg.batch_matmul ins(%x, %y : tensor<5x40x30xf32>, tensor<5x30x50xf32>)
      outs(%C : tensor<5x40x50xf32>) -> tensor<5x40x50xf32>
  return %r : tensor<5x40x50xf32>
}}
"""


@pytest.mark.parametrize("text", [CONVOLUTION, BATCH], ids=["convolution", "batch"])
@pytest.mark.parametrize("threads", [1, 2])
def test_windows_and_batches(tool, tmp_path, text, threads):
    path = tmp_path / "product.mlir"
    path.write_text(f'module attributes {{tilewright.force = "fuse_producers=1"}} {{\n{text}}}\n')
    text = tool("tw-compile", path, "-o", tmp_path / "product.ll", "--explain=json")
    assert [one["fused_producers"] for one in json.loads(text[text.index("["):]) if one["decision"] == "contraction"] == [2]
    tool("tw-run", path, "--threads", threads, "--verify")
