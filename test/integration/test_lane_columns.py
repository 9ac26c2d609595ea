# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Chains in the registers of subgroups whose tiles cut rows and columns: products of one operand (the gate and the projection of
a SwiGLU), a norm before a product in one pass or in two. Launches, results as float64, in all orders of lanes and copies."""

import json

import ml_dtypes
import numpy as np
import pytest

MAPS = """#id = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (i)>
#column = affine_map<(i, j) -> (j)>
"""
CHIPS = ["nvidia:H200", "amd:MI300X"]


def product(name, a, b, m, k, n, element):
    """`name` = a b in f32."""
    return f"""
  %{name}_e = tensor.empty() : tensor<{m}x{n}xf32>
  %{name}_0 = linalg.fill ins(%zero : f32) outs(%{name}_e : tensor<{m}x{n}xf32>) -> tensor<{m}x{n}xf32>
  %{name} = linalg.matmul ins({a}, {b} : tensor<{m}x{k}x{element}>, tensor<{k}x{n}x{element}>) outs(%{name}_0 : tensor<{m}x{n}xf32>) -> tensor<{m}x{n}xf32>"""


def each(name, inputs, m, n, element, body):
    """`name` of m x n elements: `body` of (name, map, type, shape) inputs gives %r in f32, which is rounded."""
    maps = ", ".join(f"#{map_}" for _, map_, _, _ in inputs)
    types = ", ".join(f"tensor<{shape}x{type_}>" for _, _, type_, shape in inputs)
    arguments = ", ".join(f"%a{i}: {type_}" for i, (_, _, type_, _) in enumerate(inputs))
    return f"""
  %{name}_e = tensor.empty() : tensor<{m}x{n}x{element}>
  %{name} = linalg.generic {{indexing_maps = [{maps}, #id], iterator_types = ["parallel", "parallel"]}}
    ins({", ".join(value for value, *_ in inputs)} : {types}) outs(%{name}_e : tensor<{m}x{n}x{element}>) {{
    ^bb0({arguments}, %o: {element}):{body}
      %c = arith.truncf %r : f32 to {element}
      linalg.yield %c : {element}
  }} -> tensor<{m}x{n}x{element}>"""


def row_sum(name, inputs, m, k, body):
    """`name` of m rows: the sum of %t."""
    maps = ", ".join(f"#{map_}" for _, map_, _, _ in inputs)
    types = ", ".join(f"tensor<{shape}x{type_}>" for _, _, type_, shape in inputs)
    arguments = ", ".join(f"%a{i}: {type_}" for i, (_, _, type_, _) in enumerate(inputs))
    return f"""
  %{name}_e = tensor.empty() : tensor<{m}xf32>
  %{name}_0 = linalg.fill ins(%zero : f32) outs(%{name}_e : tensor<{m}xf32>) -> tensor<{m}xf32>
  %{name} = linalg.generic {{indexing_maps = [{maps}, #row], iterator_types = ["parallel", "reduction"]}}
    ins({", ".join(value for value, *_ in inputs)} : {types}) outs(%{name}_0 : tensor<{m}xf32>) {{
    ^bb0({arguments}, %o: f32):{body}
      %sum = arith.addf %o, %t : f32
      linalg.yield %sum : f32
  }} -> tensor<{m}xf32>"""


def function(arguments, body, result, constants=""):
    listed = ", ".join(f"%{name}: tensor<{shape}x{element}>" for name, shape, element in arguments)
    return f"""{MAPS}func.func @f({listed}) -> {result} {{
  %zero = arith.constant 0.0 : f32
  %one = arith.constant 1.0 : f32{constants}{body}
  return %out : {result}
}}
"""


GATED = """
      %n = arith.negf %a0 : f32
      %e = math.exp %n : f32
      %d = arith.addf %e, %one : f32
      %s = arith.divf %a0, %d : f32
      %r = arith.mulf %s, %a1 : f32"""


def swiglu(m, k, n, p, element):
    """x, gate, up, down -> (silu(x gate) * (x up)) down; without `p` up to the last product."""
    arguments = [("x", f"{m}x{k}", element), ("g", f"{k}x{n}", element), ("u", f"{k}x{n}", element)]
    body = product("gate", "%x", "%g", m, k, n, element) + product("up", "%x", "%u", m, k, n, element)
    sums = [("%gate", "id", "f32", f"{m}x{n}"), ("%up", "id", "f32", f"{m}x{n}")]
    body += each("h" if p else "out", sums, m, n, element, GATED)
    if p:
        arguments.append(("w", f"{n}x{p}", element))
        body += product("down", "%h", "%w", m, n, p, element)
        body += each("out", [("%down", "id", "f32", f"{m}x{p}")], m, p, element, "\n      %r = arith.addf %a0, %zero : f32")
    return function(arguments, body, f"tensor<{m}x{p or n}x{element}>")


def silu(x):
    return x / (1 + np.exp(-x))


def rms_product(m, k, n, element):
    """x, weight, w -> (x / sqrt(mean of x^2) * weight) w, rounded before the product as PyTorch does."""
    x = ("%x", "id", element, f"{m}x{k}")
    body = row_sum("squares", [x], m, k, f"""
      %b = arith.extf %a0 : {element} to f32
      %t = arith.mulf %b, %b : f32""")
    body += each("n", [x, ("%squares", "row", "f32", m), ("%v", "column", element, k)], m, k, element, f"""
      %b = arith.extf %a0 : {element} to f32
      %mean = arith.divf %a1, %count : f32
      %more = arith.addf %mean, %eps : f32
      %scale = math.rsqrt %more : f32
      %s = arith.mulf %b, %scale : f32
      %vf = arith.extf %a2 : {element} to f32
      %r = arith.mulf %s, %vf : f32""")
    body += product("y", "%n", "%w", m, k, n, element)
    body += each("out", [("%y", "id", "f32", f"{m}x{n}")], m, n, element, "\n      %r = arith.addf %a0, %zero : f32")
    return function([("x", f"{m}x{k}", element), ("v", k, element), ("w", f"{k}x{n}", element)], body,
                    f"tensor<{m}x{n}x{element}>", f"\n  %count = arith.constant {float(k)} : f32\n  %eps = arith.constant 1.0e-5 : f32")


def layer_norm_product(m, k, n, element):
    """x, weight, bias, w -> ((x - mean) / sqrt(variance) * weight + bias) w"""
    x, total = ("%x", "id", element, f"{m}x{k}"), ("%total", "row", "f32", m)
    distance = f"""
      %b = arith.extf %a0 : {element} to f32
      %mean = arith.divf %a1, %count : f32
      %dist = arith.subf %b, %mean : f32"""
    body = row_sum("total", [x], m, k, f"\n      %t = arith.extf %a0 : {element} to f32")
    body += row_sum("squares", [x, total], m, k, distance + "\n      %t = arith.mulf %dist, %dist : f32")
    body += each("n", [x, total, ("%squares", "row", "f32", m), ("%v", "column", element, k), ("%bias", "column", element, k)],
                 m, k, element, distance + f"""
      %variance = arith.divf %a2, %count : f32
      %more = arith.addf %variance, %eps : f32
      %scale = math.rsqrt %more : f32
      %s = arith.mulf %dist, %scale : f32
      %vf = arith.extf %a3 : {element} to f32
      %sw = arith.mulf %s, %vf : f32
      %bf = arith.extf %a4 : {element} to f32
      %r = arith.addf %sw, %bf : f32""")
    body += product("y", "%n", "%w", m, k, n, element)
    body += each("out", [("%y", "id", "f32", f"{m}x{n}")], m, n, element, "\n      %r = arith.addf %a0, %zero : f32")
    arguments = [("x", f"{m}x{k}", element), ("v", k, element), ("bias", k, element), ("w", f"{k}x{n}", element)]
    return function(arguments, body, f"tensor<{m}x{n}x{element}>",
                    f"\n  %count = arith.constant {float(k)} : f32\n  %eps = arith.constant 1.0e-5 : f32")


def run(tool, tmp_path, text, chip, arrays):
    """The result in float64 and the kernels; the same for all orders of lanes and copies."""
    path = tmp_path / "p.mlir"
    path.write_text(text)
    is_bf16 = arrays[0].dtype == ml_dtypes.bfloat16
    end, arguments = (".bf16.npy" if is_bf16 else ".npy"), []
    for i, value in enumerate(arrays):
        np.save(tmp_path / f"{i}{end}", value.view(np.uint16) if is_bf16 else value)
        arguments += ["--input", tmp_path / f"{i}{end}"]
    emulate = ["tw-run", path, "--target", chip, "--device", "emulator", *arguments]
    said = tool(*emulate, "--json", "--output", tmp_path / f"out{end}")
    tool(*emulate, "--modes", "--output", tmp_path / f"modes{end}")
    got = np.load(tmp_path / f"out{end}")
    np.testing.assert_array_equal(np.load(tmp_path / f"modes{end}"), got)
    if is_bf16:
        got = got.view(np.uint16).view(ml_dtypes.bfloat16)
    return got.astype(np.float64), json.loads(said)["emulation"]["kernels"]


def random(shapes, element):
    generator = np.random.default_rng(len(shapes))
    return [(generator.standard_normal(shape) / np.sqrt(shape[0])).astype(element) for shape in shapes]


def wide(arrays):
    return [array.astype(np.float64) for array in arrays]


@pytest.mark.parametrize("chip", CHIPS)
@pytest.mark.parametrize("rows", [128, 100])
def test_swiglu_is_two_launches(tool, tmp_path, chip, rows):
    """The gate and the projection read x once, and neither of their sums is in memory."""
    arrays = random([(rows, 128), (128, 320), (128, 320), (320, 64)], np.float16)
    got, kernels = run(tool, tmp_path, swiglu(rows, 128, 320, 64, "f16"), chip, arrays)
    x, gate, up, down = wide(arrays)
    expected = (silu(x @ gate) * (x @ up)).astype(np.float16).astype(np.float64) @ down
    np.testing.assert_allclose(got, expected, rtol=4e-3, atol=2e-3)
    assert len(kernels) == 2
    memory = next(each for each in kernels[0]["memories"] if each["memory"] == "global")
    assert memory["written_bytes"] == rows * 320 * 2


@pytest.mark.parametrize("chip", CHIPS)
def test_rows_of_both_products_are_copied_once(tool, tmp_path, chip):
    """A step has one copy of x for both."""
    rows, k, n = 64, 256, 256
    (tmp_path / "p.mlir").write_text(swiglu(rows, k, n, 0, "f16"))
    said = json.loads(tool("tw-compile", tmp_path / "p.mlir", "--target", chip, "-o", tmp_path / "p.ll", "--explain=json"))
    plan = next(each for each in said if each["decision"] == "schedule-chain")["choice"]
    counters = json.loads(tool("tw-run", tmp_path / "p.mlir", "--target", chip, "--device", "emulator", "--json"))
    kernel, = counters["emulation"]["kernels"]
    memory = next(each for each in kernel["memories"] if each["memory"] == "global")
    tiles = (rows // plan["tile"]) * (n // plan["columns"])
    assert memory["read_bytes"] == tiles * (plan["tile"] + 2 * plan["columns"]) * k * 2


def test_tiles_that_do_not_fit_end_no_search(tool, tmp_path):
    """No tile has registers for all columns of a long row; those of some columns are looked at with many rows all the same."""
    (tmp_path / "p.mlir").write_text(swiglu(2048, 512, 4096, 0, "f16"))
    said = json.loads(tool("tw-compile", tmp_path / "p.mlir", "--target", "nvidia:H200", "-o", tmp_path / "p.ll", "--explain=json"))
    chain = next(each for each in said if each["decision"] == "schedule-chain")
    assert any("registers" in reason for reason in chain["refused"])
    assert {16, 256} <= {each["tile"] for each in chain["candidates"] if each["tile"] and each["columns"]}


@pytest.mark.parametrize("chip", CHIPS)
@pytest.mark.parametrize("norm", [rms_product, layer_norm_product])
def test_norm_before_a_product(tool, tmp_path, chip, norm):
    """What is rounded after the norm needs a second pass."""
    rows, k, n = 32, 128, 64
    arrays = random([(rows, k), (k,), (k,), (k, n)], np.float16)
    x, weight, bias, w = wide(arrays)
    if norm is rms_product:
        normal = x / np.sqrt((x * x).mean(axis=1, keepdims=True) + 1e-5) * weight
        del arrays[2]
    else:
        centred = x - x.mean(axis=1, keepdims=True)
        normal = centred / np.sqrt((centred * centred).mean(axis=1, keepdims=True) + 1e-5) * weight + bias
    maps, function = norm(rows, k, n, "f16").split("func.func", 1)
    text = f'{maps}module attributes {{tilewright.force = "chain_rows=32"}} {{\nfunc.func{function}\n}}\n'
    got, kernels = run(tool, tmp_path, text, chip, arrays)
    np.testing.assert_allclose(got, normal.astype(np.float16).astype(np.float64) @ w, rtol=4e-3, atol=4e-3)
    assert len(kernels) == 1


def test_bf16_needs_one_pass(tool, tmp_path):
    """bf16 holds the exponents of f32, so that the scale of a row may come behind the product."""
    rows, k, n = 64, 128, 128
    arrays = random([(rows, k), (k,), (k, n)], ml_dtypes.bfloat16)
    got, kernels = run(tool, tmp_path, rms_product(rows, k, n, "bf16"), "amd:MI300X", arrays)
    x, weight, w = wide(arrays)
    normal = x / np.sqrt((x * x).mean(axis=1, keepdims=True) + 1e-5) * weight
    np.testing.assert_allclose(got, normal @ w, rtol=2e-2, atol=2e-2)
    assert len(kernels) == 1
    said = json.loads(tool("tw-compile", tmp_path / "p.mlir", "--target", "amd:MI300X", "-o", tmp_path / "p.ll", "--explain=json"))
    assert next(each for each in said if each["decision"] == "schedule-chain")["choice"]["passes"] == 1
