# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Products whose rows, columns or batches several cores share: pieces that are even, that leave a smaller last one, that
are fewer than the cores, ranges of tiles where sizes are dynamic; compared with the plain path in float64."""

import json

import pytest

ELEMENTS = {"f32": ("f32", "f32"), "bf16": ("bf16", "f32"), "i8": ("i8", "i32")}


def product(sizes, element, force, batch=0, fused=False, dynamic=False):
    (m, n, k), (element, sums) = sizes, ELEMENTS[element]
    size = (lambda extent: "?") if dynamic else str
    head = f"{size(batch)}x" if batch else ""
    a, b, c = (f"tensor<{head}{size(x)}x{size(y)}x{kind}>" for x, y, kind in ((m, k, element), (k, n, element), (m, n, sums)))
    dims = "h, " if batch else ""
    suffix, widen = ("i", "arith.extsi") if sums == "i32" else ("f", "arith.extf")
    casts = "" if element == sums else f"""      %xe = {widen} %x : {element} to {sums}
      %ye = {widen} %y : {element} to {sums}
"""
    x, y = ("%xe", "%ye") if casts else ("%x", "%y")
    parallel = ", ".join(['"parallel"'] * (3 if batch else 2))
    steps, result = "", "%r"
    if fused:
        full = f"affine_map<({dims}i, j) -> ({dims}i, j)>"
        steps, result = f"""  %e = linalg.generic {{indexing_maps = [{full}, {full}], iterator_types = [{parallel}]}}
      ins(%r : {c}) outs(%C : {c}) {{
    ^bb0(%v: {sums}, %o: {sums}):
      %t = arith.add{suffix} %v, %v : {sums}
      linalg.yield %t : {sums}
  }} -> {c}
""", "%e"
    return f"""module attributes {{tilewright.force = "{force}"}} {{
func.func @compute(%A: {a}, %B: {b}, %C: {c}) -> {c} {{
  %r = linalg.generic {{
      indexing_maps = [affine_map<({dims}i, j, k) -> ({dims}i, k)>, affine_map<({dims}i, j, k) -> ({dims}k, j)>,
                       affine_map<({dims}i, j, k) -> ({dims}i, j)>],
      iterator_types = [{parallel}, "reduction"]}} ins(%A, %B : {a}, {b}) outs(%C : {c}) {{
    ^bb0(%x: {element}, %y: {element}, %z: {sums}):
{casts}      %p = arith.mul{suffix} {x}, {y} : {sums}
      %s = arith.add{suffix} %z, %p : {sums}
      linalg.yield %s : {sums}
  }} -> {c}
{steps}  return {result} : {c}
}}
}}
"""


@pytest.mark.parametrize("sizes, element, threads, force, split, options", [
    ((256, 256, 256), "f32", 2, "", None, {}),
    ((250, 210, 300), "f32", 3, "split=rows", "rows", {}),
    ((250, 210, 300), "f32", 3, "split=lanes", "lanes", {"fused": True}),
    ((100, 1000, 200), "f32", 2, "split=lanes,split_piece=500", "lanes", {}),
    ((100, 1003, 200), "f32", 2, "split=lanes,pack_vectors=1", "lanes", {}),
    ((97, 330, 200), "f32", 2, "split=rows,lanes_on=m", "rows", {}),
    ((9, 4096, 200), "f32", 7, "split=rows", "rows", {}),
    ((60, 70, 90), "f32", 4, "split=outer", "outer", {"batch": 10}),
    ((60, 70, 90), "f32", 4, "split=lanes", "lanes", {"batch": 10, "fused": True}),
    ((200, 500, 192), "bf16", 2, "split=lanes", "lanes", {"fused": True}),
    ((200, 500, 192), "bf16", 3, "split=rows", "rows", {}),
    ((256, 320, 192), "i8", 3, "split=lanes", "lanes", {}),
    ((250, 320, 190), "i8", 3, "split=rows", "rows", {"fused": True}),
    ((300, 260, 270), "f32", 3, "", None, {"dynamic": True}),
    ((40, 260, 270), "f32", 3, "", None, {"dynamic": True, "batch": 6}),
], ids=str)
def test_cores_share_a_product(tool, tmp_path, sizes, element, threads, force, split, options):
    source = tmp_path / "product.mlir"
    source.write_text(product(sizes, element, force, **options))
    if split:
        text = tool("tw-compile", source, "--threads", threads, "-o", tmp_path / "product.ll", "--explain=json")
        choice = next(one["choice"] for one in json.loads(text[text.index("["):]) if one["decision"] == "contraction")
        assert choice["split"] == split and 1 < choice["threads"] <= threads
    m, n, k = sizes
    batch = [options["batch"]] if "batch" in options else []
    given = ["--sizes", ",".join(map(str, [*batch, m, k, n]))] if options.get("dynamic") else []
    tool("tw-run", source, "--threads", threads, "--verify", *given)
