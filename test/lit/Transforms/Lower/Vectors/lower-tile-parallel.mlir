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
