// RUN: tw-opt %s --pass-pipeline='builtin.module(func.func(return-whole-arrays))' | FileCheck %s

// What is returned through a view is computed in a view of the result.
// CHECK-LABEL: func @collapsed
// CHECK: %[[R:.*]] = memref.alloc() {alignment = 64 : i64} : memref<6x4xf32>
// CHECK: %[[A:.*]] = memref.expand_shape %[[R]] {{\[}}[0, 1], [2]] output_shape [2, 3, 4]
// CHECK: linalg.exp ins(%arg0 : memref<2x3x4xf32>) outs(%[[A]] : memref<2x3x4xf32>)
// CHECK: return %[[R]]
func.func @collapsed(%x: memref<2x3x4xf32>) -> memref<6x4xf32> {
  %a = memref.alloc() {alignment = 64 : i64} : memref<2x3x4xf32>
  linalg.exp ins(%x : memref<2x3x4xf32>) outs(%a : memref<2x3x4xf32>)
  %r = memref.collapse_shape %a [[0, 1], [2]] : memref<2x3x4xf32> into memref<6x4xf32>
  return %r : memref<6x4xf32>
}

// Through two views.
// CHECK-LABEL: func @twice
// CHECK: %[[R:.*]] = memref.alloc() : memref<2x12xf32>
// CHECK: %[[B:.*]] = memref.collapse_shape %[[R]] {{\[}}[0, 1]] : memref<2x12xf32> into memref<24xf32>
// CHECK: %[[A:.*]] = memref.expand_shape %[[B]] {{\[}}[0, 1, 2]] output_shape [2, 3, 4]
// CHECK: linalg.exp {{.*}} outs(%[[A]]
func.func @twice(%x: memref<2x3x4xf32>) -> memref<2x12xf32> {
  %a = memref.alloc() : memref<2x3x4xf32>
  linalg.exp ins(%x : memref<2x3x4xf32>) outs(%a : memref<2x3x4xf32>)
  %b = memref.collapse_shape %a [[0, 1, 2]] : memref<2x3x4xf32> into memref<24xf32>
  %r = memref.expand_shape %b [[0, 1]] output_shape [2, 12] : memref<24xf32> into memref<2x12xf32>
  return %r : memref<2x12xf32>
}

// Of any size: sizes of the result are known where the array is allocated.
// CHECK-LABEL: func @dynamic
// CHECK: %[[R:.*]] = memref.alloc(%arg1, %arg2) : memref<?x?x4xf32>
// CHECK: %[[A:.*]] = memref.collapse_shape %[[R]] {{\[}}[0, 1], [2]] : memref<?x?x4xf32> into memref<?x4xf32>
// CHECK: linalg.exp {{.*}} outs(%[[A]]
// CHECK: return %[[R]]
func.func @dynamic(%x: memref<?x4xf32>, %b: index, %t: index) -> memref<?x?x4xf32> {
  %n = arith.muli %b, %t : index
  %a = memref.alloc(%n) : memref<?x4xf32>
  linalg.exp ins(%x : memref<?x4xf32>) outs(%a : memref<?x4xf32>)
  %r = memref.expand_shape %a [[0, 1], [2]] output_shape [%b, %t, 4] : memref<?x4xf32> into memref<?x?x4xf32>
  return %r : memref<?x?x4xf32>
}

// The product of sizes.
// CHECK-LABEL: func @dynamic_collapsed
// CHECK: %[[N:.*]] = affine.apply #{{.*}}()[%arg1, %arg2]
// CHECK: %[[R:.*]] = memref.alloc(%[[N]]) : memref<?x4xf32>
// CHECK: memref.expand_shape %[[R]] {{\[}}[0, 1], [2]] output_shape [%arg1, %arg2, 4]
func.func @dynamic_collapsed(%x: memref<?x?x4xf32>, %b: index, %t: index) -> memref<?x4xf32> {
  %a = memref.alloc(%b, %t) : memref<?x?x4xf32>
  linalg.exp ins(%x : memref<?x?x4xf32>) outs(%a : memref<?x?x4xf32>)
  %r = memref.collapse_shape %a [[0, 1], [2]] : memref<?x?x4xf32> into memref<?x4xf32>
  return %r : memref<?x4xf32>
}

// A size that is read after the array is written.
// CHECK-LABEL: func @later
// CHECK: memref.alloc(%{{.*}}) : memref<?x4xf32>
// CHECK: memref.load
// CHECK: memref.expand_shape
func.func @later(%x: memref<?x4xf32>, %n: index, %sizes: memref<2xindex>) -> memref<?x?x4xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %a = memref.alloc(%n) : memref<?x4xf32>
  linalg.exp ins(%x : memref<?x4xf32>) outs(%a : memref<?x4xf32>)
  %b = memref.load %sizes[%c0] : memref<2xindex>
  %t = memref.load %sizes[%c1] : memref<2xindex>
  %r = memref.expand_shape %a [[0, 1], [2]] output_shape [%b, %t, 4] : memref<?x4xf32> into memref<?x?x4xf32>
  return %r : memref<?x?x4xf32>
}

// One array cannot be two results.
// CHECK-LABEL: func @both
// CHECK: memref.alloc() : memref<2x3xf32>
// CHECK: memref.collapse_shape
func.func @both(%x: memref<2x3xf32>) -> (memref<2x3xf32>, memref<6xf32>) {
  %a = memref.alloc() : memref<2x3xf32>
  linalg.exp ins(%x : memref<2x3xf32>) outs(%a : memref<2x3xf32>)
  %r = memref.collapse_shape %a [[0, 1]] : memref<2x3xf32> into memref<6xf32>
  return %a, %r : memref<2x3xf32>, memref<6xf32>
}

// A caller's array is copied as before.
// CHECK-LABEL: func @argument
// CHECK-NOT: memref.alloc
func.func @argument(%x: memref<2x3xf32>) -> memref<6xf32> {
  %r = memref.collapse_shape %x [[0, 1]] : memref<2x3xf32> into memref<6xf32>
  return %r : memref<6xf32>
}
