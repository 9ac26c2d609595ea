func.func @transpose(%x: tensor<128x96xf32>) -> tensor<96x128xf32> {
  %empty = tensor.empty() : tensor<96x128xf32>
  %r = linalg.transpose ins(%x : tensor<128x96xf32>) outs(%empty : tensor<96x128xf32>) permutation = [1, 0]
  return %r : tensor<96x128xf32>
}
