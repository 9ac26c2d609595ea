/*===- fake.h - What the drivers of the tests share ---------------*- C -*-===//
 *
 * Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 *===----------------------------------------------------------------------===//
 *
 * Variables of the environment:
 *   FAKE_LOG=FILE          receives one line a call: the function and what matters of its arguments
 *   FAKE_FAIL=NAME:CODE[:N]  the N-th call (from 1; default: every one) of function NAME returns CODE
 *   FAKE_DEVICES=N         devices of the machine (default: 1)
 *   FAKE_ARCHITECTURE=A    "90" for 9.0, "gfx942" (default: those)
 *   FAKE_MEMORY=BYTES      of the device (default: all)
 *   FAKE_KERNELS=FILE.so   functions that run as kernels: void NAME(void **arguments, const unsigned *grid); a kernel
 * that the library lacks does nothing FAKE_KERNEL_SECONDS=S  what the device's clock says a launch took (default: 1e-3)
 *
 *===----------------------------------------------------------------------===*/

#ifndef TILEWRIGHT_TEST_DRIVER_FAKE_H
#define TILEWRIGHT_TEST_DRIVER_FAKE_H

#include <stddef.h>
#include <stdint.h>

#define EXPORT __attribute__((visibility("default")))

enum { fake_out_of_memory = 2, fake_no_device = 100, fake_not_found = 500 };

/* Logs a call; returns the code to fail with, or 0. */
int fake_call(const char *name, const char *format, ...) __attribute__((format(printf, 2, 3)));
int fake_devices(void);
const char *fake_architecture(const char *otherwise);
int fake_allocate(void **memory, size_t bytes);
void fake_release(void *memory);
int fake_find(void **function, const char *name);
void fake_launch(void *function, void **arguments, const unsigned *grid);
/* The device's clock: advances by each launch. */
double fake_clock(void);
const char *fake_error_name(int code);

#endif /* TILEWRIGHT_TEST_DRIVER_FAKE_H */
