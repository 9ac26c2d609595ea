// RUN: tw-opt %s -split-input-file -fix-sums | FileCheck %s

// 16 partial sums of 40 elements of each row: two whole steps, 8 elements that are left, and pairs of halves.
// CHECK-LABEL: func.func @rows
// CHECK: %[[P:.*]] = memref.alloc() {{.*}} : memref<4x16xf32>
// CHECK: affine.for %[[I0:.*]] = 0 to 4 {
// CHECK-NEXT: affine.for %[[L0:.*]] = 0 to 16 {
// CHECK-NEXT: affine.store %{{.*}}, %[[P]][%[[I0]], %[[L0]]]
// CHECK: affine.for %[[I:.*]] = 0 to 4 {
// CHECK-NEXT: affine.for %[[T:.*]] = 0 to 2 {
// CHECK-NEXT: affine.for %[[L:.*]] = 0 to 16 {
// CHECK-NEXT: %[[J:.*]] = affine.apply #{{.*}}(%[[L]], %[[T]])
// CHECK-NEXT: %[[A:.*]] = affine.load %[[P]][%[[I]], %[[L]]]
// CHECK-NEXT: %[[B:.*]] = affine.load %arg0[%[[I]], %[[J]]]
// CHECK-NEXT: %[[S:.*]] = arith.addf %[[A]], %[[B]]
// CHECK-NEXT: affine.store %[[S]], %[[P]][%[[I]], %[[L]]]
// CHECK: affine.for %[[K:.*]] = 0 to 4 {
// CHECK-NEXT: affine.for %[[R:.*]] = 0 to 8 {
// CHECK-NEXT: affine.apply #{{.*}}(%[[R]])
// CHECK: affine.for %[[E:.*]] = 0 to 4 {
// CHECK-NEXT: %[[P0:.*]] = affine.load %[[P]][%[[E]], 0]
// CHECK: %[[P8:.*]] = affine.load %[[P]][%[[E]], 8]
// CHECK: arith.addf %[[P0]], %[[P8]]
// CHECK-COUNT-14: arith.addf
// CHECK: %[[BEFORE:.*]] = affine.load %arg1[%[[E]]]
// CHECK-NEXT: arith.addf %[[BEFORE]]
// CHECK-NEXT: affine.store %{{.*}}, %arg1[%[[E]]]
module attributes {tilewright.fp = "reproducible"} {
func.func @rows(%x: memref<4x40xf32>, %o: memref<4xf32>) attributes {tilewright.kernel} {
  affine.for %i = 0 to 4 {
    affine.for %j = 0 to 40 {
      %a = affine.load %o[%i] : memref<4xf32>
      %b = affine.load %x[%i, %j] : memref<4x40xf32>
      %c = arith.addf %a, %b : f32
      affine.store %c, %o[%i] : memref<4xf32>
    }
  }
  return
}
}

// -----

// A product of matrices stays in order, and its products are fused; a product with a vector runs along rows.
// CHECK-LABEL: func.func @products
// CHECK: affine.for
// CHECK-NEXT: affine.for
// CHECK-NEXT: affine.for %{{.*}} = 0 to 64 {
// CHECK: %[[S:.*]] = affine.load %arg2
// CHECK: math.fma %{{.*}}, %{{.*}}, %[[S]] : f32
// CHECK-NOT: arith.mulf
// CHECK: affine.for %{{.*}} = 0 to 4 {
// CHECK-NEXT: affine.for %{{.*}} = 0 to 16 {
// CHECK-NEXT: affine.store
// CHECK: affine.for %{{.*}} = 0 to 4 {
// CHECK-NEXT: affine.for %{{.*}} = 0 to 4 {
// CHECK-NEXT: affine.for %{{.*}} = 0 to 16 {
// CHECK: math.fma
module attributes {tilewright.fp = "reproducible"} {
func.func @products(%x: memref<4x64xf32>, %w: memref<64x8xf32>, %y: memref<4x8xf32>, %v: memref<64xf32>, %o: memref<4xf32>) attributes {tilewright.kernel} {
  affine.for %i = 0 to 4 {
    affine.for %n = 0 to 8 {
      affine.for %k = 0 to 64 {
        %a = affine.load %x[%i, %k] : memref<4x64xf32>
        %b = affine.load %w[%k, %n] : memref<64x8xf32>
        %s = affine.load %y[%i, %n] : memref<4x8xf32>
        %p = arith.mulf %a, %b : f32
        %c = arith.addf %s, %p : f32
        affine.store %c, %y[%i, %n] : memref<4x8xf32>
      }
    }
  }
  affine.for %i = 0 to 4 {
    affine.for %k = 0 to 64 {
      %a = affine.load %x[%i, %k] : memref<4x64xf32>
      %b = affine.load %v[%k] : memref<64xf32>
      %s = affine.load %o[%i] : memref<4xf32>
      %p = arith.mulf %a, %b : f32
      %c = arith.addf %p, %s : f32
      affine.store %c, %o[%i] : memref<4xf32>
    }
  }
  return
}
}

// -----

// Maxima have no order; sums down columns are in order already; other contracts leave all as it is.
// CHECK-LABEL: func.func @others
// CHECK-NOT: memref.alloc
// CHECK: return
module attributes {tilewright.fp = "reproducible"} {
func.func @others(%x: memref<40x40xf32>, %o: memref<40xf32>, %m: memref<40xf32>) attributes {tilewright.kernel} {
  affine.for %i = 0 to 40 {
    affine.for %j = 0 to 40 {
      %a = affine.load %m[%i] : memref<40xf32>
      %b = affine.load %x[%i, %j] : memref<40x40xf32>
      %c = arith.maximumf %a, %b : f32
      affine.store %c, %m[%i] : memref<40xf32>
    }
  }
  affine.for %i = 0 to 40 {
    affine.for %j = 0 to 40 {
      %a = affine.load %o[%i] : memref<40xf32>
      %b = affine.load %x[%j, %i] : memref<40x40xf32>
      %c = arith.addf %a, %b : f32
      affine.store %c, %o[%i] : memref<40xf32>
    }
  }
  return
}
}

// -----

// CHECK-LABEL: func.func @strict
// CHECK-NOT: memref.alloc
// CHECK: return
module attributes {tilewright.fp = "strict"} {
func.func @strict(%x: memref<4x40xf32>, %o: memref<4xf32>) attributes {tilewright.kernel} {
  affine.for %i = 0 to 4 {
    affine.for %j = 0 to 40 {
      %a = affine.load %o[%i] : memref<4xf32>
      %b = affine.load %x[%i, %j] : memref<4x40xf32>
      %c = arith.addf %a, %b : f32
      affine.store %c, %o[%i] : memref<4xf32>
    }
  }
  return
}
}
