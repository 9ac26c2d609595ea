// Boxes, columns and booleans are accessed element by element; what LLVM has stays.
//
// RUN: tw-opt %s -lower-vector-accesses | FileCheck %s

// CHECK-LABEL: func.func @box
// CHECK-SAME: (%[[A:.*]]: memref<?x?xf32>, %[[I:.*]]: index)
// CHECK-DAG: %[[C1:.*]] = arith.constant 1 : index
// CHECK-DAG: memref.load %[[A]][%[[I]], %[[I]]]
// CHECK-COUNT-3: memref.load %[[A]]
// CHECK-NOT: memref.load
// CHECK: vector.store %{{.*}}, %[[A]][%[[I]], %[[I]]] : memref<?x?xf32>, vector<4xf32>
func.func @box(%a: memref<?x?xf32>, %i: index) {
  %v = vector.load %a[%i, %i] : memref<?x?xf32>, vector<2x2xf32>
  %w = vector.shape_cast %v : vector<2x2xf32> to vector<4xf32>
  vector.store %w, %a[%i, %i] : memref<?x?xf32>, vector<4xf32>
  return
}

// A column with its end: rows are compared with the number of rows.
// CHECK-LABEL: func.func @column
// CHECK-SAME: (%[[A:.*]]: memref<?x6xf32>, %[[I:.*]]: index, %[[PAD:.*]]: f32)
// CHECK: memref.dim %[[A]], %c0
// CHECK: scf.if
// CHECK:   memref.load %[[A]][%[[I]], %[[I]]]
// CHECK: } else {
// CHECK:   scf.yield %[[PAD]]
// CHECK: %[[ROW:.*]] = arith.addi %[[I]], %c1
// CHECK: memref.load %[[A]][%[[ROW]], %[[I]]]
func.func @column(%a: memref<?x6xf32>, %i: index, %pad: f32) -> vector<2xf32> {
  %v = vector.transfer_read %a[%i, %i], %pad {permutation_map = affine_map<(d0, d1) -> (d0)>} : memref<?x6xf32>, vector<2xf32>
  return %v : vector<2xf32>
}

// Booleans are bytes in memory.
// CHECK-LABEL: func.func @booleans
// CHECK-COUNT-2: memref.store %{{.*}} : memref<8xi1>
// CHECK-NOT: vector.store
func.func @booleans(%a: memref<8xi1>, %v: vector<2xi1>, %i: index) {
  vector.store %v, %a[%i] : memref<8xi1>, vector<2xi1>
  return
}

// What a region masks has its mask first.
// CHECK-LABEL: func.func @masked
// CHECK-NOT: vector.mask {
// CHECK: vector.transfer_read %{{.*}}, %{{.*}}, %{{.*}} {in_bounds = [true]} : memref<8xf32>, vector<4xf32>
func.func @masked(%a: memref<8xf32>, %m: vector<4xi1>, %i: index, %pad: f32) -> vector<4xf32> {
  %v = vector.mask %m { vector.transfer_read %a[%i], %pad {in_bounds = [true]} : memref<8xf32>, vector<4xf32> } : vector<4xi1> -> vector<4xf32>
  return %v : vector<4xf32>
}
