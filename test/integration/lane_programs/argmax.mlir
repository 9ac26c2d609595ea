// Argmax of rows, of columns and of everything.
func.func @argmax(%x: tensor<?x?xf32>) -> (tensor<?xi64>, tensor<?xindex>, tensor<i32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %least = arith.constant 0xFF800000 : f32
  %m = tensor.dim %x, %c0 : tensor<?x?xf32>
  %n = tensor.dim %x, %c1 : tensor<?x?xf32>
  %ni = arith.index_cast %n : index to i32
  %z64 = arith.constant 0 : i64
  %z32 = arith.constant 0 : i32
  %er = tensor.empty(%m) : tensor<?xf32>
  %ec = tensor.empty(%n) : tensor<?xf32>
  %e0 = tensor.empty() : tensor<f32>
  %kr = tensor.empty(%m) : tensor<?xi64>
  %kc = tensor.empty(%n) : tensor<?xindex>
  %k0 = tensor.empty() : tensor<i32>
  %lr = linalg.fill ins(%least : f32) outs(%er : tensor<?xf32>) -> tensor<?xf32>
  %lc = linalg.fill ins(%least : f32) outs(%ec : tensor<?xf32>) -> tensor<?xf32>
  %l0 = linalg.fill ins(%least : f32) outs(%e0 : tensor<f32>) -> tensor<f32>
  %ir = linalg.fill ins(%z64 : i64) outs(%kr : tensor<?xi64>) -> tensor<?xi64>
  %ic = linalg.fill ins(%c0 : index) outs(%kc : tensor<?xindex>) -> tensor<?xindex>
  %i0 = linalg.fill ins(%z32 : i32) outs(%k0 : tensor<i32>) -> tensor<i32>
  %rows:2 = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (i)>], iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<?x?xf32>) outs(%lr, %ir : tensor<?xf32>, tensor<?xi64>) {
    ^bb0(%v: f32, %b: f32, %k: i64):
      %j = linalg.index 1 : index
      %ji = arith.index_cast %j : index to i64
      %more = arith.cmpf ogt, %v, %b : f32
      %b2 = arith.select %more, %v, %b : f32
      %k2 = arith.select %more, %ji, %k : i64
      linalg.yield %b2, %k2 : f32, i64
  } -> (tensor<?xf32>, tensor<?xi64>)
  %columns:2 = linalg.generic {indexing_maps = [affine_map<(j, i) -> (i, j)>, affine_map<(j, i) -> (j)>, affine_map<(j, i) -> (j)>], iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<?x?xf32>) outs(%lc, %ic : tensor<?xf32>, tensor<?xindex>) {
    ^bb0(%v: f32, %b: f32, %k: index):
      %i = linalg.index 1 : index
      %more = arith.cmpf ogt, %v, %b : f32
      %b2 = arith.select %more, %v, %b : f32
      %k2 = arith.select %more, %i, %k : index
      linalg.yield %b2, %k2 : f32, index
  } -> (tensor<?xf32>, tensor<?xindex>)
  %all:2 = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> ()>, affine_map<(i, j) -> ()>], iterator_types = ["reduction", "reduction"]}
      ins(%x : tensor<?x?xf32>) outs(%l0, %i0 : tensor<f32>, tensor<i32>) {
    ^bb0(%v: f32, %b: f32, %k: i32):
      %i = linalg.index 0 : index
      %j = linalg.index 1 : index
      %ii = arith.index_cast %i : index to i32
      %ji = arith.index_cast %j : index to i32
      %row = arith.muli %ii, %ni : i32
      %at = arith.addi %row, %ji : i32
      %more = arith.cmpf ogt, %v, %b : f32
      %b2 = arith.select %more, %v, %b : f32
      %k2 = arith.select %more, %at, %k : i32
      linalg.yield %b2, %k2 : f32, i32
  } -> (tensor<f32>, tensor<i32>)
  return %rows#1, %columns#1, %all#1 : tensor<?xi64>, tensor<?xindex>, tensor<i32>
}
