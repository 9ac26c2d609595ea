func.func @sum(%x: tensor<128x256xf32>, %y: tensor<128x256xf32>) -> tensor<128x256xf32> {
  %empty = tensor.empty() : tensor<128x256xf32>
  %r = linalg.add ins(%x, %y : tensor<128x256xf32>, tensor<128x256xf32>) outs(%empty : tensor<128x256xf32>) -> tensor<128x256xf32>
  return %r : tensor<128x256xf32>
}
