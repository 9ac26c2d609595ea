// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// void tilewright_fiber_switch(void **save, void *load): keeps what a callee must keep, changes stacks, returns there.
// A new fiber begins in tilewright_fiber_start with its function in r13 and that one's argument in r12.

  .text
  .globl tilewright_fiber_switch
  .type tilewright_fiber_switch, @function
tilewright_fiber_switch:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
  .size tilewright_fiber_switch, .-tilewright_fiber_switch

  .globl tilewright_fiber_start
  .hidden tilewright_fiber_start
  .type tilewright_fiber_start, @function
tilewright_fiber_start:
  movq %r12, %rdi
  callq *%r13
  ud2
  .size tilewright_fiber_start, .-tilewright_fiber_start

// Fills a new stack below %rdi (16-byte aligned) for a first switch: start(function %rsi, argument %rdx); returns its top.
  .globl tilewright_fiber_prepare
  .type tilewright_fiber_prepare, @function
tilewright_fiber_prepare:
  leaq tilewright_fiber_start(%rip), %rax
  movq %rax, -8(%rdi)
  movq $0, -16(%rdi)
  movq $0, -24(%rdi)
  movq %rdx, -32(%rdi)
  movq %rsi, -40(%rdi)
  movq $0, -48(%rdi)
  movq $0, -56(%rdi)
  leaq -56(%rdi), %rax
  ret
  .size tilewright_fiber_prepare, .-tilewright_fiber_prepare

  .section .note.GNU-stack,"",@progbits
