// RUN: tw-opt %s --fold-views --canonicalize --split-input-file | FileCheck %s

// CHECK-LABEL: func.func @slice
// CHECK:         affine.load %arg0[%{{.*}} * 2 + symbol(%arg1), 3]
func.func @slice(%a: memref<?x8xf32>, %o: index, %b: memref<4xf32>) {
  %v = memref.subview %a[%o, 3] [4, 1] [2, 1] : memref<?x8xf32> to memref<4xf32, strided<[16], offset: ?>>
  affine.for %i = 0 to 4 {
    %x = affine.load %v[%i] : memref<4xf32, strided<[16], offset: ?>>
    affine.store %x, %b[%i] : memref<4xf32>
  }
  return
}

// -----

// CHECK-LABEL: func.func @reshapes
// CHECK:         %[[X:.*]] = affine.load %arg0[%[[I:.*]] * 4 + %[[J:.*]]]
// CHECK:         affine.store %[[X]], %arg1[0, %[[I]] floordiv 3, %[[I]] mod 3, %[[J]]]
func.func @reshapes(%a: memref<24xf32>, %b: memref<1x2x3x4xf32>) {
  %v = memref.expand_shape %a [[0, 1]] output_shape [6, 4] : memref<24xf32> into memref<6x4xf32>
  %w = memref.collapse_shape %b [[0, 1, 2], [3]] : memref<1x2x3x4xf32> into memref<6x4xf32>
  affine.for %i = 0 to 6 {
    affine.for %j = 0 to 4 {
      %x = affine.load %v[%i, %j] : memref<6x4xf32>
      affine.store %x, %w[%i, %j] : memref<6x4xf32>
    }
  }
  return
}

// -----

// A slice of a slice.
// CHECK-LABEL: func.func @chain
// CHECK:         affine.store %{{.*}}, %arg0[%{{.*}} + 5]
func.func @chain(%a: memref<16xf32>, %s: f32) {
  %v = memref.subview %a[2] [10] [1] : memref<16xf32> to memref<10xf32, strided<[1], offset: 2>>
  %w = memref.subview %v[3] [4] [1] : memref<10xf32, strided<[1], offset: 2>> to memref<4xf32, strided<[1], offset: 5>>
  affine.for %i = 0 to 4 {
    affine.store %s, %w[%i] : memref<4xf32, strided<[1], offset: 5>>
  }
  return
}
