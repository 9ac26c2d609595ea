// RUN: tw-opt %s --join-nests | FileCheck %s

module attributes {tilewright.target = "nvidia:H200"} {

// Two sums of columns, their starts and what follows from them: one nest, whose sums pass over the rows together.

// CHECK-LABEL: func.func private @columns
// CHECK:         affine.for %{{.*}} = 0 to 512 {
// CHECK:           affine.for %{{.*}} = 0 to 128 {
// CHECK:             arith.addf
// CHECK:             arith.addf
// CHECK:           }
// CHECK:           arith.truncf
// CHECK:         }
// CHECK-NOT:     affine.for
// CHECK:         return
func.func private @columns(%x: memref<128x512xf32>, %w: memref<128x512xf32>, %y: memref<512xf16>, %z: memref<512xf32>)
    attributes {tilewright.kernel} {
  %zero = arith.constant 0.0 : f32
  %s = memref.alloc() : memref<512xf32>
  affine.for %j = 0 to 512 {
    affine.store %zero, %s[%j] : memref<512xf32>
  }
  affine.for %i = 0 to 128 {
    affine.for %j = 0 to 512 {
      %0 = affine.load %x[%i, %j] : memref<128x512xf32>
      %1 = affine.load %s[%j] : memref<512xf32>
      %2 = arith.addf %1, %0 : f32
      affine.store %2, %s[%j] : memref<512xf32>
    }
  }
  affine.for %j = 0 to 512 {
    affine.store %zero, %z[%j] : memref<512xf32>
  }
  affine.for %i = 0 to 128 {
    affine.for %j = 0 to 512 {
      %0 = affine.load %w[%i, %j] : memref<128x512xf32>
      %1 = affine.load %z[%j] : memref<512xf32>
      %2 = arith.addf %1, %0 : f32
      affine.store %2, %z[%j] : memref<512xf32>
    }
  }
  affine.for %j = 0 to 512 {
    %0 = affine.load %s[%j] : memref<512xf32>
    %1 = arith.truncf %0 : f32 to f16
    affine.store %1, %y[%j] : memref<512xf16>
  }
  return
}

// The second nest reads what other iterations of the first one write.

// CHECK-LABEL: func.func private @shifted
// CHECK-COUNT-2: affine.for
func.func private @shifted(%x: memref<512xf32>, %y: memref<513xf32>, %z: memref<512xf32>) attributes {tilewright.kernel} {
  affine.for %j = 0 to 512 {
    %0 = affine.load %x[%j] : memref<512xf32>
    affine.store %0, %y[%j] : memref<513xf32>
  }
  affine.for %j = 0 to 512 {
    %0 = affine.load %y[%j + 1] : memref<513xf32>
    affine.store %0, %z[%j] : memref<512xf32>
  }
  return
}
}
