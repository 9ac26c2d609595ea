// Group norm of images: channels in 4 groups, any number of images, channels and points, gain and bias of each channel.
#x = affine_map<(n, g, c, p) -> (n, g, c, p)>
#r = affine_map<(n, g, c, p) -> (n, g)>
#w = affine_map<(n, g, c, p) -> (g, c)>
func.func @group_norm(%x: tensor<?x?x?x?xf32>, %gain: tensor<?xf32>, %bias: tensor<?xf32>) -> tensor<?x?x?x?xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %four = arith.constant 4 : index
  %zero = arith.constant 0.0 : f32
  %epsilon = arith.constant 1.0e-5 : f32
  %n = tensor.dim %x, %c0 : tensor<?x?x?x?xf32>
  %c = tensor.dim %x, %c1 : tensor<?x?x?x?xf32>
  %h = tensor.dim %x, %c2 : tensor<?x?x?x?xf32>
  %w = tensor.dim %x, %c3 : tensor<?x?x?x?xf32>
  %each = arith.divui %c, %four : index
  %flat = tensor.collapse_shape %x [[0], [1], [2, 3]] : tensor<?x?x?x?xf32> into tensor<?x?x?xf32>
  %points = arith.muli %h, %w : index
  %groups = tensor.expand_shape %flat [[0], [1, 2], [3]] output_shape [%n, 4, %each, %points] : tensor<?x?x?xf32> into tensor<?x4x?x?xf32>
  %gains = tensor.expand_shape %gain [[0, 1]] output_shape [4, %each] : tensor<?xf32> into tensor<4x?xf32>
  %biases = tensor.expand_shape %bias [[0, 1]] output_shape [4, %each] : tensor<?xf32> into tensor<4x?xf32>
  %er = tensor.empty(%n) : tensor<?x4xf32>
  %zr = linalg.fill ins(%zero : f32) outs(%er : tensor<?x4xf32>) -> tensor<?x4xf32>
  %sum = linalg.generic {indexing_maps = [#x, #r], iterator_types = ["parallel", "parallel", "reduction", "reduction"]}
      ins(%groups : tensor<?x4x?x?xf32>) outs(%zr : tensor<?x4xf32>) {
    ^bb0(%v: f32, %s: f32):
      %t = arith.addf %s, %v : f32
      linalg.yield %t : f32
  } -> tensor<?x4xf32>
  %count = arith.muli %each, %points : index
  %ci = arith.index_cast %count : index to i64
  %cf = arith.sitofp %ci : i64 to f32
  %square = linalg.generic {indexing_maps = [#x, #r, #r], iterator_types = ["parallel", "parallel", "reduction", "reduction"]}
      ins(%groups, %sum : tensor<?x4x?x?xf32>, tensor<?x4xf32>) outs(%zr : tensor<?x4xf32>) {
    ^bb0(%v: f32, %t: f32, %s: f32):
      %mean = arith.divf %t, %cf : f32
      %d = arith.subf %v, %mean : f32
      %q = arith.mulf %d, %d : f32
      %u = arith.addf %s, %q : f32
      linalg.yield %u : f32
  } -> tensor<?x4xf32>
  %e = tensor.empty(%n, %each, %points) : tensor<?x4x?x?xf32>
  %norm = linalg.generic {indexing_maps = [#x, #r, #r, #w, #w, #x], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%groups, %sum, %square, %gains, %biases : tensor<?x4x?x?xf32>, tensor<?x4xf32>, tensor<?x4xf32>, tensor<4x?xf32>, tensor<4x?xf32>)
      outs(%e : tensor<?x4x?x?xf32>) {
    ^bb0(%v: f32, %t: f32, %q: f32, %g: f32, %b: f32, %o: f32):
      %mean = arith.divf %t, %cf : f32
      %variance = arith.divf %q, %cf : f32
      %safe = arith.addf %variance, %epsilon : f32
      %inverse = math.rsqrt %safe : f32
      %d = arith.subf %v, %mean : f32
      %y = arith.mulf %d, %inverse : f32
      %z = arith.mulf %y, %g : f32
      %r = arith.addf %z, %b : f32
      linalg.yield %r : f32
  } -> tensor<?x4x?x?xf32>
  %back = tensor.collapse_shape %norm [[0], [1, 2], [3]] : tensor<?x4x?x?xf32> into tensor<?x?x?xf32>
  %r = tensor.expand_shape %back [[0], [1], [2, 3]] output_shape [%n, %c, %h, %w] : tensor<?x?x?xf32> into tensor<?x?x?x?xf32>
  return %r : tensor<?x?x?x?xf32>
}
