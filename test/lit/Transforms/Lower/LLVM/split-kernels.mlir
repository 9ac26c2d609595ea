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

// A fragment of a unit cannot be passed: what it links is one function, a fragment of zeros is made where it is used, and
// arrays that are made on the way stay outside.
!row = !tile.fragment<1x8xf32, #tile.layout<elements = [0, 1, 0, 2, 0, 4]>>
// CHECK-LABEL: func.func private @fragment(
// CHECK-SAME: %[[A:.*]]: memref<16x16xf32>)
// CHECK-NEXT: %[[T:.*]] = memref.alloc() : memref<16x16xf32>
// CHECK-NEXT: call @fragment_nest_0(%[[A]])
// CHECK-NEXT: call @fragment_nest_1(%[[T]], %[[A]])
// CHECK-NEXT: return
func.func private @fragment(%a: memref<16x16xf32>) attributes {tilewright.kernel} {
  %zero = tile.zero : !row
  %x = tile.load %a[0, 0] elements affine_map<(r, c) -> (r, c)> : memref<16x16xf32> -> !row
  %t = memref.alloc() : memref<16x16xf32>
  %y = affine.for %i = 0 to 4 iter_args(%from = %zero) -> (!row) {
    %sum = tile.map(%p = %from, %q = %x) : (!row, !row) -> !row {
      %r = arith.addf %p, %q : f32
      tile.yield %r : f32
    }
    affine.yield %sum : !row
  }
  tile.store %y, %a[1, 0] elements affine_map<(r, c) -> (r, c)> : !row, memref<16x16xf32>
  affine.for %i = 0 to 4 {
    tile.store %zero, %t[%i, 0] elements affine_map<(r, c) -> (r, c)> : !row, memref<16x16xf32>
    tile.store %zero, %a[%i, 0] elements affine_map<(r, c) -> (r, c)> : !row, memref<16x16xf32>
  }
  return
}
// CHECK: func.func private @fragment_nest_0(%[[A:.*]]: memref<16x16xf32>) attributes {tilewright.kernel, tilewright.nest}
// CHECK: %[[ZERO:.*]] = tile.zero
// CHECK: %[[X:.*]] = tile.load %[[A]]
// CHECK: %[[Y:.*]] = affine.for {{.*}} iter_args(%{{.*}} = %[[ZERO]])
// CHECK: tile.store %[[Y]], %[[A]]
// CHECK: func.func private @fragment_nest_1(%{{.*}}: memref<16x16xf32>, %{{.*}}: memref<16x16xf32>)
// CHECK: %[[ZERO:.*]] = tile.zero
// CHECK: affine.for

// A chain that another function stands in stays.
// CHECK-LABEL: func.func private @interrupted
// CHECK-NEXT: tile.load
// CHECK-NEXT: call @single
// CHECK-NEXT: tile.store
// CHECK: call @interrupted_nest_0
// CHECK-NEXT: call @interrupted_nest_1
func.func private @interrupted(%a: memref<16x16xf32>, %b: memref<4xf32>) attributes {tilewright.kernel} {
  %c = arith.constant 2.0 : f32
  %x = tile.load %a[0, 0] elements affine_map<(r, c) -> (r, c)> : memref<16x16xf32> -> !row
  func.call @single(%b) : (memref<4xf32>) -> ()
  tile.store %x, %a[1, 0] elements affine_map<(r, c) -> (r, c)> : !row, memref<16x16xf32>
  affine.for %i = 0 to 4 {
    affine.store %c, %a[%i, 0] : memref<16x16xf32>
  }
  affine.for %i = 0 to 4 {
    affine.store %c, %b[%i] : memref<4xf32>
  }
  return
}
