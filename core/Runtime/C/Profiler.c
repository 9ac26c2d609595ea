/*===- Profiler.c - Who is told of activities -------------------------------===//
 *
 * Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 *===----------------------------------------------------------------------===//
 *
 * The list of profilers, and the one that the environment names.
 *
 *===----------------------------------------------------------------------===*/

#include "core/Runtime/C/Profiler.h"
#include "core/Runtime/C/Glibc.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

enum { most_profilers = 8 };
static const tw_profiler *profilers[most_profilers]; /* the oldest first */
unsigned tw_num_profilers;
static uint64_t last_number;

/* Held while the list changes. */
static char busy;
static void lock(void) {
  while (__atomic_test_and_set(&busy, __ATOMIC_ACQUIRE))
    ;
}
static void unlock(void) { __atomic_clear(&busy, __ATOMIC_RELEASE); }

tw_status tw_profiler_add(const tw_profiler *profiler, tw_error *error) {
  if (!profiler || !profiler->begin || !profiler->end)
    return tw_fail(error, TW_BAD_ARGUMENT, "a profiler needs the functions 'begin' and 'end'");
  if (profiler->version < 1 || profiler->version > TW_PROFILER_VERSION)
    return tw_fail(error, TW_BAD_VERSION, "the profiler is of version %u; this library (%s) has versions 1 to %u",
                   profiler->version, tw_version(), TW_PROFILER_VERSION);
  lock();
  unsigned count = tw_num_profilers;
  int fits = count < most_profilers;
  if (fits) {
    profilers[count] = profiler;
    __atomic_store_n(&tw_num_profilers, count + 1, __ATOMIC_RELEASE);
  }
  unlock();
  return fits ? TW_OK : tw_fail(error, TW_BAD_ARGUMENT, "there are %d profilers already", most_profilers);
}

void tw_profiler_remove(const tw_profiler *profiler) {
  lock();
  unsigned count = tw_num_profilers, at = 0;
  while (at < count && profilers[at] != profiler)
    ++at;
  int found = at < count;
  if (found) {
    memmove(&profilers[at], &profilers[at + 1], (count - at - 1) * sizeof(*profilers));
    __atomic_store_n(&tw_num_profilers, count - 1, __ATOMIC_RELEASE);
  }
  unlock();
  if (found && profiler->close)
    profiler->close(profiler->context);
}

int tw_profilers_measure(void) {
  int any = 0;
  for (unsigned i = 0, count = __atomic_load_n(&tw_num_profilers, __ATOMIC_ACQUIRE); i < count; ++i)
    any |= profilers[i]->measures != 0;
  return any;
}

/*===-- From the environment ------------------------------------------------===*/

static const tw_profiler *from_environment;

static void close_at_exit(void) { tw_profiler_remove(from_environment); }

static tw_status load_profiler(const char *path, tw_error *error) {
  tw_profiler_entry entry;
  void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (!library)
    return tw_fail(error, TW_BAD_ARGUMENT, "TILEWRIGHT_PROFILER: the profiler cannot be loaded: %s", dlerror());
  *(void **)&entry = dlsym(library, TW_PROFILER_ENTRY);
  if (!entry)
    return tw_fail(error, TW_BAD_ARGUMENT, "TILEWRIGHT_PROFILER: '%s' has no function '%s' (tilewright_runtime.h)",
                   path, TW_PROFILER_ENTRY);
  const tw_profiler *profiler = entry(TW_PROFILER_VERSION);
  if (!profiler)
    return tw_fail(error, TW_BAD_VERSION,
                   "TILEWRIGHT_PROFILER: '%s' has no profiler for version %d of this library (%s)", path,
                   TW_PROFILER_VERSION, tw_version());
  tw_error reason;
  tw_status status = tw_profiler_add(profiler, &reason);
  if (status)
    return tw_fail(error, status, "TILEWRIGHT_PROFILER: '%.200s': %.700s", path, reason.message);
  from_environment = profiler;
  (void)atexit(close_at_exit);
  return TW_OK;
}

tw_status tw_profiler_from_environment(tw_error *error) {
  static int done; /* 1: loading or failed, 2: nothing more to do */
  static tw_error failure;
  static char held;
  if (__atomic_load_n(&done, __ATOMIC_ACQUIRE) == 2)
    return TW_OK;
  while (__atomic_test_and_set(&held, __ATOMIC_ACQUIRE))
    ;
  if (!done) {
    const char *path = getenv("TILEWRIGHT_PROFILER");
    tw_status status = path && *path ? load_profiler(path, &failure) : TW_OK;
    __atomic_store_n(&done, status ? 1 : 2, __ATOMIC_RELEASE);
  }
  tw_status status = done == 2 ? TW_OK : tw_fail(error, failure.status, "%s", failure.message);
  __atomic_clear(&held, __ATOMIC_RELEASE);
  return status;
}

/*===-- Activities ----------------------------------------------------------===*/

tw_activity tw_activity_of(tw_activity_kind kind, const char *name, const char *device) {
  return (tw_activity){.size = sizeof(tw_activity),
                       .kind = kind,
                       .name = name,
                       .device = device,
                       .bytes = -1,
                       .predicted_seconds = -1,
                       .seconds = -1};
}

tw_activity tw_activity_of_start(const tw_start *start, const char *device) {
  tw_activity activity = tw_activity_of(TW_ACTIVITY_KERNEL, start->kernel, device);
  memcpy(activity.grid, start->grid, sizeof(activity.grid));
  activity.threads = start->threads;
  activity.cluster = start->cluster;
  activity.scratchpad = start->scratchpad;
  activity.bytes = start->predicted_bytes;
  activity.predicted_seconds = start->predicted_seconds;
  return activity;
}

void tw_activity_begin(tw_activity *activity) {
  activity->number = __atomic_add_fetch(&last_number, 1, __ATOMIC_RELAXED);
  for (unsigned i = 0, count = __atomic_load_n(&tw_num_profilers, __ATOMIC_ACQUIRE); i < count; ++i)
    profilers[i]->begin(profilers[i]->context, activity);
}

tw_status tw_activity_end(tw_activity *activity, tw_status status) {
  activity->status = status;
  for (unsigned i = __atomic_load_n(&tw_num_profilers, __ATOMIC_ACQUIRE); i-- > 0;)
    profilers[i]->end(profilers[i]->context, activity);
  return status;
}
