/*===- Random.c - Random arrays, the same on every machine ------------------===//
 *
 * Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 *===----------------------------------------------------------------------===//
 *
 * A counter hashed to 64 bits (SplitMix64), and normal numbers by Box-Muller.
 * Logarithm, sine and cosine are series in basic arithmetic, which every machine
 * rounds alike.
 *
 *===----------------------------------------------------------------------===*/

#include "core/Runtime/C/Elements.h"

#include <string.h>

typedef struct generator {
  uint64_t state;
  int has_spare;
  double spare;
} generator;

static uint64_t next(generator *g) {
  uint64_t z = g->state += 0x9e3779b97f4a7c15;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}

/* Uniform in (0, 1). */
static double uniform(generator *g) { return ((double)(next(g) >> 11) + 0.5) * 0x1p-53; }

/* Natural logarithm of a positive normal number: x = m 2^e with m around 1, log m = 2 artanh((m - 1) / (m + 1)). */
static double logarithm(double x) {
  uint64_t bits;
  memcpy(&bits, &x, sizeof(bits));
  /* The exponent that puts m between sqrt(1/2) and sqrt(2). */
  int exponent = (int)((int64_t)(bits - 0x3fe6a09e667f3bcd) >> 52);
  bits -= (uint64_t)exponent << 52;
  double m;
  memcpy(&m, &bits, sizeof(m));
  double s = (m - 1) / (m + 1), square = s * s, sum = 0;
  for (int k = 23; k >= 3; k -= 2)
    sum = (sum + 1.0 / k) * square;
  return exponent * 0.693147180559945309417 + 2 * (s + s * sum);
}

/* Sine and cosine of 2 pi u for u in [0, 1]: the nearest quarter turn, and Taylor's series over an eighth of one. */
static void sine_cosine(double u, double *sine, double *cosine) {
  int quarter = (int)(u * 4 + 0.5);
  double x = (u - quarter * 0.25) * 6.28318530717958647693, square = x * x, s = 0, c = 0;
  for (int k = 19; k >= 3; k -= 2)
    s = (1 + s) * -square / (k * (k - 1));
  for (int k = 20; k >= 2; k -= 2)
    c = (1 + c) * -square / (k * (k - 1));
  s = x + x * s;
  c = 1 + c;
  *sine = (quarter & 1 ? c : s) * (quarter & 2 ? -1 : 1);
  *cosine = (quarter & 1 ? s : c) * (((quarter + 1) & 2) ? -1 : 1);
}

static double normal(generator *g) {
  if (g->has_spare) {
    g->has_spare = 0;
    return g->spare;
  }
  double radius = __builtin_sqrt(-2 * logarithm(uniform(g))), sine, cosine;
  sine_cosine(uniform(g), &sine, &cosine);
  g->spare = radius * sine;
  g->has_spare = 1;
  return radius * cosine;
}

void tw_random_fill(tw_element type, void *data, int64_t count, uint64_t seed, uint64_t stream) {
  generator g = {seed * 0x9e3779b97f4a7c15 + stream * 0xd1b54a32d192ed03, 0, 0};
  for (int64_t i = 0; i < count; ++i) {
    double value;
    if (tw_element_is_float(type))
      value = normal(&g);
    else if (type == TW_BOOL)
      value = (double)(next(&g) & 1);
    else if (type >= TW_U8)
      value = (double)(next(&g) & 7);
    else
      value = (double)(next(&g) & 15) - 8;
    tw_element_set(type, data, i, value);
  }
}
