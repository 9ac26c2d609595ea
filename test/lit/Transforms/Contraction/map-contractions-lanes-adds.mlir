// C += A B on lanes: the sum of a tile starts from zero, and what C held is added behind it; in the order of the program
// with strict sums.
//
// RUN: tw-opt %s -split-input-file -map-contractions | FileCheck %s

// CHECK-LABEL: @adds
// CHECK-NOT: tile.load %arg2
// CHECK: tile.zero
// CHECK: tile.mma
// CHECK: %[[OLD:.*]] = tile.load %arg2
// CHECK: %[[NEW:.*]] = tile.map(%[[X:.*]] = %[[OLD]], %[[Y:.*]] = %{{.*}})
// CHECK-NEXT: %[[SUM:.*]] = arith.addf %[[X]], %[[Y]] : f32
// CHECK-NEXT: tile.yield %[[SUM]] : f32
// CHECK: tile.store %[[NEW]], %arg2
module attributes {tilewright.target = "nvidia:A100"} {
func.func private @adds(%A: memref<256x256xf16>, %B: memref<256x256xf16>, %C: memref<256x256xf32>) attributes {tilewright.kernel} {
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

// -----

// CHECK-LABEL: @in_order
// CHECK-NOT: tile.zero
// CHECK: tile.load %arg2
// CHECK: tile.mma
// CHECK-NOT: arith.addf
// CHECK: tile.store %{{.*}}, %arg2
module attributes {tilewright.target = "nvidia:A100", tilewright.fp = "strict"} {
func.func private @in_order(%A: memref<256x256xf32>, %B: memref<256x256xf32>, %C: memref<256x256xf32>) attributes {tilewright.kernel} {
  affine.for %i = 0 to 256 { affine.for %j = 0 to 256 { affine.for %l = 0 to 256 {
    %a = affine.load %A[%i, %l] : memref<256x256xf32>
    %b = affine.load %B[%l, %j] : memref<256x256xf32>
    %c = affine.load %C[%i, %j] : memref<256x256xf32>
    %p = arith.mulf %a, %b : f32
    %s = arith.addf %c, %p : f32
    affine.store %s, %C[%i, %j] : memref<256x256xf32>
  } } }
  return
}
}
