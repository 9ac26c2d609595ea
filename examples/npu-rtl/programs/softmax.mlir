func.func @softmax(%x: tensor<64x128xf32>) -> tensor<64x128xf32> {
  %empty = tensor.empty() : tensor<64x128xf32>
  %r = linalg.softmax dimension(1) ins(%x : tensor<64x128xf32>) outs(%empty : tensor<64x128xf32>) -> tensor<64x128xf32>
  return %r : tensor<64x128xf32>
}
