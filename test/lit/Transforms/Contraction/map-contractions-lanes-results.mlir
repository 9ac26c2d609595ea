// Results of 2 bytes of units with 8 columns: two units of a row are finished and stored together, since a store of both fills
// sectors. Results of 4 bytes fill them already.
//
// RUN: tw-opt %s -split-input-file -map-contractions | FileCheck %s

// CHECK-LABEL: @short
// CHECK: tile.mma
// CHECK: %[[SUM:.*]] = tile.join %{{.*}}, %{{.*}} : !tile.fragment<16x8xf32, #{{.*}}>, !tile.fragment<16x8xf32, #{{.*}}> -> <16x16xf32, #{{.*}}>
// CHECK: %[[SHORT:.*]] = tile.map(%{{.*}} = %[[SUM]])
// CHECK-NEXT: arith.truncf
// CHECK: tile.store %[[SHORT]], %arg2{{.*}} : !tile.fragment<16x16xf16, #{{.*}}>, memref<256x256xf16>
module attributes {tilewright.target = "nvidia:A100", tilewright.force = "block_m=64,block_n=64"} {
func.func private @short(%A: memref<256x256xf16>, %B: memref<256x256xf16>, %O: memref<256x256xf16>) attributes {tilewright.kernel} {
  %zero = arith.constant 0.0 : f32
  %C = memref.alloc() : memref<256x256xf32>
  affine.for %i = 0 to 256 { affine.for %j = 0 to 256 {
    affine.store %zero, %C[%i, %j] : memref<256x256xf32>
  } }
  affine.for %i = 0 to 256 { affine.for %j = 0 to 256 { affine.for %l = 0 to 256 {
    %a = affine.load %A[%i, %l] : memref<256x256xf16>
    %b = affine.load %B[%l, %j] : memref<256x256xf16>
    %c = affine.load %C[%i, %j] : memref<256x256xf32>
    %x = arith.extf %a : f16 to f32
    %y = arith.extf %b : f16 to f32
    %p = arith.mulf %x, %y : f32
    %s = arith.addf %c, %p : f32
    affine.store %s, %C[%i, %j] : memref<256x256xf32>
  } } }
  affine.for %i = 0 to 256 { affine.for %j = 0 to 256 {
    %c = affine.load %C[%i, %j] : memref<256x256xf32>
    %r = arith.truncf %c : f32 to f16
    affine.store %r, %O[%i, %j] : memref<256x256xf16>
  } }
  return
}
}

// -----

// CHECK-LABEL: @long
// CHECK-NOT: tile.join
// CHECK: tile.store {{.*}} : !tile.fragment<16x8xf32, #{{.*}}>, memref<256x256xf32>
module attributes {tilewright.target = "nvidia:A100", tilewright.force = "block_m=64,block_n=64"} {
func.func private @long(%A: memref<256x256xf16>, %B: memref<256x256xf16>, %C: memref<256x256xf32>) attributes {tilewright.kernel} {
  affine.for %i = 0 to 256 { affine.for %j = 0 to 256 { affine.for %l = 0 to 256 {
    %a = affine.load %A[%i, %l] : memref<256x256xf16>
    %b = affine.load %B[%l, %j] : memref<256x256xf16>
    %c = affine.load %C[%i, %j] : memref<256x256xf32>
    %x = arith.extf %a : f16 to f32
    %y = arith.extf %b : f16 to f32
    %p = arith.mulf %x, %y : f32
    %s = arith.addf %c, %p : f32
    affine.store %s, %C[%i, %j] : memref<256x256xf32>
  } } }
  return
}
}
