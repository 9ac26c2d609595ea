// RUN: tw-opt %s -share-arrays -split-input-file | FileCheck %s

// The exponentials take the place of the scores, which the maxima have been found of.
// CHECK-LABEL: func.func @exponentials
// CHECK: %[[S:.*]] = memref.alloc() : memref<32x256xf32>
// CHECK-NOT: memref.alloc() : memref<32x256xf32>
// CHECK: arith.mulf
// CHECK-NEXT: affine.store %{{.*}}, %[[S]][%{{.*}}, %{{.*}}]
// CHECK: arith.maximumf
// CHECK: affine.load %[[S]][%[[I:.*]], %[[J:.*]]]
// CHECK: math.exp
// CHECK-NEXT: affine.store %{{.*}}, %[[S]][%[[I]], %[[J]]]
// CHECK: affine.load %[[S]]
func.func @exponentials(%x: memref<32x256xf32>, %y: memref<32x256xf32>) attributes {tilewright.kernel} {
  %least = arith.constant 0xFF800000 : f32
  %m = memref.alloc() : memref<32xf32>
  %s = memref.alloc() : memref<32x256xf32>
  %e = memref.alloc() : memref<32x256xf32>
  affine.for %i = 0 to 32 {
    affine.for %j = 0 to 256 {
      %a = affine.load %x[%i, %j] : memref<32x256xf32>
      %b = arith.mulf %a, %a : f32
      affine.store %b, %s[%i, %j] : memref<32x256xf32>
    }
  }
  affine.for %i = 0 to 32 {
    affine.store %least, %m[%i] : memref<32xf32>
  }
  affine.for %i = 0 to 32 {
    affine.for %j = 0 to 256 {
      %a = affine.load %s[%i, %j] : memref<32x256xf32>
      %b = affine.load %m[%i] : memref<32xf32>
      %c = arith.maximumf %a, %b : f32
      affine.store %c, %m[%i] : memref<32xf32>
    }
  }
  affine.for %i = 0 to 32 {
    affine.for %j = 0 to 256 {
      %a = affine.load %s[%i, %j] : memref<32x256xf32>
      %b = affine.load %m[%i] : memref<32xf32>
      %c = arith.subf %a, %b : f32
      %d = math.exp %c : f32
      affine.store %d, %e[%i, %j] : memref<32x256xf32>
    }
  }
  affine.for %i = 0 to 32 {
    affine.for %j = 0 to 256 {
      %a = affine.load %e[%i, %j] : memref<32x256xf32>
      affine.store %a, %y[%i, %j] : memref<32x256xf32>
    }
  }
  return
}

// -----

// Read at another element, read again later, or by this nest alone (then it may disappear): each keeps its array.
// CHECK-LABEL: func.func @apart
// CHECK-COUNT-4: memref.alloc() : memref<64x64xf32>
func.func @apart(%x: memref<64x64xf32>, %y: memref<64x64xf32>) attributes {tilewright.kernel} {
  %a = memref.alloc() : memref<64x64xf32>
  %b = memref.alloc() : memref<64x64xf32>
  %c = memref.alloc() : memref<64x64xf32>
  %d = memref.alloc() : memref<64x64xf32>
  affine.for %i = 0 to 64 {
    affine.for %j = 0 to 64 {
      %0 = affine.load %x[%i, %j] : memref<64x64xf32>
      affine.store %0, %a[%i, %j] : memref<64x64xf32>
    }
  }
  affine.for %i = 0 to 64 {
    affine.for %j = 0 to 64 {
      %0 = affine.load %a[%i, %j] : memref<64x64xf32>
      affine.store %0, %b[%i, %j] : memref<64x64xf32>
    }
  }
  affine.for %i = 0 to 64 {
    affine.for %j = 0 to 64 {
      %0 = affine.load %a[%j, %i] : memref<64x64xf32>
      affine.store %0, %c[%i, %j] : memref<64x64xf32>
    }
  }
  affine.for %i = 0 to 64 {
    affine.for %j = 0 to 64 {
      %0 = affine.load %c[%i, %j] : memref<64x64xf32>
      %1 = affine.load %b[%i, %j] : memref<64x64xf32>
      %2 = arith.addf %0, %1 : f32
      affine.store %2, %d[%i, %j] : memref<64x64xf32>
    }
  }
  affine.for %i = 0 to 64 {
    affine.for %j = 0 to 64 {
      %0 = affine.load %d[%i, %j] : memref<64x64xf32>
      affine.store %0, %y[%i, %j] : memref<64x64xf32>
    }
  }
  return
}

// -----

// Sizes that are not known to be equal.
// CHECK-LABEL: func.func @dynamic
// CHECK-COUNT-2: memref.alloc(
func.func @dynamic(%x: memref<?xf32>, %y: memref<?xf32>, %n: index, %m: index, %r: memref<f32>) attributes {tilewright.kernel} {
  %a = memref.alloc(%n) : memref<?xf32>
  %b = memref.alloc(%m) : memref<?xf32>
  affine.for %i = 0 to %n {
    %0 = affine.load %x[%i] : memref<?xf32>
    affine.store %0, %a[%i] : memref<?xf32>
  }
  affine.for %i = 0 to %n {
    %0 = affine.load %a[%i] : memref<?xf32>
    affine.store %0, %r[] : memref<f32>
  }
  affine.for %i = 0 to %n {
    %0 = affine.load %a[%i] : memref<?xf32>
    affine.store %0, %b[%i] : memref<?xf32>
  }
  affine.for %i = 0 to %m {
    %0 = affine.load %b[%i] : memref<?xf32>
    affine.store %0, %y[%i] : memref<?xf32>
  }
  return
}
