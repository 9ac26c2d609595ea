/* Calls the compiled network on a batch, checks it against plain loops, and shows the two ways to own its memory. */
#include "mlp.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { IN = 64, HIDDEN = 128, OUT = 10 };

/* Small multiples of 1/8: sums are exact in float, so the comparison can be strict. */
static float value(unsigned *state) {
  *state = *state * 1664525u + 1013904223u;
  return (float)((int)(*state >> 28) - 8) / 8.0f;
}

static float *array(size_t count, unsigned *state) {
  float *data = malloc(count * sizeof(float));
  if (!data)
    exit(2);
  for (size_t i = 0; i < count; ++i)
    data[i] = value(state);
  return data;
}

static void expected(int64_t n, const float *x, const float *w1, const float *b1, const float *w2, const float *b2,
                     float *out) {
  for (int64_t i = 0; i < n; ++i) {
    float h[HIDDEN];
    for (int j = 0; j < HIDDEN; ++j) {
      h[j] = b1[j];
      for (int k = 0; k < IN; ++k)
        h[j] += x[i * IN + k] * w1[k * HIDDEN + j];
      h[j] = h[j] > 0 ? h[j] : 0;
    }
    for (int j = 0; j < OUT; ++j) {
      out[i * OUT + j] = b2[j];
      for (int k = 0; k < HIDDEN; ++k)
        out[i * OUT + j] += h[k] * w2[k * OUT + j];
    }
  }
}

int main(void) {
  const int64_t n = 37;
  unsigned state = 1;
  float *x = array((size_t)n * IN, &state), *w1 = array(IN * HIDDEN, &state), *b1 = array(HIDDEN, &state);
  float *w2 = array(HIDDEN * OUT, &state), *b2 = array(OUT, &state);
  float *out = array((size_t)n * OUT, &state), *want = array((size_t)n * OUT, &state);
  expected(n, x, w1, b1, w2, b2, want);

  /* The size first, then inputs, then outputs. Temporary memory is the function's own, one arena a thread. */
  int status = mlp(n, x, w1, b1, w2, b2, out);

  /* Or the caller's. */
  size_t bytes = ((size_t)mlp_workspace(n) + 63) / 64 * 64;
  void *workspace = aligned_alloc(64, bytes ? bytes : 64);
  float *again = array((size_t)n * OUT, &state);
  status |= mlp_in(n, x, w1, b1, w2, b2, again, workspace);

  int wrong = 0;
  for (int64_t i = 0; i < n * OUT; ++i)
    wrong += !(fabsf(out[i] - want[i]) <= 1e-5f * (1 + fabsf(want[i]))) || out[i] != again[i];
  printf("%s: status %d, %d of %d elements wrong, workspace %lld bytes, a negative batch returns %d\n",
         wrong || status ? "FAIL" : "ok", status, wrong, (int)(n * OUT), (long long)mlp_workspace(n),
         mlp(-1, x, w1, b1, w2, b2, out));
  free(workspace), free(again), free(want), free(out), free(b2), free(w2), free(b1), free(w1), free(x);
  return wrong || status ? 1 : 0;
}
