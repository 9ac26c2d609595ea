// Gradient of a layer norm: of the input, which needs two sums of each row, and of gain and bias, which are sums of columns.
#m = affine_map<(i, j) -> (i, j)>
#r = affine_map<(i, j) -> (i)>
#c = affine_map<(i, j) -> (j)>
func.func @gradient(%x: tensor<?x?xf32>, %dy: tensor<?x?xf32>, %gain: tensor<?xf32>) -> (tensor<?x?xf32>, tensor<?xf32>, tensor<?xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  %epsilon = arith.constant 1.0e-5 : f32
  %m = tensor.dim %x, %c0 : tensor<?x?xf32>
  %n = tensor.dim %x, %c1 : tensor<?x?xf32>
  %ni = arith.index_cast %n : index to i64
  %nf = arith.sitofp %ni : i64 to f32
  %er = tensor.empty(%m) : tensor<?xf32>
  %ec = tensor.empty(%n) : tensor<?xf32>
  %em = tensor.empty(%m, %n) : tensor<?x?xf32>
  %zr = linalg.fill ins(%zero : f32) outs(%er : tensor<?xf32>) -> tensor<?xf32>
  %zc = linalg.fill ins(%zero : f32) outs(%ec : tensor<?xf32>) -> tensor<?xf32>
  %total = linalg.generic {indexing_maps = [#m, #r], iterator_types = ["parallel", "reduction"]} ins(%x : tensor<?x?xf32>) outs(%zr : tensor<?xf32>) {
    ^bb0(%v: f32, %s: f32):
      %t = arith.addf %s, %v : f32
      linalg.yield %t : f32
  } -> tensor<?xf32>
  %square = linalg.generic {indexing_maps = [#m, #r, #r], iterator_types = ["parallel", "reduction"]} ins(%x, %total : tensor<?x?xf32>, tensor<?xf32>) outs(%zr : tensor<?xf32>) {
    ^bb0(%v: f32, %t: f32, %s: f32):
      %mean = arith.divf %t, %nf : f32
      %d = arith.subf %v, %mean : f32
      %q = arith.mulf %d, %d : f32
      %u = arith.addf %s, %q : f32
      linalg.yield %u : f32
  } -> tensor<?xf32>
  %hat = linalg.generic {indexing_maps = [#m, #r, #r, #m], iterator_types = ["parallel", "parallel"]} ins(%x, %total, %square : tensor<?x?xf32>, tensor<?xf32>, tensor<?xf32>) outs(%em : tensor<?x?xf32>) {
    ^bb0(%v: f32, %t: f32, %q: f32, %o: f32):
      %mean = arith.divf %t, %nf : f32
      %d = arith.subf %v, %mean : f32
      %w = arith.divf %q, %nf : f32
      %s = arith.addf %w, %epsilon : f32
      %f = math.rsqrt %s : f32
      %y = arith.mulf %d, %f : f32
      linalg.yield %y : f32
  } -> tensor<?x?xf32>
  %dot:2 = linalg.generic {indexing_maps = [#m, #m, #c, #r, #r], iterator_types = ["parallel", "reduction"]}
      ins(%hat, %dy, %gain : tensor<?x?xf32>, tensor<?x?xf32>, tensor<?xf32>) outs(%zr, %zr : tensor<?xf32>, tensor<?xf32>) {
    ^bb0(%h: f32, %d: f32, %g: f32, %s: f32, %t: f32):
      %dg = arith.mulf %d, %g : f32
      %s2 = arith.addf %s, %dg : f32
      %hd = arith.mulf %dg, %h : f32
      %t2 = arith.addf %t, %hd : f32
      linalg.yield %s2, %t2 : f32, f32
  } -> (tensor<?xf32>, tensor<?xf32>)
  %dx = linalg.generic {indexing_maps = [#m, #m, #c, #r, #r, #r, #m], iterator_types = ["parallel", "parallel"]}
      ins(%hat, %dy, %gain, %square, %dot#0, %dot#1 : tensor<?x?xf32>, tensor<?x?xf32>, tensor<?xf32>, tensor<?xf32>, tensor<?xf32>, tensor<?xf32>) outs(%em : tensor<?x?xf32>) {
    ^bb0(%h: f32, %d: f32, %g: f32, %q: f32, %s: f32, %t: f32, %o: f32):
      %dg = arith.mulf %d, %g : f32
      %sm = arith.divf %s, %nf : f32
      %tm = arith.divf %t, %nf : f32
      %ht = arith.mulf %h, %tm : f32
      %a = arith.subf %dg, %sm : f32
      %b = arith.subf %a, %ht : f32
      %w = arith.divf %q, %nf : f32
      %e = arith.addf %w, %epsilon : f32
      %f = math.rsqrt %e : f32
      %y = arith.mulf %b, %f : f32
      linalg.yield %y : f32
  } -> tensor<?x?xf32>
  %columns:2 = linalg.generic {indexing_maps = [#m, #m, #c, #c], iterator_types = ["reduction", "parallel"]}
      ins(%hat, %dy : tensor<?x?xf32>, tensor<?x?xf32>) outs(%zc, %zc : tensor<?xf32>, tensor<?xf32>) {
    ^bb0(%h: f32, %d: f32, %s: f32, %t: f32):
      %p = arith.mulf %h, %d : f32
      %s2 = arith.addf %s, %p : f32
      %t2 = arith.addf %t, %d : f32
      linalg.yield %s2, %t2 : f32, f32
  } -> (tensor<?xf32>, tensor<?xf32>)
  return %dx, %columns#0, %columns#1 : tensor<?x?xf32>, tensor<?xf32>, tensor<?xf32>
}
