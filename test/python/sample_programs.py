"""Programs that the tests compile."""

#: y = x w + b, of any number of rows.
LINEAR = """
#row = affine_map<(i, j) -> (j)>
#all = affine_map<(i, j) -> (i, j)>
func.func @linear(%x: tensor<?x8xf32>, %w: tensor<8x4xf32>, %b: tensor<4xf32>) -> tensor<?x4xf32> {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %x, %c0 : tensor<?x8xf32>
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty(%n) : tensor<?x4xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<?x4xf32>) -> tensor<?x4xf32>
  %xw = linalg.matmul ins(%x, %w : tensor<?x8xf32>, tensor<8x4xf32>) outs(%init : tensor<?x4xf32>) -> tensor<?x4xf32>
  %y = linalg.generic {indexing_maps = [#all, #row, #all], iterator_types = ["parallel", "parallel"]}
      ins(%xw, %b : tensor<?x4xf32>, tensor<4xf32>) outs(%empty : tensor<?x4xf32>) {
  ^bb0(%p: f32, %q: f32, %o: f32):
    %s = arith.addf %p, %q : f32
    linalg.yield %s : f32
  } -> tensor<?x4xf32>
  return %y : tensor<?x4xf32>
}
"""


def elementwise(type="f32", shape="4x8", operation="arith.addf", name="f", inputs=2):
    """NAME(a, b) = a OP b, element by element."""
    rank = shape.count("x") + 1 if shape else 0
    tensor = f"tensor<{shape}x{type}>" if shape else f"tensor<{type}>"
    dims = ", ".join(f"d{i}" for i in range(rank))
    maps = ", ".join([f"affine_map<({dims}) -> ({dims})>"] * (inputs + 1))
    kinds = ", ".join(['"parallel"'] * rank)
    arguments = ", ".join(f"%a{i}: {tensor}" for i in range(inputs))
    operands = ", ".join(f"%a{i}" for i in range(inputs))
    values = ", ".join(f"%v{i}: {type}" for i in range(inputs))
    used = ", ".join(f"%v{i}" for i in range(inputs))
    return f"""
func.func @{name}({arguments}) -> {tensor} {{
  %e = tensor.empty() : {tensor}
  %r = linalg.generic {{indexing_maps = [{maps}], iterator_types = [{kinds}]}}
      ins({operands} : {", ".join([tensor] * inputs)}) outs(%e : {tensor}) {{
  ^bb0({values}, %o: {type}):
    %s = {operation} {used} : {type}
    linalg.yield %s : {type}
  }} -> {tensor}
  return %r : {tensor}
}}
"""


#: c = a b on tiles that devices take.
MATMUL = """
func.func @mm(%a: tensor<64x32xf16>, %b: tensor<32x64xf16>) -> tensor<64x64xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<64x64xf32>
  %i = linalg.fill ins(%zero : f32) outs(%e : tensor<64x64xf32>) -> tensor<64x64xf32>
  %c = linalg.matmul ins(%a, %b : tensor<64x32xf16>, tensor<32x64xf16>) outs(%i : tensor<64x64xf32>) -> tensor<64x64xf32>
  return %c : tensor<64x64xf32>
}
"""


def constant_product(m=16, k=96, n=80, force="bound_vectors=1", also=""):
    """y = x w, w constant; `also` "transposed": a second result reads w as it is."""
    second = f"""
  %t = tensor.empty() : tensor<{n}x{k}xf32>
  %s = linalg.transpose ins(%w : tensor<{k}x{n}xf32>) outs(%t : tensor<{n}x{k}xf32>) permutation = [1, 0]""" if also else ""
    types, values = f"tensor<{m}x{n}xf32>" + f", tensor<{n}x{k}xf32>" * bool(also), "%r" + ", %s" * bool(also)
    return f"""module attributes {{tilewright.force = "{force}"}} {{
func.func @product(%x: tensor<{m}x{k}xf32>, %w: tensor<{k}x{n}xf32> {{tilewright.constant}}) -> ({types}) {{
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<{m}x{n}xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<{m}x{n}xf32>) -> tensor<{m}x{n}xf32>
  %r = linalg.matmul ins(%x, %w : tensor<{m}x{k}xf32>, tensor<{k}x{n}xf32>) outs(%f : tensor<{m}x{n}xf32>) -> tensor<{m}x{n}xf32>{second}
  return {values} : {types}
}}
}}
"""
