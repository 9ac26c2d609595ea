// Emissions beside an op: overloaded intrinsics, opaque registers through memory, a unit that the chip lacks.
//
// RUN: tw-opt %s -split-input-file -emit-units -verify-diagnostics | FileCheck %s
// RUN: tw-opt %s -split-input-file -emit-units -verify-diagnostics | FileCheck %s --check-prefix=NONE
// NONE-NOT: tilewright.unit

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

module attributes {tilewright.target = "cpu:sapphire-rapids"} {
llvm.func @tilewright.unit.cpu.amx_tdpbf16(vector<512xbf16>, vector<512xbf16>, vector<256xf32>) -> vector<256xf32>
// CHECK-LABEL: @tile
// CHECK-COUNT-4: llvm.alloca
// CHECK: llvm.store %{{.*}} : vector<512xbf16>
// CHECK: llvm.call_intrinsic "llvm.x86.tileloadd64.internal"({{.*}}) : (i16, i16, !llvm.ptr, i64) -> !llvm.x86_amx
// CHECK: llvm.call_intrinsic "llvm.x86.tileloadd64.internal"
// CHECK: llvm.call_intrinsic "llvm.x86.tileloadd64.internal"
// CHECK: llvm.call_intrinsic "llvm.x86.tdpbf16ps.internal"({{.*}}) : (i16, i16, i16, !llvm.x86_amx, !llvm.x86_amx, !llvm.x86_amx) -> !llvm.x86_amx
// CHECK: llvm.call_intrinsic "llvm.x86.tilestored64.internal"({{.*}}) : (i16, i16, !llvm.ptr, i64, !llvm.x86_amx) -> ()
// CHECK: llvm.load %{{.*}} : !llvm.ptr -> vector<256xf32>
llvm.func @tile(%a: vector<512xbf16>, %b: vector<512xbf16>, %c: vector<256xf32>) -> vector<256xf32> {
  %0 = llvm.call @tilewright.unit.cpu.amx_tdpbf16(%a, %b, %c) : (vector<512xbf16>, vector<512xbf16>, vector<256xf32>) -> vector<256xf32>
  llvm.return %0 : vector<256xf32>
}
}

// -----

module attributes {tilewright.target = "cpu:x86-64-v3"} {
llvm.func @tilewright.unit.cpu.avx2_madd_i16(vector<16xi16>, vector<16xi16>, vector<8xi32>) -> vector<8xi32>
// CHECK-LABEL: @assembly
// CHECK: llvm.inline_asm "vpmaddwd $3, $2, $0\0A\09vpaddd $1, $0, $0", "=&x,x,x,x" %{{.*}}, %{{.*}}, %{{.*}} : (vector<8xi32>, vector<16xi16>, vector<16xi16>) -> vector<8xi32>
llvm.func @assembly(%a: vector<16xi16>, %b: vector<16xi16>, %c: vector<8xi32>) -> vector<8xi32> {
  %0 = llvm.call @tilewright.unit.cpu.avx2_madd_i16(%a, %b, %c) : (vector<16xi16>, vector<16xi16>, vector<8xi32>) -> vector<8xi32>
  llvm.return %0 : vector<8xi32>
}
}

// -----

module attributes {tilewright.target = "cpu:zen4"} {
llvm.func @tilewright.unit.cpu.amx_tdpbf16(vector<512xbf16>, vector<512xbf16>, vector<256xf32>) -> vector<256xf32>
llvm.func @lacks(%a: vector<512xbf16>, %b: vector<512xbf16>, %c: vector<256xf32>) -> vector<256xf32> {
  // expected-error@+1 {{chip cpu:zen4 has no unit "cpu.amx_tdpbf16"}}
  %0 = llvm.call @tilewright.unit.cpu.amx_tdpbf16(%a, %b, %c) : (vector<512xbf16>, vector<512xbf16>, vector<256xf32>) -> vector<256xf32>
  llvm.return %0 : vector<256xf32>
}
}
