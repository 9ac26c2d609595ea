// RUN: tw-opt %s --name-sizes --count-roundings --split-input-file | FileCheck %s

// The products of a sum are rounded once each, the sum as often as it has terms.
// CHECK-DAG: #[[ONE:.*]] = affine_map<()[s0, s1, s2] -> (1)>
// CHECK-DAG: #[[SUM:.*]] = affine_map<()[s0, s1, s2] -> (1, s1)>
// CHECK: func.func @product(
// CHECK-SAME: tilewright.roundings = [#[[ONE]], #[[SUM]]]
func.func @product(%a: tensor<?x?xf32>, %b: tensor<?x?xf32>, %c: tensor<?x?xf32>) -> tensor<?x?xf32> {
  %r = linalg.matmul ins(%a, %b : tensor<?x?xf32>, tensor<?x?xf32>) outs(%c : tensor<?x?xf32>) -> tensor<?x?xf32>
  return %r : tensor<?x?xf32>
}

// -----

// Long, but nothing is summed; the largest of many is one of them.
// CHECK-DAG: #[[TWO:.*]] = affine_map<() -> (2)>
// CHECK: func.func @elements(
// CHECK-SAME: tilewright.roundings = [#[[TWO]]]
func.func @elements(%a: tensor<4x4300000xf32>, %m: tensor<4xf32>, %e: tensor<4x4300000xf32>) -> (tensor<4x4300000xf32>, tensor<4xf32>) {
  %r = linalg.exp ins(%a : tensor<4x4300000xf32>) outs(%e : tensor<4x4300000xf32>) -> tensor<4x4300000xf32>
  %s = linalg.square ins(%r : tensor<4x4300000xf32>) outs(%e : tensor<4x4300000xf32>) -> tensor<4x4300000xf32>
  %l = linalg.reduce { arith.maximumf } ins(%s : tensor<4x4300000xf32>) outs(%m : tensor<4xf32>) dimensions = [1]
  return %s, %l : tensor<4x4300000xf32>, tensor<4xf32>
}

// -----

// Each iteration of the outer loop has its own element, the inner ones share it. Loops on tensors carry them.
// CHECK-DAG: #[[ROWS:.*]] = affine_map<() -> (1, 24)>
// CHECK: func.func @memory(
// CHECK-SAME: tilewright.roundings = [#[[ROWS]]]
func.func @memory(%x: memref<100x24xf32>, %y: memref<100xf32>) {
  affine.for %i = 0 to 100 {
    affine.for %j = 0 to 24 {
      %a = affine.load %x[%i, %j] : memref<100x24xf32>
      %s = affine.load %y[%i] : memref<100xf32>
      %t = arith.addf %s, %a : f32
      affine.store %t, %y[%i] : memref<100xf32>
    }
  }
  return
}

// -----

// A recurrence through neighbours, and a value that a loop carries through an operation on tensors.
// CHECK-DAG: #[[NEXT:.*]] = affine_map<() -> (1, 99)>
// CHECK-DAG: #[[STEPS:.*]] = affine_map<() -> (1, 7)>
// CHECK: func.func @carried(
// CHECK-SAME: tilewright.roundings = [#[[NEXT]], #[[STEPS]]]
func.func @carried(%y: memref<100xf32>, %t: tensor<8xf32>) -> tensor<8xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c7 = arith.constant 7 : index
  %c99 = arith.constant 99 : index
  scf.for %i = %c0 to %c99 step %c1 {
    %next = arith.addi %i, %c1 : index
    %a = memref.load %y[%i] : memref<100xf32>
    %b = math.sqrt %a : f32
    memref.store %b, %y[%next] : memref<100xf32>
  }
  %r = scf.for %i = %c0 to %c7 step %c1 iter_args(%v = %t) -> tensor<8xf32> {
    %w = linalg.add ins(%v, %t : tensor<8xf32>, tensor<8xf32>) outs(%t : tensor<8xf32>) -> tensor<8xf32>
    scf.yield %w : tensor<8xf32>
  }
  return %r : tensor<8xf32>
}
