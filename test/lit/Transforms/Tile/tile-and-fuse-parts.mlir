// RUN: tw-opt %s -split-input-file -tile-and-fuse -verify-diagnostics | FileCheck %s

// Sums of exponentials at the maximum, in 2 parts of 12 of the 24 iterations, each in three steps of 4: each member of the
// grid computes one part of two rows, and keeps its maximum and its sum until they are whole. The nest behind them reads both
// parts: the maximum of the two, and each sum times exp(its maximum - that), 0 where no term of the part was above -inf.
// CHECK-LABEL: func.func @exponentials
// CHECK-DAG: %[[EXTREMES:.*]] = memref.alloc() {{.*}} : memref<2x4xf32>
// CHECK-DAG: %[[SUMS:.*]] = memref.alloc() {{.*}} : memref<2x4xf32>
// CHECK: tile.parallel (%[[PART:.*]], %[[ROWS:.*]]) to (2, 2) level "grid"
// CHECK:   affine.for %[[T:.*]] = 0 to 3 {
// CHECK:     affine.load %arg0[%{{.*}} + symbol(%[[ROWS]]) * 2, %{{.*}} + %[[T]] * 4 + symbol(%[[PART]]) * 12]
// CHECK:   } {tile.at = -2 : i64}
// CHECK-DAG: affine.store %{{.*}}, %alloc{{.*}}[symbol(%[[PART]]), %{{.*}} + symbol(%[[ROWS]]) * 2]
// CHECK-DAG: affine.store %{{.*}}, %alloc{{.*}}[symbol(%[[PART]]), %{{.*}} + symbol(%[[ROWS]]) * 2]
// CHECK: affine.for %[[I:.*]] = 0 to 4 {
// CHECK-NEXT: %[[S0:.*]] = affine.load %[[S:.*]][0, %[[I]]] : memref<2x4xf32>
// CHECK-NEXT: %[[M0:.*]] = affine.load %[[M:.*]][0, %[[I]]] : memref<2x4xf32>
// CHECK-NEXT: %[[M1:.*]] = affine.load %[[M]][1, %[[I]]] : memref<2x4xf32>
// CHECK-NEXT: %[[MOST:.*]] = arith.maximumf %[[M0]], %[[M1]]
// CHECK-NEXT: %[[ABOVE:.*]] = arith.cmpf ogt, %[[MOST]], %{{.*}}
// CHECK-NEXT: %[[BASE:.*]] = arith.select %[[ABOVE]], %[[MOST]], %{{.*}}
// CHECK-NEXT: %[[OWN:.*]] = affine.load %[[M]][0, %[[I]]] : memref<2x4xf32>
// CHECK-NEXT: %[[D0:.*]] = arith.subf %[[OWN]], %[[BASE]]
// CHECK-NEXT: %[[E0:.*]] = math.exp %[[D0]]
// CHECK-NEXT: %[[IS0:.*]] = arith.cmpf ogt, %[[OWN]], %{{.*}}
// CHECK-NEXT: %[[C0:.*]] = arith.select %[[IS0]], %[[E0]], %{{.*}}
// CHECK-NEXT: %[[P0:.*]] = arith.mulf %[[S0]], %[[C0]]
// CHECK-NEXT: %[[S1:.*]] = affine.load %[[S]][1, %[[I]]] : memref<2x4xf32>
// CHECK:      %[[P1:.*]] = arith.mulf %[[S1]], %{{.*}}
// CHECK-NEXT: %[[ALL:.*]] = arith.addf %[[P0]], %[[P1]]
// CHECK:      affine.store %{{.*}}, %arg1[%[[I]]]
// CHECK-NOT: affine.for
func.func @exponentials(%x: memref<4x24xf32>, %o: memref<4xf32>) {
  %zero = arith.constant 0.0 : f32
  %least = arith.constant 0xFF800000 : f32
  %m = memref.alloc() : memref<4xf32>
  affine.for %i = 0 to 4 {
    affine.store %least, %m[%i] : memref<4xf32>
  } {tile.schedule = #tile.schedule<level = "grid", members = 4, ops = 4, step = 4, parts = 2, loops = [<loop = 7, tile = 1, spread = true>, <loop = 8, tile = 2, spread = true>]>}
  affine.for %i = 0 to 4 {
    affine.for %j = 0 to 24 {
      %a = affine.load %m[%i] : memref<4xf32>
      %b = affine.load %x[%i, %j] : memref<4x24xf32>
      %c = arith.maximumf %a, %b : f32
      affine.store %c, %m[%i] : memref<4xf32>
    }
  }
  affine.for %i = 0 to 4 {
    affine.store %zero, %o[%i] : memref<4xf32>
  }
  affine.for %i = 0 to 4 {
    affine.for %j = 0 to 24 {
      %a = affine.load %o[%i] : memref<4xf32>
      %b = affine.load %x[%i, %j] : memref<4x24xf32>
      %c = affine.load %m[%i] : memref<4xf32>
      %d = arith.subf %b, %c : f32
      %e = math.exp %d : f32
      %f = arith.addf %a, %e : f32
      affine.store %f, %o[%i] : memref<4xf32>
    }
  }
  return
}

// -----

func.func @not_divided(%x: memref<4x24xf32>, %o: memref<4xf32>) {
  %zero = arith.constant 0.0 : f32
  %least = arith.constant 0xFF800000 : f32
  %m = memref.alloc() : memref<4xf32>
  // expected-error @below {{the schedule computes reductions in parts, but the parts do not divide the common dimension, or its size is not known}}
  affine.for %i = 0 to 4 {
    affine.store %least, %m[%i] : memref<4xf32>
  } {tile.schedule = #tile.schedule<level = "grid", members = 4, ops = 4, step = 4, parts = 5, loops = [<loop = 7, tile = 1, spread = true>, <loop = 8, tile = 2, spread = true>]>}
  affine.for %i = 0 to 4 {
    affine.for %j = 0 to 24 {
      %a = affine.load %m[%i] : memref<4xf32>
      %b = affine.load %x[%i, %j] : memref<4x24xf32>
      %c = arith.maximumf %a, %b : f32
      affine.store %c, %m[%i] : memref<4xf32>
    }
  }
  affine.for %i = 0 to 4 {
    affine.store %zero, %o[%i] : memref<4xf32>
  }
  affine.for %i = 0 to 4 {
    affine.for %j = 0 to 24 {
      %a = affine.load %o[%i] : memref<4xf32>
      %b = affine.load %x[%i, %j] : memref<4x24xf32>
      %c = affine.load %m[%i] : memref<4xf32>
      %d = arith.subf %b, %c : f32
      %e = math.exp %d : f32
      %f = arith.addf %a, %e : f32
      affine.store %f, %o[%i] : memref<4xf32>
    }
  }
  return
}

// -----

func.func @held_before(%x: memref<4x24xf32>, %o: memref<4xf32>) {
  %least = arith.constant 0xFF800000 : f32
  %m = memref.alloc() : memref<4xf32>
  // expected-error @below {{the schedule computes reductions in parts, but a reduction does not begin with what a nest before it sets: a0[i] = addf over j of exp((a1[i, j] - a2[i]))}}
  affine.for %i = 0 to 4 {
    affine.store %least, %m[%i] : memref<4xf32>
  } {tile.schedule = #tile.schedule<level = "grid", members = 4, ops = 3, step = 4, parts = 2, loops = [<loop = 7, tile = 1, spread = true>, <loop = 8, tile = 2, spread = true>]>}
  affine.for %i = 0 to 4 {
    affine.for %j = 0 to 24 {
      %a = affine.load %m[%i] : memref<4xf32>
      %b = affine.load %x[%i, %j] : memref<4x24xf32>
      %c = arith.maximumf %a, %b : f32
      affine.store %c, %m[%i] : memref<4xf32>
    }
  }
  affine.for %i = 0 to 4 {
    affine.for %j = 0 to 24 {
      %a = affine.load %o[%i] : memref<4xf32>
      %b = affine.load %x[%i, %j] : memref<4x24xf32>
      %c = affine.load %m[%i] : memref<4xf32>
      %d = arith.subf %b, %c : f32
      %e = math.exp %d : f32
      %f = arith.addf %a, %e : f32
      affine.store %f, %o[%i] : memref<4xf32>
    }
  }
  return
}
