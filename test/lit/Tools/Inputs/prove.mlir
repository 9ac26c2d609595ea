func.func @product(%a: tensor<33x29xf32>, %b: tensor<29x47xf32>) -> tensor<33x47xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<33x47xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<33x47xf32>) -> tensor<33x47xf32>
  %c = linalg.matmul ins(%a, %b : tensor<33x29xf32>, tensor<29x47xf32>) outs(%f : tensor<33x47xf32>) -> tensor<33x47xf32>
  return %c : tensor<33x47xf32>
}
