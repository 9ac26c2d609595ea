// Soft-max and layer norm of rows, sums of columns and of everything, with dynamic sizes.
#m = affine_map<(i, j) -> (i, j)>
#r = affine_map<(i, j) -> (i)>
#c = affine_map<(i, j) -> (j)>
#all = affine_map<(i, j) -> ()>
func.func @rows(%x: tensor<?x?xf32>, %gain: tensor<?xf32>) -> (tensor<?x?xf32>, tensor<?x?xf32>, tensor<?xf32>, tensor<f32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  %epsilon = arith.constant 1.0e-5 : f32
  %m = tensor.dim %x, %c0 : tensor<?x?xf32>
  %n = tensor.dim %x, %c1 : tensor<?x?xf32>
  %e = tensor.empty(%m, %n) : tensor<?x?xf32>
  %soft = linalg.softmax dimension(1) ins(%x : tensor<?x?xf32>) outs(%e : tensor<?x?xf32>) -> tensor<?x?xf32>

  %er = tensor.empty(%m) : tensor<?xf32>
  %zr = linalg.fill ins(%zero : f32) outs(%er : tensor<?xf32>) -> tensor<?xf32>
  %total = linalg.generic {indexing_maps = [#m, #r], iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<?x?xf32>) outs(%zr : tensor<?xf32>) {
    ^bb0(%v: f32, %s: f32):
      %t = arith.addf %s, %v : f32
      linalg.yield %t : f32
  } -> tensor<?xf32>
  %ni = arith.index_cast %n : index to i64
  %nf = arith.sitofp %ni : i64 to f32
  %square = linalg.generic {indexing_maps = [#m, #r, #r], iterator_types = ["parallel", "reduction"]}
      ins(%x, %total : tensor<?x?xf32>, tensor<?xf32>) outs(%zr : tensor<?xf32>) {
    ^bb0(%v: f32, %t: f32, %s: f32):
      %mean = arith.divf %t, %nf : f32
      %d = arith.subf %v, %mean : f32
      %q = arith.mulf %d, %d : f32
      %u = arith.addf %s, %q : f32
      linalg.yield %u : f32
  } -> tensor<?xf32>
  %norm = linalg.generic {indexing_maps = [#m, #r, #r, #c, #m], iterator_types = ["parallel", "parallel"]}
      ins(%x, %total, %square, %gain : tensor<?x?xf32>, tensor<?xf32>, tensor<?xf32>, tensor<?xf32>) outs(%e : tensor<?x?xf32>) {
    ^bb0(%v: f32, %t: f32, %q: f32, %g: f32, %o: f32):
      %mean = arith.divf %t, %nf : f32
      %variance = arith.divf %q, %nf : f32
      %d = arith.subf %v, %mean : f32
      %ve = arith.addf %variance, %epsilon : f32
      %i = math.rsqrt %ve : f32
      %w = arith.mulf %d, %i : f32
      %y = arith.mulf %w, %g : f32
      linalg.yield %y : f32
  } -> tensor<?x?xf32>

  %ec = tensor.empty(%n) : tensor<?xf32>
  %zc = linalg.fill ins(%zero : f32) outs(%ec : tensor<?xf32>) -> tensor<?xf32>
  %columns = linalg.generic {indexing_maps = [#m, #c], iterator_types = ["reduction", "parallel"]}
      ins(%x : tensor<?x?xf32>) outs(%zc : tensor<?xf32>) {
    ^bb0(%v: f32, %s: f32):
      %t = arith.addf %s, %v : f32
      linalg.yield %t : f32
  } -> tensor<?xf32>

  %ea = tensor.empty() : tensor<f32>
  %za = linalg.fill ins(%zero : f32) outs(%ea : tensor<f32>) -> tensor<f32>
  %all = linalg.generic {indexing_maps = [#m, #all], iterator_types = ["reduction", "reduction"]}
      ins(%x : tensor<?x?xf32>) outs(%za : tensor<f32>) {
    ^bb0(%v: f32, %s: f32):
      %t = arith.addf %s, %v : f32
      linalg.yield %t : f32
  } -> tensor<f32>
  return %soft, %norm, %columns, %all : tensor<?x?xf32>, tensor<?x?xf32>, tensor<?xf32>, tensor<f32>
}
