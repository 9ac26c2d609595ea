func.func @pool(%x: tensor<1x29x29x32xf32>) -> tensor<1x14x14x32xf32> {
  %low = arith.constant -1.0e30 : f32
  %empty = tensor.empty() : tensor<1x14x14x32xf32>
  %init = linalg.fill ins(%low : f32) outs(%empty : tensor<1x14x14x32xf32>) -> tensor<1x14x14x32xf32>
  %window = tensor.empty() : tensor<3x3xf32>
  %r = linalg.pooling_nhwc_max {dilations = dense<1> : tensor<2xi64>, strides = dense<2> : tensor<2xi64>} ins(%x, %window : tensor<1x29x29x32xf32>, tensor<3x3xf32>) outs(%init : tensor<1x14x14x32xf32>) -> tensor<1x14x14x32xf32>
  return %r : tensor<1x14x14x32xf32>
}
