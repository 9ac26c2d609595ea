// A linear layer of 8-bit integers: a scale for each channel, bias, rounding, saturation.
#o = affine_map<(i, j) -> (i, j)>
#c = affine_map<(i, j) -> (j)>
func.func @linear(%x: tensor<?x?xi8>, %w: tensor<?x?xi8>, %bias: tensor<?xi32>, %scale: tensor<?xf32>) -> tensor<?x?xi8> {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0 : i32
  %m = tensor.dim %x, %c0 : tensor<?x?xi8>
  %n = tensor.dim %w, %c0 : tensor<?x?xi8>
  %e = tensor.empty(%m, %n) : tensor<?x?xi32>
  %z = linalg.fill ins(%zero : i32) outs(%e : tensor<?x?xi32>) -> tensor<?x?xi32>
  %s = linalg.generic {indexing_maps = [affine_map<(i, j, k) -> (i, k)>, affine_map<(i, j, k) -> (j, k)>, affine_map<(i, j, k) -> (i, j)>], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %w : tensor<?x?xi8>, tensor<?x?xi8>) outs(%z : tensor<?x?xi32>) {
    ^bb0(%a: i8, %b: i8, %t: i32):
      %aw = arith.extsi %a : i8 to i32
      %bw = arith.extsi %b : i8 to i32
      %p = arith.muli %aw, %bw : i32
      %u = arith.addi %t, %p : i32
      linalg.yield %u : i32
  } -> tensor<?x?xi32>
  %er = tensor.empty(%m, %n) : tensor<?x?xi8>
  %r = linalg.generic {indexing_maps = [#o, #c, #c, #o], iterator_types = ["parallel", "parallel"]}
      ins(%s, %bias, %scale : tensor<?x?xi32>, tensor<?xi32>, tensor<?xf32>) outs(%er : tensor<?x?xi8>) {
    ^bb0(%v: i32, %b: i32, %f: f32, %o: i8):
      %low = arith.constant -128.0 : f32
      %high = arith.constant 127.0 : f32
      %u = arith.addi %v, %b : i32
      %d = arith.sitofp %u : i32 to f32
      %y = arith.mulf %d, %f : f32
      %round = math.roundeven %y : f32
      %l = arith.maximumf %round, %low : f32
      %h = arith.minimumf %l, %high : f32
      %i = arith.fptosi %h : f32 to i8
      linalg.yield %i : i8
  } -> tensor<?x?xi8>
  return %r : tensor<?x?xi8>
}
