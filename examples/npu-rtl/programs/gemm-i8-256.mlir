func.func @product(%a: tensor<256x256xi8>, %b: tensor<256x256xi8>) -> tensor<256x256xi32> {
  %zero = arith.constant 0 : i32
  %empty = tensor.empty() : tensor<256x256xi32>
  %init = linalg.fill ins(%zero : i32) outs(%empty : tensor<256x256xi32>) -> tensor<256x256xi32>
  %r = linalg.matmul ins(%a, %b : tensor<256x256xi8>, tensor<256x256xi8>) outs(%init : tensor<256x256xi32>) -> tensor<256x256xi32>
  return %r : tensor<256x256xi32>
}
