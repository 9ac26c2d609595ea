// A product with a vector over two dimensions that lie in different orders in both operands, one of them of unknown size: the rows
// of each load begin anywhere, in each iteration of the loop around the steps anew.
func.func @products(%a: tensor<20x4x109x?xf16>, %b: tensor<1x?x109xf16>) -> tensor<4x20x1xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<4x20x1xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<4x20x1xf32>) -> tensor<4x20x1xf32>
  %sums = linalg.generic {
      indexing_maps = [affine_map<(i, j, n, k, l) -> (i, j, k, l)>, affine_map<(i, j, n, k, l) -> (n, l, k)>,
                       affine_map<(i, j, n, k, l) -> (j, i, n)>],
      iterator_types = ["parallel", "parallel", "parallel", "reduction", "reduction"]}
      ins(%a, %b : tensor<20x4x109x?xf16>, tensor<1x?x109xf16>) outs(%init : tensor<4x20x1xf32>) {
  ^bb0(%x: f16, %y: f16, %sum: f32):
    %wideX = arith.extf %x : f16 to f32
    %wideY = arith.extf %y : f16 to f32
    %product = arith.mulf %wideX, %wideY : f32
    %next = arith.addf %sum, %product : f32
    linalg.yield %next : f32
  } -> tensor<4x20x1xf32>
  return %sums : tensor<4x20x1xf32>
}
