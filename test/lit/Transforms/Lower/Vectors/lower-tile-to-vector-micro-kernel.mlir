// A register tile of 6x64 f32 is the ideal loop: per k step 4 loads of B, 6 broadcast loads of A, 24 multiply-adds, and
// nothing else but the loop itself (LLVM unrolls it twice); no vector register is spilled.
//
// RUN: tw-opt %s --pass-pipeline="builtin.module(lower-affine,lower-tile-to-vector,canonicalize,cse,convert-scf-to-cf,expand-strided-metadata,lower-affine,convert-vector-to-llvm,finalize-memref-to-llvm,convert-arith-to-llvm,convert-index-to-llvm,convert-func-to-llvm{use-bare-ptr-memref-call-conv},convert-cf-to-llvm,reconcile-unrealized-casts,emit-units)" | mlir-translate --mlir-to-llvmir | opt -O3 -mtriple=x86_64-linux-gnu -mcpu=znver4 | llc -O3 -mtriple=x86_64-linux-gnu -mcpu=znver4 -o %t.s
// RUN: FileCheck %s < %t.s
// RUN: grep -c vfmadd231ps %t.s | FileCheck %s --check-prefix=FMA
// RUN: grep -c vbroadcastss %t.s | FileCheck %s --check-prefix=BROADCAST
// RUN: not grep rsp %t.s

// CHECK: micro:
// CHECK: Inner Loop
// CHECK-COUNT-48: vfmadd231ps %zmm{{[0-9]+}}, %zmm{{[0-9]+}}, %zmm{{[0-9]+}}
// CHECK-NOT: vfmadd
// CHECK: j{{n?[a-z]+}} .LBB0_1
// CHECK-COUNT-24: vmovups %zmm{{[0-9]+}}, {{[0-9]*}}(%rdx)
// FMA: {{^}}48{{$}}
// BROADCAST: {{^}}12{{$}}

#one = #tile.layout<>
#row16 = #tile.layout<elements = [0, 1, 0, 2, 0, 4, 0, 8]>
!a = !tile.fragment<1x1xf32, #one>
!c = !tile.fragment<1x16xf32, #row16>
module attributes {tilewright.target = "cpu:zen4"} {
func.func @micro(%A: memref<6x512xf32>, %B: memref<512x64xf32>, %C: memref<6x64xf32>) {
  %zero = tile.zero : !c
  %r:24 = affine.for %k = 0 to 512 iter_args(%c0 = %zero, %c1 = %zero, %c2 = %zero, %c3 = %zero, %c4 = %zero, %c5 = %zero, %c6 = %zero, %c7 = %zero, %c8 = %zero, %c9 = %zero, %c10 = %zero, %c11 = %zero, %c12 = %zero, %c13 = %zero, %c14 = %zero, %c15 = %zero, %c16 = %zero, %c17 = %zero, %c18 = %zero, %c19 = %zero, %c20 = %zero, %c21 = %zero, %c22 = %zero, %c23 = %zero) -> (!c, !c, !c, !c, !c, !c, !c, !c, !c, !c, !c, !c, !c, !c, !c, !c, !c, !c, !c, !c, !c, !c, !c, !c) {
    %b0 = tile.load %B[%k, 0] elements affine_map<(r, c) -> (r, c)> : memref<512x64xf32> -> !c
    %b1 = tile.load %B[%k, 16] elements affine_map<(r, c) -> (r, c)> : memref<512x64xf32> -> !c
    %b2 = tile.load %B[%k, 32] elements affine_map<(r, c) -> (r, c)> : memref<512x64xf32> -> !c
    %b3 = tile.load %B[%k, 48] elements affine_map<(r, c) -> (r, c)> : memref<512x64xf32> -> !c
    %a0 = tile.load %A[0, %k] elements affine_map<(r, c) -> (r, c)> : memref<6x512xf32> -> !a
    %d0 = tile.mma %a0, %b0, %c0 {unit = "cpu.avx512_fma_f32"} : !a, !c, !c
    %d1 = tile.mma %a0, %b1, %c1 {unit = "cpu.avx512_fma_f32"} : !a, !c, !c
    %d2 = tile.mma %a0, %b2, %c2 {unit = "cpu.avx512_fma_f32"} : !a, !c, !c
    %d3 = tile.mma %a0, %b3, %c3 {unit = "cpu.avx512_fma_f32"} : !a, !c, !c
    %a1 = tile.load %A[1, %k] elements affine_map<(r, c) -> (r, c)> : memref<6x512xf32> -> !a
    %d4 = tile.mma %a1, %b0, %c4 {unit = "cpu.avx512_fma_f32"} : !a, !c, !c
    %d5 = tile.mma %a1, %b1, %c5 {unit = "cpu.avx512_fma_f32"} : !a, !c, !c
    %d6 = tile.mma %a1, %b2, %c6 {unit = "cpu.avx512_fma_f32"} : !a, !c, !c
    %d7 = tile.mma %a1, %b3, %c7 {unit = "cpu.avx512_fma_f32"} : !a, !c, !c
    %a2 = tile.load %A[2, %k] elements affine_map<(r, c) -> (r, c)> : memref<6x512xf32> -> !a
    %d8 = tile.mma %a2, %b0, %c8 {unit = "cpu.avx512_fma_f32"} : !a, !c, !c
    %d9 = tile.mma %a2, %b1, %c9 {unit = "cpu.avx512_fma_f32"} : !a, !c, !c
    %d10 = tile.mma %a2, %b2, %c10 {unit = "cpu.avx512_fma_f32"} : !a, !c, !c
    %d11 = tile.mma %a2, %b3, %c11 {unit = "cpu.avx512_fma_f32"} : !a, !c, !c
    %a3 = tile.load %A[3, %k] elements affine_map<(r, c) -> (r, c)> : memref<6x512xf32> -> !a
    %d12 = tile.mma %a3, %b0, %c12 {unit = "cpu.avx512_fma_f32"} : !a, !c, !c
    %d13 = tile.mma %a3, %b1, %c13 {unit = "cpu.avx512_fma_f32"} : !a, !c, !c
    %d14 = tile.mma %a3, %b2, %c14 {unit = "cpu.avx512_fma_f32"} : !a, !c, !c
    %d15 = tile.mma %a3, %b3, %c15 {unit = "cpu.avx512_fma_f32"} : !a, !c, !c
    %a4 = tile.load %A[4, %k] elements affine_map<(r, c) -> (r, c)> : memref<6x512xf32> -> !a
    %d16 = tile.mma %a4, %b0, %c16 {unit = "cpu.avx512_fma_f32"} : !a, !c, !c
    %d17 = tile.mma %a4, %b1, %c17 {unit = "cpu.avx512_fma_f32"} : !a, !c, !c
    %d18 = tile.mma %a4, %b2, %c18 {unit = "cpu.avx512_fma_f32"} : !a, !c, !c
    %d19 = tile.mma %a4, %b3, %c19 {unit = "cpu.avx512_fma_f32"} : !a, !c, !c
    %a5 = tile.load %A[5, %k] elements affine_map<(r, c) -> (r, c)> : memref<6x512xf32> -> !a
    %d20 = tile.mma %a5, %b0, %c20 {unit = "cpu.avx512_fma_f32"} : !a, !c, !c
    %d21 = tile.mma %a5, %b1, %c21 {unit = "cpu.avx512_fma_f32"} : !a, !c, !c
    %d22 = tile.mma %a5, %b2, %c22 {unit = "cpu.avx512_fma_f32"} : !a, !c, !c
    %d23 = tile.mma %a5, %b3, %c23 {unit = "cpu.avx512_fma_f32"} : !a, !c, !c
    affine.yield %d0, %d1, %d2, %d3, %d4, %d5, %d6, %d7, %d8, %d9, %d10, %d11, %d12, %d13, %d14, %d15, %d16, %d17, %d18, %d19, %d20, %d21, %d22, %d23 : !c, !c, !c, !c, !c, !c, !c, !c, !c, !c, !c, !c, !c, !c, !c, !c, !c, !c, !c, !c, !c, !c, !c, !c
  }
  tile.store %r#0, %C[0, 0] elements affine_map<(r, c) -> (r, c)> : !c, memref<6x64xf32>
  tile.store %r#1, %C[0, 16] elements affine_map<(r, c) -> (r, c)> : !c, memref<6x64xf32>
  tile.store %r#2, %C[0, 32] elements affine_map<(r, c) -> (r, c)> : !c, memref<6x64xf32>
  tile.store %r#3, %C[0, 48] elements affine_map<(r, c) -> (r, c)> : !c, memref<6x64xf32>
  tile.store %r#4, %C[1, 0] elements affine_map<(r, c) -> (r, c)> : !c, memref<6x64xf32>
  tile.store %r#5, %C[1, 16] elements affine_map<(r, c) -> (r, c)> : !c, memref<6x64xf32>
  tile.store %r#6, %C[1, 32] elements affine_map<(r, c) -> (r, c)> : !c, memref<6x64xf32>
  tile.store %r#7, %C[1, 48] elements affine_map<(r, c) -> (r, c)> : !c, memref<6x64xf32>
  tile.store %r#8, %C[2, 0] elements affine_map<(r, c) -> (r, c)> : !c, memref<6x64xf32>
  tile.store %r#9, %C[2, 16] elements affine_map<(r, c) -> (r, c)> : !c, memref<6x64xf32>
  tile.store %r#10, %C[2, 32] elements affine_map<(r, c) -> (r, c)> : !c, memref<6x64xf32>
  tile.store %r#11, %C[2, 48] elements affine_map<(r, c) -> (r, c)> : !c, memref<6x64xf32>
  tile.store %r#12, %C[3, 0] elements affine_map<(r, c) -> (r, c)> : !c, memref<6x64xf32>
  tile.store %r#13, %C[3, 16] elements affine_map<(r, c) -> (r, c)> : !c, memref<6x64xf32>
  tile.store %r#14, %C[3, 32] elements affine_map<(r, c) -> (r, c)> : !c, memref<6x64xf32>
  tile.store %r#15, %C[3, 48] elements affine_map<(r, c) -> (r, c)> : !c, memref<6x64xf32>
  tile.store %r#16, %C[4, 0] elements affine_map<(r, c) -> (r, c)> : !c, memref<6x64xf32>
  tile.store %r#17, %C[4, 16] elements affine_map<(r, c) -> (r, c)> : !c, memref<6x64xf32>
  tile.store %r#18, %C[4, 32] elements affine_map<(r, c) -> (r, c)> : !c, memref<6x64xf32>
  tile.store %r#19, %C[4, 48] elements affine_map<(r, c) -> (r, c)> : !c, memref<6x64xf32>
  tile.store %r#20, %C[5, 0] elements affine_map<(r, c) -> (r, c)> : !c, memref<6x64xf32>
  tile.store %r#21, %C[5, 16] elements affine_map<(r, c) -> (r, c)> : !c, memref<6x64xf32>
  tile.store %r#22, %C[5, 32] elements affine_map<(r, c) -> (r, c)> : !c, memref<6x64xf32>
  tile.store %r#23, %C[5, 48] elements affine_map<(r, c) -> (r, c)> : !c, memref<6x64xf32>
  return
}
}
