// Mixture of experts: each token goes to the expert of its largest gate, whose weights are gathered by it.
#g = affine_map<(t, e, d) -> (t, e)>
#x = affine_map<(t, e, d) -> (t, d)>
#w = affine_map<(t, e, d) -> (d, e)>
#te = affine_map<(t, e) -> (t, e)>
#t = affine_map<(t, e) -> (t)>
func.func @moe(%x: tensor<?x24xf32>, %gate: tensor<24x5xf32>, %experts: tensor<5x24x16xf32>) -> (tensor<?x16xf32>, tensor<?xi32>) {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %izero = arith.constant 0 : i32
  %least = arith.constant 0xFF800000 : f32
  %n = tensor.dim %x, %c0 : tensor<?x24xf32>
  %eg = tensor.empty(%n) : tensor<?x5xf32>
  %zg = linalg.fill ins(%zero : f32) outs(%eg : tensor<?x5xf32>) -> tensor<?x5xf32>
  %logits = linalg.matmul ins(%x, %gate : tensor<?x24xf32>, tensor<24x5xf32>) outs(%zg : tensor<?x5xf32>) -> tensor<?x5xf32>
  %ef = tensor.empty(%n) : tensor<?xf32>
  %ei = tensor.empty(%n) : tensor<?xi32>
  %lf = linalg.fill ins(%least : f32) outs(%ef : tensor<?xf32>) -> tensor<?xf32>
  %li = linalg.fill ins(%izero : i32) outs(%ei : tensor<?xi32>) -> tensor<?xi32>
  %best:2 = linalg.generic {indexing_maps = [#te, #t, #t], iterator_types = ["parallel", "reduction"]}
      ins(%logits : tensor<?x5xf32>) outs(%lf, %li : tensor<?xf32>, tensor<?xi32>) {
    ^bb0(%v: f32, %m: f32, %k: i32):
      %e = linalg.index 1 : index
      %ei32 = arith.index_cast %e : index to i32
      %more = arith.cmpf ogt, %v, %m : f32
      %m2 = arith.select %more, %v, %m : f32
      %k2 = arith.select %more, %ei32, %k : i32
      linalg.yield %m2, %k2 : f32, i32
  } -> (tensor<?xf32>, tensor<?xi32>)
  %soft = linalg.softmax dimension(1) ins(%logits : tensor<?x5xf32>) outs(%eg : tensor<?x5xf32>) -> tensor<?x5xf32>
  %eo = tensor.empty(%n) : tensor<?x16xf32>
  %zo = linalg.fill ins(%zero : f32) outs(%eo : tensor<?x16xf32>) -> tensor<?x16xf32>
  %out = linalg.generic {indexing_maps = [affine_map<(t, o, d) -> (t, d)>, affine_map<(t, o, d) -> (t)>, affine_map<(t, o, d) -> (t, o)>],
                         iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %best#1 : tensor<?x24xf32>, tensor<?xi32>) outs(%zo : tensor<?x16xf32>) {
    ^bb0(%a: f32, %k: i32, %s: f32):
      %o = linalg.index 1 : index
      %d = linalg.index 2 : index
      %ki = arith.index_cast %k : i32 to index
      %b = tensor.extract %experts[%ki, %d, %o] : tensor<5x24x16xf32>
      %p = arith.mulf %a, %b : f32
      %u = arith.addf %s, %p : f32
      linalg.yield %u : f32
  } -> tensor<?x16xf32>
  %scaled = linalg.generic {indexing_maps = [affine_map<(t, o) -> (t, o)>, affine_map<(t, o) -> (t)>, affine_map<(t, o) -> (t, o)>], iterator_types = ["parallel", "parallel"]}
      ins(%out, %best#1 : tensor<?x16xf32>, tensor<?xi32>) outs(%eo : tensor<?x16xf32>) {
    ^bb0(%a: f32, %k: i32, %s: f32):
      %t = linalg.index 0 : index
      %ki = arith.index_cast %k : i32 to index
      %p = tensor.extract %soft[%t, %ki] : tensor<?x5xf32>
      %y = arith.mulf %a, %p : f32
      linalg.yield %y : f32
  } -> tensor<?x16xf32>
  return %scaled, %best#1 : tensor<?x16xf32>, tensor<?xi32>
}
