// RUN: tw-opt %s -map-contractions=force=lanes_on=n,rows=7,vectors=1 -canonicalize | FileCheck %s

// Rows are neighbours in the result and in what is added to it, lanes are not: blocks of 4 and 2 rows and a single one are
// loaded and stored by columns; the last three lanes of the second panel do not exist. The bias is along the lanes.
// CHECK-LABEL: func.func private @residual
// CHECK:         tile.mma
// CHECK:       tile.load %arg2[{{.*}}] {{.*}} : memref<13xf32> -> !tile.fragment<1x8xf32
// CHECK-COUNT-8: tile.load %arg3[{{.*}}] {{.*}} : memref<13x7xf32> -> !tile.fragment<4x1xf32
// CHECK:       tile.transpose {{.*}} -> !tile.fragment<1x8xf32
// CHECK:       tile.map
// CHECK:       tile.transpose {{.*}} -> !tile.fragment<4x1xf32
// CHECK-COUNT-8: tile.store {{.*}} : !tile.fragment<4x1xf32, #{{.*}}>, memref<13x7xf32>
// CHECK-COUNT-8: tile.store {{.*}} : !tile.fragment<2x1xf32, #{{.*}}>, memref<13x7xf32>
// CHECK:       tile.store {{.*}} : !tile.fragment<1x8xf32, #{{.*}}>, memref<13x7xf32>
// CHECK:         tile.mma
// CHECK-COUNT-5: tile.store {{.*}} elements #map{{[0-9]*}} : !tile.fragment<4x1xf32, #{{.*}}>, memref<13x7xf32>
// CHECK-NEXT:  tile.store {{.*}} valid(4, 0) : !tile.fragment<4x1xf32
module attributes {tilewright.target = "cpu:x86-64-v3"} {
func.func private @residual(%A: memref<7x32xf32>, %B: memref<32x13xf32>, %bias: memref<13xf32>, %R: memref<13x7xf32>, %D: memref<13x7xf32>) attributes {tilewright.kernel} {
  %z = arith.constant 0.0 : f32
  %C = memref.alloc() : memref<13x7xf32>
  affine.for %j = 0 to 13 { affine.for %i = 0 to 7 { affine.store %z, %C[%j, %i] : memref<13x7xf32> } }
  affine.for %i = 0 to 7 { affine.for %j = 0 to 13 { affine.for %k = 0 to 32 {
    %a = affine.load %A[%i, %k] : memref<7x32xf32>
    %b = affine.load %B[%k, %j] : memref<32x13xf32>
    %c = affine.load %C[%j, %i] : memref<13x7xf32>
    %p = arith.mulf %a, %b : f32
    %s = arith.addf %c, %p : f32
    affine.store %s, %C[%j, %i] : memref<13x7xf32>
  } } }
  affine.for %j = 0 to 13 { affine.for %i = 0 to 7 {
    %c = affine.load %C[%j, %i] : memref<13x7xf32>
    %b = affine.load %bias[%j] : memref<13xf32>
    %r = affine.load %R[%j, %i] : memref<13x7xf32>
    %s = arith.addf %c, %b : f32
    %t = arith.addf %s, %r : f32
    affine.store %t, %D[%j, %i] : memref<13x7xf32>
  } }
  return
}
}
