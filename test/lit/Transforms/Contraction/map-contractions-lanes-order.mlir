// Where all fragments of a step at once would not fit the registers, those of a unit's k are loaded before the products of the
// ones before, and stay there; else the compiler behind orders them.
//
// RUN: tw-opt %s -split-input-file -map-contractions | FileCheck %s

// CHECK-LABEL: @kept
// CHECK: tile.mma {{.*}}behind_loads
module attributes {tilewright.target = "amd:RX7900", tilewright.force = "block_m=128,block_n=64,block_k=16"} {
func.func private @kept(%A: memref<1024x1024xf32>, %B: memref<1024x1024xf32>, %C: memref<1024x1024xf32>) attributes {tilewright.kernel} {
  affine.for %i = 0 to 1024 { affine.for %j = 0 to 1024 { affine.for %l = 0 to 1024 {
    %a = affine.load %A[%i, %l] : memref<1024x1024xf32>
    %b = affine.load %B[%l, %j] : memref<1024x1024xf32>
    %c = affine.load %C[%i, %j] : memref<1024x1024xf32>
    %p = arith.mulf %a, %b : f32
    %s = arith.addf %c, %p : f32
    affine.store %s, %C[%i, %j] : memref<1024x1024xf32>
  } } }
  return
}
}

// -----

// CHECK-LABEL: @free
// CHECK: tile.mma
// CHECK-NOT: behind_loads
module attributes {tilewright.target = "amd:RX7900", tilewright.force = "block_m=32,block_n=32"} {
func.func private @free(%A: memref<1024x1024xf32>, %B: memref<1024x1024xf32>, %C: memref<1024x1024xf32>) attributes {tilewright.kernel} {
  affine.for %i = 0 to 1024 { affine.for %j = 0 to 1024 { affine.for %l = 0 to 1024 {
    %a = affine.load %A[%i, %l] : memref<1024x1024xf32>
    %b = affine.load %B[%l, %j] : memref<1024x1024xf32>
    %c = affine.load %C[%i, %j] : memref<1024x1024xf32>
    %p = arith.mulf %a, %b : f32
    %s = arith.addf %c, %p : f32
    affine.store %s, %C[%i, %j] : memref<1024x1024xf32>
  } } }
  return
}
}
