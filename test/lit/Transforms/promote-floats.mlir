// RUN: tw-opt %s --promote-floats | FileCheck %s

// Loads widen, stores round, arithmetic and carried values are f64.
// CHECK-LABEL: func.func @sum
// CHECK: %[[ZERO:.*]] = arith.constant 0.000000e+00 : f64
// CHECK: affine.for {{.*}} iter_args(%[[ACC:.*]] = %[[ZERO]]) -> (f64)
// CHECK: %[[X:.*]] = affine.load {{.*}} : memref<16xbf16>
// CHECK: %[[WIDE:.*]] = arith.extf %[[X]] : bf16 to f64
// CHECK: %[[NEXT:.*]] = arith.addf %[[ACC]], %[[WIDE]] : f64
// CHECK: affine.yield %[[NEXT]] : f64
// CHECK: %[[ROUNDED:.*]] = arith.truncf {{.*}} : f64 to f32
// CHECK: affine.store %[[ROUNDED]], {{.*}} : memref<1xf32>
func.func @sum(%a: memref<16xbf16>, %out: memref<1xf32>) {
  %zero = arith.constant 0.0 : f32
  %s = affine.for %i = 0 to 16 iter_args(%acc = %zero) -> f32 {
    %x = affine.load %a[%i] : memref<16xbf16>
    %w = arith.extf %x : bf16 to f32
    %n = arith.addf %acc, %w : f32
    affine.yield %n : f32
  }
  affine.store %s, %out[0] : memref<1xf32>
  return
}

// A rounding that the program asks for stays.
// CHECK-LABEL: func.func @rounded
// CHECK: arith.truncf {{.*}} : f64 to bf16
// CHECK: arith.extf {{.*}} : bf16 to f64
// CHECK: math.exp {{.*}} : f64
func.func @rounded(%a: memref<4xf32>) {
  affine.for %i = 0 to 4 {
    %x = affine.load %a[%i] : memref<4xf32>
    %t = arith.truncf %x : f32 to bf16
    %w = arith.extf %t : bf16 to f32
    %e = math.exp %w : f32
    affine.store %e, %a[%i] : memref<4xf32>
  }
  return
}
