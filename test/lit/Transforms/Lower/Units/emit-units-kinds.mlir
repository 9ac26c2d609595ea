// Emissions beside an op: overloaded intrinsics, tile registers and their state, a unit that the chip lacks.
//
// RUN: tw-opt %s -split-input-file -emit-units -verify-diagnostics | FileCheck %s
// RUN: tw-opt %s -split-input-file -emit-units -verify-diagnostics | FileCheck %s --check-prefix=NONE
// NONE-NOT: tilewright.{{unit|register|state}}

module attributes {tilewright.target = "cpu:neoverse-v1"} {
llvm.func @tilewright.unit.cpu.neon_usdot(vector<16xi8>, vector<16xi8>, vector<4xi32>) -> vector<4xi32>
// CHECK-LABEL: @usdot
// CHECK-SAME: %[[A:.*]]: vector<16xi8>, %[[B:.*]]: vector<16xi8>, %[[C:.*]]: vector<4xi32>
// CHECK: llvm.call_intrinsic "llvm.aarch64.neon.usdot"(%[[C]], %[[A]], %[[B]]) : (vector<4xi32>, vector<16xi8>, vector<16xi8>) -> vector<4xi32>
llvm.func @usdot(%a: vector<16xi8>, %b: vector<16xi8>, %c: vector<4xi32>) -> vector<4xi32> {
  %0 = llvm.call @tilewright.unit.cpu.neon_usdot(%a, %b, %c) : (vector<16xi8>, vector<16xi8>, vector<4xi32>) -> vector<4xi32>
  llvm.return %0 : vector<4xi32>
}
}

// -----

// Numbered registers: immediates, filled from and stored to memory by rows of one distance; the state around them.
module attributes {tilewright.target = "cpu:sapphire-rapids"} {
llvm.func @tilewright.unit.cpu.amx_tdpbf16(i32, i32, i32)
llvm.func @tilewright.register.AmxRows.zero(i32)
llvm.func @tilewright.register.AmxPairs.fill.bf16(i32, !llvm.ptr, i64)
llvm.func @tilewright.register.AmxRows.store.f32(i32, !llvm.ptr, i64)
llvm.func @tilewright.state.AmxTiles.enter()
llvm.func @tilewright.state.AmxTiles.leave()
llvm.func @tilewright.state.AmxTiles.check() -> i64
// CHECK: llvm.mlir.global internal constant @tilewright.data.01{{.*}} {addr_space = 0 : i32, alignment = 64 : i64}
// CHECK-LABEL: llvm.func @tile(
// CHECK: %[[D:.*]] = llvm.mlir.addressof @tilewright.data.
// CHECK: llvm.call_intrinsic "llvm.x86.ldtilecfg"(%[[D]])
// CHECK: %[[N0:.*]] = llvm.mlir.constant(0 : i8) : i8
// CHECK: llvm.call_intrinsic "llvm.x86.tilezero"(%[[N0]])
// CHECK: %[[N2:.*]] = llvm.mlir.constant(2 : i8) : i8
// CHECK: llvm.call_intrinsic "llvm.x86.tileloadd64"(%[[N2]], %{{.*}}, %{{.*}}) : (i8, !llvm.ptr, i64) -> ()
// CHECK: llvm.call_intrinsic "llvm.x86.tdpbf16ps"(%{{.*}}, %{{.*}}, %{{.*}}) : (i8, i8, i8) -> ()
// CHECK: llvm.call_intrinsic "llvm.x86.tilestored64"
// CHECK: llvm.call_intrinsic "llvm.x86.tilerelease"() : () -> ()
llvm.func @tile(%p: !llvm.ptr, %stride: i64) {
  %0 = llvm.mlir.constant(0 : i32) : i32
  %1 = llvm.mlir.constant(1 : i32) : i32
  %2 = llvm.mlir.constant(2 : i32) : i32
  llvm.call @tilewright.state.AmxTiles.enter() : () -> ()
  llvm.call @tilewright.register.AmxRows.zero(%0) : (i32) -> ()
  llvm.call @tilewright.register.AmxPairs.fill.bf16(%2, %p, %stride) : (i32, !llvm.ptr, i64) -> ()
  llvm.call @tilewright.unit.cpu.amx_tdpbf16(%1, %2, %0) : (i32, i32, i32) -> ()
  llvm.call @tilewright.register.AmxRows.store.f32(%0, %p, %stride) : (i32, !llvm.ptr, i64) -> ()
  llvm.call @tilewright.state.AmxTiles.leave() : () -> ()
  llvm.return
}
// CHECK-LABEL: @granted
// CHECK: llvm.inline_asm has_side_effects "syscall", "={rax},{rax},{rdi},{rsi},~{rcx},~{r11},~{memory}" %{{.*}}, %{{.*}}, %{{.*}} : (i64, i64, i64) -> i64
llvm.func @granted() -> i64 {
  %0 = llvm.call @tilewright.state.AmxTiles.check() : () -> i64
  llvm.return %0 : i64
}
}

// -----

module attributes {tilewright.target = "cpu:sapphire-rapids"} {
llvm.func @tilewright.register.AmxRows.zero(i32)
llvm.func @no_such_register() {
  %8 = llvm.mlir.constant(8 : i32) : i32
  // expected-error@+1 {{needs the number of one of 8 registers "AmxRows"}}
  llvm.call @tilewright.register.AmxRows.zero(%8) : (i32) -> ()
  llvm.return
}
}

// -----

module attributes {tilewright.target = "cpu:x86-64-v3"} {
llvm.func @tilewright.unit.cpu.avx2_madd_i16(vector<16xi16>, vector<16xi16>, vector<8xi32>) -> vector<8xi32>
// CHECK-LABEL: @assembly
// CHECK: llvm.inline_asm "vpmaddwd $3, $2, %ymm15\0A\09vpaddd %ymm15, $0, $0", "=x,0,x,x,~{ymm15}" %{{.*}}, %{{.*}}, %{{.*}} : (vector<8xi32>, vector<16xi16>, vector<16xi16>) -> vector<8xi32>
llvm.func @assembly(%a: vector<16xi16>, %b: vector<16xi16>, %c: vector<8xi32>) -> vector<8xi32> {
  %0 = llvm.call @tilewright.unit.cpu.avx2_madd_i16(%a, %b, %c) : (vector<16xi16>, vector<16xi16>, vector<8xi32>) -> vector<8xi32>
  llvm.return %0 : vector<8xi32>
}
}

// -----

module attributes {tilewright.target = "cpu:zen4"} {
llvm.func @tilewright.unit.cpu.amx_tdpbf16(i32, i32, i32)
llvm.func @lacks() {
  %0 = llvm.mlir.constant(0 : i32) : i32
  // expected-error@+1 {{chip cpu:zen4 has no unit "cpu.amx_tdpbf16"}}
  llvm.call @tilewright.unit.cpu.amx_tdpbf16(%0, %0, %0) : (i32, i32, i32) -> ()
  llvm.return
}
}
