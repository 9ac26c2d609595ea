// RUN: tw-opt %s -split-input-file -tile-and-fuse -verify-diagnostics | FileCheck %s

// Whole tiles are shared out in neighbours; the last member takes the smaller tile.
// CHECK-DAG: #[[FIRST:.*]] = affine_map<()[s0] -> (s0 * 2)>
// CHECK-DAG: #[[END:.*]] = affine_map<()[s0] -> (s0 * 2 + 2, 6)>
// CHECK-DAG: #[[LAST:.*]] = affine_map<()[s0] -> (s0 floordiv 3 + 6)>
// CHECK-LABEL: func.func @spread
// CHECK: tile.parallel (%[[C:.*]]) to (4) level "core" attributes {schedule = #tile.schedule
// CHECK:   affine.for %[[T:.*]] = #[[FIRST]]()[%[[C]]] to min #[[END]]()[%[[C]]] {
// CHECK:     affine.for %[[I:.*]] = 0 to 16 {
// CHECK:       affine.for %[[J:.*]] = 0 to 300
// CHECK:         affine.store %{{.*}}, %{{.*}}[%[[T]] * 16 + %[[I]], %[[J]]]
// CHECK:   } {tile.at = 0 : i64}
// CHECK:   affine.for %{{.*}} = 6 to #[[LAST]]()[%[[C]]] {
// CHECK:     affine.for %{{.*}} = 0 to 4 {
// CHECK:   } {tile.at = 0 : i64}
func.func @spread(%a: memref<100x300xf32>) {
  %x = arith.constant 1.0 : f32
  affine.for %i = 0 to 100 {
    affine.for %j = 0 to 300 {
      affine.store %x, %a[%i, %j] : memref<100x300xf32>
    }
  } {tile.schedule = #tile.schedule<level = "core", members = 4, loops = [<loop = 0, tile = 16, spread = true>]>}
  return
}

// -----

// Loops over tiles stand outside of all loops of a tile, also of one that was outside before. Of a dynamic size both kinds
// of tile are there.
// CHECK-LABEL: func.func @interchanged
// CHECK: tile.parallel (%{{.*}}) to (1) level "core"
// CHECK:   affine.for %{{.*}} = 0 to #{{.*}}()[%{{.*}}] {
// CHECK:     affine.for %{{.*}} = 0 to 8 {
// CHECK:       affine.for %{{.*}} = 0 to 64 {
// CHECK:   } {tile.at = 1 : i64}
// CHECK:   affine.for %{{.*}} = #{{.*}}()[%{{.*}}] to #{{.*}}()[%{{.*}}] {
// CHECK:     affine.for %{{.*}} = 0 to 8 {
// CHECK:       affine.for %{{.*}} = 0 to #{{.*}}()[%{{.*}}] {
// CHECK:   } {tile.at = 1 : i64}
func.func @interchanged(%a: memref<8x?xf32>, %n: index) {
  %x = arith.constant 1.0 : f32
  affine.for %i = 0 to 8 {
    affine.for %j = 0 to %n {
      affine.store %x, %a[%i, %j] : memref<8x?xf32>
    }
  } {tile.schedule = #tile.schedule<level = "core", members = 1, loops = [<loop = 1, tile = 64>]>}
  return
}

// -----

// A loop inside of the band is cut where it stands, in whole tiles and in the smaller one. A tile of one iteration has no
// loop.
// CHECK-LABEL: func.func @inside
// CHECK: tile.parallel
// CHECK:   affine.for %[[I:.*]] = #{{.*}} to
// CHECK-NEXT: affine.store %{{.*}}, %{{.*}}[%[[I]]]
// CHECK:     affine.for %{{.*}} = 0 to 3 {
// CHECK:       affine.for %{{.*}} = 0 to 32 {
// CHECK:     } {tile.at = 1 : i64}
// CHECK:     affine.for %{{.*}} = 3 to 4 {
// CHECK:       affine.for %{{.*}} = 0 to 4 {
// CHECK:     } {tile.at = 1 : i64}
func.func @inside(%a: memref<4x100xf32>, %s: memref<4xf32>) {
  %x = arith.constant 1.0 : f32
  affine.for %i = 0 to 4 {
    affine.store %x, %s[%i] : memref<4xf32>
    affine.for %j = 0 to 100 {
      affine.store %x, %a[%i, %j] : memref<4x100xf32>
    }
  } {tile.schedule = #tile.schedule<level = "core", members = 2, loops = [<loop = 0, tile = 1, spread = true>, <loop = 1, tile = 32>]>}
  return
}

// -----

func.func @carries(%a: memref<16xf32>, %b: memref<f32>) {
  %zero = arith.constant 0.0 : f32
  // expected-error @below {{the schedule cuts loop 0, but there are 1 loops here, and only those of the last operation from 0 in steps of 1 that carry no value can be cut}}
  %s = affine.for %i = 0 to 16 iter_args(%sum = %zero) -> f32 {
    %x = affine.load %a[%i] : memref<16xf32>
    %y = arith.addf %sum, %x : f32
    affine.yield %y : f32
  } {tile.schedule = #tile.schedule<level = "core", members = 1, loops = [<loop = 0, tile = 4>]>}
  affine.store %s, %b[] : memref<f32>
  return
}

// -----

// A nest before the tiled one is computed in its tiles: three rows of %t for two of %b, all columns.
// CHECK-LABEL: func.func @slices
// CHECK: tile.parallel (%{{.*}}) to (2) level "core"
// CHECK:   affine.for %[[T:.*]] = #{{.*}} to
// CHECK:     affine.for %[[I:.*]] = 0 to 3 {
// CHECK:       affine.for %[[J:.*]] = 0 to 32 {
// CHECK:         affine.load %arg0[%[[T]] * 2 + %[[I]], %[[J]]]
// CHECK:         affine.store %{{.*}}, %{{.*}}[%[[T]] * 2 + %[[I]], %[[J]]]
// CHECK:     affine.for %[[I:.*]] = 0 to 2 {
// CHECK:       affine.load %{{.*}}[%[[T]] * 2 + %[[I]] + 1, %{{.*}}]
// CHECK-NOT: affine.for
func.func @slices(%a: memref<9x32xf32>, %b: memref<8x32xf32>) {
  %t = memref.alloc() : memref<9x32xf32>
  affine.for %i = 0 to 9 {
    affine.for %j = 0 to 32 {
      %x = affine.load %a[%i, %j] : memref<9x32xf32>
      affine.store %x, %t[%i, %j] : memref<9x32xf32>
    }
  } {tile.schedule = #tile.schedule<level = "core", members = 2, ops = 2, loops = [<loop = 2, tile = 2, spread = true>]>}
  affine.for %i = 0 to 8 {
    affine.for %j = 0 to 32 {
      %x = affine.load %t[%i, %j] : memref<9x32xf32>
      %y = affine.load %t[%i + 1, %j] : memref<9x32xf32>
      %z = arith.addf %x, %y : f32
      affine.store %z, %b[%i, %j] : memref<8x32xf32>
    }
  }
  return
}

// -----

// Tiles of channels need all rows of the padded array: its border, which another nest writes, and all rows inside.
// CHECK-LABEL: func.func @padded
// CHECK: tile.parallel
// CHECK:   affine.for %[[T:.*]] = 0 to 2 {
// CHECK:     affine.for %[[C:.*]] = 0 to 2 {
// CHECK-NEXT:  affine.for %[[B:.*]] = 0 to 1 {
// CHECK:         affine.store %{{.*}}, %{{.*}}[%[[T]] * 2 + %[[C]], %[[B]]]
// CHECK:         affine.store %{{.*}}, %{{.*}}[%[[T]] * 2 + %[[C]], %[[B]] + 9]
// CHECK:     affine.for %[[C:.*]] = 0 to 2 {
// CHECK-NEXT:  affine.for %[[I:.*]] = 0 to 8 {
// CHECK:         affine.store %{{.*}}, %{{.*}}[%[[T]] * 2 + %[[C]], %[[I]] + 1]
// CHECK:     affine.for %[[C:.*]] = 0 to 2 {
// CHECK-NEXT:  affine.for %[[I:.*]] = 0 to 8 {
// CHECK:         affine.load %{{.*}}[%[[T]] * 2 + %[[C]], %[[I]] + 2]
func.func @padded(%a: memref<4x8xf32>, %b: memref<4x8xf32>) {
  %zero = arith.constant 0.0 : f32
  %t = memref.alloc() : memref<4x10xf32>
  affine.for %c = 0 to 4 {
    affine.for %i = 0 to 1 {
      affine.store %zero, %t[%c, %i] : memref<4x10xf32>
      affine.store %zero, %t[%c, %i + 9] : memref<4x10xf32>
    }
  } {tile.schedule = #tile.schedule<level = "core", members = 1, ops = 3, loops = [<loop = 4, tile = 2>]>}
  affine.for %c = 0 to 4 {
    affine.for %i = 0 to 8 {
      %x = affine.load %a[%c, %i] : memref<4x8xf32>
      affine.store %x, %t[%c, %i + 1] : memref<4x10xf32>
    }
  }
  affine.for %c = 0 to 4 {
    affine.for %i = 0 to 8 {
      %x = affine.load %t[%c, %i] : memref<4x10xf32>
      %y = affine.load %t[%c, %i + 2] : memref<4x10xf32>
      %z = arith.addf %x, %y : f32
      affine.store %z, %b[%c, %i] : memref<4x8xf32>
    }
  }
  return
}

// -----

// Tiles of rows reach a part of the border: the nest that writes the inside has no iterations for it.
func.func @part_of_a_border(%a: memref<8xf32>, %b: memref<8xf32>) {
  %zero = arith.constant 0.0 : f32
  %t = memref.alloc() : memref<10xf32>
  // expected-error @below {{the schedule computes a nest in tiles of another one, but tiles touch elements that a nest before it does not write, such as padding}}
  affine.for %i = 0 to 10 {
    affine.store %zero, %t[%i] : memref<10xf32>
  } {tile.schedule = #tile.schedule<level = "core", members = 1, ops = 3, loops = [<loop = 2, tile = 2>]>}
  affine.for %i = 0 to 8 {
    %x = affine.load %a[%i] : memref<8xf32>
    affine.store %x, %t[%i + 1] : memref<10xf32>
  }
  affine.for %i = 0 to 8 {
    %x = affine.load %t[%i] : memref<10xf32>
    %y = affine.load %t[%i + 2] : memref<10xf32>
    %z = arith.addf %x, %y : f32
    affine.store %z, %b[%i] : memref<8xf32>
  }
  return
}

// -----

// The iterations that a slice needs are found through the store: it must name a loop in each index.
func.func @flattened(%a: memref<4x8xf32>, %b: memref<32xf32>) {
  %t = memref.alloc() : memref<32xf32>
  // expected-error @below {{the schedule computes a nest in tiles of another one, but a result of a nest before it is not indexed by a loop and a constant}}
  affine.for %i = 0 to 4 {
    affine.for %j = 0 to 8 {
      %x = affine.load %a[%i, %j] : memref<4x8xf32>
      affine.store %x, %t[%i * 8 + %j] : memref<32xf32>
    }
  } {tile.schedule = #tile.schedule<level = "core", members = 1, ops = 2, loops = [<loop = 2, tile = 8>]>}
  affine.for %i = 0 to 32 {
    %x = affine.load %t[%i] : memref<32xf32>
    affine.store %x, %b[%i] : memref<32xf32>
  }
  return
}

// -----

// Each member of a grid has one tile, the last of each loop a smaller one; so have the nests before it.
// CHECK: #[[ROWS:.*]] = affine_map<()[s0] -> (4, s0 * -4 + 10)>
// CHECK-LABEL: func.func @smaller_tiles
// CHECK:         tile.parallel (%[[H:.*]], %[[T:.*]]) to (2, 3) level "block"
// CHECK:           %[[N:.*]] = affine.min #[[ROWS]]()[%[[T]]]
// CHECK:           affine.for %[[I:.*]] = 0 to %[[N]] {
// CHECK:             affine.load %arg0
// CHECK:           affine.for %[[I:.*]] = 0 to %[[N]] {
// CHECK:             affine.store %{{.*}}, %arg1[symbol(%[[H]]), %[[I]] + symbol(%[[T]]) * 4]
func.func @smaller_tiles(%a: memref<2x10xf32>, %b: memref<2x10xf32>) {
  %t = memref.alloc() : memref<2x10xf32>
  affine.for %h = 0 to 2 {
    affine.for %i = 0 to 10 {
      %x = affine.load %a[%h, %i] : memref<2x10xf32>
      %y = arith.negf %x : f32
      affine.store %y, %t[%h, %i] : memref<2x10xf32>
    }
  } {tile.schedule = #tile.schedule<level = "block", members = 6, ops = 2, loops = [<loop = 2, tile = 1, spread = true>, <loop = 3, tile = 4, spread = true>]>}
  affine.for %h = 0 to 2 {
    affine.for %i = 0 to 10 {
      %x = affine.load %t[%h, %i] : memref<2x10xf32>
      affine.store %x, %b[%h, %i] : memref<2x10xf32>
    }
  }
  return
}

// -----

// As many members as there are tiles.
// CHECK: #[[ROWS:.*]] = affine_map<()[s0, s1] -> (4, s1 * -4 + s0)>
// CHECK-LABEL: func.func @tiles_of_any_size
// CHECK:         tile.parallel (%[[T:.*]]) to (symbol(%[[N:.*]]) ceildiv 4) level "block"
// CHECK:           %[[SIZE:.*]] = affine.min #[[ROWS]]()[%[[N]], %[[T]]]
// CHECK:           affine.for %[[I:.*]] = 0 to %[[SIZE]] {
// CHECK:             arith.negf
// CHECK:           affine.for %[[I:.*]] = 0 to %[[SIZE]] {
// CHECK:             affine.store %{{.*}}, %arg1
func.func @tiles_of_any_size(%a: memref<?xf32>, %b: memref<?xf32>, %n: index) {
  %t = memref.alloc(%n) : memref<?xf32>
  affine.for %i = 0 to %n {
    %x = affine.load %a[%i] : memref<?xf32>
    %y = arith.negf %x : f32
    affine.store %y, %t[%i] : memref<?xf32>
  } {tile.schedule = #tile.schedule<level = "block", members = 0, ops = 2, loops = [<loop = 1, tile = 4, spread = true>]>}
  affine.for %i = 0 to %n {
    %x = affine.load %t[%i] : memref<?xf32>
    affine.store %x, %b[%i] : memref<?xf32>
  }
  return
}
