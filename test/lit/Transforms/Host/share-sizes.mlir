// Sizes of one name in the caller's shapes become one value in the kernel, if there is but one caller.
//
// RUN: tw-opt %s -split-input-file -share-sizes | FileCheck %s

// CHECK-LABEL: func.func private @kernel
// CHECK-SAME: (%[[A:.*]]: memref<?x4xf32>, %[[B:.*]]: memref<?x?xf32>, %[[N:.*]]: index)
// CHECK: %[[K:.*]] = memref.dim %[[B]], %c1
// CHECK: affine.for %{{.*}} = 0 to %[[N]]
// CHECK: affine.for %{{.*}} = 0 to %[[N]]
// CHECK: affine.for %{{.*}} = 0 to %[[N]]
// CHECK: affine.for %{{.*}} = 0 to %[[K]]
func.func private @kernel(%a: memref<?x4xf32>, %b: memref<?x?xf32>, %n: index) attributes {tilewright.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %x = arith.constant 1.0 : f32
  %m = memref.dim %a, %c0 : memref<?x4xf32>
  %l = memref.dim %b, %c0 : memref<?x?xf32>
  %k = memref.dim %b, %c1 : memref<?x?xf32>
  affine.for %i = 0 to %m {
    affine.store %x, %a[%i, 0] : memref<?x4xf32>
  }
  affine.for %i = 0 to %l {
    affine.store %x, %b[%i, 0] : memref<?x?xf32>
  }
  affine.for %i = 0 to %n {
    affine.store %x, %a[%i, 1] : memref<?x4xf32>
  }
  affine.for %i = 0 to %k {
    affine.store %x, %b[0, %i] : memref<?x?xf32>
  }
  return
}
func.func @caller(%a: memref<?x4xf32>, %b: memref<?x?xf32>) attributes {
    tilewright.shapes = [affine_map<()[s0, s1] -> (s0, 4)>, affine_map<()[s0, s1] -> (s0, s1)>]} {
  %c0 = arith.constant 0 : index
  %n = memref.dim %b, %c0 : memref<?x?xf32>
  call @kernel(%a, %b, %n) : (memref<?x4xf32>, memref<?x?xf32>, index) -> ()
  return
}

// -----

// Two callers: what is equal in one may differ in the other.
// CHECK-LABEL: func.func private @twice
// CHECK: %[[M:.*]] = memref.dim %arg0
// CHECK: %[[N:.*]] = memref.dim %arg1
// CHECK: affine.for %{{.*}} = 0 to %[[M]]
// CHECK: affine.for %{{.*}} = 0 to %[[N]]
func.func private @twice(%a: memref<?xf32>, %b: memref<?xf32>) attributes {tilewright.kernel} {
  %c0 = arith.constant 0 : index
  %x = arith.constant 1.0 : f32
  %m = memref.dim %a, %c0 : memref<?xf32>
  %n = memref.dim %b, %c0 : memref<?xf32>
  affine.for %i = 0 to %m {
    affine.store %x, %a[%i] : memref<?xf32>
  }
  affine.for %i = 0 to %n {
    affine.store %x, %b[%i] : memref<?xf32>
  }
  return
}
func.func @first(%a: memref<?xf32>, %b: memref<?xf32>) attributes {
    tilewright.shapes = [affine_map<()[s0] -> (s0)>, affine_map<()[s0] -> (s0)>]} {
  call @twice(%a, %b) : (memref<?xf32>, memref<?xf32>) -> ()
  call @twice(%a, %b) : (memref<?xf32>, memref<?xf32>) -> ()
  return
}
