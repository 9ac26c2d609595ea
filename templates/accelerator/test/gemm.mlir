// Products of i8 and of bf16 take the systolic array of MatrixUnits.td, whatever divides into their shapes.
// RUN: tw-compile %s --function gemm_i8 --load-target=%plugin --target accelerator --explain | FileCheck %s --check-prefix=I8
// I8: accelerator.systolic_i8
// RUN: tw-run %s --function gemm_i8 --load-target=%plugin --target accelerator --device emulator --modes --verify
// RUN: tw-compile %s --function gemm_bf16 --load-target=%plugin --target accelerator --explain | FileCheck %s --check-prefix=BF16
// BF16: accelerator.systolic_bf16
// RUN: tw-run %s --function gemm_bf16 --load-target=%plugin --target accelerator --device emulator --sizes=37,29,41 --verify
// RUN: tw-run %s --function gemm_bf16 --load-target=%plugin --target accelerator --device emulator --sizes=1,1,1 --verify
func.func @gemm_i8(%a: tensor<64x96xi8>, %b: tensor<96x64xi8>, %c: tensor<64x64xi32>) -> tensor<64x64xi32> {
  %d = linalg.matmul ins(%a, %b : tensor<64x96xi8>, tensor<96x64xi8>) outs(%c : tensor<64x64xi32>) -> tensor<64x64xi32>
  return %d : tensor<64x64xi32>
}

func.func @gemm_bf16(%a: tensor<?x?xbf16>, %b: tensor<?x?xbf16>) -> tensor<?x?xf32> {
  %zero = arith.constant 0.0 : f32
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %m = tensor.dim %a, %c0 : tensor<?x?xbf16>
  %n = tensor.dim %b, %c1 : tensor<?x?xbf16>
  %empty = tensor.empty(%m, %n) : tensor<?x?xf32>
  %fill = linalg.fill ins(%zero : f32) outs(%empty : tensor<?x?xf32>) -> tensor<?x?xf32>
  %c = linalg.matmul ins(%a, %b : tensor<?x?xbf16>, tensor<?x?xbf16>) outs(%fill : tensor<?x?xf32>) -> tensor<?x?xf32>
  return %c : tensor<?x?xf32>
}
