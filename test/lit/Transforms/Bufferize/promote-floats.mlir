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

// What a loop accumulates in memory is a sum in f64: the array of the caller is read once and rounded once.
// CHECK-LABEL: func.func @accumulated
// CHECK: %[[DOUBLES:.*]] = memref.alloc(%{{.*}}) : memref<?xf64>
// CHECK: affine.for
// CHECK:   affine.load %arg1[{{.*}}] : memref<?xf32>
// CHECK:   affine.store %{{.*}}, %[[DOUBLES]][{{.*}}] : memref<?xf64>
// CHECK: affine.for
// CHECK:   affine.for
// CHECK:     %[[SUM:.*]] = affine.load %[[DOUBLES]]
// CHECK:     %[[NEW:.*]] = arith.addf %[[SUM]], %{{.*}} : f64
// CHECK:     affine.store %[[NEW]], %[[DOUBLES]]
// CHECK-NOT: memref<?xf32>
// CHECK: affine.for
// CHECK:   arith.truncf
// CHECK:   affine.store %{{.*}}, %arg1[{{.*}}] : memref<?xf32>
func.func @accumulated(%a: memref<?x64xf32>, %out: memref<?xf32>) {
  %c0 = arith.constant 0 : index
  %n = memref.dim %a, %c0 : memref<?x64xf32>
  affine.for %i = 0 to %n {
    affine.for %j = 0 to 64 {
      %x = affine.load %a[%i, %j] : memref<?x64xf32>
      %s = affine.load %out[%i] : memref<?xf32>
      %t = arith.addf %s, %x : f32
      affine.store %t, %out[%i] : memref<?xf32>
    }
  }
  return
}

// Each element once: the store rounds, as the program's own buffer does.
// CHECK-LABEL: func.func @updated
// CHECK-NOT: memref<4xf64>
func.func @updated(%a: memref<4xf32>) {
  affine.for %i = 0 to 4 {
    %x = affine.load %a[%i] : memref<4xf32>
    %e = math.exp %x : f32
    affine.store %e, %a[%i] : memref<4xf32>
  }
  return
}
