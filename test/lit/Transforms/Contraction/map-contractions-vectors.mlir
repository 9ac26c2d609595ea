// Products that no unit helps: vectors of the plain nest compute them (vectorize-nests).
//
// RUN: tw-opt %s -map-contractions -verify-diagnostics | FileCheck %s

// CHECK-LABEL: func.func private @rows
// CHECK-NOT:     tile.mma
module attributes {tilewright.target = "cpu:zen4"} {
  func.func private @rows(%a: memref<64x64xf32>, %x: memref<64xf32>, %y: memref<64xf32>) attributes {tilewright.kernel} {
    // expected-remark@+1 {{one vector times a matrix that lies along the summed dimension is left to vectors of the nest}}
    affine.for %i = 0 to 64 {
      affine.for %k = 0 to 64 {
        %0 = affine.load %a[%i, %k] : memref<64x64xf32>
        %1 = affine.load %x[%k] : memref<64xf32>
        %2 = affine.load %y[%i] : memref<64xf32>
        %3 = arith.mulf %0, %1 : f32
        %4 = arith.addf %2, %3 : f32
        affine.store %4, %y[%i] : memref<64xf32>
      }
    }
    return
  }
}
