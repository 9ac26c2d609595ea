// A block of a MobileNet in f16: a depthwise convolution 3 x 3 of 64 channels, ReLU, and a pointwise convolution to 128 channels.
// On GPUs it is one launch: each tile computes the rows of the middle that its product reads, and none of it is in memory.
//
//   tw-run examples/depthwise-pointwise.mlir --target nvidia:H200 --device emulator --verify

func.func @depthwise_pointwise(%image: tensor<64x30x30xf16>, %filter: tensor<64x3x3xf16>, %weights: tensor<128x64xf16>) -> tensor<128x28x28xf16> {
  %zero = arith.constant 0.0 : f32
  %e1 = tensor.empty() : tensor<64x28x28xf32>
  %f1 = linalg.fill ins(%zero : f32) outs(%e1 : tensor<64x28x28xf32>) -> tensor<64x28x28xf32>
  %sums = linalg.generic {indexing_maps = [affine_map<(c,y,x,p,q) -> (c,y+p,x+q)>, affine_map<(c,y,x,p,q) -> (c,p,q)>, affine_map<(c,y,x,p,q) -> (c,y,x)>], iterator_types = ["parallel","parallel","parallel","reduction","reduction"]} ins(%image, %filter : tensor<64x30x30xf16>, tensor<64x3x3xf16>) outs(%f1 : tensor<64x28x28xf32>) {
  ^bb0(%a: f16, %b: f16, %s: f32):
    %aa = arith.extf %a : f16 to f32
    %bb = arith.extf %b : f16 to f32
    %m = arith.mulf %aa, %bb : f32
    %r = arith.addf %s, %m : f32
    linalg.yield %r : f32
  } -> tensor<64x28x28xf32>
  %e2 = tensor.empty() : tensor<64x28x28xf16>
  %middle = linalg.generic {indexing_maps = [affine_map<(c,y,x) -> (c,y,x)>, affine_map<(c,y,x) -> (c,y,x)>], iterator_types = ["parallel","parallel","parallel"]} ins(%sums : tensor<64x28x28xf32>) outs(%e2 : tensor<64x28x28xf16>) {
  ^bb0(%a: f32, %o: f16):
    %r = arith.maximumf %a, %zero : f32
    %t = arith.truncf %r : f32 to f16
    linalg.yield %t : f16
  } -> tensor<64x28x28xf16>
  %e3 = tensor.empty() : tensor<128x28x28xf32>
  %f3 = linalg.fill ins(%zero : f32) outs(%e3 : tensor<128x28x28xf32>) -> tensor<128x28x28xf32>
  %products = linalg.generic {indexing_maps = [affine_map<(o,y,x,c) -> (c,y,x)>, affine_map<(o,y,x,c) -> (o,c)>, affine_map<(o,y,x,c) -> (o,y,x)>], iterator_types = ["parallel","parallel","parallel","reduction"]} ins(%middle, %weights : tensor<64x28x28xf16>, tensor<128x64xf16>) outs(%f3 : tensor<128x28x28xf32>) {
  ^bb0(%a: f16, %b: f16, %s: f32):
    %aa = arith.extf %a : f16 to f32
    %bb = arith.extf %b : f16 to f32
    %m = arith.mulf %aa, %bb : f32
    %r = arith.addf %s, %m : f32
    linalg.yield %r : f32
  } -> tensor<128x28x28xf32>
  %e4 = tensor.empty() : tensor<128x28x28xf16>
  %result = linalg.generic {indexing_maps = [affine_map<(c,y,x) -> (c,y,x)>, affine_map<(c,y,x) -> (c,y,x)>], iterator_types = ["parallel","parallel","parallel"]} ins(%products : tensor<128x28x28xf32>) outs(%e4 : tensor<128x28x28xf16>) {
  ^bb0(%a: f32, %o: f16):
    %t = arith.truncf %a : f32 to f16
    linalg.yield %t : f16
  } -> tensor<128x28x28xf16>
  return %result : tensor<128x28x28xf16>
}
