// A transposition: every element moves once and none is computed.
// RUN: tw-run %s --load-target=%plugin --target @NAME@ %device --verify
func.func @transpose(%x: tensor<70x45xf32>) -> tensor<45x70xf32> {
  %empty = tensor.empty() : tensor<45x70xf32>
  %y = linalg.transpose ins(%x : tensor<70x45xf32>) outs(%empty : tensor<45x70xf32>) permutation = [1, 0]
  return %y : tensor<45x70xf32>
}
