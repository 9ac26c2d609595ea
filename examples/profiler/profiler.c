/*===- profiler.c - A profiler as a vendor would plug it in ------------------===//
 *
 * Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 *===----------------------------------------------------------------------===//
 *
 * Prints what the runtime does to standard error, activities inside of others indented. A vendor's own would open
 * and close ranges of the vendor's profiler here instead (docs/tracing.md):
 *
 *   cc -shared -fPIC profiler.c -o profiler.so
 *   TILEWRIGHT_PROFILER=./profiler.so tw-launch mlp.tw --size 4096
 *
 * PROFILER_MEASURES=1 has each launch measured by the device's clock.
 *
 *===----------------------------------------------------------------------===*/

#include "tilewright/tilewright_runtime.h"

#include <stdio.h>
#include <stdlib.h>

static __thread int depth;
static unsigned long kernels, copies;

static void begin(void *context, const tw_activity *activity) {
  fprintf(context, "%*sbegin %s", 2 * depth++, "", activity->name);
  if (activity->kind == TW_ACTIVITY_KERNEL)
    fprintf(context, ": grid %u x %u x %u of %u threads", activity->grid[0], activity->grid[1], activity->grid[2],
            activity->threads);
  else if (activity->bytes >= 0)
    fprintf(context, ": %lld bytes", (long long)activity->bytes);
  fprintf(context, "\n");
}

static void end(void *context, const tw_activity *activity) {
  kernels += activity->kind == TW_ACTIVITY_KERNEL;
  copies += activity->kind == TW_ACTIVITY_COPY_IN || activity->kind == TW_ACTIVITY_COPY_OUT;
  fprintf(context, "%*send %s", 2 * --depth, "", activity->name);
  if (activity->seconds >= 0)
    fprintf(context, ": %.3f us", activity->seconds * 1e6);
  if (activity->predicted_seconds >= 0)
    fprintf(context, ", predicted %.3f us", activity->predicted_seconds * 1e6);
  fprintf(context, activity->status ? ": failed with status %d\n" : "\n", (int)activity->status);
}

static void finish(void *context) { fprintf(context, "%lu kernels, %lu copies\n", kernels, copies); }

__attribute__((visibility("default"))) const tw_profiler *tilewright_profiler(uint32_t version) {
  static tw_profiler profiler = {TW_PROFILER_VERSION, 0, NULL, begin, end, finish};
  const char *measures = getenv("PROFILER_MEASURES");
  if (version < TW_PROFILER_VERSION) /* the runtime is older than what this file uses */
    return NULL;
  profiler.measures = measures && *measures == '1';
  profiler.context = stderr;
  return &profiler;
}
