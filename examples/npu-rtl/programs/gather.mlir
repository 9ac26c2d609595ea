func.func @gather(%x: tensor<256xf32>, %at: tensor<32x64xi32>) -> tensor<32x64xf32> {
  %empty = tensor.empty() : tensor<32x64xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%at : tensor<32x64xi32>) outs(%empty : tensor<32x64xf32>) {
  ^bb0(%i: i32, %o: f32):
    %mask = arith.constant 255 : i32
    %low = arith.andi %i, %mask : i32
    %index = arith.index_cast %low : i32 to index
    %v = tensor.extract %x[%index] : tensor<256xf32>
    linalg.yield %v : f32
  } -> tensor<32x64xf32>
  return %r : tensor<32x64xf32>
}
