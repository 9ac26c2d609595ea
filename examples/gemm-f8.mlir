// y = quantised(silu(scale_a * scale_b[j] * (a * b^T) + bias)): operands of 8-bit floats with sums in f32, one scale for a, one
// for each row of the weights b, which lie along k as in a layer of a model; the result is an 8-bit float again, with
// a scale of its own, saturated.
//
//   silu(v) = v / (1 + exp(-v))

#a = affine_map<(i, j, k) -> (i, k)>
#b = affine_map<(i, j, k) -> (j, k)>
#c = affine_map<(i, j, k) -> (i, j)>
#matrix = affine_map<(i, j) -> (i, j)>
#column = affine_map<(i, j) -> (j)>

func.func @gemm_f8(%a: tensor<128x256xf8E4M3FN>, %b: tensor<192x256xf8E4M3FN>, %scales: tensor<192xf32>,
                   %bias: tensor<192xf32>) -> tensor<128x192xf8E4M3FN> {
  %zero = arith.constant 0.0 : f32
  %one = arith.constant 1.0 : f32
  %scale_a = arith.constant 0.0625 : f32
  %scale_y = arith.constant 32.0 : f32
  %most = arith.constant 448.0 : f32 // the largest f8E4M3FN; truncf makes NaN of what is larger
  %least = arith.constant -448.0 : f32
  %empty = tensor.empty() : tensor<128x192xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<128x192xf32>) -> tensor<128x192xf32>
  %product = linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%a, %b : tensor<128x256xf8E4M3FN>, tensor<192x256xf8E4M3FN>) outs(%init : tensor<128x192xf32>) {
    ^bb0(%x: f8E4M3FN, %w: f8E4M3FN, %sum: f32):
      %x32 = arith.extf %x : f8E4M3FN to f32
      %w32 = arith.extf %w : f8E4M3FN to f32
      %xw = arith.mulf %x32, %w32 : f32
      %next = arith.addf %sum, %xw : f32
      linalg.yield %next : f32
  } -> tensor<128x192xf32>
  %stored = tensor.empty() : tensor<128x192xf8E4M3FN>
  %y = linalg.generic {indexing_maps = [#matrix, #column, #column, #matrix], iterator_types = ["parallel", "parallel"]}
      ins(%product, %scales, %bias : tensor<128x192xf32>, tensor<192xf32>, tensor<192xf32>)
      outs(%stored : tensor<128x192xf8E4M3FN>) {
    ^bb0(%p: f32, %s: f32, %c: f32, %o: f8E4M3FN):
      %scale = arith.mulf %s, %scale_a : f32
      %scaled = arith.mulf %p, %scale : f32
      %v = arith.addf %scaled, %c : f32
      %negative = arith.negf %v : f32
      %e = math.exp %negative : f32
      %below = arith.addf %e, %one : f32
      %silu = arith.divf %v, %below : f32
      %large = arith.mulf %silu, %scale_y : f32
      %low = arith.maximumf %large, %least : f32
      %clamped = arith.minimumf %low, %most : f32
      %short = arith.truncf %clamped : f32 to f8E4M3FN
      linalg.yield %short : f8E4M3FN
  } -> tensor<128x192xf8E4M3FN>
  return %y : tensor<128x192xf8E4M3FN>
}
