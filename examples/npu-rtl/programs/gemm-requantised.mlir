func.func @product(%a: tensor<64x128xi8>, %b: tensor<128x96xi8>, %scale: tensor<96xf32>) -> tensor<64x96xi8> {
  %zero = arith.constant 0 : i32
  %empty = tensor.empty() : tensor<64x96xi32>
  %init = linalg.fill ins(%zero : i32) outs(%empty : tensor<64x96xi32>) -> tensor<64x96xi32>
  %sum = linalg.matmul ins(%a, %b : tensor<64x128xi8>, tensor<128x96xi8>) outs(%init : tensor<64x96xi32>) -> tensor<64x96xi32>
  %out = tensor.empty() : tensor<64x96xi8>
  %r = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%sum, %scale : tensor<64x96xi32>, tensor<96xf32>) outs(%out : tensor<64x96xi8>) {
  ^bb0(%x: i32, %s: f32, %o: i8):
    %low = arith.constant -128.0 : f32
    %high = arith.constant 127.0 : f32
    %f = arith.sitofp %x : i32 to f32
    %scaled = arith.mulf %f, %s : f32
    %rounded = math.roundeven %scaled : f32
    %above = arith.maximumf %rounded, %low : f32
    %clamped = arith.minimumf %above, %high : f32
    %q = arith.fptosi %clamped : f32 to i8
    linalg.yield %q : i8
  } -> tensor<64x96xi8>
  return %r : tensor<64x96xi8>
}
