// The path of a matrix unit from tile.mma to its instruction: registers for all fragments, operands straight from
// memory, no spills, no masks.
//
// RUN: tw-opt %s --pass-pipeline="builtin.module(lower-affine,lower-tile-to-vector,canonicalize,cse,convert-scf-to-cf,expand-strided-metadata,lower-affine,convert-vector-to-llvm,finalize-memref-to-llvm,convert-arith-to-llvm,convert-index-to-llvm,convert-func-to-llvm{use-bare-ptr-memref-call-conv},convert-cf-to-llvm,reconcile-unrealized-casts,emit-units)" -o %t.mlir
// RUN: FileCheck %s --check-prefix=LLVM < %t.mlir
// RUN: mlir-translate --mlir-to-llvmir %t.mlir | opt -O3 -mtriple=x86_64-linux-gnu -mcpu=znver4 | llc -O3 -mtriple=x86_64-linux-gnu -mcpu=znver4 | FileCheck %s --check-prefix=ASM

#one = #tile.layout<>
#row2 = #tile.layout<elements = [0, 1]>
#row4 = #tile.layout<elements = [0, 1, 0, 2]>
#row16 = #tile.layout<elements = [0, 1, 0, 2, 0, 4, 0, 8]>
#pairs = #tile.layout<elements = [1, 0, 0, 1, 0, 2, 0, 4, 0, 8]>
#quads = #tile.layout<elements = [1, 0, 2, 0, 0, 1, 0, 2, 0, 4, 0, 8]>
!a = !tile.fragment<1x1xf32, #one>
!c = !tile.fragment<1x16xf32, #row16>

module attributes {tilewright.target = "cpu:zen4"} {

// LLVM-NOT: tilewright.unit
// LLVM-LABEL: @f32
// LLVM: llvm.intr.fma(%{{.*}}) : (vector<16xf32>, vector<16xf32>, vector<16xf32>) -> vector<16xf32>

// ASM-LABEL: f32:
// ASM-NOT: rsp
// ASM: Inner Loop
// ASM-COUNT-4: vfmadd231ps
// ASM-NOT: {{rsp|%k[0-7]}}
// ASM: retq
func.func @f32(%A: memref<2x512xf32>, %B: memref<512x32xf32>, %C: memref<2x32xf32>) {
  %zero = tile.zero : !c
  %r:4 = affine.for %k = 0 to 512 iter_args(%c0 = %zero, %c1 = %zero, %c2 = %zero, %c3 = %zero) -> (!c, !c, !c, !c) {
    %b0 = tile.load %B[%k, 0] elements affine_map<(r, c) -> (r, c)> : memref<512x32xf32> -> !c
    %b1 = tile.load %B[%k, 16] elements affine_map<(r, c) -> (r, c)> : memref<512x32xf32> -> !c
    %a0 = tile.load %A[0, %k] elements affine_map<(r, c) -> (r, c)> : memref<2x512xf32> -> !a
    %d0 = tile.mma %a0, %b0, %c0 {unit = "cpu.avx512_fma_f32"} : !a, !c, !c
    %d1 = tile.mma %a0, %b1, %c1 {unit = "cpu.avx512_fma_f32"} : !a, !c, !c
    %a1 = tile.load %A[1, %k] elements affine_map<(r, c) -> (r, c)> : memref<2x512xf32> -> !a
    %d2 = tile.mma %a1, %b0, %c2 {unit = "cpu.avx512_fma_f32"} : !a, !c, !c
    %d3 = tile.mma %a1, %b1, %c3 {unit = "cpu.avx512_fma_f32"} : !a, !c, !c
    affine.yield %d0, %d1, %d2, %d3 : !c, !c, !c, !c
  }
  tile.store %r#0, %C[0, 0] elements affine_map<(r, c) -> (r, c)> : !c, memref<2x32xf32>
  tile.store %r#1, %C[0, 16] elements affine_map<(r, c) -> (r, c)> : !c, memref<2x32xf32>
  tile.store %r#2, %C[1, 0] elements affine_map<(r, c) -> (r, c)> : !c, memref<2x32xf32>
  tile.store %r#3, %C[1, 16] elements affine_map<(r, c) -> (r, c)> : !c, memref<2x32xf32>
  return
}

// LLVM-LABEL: @bf16
// LLVM: llvm.call_intrinsic "llvm.x86.avx512bf16.dpbf16ps.512"(%{{.*}}) : (vector<16xf32>, vector<32xbf16>, vector<32xbf16>) -> vector<16xf32>

// ASM-LABEL: bf16:
// ASM: Inner Loop
// ASM: vbroadcastss (%{{.*}}), %zmm[[A:[0-9]+]]
// ASM: vdpbf16ps {{.*}}(%{{.*}}), %zmm[[A]],
// ASM: retq
func.func @bf16(%A: memref<1x512xbf16>, %B: memref<256x16x2xbf16>, %C: memref<1x16xf32>) {
  %zero = tile.zero : !c
  %r = affine.for %k = 0 to 256 iter_args(%acc = %zero) -> (!c) {
    %a = tile.load %A[0, %k * 2] elements affine_map<(r, c) -> (r, c)> : memref<1x512xbf16> -> !tile.fragment<1x2xbf16, #row2>
    %b = tile.load %B[%k, 0, 0] elements affine_map<(r, c) -> (0, c, r)> : memref<256x16x2xbf16> -> !tile.fragment<2x16xbf16, #pairs>
    %d = tile.mma %a, %b, %acc {unit = "cpu.avx512_dpbf16"} : !tile.fragment<1x2xbf16, #row2>, !tile.fragment<2x16xbf16, #pairs>, !c
    affine.yield %d : !c
  }
  tile.store %r, %C[0, 0] elements affine_map<(r, c) -> (r, c)> : !c, memref<1x16xf32>
  return
}

// LLVM-LABEL: @u8s8
// LLVM: llvm.call_intrinsic "llvm.x86.avx512.vpdpbusd.512"

// ASM-LABEL: u8s8:
// ASM: Inner Loop
// ASM: vpbroadcastd {{.*}}, %zmm[[A:[0-9]+]]
// ASM: vpdpbusd {{.*}}(%{{.*}}), %zmm[[A]],
// ASM: retq
func.func @u8s8(%A: memref<1x512xi8>, %B: memref<128x16x4xi8>, %C: memref<1x16xi32>) {
  %zero = tile.zero : !tile.fragment<1x16xi32, #row16>
  %r = affine.for %k = 0 to 128 iter_args(%acc = %zero) -> (!tile.fragment<1x16xi32, #row16>) {
    %a = tile.load %A[0, %k * 4] elements affine_map<(r, c) -> (r, c)> : memref<1x512xi8> -> !tile.fragment<1x4xi8, #row4>
    %b = tile.load %B[%k, 0, 0] elements affine_map<(r, c) -> (0, c, r)> : memref<128x16x4xi8> -> !tile.fragment<4x16xi8, #quads>
    %d = tile.mma %a, %b, %acc {unit = "cpu.avx512_dpbusd"} : !tile.fragment<1x4xi8, #row4>, !tile.fragment<4x16xi8, #quads>, !tile.fragment<1x16xi32, #row16>
    affine.yield %d : !tile.fragment<1x16xi32, #row16>
  }
  tile.store %r, %C[0, 0] elements affine_map<(r, c) -> (r, c)> : !tile.fragment<1x16xi32, #row16>, memref<1x16xi32>
  return
}
}
