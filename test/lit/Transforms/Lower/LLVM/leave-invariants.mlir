// RUN: tw-opt %s --leave-invariants | FileCheck %s

// Of two divisions one is by at least one: it leaves both loops, with what follows from it.
// CHECK-LABEL: func.func @by_counts
// CHECK: %[[COUNT:.*]] = arith.maxsi %arg1, %c1
// CHECK: %[[ROW:.*]] = arith.divsi %arg0, %[[COUNT]]
// CHECK: %[[COL:.*]] = arith.remsi %arg0, %[[COUNT]]
// CHECK: %[[BOTH:.*]] = arith.addi %[[ROW]], %[[COL]]
// CHECK: scf.for
// CHECK:   scf.for
// CHECK:     %[[OTHER:.*]] = arith.divsi %arg0, %arg1
// CHECK:     %[[ALL:.*]] = arith.addi %[[BOTH]], %[[OTHER]]
// CHECK:     memref.store %[[ALL]]
func.func @by_counts(%i: index, %n: index, %out: memref<?xindex>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %count = arith.maxsi %n, %c1 : index
  scf.for %a = %c0 to %n step %c1 {
    scf.for %b = %c0 to %n step %c1 {
      %row = arith.divsi %i, %count : index
      %col = arith.remsi %i, %count : index
      %both = arith.addi %row, %col : index
      %other = arith.divsi %i, %n : index
      %all = arith.addi %both, %other : index
      memref.store %all, %out[%b] : memref<?xindex>
    }
  }
  return
}

// At least zero may be zero.
// CHECK-LABEL: func.func @may_be_zero
// CHECK: scf.for
// CHECK:   arith.divsi
func.func @may_be_zero(%i: index, %n: index, %out: memref<?xindex>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %count = arith.maxsi %n, %c0 : index
  scf.for %a = %c0 to %n step %c1 {
    %row = arith.divsi %i, %count : index
    memref.store %row, %out[%a] : memref<?xindex>
  }
  return
}
