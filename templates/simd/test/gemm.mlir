// A matrix product takes the unit of MatrixUnits.td, whatever divides into its shape.
// RUN: tw-compile %s --load-target=%plugin --target @NAME@ --explain | FileCheck %s
// CHECK: @NAME@.fma_f32
// RUN: tw-run %s --load-target=%plugin --target @NAME@ %device --sizes=64,48,32 --verify
// RUN: tw-run %s --load-target=%plugin --target @NAME@ %device --sizes=1,1,1 --verify
// RUN: tw-run %s --load-target=%plugin --target @NAME@ %device --sizes=37,29,41 --verify
func.func @gemm(%a: tensor<?x?xf32>, %b: tensor<?x?xf32>) -> tensor<?x?xf32> {
  %zero = arith.constant 0.0 : f32
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %m = tensor.dim %a, %c0 : tensor<?x?xf32>
  %n = tensor.dim %b, %c1 : tensor<?x?xf32>
  %empty = tensor.empty(%m, %n) : tensor<?x?xf32>
  %fill = linalg.fill ins(%zero : f32) outs(%empty : tensor<?x?xf32>) -> tensor<?x?xf32>
  %c = linalg.matmul ins(%a, %b : tensor<?x?xf32>, tensor<?x?xf32>) outs(%fill : tensor<?x?xf32>) -> tensor<?x?xf32>
  return %c : tensor<?x?xf32>
}
