/*===- Report.c - Comparison and reports of tw-launch -------------------------===//
 *
 * Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 *===----------------------------------------------------------------------===//
 *
 * Compares outputs with files; lines for people, or one JSON object.
 *
 *===----------------------------------------------------------------------===*/

#include "core/Tools/Launch/Launch.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*===-- Comparison ----------------------------------------------------------===*/

static double epsilon(tw_element type) {
  if (type == TW_F8E8M0FNU)
    return 1;
  if (tw_element_is_float8(type))
    return type == TW_F8E4M3FN || type == TW_F8E4M3FNUZ ? 0x1p-3 : 0x1p-2;
  return type == TW_F64 ? 0x1p-52 : type == TW_F32 ? 0x1p-23 : type == TW_F16 ? 0x1p-10 : 0x1p-7;
}

static double magnitude(double value) { return value < 0 ? -value : value; }

/* What the error of results grows with: docs/runtime.md, where its sources stand. */
static double growth_of(double roundings, const array *arrays, size_t count) {
  if (roundings < 0) { /* an artifact that does not say: as if the longest dimension was summed over */
    roundings = 1;
    for (size_t i = 0; i < count; ++i)
      for (size_t d = 0; d < arrays[i].type.rank; ++d)
        if ((double)arrays[i].shape[d] > roundings)
          roundings = (double)arrays[i].shape[d];
  }
  return roundings < 16 ? 2 * roundings : 8 * __builtin_sqrt(roundings);
}

/* Compares an output with a file, which may be of a wider type. */
int compare(const options *o, const array *arrays, size_t count, double roundings, const array *output,
            const char *path, comparison *result) {
  tw_npy file;
  char *bytes, have[512], want[512];
  if (open_npy(path, &file, &bytes))
    return 1;
  shape_text(file.shape, file.rank, have, sizeof(have));
  shape_text(output->shape, output->type.rank, want, sizeof(want));
  char *reference = malloc((size_t)(file.count * tw_element_bytes(file.type)) + 1);
  if (strcmp(have, want) != 0 || !reference) {
    free(bytes);
    free(reference);
    return fail("'%s' has shape (%s); the output has (%s)", path, have, want);
  }
  tw_npy_copy(&file, reference);
  free(bytes);
  double narrowest = 0x1p-52, scale = 0, compute = output->element == TW_F64 ? 0x1p-52 : 0x1p-23;
  double growth = growth_of(roundings, arrays, count);
  /* 8-bit floats are exact in what is computed with; one that is written may be the neighbour of the right one. */
  int is_short = tw_element_is_float8(output->element);
  double step = is_short ? epsilon(output->element) : 0, least = is_short ? tw_float8_to_double(output->element, 1) : 0;
  for (size_t i = 0; i < count; ++i)
    if (tw_element_is_float(arrays[i].element) && !tw_element_is_float8(arrays[i].element) &&
        epsilon(arrays[i].element) > narrowest)
      narrowest = epsilon(arrays[i].element);
  for (int64_t i = 0; i < file.count; ++i) {
    double m = magnitude(tw_element_get(file.type, reference, i));
    if (m <= 0x1.fffffffffffffp1023 && m > scale)
      scale = m;
  }
  *result = (comparison){.file = path, .worst = -1};
  for (int64_t i = 0; i < file.count; ++i) {
    double x = tw_element_get(output->element, output->host, i), y = tw_element_get(file.type, reference, i);
    double error = x == y ? 0 : magnitude(x - y), ratio = 0;
    double tolerance =
        o->relative >= 0 ? o->absolute + o->relative * magnitude(y)
        : tw_element_is_float(output->element)
            ? narrowest * (4 * magnitude(y) + 2 * scale) + compute * (16 + growth) * scale + step * magnitude(y) + least
            : 0;
    if (x != y)
      ratio = error <= tolerance ? error / tolerance : error / tolerance > 1 ? error / tolerance : __builtin_inf();
    if (is_short && x != x && y != y)
      ratio = error = 0; /* most 8-bit floats have no infinity: NaN is what was too large */
    else if (x != y && (error != error || error > 0x1.fffffffffffffp1023))
      ratio = error = __builtin_inf(); /* NaN, or one infinity */
    if (error > result->max_error)
      result->max_error = error;
    if (ratio > result->over_tolerance || result->worst < 0) {
      result->over_tolerance = ratio;
      result->worst = i;
      result->expected = y;
    }
  }
  result->passed = result->over_tolerance <= 1;
  free(reference);
  return 0;
}

/*===-- Reports -------------------------------------------------------------===*/

/* A JSON string; names of programs and files may hold anything. */
static void print_string(const char *text) {
  putchar('"');
  for (; *text; ++text)
    if (*text == '"' || *text == '\\')
      printf("\\%c", *text);
    else if ((unsigned char)*text < 0x20)
      printf("\\u%04x", (unsigned char)*text);
    else
      putchar(*text);
  putchar('"');
}

static void print_number(double value) {
  if (value - value == 0)
    printf("%.9g", value);
  else
    printf("null");
}

void report_json(const options *o, const char *target, const tw_program *program, const char *device,
                 const int64_t *sizes, const array *arrays, const timing *time, const comparison *compared) {
  printf("{\n  \"program\": ");
  print_string(tw_program_name(program));
  printf(",\n  \"target\": ");
  print_string(target);
  printf(",\n  \"device\": ");
  print_string(device);
  printf(",\n  \"sizes\": [");
  for (size_t i = 0; i < tw_program_sizes(program); ++i)
    printf(i ? ", %lld" : "%lld", (long long)sizes[i]);
  printf("],\n  \"arguments\": [");
  double bytes = 0;
  for (size_t i = 0; i < tw_program_arguments(program); ++i) {
    char shape[512];
    shape_text(arrays[i].shape, arrays[i].type.rank, shape, sizeof(shape));
    printf("%s{\"type\": \"%s\", \"shape\": [%s], \"written\": %s}", i ? ", " : "", tw_element_name(arrays[i].element),
           shape, arrays[i].type.is_written ? "true" : "false");
    bytes += (double)arrays[i].bytes * (1 + (arrays[i].is_input && arrays[i].type.is_written));
  }
  printf("]");
  if (o->expected.count) {
    printf(",\n  \"check\": [");
    for (size_t i = 0; i < o->expected.count; ++i) {
      printf("%s{\"passed\": %s, \"max_error\": ", i ? ", " : "", compared[i].passed ? "true" : "false");
      print_number(compared[i].max_error);
      printf(", \"error_over_tolerance\": ");
      print_number(compared[i].over_tolerance);
      printf(", \"worst_index\": %lld}", (long long)compared[i].worst);
    }
    printf("]");
  }
  if (o->benchmark) {
    printf(",\n  \"benchmark\": {\"seconds\": ");
    print_number(time->median);
    printf(", \"samples\": [");
    for (size_t i = 0; i < sizeof(time->samples) / sizeof(*time->samples); ++i) {
      printf("%s", i ? ", " : "");
      print_number(time->samples[i]);
    }
    printf("], \"host_seconds\": ");
    print_number(time->host);
    printf(", \"bytes\": %.0f}", bytes);
  }
  printf("\n}\n");
}

void report_text(const options *o, const tw_program *program, const char *device, const array *arrays,
                 const timing *time, const comparison *compared) {
  printf("%s on %s\n", tw_program_name(program), device);
  size_t output = 0;
  for (size_t i = 0; i < tw_program_arguments(program); ++i) {
    const array *a = &arrays[i];
    if (!a->type.is_written)
      continue;
    char shape[512];
    shape_text(a->shape, a->type.rank, shape, sizeof(shape));
    printf("output %zu: %s[%s] =", output, tw_element_name(a->element), shape);
    for (int64_t e = 0; e < a->count && e < 8; ++e)
      printf(" %.6g", tw_element_get(a->element, a->host, e));
    printf(a->count > 8 ? " ...\n" : "\n");
    if (output < o->expected.count) {
      const comparison *c = &compared[output];
      if (c->passed)
        printf("check: largest error %.2e, %.3f of the tolerance\n", c->max_error, c->over_tolerance);
      else if (c->expected != c->expected)
        printf("check: WRONG: element %lld of '%s' is NaN, which nothing can be compared with\n", (long long)c->worst,
               c->file);
      else
        printf("check: WRONG: element %lld differs from '%s' by %.1f x the tolerance, largest error %.2e\n",
               (long long)c->worst, c->file, c->over_tolerance, c->max_error);
    }
    ++output;
  }
  if (o->benchmark)
    printf("benchmark: %.3f us a call (median of %zu), %.3f us of the host\n", time->median * 1e6,
           sizeof(time->samples) / sizeof(*time->samples), time->host * 1e6);
}
