; Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
; SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

; mma.sp of tf32, whose A keeps one of two elements along k. The hardware sees each as two of four halves: the places of
; both halves, four bits, are 0b0100 of the first element of a group and 0b1110 of the second. A lane has four places in
; a row of %low, whose codes are the lower half of the word, and four of %high.
define { float, float, float, float } @mma_sp_m16n8k16_tf32(
    i32 %a0, i32 %a1, i32 %a2, i32 %a3, i32 %b0, i32 %b1, i32 %b2, i32 %b3,
    float %c0, float %c1, float %c2, float %c3, i32 %low, i32 %high) {
  %p = insertelement <2 x i32> poison, i32 %low, i32 0
  %places = insertelement <2 x i32> %p, i32 %high, i32 1
  %place = and <2 x i32> %places, splat (i32 u0x01010101)
  %more = mul <2 x i32> %place, splat (i32 10)
  %codes = add <2 x i32> %more, splat (i32 u0x04040404)
  %next = lshr <2 x i32> %codes, splat (i32 4)
  %met = or <2 x i32> %codes, %next
  %pairs = and <2 x i32> %met, splat (i32 u0x00FF00FF)
  %after = lshr <2 x i32> %pairs, splat (i32 8)
  %both = or <2 x i32> %pairs, %after
  %halves = trunc <2 x i32> %both to <2 x i16>
  %word = bitcast <2 x i16> %halves to i32
  %d = call { float, float, float, float } @llvm.nvvm.mma.sp.m16n8k16.row.col.tf32(
      i32 %a0, i32 %a1, i32 %a2, i32 %a3, i32 %b0, i32 %b1, i32 %b2, i32 %b3,
      float %c0, float %c1, float %c2, float %c3, i32 %word, i32 0)
  ret { float, float, float, float } %d
}
declare { float, float, float, float } @llvm.nvvm.mma.sp.m16n8k16.row.col.tf32(
    i32, i32, i32, i32, i32, i32, i32, i32, float, float, float, float, i32, i32)

define { float, float, float, float } @mma_sp_ordered_m16n8k16_tf32(
    i32 %a0, i32 %a1, i32 %a2, i32 %a3, i32 %b0, i32 %b1, i32 %b2, i32 %b3,
    float %c0, float %c1, float %c2, float %c3, i32 %low, i32 %high) {
  %p = insertelement <2 x i32> poison, i32 %low, i32 0
  %places = insertelement <2 x i32> %p, i32 %high, i32 1
  %place = and <2 x i32> %places, splat (i32 u0x01010101)
  %more = mul <2 x i32> %place, splat (i32 10)
  %codes = add <2 x i32> %more, splat (i32 u0x04040404)
  %next = lshr <2 x i32> %codes, splat (i32 4)
  %met = or <2 x i32> %codes, %next
  %pairs = and <2 x i32> %met, splat (i32 u0x00FF00FF)
  %after = lshr <2 x i32> %pairs, splat (i32 8)
  %both = or <2 x i32> %pairs, %after
  %halves = trunc <2 x i32> %both to <2 x i16>
  %word = bitcast <2 x i16> %halves to i32
  %d = call { float, float, float, float } @llvm.nvvm.mma.sp.ordered.metadata.m16n8k16.row.col.tf32(
      i32 %a0, i32 %a1, i32 %a2, i32 %a3, i32 %b0, i32 %b1, i32 %b2, i32 %b3,
      float %c0, float %c1, float %c2, float %c3, i32 %word, i32 0)
  ret { float, float, float, float } %d
}
declare { float, float, float, float } @llvm.nvvm.mma.sp.ordered.metadata.m16n8k16.row.col.tf32(
    i32, i32, i32, i32, i32, i32, i32, i32, float, float, float, float, i32, i32)
