// gelu(a * b + bias) with f16 operands and sums in f32, small enough for an emulator: 128 x 192, sums of 256.
//
//   gelu(v) = v / 2 * (1 + erf(v / sqrt(2))), not approximated

#matrix = affine_map<(i, j) -> (i, j)>
#column = affine_map<(i, j) -> (j)>

func.func @gemm_bias_gelu(%a: tensor<128x256xf16>, %b: tensor<256x192xf16>, %bias: tensor<192xf32>) -> tensor<128x192xf16> {
  %zero = arith.constant 0.0 : f32
  %half = arith.constant 0.5 : f32
  %one = arith.constant 1.0 : f32
  %rsqrt2 = arith.constant 0.707106781 : f32
  %empty = tensor.empty() : tensor<128x192xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<128x192xf32>) -> tensor<128x192xf32>
  %product = linalg.matmul ins(%a, %b : tensor<128x256xf16>, tensor<256x192xf16>)
                           outs(%init : tensor<128x192xf32>) -> tensor<128x192xf32>
  %stored = tensor.empty() : tensor<128x192xf16>
  %y = linalg.generic {indexing_maps = [#matrix, #column, #matrix], iterator_types = ["parallel", "parallel"]}
      ins(%product, %bias : tensor<128x192xf32>, tensor<192xf32>) outs(%stored : tensor<128x192xf16>) {
    ^bb0(%p: f32, %c: f32, %o: f16):
      %v = arith.addf %p, %c : f32
      %scaled = arith.mulf %v, %rsqrt2 : f32
      %erf = math.erf %scaled : f32
      %one_erf = arith.addf %erf, %one : f32
      %halved = arith.mulf %v, %half : f32
      %gelu = arith.mulf %halved, %one_erf : f32
      %low = arith.truncf %gelu : f32 to f16
      linalg.yield %low : f16
  } -> tensor<128x192xf16>
  return %y : tensor<128x192xf16>
}
