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
