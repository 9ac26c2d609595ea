// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// void tilewright_fiber_switch(void **save, void *load): keeps what a callee must keep, changes stacks, returns there.
// A new fiber begins in tilewright_fiber_start with its function in x20 and that one's argument in x19.

  .text
  .globl tilewright_fiber_switch
  .type tilewright_fiber_switch, %function
tilewright_fiber_switch:
  sub sp, sp, #160
  stp x19, x20, [sp, #0]
  stp x21, x22, [sp, #16]
  stp x23, x24, [sp, #32]
  stp x25, x26, [sp, #48]
  stp x27, x28, [sp, #64]
  stp x29, x30, [sp, #80]
  stp d8, d9, [sp, #96]
  stp d10, d11, [sp, #112]
  stp d12, d13, [sp, #128]
  stp d14, d15, [sp, #144]
  mov x9, sp
  str x9, [x0]
  mov sp, x1
  ldp x19, x20, [sp, #0]
  ldp x21, x22, [sp, #16]
  ldp x23, x24, [sp, #32]
  ldp x25, x26, [sp, #48]
  ldp x27, x28, [sp, #64]
  ldp x29, x30, [sp, #80]
  ldp d8, d9, [sp, #96]
  ldp d10, d11, [sp, #112]
  ldp d12, d13, [sp, #128]
  ldp d14, d15, [sp, #144]
  add sp, sp, #160
  ret
  .size tilewright_fiber_switch, .-tilewright_fiber_switch

  .globl tilewright_fiber_start
  .hidden tilewright_fiber_start
  .type tilewright_fiber_start, %function
tilewright_fiber_start:
  mov x0, x19
  blr x20
  brk #0
  .size tilewright_fiber_start, .-tilewright_fiber_start

// Fills a new stack below x0 (16-byte aligned) for a first switch: start(function x1, argument x2); returns its top.
  .globl tilewright_fiber_prepare
  .type tilewright_fiber_prepare, %function
tilewright_fiber_prepare:
  sub x0, x0, #160
  stp x2, x1, [x0, #0]
  adrp x9, tilewright_fiber_start
  add x9, x9, :lo12:tilewright_fiber_start
  stp xzr, x9, [x0, #80]
  ret
  .size tilewright_fiber_prepare, .-tilewright_fiber_prepare

  .section .note.GNU-stack,"",%progbits
