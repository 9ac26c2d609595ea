// RUN: env TILEWRIGHT_TARGET_PATH=%build/lib/tilewright tw-opt %s -split-input-file -vectorize-nests | FileCheck %s

// Nothing hides the test of a loop on a core with a scratchpad: eight registers of 16 elements are one vector of a row, also
// in a choice that a pipeline has made.
module attributes {tilewright.target = "accelerator:npu"} {
  // CHECK-LABEL: func.func private @rows
  // CHECK: scf.if
  // CHECK: affine.for %{{.*}} = 0 to 16
  // CHECK: vector.load {{.*}}, vector<128xf32>
  // CHECK: vector.store {{.*}}, vector<128xf32>
  func.func private @rows(%on: i1, %y: memref<32x256xf32>) attributes {tilewright.kernel} {
    tile.parallel (%core) to (2) level "core" {
      %x = tile.alloc() : memref<16x128xf32, "scratchpad">
      scf.if %on {
        affine.for %i = 0 to 16 { affine.for %j = 0 to 128 {
          %a = affine.load %x[%i, %j] : memref<16x128xf32, "scratchpad">
          %b = math.absf %a : f32
          affine.store %b, %y[%i, %j] : memref<32x256xf32>
        } }
      }
    }
    return
  }
}
