// RUN: tw-opt %s --make-c-interface | FileCheck %s
// RUN: tw-opt %s --make-c-interface=packed-call | FileCheck %s --check-prefix=PACKED

// Sizes first, then inputs and outputs as pointers; sizes are checked before anything runs.
// CHECK: func.func @f_workspace(%{{.*}}: index, %{{.*}}: index) -> i64
// CHECK: func.func @f_in(%[[M:[a-z0-9]*]]: index, %[[N:[a-z0-9]*]]: index, %{{.*}}: !llvm.ptr {llvm.noalias}, %{{.*}}: !llvm.ptr {llvm.noalias}, %{{.*}}: !llvm.ptr {llvm.noalias}, %{{.*}}: !llvm.ptr {llvm.noalias}) -> i32
// CHECK-DAG: arith.cmpi sge, %[[M]]
// CHECK-DAG: arith.cmpi sge, %[[N]]
// CHECK: arith.cmpi eq
// CHECK: scf.if
// CHECK: call @f.body
// CHECK: memref.store
// CHECK: func.func @f(%{{.*}}: index, %{{.*}}: index, %{{.*}}: !llvm.ptr, %{{.*}}: !llvm.ptr, %{{.*}}: !llvm.ptr) -> i32
// CHECK: func.func private @f.body({{.*}}) -> f32 attributes {{.*}}tilewright.body

// PACKED: llvm.mlir.global external @made_learned_sizes({{.*}}) {{.*}}: !llvm.array<2 x i64>
// PACKED: func.func @f_call(%{{.*}}: !llvm.ptr) -> i32
// PACKED: func.func @f_workspace_call(%{{.*}}: !llvm.ptr) -> i64
// PACKED-NOT: func.func @f(
// PACKED: func.func private @f.body
func.func @f(%a: memref<?xf32>, %out: memref<?xf32>) -> f32 attributes {
    tilewright.array_results = array<i1: true, false>,
    tilewright.constraints = affine_set<()[s0, s1] : (s0 - s1 - 2 == 0)>,
    tilewright.shapes = [affine_map<()[s0, s1] -> (s0)>, affine_map<()[s0, s1] -> (s1)>, affine_map<()[s0, s1] -> ()>]} {
  %c0 = arith.constant 0 : index
  %x = memref.load %a[%c0] : memref<?xf32>
  memref.store %x, %out[%c0] : memref<?xf32>
  return %x : f32
}

// An index outside of its array ends the call with a status of its own, and leaves behind what it was: in this process in an array,
// in a library for the thread that called.
// CHECK: func.func private @index.report(%[[TEXT:.*]]: !llvm.ptr, %{{.*}}: i64, %{{.*}}: i64)
// CHECK: call @tilewright.thread_arena
// CHECK: llvm.store %[[TEXT]]
// CHECK: func.func @index_failure(%{{.*}}: !llvm.ptr) -> !llvm.ptr
// CHECK: func.func private @index.body
// CHECK: %[[BAD:.*]] = arith.cmpi ne, %{{.*}}, %c0
// CHECK-NEXT: scf.if %[[BAD]] {
// CHECK: %[[MESSAGE:.*]] = llvm.mlir.addressof @index.check0
// CHECK: call @index.report(%[[MESSAGE]]
// CHECK-NEXT: call @tilewright.refuse_index() : () -> ()
// PACKED: func.func private @index.report
// PACKED: llvm.mlir.addressof @index_failed_check
// PACKED-NOT: @index_failure
// PACKED: call @tilewright.refuse_index() : () -> ()
func.func @index(%a: memref<?xindex>) attributes {
    tilewright.shapes = [affine_map<()[s0] -> (s0)>]} {
  %c0 = arith.constant 0 : index
  %c9 = arith.constant 9 : index
  %code = memref.load %a[%c0] : memref<?xindex>
  tile.require_size %code, %c9 {tilewright.bad_index, tilewright.message = "index {index}, extent {extent}"}
  return
}

// A result of another size than the caller's array ends the call; in this process it leaves the size for the caller.
// CHECK: func.func private @made.body
// CHECK: %[[WRONG:.*]] = arith.cmpi ne
// CHECK-NEXT: scf.if %[[WRONG]] {
// CHECK-NEXT: call @tilewright.refuse_sizes() : () -> ()
// CHECK-NEXT: }
// CHECK-NOT: tile.require_size
// PACKED: func.func private @made.body
// PACKED: scf.if
// PACKED: %[[FIRST:.*]] = llvm.mlir.addressof @made_learned_sizes
// PACKED: %[[SLOT:.*]] = llvm.getelementptr %[[FIRST]][1]
// PACKED: llvm.store %{{.*}}, %[[SLOT]] : i64
// PACKED: call @tilewright.refuse_sizes() : () -> ()
func.func @made(%a: memref<?xindex>, %out: memref<?xindex>) attributes {
    tilewright.array_results = array<i1: true>,
    tilewright.shapes = [affine_map<()[s0, s1] -> (s0)>, affine_map<()[s0, s1] -> (s1)>]} {
  %c0 = arith.constant 0 : index
  %n = memref.load %a[%c0] : memref<?xindex>
  %given = memref.dim %out, %c0 : memref<?xindex>
  tile.require_size %n, %given output 0 dimension 0
  memref.store %n, %out[%c0] : memref<?xindex>
  return
}
