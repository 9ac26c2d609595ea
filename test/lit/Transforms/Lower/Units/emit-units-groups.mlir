// A unit of a group with A in registers: descriptors are of B alone.
//
// RUN: tw-opt %s -split-input-file -emit-units -verify-diagnostics | FileCheck %s

// CHECK-LABEL: llvm.func @registers
// CHECK: llvm.bitcast %{{.*}} : vector<8xf16> to vector<4xi32>
// CHECK: llvm.inline_asm has_side_effects "{ .reg .pred p; setp.ne.b32 p, 1, 0; wgmma.mma_async.sync.aligned.m64n16k16.f32.f16.f16 {$0,$1,$2,$3,$4,$5,$6,$7}, {$16,$17,$18,$19}, $20, p, 1, 1, 1; }", "=f,=f,=f,=f,=f,=f,=f,=f,0,1,2,3,4,5,6,7,r,r,r,r,l"
module attributes {tilewright.target = "nvidia:H200"} {
llvm.func @tilewright.unit.nvidia.wgmma_m64n16k16_f16_f32_a(vector<8xf16>, i64, i64, vector<8xf32>) -> vector<8xf32>
llvm.func @registers(%a: vector<8xf16>, %b: i64, %c: vector<8xf32>) -> vector<8xf32> {
  %alongFree = llvm.mlir.constant(0 : i64) : i64
  %d = llvm.call @tilewright.unit.nvidia.wgmma_m64n16k16_f16_f32_a(%a, %b, %alongFree, %c) : (vector<8xf16>, i64, i64, vector<8xf32>) -> vector<8xf32>
  llvm.return %d : vector<8xf32>
}
}

// -----

// Sums that begin with zero are not read.
// CHECK-LABEL: llvm.func @fresh
// CHECK: llvm.inline_asm has_side_effects "{ .reg .pred p; setp.ne.b32 p, 0, 0; wgmma
// CHECK: nvvm.wgmma.mma_async {{.*}}, D[<f32>, <zero>]
module attributes {tilewright.target = "nvidia:H200"} {
llvm.func @tilewright.unit.nvidia.wgmma_m64n16k16_f16_f32_a(vector<8xf16>, i64, i64, vector<8xf32>) -> vector<8xf32>
llvm.func @tilewright.unit.nvidia.wgmma_m64n16k16_f16_f32(i64, i64, i64, i64, vector<8xf32>) -> vector<8xf32>
llvm.func @fresh(%a: vector<8xf16>, %b: i64) -> vector<8xf32> {
  %alongFree = llvm.mlir.constant(0 : i64) : i64
  %zero = llvm.mlir.constant(dense<0.0> : vector<8xf32>) : vector<8xf32>
  %c = llvm.call @tilewright.unit.nvidia.wgmma_m64n16k16_f16_f32_a(%a, %b, %alongFree, %zero) : (vector<8xf16>, i64, i64, vector<8xf32>) -> vector<8xf32>
  %d = llvm.call @tilewright.unit.nvidia.wgmma_m64n16k16_f16_f32(%b, %alongFree, %b, %alongFree, %zero) : (i64, i64, i64, i64, vector<8xf32>) -> vector<8xf32>
  %e = llvm.fadd %c, %d : vector<8xf32>
  llvm.return %e : vector<8xf32>
}
}

// -----

module attributes {tilewright.target = "nvidia:H200"} {
llvm.func @tilewright.unit.nvidia.wgmma_m64n16k16_f16_f32_a(vector<8xf16>, i64, vector<8xf32>) -> vector<8xf32>
llvm.func @no_order(%a: vector<8xf16>, %b: i64, %c: vector<8xf32>) -> vector<8xf32> {
  // expected-error @+1 {{unit nvidia.wgmma_m64n16k16_f16_f32_a cannot be emitted: expected registers of A, the descriptor of B with its order, C, and an operation of the target for it}}
  %d = llvm.call @tilewright.unit.nvidia.wgmma_m64n16k16_f16_f32_a(%a, %b, %c) : (vector<8xf16>, i64, vector<8xf32>) -> vector<8xf32>
  llvm.return %d : vector<8xf32>
}
}

// -----

module attributes {tilewright.target = "nvidia:H200"} {
llvm.func @tilewright.unit.nvidia.wgmma_sp_m64n32k32_f16_f32(i64, i64, i64, i64, vector<16xf32>) -> vector<16xf32>
llvm.func @no_index(%a: i64, %b: i64, %c: vector<16xf32>) -> vector<16xf32> {
  %alongK = llvm.mlir.constant(1 : i64) : i64
  // expected-error @+1 {{unit nvidia.wgmma_sp_m64n32k32_f16_f32 cannot be emitted: expected descriptors of A and B, each with its order, C, the index of A, and an operation of the target for it}}
  %d = llvm.call @tilewright.unit.nvidia.wgmma_sp_m64n32k32_f16_f32(%a, %alongK, %b, %alongK, %c) : (i64, i64, i64, i64, vector<16xf32>) -> vector<16xf32>
  llvm.return %d : vector<16xf32>
}
}
