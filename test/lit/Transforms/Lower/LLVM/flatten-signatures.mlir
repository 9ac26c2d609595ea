// RUN: tw-opt %s --flatten-signatures | FileCheck %s

// CHECK-LABEL: func.func @caller
// CHECK: builtin.unrealized_conversion_cast
// CHECK: llvm.extractvalue
// CHECK: memref.dim
// CHECK: call @kernel(%{{.*}}, %{{.*}}, %{{.*}}) : (!llvm.ptr, index, f32) -> ()
func.func @caller(%a: memref<?x4xf32>, %x: f32) {
  call @kernel(%a, %x) : (memref<?x4xf32>, f32) -> ()
  return
}
// CHECK: func.func private @kernel(%[[P:[a-z0-9]*]]: !llvm.ptr {llvm.noalias}, %[[N:[a-z0-9]*]]: index, %{{.*}}: f32)
// CHECK: llvm.insertvalue %[[P]]
// CHECK: builtin.unrealized_conversion_cast
func.func private @kernel(%a: memref<?x4xf32>, %x: f32) attributes {tilewright.kernel} {
  affine.store %x, %a[0, 0] : memref<?x4xf32>
  return
}

// Sizes that the body asks for are arguments.
// CHECK: func.func private @size(%{{.*}}: !llvm.ptr {llvm.noalias}, %[[N:.*]]: index) -> index
// CHECK-NOT: memref.dim
// CHECK: return %[[N]] : index
func.func @caller_of_size(%a: memref<2x?xf32>) -> index {
  %n = call @size(%a) : (memref<2x?xf32>) -> index
  return %n : index
}
func.func private @size(%a: memref<2x?xf32>) -> index attributes {tilewright.kernel} {
  %c1 = arith.constant 1 : index
  %n = memref.dim %a, %c1 : memref<2x?xf32>
  return %n : index
}
