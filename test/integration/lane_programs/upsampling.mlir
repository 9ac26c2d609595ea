// Nearest and bilinear upsampling by 2 of an image of any size.
#o = affine_map<(h, w, c) -> (h, w, c)>
func.func @upsample(%x: tensor<?x?x3xf32>) -> (tensor<?x?x3xf32>, tensor<?x?x3xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %h = tensor.dim %x, %c0 : tensor<?x?x3xf32>
  %w = tensor.dim %x, %c1 : tensor<?x?x3xf32>
  %h2 = arith.muli %h, %c2 : index
  %w2 = arith.muli %w, %c2 : index
  %hl = arith.subi %h, %c1 : index
  %wl = arith.subi %w, %c1 : index
  %e = tensor.empty(%h2, %w2) : tensor<?x?x3xf32>
  %near = linalg.generic {indexing_maps = [#o], iterator_types = ["parallel", "parallel", "parallel"]} outs(%e : tensor<?x?x3xf32>) {
    ^bb0(%o: f32):
      %i = linalg.index 0 : index
      %j = linalg.index 1 : index
      %k = linalg.index 2 : index
      %ih = arith.divui %i, %c2 : index
      %jh = arith.divui %j, %c2 : index
      %v = tensor.extract %x[%ih, %jh, %k] : tensor<?x?x3xf32>
      linalg.yield %v : f32
  } -> tensor<?x?x3xf32>
  %half = arith.constant 0.5 : f32
  %zero = arith.constant 0.0 : f32
  %linear = linalg.generic {indexing_maps = [#o], iterator_types = ["parallel", "parallel", "parallel"]} outs(%e : tensor<?x?x3xf32>) {
    ^bb0(%o: f32):
      %i = linalg.index 0 : index
      %j = linalg.index 1 : index
      %k = linalg.index 2 : index
      %ii = arith.index_cast %i : index to i32
      %jj = arith.index_cast %j : index to i32
      %fi = arith.sitofp %ii : i32 to f32
      %fj = arith.sitofp %jj : i32 to f32
      %mi = arith.addf %fi, %half : f32
      %mj = arith.addf %fj, %half : f32
      %si = arith.mulf %mi, %half : f32
      %sj = arith.mulf %mj, %half : f32
      %ti = arith.subf %si, %half : f32
      %tj = arith.subf %sj, %half : f32
      %pi = arith.maximumf %ti, %zero : f32
      %pj = arith.maximumf %tj, %zero : f32
      %bi = math.floor %pi : f32
      %bj = math.floor %pj : f32
      %wi = arith.subf %pi, %bi : f32
      %wj = arith.subf %pj, %bj : f32
      %ni = arith.fptosi %bi : f32 to i32
      %nj = arith.fptosi %bj : f32 to i32
      %i0 = arith.index_cast %ni : i32 to index
      %j0 = arith.index_cast %nj : i32 to index
      %i1u = arith.addi %i0, %c1 : index
      %j1u = arith.addi %j0, %c1 : index
      %i1 = arith.minsi %i1u, %hl : index
      %j1 = arith.minsi %j1u, %wl : index
      %v00 = tensor.extract %x[%i0, %j0, %k] : tensor<?x?x3xf32>
      %v01 = tensor.extract %x[%i0, %j1, %k] : tensor<?x?x3xf32>
      %v10 = tensor.extract %x[%i1, %j0, %k] : tensor<?x?x3xf32>
      %v11 = tensor.extract %x[%i1, %j1, %k] : tensor<?x?x3xf32>
      %d0 = arith.subf %v01, %v00 : f32
      %d1 = arith.subf %v11, %v10 : f32
      %m0 = arith.mulf %d0, %wj : f32
      %m1 = arith.mulf %d1, %wj : f32
      %l0 = arith.addf %v00, %m0 : f32
      %l1 = arith.addf %v10, %m1 : f32
      %dd = arith.subf %l1, %l0 : f32
      %mm = arith.mulf %dd, %wi : f32
      %v = arith.addf %l0, %mm : f32
      linalg.yield %v : f32
  } -> tensor<?x?x3xf32>
  return %near, %linear : tensor<?x?x3xf32>, tensor<?x?x3xf32>
}
