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
