// The feed-forward block of BERT-base, in bf16: storage of activations and
// weights; sums, GELU, residual and layer norm are computed in f32 and rounded once where they are stored.
// 128 tokens, 768 -> 3072 -> 768 features.
//
//   h = gelu(x * w1 + b1);   y = layer_norm(x + h * w2 + b2)
//   gelu(v) = v / 2 * (1 + erf(v / sqrt(2))), not approximated

#matrix = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (i)>
#column = affine_map<(i, j) -> (j)>
#vector = affine_map<(i) -> (i)>

func.func @feed_forward(%x: tensor<128x768xbf16>, %w1: tensor<768x3072xbf16>, %b1: tensor<3072xf32>,
                        %w2: tensor<3072x768xbf16>, %b2: tensor<768xf32>,
                        %gain: tensor<768xf32>, %shift: tensor<768xf32>) -> tensor<128x768xbf16> {
  %zero = arith.constant 0.0 : f32
  %half = arith.constant 0.5 : f32
  %one = arith.constant 1.0 : f32
  %rsqrt2 = arith.constant 0.707106781 : f32

  %p_empty = tensor.empty() : tensor<128x3072xf32>
  %p_init = linalg.fill ins(%zero : f32) outs(%p_empty : tensor<128x3072xf32>) -> tensor<128x3072xf32>
  %p = linalg.matmul ins(%x, %w1 : tensor<128x768xbf16>, tensor<768x3072xbf16>)
                      outs(%p_init : tensor<128x3072xf32>) -> tensor<128x3072xf32>
  %h_empty = tensor.empty() : tensor<128x3072xbf16>
  %h = linalg.generic {indexing_maps = [#matrix, #column, #matrix], iterator_types = ["parallel", "parallel"]}
      ins(%p, %b1 : tensor<128x3072xf32>, tensor<3072xf32>) outs(%h_empty : tensor<128x3072xbf16>) {
    ^bb0(%a: f32, %b: f32, %o: bf16):
      %v = arith.addf %a, %b : f32
      %scaled = arith.mulf %v, %rsqrt2 : f32
      %erf = math.erf %scaled : f32
      %one_erf = arith.addf %erf, %one : f32
      %halved = arith.mulf %v, %half : f32
      %gelu = arith.mulf %halved, %one_erf : f32
      %low = arith.truncf %gelu : f32 to bf16
      linalg.yield %low : bf16
  } -> tensor<128x3072xbf16>

  %r2_empty = tensor.empty() : tensor<128x768xf32>
  %r2_init = linalg.fill ins(%zero : f32) outs(%r2_empty : tensor<128x768xf32>) -> tensor<128x768xf32>
  %r2 = linalg.matmul ins(%h, %w2 : tensor<128x3072xbf16>, tensor<3072x768xbf16>)
                      outs(%r2_init : tensor<128x768xf32>) -> tensor<128x768xf32>
  %sum = linalg.generic {indexing_maps = [#matrix, #column, #matrix, #matrix], iterator_types = ["parallel", "parallel"]}
      ins(%r2, %b2, %x : tensor<128x768xf32>, tensor<768xf32>, tensor<128x768xbf16>) outs(%r2_empty : tensor<128x768xf32>) {
    ^bb0(%a: f32, %b: f32, %r: bf16, %o: f32):
      %v = arith.addf %a, %b : f32
      %rf = arith.extf %r : bf16 to f32
      %s = arith.addf %v, %rf : f32
      linalg.yield %s : f32
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
  %out = tensor.empty() : tensor<128x768xbf16>
  %y = linalg.generic {indexing_maps = [#matrix, #row, #row, #column, #column, #matrix],
                       iterator_types = ["parallel", "parallel"]}
      ins(%sum, %mean, %squares, %gain, %shift
          : tensor<128x768xf32>, tensor<128xf32>, tensor<128xf32>, tensor<768xf32>, tensor<768xf32>)
      outs(%out : tensor<128x768xbf16>) {
    ^bb0(%v: f32, %m: f32, %q: f32, %g: f32, %b: f32, %o: bf16):
      %variance = arith.divf %q, %count : f32
      %guarded = arith.addf %variance, %epsilon : f32
      %deviation = math.sqrt %guarded : f32
      %d = arith.subf %v, %m : f32
      %unit = arith.divf %d, %deviation : f32
      %scaled = arith.mulf %unit, %g : f32
      %t = arith.addf %scaled, %b : f32
      %n = arith.truncf %t : f32 to bf16
      linalg.yield %n : bf16
  } -> tensor<128x768xbf16>
  return %y : tensor<128x768xbf16>
}
