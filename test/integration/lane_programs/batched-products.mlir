// Products of any sizes in a batch, with a bias of rows, of f16 with sums in f32, results in f16; and a product with itself transposed.
func.func @batched(%a: tensor<?x?x?xf16>, %b: tensor<?x?x?xf16>, %bias: tensor<?xf32>) -> (tensor<?x?x?xf16>, tensor<?x?x?xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %zero = arith.constant 0.0 : f32
  %n = tensor.dim %a, %c0 : tensor<?x?x?xf16>
  %m = tensor.dim %a, %c1 : tensor<?x?x?xf16>
  %w = tensor.dim %b, %c2 : tensor<?x?x?xf16>
  %e = tensor.empty(%n, %m, %w) : tensor<?x?x?xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<?x?x?xf32>) -> tensor<?x?x?xf32>
  %p = linalg.batch_matmul ins(%a, %b : tensor<?x?x?xf16>, tensor<?x?x?xf16>) outs(%z : tensor<?x?x?xf32>) -> tensor<?x?x?xf32>
  %eo = tensor.empty(%n, %m, %w) : tensor<?x?x?xf16>
  %r = linalg.generic {indexing_maps = [affine_map<(n, i, j) -> (n, i, j)>, affine_map<(n, i, j) -> (i)>, affine_map<(n, i, j) -> (n, i, j)>], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%p, %bias : tensor<?x?x?xf32>, tensor<?xf32>) outs(%eo : tensor<?x?x?xf16>) {
    ^bb0(%x: f32, %y: f32, %o: f16):
      %s = arith.addf %x, %y : f32
      %t = arith.truncf %s : f32 to f16
      linalg.yield %t : f16
  } -> tensor<?x?x?xf16>
  %eg = tensor.empty(%n, %m, %m) : tensor<?x?x?xf32>
  %zg = linalg.fill ins(%zero : f32) outs(%eg : tensor<?x?x?xf32>) -> tensor<?x?x?xf32>
  %gram = linalg.generic {indexing_maps = [affine_map<(n, i, j, k) -> (n, i, k)>, affine_map<(n, i, j, k) -> (n, j, k)>, affine_map<(n, i, j, k) -> (n, i, j)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
      ins(%r, %r : tensor<?x?x?xf16>, tensor<?x?x?xf16>) outs(%zg : tensor<?x?x?xf32>) {
    ^bb0(%x: f16, %y: f16, %s: f32):
      %xw = arith.extf %x : f16 to f32
      %yw = arith.extf %y : f16 to f32
      %q = arith.mulf %xw, %yw : f32
      %t = arith.addf %s, %q : f32
      linalg.yield %t : f32
  } -> tensor<?x?x?xf32>
  return %r, %gram : tensor<?x?x?xf16>, tensor<?x?x?xf32>
}
