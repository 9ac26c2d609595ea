// Shares of logits whose deviation is some hundred: exp makes hundreds of units in the last place of one. The bound of
// each logit goes through exp.
//
// RUN: tw-run %s --verify | FileCheck %s
// CHECK: verify: output 0: largest error {{.*}} of the bound

func.func @shares(%a: tensor<256x256xf32>, %b: tensor<256x256xf32>) -> tensor<256x256xf32> {
  %zero = arith.constant 0.0 : f32
  %scale = arith.constant 50.0 : f32
  %e = tensor.empty() : tensor<256x256xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<256x256xf32>) -> tensor<256x256xf32>
  %p = linalg.matmul ins(%a, %b : tensor<256x256xf32>, tensor<256x256xf32>) outs(%f : tensor<256x256xf32>) -> tensor<256x256xf32>
  %s = linalg.map ins(%p : tensor<256x256xf32>) outs(%e : tensor<256x256xf32>) (%x: f32, %o: f32) {
    %y = arith.mulf %x, %scale : f32
    linalg.yield %y : f32
  }
  %r = linalg.softmax dimension(1) ins(%s : tensor<256x256xf32>) outs(%e : tensor<256x256xf32>) -> tensor<256x256xf32>
  return %r : tensor<256x256xf32>
}
