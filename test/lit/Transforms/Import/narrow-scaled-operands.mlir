// Block-scaled operands of products are stored as bf16, which holds them, where the chip multiplies it.
//
// RUN: tw-opt %s -narrow-scaled-operands | FileCheck %s
// RUN: sed -e 's/amd:MI300X/cpu:x86-64-v3/' %s | tw-opt -narrow-scaled-operands | FileCheck %s --check-prefix=KEPT
// RUN: sed -e 's/"default"/"strict"/' %s | tw-opt -narrow-scaled-operands | FileCheck %s --check-prefix=KEPT

// KEPT-NOT: xbf16

module attributes {tilewright.target = "amd:MI300X", tilewright.fp = "default"} {

// CHECK-LABEL: func.func @both
// CHECK:      %[[W:.*]] = linalg.generic
// CHECK:        %[[P:.*]] = arith.mulf
// CHECK-NEXT:   %[[N:.*]] = arith.truncf %[[P]] : f32 to bf16
// CHECK-NEXT:   linalg.yield %[[N]]
// CHECK:      linalg.generic {{.*}}"reduction"]} ins(%[[W]], %arg2 : tensor<16x64xbf16>, tensor<8x64xf8E5M2>)
// CHECK-NEXT: ^bb0(%[[X:.*]]: bf16, %{{.*}}: f8E5M2, %{{.*}}: f32):
// CHECK-NEXT:   %[[F:.*]] = arith.extf %[[X]] : bf16 to f32
// CHECK:        arith.mulf %[[F]]
func.func @both(%a: tensor<16x64xf8E4M3FN>, %s: tensor<16x2xf8E8M0FNU>, %b: tensor<8x64xf8E5M2>, %c: tensor<16x8xf32>) -> tensor<16x8xf32> {
  %e = tensor.empty() : tensor<16x64xf32>
  %w = linalg.generic {indexing_maps = [affine_map<(i, k) -> (i, k)>, affine_map<(i, k) -> (i, k floordiv 32)>, affine_map<(i, k) -> (i, k)>],
      iterator_types = ["parallel", "parallel"]} ins(%a, %s : tensor<16x64xf8E4M3FN>, tensor<16x2xf8E8M0FNU>) outs(%e : tensor<16x64xf32>) {
  ^bb0(%x: f8E4M3FN, %y: f8E8M0FNU, %o: f32):
    %0 = arith.extf %x : f8E4M3FN to f32
    %1 = arith.extf %y : f8E8M0FNU to f32
    %2 = arith.mulf %0, %1 : f32
    linalg.yield %2 : f32
  } -> tensor<16x64xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(i, j, k) -> (i, k)>, affine_map<(i, j, k) -> (j, k)>, affine_map<(i, j, k) -> (i, j)>],
      iterator_types = ["parallel", "parallel", "reduction"]} ins(%w, %b : tensor<16x64xf32>, tensor<8x64xf8E5M2>) outs(%c : tensor<16x8xf32>) {
  ^bb0(%x: f32, %y: f8E5M2, %o: f32):
    %0 = arith.extf %y : f8E5M2 to f32
    %1 = arith.mulf %x, %0 : f32
    %2 = arith.addf %o, %1 : f32
    linalg.yield %2 : f32
  } -> tensor<16x8xf32>
  return %r : tensor<16x8xf32>
}

// The other factor has more bits, and no unit takes bf16 and f32.
// CHECK-LABEL: func.func @other
// CHECK-NOT: bf16
// CHECK: return
func.func @other(%a: tensor<16x64xf8E4M3FN>, %s: tensor<16x2xf8E8M0FNU>, %b: tensor<8x64xf32>, %c: tensor<16x8xf32>) -> tensor<16x8xf32> {
  %e = tensor.empty() : tensor<16x64xf32>
  %w = linalg.generic {indexing_maps = [affine_map<(i, k) -> (i, k)>, affine_map<(i, k) -> (i, k floordiv 32)>, affine_map<(i, k) -> (i, k)>],
      iterator_types = ["parallel", "parallel"]} ins(%a, %s : tensor<16x64xf8E4M3FN>, tensor<16x2xf8E8M0FNU>) outs(%e : tensor<16x64xf32>) {
  ^bb0(%x: f8E4M3FN, %y: f8E8M0FNU, %o: f32):
    %0 = arith.extf %x : f8E4M3FN to f32
    %1 = arith.extf %y : f8E8M0FNU to f32
    %2 = arith.mulf %0, %1 : f32
    linalg.yield %2 : f32
  } -> tensor<16x64xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(i, j, k) -> (i, k)>, affine_map<(i, j, k) -> (j, k)>, affine_map<(i, j, k) -> (i, j)>],
      iterator_types = ["parallel", "parallel", "reduction"]} ins(%w, %b : tensor<16x64xf32>, tensor<8x64xf32>) outs(%c : tensor<16x8xf32>) {
  ^bb0(%x: f32, %y: f32, %o: f32):
    %1 = arith.mulf %x, %y : f32
    %2 = arith.addf %o, %1 : f32
    linalg.yield %2 : f32
  } -> tensor<16x8xf32>
  return %r : tensor<16x8xf32>
}

}
