// RUN: tw-opt %s -split-input-file -tile-and-fuse -verify-diagnostics | FileCheck %s

// Rows are divided by their sums of squares and rounded before a product sums them, so that no factor comes out of that sum:
// the first pass has the squares, the second one reads x again.
// CHECK-LABEL: func.func @rounded
// CHECK: tile.parallel (%[[I:.*]]) to (2) level "grid"
// CHECK:   affine.for %[[S:.*]] = 0 to 6 {
// CHECK:     affine.load %arg0[%{{.*}} + symbol(%[[I]]) * 2, %{{.*}} + %[[S]] * 4]
// CHECK-NOT: affine.load %arg1
// CHECK:   } {tile.at = -2 : i64}
// CHECK:   affine.for %[[T:.*]] = 0 to 6 {
// CHECK:     affine.load %arg0[%{{.*}} + symbol(%[[I]]) * 2, %{{.*}} + %[[T]] * 4]
// CHECK:     arith.divf
// CHECK:     arith.truncf
// CHECK:     affine.load %arg1[%{{.*}} + %[[T]] * 4, %{{.*}}]
// CHECK:   } {tile.at = -2 : i64}
func.func @rounded(%x: memref<4x24xf32>, %w: memref<24x8xf16>, %o: memref<4x8xf16>) {
  %zero = arith.constant 0.0 : f32
  %none = arith.constant 0.0 : f16
  %s = memref.alloc() : memref<4xf32>
  %y = memref.alloc() : memref<4x24xf16>
  affine.for %i = 0 to 4 {
    affine.store %zero, %s[%i] : memref<4xf32>
  } {tile.schedule = #tile.schedule<level = "grid", members = 2, ops = 5, step = 4, passes = 2, loops = [<loop = 7, tile = 2, spread = true>]>}
  affine.for %i = 0 to 4 {
    affine.for %j = 0 to 24 {
      %a = affine.load %s[%i] : memref<4xf32>
      %b = affine.load %x[%i, %j] : memref<4x24xf32>
      %c = arith.mulf %b, %b : f32
      %d = arith.addf %a, %c : f32
      affine.store %d, %s[%i] : memref<4xf32>
    }
  }
  affine.for %i = 0 to 4 {
    affine.for %j = 0 to 24 {
      %a = affine.load %s[%i] : memref<4xf32>
      %b = affine.load %x[%i, %j] : memref<4x24xf32>
      %c = arith.divf %b, %a : f32
      %d = arith.truncf %c : f32 to f16
      affine.store %d, %y[%i, %j] : memref<4x24xf16>
    }
  }
  affine.for %i = 0 to 4 {
    affine.for %n = 0 to 8 {
      affine.store %none, %o[%i, %n] : memref<4x8xf16>
    }
  }
  affine.for %i = 0 to 4 {
    affine.for %n = 0 to 8 {
      affine.for %j = 0 to 24 {
        %a = affine.load %o[%i, %n] : memref<4x8xf16>
        %b = affine.load %y[%i, %j] : memref<4x24xf16>
        %c = affine.load %w[%j, %n] : memref<24x8xf16>
        %d = arith.mulf %b, %c : f16
        %e = arith.addf %a, %d : f16
        affine.store %e, %o[%i, %n] : memref<4x8xf16>
      }
    }
  }
  return
}

// -----

// One sum alone: nothing is left for a second pass.
func.func @alone(%x: memref<4x24xf32>, %o: memref<4x24xf32>, %l: memref<4xf32>) {
  %zero = arith.constant 0.0 : f32
  // expected-error@+1 {{the schedule computes reductions in steps, but}}
  affine.for %i = 0 to 4 {
    affine.store %zero, %l[%i] : memref<4xf32>
  } {tile.schedule = #tile.schedule<level = "grid", members = 2, ops = 2, step = 4, passes = 2, loops = [<loop = 1, tile = 2, spread = true>]>}
  affine.for %i = 0 to 4 {
    affine.for %j = 0 to 24 {
      %a = affine.load %l[%i] : memref<4xf32>
      %b = affine.load %x[%i, %j] : memref<4x24xf32>
      %c = arith.addf %a, %b : f32
      affine.store %c, %l[%i] : memref<4xf32>
    }
  }
  return
}
