// RUN: tw-opt %s --normalize-nests --split-input-file | FileCheck %s

// CHECK-LABEL: func.func private @bounds
// CHECK:         affine.for %[[I:.*]] = 0 to 5 {
// CHECK:           affine.apply
func.func private @bounds(%a: memref<16xf32>, %s: f32) attributes {tilewright.kernel} {
  affine.for %i = 2 to 12 step 2 {
    affine.store %s, %a[%i] : memref<16xf32>
  }
  return
}

// -----

// A statement without loops gets one; allocations go first.
// CHECK-LABEL: func.func private @scalar
// CHECK:         memref.alloc
// CHECK-NEXT:    affine.for %{{.*}} = 0 to 1 {
// CHECK-NEXT:      affine.load
// CHECK-NEXT:      math.exp
// CHECK-NEXT:      affine.store
// CHECK-NEXT:    }
// CHECK-NEXT:    affine.for %{{.*}} = 0 to 1 {
func.func private @scalar(%a: memref<f32>, %b: memref<f32>) attributes {tilewright.kernel} {
  %x = affine.load %a[] : memref<f32>
  %y = math.exp %x : f32
  %t = memref.alloc() : memref<f32>
  affine.store %y, %t[] : memref<f32>
  %z = affine.load %t[] : memref<f32>
  affine.store %z, %b[] : memref<f32>
  return
}

// -----

// Loops of one iteration in others are none: each row has one element.
// CHECK-LABEL: func.func private @single_iterations
// CHECK:         affine.for %[[I:.*]] = 0 to 8 {
// CHECK-NEXT:      affine.load %{{.*}}[%[[I]], %c0]
// CHECK-NEXT:      affine.store %{{.*}}[%[[I]], %c0]
func.func private @single_iterations(%a: memref<8x1xf32>, %b: memref<8x1xf32>) attributes {tilewright.kernel} {
  affine.for %i = 0 to 8 {
    affine.for %j = 0 to 1 {
      %x = affine.load %a[%i, %j] : memref<8x1xf32>
      affine.store %x, %b[%i, %j] : memref<8x1xf32>
    }
  }
  return
}

// -----

// Not beside a product with one row: what its sums begin with has the same loops.
// CHECK-LABEL: func.func private @one_row
// CHECK:         affine.for %{{.*}} = 0 to 8 {
// CHECK-NEXT:      affine.for %{{.*}} = 0 to 1 {
// CHECK-NEXT:        affine.store
func.func private @one_row(%a: memref<1x4xf32>, %b: memref<4x8xf32>, %c: memref<8x1xf32>) attributes {tilewright.kernel} {
  %z = arith.constant 0.0 : f32
  affine.for %j = 0 to 8 {
    affine.for %i = 0 to 1 {
      affine.store %z, %c[%j, %i] : memref<8x1xf32>
    }
  }
  affine.for %i = 0 to 1 {
    affine.for %j = 0 to 8 {
      affine.for %k = 0 to 4 {
        %x = affine.load %a[%i, %k] : memref<1x4xf32>
        %y = affine.load %b[%k, %j] : memref<4x8xf32>
        %o = affine.load %c[%j, %i] : memref<8x1xf32>
        %p = arith.mulf %x, %y : f32
        %s = arith.addf %o, %p : f32
        affine.store %s, %c[%j, %i] : memref<8x1xf32>
      }
    }
  }
  return
}
