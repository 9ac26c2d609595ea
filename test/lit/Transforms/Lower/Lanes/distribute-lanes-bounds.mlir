// Elements of a lane that one condition does not cover compare their own places with a bound that a step computes once.
//
// RUN: tw-opt %s -split-input-file -lower-affine -distribute-lanes -canonicalize -cse | FileCheck %s

module attributes {tilewright.target = "amd:RX7900"} {

// 64 lanes lie along n, and each takes 16 of k: whether its n is inside is part of the bound, what is left of k the rest. No
// branch has a condition of two, and no comparison another operand that a loop around would hold.
//
// CHECK-LABEL: func.func private @turned
// CHECK: scf.for
// CHECK:   arith.maxsi
// CHECK:   arith.minsi
// CHECK:   %[[BOUND:.*]] = arith.select %{{.*}}, %{{.*}}, %c0_i32 : i32
// CHECK-NOT: arith.andi {{.*}} : i1
// CHECK:   %[[FIRST:.*]] = arith.cmpi sgt, %[[BOUND]], %c0_i32 : i32
// CHECK:   scf.if %[[FIRST]] -> (i8)
// CHECK:   %[[SECOND:.*]] = arith.cmpi sgt, %[[BOUND]], %c1_i32 : i32
// CHECK:   scf.if %[[SECOND]] -> (i8)
// CHECK-COUNT-14: arith.cmpi sgt, %[[BOUND]],
// CHECK-NOT: arith.cmpi
// CHECK: return
func.func private @turned(%B: memref<?x?xi8>, %n: index, %k: index)
    attributes {tilewright.launch = {threads = 128 : i64, shared = 2048 : i64}} {
  tile.parallel (%g) to (1) level "grid" {
    %sb = tile.alloc() : memref<64x32xi8, "shared">
    affine.for %i = 0 to 16 {
      %t = tile.copy %B[%i * 32, 0] elements affine_map<(r, c) -> (c, r)> to %sb[0, 0] elements affine_map<(r, c) -> (r, c)> shape [64, 32] valid(%n, %k - %i * 32) {turn = array<i64: 1, 16, 64, 2>} : memref<?x?xi8>, memref<64x32xi8, "shared">
      tile.wait %t
    }
  }
  return
}

// In order: a lane is in one place of k of all its rows, and the row varies.
//
// CHECK-LABEL: func.func private @straight
// CHECK:   %[[BOUND:.*]] = arith.select
// CHECK-COUNT-16: arith.cmpi sgt, %[[BOUND]],
// CHECK-NOT: arith.cmpi
// CHECK: return
func.func private @straight(%A: memref<?x?xi8>, %m: index, %k: index)
    attributes {tilewright.launch = {threads = 128 : i64, shared = 2048 : i64}} {
  tile.parallel (%g) to (1) level "grid" {
    %sa = tile.alloc() : memref<64x32xi8, "shared">
    %t = tile.copy %A[0, 0] elements affine_map<(r, c) -> (r, c)> to %sa[0, 0] elements affine_map<(r, c) -> (r, c)> shape [64, 32] valid(%m, %k) : memref<?x?xi8>, memref<64x32xi8, "shared">
    tile.wait %t
  }
  return
}

// Two runs have a condition each: a bound would be no less.
//
// CHECK-LABEL: func.func private @few
// CHECK-NOT: arith.select
// CHECK-COUNT-2: arith.cmpi slt
// CHECK-NOT: arith.cmpi
// CHECK: return
func.func private @few(%A: memref<?x32xi8>, %m: index)
    attributes {tilewright.launch = {threads = 64 : i64, shared = 2048 : i64}} {
  tile.parallel (%g) to (1) level "grid" {
    %sa = tile.alloc() : memref<64x32xi8, "shared">
    %t = tile.copy %A[0, 0] elements affine_map<(r, c) -> (r, c)> to %sa[0, 0] elements affine_map<(r, c) -> (r, c)> shape [64, 32] valid(%m, 32) : memref<?x32xi8>, memref<64x32xi8, "shared">
    tile.wait %t
  }
  return
}
}
