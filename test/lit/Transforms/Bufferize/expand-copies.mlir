// RUN: tw-opt %s -expand-copies | FileCheck %s

// Whole and strided buffers alike.
// CHECK-LABEL: func.func @copies
// CHECK-NOT:     memref.copy
// CHECK:         linalg.copy ins(%{{.*}} : memref<4xf32>) outs(%{{.*}} : memref<4xf32>)
// CHECK:         linalg.copy ins(%{{.*}} : memref<4xf32, strided<[2]>>) outs(%{{.*}} : memref<4xf32>)
func.func @copies(%a: memref<4xf32>, %s: memref<8xf32>, %b: memref<4xf32>) {
  memref.copy %a, %b : memref<4xf32> to memref<4xf32>
  %v = memref.subview %s[0] [4] [2] : memref<8xf32> to memref<4xf32, strided<[2]>>
  memref.copy %v, %b : memref<4xf32, strided<[2]>> to memref<4xf32>
  return
}
