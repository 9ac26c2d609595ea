// RUN: env TILEWRIGHT_TARGET_PATH=%build/lib/tilewright:%build/test/plugins/adder tw-opt %s -split-input-file -bind-intrinsics -verify-diagnostics | FileCheck %s

// Names of the records, signatures of their header; narrow integers fill registers as in C.
module attributes {tilewright.target = "accelerator:npu"} {
  llvm.mlir.global internal @tilewright_scratchpad() {addr_space = 3 : i32, alignment = 1024 : i64} : !llvm.array<64 x i8>
  // CHECK-NOT: llvm.mlir.global
  // CHECK: func.func private @launch(%[[CORE:.*]]: i32, %[[A:.*]]: !llvm.ptr)
  // CHECK: %[[S:.*]] = call @accelerator_scratchpad() : () -> !llvm.ptr
  // CHECK: %[[T:.*]] = llvm.getelementptr %[[S]][32] : (!llvm.ptr) -> !llvm.ptr, i8
  // CHECK-NOT: addrspacecast
  // CHECK: call @npu_load(%[[T]], %{{.*}}, %[[A]], %{{.*}}, %[[CORE]], %[[CORE]])
  // CHECK: call @accelerator_commit_copy()
  // CHECK: call @accelerator_wait_copy(%[[CORE]])
  // CHECK: call @npu_multiply_i8(
  // CHECK: call @npu_requantize_i32(
  // CHECK: call @npu_store(
  // CHECK-NOT: tilewright.primitive
  // CHECK: func.func private @npu_load(!llvm.ptr, i64, !llvm.ptr, i64, i32 {llvm.signext}, i32 {llvm.signext})
  // CHECK: func.func private @npu_multiply_i8(!llvm.ptr, i64, !llvm.ptr, i64, !llvm.ptr, i64, i1 {llvm.zeroext})
  func.func private @launch(%A: !llvm.ptr) attributes {tilewright.launch = {shared = 0 : i64, threads = 1 : i64}} {
    %n = arith.constant 64 : i64
    %true = arith.constant true
    %core = call @tilewright.primitive.block_x() : () -> i32
    %s = llvm.mlir.addressof @tilewright_scratchpad : !llvm.ptr<3>
    %p = llvm.getelementptr %s[32] : (!llvm.ptr<3>) -> !llvm.ptr<3>, i8
    %t = llvm.addrspacecast %p : !llvm.ptr<3> to !llvm.ptr
    call @tilewright.primitive.copy_2d(%t, %n, %A, %n, %core, %core) : (!llvm.ptr, i64, !llvm.ptr, i64, i32, i32) -> ()
    call @tilewright.primitive.commit_copy() : () -> ()
    call @tilewright.primitive.wait_copy(%core) : (i32) -> ()
    call @tilewright.unit.accelerator.systolic_i8(%t, %n, %t, %n, %t, %n, %true) : (!llvm.ptr, i64, !llvm.ptr, i64, !llvm.ptr, i64, i1) -> ()
    call @tilewright.vector.accelerator.requantize_i32(%t, %t, %t, %t) : (!llvm.ptr, !llvm.ptr, !llvm.ptr, !llvm.ptr) -> ()
    call @tilewright.primitive.store_2d(%A, %n, %t, %n, %core, %core) : (!llvm.ptr, i64, !llvm.ptr, i64, i32, i32) -> ()
    return
  }
  func.func private @tilewright.primitive.block_x() -> i32
  func.func private @tilewright.primitive.copy_2d(!llvm.ptr, i64, !llvm.ptr, i64, i32, i32)
  func.func private @tilewright.primitive.store_2d(!llvm.ptr, i64, !llvm.ptr, i64, i32, i32)
  func.func private @tilewright.primitive.commit_copy()
  func.func private @tilewright.primitive.wait_copy(i32)
  func.func private @tilewright.unit.accelerator.systolic_i8(!llvm.ptr, i64, !llvm.ptr, i64, !llvm.ptr, i64, i1)
  func.func private @tilewright.vector.accelerator.requantize_i32(!llvm.ptr, !llvm.ptr, !llvm.ptr, !llvm.ptr)
}

// -----

// Operands and constants of a unit in the order of the roles in its record: C, B, 7, A.
module attributes {tilewright.target = "adder:one"} {
  // CHECK: func.func private @launch(%{{.*}}: i32, %[[A:.*]]: !llvm.ptr, %[[B:.*]]: !llvm.ptr, %[[C:.*]]: !llvm.ptr, %[[PA:.*]]: i64, %[[PB:.*]]: i64, %[[PC:.*]]: i64)
  // CHECK: %[[SEVEN:.*]] = llvm.mlir.constant(7 : i32) : i32
  // CHECK: call @adder_multiply_i8(%[[C]], %[[PC]], %[[B]], %[[PB]], %[[SEVEN]], %[[A]], %[[PA]])
  func.func private @launch(%a: !llvm.ptr, %b: !llvm.ptr, %c: !llvm.ptr, %pa: i64, %pb: i64, %pc: i64) attributes {tilewright.launch = {shared = 0 : i64, threads = 1 : i64}} {
    call @tilewright.unit.adder.adds_i8(%a, %pa, %b, %pb, %c, %pc) : (!llvm.ptr, i64, !llvm.ptr, i64, !llvm.ptr, i64) -> ()
    return
  }
  func.func private @tilewright.unit.adder.adds_i8(!llvm.ptr, i64, !llvm.ptr, i64, !llvm.ptr, i64)
}

// -----

module attributes {tilewright.target = "accelerator:npu"} {
  func.func private @launch() attributes {tilewright.launch = {shared = 0 : i64, threads = 1 : i64}} {
    // expected-error @+1 {{chip accelerator:npu has nothing that 'tilewright.unit.accelerator.other' stands for}}
    call @tilewright.unit.accelerator.other() : () -> ()
    return
  }
  func.func private @tilewright.unit.accelerator.other()
}

// -----

// expected-error @+1 {{chip cpu:x86-64-v3 has no cores with a scratchpad}}
module attributes {tilewright.target = "cpu:x86-64-v3"} {}
