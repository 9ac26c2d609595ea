// A product with a dynamic number of rows has versions, each a launch with a tile of its own; the host program takes one by the
// rows. A forced tile, and a product of known sizes, have one. Each version is written for rows that are a multiple of the
// tile's, with no test of edges, and for all others.
//
// RUN: env TILEWRIGHT_TARGET_PATH=%build/lib/tilewright tw-opt %s -map-contractions | FileCheck %s
// RUN: env TILEWRIGHT_TARGET_PATH=%build/lib/tilewright tw-opt %s -map-contractions=force=tile_m=64 | FileCheck %s --check-prefix=ONE

// CHECK-LABEL: @dynamic
// CHECK: %[[SMALL:.*]] = arith.cmpi sle, %{{.*}}, %{{.*}} : index
// CHECK: %[[VERSION:.*]] = arith.select %[[SMALL]], %{{.*}}, %{{.*}} : index
// CHECK: %[[FIRST:.*]] = arith.cmpi eq, %[[VERSION]], %{{.*}} : index
// CHECK: scf.if %[[FIRST]] {
// CHECK: %[[REST:.*]] = affine.apply
// CHECK: arith.cmpi eq, %[[REST]], %{{.*}} : index
// CHECK: %[[WHOLE:.*]] = arith.andi
// CHECK: scf.if %[[WHOLE]] {
// CHECK: tile.parallel
// CHECK: memref<3x[[ROWS:[0-9]+]]x[[STEP:[0-9]+]]xbf16, "scratchpad">
// CHECK-NOT: valid
// CHECK: } else {
// CHECK: tile.parallel
// CHECK: memref<3x[[ROWS]]x[[STEP]]xbf16, "scratchpad">
// CHECK: valid
// CHECK: } else {
// CHECK: tile.parallel
// CHECK-NOT: memref<3x[[ROWS]]x[[STEP]]xbf16, "scratchpad">
// CHECK: memref<3x{{[0-9]+}}x{{[0-9]+}}xbf16, "scratchpad">
// CHECK-LABEL: @known
// CHECK-NOT: scf.if
// CHECK: tile.parallel
// CHECK-NOT: tile.parallel

// ONE-LABEL: @dynamic
// ONE-NOT: arith.select
// ONE: scf.if
// ONE: tile.parallel
// ONE: } else {
// ONE: tile.parallel
// ONE-NOT: tile.parallel
// ONE-LABEL: @known
module attributes {tilewright.target = "accelerator:npu"} {
func.func private @dynamic(%x: memref<?x512xbf16>, %w: memref<512x512xbf16>, %y: memref<?x512xf32>) attributes {tilewright.kernel} {
  %c0 = arith.constant 0 : index
  %m = memref.dim %x, %c0 : memref<?x512xbf16>
  affine.for %i = 0 to %m {
    affine.for %j = 0 to 512 {
      affine.for %k = 0 to 512 {
        %a = affine.load %x[%i, %k] : memref<?x512xbf16>
        %b = affine.load %w[%k, %j] : memref<512x512xbf16>
        %s = affine.load %y[%i, %j] : memref<?x512xf32>
        %aw = arith.extf %a : bf16 to f32
        %bw = arith.extf %b : bf16 to f32
        %p = arith.mulf %aw, %bw : f32
        %t = arith.addf %s, %p : f32
        affine.store %t, %y[%i, %j] : memref<?x512xf32>
      }
    }
  }
  return
}

func.func private @known(%x: memref<64x512xbf16>, %w: memref<512x512xbf16>, %y: memref<64x512xf32>) attributes {tilewright.kernel} {
  affine.for %i = 0 to 64 {
    affine.for %j = 0 to 512 {
      affine.for %k = 0 to 512 {
        %a = affine.load %x[%i, %k] : memref<64x512xbf16>
        %b = affine.load %w[%k, %j] : memref<512x512xbf16>
        %s = affine.load %y[%i, %j] : memref<64x512xf32>
        %aw = arith.extf %a : bf16 to f32
        %bw = arith.extf %b : bf16 to f32
        %p = arith.mulf %aw, %bw : f32
        %t = arith.addf %s, %p : f32
        affine.store %t, %y[%i, %j] : memref<64x512xf32>
      }
    }
  }
  return
}
}
