// Kernels whose lanes publish what engines read: nothing is said. What must be reported: check-engine-fences-invalid.mlir.
//
// RUN: tw-opt %s -split-input-file -check-engine-fences -verify-diagnostics | FileCheck %s

// Written, fenced, handed on, stored by one lane; in a loop.
//
// CHECK-LABEL: llvm.func @stored
module attributes {tilewright.target = "nvidia:H100"} {
llvm.mlir.global external @tile() {addr_space = 3 : i32, alignment = 1024 : i64} : !llvm.array<4096 x i8>
llvm.func @tilewright.primitive.barrier()
llvm.func @tilewright.primitive.fence_engines()
llvm.func @tilewright.primitive.store_tensor(!llvm.ptr, !llvm.ptr<3>, i32, i32)
llvm.func @stored(%map: !llvm.ptr, %v: f32, %first: i1, %more: i1) attributes {nvvm.kernel} {
  %tile = llvm.mlir.addressof @tile : !llvm.ptr<3>
  %c0 = llvm.mlir.constant(0 : i32) : i32
  llvm.br ^loop
^loop:
  llvm.store %v, %tile : f32, !llvm.ptr<3>
  llvm.call @tilewright.primitive.fence_engines() : () -> ()
  llvm.call @tilewright.primitive.barrier() : () -> ()
  llvm.cond_br %first, ^store, ^next
^store:
  llvm.call @tilewright.primitive.store_tensor(%map, %tile, %c0, %c0) : (!llvm.ptr, !llvm.ptr<3>, i32, i32) -> ()
  llvm.br ^next
^next:
  llvm.cond_br %more, ^loop, ^end
^end:
  llvm.return
}
}

// -----

// A fence behind the barrier counts after the next one; global memory takes another way; what comes behind the engine's last
// work is nobody's.
//
// CHECK-LABEL: llvm.func @late_and_handed_on_again
module attributes {tilewright.target = "nvidia:H100"} {
llvm.mlir.global external @tile() {addr_space = 3 : i32, alignment = 1024 : i64} : !llvm.array<4096 x i8>
llvm.func @tilewright.primitive.barrier()
llvm.func @tilewright.primitive.fence_engines()
llvm.func @tilewright.primitive.store_tensor(!llvm.ptr, !llvm.ptr<3>, i32, i32)
llvm.func @late_and_handed_on_again(%map: !llvm.ptr, %v: f32, %out: !llvm.ptr<1>) attributes {nvvm.kernel} {
  %tile = llvm.mlir.addressof @tile : !llvm.ptr<3>
  %c0 = llvm.mlir.constant(0 : i32) : i32
  llvm.store %v, %tile : f32, !llvm.ptr<3>
  llvm.call @tilewright.primitive.barrier() : () -> ()
  llvm.call @tilewright.primitive.fence_engines() : () -> ()
  llvm.call @tilewright.primitive.barrier() : () -> ()
  llvm.store %v, %out : f32, !llvm.ptr<1>
  llvm.call @tilewright.primitive.store_tensor(%map, %tile, %c0, %c0) : (!llvm.ptr, !llvm.ptr<3>, i32, i32) -> ()
  llvm.call @tilewright.primitive.barrier() : () -> ()
  llvm.store %v, %tile : f32, !llvm.ptr<3>
  llvm.call @tilewright.primitive.barrier() : () -> ()
  llvm.return
}
}

// -----

// Registers of units: a fence in each step of a loop, then sums that lanes read, then new sums behind another fence. Units of one
// record are in order by themselves.
//
// CHECK-LABEL: llvm.func @registers
module attributes {tilewright.target = "nvidia:H100"} {
llvm.func @tilewright.primitive.fence_units()
llvm.func @tilewright.unit.nvidia.wgmma_m64n16k16_f16_f32(i64, i64, i64, i64, vector<8xf32>) -> vector<8xf32>
llvm.func @registers(%a: i64, %b: i64, %k: i64, %more: i1, %out: !llvm.ptr<1>) attributes {nvvm.kernel} {
  %zero = llvm.mlir.constant(dense<0.0> : vector<8xf32>) : vector<8xf32>
  llvm.br ^loop(%zero : vector<8xf32>)
^loop(%sum: vector<8xf32>):
  llvm.call @tilewright.primitive.fence_units() : () -> ()
  %0 = llvm.call @tilewright.unit.nvidia.wgmma_m64n16k16_f16_f32(%a, %k, %b, %k, %sum) : (i64, i64, i64, i64, vector<8xf32>) -> vector<8xf32>
  %1 = llvm.call @tilewright.unit.nvidia.wgmma_m64n16k16_f16_f32(%a, %k, %b, %k, %0) : (i64, i64, i64, i64, vector<8xf32>) -> vector<8xf32>
  llvm.cond_br %more, ^loop(%1 : vector<8xf32>), ^end
^end:
  llvm.store %1, %out : vector<8xf32>, !llvm.ptr<1>
  %2 = llvm.fadd %1, %zero : vector<8xf32>
  llvm.call @tilewright.primitive.fence_units() : () -> ()
  %3 = llvm.call @tilewright.unit.nvidia.wgmma_m64n16k16_f16_f32(%a, %k, %b, %k, %2) : (i64, i64, i64, i64, vector<8xf32>) -> vector<8xf32>
  llvm.store %3, %out : vector<8xf32>, !llvm.ptr<1>
  llvm.return
}
}

// -----

// Chips without such engines have no fences.
//
// CHECK-LABEL: llvm.func @other_chip
module attributes {tilewright.target = "amd:MI300X"} {
llvm.mlir.global external @tile() {addr_space = 3 : i32} : !llvm.array<4096 x i8>
llvm.func @tilewright.primitive.barrier()
llvm.func @other_chip(%v: f32) attributes {rocdl.kernel} {
  %tile = llvm.mlir.addressof @tile : !llvm.ptr<3>
  llvm.store %v, %tile : f32, !llvm.ptr<3>
  llvm.call @tilewright.primitive.barrier() : () -> ()
  llvm.return
}
}

// -----

// An op that the emulation does not know: said, not failed.
//
// expected-remark @below {{fences before engines were not checked: the emulator does not know 'acme_magic': the target's emulation table has no rule for it}}
module attributes {tilewright.target = "nvidia:H100"} {
llvm.func @acme_magic()
// CHECK-LABEL: llvm.func @unknown
llvm.func @unknown() attributes {nvvm.kernel} {
  llvm.call @acme_magic() : () -> ()
  llvm.return
}
}
