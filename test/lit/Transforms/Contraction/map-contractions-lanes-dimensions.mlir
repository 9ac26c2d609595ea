// What tiles lie along. Rows and columns of the image are as long as each other; its points lie together, its channels outside. So
// a tile of the image is channels x points of a row, C is filters x points with the filters as A, and the loops of one iteration
// keep neither the channels of a filter from whole vectors nor the steps from a ring.
//
// RUN: tw-opt %s -split-input-file -map-contractions | FileCheck %s

// CHECK-DAG: #[[FILTERS:.*]] = affine_map<(d0, d1) -> (d0, d1, 0, 0)>
// CHECK-DAG: #[[POINTS:.*]] = affine_map<(d0, d1) -> (0, d0, 0, d1)>
// CHECK-LABEL: @channels_outside
// CHECK: tile.copy %arg1[{{.*}}] elements #[[FILTERS]]
// CHECK-NOT: held
// CHECK: tile.copy %arg0[{{.*}}] elements #[[POINTS]]
// CHECK-NOT: held
// CHECK: tile.mma
module attributes {tilewright.target = "nvidia:A100"} {
func.func private @channels_outside(%I: memref<1x128x32x32xf16>, %F: memref<64x128x1x1xf16>, %C: memref<1x64x32x32xf32>) attributes {tilewright.kernel} {
  affine.for %n = 0 to 1 { affine.for %f = 0 to 64 { affine.for %h = 0 to 32 { affine.for %w = 0 to 32 {
  affine.for %l = 0 to 128 { affine.for %y = 0 to 1 { affine.for %x = 0 to 1 {
    %a = affine.load %I[%n, %l, %h + %y, %w + %x] : memref<1x128x32x32xf16>
    %b = affine.load %F[%f, %l, %y, %x] : memref<64x128x1x1xf16>
    %c = affine.load %C[%n, %f, %h, %w] : memref<1x64x32x32xf32>
    %ax = arith.extf %a : f16 to f32
    %bx = arith.extf %b : f16 to f32
    %p = arith.mulf %ax, %bx : f32
    %s = arith.addf %c, %p : f32
    affine.store %s, %C[%n, %f, %h, %w] : memref<1x64x32x32xf32>
  } } } } } } }
  return
}
}

// -----

// Channels inside: rows of C are points, and its columns filters, as the nest has them.
// CHECK-DAG: #[[ROWS:.*]] = affine_map<(d0, d1) -> (d0, 0, d1)>
// CHECK-LABEL: @channels_inside
// CHECK: tile.copy %arg0[{{.*}}] elements #[[ROWS]]
module attributes {tilewright.target = "nvidia:A100"} {
func.func private @channels_inside(%I: memref<32x32x128xf16>, %F: memref<128x64xf16>, %C: memref<32x32x64xf32>) attributes {tilewright.kernel} {
  affine.for %h = 0 to 32 { affine.for %w = 0 to 32 { affine.for %f = 0 to 64 { affine.for %l = 0 to 128 {
    %a = affine.load %I[%h, %w, %l] : memref<32x32x128xf16>
    %b = affine.load %F[%l, %f] : memref<128x64xf16>
    %c = affine.load %C[%h, %w, %f] : memref<32x32x64xf32>
    %ax = arith.extf %a : f16 to f32
    %bx = arith.extf %b : f16 to f32
    %p = arith.mulf %ax, %bx : f32
    %s = arith.addf %c, %p : f32
    affine.store %s, %C[%h, %w, %f] : memref<32x32x64xf32>
  } } } }
  return
}
}
