// Copies whose points may lie outside of the source: one comparison without sign says both ends, in loops and where
// vectors are asked for.
//
// RUN: tw-opt %s -lower-tile-to-loops | FileCheck %s
// RUN: tw-opt %s -lower-tile-to-vector | FileCheck %s

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
