// f32 products have no matrix unit here: they take the multiply-add of a lane.
// RUN: tw-compile %s --load-target=%plugin --target @NAME@ --explain | FileCheck %s
// CHECK: @NAME@.fma_f32
// RUN: tw-run %s --load-target=%plugin --target @NAME@ --device emulator --modes --verify
func.func @gemm(%a: tensor<40x32xf32>, %b: tensor<32x48xf32>) -> tensor<40x48xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<40x48xf32>
  %fill = linalg.fill ins(%zero : f32) outs(%empty : tensor<40x48xf32>) -> tensor<40x48xf32>
  %c = linalg.matmul ins(%a, %b : tensor<40x32xf32>, tensor<32x48xf32>) outs(%fill : tensor<40x48xf32>) -> tensor<40x48xf32>
  return %c : tensor<40x48xf32>
}
