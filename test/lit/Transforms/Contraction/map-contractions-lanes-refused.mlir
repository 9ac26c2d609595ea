// Products that no unit of a chip with lanes takes: a correct path, and one line that says why.
//
// RUN: tw-opt %s -split-input-file -map-contractions -verify-diagnostics | FileCheck %s

// The chip has no unit of the type.
// CHECK-LABEL: @no_type
// CHECK-NOT: tile.mma
// CHECK: affine.for
module attributes {tilewright.target = "nvidia:T4"} {
func.func private @no_type(%A: memref<256x256xbf16>, %B: memref<256x256xbf16>, %C: memref<256x256xf32>) attributes {tilewright.kernel} {
  // expected-remark@+1 {{contraction is not mapped to a matrix unit: no unit of the chip computes these element types over the lanes of a subgroup}}
  affine.for %i = 0 to 256 { affine.for %j = 0 to 256 { affine.for %l = 0 to 256 {
    %a = affine.load %A[%i, %l] : memref<256x256xbf16>
    %b = affine.load %B[%l, %j] : memref<256x256xbf16>
    %c = affine.load %C[%i, %j] : memref<256x256xf32>
    %x = arith.extf %a : bf16 to f32
    %y = arith.extf %b : bf16 to f32
    %p = arith.mulf %x, %y : f32
    %s = arith.addf %c, %p : f32
    affine.store %s, %C[%i, %j] : memref<256x256xf32>
  } } }
  return
}
}

// -----

// A forced tile that the scratchpad is too small for.
// CHECK-LABEL: @no_room
// CHECK-NOT: tile.mma
module attributes {tilewright.target = "nvidia:T4", tilewright.force = "block_m=256,block_n=128,block_k=64"} {
func.func private @no_room(%A: memref<512x512xf16>, %B: memref<512x512xf16>, %C: memref<512x512xf32>) attributes {tilewright.kernel} {
  // expected-remark@+1 {{the forced tile (block_m = 256, block_n = 128, block_k = 64) needs 98304 bytes of the scratchpad; a block has 65536}}
  affine.for %i = 0 to 512 { affine.for %j = 0 to 512 { affine.for %l = 0 to 512 {
    %a = affine.load %A[%i, %l] : memref<512x512xf16>
    %b = affine.load %B[%l, %j] : memref<512x512xf16>
    %c = affine.load %C[%i, %j] : memref<512x512xf32>
    %x = arith.extf %a : f16 to f32
    %y = arith.extf %b : f16 to f32
    %p = arith.mulf %x, %y : f32
    %s = arith.addf %c, %p : f32
    affine.store %s, %C[%i, %j] : memref<512x512xf32>
  } } }
  return
}
}

// -----

// One that has too few registers.
// CHECK-LABEL: @no_registers
// CHECK-NOT: tile.mma
module attributes {tilewright.target = "nvidia:A100", tilewright.force = "block_m=512,block_n=256"} {
func.func private @no_registers(%A: memref<512x512xf16>, %B: memref<512x512xf16>, %C: memref<512x512xf32>) attributes {tilewright.kernel} {
  // expected-remark@+1 {{registers of a lane; there are 128 for one of its block}}
  affine.for %i = 0 to 512 { affine.for %j = 0 to 512 { affine.for %l = 0 to 512 {
    %a = affine.load %A[%i, %l] : memref<512x512xf16>
    %b = affine.load %B[%l, %j] : memref<512x512xf16>
    %c = affine.load %C[%i, %j] : memref<512x512xf32>
    %x = arith.extf %a : f16 to f32
    %y = arith.extf %b : f16 to f32
    %p = arith.mulf %x, %y : f32
    %s = arith.addf %c, %p : f32
    affine.store %s, %C[%i, %j] : memref<512x512xf32>
  } } }
  return
}
}

// -----

// One that no number of units makes.
// CHECK-LABEL: @no_plan
// CHECK-NOT: tile.mma
module attributes {tilewright.target = "nvidia:A100", tilewright.force = "block_m=100"} {
func.func private @no_plan(%A: memref<512x512xf16>, %B: memref<512x512xf16>, %C: memref<512x512xf32>) attributes {tilewright.kernel} {
  // expected-remark@+1 {{the forced plan (block_m = 100) is none that units of the chip can take}}
  affine.for %i = 0 to 512 { affine.for %j = 0 to 512 { affine.for %l = 0 to 512 {
    %a = affine.load %A[%i, %l] : memref<512x512xf16>
    %b = affine.load %B[%l, %j] : memref<512x512xf16>
    %c = affine.load %C[%i, %j] : memref<512x512xf32>
    %x = arith.extf %a : f16 to f32
    %y = arith.extf %b : f16 to f32
    %p = arith.mulf %x, %y : f32
    %s = arith.addf %c, %p : f32
    affine.store %s, %C[%i, %j] : memref<512x512xf32>
  } } }
  return
}
}
