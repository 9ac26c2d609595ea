// Loops over narrow integers count with index: behind the last value their own type may have no other.
//
// RUN: tw-opt %s -count-with-index | FileCheck %s
// RUN: tw-opt %s -tw-import | FileCheck %s --check-prefix=IMPORT

// CHECK-LABEL: func.func @signed
// CHECK-SAME: %[[FIRST:.*]]: i8, %[[END:.*]]: i8, %[[STEP:.*]]: i8
// CHECK-DAG: %[[F:.*]] = arith.index_cast %[[FIRST]] : i8 to index
// CHECK-DAG: %[[E:.*]] = arith.index_cast %[[END]] : i8 to index
// CHECK-DAG: %[[S:.*]] = arith.index_castui %[[STEP]] : i8 to index
// CHECK: scf.for %[[I:.*]] = %[[F]] to %[[E]] step %[[S]] iter_args(
// CHECK-NEXT: %[[J:.*]] = arith.index_cast %[[I]] : index to i8
// CHECK-NEXT: arith.addi %{{.*}}, %[[J]] : i8
func.func @signed(%first: i8, %end: i8, %step: i8) -> i8 {
  %sum = scf.for %j = %first to %end step %step iter_args(%s = %first) -> i8 : i8 {
    %t = arith.addi %s, %j : i8
    scf.yield %t : i8
  }
  return %sum : i8
}

// CHECK-LABEL: func.func @unsigned
// CHECK-SAME: %[[FIRST:.*]]: i16, %[[END:.*]]: i16, %[[STEP:.*]]: i16
// CHECK-DAG: %[[F:.*]] = arith.index_castui %[[FIRST]] : i16 to index
// CHECK-DAG: %[[E:.*]] = arith.index_castui %[[END]] : i16 to index
// CHECK-DAG: %[[S:.*]] = arith.index_castui %[[STEP]] : i16 to index
// CHECK: scf.for %{{.*}} = %[[F]] to %[[E]] step %[[S]] iter_args(
// CHECK-NOT: index_cast
// CHECK: return
func.func @unsigned(%first: i16, %end: i16, %step: i16) -> i16 {
  %power = scf.for unsigned %j = %first to %end step %step iter_args(%s = %first) -> i16 : i16 {
    %t = arith.addi %s, %s : i16
    scf.yield %t : i16
  }
  return %power : i16
}

// Nothing is wider than 64 bits.
// CHECK-LABEL: func.func @wide
// CHECK-NOT: index_cast
// CHECK: return
func.func @wide(%first: i64, %end: i64, %step: i64, %x: index) -> index {
  %sum = scf.for %j = %first to %end step %step iter_args(%s = %x) -> index : i64 {
    %inner = scf.for %k = %x to %s step %x iter_args(%t = %s) -> index {
      %u = arith.addi %t, %k : index
      scf.yield %u : index
    }
    scf.yield %inner : index
  }
  return %sum : index
}

// A number of iterations has a sign where bounds have none.
// CHECK-LABEL: func.func @wide_unsigned
// CHECK-SAME: %[[FIRST:.*]]: i64, %[[END:.*]]: i64, %[[STEP:.*]]: i64
// CHECK: %[[MAX:.*]] = arith.maxui %[[END]], %[[FIRST]] : i64
// CHECK: %[[DISTANCE:.*]] = arith.subi %[[MAX]], %[[FIRST]] : i64
// CHECK: %[[TRIPS:.*]] = arith.ceildivui %[[DISTANCE]], %[[STEP]] : i64
// CHECK: %[[N:.*]] = arith.index_cast %[[TRIPS]] : i64 to index
// CHECK: scf.for %[[I:.*]] = %{{.*}} to %[[N]] step
// CHECK: %[[NUMBER:.*]] = arith.index_cast %[[I]] : index to i64
// CHECK: %[[FROM:.*]] = arith.muli %[[NUMBER]], %[[STEP]] : i64
// CHECK: %[[J:.*]] = arith.addi %[[FIRST]], %[[FROM]] : i64
// CHECK: arith.addi %{{.*}}, %[[J]] : i64
func.func @wide_unsigned(%first: i64, %end: i64, %step: i64) -> i64 {
  %sum = scf.for unsigned %j = %first to %end step %step iter_args(%s = %first) -> i64 : i64 {
    %t = arith.addi %s, %j : i64
    scf.yield %t : i64
  }
  return %sum : i64
}

// From 0 by 1 a loop keeps its bound.
// IMPORT-LABEL: func.func @plain
// IMPORT-SAME: %[[N:[a-z0-9]+]]: index
// IMPORT: scf.for %[[I:.*]] = %c0 to %[[N]] step %c1
// IMPORT: memref.store %{{.*}}, %{{.*}}[%[[I]]]
func.func @plain(%a: memref<?xf32>, %n: index, %x: f32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for unsigned %i = %c0 to %n step %c1 {
    memref.store %x, %a[%i] : memref<?xf32>
  }
  return
}

// Three times, -128, -28 and 72, which is no count of 8 bits: 255 / 100.
// IMPORT-LABEL: func.func @known
// IMPORT: scf.for %{{.*}} = %c-128 to %c127 step %c100
func.func @known(%a: memref<f32>) {
  %first = arith.constant -128 : i8
  %end = arith.constant 127 : i8
  %step = arith.constant 100 : i8
  scf.for %j = %first to %end step %step : i8 {
    %x = memref.load %a[] : memref<f32>
    %y = arith.addf %x, %x : f32
    memref.store %y, %a[] : memref<f32>
  }
  return
}
