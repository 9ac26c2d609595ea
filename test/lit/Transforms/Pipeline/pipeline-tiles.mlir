// RUN: tw-opt %s -split-input-file -pipeline-tiles -verify-diagnostics | FileCheck %s

#row = affine_map<(p) -> (p)>
#staged = affine_map<(p) -> (0, p)>

// The first tile is copied before the loop, each next one before the wait for this one; a stage that goes out is awaited when
// it is written again.
// CHECK-LABEL: func.func @both_ways
// CHECK: %[[NONE:.*]] = tile.done
// CHECK: %[[FIRST:.*]] = affine.for %[[T0:.*]] = %{{.*}} to min #{{.*}}()[%arg2, %{{.*}}] iter_args(%{{.*}} = %[[NONE]]) -> (!tile.token) {
// CHECK-NEXT: tile.copy %arg0[%[[T0]] * 16] elements #{{.*}} to %{{.*}}[%[[T0]] mod 2, 0]
// CHECK: %[[LAST:.*]]:3 = affine.for %[[T:.*]] = 0 to %arg2 iter_args(%[[IN:.*]] = %[[FIRST]], %[[OLD:.*]] = %[[NONE]], %[[NEW:.*]] = %[[NONE]])
// CHECK-NEXT: %[[NEXT:.*]] = affine.for %[[U:.*]] = #{{.*}}(%[[T]]) to min #{{.*}}(%[[T]])[%arg2] iter_args(%{{.*}} = %[[IN]])
// CHECK-NEXT:   tile.copy %arg0[%[[U]] * 16] elements #{{.*}} to %{{.*}}[%[[U]] mod 2, 0]
// CHECK: tile.wait %[[IN]], %[[OLD]]
// CHECK-NEXT: affine.for
// CHECK: %[[OUT:.*]] = tile.copy %{{.*}}[%[[T]] mod 2, 0] elements #{{.*}} to %arg1[%[[T]] * 16]
// CHECK-NEXT: affine.yield %[[NEXT]], %[[NEW]], %[[OUT]]
// CHECK: tile.wait %[[LAST]]#1, %[[LAST]]#2
func.func @both_ways(%a: memref<?xf32>, %b: memref<?xf32>, %n: index) {
  %x = tile.alloc() : memref<2x16xf32, "scratchpad">
  %y = tile.alloc() : memref<2x16xf32, "scratchpad">
  affine.for %t = 0 to %n {
    %in = tile.copy %a[%t * 16] elements #row to %x[%t mod 2, 0] elements #staged shape [16] : memref<?xf32>, memref<2x16xf32, "scratchpad">
    tile.wait %in
    affine.for %i = 0 to 16 {
      %v = affine.load %x[%t mod 2, %i] : memref<2x16xf32, "scratchpad">
      affine.store %v, %y[%t mod 2, %i] : memref<2x16xf32, "scratchpad">
    }
    %out = tile.copy %y[%t mod 2, 0] elements #staged to %b[%t * 16] elements #row shape [16] : memref<2x16xf32, "scratchpad">, memref<?xf32>
    tile.wait %out
  } {tile.stages = 2 : i64}
  return
}

// -----

func.func @no_copies(%a: memref<16xf32>, %n: index) {
  %x = arith.constant 1.0 : f32
  // expected-error @below {{has 2 stages but no copies around its work}}
  affine.for %t = 0 to %n {
    affine.store %x, %a[0] : memref<16xf32>
  } {tile.stages = 2 : i64}
  return
}

// -----

func.func @three_stages(%a: memref<16xf32>, %n: index) {
  %x = arith.constant 1.0 : f32
  // expected-error @below {{with 3 stages; a pipeline has 2, and its loop begins at one value}}
  affine.for %t = 0 to %n {
    affine.store %x, %a[0] : memref<16xf32>
  } {tile.stages = 3 : i64}
  return
}
