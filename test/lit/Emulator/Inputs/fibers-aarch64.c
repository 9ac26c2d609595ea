// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A program without a C library: a fiber and the main stack in turns. Ends with status 0 if both kept what they had.

extern void tilewright_fiber_switch(void **save, void *load);
extern void *tilewright_fiber_prepare(void *end, void (*function)(void *), void *argument);

static void *mainTop, *fiberTop;
static volatile int total;
static double scale = 2.5;
static char stack[65536] __attribute__((aligned(16)));

static void body(void *argument) {
  double kept = *(double *)argument; // lives over the switches, in a register if it can
  for (;;) {
    total += (int)(kept * 2);
    tilewright_fiber_switch(&fiberTop, mainTop);
  }
}

void _start(void) {
  double own = 1.25;
  fiberTop = tilewright_fiber_prepare(stack + sizeof stack, body, &scale);
  for (int i = 0; i < 1000; ++i) {
    tilewright_fiber_switch(&mainTop, fiberTop);
    own += 1;
  }
  register long status asm("x0") = total == 5000 && own == 1001.25 ? 0 : 1;
  register long call asm("x8") = 93; // exit
  asm volatile("svc 0" ::"r"(status), "r"(call));
}
