// Arrays of vectors are arrays of numbers with more dimensions.
//
// RUN: tw-opt %s -split-input-file -verify-diagnostics -flatten-vector-elements | FileCheck %s

// CHECK-LABEL: func.func @elements(
// CHECK: %[[M:.*]] = memref.alloc(%{{.*}}) : memref<?x2x4xf32>
// CHECK: vector.store %{{.*}}, %[[M]][%{{.*}}, %[[Z:.*]], %[[Z]]] : memref<?x2x4xf32>, vector<2x4xf32>
// CHECK: %[[V:.*]] = affine.vector_load %[[M]][%{{.*}} * 2 + 1, 0, 0] : memref<?x2x4xf32>, vector<2x4xf32>
// CHECK: affine.vector_store %[[V]], %[[M]][%{{.*}}, 0, 0] : memref<?x2x4xf32>, vector<2x4xf32>
// CHECK: vector.load %[[M]][%{{.*}}, %{{.*}}, %{{.*}}] : memref<?x2x4xf32>, vector<2x4xf32>
// CHECK: memref.dim %[[M]], %{{.*}} : memref<?x2x4xf32>
func.func @elements(%n: index, %v: vector<2x4xf32>) -> vector<2x4xf32> {
  %c0 = arith.constant 0 : index
  %m = memref.alloc(%n) : memref<?xvector<2x4xf32>>
  memref.store %v, %m[%c0] : memref<?xvector<2x4xf32>>
  affine.for %i = 0 to 2 {
    %x = affine.load %m[2 * %i + 1] : memref<?xvector<2x4xf32>>
    affine.store %x, %m[%i] : memref<?xvector<2x4xf32>>
  }
  %w = memref.load %m[%c0] : memref<?xvector<2x4xf32>>
  %d = memref.dim %m, %c0 : memref<?xvector<2x4xf32>>
  memref.dealloc %m : memref<?xvector<2x4xf32>>
  return %w : vector<2x4xf32>
}

// -----

// CHECK: memref.global "private" @kept : memref<8x4xf32> = uninitialized
memref.global "private" @kept : memref<8xvector<4xf32>> = uninitialized
// CHECK-LABEL: func.func private @inner(
// CHECK-SAME: memref<4x4xf32, strided<[8, 1], offset: 4>>) -> memref<4x4xf32, strided<[8, 1], offset: 4>>
func.func private @inner(%a: memref<4xvector<4xf32>, strided<[2], offset: 1>>) -> memref<4xvector<4xf32>, strided<[2], offset: 1>> {
  return %a : memref<4xvector<4xf32>, strided<[2], offset: 1>>
}
// CHECK-LABEL: func.func @views(
// CHECK: %[[G:.*]] = memref.get_global @kept : memref<8x4xf32>
// CHECK: memref.subview %[[G]][1, 0] [4, 4] [2, 1] : memref<8x4xf32> to memref<4x4xf32, strided<[8, 1], offset: 4>>
// CHECK: scf.if %{{.*}} -> (memref<4x4xf32, strided<[8, 1], offset: 4>>)
// CHECK: memref.expand_shape %[[G]] {{\[}}[0, 1], [2]] output_shape [2, 4, 4] : memref<8x4xf32> into memref<2x4x4xf32>
// CHECK: memref.collapse_shape %{{.*}} {{\[}}[0, 1], [2]] : memref<2x4x4xf32> into memref<8x4xf32>
// CHECK: memref.reinterpret_cast %{{.*}} to offset: [8], sizes: [3, 4], strides: [4, 1] : memref<8x4xf32> to memref<3x4xf32, strided<[4, 1], offset: 8>>
// CHECK: memref.view %{{.*}} : memref<64xi8> to memref<4x4xf32>
func.func @views(%p: i1, %bytes: memref<64xi8>) {
  %c0 = arith.constant 0 : index
  %g = memref.get_global @kept : memref<8xvector<4xf32>>
  %s = memref.subview %g[1] [4] [2] : memref<8xvector<4xf32>> to memref<4xvector<4xf32>, strided<[2], offset: 1>>
  %t = scf.if %p -> memref<4xvector<4xf32>, strided<[2], offset: 1>> {
    scf.yield %s : memref<4xvector<4xf32>, strided<[2], offset: 1>>
  } else {
    %u = func.call @inner(%s) : (memref<4xvector<4xf32>, strided<[2], offset: 1>>) -> memref<4xvector<4xf32>, strided<[2], offset: 1>>
    scf.yield %u : memref<4xvector<4xf32>, strided<[2], offset: 1>>
  }
  %e = memref.expand_shape %g [[0, 1]] output_shape [2, 4] : memref<8xvector<4xf32>> into memref<2x4xvector<4xf32>>
  %c = memref.collapse_shape %e [[0, 1]] : memref<2x4xvector<4xf32>> into memref<8xvector<4xf32>>
  %r = memref.reinterpret_cast %c to offset: [2], sizes: [3], strides: [1] : memref<8xvector<4xf32>> to memref<3xvector<4xf32>, strided<[1], offset: 2>>
  %v = memref.view %bytes[%c0][] : memref<64xi8> to memref<4xvector<4xf32>>
  return
}

// -----

// An array of one vector is the array of its numbers.
// CHECK-LABEL: func.func @whole(
// CHECK-NOT: vector.type_cast
// CHECK: vector.load %arg0[%{{.*}}, %{{.*}}] : memref<4x3xf32>, vector<4x3xf32>
func.func @whole(%a: memref<4x3xf32>) -> vector<4x3xf32> {
  %w = vector.type_cast %a : memref<4x3xf32> to memref<vector<4x3xf32>>
  %v = memref.load %w[] : memref<vector<4x3xf32>>
  return %v : vector<4x3xf32>
}

// -----

func.func @transfer(%pad: vector<4xf32>) -> vector<1x4xf32> {
  %c0 = arith.constant 0 : index
  %m = memref.alloc() : memref<8xvector<4xf32>>
  // expected-error @+1 {{unsupported operation: 'vector.transfer_read' of an array of vectors; make it an array of numbers, with vector.load and vector.store}}
  %v = vector.transfer_read %m[%c0], %pad : memref<8xvector<4xf32>>, vector<1x4xf32>
  return %v : vector<1x4xf32>
}

// -----

func.func @scalable() {
  // expected-error @+1 {{unsupported type: 'memref<8xvector<[4]xf32>>' has a layout that is no strides; make it an array of numbers}}
  %m = memref.alloc() : memref<8xvector<[4]xf32>>
  return
}
