// The sequential meaning of copies and products of a core: three loops, tokens are nothing.
//
// RUN: env TILEWRIGHT_TARGET_PATH=%build/lib/tilewright tw-opt %s -lower-affine -lower-tile-to-loops | FileCheck %s

module attributes {tilewright.target = "accelerator:npu"} {
  // CHECK-LABEL: func.func @product
  // CHECK: scf.for %[[I:.*]] = %{{.*}} to %c64
  // CHECK:   scf.for %[[J:.*]] = %{{.*}} to %c32
  // CHECK:     %[[FIRST:.*]] = scf.if %{{.*}} -> (i32) {
  // CHECK:       memref.load
  // CHECK:     %[[SUM:.*]] = scf.for %{{.*}} = %{{.*}} to %c32{{.*}} iter_args(%[[S:.*]] = %[[FIRST]]) -> (i32) {
  // CHECK:       arith.extsi %{{.*}} : i8 to i32
  // CHECK:       arith.extsi %{{.*}} : i8 to i32
  // CHECK:       arith.muli
  // CHECK:       arith.addi %[[S]]
  // CHECK:     memref.store %[[SUM]]
  // What lies beyond the edge is not written by a clipped copy.
  // CHECK: scf.if
  // CHECK-NEXT: memref.load
  // CHECK-NEXT: memref.store
  // CHECK-NOT: tile.
  func.func @product(%a: memref<64x32xi8>, %b: memref<32x32xi8>, %c: memref<64x32xi32>, %out: memref<?x32xi32>,
                     %n: index, %more: i1) {
    %c0 = arith.constant 0 : index
    %none = tile.done
    %u = tile.multiply %a[%c0, %c0], %b[%c0, %c0] to %c[%c0, %c0] accumulate %more shape [64, 32, 32]
           {unit = "accelerator.systolic_i8"} : memref<64x32xi8>, memref<32x32xi8>, memref<64x32xi32>
    tile.wait %none, %u
    %t = tile.copy %c[0, 0] elements affine_map<(p, q) -> (p, q)> to %out[0, 0] elements affine_map<(p, q) -> (p, q)>
           shape [64, 32] valid(%n, 32) {clipped} : memref<64x32xi32>, memref<?x32xi32>
    tile.wait %t
    return
  }
}
