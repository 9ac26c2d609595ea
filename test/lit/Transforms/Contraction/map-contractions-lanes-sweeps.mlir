// In which order blocks take tiles of C: in sweeps over rows of tiles, so that those that run together read the least.
//
// RUN: tw-opt %s -split-input-file -map-contractions -verify-diagnostics | FileCheck %s

module attributes {tilewright.target = "amd:MI300X"} {
// More tiles than run at a time, few of them in a column: columns after each other.
// CHECK-LABEL: @wide
// CHECK: tile.parallel (%[[N:.*]]) to (8192) level "grid"
func.func private @wide(%A: memref<2048x1024xf16>, %B: memref<65536x1024xf16>, %C: memref<2048x65536xf32>) attributes {tilewright.kernel} {
  affine.for %i = 0 to 2048 { affine.for %j = 0 to 65536 { affine.for %l = 0 to 1024 {
    %a = affine.load %A[%i, %l] : memref<2048x1024xf16>
    %b = affine.load %B[%j, %l] : memref<65536x1024xf16>
    %c = affine.load %C[%i, %j] : memref<2048x65536xf32>
    %x = arith.extf %a : f16 to f32
    %y = arith.extf %b : f16 to f32
    %p = arith.mulf %x, %y : f32
    %s = arith.addf %c, %p : f32
    affine.store %s, %C[%i, %j] : memref<2048x65536xf32>
  } } }
  return
}
}

// -----

module attributes {tilewright.target = "amd:MI300X"} {
// All run together, whatever their order is: rows after each other.
// CHECK-LABEL: @small
// CHECK: tile.parallel (%{{.*}}, %{{.*}}) to (
func.func private @small(%A: memref<1024x1024xf16>, %B: memref<1024x1024xf16>, %C: memref<1024x1024xf32>) attributes {tilewright.kernel} {
  affine.for %i = 0 to 1024 { affine.for %j = 0 to 1024 { affine.for %l = 0 to 1024 {
    %a = affine.load %A[%i, %l] : memref<1024x1024xf16>
    %b = affine.load %B[%j, %l] : memref<1024x1024xf16>
    %c = affine.load %C[%i, %j] : memref<1024x1024xf32>
    %x = arith.extf %a : f16 to f32
    %y = arith.extf %b : f16 to f32
    %p = arith.mulf %x, %y : f32
    %s = arith.addf %c, %p : f32
    affine.store %s, %C[%i, %j] : memref<1024x1024xf32>
  } } }
  return
}
}

// -----

module attributes {tilewright.target = "amd:MI300X", tilewright.force = "block_m=32,block_n=32,rasterisation_rows=2"} {
// Sweeps over two rows of four tiles.
// CHECK-LABEL: @forced
// CHECK: tile.parallel (%[[N:.*]]) to (16) level "grid"
func.func private @forced(%A: memref<128x64xf16>, %B: memref<128x64xf16>, %C: memref<128x128xf32>) attributes {tilewright.kernel} {
  affine.for %i = 0 to 128 { affine.for %j = 0 to 128 { affine.for %l = 0 to 64 {
    %a = affine.load %A[%i, %l] : memref<128x64xf16>
    %b = affine.load %B[%j, %l] : memref<128x64xf16>
    %c = affine.load %C[%i, %j] : memref<128x128xf32>
    %x = arith.extf %a : f16 to f32
    %y = arith.extf %b : f16 to f32
    %p = arith.mulf %x, %y : f32
    %s = arith.addf %c, %p : f32
    affine.store %s, %C[%i, %j] : memref<128x128xf32>
  } } }
  return
}
}

// -----

module attributes {tilewright.target = "amd:MI300X", tilewright.force = "block_m=32,block_n=32,rasterisation_rows=2"} {
// Three rows of tiles are no multiple of two.
// CHECK-LABEL: @none
// CHECK-NOT: tile.mma
func.func private @none(%A: memref<96x64xf16>, %B: memref<128x64xf16>, %C: memref<96x128xf32>) attributes {tilewright.kernel} {
  // expected-remark@+1 {{the rows of tiles are no multiple of rasterisation_rows of the forced plan (block_m = 32, block_n = 32, rasterisation_rows = 2)}}
  affine.for %i = 0 to 96 { affine.for %j = 0 to 128 { affine.for %l = 0 to 64 {
    %a = affine.load %A[%i, %l] : memref<96x64xf16>
    %b = affine.load %B[%j, %l] : memref<128x64xf16>
    %c = affine.load %C[%i, %j] : memref<96x128xf32>
    %x = arith.extf %a : f16 to f32
    %y = arith.extf %b : f16 to f32
    %p = arith.mulf %x, %y : f32
    %s = arith.addf %c, %p : f32
    affine.store %s, %C[%i, %j] : memref<96x128xf32>
  } } }
  return
}
}
