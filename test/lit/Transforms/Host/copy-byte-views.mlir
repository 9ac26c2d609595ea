// Kernels take arrays of their own for what memref.view makes; loops of the program access it where it is.
//
// RUN: tw-opt %s -copy-byte-views | FileCheck %s

func.func private @kernel(%a: memref<?xf32>, %b: memref<f32>, %c: memref<8xf32>) attributes {tilewright.kernel} {
  affine.for %i = 0 to 8 {
    %x = affine.load %a[%i] : memref<?xf32>
    affine.store %x, %c[%i] : memref<8xf32>
    affine.store %x, %b[] : memref<f32>
  }
  return
}

// What is read is copied before the call, what may be written also behind it; an array of the caller is passed as it is.
// CHECK-LABEL: func.func @views(
// CHECK-SAME: %[[BYTES:.*]]: memref<?xi8>, %[[N:.*]]: index, %[[C:.*]]: memref<8xf32>)
// CHECK: %[[A:.*]] = memref.view %[[BYTES]][%{{.*}}][%[[N]]] : memref<?xi8> to memref<?xf32>
// CHECK: %[[B:.*]] = memref.view %[[BYTES]][%{{.*}}][] : memref<?xi8> to memref<f32>
// CHECK: %[[OWN:.*]] = memref.alloc(%{{.*}}) : memref<?xf32>
// CHECK: scf.parallel (%[[I:.*]]) =
// CHECK:   %[[X:.*]] = memref.load %[[A]][%[[I]]] : memref<?xf32>
// CHECK:   memref.store %[[X]], %[[OWN]][%[[I]]] : memref<?xf32>
// CHECK: %[[CELL:.*]] = memref.alloc() : memref<f32>
// CHECK: %[[Y:.*]] = memref.load %[[B]][] : memref<f32>
// CHECK: memref.store %[[Y]], %[[CELL]][] : memref<f32>
// CHECK: call @kernel(%[[OWN]], %[[CELL]], %[[C]])
// CHECK-NEXT: %[[Z:.*]] = memref.load %[[CELL]][] : memref<f32>
// CHECK-NEXT: memref.store %[[Z]], %[[B]][] : memref<f32>
// CHECK-NEXT: return
func.func @views(%bytes: memref<?xi8>, %n: index, %c: memref<8xf32>) {
  %c0 = arith.constant 0 : index
  %c5 = arith.constant 5 : index
  %a = memref.view %bytes[%c5][%n] : memref<?xi8> to memref<?xf32>
  %b = memref.view %bytes[%c0][] : memref<?xi8> to memref<f32>
  call @kernel(%a, %b, %c) : (memref<?xf32>, memref<f32>, memref<8xf32>) -> ()
  return
}
