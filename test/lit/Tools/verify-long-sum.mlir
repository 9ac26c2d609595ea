// RUN: tw-run %s --sizes=20000000 --verify | FileCheck %s

// Twenty million ones: a reference that adds them one by one in f32 would stop at 2^24.
// CHECK: verify: output 0: largest error 0.00e+00
func.func @count(%x: tensor<?xf32>) -> tensor<f32> {
  %zero = arith.constant 0.0 : f32
  %one = arith.constant 1.0 : f32
  %init = tensor.splat %zero : tensor<f32>
  %r = linalg.reduce ins(%x : tensor<?xf32>) outs(%init : tensor<f32>) dimensions = [0]
    (%in: f32, %out: f32) {
      %nothing = arith.mulf %in, %zero : f32
      %each = arith.addf %nothing, %one : f32
      %s = arith.addf %out, %each : f32
      linalg.yield %s : f32
    }
  return %r : tensor<f32>
}
