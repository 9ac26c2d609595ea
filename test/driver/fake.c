/*===- fake.c - What the drivers of the tests share -------------------------===//
 *
 * Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 *===----------------------------------------------------------------------===//
 *
 * Memory, kernels, a log and failures on request.
 *
 *===----------------------------------------------------------------------===*/

#include "test/driver/fake.h"

#include <dlfcn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static size_t used;
static double device_clock;

int fake_call(const char *name, const char *format, ...) {
  static int calls; /* of the function that fails */
  const char *log = getenv("FAKE_LOG"), *failure = getenv("FAKE_FAIL");
  FILE *file = log ? fopen(log, "a") : NULL;
  if (file) {
    va_list values;
    va_start(values, format);
    fprintf(file, "%s ", name);
    vfprintf(file, format, values);
    fputc('\n', file);
    va_end(values);
    fclose(file);
  }
  size_t length = strlen(name);
  if (!failure || strncmp(failure, name, length) != 0 || failure[length] != ':')
    return 0;
  char *end;
  int code = (int)strtol(failure + length + 1, &end, 10);
  long which = *end == ':' ? strtol(end + 1, NULL, 10) : 0;
  return which == 0 || ++calls == which ? code : 0;
}

int fake_devices(void) {
  const char *count = getenv("FAKE_DEVICES");
  return count ? atoi(count) : 1;
}

const char *fake_architecture(const char *otherwise) {
  const char *architecture = getenv("FAKE_ARCHITECTURE");
  return architecture ? architecture : otherwise;
}

int fake_allocate(void **memory, size_t bytes) {
  const char *limit = getenv("FAKE_MEMORY");
  if (limit && used + bytes > strtoull(limit, NULL, 10))
    return fake_out_of_memory;
  size_t *block = aligned_alloc(256, (bytes + 511) / 256 * 256);
  if (!block)
    return fake_out_of_memory;
  used += block[0] = bytes;
  *memory = (char *)block + 256;
  memset(*memory, 0xff, bytes);
  return 0;
}

void fake_release(void *memory) {
  size_t *block = (size_t *)((char *)memory - 256);
  used -= block[0];
  free(block);
}

typedef struct kernel {
  char name[120];
  void (*code)(void **arguments, const unsigned *grid);
} kernel;

int fake_find(void **function, const char *name) {
  const char *path = getenv("FAKE_KERNELS");
  void *library = path ? dlopen(path, RTLD_NOW) : NULL;
  kernel *found = calloc(1, sizeof(*found)); /* as long as the process: modules are not unloaded often */
  snprintf(found->name, sizeof(found->name), "%s", name);
  if (library)
    *(void **)&found->code = dlsym(library, name);
  *function = found;
  return strncmp(name, "missing", 7) == 0 ? fake_not_found : 0;
}

void fake_launch(void *function, void **arguments, const unsigned *grid) {
  const char *seconds = getenv("FAKE_KERNEL_SECONDS");
  kernel *started = function;
  device_clock += seconds ? strtod(seconds, NULL) : 1e-3;
  if (started->code)
    started->code(arguments, grid);
}

double fake_clock(void) { return device_clock; }

const char *fake_error_name(int code) {
  return code == fake_out_of_memory ? "FAKE_OUT_OF_MEMORY" : code == 719 ? "FAKE_LAUNCH_FAILED" : "FAKE_ERROR";
}
