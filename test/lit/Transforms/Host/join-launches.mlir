// RUN: tw-opt %s -join-launches -canonicalize -split-input-file | FileCheck %s

// Three grids that do the same with other arrays; what they share is not chosen. Allocations between do not matter.

// CHECK-LABEL: func @equal(
// CHECK-SAME: %[[X:.*]]: memref<64xf32>, %[[A:.*]]: memref<64xf32>, %[[B:.*]]: memref<64xf32>, %[[C:.*]]: memref<64xf32>, %[[P:.*]]: memref<64xf32>
// CHECK: %[[Q:.*]] = memref.alloc
// CHECK: %[[R:.*]] = memref.alloc
// CHECK: tile.parallel (%[[N:.*]], %[[I:.*]]) to (3, 2) level "grid"
// CHECK-SAME: tilewright.residency = 8
// CHECK: %[[FIRST:.*]] = arith.cmpi eq, %[[N]], %c0
// CHECK: %[[SECOND:.*]] = arith.cmpi eq, %[[N]], %c1
// CHECK: %[[BC:.*]] = arith.select %[[SECOND]], %[[B]], %[[C]]
// CHECK: %[[ABC:.*]] = arith.select %[[FIRST]], %[[A]], %[[BC]]
// CHECK: %[[QR:.*]] = arith.select %[[SECOND]], %[[Q]], %[[R]]
// CHECK: %[[PQR:.*]] = arith.select %[[FIRST]], %[[P]], %[[QR]]
// CHECK: memref.load %[[X]]
// CHECK: memref.load %[[ABC]]
// CHECK: memref.store %{{.*}}, %[[PQR]]
// CHECK-NOT: tile.parallel ({{.*}} level "grid"
#map = affine_map<(d0, d1, d2) -> (d0 * 32 + d1 * 32 + d2)>
module attributes {tilewright.target = "nvidia:A100"} {
  func.func @equal(%x: memref<64xf32>, %a: memref<64xf32>, %b: memref<64xf32>, %c: memref<64xf32>, %p: memref<64xf32>) {
    tile.parallel (%i) to (2) level "grid" attributes {tilewright.residency = 8 : i64} {
      tile.parallel (%s) to (1) level "block" {
        tile.parallel (%l) to (32) level "subgroup" {
          %at = affine.apply #map(%i, %s, %l)
          %u = memref.load %x[%at] : memref<64xf32>
          %v = memref.load %a[%at] : memref<64xf32>
          %w = arith.mulf %u, %v : f32
          memref.store %w, %p[%at] : memref<64xf32>
        }
      }
    }
    %q = memref.alloc() : memref<64xf32>
    tile.parallel (%i) to (2) level "grid" attributes {tilewright.residency = 8 : i64} {
      tile.parallel (%s) to (1) level "block" {
        tile.parallel (%l) to (32) level "subgroup" {
          %at = affine.apply #map(%i, %s, %l)
          %u = memref.load %x[%at] : memref<64xf32>
          %v = memref.load %b[%at] : memref<64xf32>
          %w = arith.mulf %u, %v : f32
          memref.store %w, %q[%at] : memref<64xf32>
        }
      }
    }
    %r = memref.alloc() : memref<64xf32>
    tile.parallel (%i) to (2) level "grid" attributes {tilewright.residency = 8 : i64} {
      tile.parallel (%s) to (1) level "block" {
        tile.parallel (%l) to (32) level "subgroup" {
          %at = affine.apply #map(%i, %s, %l)
          %u = memref.load %x[%at] : memref<64xf32>
          %v = memref.load %c[%at] : memref<64xf32>
          %w = arith.mulf %u, %v : f32
          memref.store %w, %r[%at] : memref<64xf32>
        }
      }
    }
    return
  }
}

// -----

// A grid that reads what the other one writes stays behind it; so does one that writes over what the other one reads.

// CHECK-LABEL: func @dependent(
// CHECK-COUNT-3: tile.parallel ({{.*}}) to (2) level "grid"
#map = affine_map<(d0, d1, d2) -> (d0 * 32 + d1 * 32 + d2)>
module attributes {tilewright.target = "nvidia:A100"} {
  func.func @dependent(%x: memref<64xf32>, %p: memref<64xf32>, %q: memref<64xf32>) {
    tile.parallel (%i) to (2) level "grid" {
      tile.parallel (%s) to (1) level "block" {
        tile.parallel (%l) to (32) level "subgroup" {
          %at = affine.apply #map(%i, %s, %l)
          %u = memref.load %x[%at] : memref<64xf32>
          memref.store %u, %p[%at] : memref<64xf32>
        }
      }
    }
    tile.parallel (%i) to (2) level "grid" {
      tile.parallel (%s) to (1) level "block" {
        tile.parallel (%l) to (32) level "subgroup" {
          %at = affine.apply #map(%i, %s, %l)
          %u = memref.load %p[%at] : memref<64xf32>
          memref.store %u, %q[%at] : memref<64xf32>
        }
      }
    }
    tile.parallel (%i) to (2) level "grid" {
      tile.parallel (%s) to (1) level "block" {
        tile.parallel (%l) to (32) level "subgroup" {
          %at = affine.apply #map(%i, %s, %l)
          %u = memref.load %q[%at] : memref<64xf32>
          memref.store %u, %x[%at] : memref<64xf32>
        }
      }
    }
    return
  }
}

// -----

// A grid of three indices has no room for a fourth; other bounds, other constants and other types are other grids.

// CHECK-LABEL: func @three_indices(
// CHECK: tile.parallel (%[[N:.*]], %{{.*}}, %{{.*}}) to (6, 2, 4) level "grid"
// CHECK: arith.remui %[[N]], %c3
// CHECK: arith.divui %[[N]], %c3
// CHECK: tile.parallel ({{.*}}) to (3, 2, 5) level "grid"
#map = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2 * 32 + d3)>
module attributes {tilewright.target = "nvidia:A100"} {
  func.func @three_indices(%a: memref<3x2x160xf32>, %b: memref<3x2x160xf32>, %p: memref<3x2x160xf32>, %q: memref<3x2x160xf32>, %r: memref<3x2x160xf32>) {
    tile.parallel (%h, %i, %j) to (3, 2, 4) level "grid" {
      tile.parallel (%s) to (1) level "block" {
        tile.parallel (%l) to (32) level "subgroup" {
          %at = affine.apply affine_map<(d0, d1) -> (d0 * 32 + d1)>(%j, %l)
          %u = memref.load %a[%h, %i, %at] : memref<3x2x160xf32>
          memref.store %u, %p[%h, %i, %at] : memref<3x2x160xf32>
        }
      }
    }
    tile.parallel (%h, %i, %j) to (3, 2, 4) level "grid" {
      tile.parallel (%s) to (1) level "block" {
        tile.parallel (%l) to (32) level "subgroup" {
          %at = affine.apply affine_map<(d0, d1) -> (d0 * 32 + d1)>(%j, %l)
          %u = memref.load %b[%h, %i, %at] : memref<3x2x160xf32>
          memref.store %u, %q[%h, %i, %at] : memref<3x2x160xf32>
        }
      }
    }
    tile.parallel (%h, %i, %j) to (3, 2, 5) level "grid" {
      tile.parallel (%s) to (1) level "block" {
        tile.parallel (%l) to (32) level "subgroup" {
          %at = affine.apply affine_map<(d0, d1) -> (d0 * 32 + d1)>(%j, %l)
          %u = memref.load %b[%h, %i, %at] : memref<3x2x160xf32>
          memref.store %u, %r[%h, %i, %at] : memref<3x2x160xf32>
        }
      }
    }
    return
  }
}

// -----

// Columns of one array, and rows of tables with numbers of their own: places and numbers are chosen, too. %c1 is the
// column of the second grid and a bound in both.

// CHECK-LABEL: func @columns(
// CHECK-SAME: %[[X:.*]]: memref<64x4xi64>, %[[A:.*]]: memref<50xf32>, %[[B:.*]]: memref<50xf32>
// CHECK: tile.parallel (%[[N:.*]], %{{.*}}) to (2, 2) level "grid"
// CHECK-DAG: %[[COLUMN:.*]] = arith.select %{{.*}}, %c3, %c1
// CHECK-DAG: %[[LAST:.*]] = arith.select %{{.*}}, %c49_i64, %c29_i64
// CHECK-DAG: %[[TABLE:.*]] = arith.select %{{.*}}, %[[A]], %[[B]]
// CHECK: arith.cmpi uge, %{{.*}}, %c1
// CHECK: memref.load %[[X]][%{{.*}}, %[[COLUMN]]]
// CHECK: arith.minsi %{{.*}}, %[[LAST]]
// CHECK: memref.load %[[TABLE]]
// CHECK-NOT: tile.parallel ({{.*}} level "grid"
#map = affine_map<(d0, d1, d2) -> (d0 * 32 + d1 * 32 + d2)>
module attributes {tilewright.target = "nvidia:A100"} {
  func.func @columns(%x: memref<64x4xi64>, %a: memref<50xf32>, %b: memref<50xf32>, %p: memref<64xf32>, %q: memref<64xf32>) {
    %c1 = arith.constant 1 : index
    %c3 = arith.constant 3 : index
    %c29 = arith.constant 29 : i64
    %c49 = arith.constant 49 : i64
    tile.parallel (%i) to (2) level "grid" {
      tile.parallel (%s) to (1) level "block" {
        tile.parallel (%l) to (32) level "subgroup" {
          %at = affine.apply #map(%i, %s, %l)
          %is = arith.cmpi uge, %at, %c1 : index
          scf.if %is {
            %k = memref.load %x[%at, %c3] : memref<64x4xi64>
            %m = arith.minsi %k, %c49 : i64
            %r = arith.index_cast %m : i64 to index
            %u = memref.load %a[%r] : memref<50xf32>
            memref.store %u, %p[%at] : memref<64xf32>
          }
        }
      }
    }
    tile.parallel (%i) to (2) level "grid" {
      tile.parallel (%s) to (1) level "block" {
        tile.parallel (%l) to (32) level "subgroup" {
          %at = affine.apply #map(%i, %s, %l)
          %is = arith.cmpi uge, %at, %c1 : index
          scf.if %is {
            %k = memref.load %x[%at, %c1] : memref<64x4xi64>
            %m = arith.minsi %k, %c29 : i64
            %r = arith.index_cast %m : i64 to index
            %u = memref.load %b[%r] : memref<50xf32>
            memref.store %u, %q[%at] : memref<64xf32>
          }
        }
      }
    }
    return
  }
}

// -----

// Constants that a division has, or a bound of a loop, stay constants: these are other grids.

// CHECK-LABEL: func @sizes(
// CHECK-COUNT-3: tile.parallel ({{.*}}) to (2) level "grid"
module attributes {tilewright.target = "nvidia:A100"} {
  func.func @sizes(%x: memref<64xf32>, %p: memref<64xf32>, %q: memref<64xf32>, %r: memref<64xf32>) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %c3 = arith.constant 3 : index
    tile.parallel (%i) to (2) level "grid" {
      tile.parallel (%s) to (1) level "block" {
        tile.parallel (%l) to (32) level "subgroup" {
          scf.for %k = %c0 to %c2 step %c1 {
            %at = arith.divui %l, %c2 : index
            %u = memref.load %x[%at] : memref<64xf32>
            memref.store %u, %p[%l] : memref<64xf32>
          }
        }
      }
    }
    tile.parallel (%i) to (2) level "grid" {
      tile.parallel (%s) to (1) level "block" {
        tile.parallel (%l) to (32) level "subgroup" {
          scf.for %k = %c0 to %c3 step %c1 {
            %at = arith.divui %l, %c2 : index
            %u = memref.load %x[%at] : memref<64xf32>
            memref.store %u, %q[%l] : memref<64xf32>
          }
        }
      }
    }
    tile.parallel (%i) to (2) level "grid" {
      tile.parallel (%s) to (1) level "block" {
        tile.parallel (%l) to (32) level "subgroup" {
          scf.for %k = %c0 to %c2 step %c1 {
            %at = arith.divui %l, %c3 : index
            %u = memref.load %x[%at] : memref<64xf32>
            memref.store %u, %r[%l] : memref<64xf32>
          }
        }
      }
    }
    return
  }
}

// -----

// Parts of one array: columns 8 to 15 and 16 to 23 are others; 20 to 27 are not, and stay where they are.

// CHECK-LABEL: func @parts(
// CHECK: tile.parallel ({{.*}}) to (2, 1) level "grid"
// CHECK: arith.select %{{.*}}, %c8{{.*}}, %c16
// CHECK: tile.parallel ({{.*}}) to (1) level "grid"
module attributes {tilewright.target = "nvidia:A100"} {
  func.func @parts(%x: memref<4x8xf32>, %y: memref<4x8xf32>, %z: memref<4x8xf32>, %p: memref<4x40xf32>) {
    %c8 = arith.constant 8 : index
    %c16 = arith.constant 16 : index
    %c20 = arith.constant 20 : index
    tile.parallel (%i) to (1) level "grid" {
      tile.parallel (%s) to (1) level "block" {
        tile.parallel (%l) to (32) level "subgroup" {
          %c = arith.remui %l, %c8 : index
          %r = arith.divui %l, %c8 : index
          %to = arith.addi %c, %c8 : index
          %u = memref.load %x[%r, %c] : memref<4x8xf32>
          memref.store %u, %p[%r, %to] : memref<4x40xf32>
        }
      }
    }
    tile.parallel (%i) to (1) level "grid" {
      tile.parallel (%s) to (1) level "block" {
        tile.parallel (%l) to (32) level "subgroup" {
          %c = arith.remui %l, %c8 : index
          %r = arith.divui %l, %c8 : index
          %to = arith.addi %c, %c16 : index
          %u = memref.load %y[%r, %c] : memref<4x8xf32>
          memref.store %u, %p[%r, %to] : memref<4x40xf32>
        }
      }
    }
    tile.parallel (%i) to (1) level "grid" {
      tile.parallel (%s) to (1) level "block" {
        tile.parallel (%l) to (32) level "subgroup" {
          %c = arith.remui %l, %c8 : index
          %r = arith.divui %l, %c8 : index
          %to = arith.addi %c, %c20 : index
          %u = memref.load %z[%r, %c] : memref<4x8xf32>
          memref.store %u, %p[%r, %to] : memref<4x40xf32>
        }
      }
    }
    return
  }
}
