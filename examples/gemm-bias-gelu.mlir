// gelu(a * b + bias) with f16 operands and sums in f32: 512 x 768, sums of 1024. Large enough for units that several
// subgroups share, small enough for an emulator.
//
//   gelu(v) = v / 2 * (1 + erf(v / sqrt(2))), not approximated

#matrix = affine_map<(i, j) -> (i, j)>
#column = affine_map<(i, j) -> (j)>

func.func @gemm_bias_gelu(%a: tensor<512x1024xf16>, %b: tensor<1024x768xf16>, %bias: tensor<768xf32>) -> tensor<512x768xf16> {
  %zero = arith.constant 0.0 : f32
  %half = arith.constant 0.5 : f32
  %one = arith.constant 1.0 : f32
  %rsqrt2 = arith.constant 0.707106781 : f32
  %empty = tensor.empty() : tensor<512x768xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<512x768xf32>) -> tensor<512x768xf32>
  %product = linalg.matmul ins(%a, %b : tensor<512x1024xf16>, tensor<1024x768xf16>)
                           outs(%init : tensor<512x768xf32>) -> tensor<512x768xf32>
  %stored = tensor.empty() : tensor<512x768xf16>
  %y = linalg.generic {indexing_maps = [#matrix, #column, #matrix], iterator_types = ["parallel", "parallel"]}
      ins(%product, %bias : tensor<512x768xf32>, tensor<768xf32>) outs(%stored : tensor<512x768xf16>) {
    ^bb0(%p: f32, %c: f32, %o: f16):
      %v = arith.addf %p, %c : f32
      %scaled = arith.mulf %v, %rsqrt2 : f32
      %erf = math.erf %scaled : f32
      %one_erf = arith.addf %erf, %one : f32
      %halved = arith.mulf %v, %half : f32
      %gelu = arith.mulf %halved, %one_erf : f32
      %low = arith.truncf %gelu : f32 to f16
      linalg.yield %low : f16
  } -> tensor<512x768xf16>
  return %y : tensor<512x768xf16>
}
