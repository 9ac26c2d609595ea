// Copies whose points may lie outside of the source: one comparison without sign says both ends, in loops and where
// vectors are asked for. Loads that may have elements outside are for lanes, and loops that stand for these.
//
// RUN: tw-opt %s -split-input-file -lower-tile-to-loops | FileCheck %s --check-prefixes=CHECK,LOOPS
// RUN: tw-opt %s -split-input-file -lower-tile-to-vector -verify-diagnostics | FileCheck %s

module attributes {tilewright.target = "cpu:zen4"} {
// CHECK-LABEL: func.func @window
// CHECK-SAME: (%[[X:.*]]: memref<13x?xf32>
// CHECK-DAG: %[[N:.*]] = memref.dim %[[X]]
// CHECK-DAG: %[[A:.*]] = arith.cmpi ult, %{{.*}}, %c13{{.*}} : index
// CHECK-DAG: %[[B:.*]] = arith.cmpi ult, %{{.*}}, %[[N]] : index
// CHECK: %[[IN:.*]] = arith.andi
// CHECK: scf.if %[[IN]]
// CHECK-NEXT: memref.load %[[X]]
func.func @window(%x: memref<13x?xf32>, %t: memref<4x8xf32>, %h: index, %w: index) {
  %c = tile.copy %x[%h - 1, %w - 2] elements affine_map<(p, q) -> (p, q)> to %t[0, 0] elements affine_map<(p, q) -> (p, q)>
       shape [4, 8] {bounded = array<i64: 0, 1>} : memref<13x?xf32>, memref<4x8xf32>
  tile.wait %c
  return
}
}

// -----

#row = #tile.layout<elements = [0, 1, 0, 2]>
module attributes {tilewright.target = "cpu:zen4"} {
// LOOPS-LABEL: func.func @load
// LOOPS-SAME: (%[[X:.*]]: memref<8xf32>
// LOOPS: %[[IN:.*]] = arith.cmpi ult, %{{.*}}, %c8{{.*}} : index
// LOOPS: scf.if %[[IN]]
// LOOPS-NEXT: memref.load %[[X]]
func.func @load(%x: memref<8xf32>, %y: memref<4xf32>, %i: index) {
  // expected-error@+1 {{is bounded by its array, which loads of lanes alone check}}
  %f = tile.load %x[%i - 1] elements affine_map<(r, c) -> (c)> {bounded = array<i64: 0>} : memref<8xf32> -> !tile.fragment<1x4xf32, #row>
  tile.store %f, %y[0] elements affine_map<(r, c) -> (c)> : !tile.fragment<1x4xf32, #row>, memref<4xf32>
  return
}
}
