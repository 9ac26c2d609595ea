func.func @sums(%x: tensor<256x128xf32>) -> tensor<128xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<128xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<128xf32>) -> tensor<128xf32>
  %r = linalg.reduce ins(%x : tensor<256x128xf32>) outs(%init : tensor<128xf32>) dimensions = [0] (%a: f32, %sum: f32) {
    %s = arith.addf %sum, %a : f32
    linalg.yield %s : f32
  }
  return %r : tensor<128xf32>
}
