// Each nest of a kernel becomes a function of its own.
//
// RUN: tw-opt %s -split-kernels | FileCheck %s

// Constants, views and stack buffers of one nest go with it; arrays, sizes and computed numbers are passed.
// CHECK-LABEL: func.func private @kernel(
// CHECK-SAME: %[[A:.*]]: memref<4x8xf32>, %[[B:.*]]: memref<?xf32>)
// CHECK: %[[N:.*]] = memref.dim %[[B]]
// CHECK: %[[T:.*]] = memref.alloc() : memref<32xf32>
// CHECK-NEXT: %[[S:.*]] = memref.alloca() : memref<2xf32>
// CHECK-NEXT: call @kernel_nest_0(%[[A]], %[[T]]) : (memref<4x8xf32>, memref<32xf32>) -> ()
// CHECK-NEXT: %[[V:.*]] = memref.load %[[T]]
// CHECK-NEXT: call @kernel_nest_1(%[[N]], %[[V]], %[[B]], %[[S]])
// CHECK-NEXT: call @kernel_nest_2(%[[S]])
// CHECK-NEXT: return
func.func private @kernel(%a: memref<4x8xf32>, %b: memref<?xf32>) attributes {tilewright.kernel} {
  %c0 = arith.constant 0 : index
  %two = arith.constant 2.0 : f32
  %n = memref.dim %b, %c0 : memref<?xf32>
  %flat = memref.collapse_shape %a [[0, 1]] : memref<4x8xf32> into memref<32xf32>
  %t = memref.alloc() : memref<32xf32>
  %own = memref.alloca() : memref<f32>
  %shared = memref.alloca() : memref<2xf32>
  affine.for %i = 0 to 32 {
    %v = affine.load %flat[%i] : memref<32xf32>
    affine.store %v, %own[] : memref<f32>
    %w = affine.load %own[] : memref<f32>
    %r = arith.mulf %w, %two : f32
    affine.store %r, %t[%i] : memref<32xf32>
  }
  %v = memref.load %t[%c0] : memref<32xf32>
  affine.for %i = 0 to %n {
    affine.store %v, %b[%i] : memref<?xf32>
    affine.store %v, %shared[0] : memref<2xf32>
  }
  affine.for %i = 0 to 2 {
    affine.store %two, %shared[%i] : memref<2xf32>
  }
  return
}
// CHECK: func.func private @kernel_nest_0(%[[A:.*]]: memref<4x8xf32>, %[[T:.*]]: memref<32xf32>) attributes {tilewright.kernel, tilewright.nest}
// CHECK-DAG: memref.collapse_shape %[[A]]
// CHECK-DAG: memref.alloca() : memref<f32>
// CHECK-DAG: arith.constant 2.0
// CHECK: affine.for %{{.*}} = 0 to 32
// CHECK: func.func private @kernel_nest_1(%[[N:.*]]: index, %{{.*}}: f32, %{{.*}}: memref<?xf32>, %{{.*}}: memref<2xf32>)
// CHECK: affine.for %{{.*}} = 0 to %[[N]]
// CHECK: func.func private @kernel_nest_2(

// A kernel of one nest, and functions that are no kernels, stay.
// CHECK-LABEL: func.func private @single
// CHECK: affine.for
func.func private @single(%a: memref<4xf32>) attributes {tilewright.kernel} {
  %c = arith.constant 2.0 : f32
  affine.for %i = 0 to 4 {
    affine.store %c, %a[%i] : memref<4xf32>
  }
  return
}
// CHECK-LABEL: func.func private @opaque
// CHECK-COUNT-2: affine.for
func.func private @opaque(%a: memref<4xf32>) attributes {tilewright.opaque} {
  %c = arith.constant 2.0 : f32
  affine.for %i = 0 to 4 {
    affine.store %c, %a[%i] : memref<4xf32>
  }
  affine.for %i = 0 to 4 {
    affine.store %c, %a[%i] : memref<4xf32>
  }
  return
}

// A fragment of a unit cannot be passed: the nest that uses it stays.
!row = !tile.fragment<1x8xf32, #tile.layout<elements = [0, 1, 0, 2, 0, 4]>>
// CHECK-LABEL: func.func private @fragment
// CHECK-NOT: call @fragment_nest_0
// CHECK: affine.for
// CHECK: call @fragment_nest_1
func.func private @fragment(%a: memref<16x16xf32>) attributes {tilewright.kernel} {
  %c = arith.constant 2.0 : f32
  %x = tile.load %a[0, 0] elements affine_map<(r, c) -> (r, c)> : memref<16x16xf32> -> !row
  affine.for %i = 0 to 1 {
    tile.store %x, %a[%i, 0] elements affine_map<(r, c) -> (r, c)> : !row, memref<16x16xf32>
  }
  affine.for %i = 0 to 4 {
    affine.store %c, %a[%i, 0] : memref<16x16xf32>
  }
  return
}
