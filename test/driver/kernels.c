/*===- kernels.c - Kernels of the tests as functions of the host ------------===//
 *
 * Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 *===----------------------------------------------------------------------===//
 *
 * What the drivers of the tests run instead of a device's code. Arguments are
 * pointers to the values of the launch.
 *
 *===----------------------------------------------------------------------===*/

#include "test/driver/fake.h"

#define ARRAY(i, type) (*(type **)arguments[i])
#define NUMBER(i) (*(const int64_t *)arguments[i])

/* y[i] = 2 x[i] for i < n, in blocks of 32. */
EXPORT void twice(void **arguments, const unsigned *grid) {
  const float *x = ARRAY(0, const float);
  float *y = ARRAY(1, float);
  for (int64_t i = 0; i < NUMBER(2) && i < 32 * (int64_t)grid[0]; ++i)
    y[i] = 2 * x[i];
}

/* y[i] += c[i % 4] for i < n. */
EXPORT void add_constant(void **arguments, const unsigned *grid) {
  const float *c = ARRAY(0, const float);
  float *y = ARRAY(1, float);
  for (int64_t i = 0; i < NUMBER(2); ++i)
    y[i] += c[i % 4];
}

/* The first words of a tensor map (fake-cuda.c) as floats. */
EXPORT void read_map(void **arguments, const unsigned *grid) {
  const uint64_t *map = arguments[0];
  float *y = ARRAY(1, float);
  y[0] = (float)map[1];
  y[1] = (float)map[2];
  y[2] = ((const float *)(uintptr_t)map[0])[0];
}

/* n = n - 1, in memory of the device. */
EXPORT void count_down(void **arguments, const unsigned *grid) { --*ARRAY(0, int32_t); }

/* c = a b, row-major f32; sizes m, n, k. */
EXPORT void gemm_f32(void **arguments, const unsigned *grid) {
  const float *a = ARRAY(0, const float), *b = ARRAY(1, const float);
  float *c = ARRAY(2, float);
  int64_t m = NUMBER(3), n = NUMBER(4), k = NUMBER(5);
  for (int64_t i = 0; i < m; ++i)
    for (int64_t j = 0; j < n; ++j) {
      double sum = 0;
      for (int64_t l = 0; l < k; ++l)
        sum += (double)a[i * k + l] * b[l * n + j];
      c[i * n + j] = (float)sum;
    }
}
