// RUN: tw-opt %s -copy-yielded-slices -split-input-file | FileCheck %s

// One side of a branch is a slice: that side yields a copy, the other stays.
// CHECK-LABEL: func.func @branch
// CHECK: scf.if
// CHECK-NEXT: %[[SUM:.*]] = linalg.add
// CHECK-NEXT: scf.yield %[[SUM]]
// CHECK: else
// CHECK-NEXT: %[[WHOLE:.*]] = bufferization.alloc_tensor() copy(%{{.*}}) : tensor<4xf32>
// CHECK-NEXT: scf.yield %[[WHOLE]]
func.func @branch(%a: tensor<8xf32>, %c: i1) -> tensor<4xf32> {
  %s = tensor.extract_slice %a[2] [4] [1] : tensor<8xf32> to tensor<4xf32>
  %e = tensor.empty() : tensor<4xf32>
  %r = scf.if %c -> tensor<4xf32> {
    %t = linalg.add ins(%s, %s : tensor<4xf32>, tensor<4xf32>) outs(%e : tensor<4xf32>) -> tensor<4xf32>
    scf.yield %t : tensor<4xf32>
  } else {
    scf.yield %s : tensor<4xf32>
  }
  return %r : tensor<4xf32>
}

// -----

// A result that is written into a slice, through a reshape.
// CHECK-LABEL: func.func @destination
// CHECK: %[[R:.*]] = tensor.expand_shape
// CHECK: else
// CHECK-NEXT: %[[WHOLE:.*]] = bufferization.alloc_tensor() copy(%[[R]]) : tensor<2x2xf32>
// CHECK-NEXT: scf.yield %[[WHOLE]]
func.func @destination(%a: tensor<4xf32>, %big: tensor<8xf32>, %x: tensor<2x2xf32>, %c: i1) -> tensor<2x2xf32> {
  %s = tensor.extract_slice %big[2] [4] [1] : tensor<8xf32> to tensor<4xf32>
  %n = linalg.negf ins(%a : tensor<4xf32>) outs(%s : tensor<4xf32>) -> tensor<4xf32>
  %m = tensor.expand_shape %n [[0, 1]] output_shape [2, 2] : tensor<4xf32> into tensor<2x2xf32>
  %r = scf.if %c -> tensor<2x2xf32> {
    scf.yield %x : tensor<2x2xf32>
  } else {
    scf.yield %m : tensor<2x2xf32>
  }
  return %r : tensor<2x2xf32>
}

// -----

// Loops: what they begin with and what they carry on. Dynamic sizes.
// CHECK-LABEL: func.func @loops
// CHECK: %[[FIRST:.*]] = bufferization.alloc_tensor() copy(%{{.*}}) : tensor<?xf32>
// CHECK: scf.for {{.*}} iter_args(%{{.*}} = %[[FIRST]])
// CHECK: %[[NEXT:.*]] = bufferization.alloc_tensor() copy(%{{.*}}) : tensor<?xf32>
// CHECK: scf.yield %[[NEXT]]
// CHECK: %[[INIT:.*]] = bufferization.alloc_tensor() copy(%{{.*}}) : tensor<?xf32>
// CHECK: scf.while (%{{.*}} = %[[INIT]])
// CHECK: %[[PASSED:.*]] = bufferization.alloc_tensor() copy(%{{.*}}) : tensor<?xf32>
// CHECK: scf.condition(%{{.*}}) %[[PASSED]]
// CHECK: %[[AGAIN:.*]] = bufferization.alloc_tensor() copy(%{{.*}}) : tensor<?xf32>
// CHECK: scf.yield %[[AGAIN]]
func.func @loops(%a: tensor<?xf32>, %n: index, %c: i1) -> (tensor<?xf32>, tensor<?xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %s = tensor.extract_slice %a[1] [%n] [1] : tensor<?xf32> to tensor<?xf32>
  %f = scf.for %i = %c0 to %n step %c1 iter_args(%x = %s) -> tensor<?xf32> {
    %t = tensor.extract_slice %x[0] [%n] [1] : tensor<?xf32> to tensor<?xf32>
    scf.yield %t : tensor<?xf32>
  }
  %w = scf.while (%x = %s) : (tensor<?xf32>) -> tensor<?xf32> {
    %t = tensor.extract_slice %x[0] [%n] [1] : tensor<?xf32> to tensor<?xf32>
    scf.condition(%c) %t : tensor<?xf32>
  } do {
  ^bb0(%x: tensor<?xf32>):
    %t = tensor.extract_slice %x[0] [%n] [1] : tensor<?xf32> to tensor<?xf32>
    scf.yield %t : tensor<?xf32>
  }
  return %f, %w : tensor<?xf32>, tensor<?xf32>
}

// -----

// Whole buffers stay: insertions into one, results in one of their own.
// CHECK-LABEL: func.func @whole
// CHECK-NOT: alloc_tensor
func.func @whole(%a: tensor<8xf32>, %b: tensor<4xf32>, %c: i1) -> tensor<8xf32> {
  %i = tensor.insert_slice %b into %a[2] [4] [1] : tensor<4xf32> into tensor<8xf32>
  %r = scf.if %c -> tensor<8xf32> {
    scf.yield %i : tensor<8xf32>
  } else {
    scf.yield %a : tensor<8xf32>
  }
  return %r : tensor<8xf32>
}

// -----

// One of two tensors: the same as a branch.
// CHECK-LABEL: func.func @selection
// CHECK: %[[WHOLE:.*]] = bufferization.alloc_tensor() copy(%{{.*}}) : tensor<?xf32>
// CHECK: arith.select %{{.*}}, %[[WHOLE]], %{{.*}} : tensor<?xf32>
func.func @selection(%a: tensor<8xf32>, %b: tensor<?xf32>, %n: index, %c: i1) -> tensor<?xf32> {
  %s = tensor.extract_slice %a[0] [%n] [1] : tensor<8xf32> to tensor<?xf32>
  %r = arith.select %c, %s, %b : tensor<?xf32>
  return %r : tensor<?xf32>
}
