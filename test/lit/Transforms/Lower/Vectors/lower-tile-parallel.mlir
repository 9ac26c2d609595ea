// RUN: tw-opt %s -split-input-file -lower-tile-parallel -verify-diagnostics | FileCheck %s

module attributes {tilewright.target = "cpu:zen4"} {
// CHECK-LABEL: @levels
// CHECK-SAME: %[[M:.*]]: memref<?x16xf32>, %[[N:.*]]: index
func.func @levels(%m: memref<?x16xf32>, %n: index, %x: f32) {
  // CHECK: affine.parallel (%[[I:.*]], %[[J:.*]]) = (0, 0) to (symbol(%[[N]]) ceildiv 4, 4)
  tile.parallel (%i, %j) to (symbol(%n) ceildiv 4, 4) level "core" {
    // CHECK: affine.for %[[L:.*]] = 0 to 4
    tile.parallel (%l) to (4) level "lane" {
      // CHECK: affine.store %{{.*}}, %[[M]][%[[I]] * 4 + %[[L]], %[[J]]]
      affine.store %x, %m[%i * 4 + %l, %j] : memref<?x16xf32>
    }
  }
  // CHECK-NOT: tile.
  return
}
}

// -----

module attributes {tilewright.target = "cpu:zen4"} {
func.func @unknown() {
  // expected-error@+1 {{chip cpu:zen4 has no level "block", only core, lane}}
  tile.parallel (%i) to (4) level "block" {
  }
  return
}
}

// -----

// What reads the index as a symbol, as it may in the body of a level, reads a dimension behind.
module attributes {tilewright.target = "cpu:zen4"} {
// CHECK-LABEL: func.func @symbols
// CHECK: affine.parallel (%[[I:.*]]) = (0) to (4)
// CHECK: affine.for %[[J:.*]] = 0 to 2
// CHECK: affine.load %arg0[%[[J]] + %[[I]]]
// CHECK: affine.store %{{.*}}, %arg0[-%[[J]] + %[[I]] + 2]
func.func @symbols(%a: memref<8xf32>) {
  tile.parallel (%i) to (4) level "core" {
    affine.for %j = 0 to 2 {
      %x = affine.load %a[%j + symbol(%i)] : memref<8xf32>
      affine.store %x, %a[-%j + symbol(%i) + 2] : memref<8xf32>
    }
  }
  return
}
}
