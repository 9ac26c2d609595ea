// RUN: tw-opt %s -split-input-file -tile-and-fuse -verify-diagnostics | FileCheck %s

// Sums that others see, and logarithms of them that no nest of the range reads: each member of the grid keeps the sums of its
// rows in an array of its own, computes their logarithms, and writes the sums once, when they are whole.
// CHECK-LABEL: func.func @logarithms
// CHECK: %[[KEPT:.*]] = memref.alloc() : memref<8xf32>
// CHECK: tile.parallel (%[[T:.*]]) to (2) level "grid"
// CHECK:   affine.for %[[I:.*]] = 0 to 4 {
// CHECK-NEXT: affine.store %{{.*}}, %[[KEPT]][%[[I]] + symbol(%[[T]]) * 4]
// CHECK:   affine.for %[[I:.*]] = 0 to 4 {
// CHECK-NEXT: affine.for %{{.*}} = 0 to 5 {
// CHECK:        affine.store %{{.*}}, %[[KEPT]][%[[I]] + symbol(%[[T]]) * 4]
// CHECK:   affine.for %[[I:.*]] = 0 to 4 {
// CHECK-NEXT: affine.load %[[KEPT]][%[[I]] + symbol(%[[T]]) * 4]
// CHECK-NEXT: math.log
// CHECK-NEXT: affine.store %{{.*}}, %arg2[%[[I]] + symbol(%[[T]]) * 4]
// CHECK:   affine.for %[[I:.*]] = 0 to 4 {
// CHECK-NEXT: affine.for %{{.*}} = 0 to 5 {
// CHECK:        affine.store %{{.*}}, %arg3
// CHECK:   affine.for %[[I:.*]] = 0 to 4 {
// CHECK-NEXT: %[[S:.*]] = affine.load %[[KEPT]][%[[I]] + symbol(%[[T]]) * 4]
// CHECK-NEXT: affine.store %[[S]], %arg1[%[[I]] + symbol(%[[T]]) * 4]
// CHECK-NEXT: }
// CHECK-NEXT: }
// CHECK-NEXT: return
func.func @logarithms(%x: memref<8x5xf32>, %sum: memref<8xf32>, %log: memref<8xf32>, %o: memref<8x5xf32>) {
  %zero = arith.constant 0.0 : f32
  affine.for %i = 0 to 8 {
    affine.store %zero, %sum[%i] : memref<8xf32>
  } {tile.schedule = #tile.schedule<level = "grid", members = 2, ops = 4, loops = [<loop = 4, tile = 4, spread = true>]>}
  affine.for %i = 0 to 8 {
    affine.for %j = 0 to 5 {
      %a = affine.load %sum[%i] : memref<8xf32>
      %b = affine.load %x[%i, %j] : memref<8x5xf32>
      %c = arith.addf %a, %b : f32
      affine.store %c, %sum[%i] : memref<8xf32>
    }
  }
  affine.for %i = 0 to 8 {
    %a = affine.load %sum[%i] : memref<8xf32>
    %b = math.log %a : f32
    affine.store %b, %log[%i] : memref<8xf32>
  }
  affine.for %i = 0 to 8 {
    affine.for %j = 0 to 5 {
      %a = affine.load %x[%i, %j] : memref<8x5xf32>
      %b = affine.load %sum[%i] : memref<8xf32>
      %c = arith.divf %a, %b : f32
      affine.store %c, %o[%i, %j] : memref<8x5xf32>
    }
  }
  return
}

// -----

// What the array held before is read first.
// CHECK-LABEL: func.func @added
// CHECK: %[[KEPT:.*]] = memref.alloc() : memref<8xf32>
// CHECK: tile.parallel (%[[T:.*]]) to (2) level "grid"
// CHECK-NEXT: affine.for %[[I:.*]] = 0 to 4 {
// CHECK-NEXT:   %[[S:.*]] = affine.load %arg1[%[[I]] + symbol(%[[T]]) * 4]
// CHECK-NEXT:   affine.store %[[S]], %[[KEPT]][%[[I]] + symbol(%[[T]]) * 4]
// CHECK:      affine.load %[[KEPT]]
// CHECK:      affine.store %{{.*}}, %[[KEPT]]
// CHECK:      affine.load %[[KEPT]]
// CHECK:      affine.store %{{.*}}, %arg2
// CHECK:      affine.load %[[KEPT]]
// CHECK-NEXT: affine.store %{{.*}}, %arg1
func.func @added(%x: memref<8x5xf32>, %sum: memref<8xf32>, %o: memref<8xf32>) {
  affine.for %i = 0 to 8 {
    affine.for %j = 0 to 5 {
      %a = affine.load %sum[%i] : memref<8xf32>
      %b = affine.load %x[%i, %j] : memref<8x5xf32>
      %c = arith.addf %a, %b : f32
      affine.store %c, %sum[%i] : memref<8xf32>
    }
  } {tile.schedule = #tile.schedule<level = "grid", members = 2, ops = 2, loops = [<loop = 2, tile = 4, spread = true>]>}
  affine.for %i = 0 to 8 {
    %a = affine.load %sum[%i] : memref<8xf32>
    %b = arith.mulf %a, %a : f32
    affine.store %b, %o[%i] : memref<8xf32>
  }
  return
}

// -----

// A single nest of two stores stays as it is: what it stores is computed once.
// CHECK-LABEL: func.func @twice
// CHECK: tile.parallel (%[[T:.*]]) to (8) level "grid"
// CHECK-NEXT: affine.load %arg0
// CHECK-NEXT: affine.load %arg1
// CHECK-NEXT: %[[V:.*]] = arith.addf
// CHECK-NEXT: affine.store %[[V]], %arg1
// CHECK-NEXT: affine.store %[[V]], %arg2
// CHECK-NEXT: }
func.func @twice(%x: memref<8xf32>, %sum: memref<8xf32>, %o: memref<8xf32>) {
  affine.for %i = 0 to 8 {
    %a = affine.load %x[%i] : memref<8xf32>
    %b = affine.load %sum[%i] : memref<8xf32>
    %c = arith.addf %a, %b : f32
    affine.store %c, %sum[%i] : memref<8xf32>
    affine.store %c, %o[%i] : memref<8xf32>
  } {tile.schedule = #tile.schedule<level = "grid", members = 8, loops = [<loop = 0, tile = 1, spread = true>]>}
  return
}

// -----

func.func @apart(%x: memref<8xf32>, %a: memref<8xf32>, %o: memref<8xf32>) {
  %zero = arith.constant 0.0 : f32
  // expected-error @below {{a nest before it has a result of its own, and reads nothing that others of the tile compute}}
  affine.for %i = 0 to 8 {
    affine.store %zero, %a[%i] : memref<8xf32>
  } {tile.schedule = #tile.schedule<level = "grid", members = 2, ops = 2, loops = [<loop = 1, tile = 4, spread = true>]>}
  affine.for %i = 0 to 8 {
    %b = affine.load %x[%i] : memref<8xf32>
    affine.store %b, %o[%i] : memref<8xf32>
  }
  return
}

// -----

func.func @a_part_of_it(%x: memref<8xf32>, %a: memref<8xf32>, %o: memref<4xf32>) {
  // expected-error @below {{tiles do not write all of a result of a nest before the last one}}
  affine.for %i = 0 to 8 {
    %b = affine.load %x[%i] : memref<8xf32>
    affine.store %b, %a[%i] : memref<8xf32>
  } {tile.schedule = #tile.schedule<level = "grid", members = 2, ops = 2, loops = [<loop = 1, tile = 2, spread = true>]>}
  affine.for %i = 0 to 4 {
    %b = affine.load %a[%i] : memref<8xf32>
    affine.store %b, %o[%i] : memref<4xf32>
  }
  return
}

// -----

// Sums over what the tiles cut: each tile would have a part of them.
func.func @parts(%x: memref<8x5xf32>, %sums: memref<5xf32>, %o: memref<8x5xf32>) {
  %zero = arith.constant 0.0 : f32
  %e = memref.alloc() : memref<8x5xf32>
  // expected-error @below {{each tile has a part of what a nest with a result of its own sums up}}
  affine.for %i = 0 to 8 { affine.for %j = 0 to 5 {
    %a = affine.load %x[%i, %j] : memref<8x5xf32>
    %b = math.exp %a : f32
    affine.store %b, %e[%i, %j] : memref<8x5xf32>
  } } {tile.schedule = #tile.schedule<level = "grid", members = 2, ops = 4, loops = [<loop = 5, tile = 4, spread = true>]>}
  affine.for %j = 0 to 5 { affine.store %zero, %sums[%j] : memref<5xf32> }
  affine.for %j = 0 to 5 { affine.for %i = 0 to 8 {
    %a = affine.load %sums[%j] : memref<5xf32>
    %b = affine.load %e[%i, %j] : memref<8x5xf32>
    %c = arith.addf %a, %b : f32
    affine.store %c, %sums[%j] : memref<5xf32>
  } }
  affine.for %i = 0 to 8 { affine.for %j = 0 to 5 {
    %a = affine.load %e[%i, %j] : memref<8x5xf32>
    %b = arith.addf %a, %a : f32
    affine.store %b, %o[%i, %j] : memref<8x5xf32>
  } }
  return
}

// -----

// A result that reads an input which the tiles know, and an array that they compute: its rows are those of the array.
// CHECK-LABEL: func.func @after_input
// CHECK: tile.parallel (%[[T:.*]]) to (2) level "grid"
// CHECK:   affine.store %{{.*}}, %[[E:.*]][%{{.*}} + symbol(%[[T]]) * 4]
// CHECK:   affine.for %[[I:.*]] = 0 to 4 {
// CHECK-NEXT: affine.for %[[J:.*]] = 0 to 8 {
// CHECK-NEXT: affine.load %[[E]][%[[I]] + symbol(%[[T]]) * 4]
// CHECK-NEXT: affine.load %arg0[%[[J]]]
// CHECK:      affine.store %{{.*}}, %arg1[%[[I]] + symbol(%[[T]]) * 4, %[[J]]]
func.func @after_input(%x: memref<8xf32>, %p: memref<8x8xf32>, %o: memref<8xf32>) {
  %e = memref.alloc() : memref<8xf32>
  affine.for %i = 0 to 8 {
    %a = affine.load %x[%i] : memref<8xf32>
    %b = math.exp %a : f32
    affine.store %b, %e[%i] : memref<8xf32>
  } {tile.schedule = #tile.schedule<level = "grid", members = 2, ops = 3, loops = [<loop = 3, tile = 4, spread = true>]>}
  affine.for %i = 0 to 8 { affine.for %j = 0 to 8 {
    %a = affine.load %e[%i] : memref<8xf32>
    %b = affine.load %x[%j] : memref<8xf32>
    %c = arith.mulf %a, %b : f32
    affine.store %c, %p[%i, %j] : memref<8x8xf32>
  } }
  affine.for %i = 0 to 8 {
    %a = affine.load %x[%i] : memref<8xf32>
    %b = affine.load %e[%i] : memref<8xf32>
    %c = arith.addf %a, %b : f32
    affine.store %c, %o[%i] : memref<8xf32>
  }
  return
}
