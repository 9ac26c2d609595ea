// The feed-forward block of BERT-base with int8 products: 128 tokens, 768 -> 3072 -> 768 features.
//
// Activations and weights are symmetrically quantised: value = scale * i8. Weights carry a scale for each output
// feature (s1, s2), x the scale 1/32, h the scale 1/64. Products accumulate in i32; dequantisation, GELU, residual and
// layer norm are f32; h is rounded to the nearest i8 (ties to even) and saturated.
//
//   h = quantise(gelu(x * w1 * s1 / 32 + b1));   y = layer_norm(x / 32 + h * w2 * s2 / 64 + b2), in f32

#matrix = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (i)>
#column = affine_map<(i, j) -> (j)>
#vector = affine_map<(i) -> (i)>

func.func @feed_forward(%x: tensor<128x768xi8>, %w1: tensor<768x3072xi8>, %s1: tensor<3072xf32>, %b1: tensor<3072xf32>,
                        %w2: tensor<3072x768xi8>, %s2: tensor<768xf32>, %b2: tensor<768xf32>,
                        %gain: tensor<768xf32>, %shift: tensor<768xf32>) -> tensor<128x768xf32> {
  %zero_i32 = arith.constant 0 : i32
  %zero = arith.constant 0.0 : f32
  %half = arith.constant 0.5 : f32
  %one = arith.constant 1.0 : f32
  %rsqrt2 = arith.constant 0.707106781 : f32
  %x_scale = arith.constant 0.03125 : f32
  %h_scale = arith.constant 0.015625 : f32
  %h_inverse = arith.constant 64.0 : f32
  %least = arith.constant -128.0 : f32
  %most = arith.constant 127.0 : f32

  %p_empty = tensor.empty() : tensor<128x3072xi32>
  %p_init = linalg.fill ins(%zero_i32 : i32) outs(%p_empty : tensor<128x3072xi32>) -> tensor<128x3072xi32>
  %p = linalg.matmul ins(%x, %w1 : tensor<128x768xi8>, tensor<768x3072xi8>)
                      outs(%p_init : tensor<128x3072xi32>) -> tensor<128x3072xi32>
  %h_empty = tensor.empty() : tensor<128x3072xi8>
  %h = linalg.generic {indexing_maps = [#matrix, #column, #column, #matrix], iterator_types = ["parallel", "parallel"]}
      ins(%p, %s1, %b1 : tensor<128x3072xi32>, tensor<3072xf32>, tensor<3072xf32>) outs(%h_empty : tensor<128x3072xi8>) {
    ^bb0(%a: i32, %s: f32, %b: f32, %o: i8):
      %af = arith.sitofp %a : i32 to f32
      %ax = arith.mulf %af, %x_scale : f32
      %as = arith.mulf %ax, %s : f32
      %v = arith.addf %as, %b : f32
      %scaled = arith.mulf %v, %rsqrt2 : f32
      %erf = math.erf %scaled : f32
      %one_erf = arith.addf %erf, %one : f32
      %halved = arith.mulf %v, %half : f32
      %gelu = arith.mulf %halved, %one_erf : f32
      %steps = arith.mulf %gelu, %h_inverse : f32
      %near = math.roundeven %steps : f32
      %low = arith.maximumf %near, %least : f32
      %clamped = arith.minimumf %low, %most : f32
      %q = arith.fptosi %clamped : f32 to i8
      linalg.yield %q : i8
  } -> tensor<128x3072xi8>

  %r2_empty = tensor.empty() : tensor<128x768xi32>
  %r2_init = linalg.fill ins(%zero_i32 : i32) outs(%r2_empty : tensor<128x768xi32>) -> tensor<128x768xi32>
  %r2 = linalg.matmul ins(%h, %w2 : tensor<128x3072xi8>, tensor<3072x768xi8>)
                      outs(%r2_init : tensor<128x768xi32>) -> tensor<128x768xi32>
  %sum_empty = tensor.empty() : tensor<128x768xf32>
  %sum = linalg.generic {indexing_maps = [#matrix, #column, #column, #matrix, #matrix],
                         iterator_types = ["parallel", "parallel"]}
      ins(%r2, %s2, %b2, %x : tensor<128x768xi32>, tensor<768xf32>, tensor<768xf32>, tensor<128x768xi8>)
      outs(%sum_empty : tensor<128x768xf32>) {
    ^bb0(%a: i32, %s: f32, %b: f32, %r: i8, %o: f32):
      %af = arith.sitofp %a : i32 to f32
      %ah = arith.mulf %af, %h_scale : f32
      %as = arith.mulf %ah, %s : f32
      %v = arith.addf %as, %b : f32
      %rf = arith.sitofp %r : i8 to f32
      %rx = arith.mulf %rf, %x_scale : f32
      %t = arith.addf %v, %rx : f32
      linalg.yield %t : f32
  } -> tensor<128x768xf32>

  // Layer norm of each row: (v - mean) / sqrt(variance + 1e-12) * gain + shift.
  %count = arith.constant 768.0 : f32
  %epsilon = arith.constant 1.0e-12 : f32
  %rows = tensor.empty() : tensor<128xf32>
  %rows0 = linalg.fill ins(%zero : f32) outs(%rows : tensor<128xf32>) -> tensor<128xf32>
  %total = linalg.generic {indexing_maps = [#matrix, #row], iterator_types = ["parallel", "reduction"]}
      ins(%sum : tensor<128x768xf32>) outs(%rows0 : tensor<128xf32>) {
    ^bb0(%v: f32, %acc: f32):
      %s = arith.addf %acc, %v : f32
      linalg.yield %s : f32
  } -> tensor<128xf32>
  %mean = linalg.generic {indexing_maps = [#vector, #vector], iterator_types = ["parallel"]}
      ins(%total : tensor<128xf32>) outs(%rows : tensor<128xf32>) {
    ^bb0(%s: f32, %o: f32):
      %m = arith.divf %s, %count : f32
      linalg.yield %m : f32
  } -> tensor<128xf32>
  %squares = linalg.generic {indexing_maps = [#matrix, #row, #row], iterator_types = ["parallel", "reduction"]}
      ins(%sum, %mean : tensor<128x768xf32>, tensor<128xf32>) outs(%rows0 : tensor<128xf32>) {
    ^bb0(%v: f32, %m: f32, %acc: f32):
      %d = arith.subf %v, %m : f32
      %q = arith.mulf %d, %d : f32
      %s = arith.addf %acc, %q : f32
      linalg.yield %s : f32
  } -> tensor<128xf32>
  %out = tensor.empty() : tensor<128x768xf32>
  %y = linalg.generic {indexing_maps = [#matrix, #row, #row, #column, #column, #matrix],
                       iterator_types = ["parallel", "parallel"]}
      ins(%sum, %mean, %squares, %gain, %shift
          : tensor<128x768xf32>, tensor<128xf32>, tensor<128xf32>, tensor<768xf32>, tensor<768xf32>)
      outs(%out : tensor<128x768xf32>) {
    ^bb0(%v: f32, %m: f32, %q: f32, %g: f32, %b: f32, %o: f32):
      %variance = arith.divf %q, %count : f32
      %guarded = arith.addf %variance, %epsilon : f32
      %deviation = math.sqrt %guarded : f32
      %d = arith.subf %v, %m : f32
      %unit = arith.divf %d, %deviation : f32
      %scaled = arith.mulf %unit, %g : f32
      %t = arith.addf %scaled, %b : f32
      linalg.yield %t : f32
  } -> tensor<128x768xf32>
  return %y : tensor<128x768xf32>
}
