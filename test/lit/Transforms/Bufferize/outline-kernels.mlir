// RUN: tw-opt %s --outline-kernels --split-input-file | FileCheck %s

// Two operations, one kernel; the buffer between them is its own.
// CHECK-LABEL: func.func private @two_kernel_0
// CHECK-SAME:    attributes {tilewright.kernel}
// CHECK:         memref.alloc
// CHECK:         linalg.matmul
// CHECK:         linalg.exp
// CHECK:       func.func @two(
// CHECK-NEXT:    call @two_kernel_0(%arg0, %arg1, %arg2)
// CHECK-NEXT:    return
func.func @two(%a: memref<4x4xf32>, %b: memref<4x4xf32>, %c: memref<4x4xf32>) {
  %t = memref.alloc() : memref<4x4xf32>
  linalg.matmul ins(%a, %b : memref<4x4xf32>, memref<4x4xf32>) outs(%t : memref<4x4xf32>)
  linalg.exp ins(%t : memref<4x4xf32>) outs(%c : memref<4x4xf32>)
  return
}

// -----

// An element read in between ends the sequence; the buffer stays in the host function.
// CHECK-LABEL: func.func @between(
// CHECK:         memref.alloc
// CHECK:         call @between_kernel_0
// CHECK:         memref.load
// CHECK:         call @between_kernel_1
func.func @between(%a: memref<4xf32>, %b: memref<4xf32>) {
  %c0 = arith.constant 0 : index
  %t = memref.alloc() : memref<4xf32>
  linalg.exp ins(%a : memref<4xf32>) outs(%t : memref<4xf32>)
  %x = memref.load %t[%c0] : memref<4xf32>
  linalg.fill ins(%x : f32) outs(%b : memref<4xf32>)
  return
}

// -----

// Slices of one buffer go with it: the kernel takes the buffer and the offset.
// CHECK-LABEL: func.func private @slices_kernel_0
// CHECK-SAME:    (%[[A:.*]]: memref<8xf32>, %[[O:.*]]: index)
// CHECK-DAG:     memref.subview %[[A]][%[[O]]]
// CHECK-DAG:     memref.subview %[[A]][0]
// CHECK:       func.func @slices(
// CHECK-NEXT:    call @slices_kernel_0(%arg0, %arg1) : (memref<8xf32>, index) -> ()
func.func @slices(%a: memref<8xf32>, %o: index) {
  %v = memref.subview %a[%o] [2] [1] : memref<8xf32> to memref<2xf32, strided<[1], offset: ?>>
  %w = memref.subview %a[0] [2] [1] : memref<8xf32> to memref<2xf32, strided<[1]>>
  linalg.exp ins(%v : memref<2xf32, strided<[1], offset: ?>>) outs(%w : memref<2xf32, strided<[1]>>)
  return
}

// -----

// Another shape of a written buffer is another argument that would alias: a new sequence.
// CHECK-LABEL: func.func @reshaped(
// CHECK:         call @reshaped_kernel_0
// CHECK:         memref.collapse_shape
// CHECK:         call @reshaped_kernel_1
func.func @reshaped(%a: memref<2x4xf32>, %b: memref<8xf32>) {
  %t = memref.alloc() : memref<2x4xf32>
  linalg.exp ins(%a : memref<2x4xf32>) outs(%t : memref<2x4xf32>)
  %v = memref.collapse_shape %t [[0, 1]] : memref<2x4xf32> into memref<8xf32>
  linalg.exp ins(%v : memref<8xf32>) outs(%b : memref<8xf32>)
  return
}

// -----

// One operation that reads and writes two shapes of one buffer reads a copy.
// CHECK-LABEL: func.func private @copied_kernel_0
// CHECK:         linalg.copy
// CHECK:       func.func @copied(
// CHECK:         call @copied_kernel_0
// CHECK:         call @copied_kernel_1
#t = affine_map<(i, j) -> (j * 2 + i)>
#id = affine_map<(i, j) -> (i, j)>
func.func @copied(%a: memref<2x2xf32>) {
  %v = memref.collapse_shape %a [[0, 1]] : memref<2x2xf32> into memref<4xf32>
  linalg.generic {indexing_maps = [#t, #id], iterator_types = ["parallel", "parallel"]}
      ins(%v : memref<4xf32>) outs(%a : memref<2x2xf32>) {
  ^bb0(%x: f32, %o: f32):
    linalg.yield %x : f32
  }
  return
}

// -----

// A body that reads memory is opaque; no two of its arrays name the same memory.
// CHECK-LABEL: func.func private @opaque_kernel_0
// CHECK-SAME:    attributes {tilewright.apart, tilewright.opaque}
// CHECK:       func.func @opaque(
#id = affine_map<(i) -> (i)>
func.func @opaque(%a: memref<4xf32>, %at: memref<4xindex>, %b: memref<4xf32>) {
  linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%at : memref<4xindex>) outs(%b : memref<4xf32>) {
  ^bb0(%i: index, %o: f32):
    %x = memref.load %a[%i] : memref<4xf32>
    linalg.yield %x : f32
  }
  return
}

// -----

// The body of a loop is a sequence of its own; the loop's index is an argument.
// CHECK-LABEL: func.func @loop(
// CHECK:         scf.for %[[I:.*]] =
// CHECK:           func.call @loop_kernel_0(%arg0, %[[I]])
func.func @loop(%a: memref<8xf32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %i = %c0 to %n step %c1 {
    affine.for %j = 0 to 8 {
      %x = affine.load %a[%j] : memref<8xf32>
      %k = arith.index_cast %i : index to i32
      %f = arith.sitofp %k : i32 to f32
      %y = arith.addf %x, %f : f32
      affine.store %y, %a[%j] : memref<8xf32>
    }
  }
  return
}

// -----

// In a module that folds constants, large ones are marked for kernels, as constant arguments are; not small ones, not those with one
// number.
// CHECK-LABEL: func.func private @constants_kernel_0
// CHECK-SAME:    (%{{.*}}: memref<128x128xf32> {tilewright.constant}, %{{.*}}: memref<128x128xf32>, %{{.*}}: memref<128x128xf32>, %{{.*}}: memref<4x4xf32>,
// CHECK-LABEL: func.func private @unfolded_kernel_0
// CHECK-NOT:     tilewright.constant
module attributes {tilewright.fold = true} {
memref.global "private" constant @large : memref<128x128xf32> = dense_resource<large>
memref.global "private" constant @same : memref<128x128xf32> = dense<1.0>
memref.global "private" constant @small : memref<4x4xf32> = dense_resource<small>
func.func @constants(%x: memref<128x128xf32>, %z: memref<4x4xf32>) {
  %large = memref.get_global @large : memref<128x128xf32>
  %same = memref.get_global @same : memref<128x128xf32>
  %small = memref.get_global @small : memref<4x4xf32>
  linalg.matmul ins(%large, %same : memref<128x128xf32>, memref<128x128xf32>) outs(%x : memref<128x128xf32>)
  linalg.exp ins(%small : memref<4x4xf32>) outs(%z : memref<4x4xf32>)
  return
}
}

// -----

module {
memref.global "private" constant @large : memref<128x128xf32> = dense_resource<large>
func.func @unfolded(%x: memref<128x128xf32>) {
  %large = memref.get_global @large : memref<128x128xf32>
  linalg.exp ins(%large : memref<128x128xf32>) outs(%x : memref<128x128xf32>)
  return
}
}
