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
