; Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
; SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

; mma.sp of tf32, whose A keeps one of two elements along k. The hardware sees each as two of four halves: the places of
; both halves, four bits, are 0b0100 of the first element of a group and 0b1110 of the second. A lane has four places in
; a row of %low, whose bits are the lower half of the word, and four of %high.
define { float, float, float, float } @mma_sp_m16n8k16_tf32(i32 %a0, i32 %a1, i32 %a2, i32 %a3, i32 %b0, i32 %b1, i32 %b2, i32 %b3,
                                                            float %c0, float %c1, float %c2, float %c3, i32 %low, i32 %high) {
  %l0 = and i32 %low, u0x01010101
  %l1 = mul i32 %l0, 10
  %l2 = add i32 %l1, u0x04040404
  %l3 = lshr i32 %l2, 4
  %l4 = or i32 %l2, %l3
  %l5 = and i32 %l4, u0x00FF00FF
  %l6 = lshr i32 %l5, 8
  %l7 = or i32 %l5, %l6
  %l = and i32 %l7, u0x0000FFFF
  %h0 = and i32 %high, u0x01010101
  %h1 = mul i32 %h0, 10
  %h2 = add i32 %h1, u0x04040404
  %h3 = lshr i32 %h2, 4
  %h4 = or i32 %h2, %h3
  %h5 = and i32 %h4, u0x00FF00FF
  %h6 = lshr i32 %h5, 8
  %h7 = or i32 %h5, %h6
  %h = shl i32 %h7, 16
  %word = or i32 %l, %h
  %d = call { float, float, float, float } @llvm.nvvm.mma.sp.ordered.metadata.m16n8k16.row.col.tf32(
      i32 %a0, i32 %a1, i32 %a2, i32 %a3, i32 %b0, i32 %b1, i32 %b2, i32 %b3,
      float %c0, float %c1, float %c2, float %c3, i32 %word, i32 0)
  ret { float, float, float, float } %d
}
declare { float, float, float, float } @llvm.nvvm.mma.sp.ordered.metadata.m16n8k16.row.col.tf32(
    i32, i32, i32, i32, i32, i32, i32, i32, float, float, float, float, i32, i32)
