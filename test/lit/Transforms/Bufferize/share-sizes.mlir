// Sizes of one name in the caller's shapes, or of one value, become one value in the kernel.
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

// Two calls, equal in the first only: the sizes stay apart.
// CHECK-LABEL: func.func private @apart
// CHECK: %[[M:.*]] = memref.dim %arg0
// CHECK: %[[N:.*]] = memref.dim %arg1
// CHECK: affine.for %{{.*}} = 0 to %[[M]]
// CHECK: affine.for %{{.*}} = 0 to %[[N]]
func.func private @apart(%a: memref<?xf32>, %b: memref<?xf32>) attributes {tilewright.kernel} {
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
// In both calls: one size.
// CHECK-LABEL: func.func private @together
// CHECK: %[[M:.*]] = memref.dim %arg0
// CHECK-NOT: memref.dim
// CHECK: affine.for %{{.*}} = 0 to %[[M]]
// CHECK: affine.for %{{.*}} = 0 to %[[M]]
func.func private @together(%a: memref<?xf32>, %b: memref<?xf32>) attributes {tilewright.kernel} {
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
func.func @callers(%a: memref<?xf32>, %b: memref<?xf32>, %c: memref<?xf32>) attributes {
    tilewright.shapes = [affine_map<()[s0, s1] -> (s0)>, affine_map<()[s0, s1] -> (s0)>,
                         affine_map<()[s0, s1] -> (s1)>]} {
  call @apart(%a, %b) : (memref<?xf32>, memref<?xf32>) -> ()
  call @apart(%a, %c) : (memref<?xf32>, memref<?xf32>) -> ()
  call @together(%a, %b) : (memref<?xf32>, memref<?xf32>) -> ()
  call @together(%c, %c) : (memref<?xf32>, memref<?xf32>) -> ()
  return
}

// -----

// The size of an allocation is the value that it was made with, known or not.
// CHECK-LABEL: func.func private @allocated
// CHECK-SAME: (%{{.*}}: memref<?xf32>, %[[N:.*]]: index)
// CHECK-NOT: memref.dim
// CHECK: affine.for %{{.*}} = 0 to %[[N]]
func.func private @allocated(%a: memref<?xf32>, %n: index) attributes {tilewright.kernel} {
  %c0 = arith.constant 0 : index
  %x = arith.constant 1.0 : f32
  %m = memref.dim %a, %c0 : memref<?xf32>
  affine.for %i = 0 to %m {
    affine.store %x, %a[%i] : memref<?xf32>
  }
  return
}
func.func @allocates(%sizes: memref<1xindex>) attributes {tilewright.shapes = [affine_map<() -> (1)>]} {
  %c0 = arith.constant 0 : index
  %n = memref.load %sizes[%c0] : memref<1xindex>
  %a = memref.alloc(%n) : memref<?xf32>
  call @allocated(%a, %n) : (memref<?xf32>, index) -> ()
  memref.dealloc %a : memref<?xf32>
  return
}

// -----

// A size that the check at the beginning of the call makes a constant.
// CHECK-LABEL: func.func private @tied
// CHECK: %[[C:.*]] = arith.constant 768 : index
// CHECK: affine.for %{{.*}} = 0 to %[[C]]
func.func private @tied(%a: memref<?xf32>) attributes {tilewright.kernel} {
  %c0 = arith.constant 0 : index
  %x = arith.constant 1.0 : f32
  %m = memref.dim %a, %c0 : memref<?xf32>
  affine.for %i = 0 to %m {
    affine.store %x, %a[%i] : memref<?xf32>
  }
  return
}
func.func @ties(%a: memref<?xf32>) attributes {
    tilewright.constraints = affine_set<()[s0] : (s0 - 768 == 0)>,
    tilewright.shapes = [affine_map<()[s0] -> (s0)>]} {
  call @tied(%a) : (memref<?xf32>) -> ()
  return
}

// -----

// Rows of a batch, of a view and of an array of their own, are as many; and so are those of a view in the kernel.
// CHECK-LABEL: func.func private @rows
// CHECK-SAME: (%[[A:.*]]: memref<?xf32>, %{{.*}}: memref<?xf32>, %[[N:.*]]: index)
// CHECK-COUNT-3: affine.for %{{.*}} = 0 to %[[N]]
func.func private @rows(%a: memref<?xf32>, %b: memref<?xf32>, %n: index) attributes {tilewright.kernel} {
  %c0 = arith.constant 0 : index
  %x = arith.constant 1.0 : f32
  %m = memref.dim %a, %c0 : memref<?xf32>
  %v = memref.expand_shape %b [[0, 1]] output_shape [%n, 1] : memref<?xf32> into memref<?x1xf32>
  %k = memref.dim %v, %c0 : memref<?x1xf32>
  affine.for %i = 0 to %m {
    affine.store %x, %a[%i] : memref<?xf32>
  }
  affine.for %i = 0 to %n {
    affine.store %x, %b[%i] : memref<?xf32>
  }
  affine.for %i = 0 to %k {
    affine.store %x, %b[%i] : memref<?xf32>
  }
  return
}
func.func @batch(%a: memref<?x?xf32>) attributes {tilewright.shapes = [affine_map<()[s0, s1] -> (s0, s1)>]} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %b = memref.dim %a, %c0 : memref<?x?xf32>
  %t = memref.dim %a, %c1 : memref<?x?xf32>
  %n = arith.muli %t, %b : index
  %rows = memref.collapse_shape %a [[0, 1]] : memref<?x?xf32> into memref<?xf32>
  %own = memref.alloc(%n) : memref<?xf32>
  call @rows(%rows, %own, %n) : (memref<?xf32>, memref<?xf32>, index) -> ()
  memref.dealloc %own : memref<?xf32>
  return
}

// -----

// The first size of a view with many dimensions, some of which are several of the array's.
// CHECK-LABEL: func.func private @channels
// CHECK: %[[N:.*]] = memref.dim
// CHECK-NOT: memref.dim
// CHECK-COUNT-2: affine.for %{{.*}} = 0 to %[[N]]
func.func private @channels(%a: memref<?x6x1x1x8xf32>, %b: memref<?xf32>) attributes {tilewright.kernel} {
  %c0 = arith.constant 0 : index
  %x = arith.constant 1.0 : f32
  %n = memref.dim %a, %c0 : memref<?x6x1x1x8xf32>
  affine.for %i = 0 to %n {
    affine.store %x, %a[%i, 0, 0, 0, 0] : memref<?x6x1x1x8xf32>
  }
  %m = memref.dim %b, %c0 : memref<?xf32>
  affine.for %i = 0 to %m {
    affine.store %x, %b[%i] : memref<?xf32>
  }
  return
}
func.func @groups(%a: memref<?x2x3x1x1x8xf32>, %b: memref<?xf32>) attributes {
    tilewright.shapes = [affine_map<()[s0] -> (s0, 2, 3, 1, 1, 8)>, affine_map<()[s0] -> (s0)>]} {
  %v = memref.collapse_shape %a [[0], [1, 2], [3], [4], [5]] : memref<?x2x3x1x1x8xf32> into memref<?x6x1x1x8xf32>
  call @channels(%v, %b) : (memref<?x6x1x1x8xf32>, memref<?xf32>) -> ()
  return
}
