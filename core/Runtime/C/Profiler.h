/*===- Profiler.h - Who is told of activities ----------------------*- C -*-===//
 *
 * Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 *===----------------------------------------------------------------------===//
 *
 * How a function tells the profilers what it does. Without one it costs a branch:
 *
 *   if (!tw_is_profiled())
 *     return driver->copy_in(...);
 *   tw_activity activity = tw_activity_of(TW_ACTIVITY_COPY_IN, "copy in", device->name);
 *   activity.bytes = bytes;
 *   tw_activity_begin(&activity);
 *   return tw_activity_end(&activity, driver->copy_in(...));
 *
 *===----------------------------------------------------------------------===*/

#ifndef TILEWRIGHT_CORE_RUNTIME_C_PROFILER_H
#define TILEWRIGHT_CORE_RUNTIME_C_PROFILER_H

#include "tilewright/tilewright_driver.h"

#ifdef __cplusplus
extern "C" {
#endif

/* How many profilers there are. */
extern unsigned tw_num_profilers;

static inline int tw_is_profiled(void) {
  return __builtin_expect(__atomic_load_n(&tw_num_profilers, __ATOMIC_ACQUIRE) != 0, 0);
}

/* Whether one of them wants launches to be measured. */
int tw_profilers_measure(void);
/* Adds the one that the environment names, once a process; the same failure each time. */
tw_status tw_profiler_from_environment(tw_error *error);

/* Nothing is known of it but this. */
tw_activity tw_activity_of(tw_activity_kind kind, const char *name, const char *device);
/* The same for a launch. */
tw_activity tw_activity_of_start(const tw_start *start, const char *device);
/* Numbers it and tells of its begin. */
void tw_activity_begin(tw_activity *activity);
/* Tells of its end; gives `status`. */
tw_status tw_activity_end(tw_activity *activity, tw_status status);

#ifdef __cplusplus
}
#endif

#endif /* TILEWRIGHT_CORE_RUNTIME_C_PROFILER_H */
