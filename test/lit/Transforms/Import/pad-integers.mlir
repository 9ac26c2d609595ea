// RUN: tw-opt %s -pad-integers -split-input-file -verify-diagnostics | FileCheck %s

// An integer of an odd width is passed as the next wider one of C; inside it keeps its width.
// CHECK-LABEL: func.func @f(
// CHECK-SAME:    %[[A:.*]]: tensor<?xi8>, %[[N:.*]]: i32, %{{.*}}: tensor<4xi1>, %{{.*}}: tensor<4xi16>) -> (tensor<?xi8>, i64)
// CHECK:         %[[X:.*]] = arith.trunci %[[A]] : tensor<?xi8> to tensor<?xi4>
// CHECK:         %[[M:.*]] = arith.trunci %[[N]] : i32 to i24
// CHECK:         %[[Y:.*]] = arith.addi %[[X]], %[[X]] : tensor<?xi4>
// CHECK:         %[[W:.*]] = arith.extsi %[[M]] : i24 to i40
// CHECK-DAG:     %[[R:.*]] = arith.extsi %[[Y]] : tensor<?xi4> to tensor<?xi8>
// CHECK-DAG:     %[[S:.*]] = arith.extsi %[[W]] : i40 to i64
// CHECK:         return %[[R]], %[[S]]
func.func @f(%a: tensor<?xi4>, %n: i24, %p: tensor<4xi1>, %i: tensor<4xi16>) -> (tensor<?xi4>, i40) {
  %y = arith.addi %a, %a : tensor<?xi4>
  %w = arith.extsi %n : i24 to i40
  return %y, %w : tensor<?xi4>, i40
}

// A private function keeps its types, and so does what a call of a public one gives.
// CHECK-LABEL: func.func private @inside(%{{.*}}: tensor<4xi4>) -> tensor<4xi4>
// CHECK:         %[[P:.*]] = arith.extsi %{{.*}} : tensor<4xi4> to tensor<4xi8>
// CHECK:         %[[C:.*]] = call @called(%[[P]]) : (tensor<4xi8>) -> tensor<4xi8>
// CHECK:         %[[B:.*]] = arith.trunci %[[C]] : tensor<4xi8> to tensor<4xi4>
// CHECK:         return %[[B]] : tensor<4xi4>
func.func private @inside(%a: tensor<4xi4>) -> tensor<4xi4> {
  %r = call @called(%a) : (tensor<4xi4>) -> tensor<4xi4>
  return %r : tensor<4xi4>
}
func.func @called(%a: tensor<4xi4>) -> tensor<4xi4> {
  return %a : tensor<4xi4>
}

// -----

// expected-error@+1 {{argument 0 of 'g' of type 'memref<4xi4>', which callers cannot write in C; use i8, i16, i32 or i64, or a tensor}}
func.func @g(%a: memref<4xi4>) {
  return
}
