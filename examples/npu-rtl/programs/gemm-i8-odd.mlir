func.func @product(%a: tensor<70x45xi8>, %b: tensor<45x33xi8>) -> tensor<70x33xi32> {
  %zero = arith.constant 0 : i32
  %empty = tensor.empty() : tensor<70x33xi32>
  %init = linalg.fill ins(%zero : i32) outs(%empty : tensor<70x33xi32>) -> tensor<70x33xi32>
  %r = linalg.matmul ins(%a, %b : tensor<70x45xi8>, tensor<45x33xi8>) outs(%init : tensor<70x33xi32>) -> tensor<70x33xi32>
  return %r : tensor<70x33xi32>
}
