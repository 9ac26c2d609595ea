// Mean cross entropy of rows of logits against labels, and its gradient.
#m = affine_map<(i, j) -> (i, j)>
#r = affine_map<(i, j) -> (i)>
func.func @loss(%logits: tensor<?x?xf32>, %labels: tensor<?xi32>) -> (tensor<f32>, tensor<?x?xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  %one = arith.constant 1.0 : f32
  %least = arith.constant 0xFF800000 : f32
  %m = tensor.dim %logits, %c0 : tensor<?x?xf32>
  %n = tensor.dim %logits, %c1 : tensor<?x?xf32>
  %ni = arith.index_cast %n : index to i32
  %mi = arith.index_cast %m : index to i64
  %mf = arith.sitofp %mi : i64 to f32
  %er = tensor.empty(%m) : tensor<?xf32>
  %lr = linalg.fill ins(%least : f32) outs(%er : tensor<?xf32>) -> tensor<?xf32>
  %zr = linalg.fill ins(%zero : f32) outs(%er : tensor<?xf32>) -> tensor<?xf32>
  %top = linalg.reduce ins(%logits : tensor<?x?xf32>) outs(%lr : tensor<?xf32>) dimensions = [1]
    (%a: f32, %s: f32) {
      %x = arith.maximumf %a, %s : f32
      linalg.yield %x : f32
    }
  %sum = linalg.generic {indexing_maps = [#m, #r, #r], iterator_types = ["parallel", "reduction"]}
      ins(%logits, %top : tensor<?x?xf32>, tensor<?xf32>) outs(%zr : tensor<?xf32>) {
    ^bb0(%v: f32, %t: f32, %s: f32):
      %d = arith.subf %v, %t : f32
      %p = math.exp %d : f32
      %u = arith.addf %s, %p : f32
      linalg.yield %u : f32
  } -> tensor<?xf32>
  %each = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>, affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
      ins(%labels, %top, %sum : tensor<?xi32>, tensor<?xf32>, tensor<?xf32>) outs(%er : tensor<?xf32>) {
    ^bb0(%k: i32, %t: f32, %s: f32, %o: f32):
      %i = linalg.index 0 : index
      %w = arith.remui %k, %ni : i32
      %ki = arith.index_cast %w : i32 to index
      %v = tensor.extract %logits[%i, %ki] : tensor<?x?xf32>
      %l = math.log %s : f32
      %d = arith.subf %t, %v : f32
      %y = arith.addf %l, %d : f32
      %z = arith.divf %y, %mf : f32
      linalg.yield %z : f32
  } -> tensor<?xf32>
  %e0 = tensor.empty() : tensor<f32>
  %z0 = linalg.fill ins(%zero : f32) outs(%e0 : tensor<f32>) -> tensor<f32>
  %loss = linalg.reduce ins(%each : tensor<?xf32>) outs(%z0 : tensor<f32>) dimensions = [0]
    (%a: f32, %s: f32) {
      %x = arith.addf %a, %s : f32
      linalg.yield %x : f32
    }
  %em = tensor.empty(%m, %n) : tensor<?x?xf32>
  %gradient = linalg.generic {indexing_maps = [#m, #r, #r, #r, #m], iterator_types = ["parallel", "parallel"]}
      ins(%logits, %top, %sum, %labels : tensor<?x?xf32>, tensor<?xf32>, tensor<?xf32>, tensor<?xi32>) outs(%em : tensor<?x?xf32>) {
    ^bb0(%v: f32, %t: f32, %s: f32, %k: i32, %o: f32):
      %j = linalg.index 1 : index
      %ji = arith.index_cast %j : index to i32
      %w = arith.remui %k, %ni : i32
      %is = arith.cmpi eq, %ji, %w : i32
      %d = arith.subf %v, %t : f32
      %p = math.exp %d : f32
      %q = arith.divf %p, %s : f32
      %hit = arith.select %is, %one, %zero : f32
      %g = arith.subf %q, %hit : f32
      %y = arith.divf %g, %mf : f32
      linalg.yield %y : f32
  } -> tensor<?x?xf32>
  return %loss, %gradient : tensor<f32>, tensor<?x?xf32>
}
