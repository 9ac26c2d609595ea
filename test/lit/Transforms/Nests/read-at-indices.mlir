// RUN: tw-opt %s --read-at-indices | FileCheck %s

// CHECK-LABEL: func.func private @chosen
// CHECK:         affine.for %[[I:.*]] = 0 to 8 {
// CHECK-NOT:       affine.for
// CHECK:           %[[T:.*]] = affine.load %arg1[%[[I]]]
// CHECK:           %[[K:.*]] = arith.index_cast %[[T]] : i64 to index
// CHECK:           %[[AT:.*]] = arith.maxsi
// CHECK:           %[[X:.*]] = memref.load %arg0[%[[I]], %[[AT]]]
// CHECK:           %[[IS:.*]] = arith.cmpi eq
// CHECK:           arith.select %[[IS]], %[[X]], %{{.*}} : f32
// CHECK:           affine.store
func.func private @chosen(%x: memref<8x512xf32>, %t: memref<8xi64>, %y: memref<8xf32>) attributes {tilewright.kernel} {
  %zero = arith.constant 0.0 : f32
  affine.for %i = 0 to 8 {
    affine.for %j = 0 to 512 {
      %0 = affine.load %x[%i, %j] : memref<8x512xf32>
      %1 = affine.load %t[%i] : memref<8xi64>
      %2 = affine.load %y[%i] : memref<8xf32>
      %3 = arith.index_cast %j : index to i64
      %4 = arith.cmpi eq, %3, %1 : i64
      %5 = arith.select %4, %0, %zero : f32
      %6 = arith.addf %2, %5 : f32
      affine.store %6, %y[%i] : memref<8xf32>
    }
  }
  return
}

// The other side of the choice is no zero: every term counts.

// CHECK-LABEL: func.func private @other
// CHECK:         affine.for %{{.*}} = 0 to 512
// CHECK-NOT:     memref.load
func.func private @other(%x: memref<8x512xf32>, %t: memref<8xi64>, %y: memref<8xf32>) attributes {tilewright.kernel} {
  %one = arith.constant 1.0 : f32
  affine.for %i = 0 to 8 {
    affine.for %j = 0 to 512 {
      %0 = affine.load %x[%i, %j] : memref<8x512xf32>
      %1 = affine.load %t[%i] : memref<8xi64>
      %2 = affine.load %y[%i] : memref<8xf32>
      %3 = arith.index_cast %j : index to i64
      %4 = arith.cmpi eq, %3, %1 : i64
      %5 = arith.select %4, %0, %one : f32
      %6 = arith.addf %2, %5 : f32
      affine.store %6, %y[%i] : memref<8xf32>
    }
  }
  return
}
