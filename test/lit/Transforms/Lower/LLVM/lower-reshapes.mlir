// RUN: tw-opt %s --lower-reshapes | FileCheck %s

// CHECK-LABEL: func.func @two_unknown
// CHECK-SAME: (%[[M:.*]]: memref<?x7xf32>, %[[A:.*]]: index, %[[B:.*]]: index)
// CHECK: %[[BASE:.*]], %{{.*}}, %{{.*}}:2, %{{.*}}:2 = memref.extract_strided_metadata %[[M]]
// CHECK: %[[SEVEN:.*]] = arith.constant 7 : index
// CHECK: %[[STRIDE:.*]] = arith.muli %[[SEVEN]], %[[B]] : index
// CHECK: memref.reinterpret_cast %[[BASE]] to offset: [0], sizes: [%[[A]], %[[B]], 7], strides: [%[[STRIDE]], 7, 1]
func.func @two_unknown(%m: memref<?x7xf32>, %a: index, %b: index) -> memref<?x?x7xf32> {
  %e = memref.expand_shape %m [[0, 1], [2]] output_shape [%a, %b, 7] : memref<?x7xf32> into memref<?x?x7xf32>
  return %e : memref<?x?x7xf32>
}

// Offset and strides of a slice are kept.
// CHECK-LABEL: func.func @slice
// CHECK: %[[BASE:.*]], %[[OFFSET:.*]], %{{.*}}, %[[S:.*]] = memref.extract_strided_metadata
// CHECK: %[[STRIDE:.*]] = arith.muli %[[S]], %{{.*}} : index
// CHECK: memref.reinterpret_cast %[[BASE]] to offset: [%[[OFFSET]]], sizes: [%{{.*}}, %{{.*}}], strides: [%[[STRIDE]], %[[S]]]
func.func @slice(%m: memref<?xf32, strided<[?], offset: ?>>, %a: index, %b: index)
    -> memref<?x?xf32, strided<[?, ?], offset: ?>> {
  %e = memref.expand_shape %m [[0, 1]] output_shape [%a, %b]
      : memref<?xf32, strided<[?], offset: ?>> into memref<?x?xf32, strided<[?, ?], offset: ?>>
  return %e : memref<?x?xf32, strided<[?, ?], offset: ?>>
}

// One unknown size follows from the others: upstream's expansion of views does it.
// CHECK-LABEL: func.func @one_unknown
// CHECK: memref.expand_shape
func.func @one_unknown(%m: memref<?xf32>, %a: index) -> memref<?x4xf32> {
  %e = memref.expand_shape %m [[0, 1]] output_shape [%a, 4] : memref<?xf32> into memref<?x4xf32>
  return %e : memref<?x4xf32>
}
