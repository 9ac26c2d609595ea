/*===- fake-cuda.c - NVIDIA's driver for tests ------------------------------===//
 *
 * Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 *===----------------------------------------------------------------------===//
 *
 * The functions of libcuda.so.1 that the runtime uses.
 *
 *===----------------------------------------------------------------------===*/

#include "test/driver/fake.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

EXPORT int cuInit(unsigned flags) { return fake_call("cuInit", "%u", flags); }
EXPORT int cuDeviceGetCount(int *count) { return *count = fake_devices(), fake_call("cuDeviceGetCount", "%d", *count); }
EXPORT int cuDeviceGet(int *device, int ordinal) { return *device = ordinal, fake_call("cuDeviceGet", "%d", ordinal); }

EXPORT int cuDeviceGetName(char *name, int length, int device) {
  snprintf(name, (size_t)length, "Fake GPU");
  return fake_call("cuDeviceGetName", "%d", device);
}

EXPORT int cuDeviceGetAttribute(int *value, int attribute, int device) {
  int capability = atoi(fake_architecture("90"));
  *value = attribute == 75 ? capability / 10 : attribute == 76 ? capability % 10 : 0;
  return fake_call("cuDeviceGetAttribute", "%d", attribute);
}

EXPORT int cuDevicePrimaryCtxRetain(void **context, int device) {
  static int primary;
  *context = &primary;
  return fake_call("cuDevicePrimaryCtxRetain", "%d", device);
}

EXPORT int cuDevicePrimaryCtxRelease_v2(int device) { return fake_call("cuDevicePrimaryCtxRelease_v2", "%d", device); }
EXPORT int cuCtxSetCurrent(void *context) { return context ? 0 : 201; }

EXPORT int cuModuleLoadDataEx(void **module, const void *image, unsigned count, int *options, void **values) {
  *module = (void *)image;
  int code = fake_call("cuModuleLoadDataEx", "%.8s", (const char *)image);
  if (code)
    snprintf(values[0], (size_t)(uintptr_t)values[1], "ptxas fatal : not today\nline 2");
  return code;
}

EXPORT int cuModuleUnload(void *module) { return fake_call("cuModuleUnload", "%d", module != NULL); }

EXPORT int cuModuleGetFunction(void **function, void *module, const char *name) {
  int code = fake_call("cuModuleGetFunction", "%s", name);
  /* PTX says what kernels it has. */
  char entry[160];
  snprintf(entry, sizeof(entry), ".entry %s(", name);
  if (!code && strstr(module, ".entry ") && !strstr(module, entry))
    code = fake_not_found;
  return code ? code : fake_find(function, name);
}

EXPORT int cuFuncSetAttribute(void *function, int attribute, int value) {
  return fake_call("cuFuncSetAttribute", "%d %d", attribute, value);
}

EXPORT int cuLaunchKernel(void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
                          unsigned shared, void *stream, void **parameters, void **extra) {
  unsigned grid[] = {gx, gy, gz};
  int code = fake_call("cuLaunchKernel", "grid %u %u %u block %u %u %u shared %u stream %p", gx, gy, gz, bx, by, bz,
                       shared, stream);
  if (!code)
    fake_launch(function, parameters, grid);
  return code;
}

struct config {
  unsigned grid[3], block[3], shared;
  void *stream;
  struct {
    unsigned id, pad, value[16];
  } *attributes;
  unsigned num_attributes;
};

EXPORT int cuLaunchKernelEx(const struct config *c, void *function, void **parameters, void **extra) {
  int code = fake_call("cuLaunchKernelEx", "grid %u %u %u block %u shared %u attributes %u: %u = %u %u %u", c->grid[0],
                       c->grid[1], c->grid[2], c->block[0], c->shared, c->num_attributes, c->attributes[0].id,
                       c->attributes[0].value[0], c->attributes[0].value[1], c->attributes[0].value[2]);
  if (!code)
    fake_launch(function, parameters, c->grid);
  return code;
}

EXPORT int cuMemAlloc_v2(void **memory, size_t bytes) {
  int code = fake_call("cuMemAlloc_v2", "%zu", bytes);
  return code ? code : fake_allocate(memory, bytes);
}

EXPORT int cuMemFree_v2(void *memory) { return fake_release(memory), fake_call("cuMemFree_v2", "1"); }
EXPORT int cuMemcpyHtoD_v2(void *to, const void *from, size_t bytes) {
  return memcpy(to, from, bytes), fake_call("cuMemcpyHtoD_v2", "%zu", bytes);
}
EXPORT int cuMemcpyDtoH_v2(void *to, const void *from, size_t bytes) {
  return memcpy(to, from, bytes), fake_call("cuMemcpyDtoH_v2", "%zu", bytes);
}
EXPORT int cuStreamSynchronize(void *stream) { return fake_call("cuStreamSynchronize", "%p", stream); }
EXPORT int cuEventCreate(double **event, unsigned flags) { return *event = calloc(1, sizeof(**event)), 0; }
EXPORT int cuEventDestroy_v2(double *event) { return free(event), 0; }
EXPORT int cuEventRecord(double *event, void *stream) {
  return *event = fake_clock(), fake_call("cuEventRecord", "%p", stream);
}
EXPORT int cuEventSynchronize(double *event) { return fake_call("cuEventSynchronize", "1"); }
EXPORT int cuEventElapsedTime(float *milliseconds, const double *start, const double *end) {
  return *milliseconds = (float)((*end - *start) * 1e3), 0;
}
EXPORT int cuGetErrorName(int code, const char **name) { return *name = fake_error_name(code), 0; }
EXPORT int cuGetErrorString(int code, const char **text) { return *text = "as the test wants", 0; }

EXPORT int cuTensorMapEncodeTiled(void *map, int type, unsigned rank, void *base, const uint64_t *sizes,
                                  const uint64_t *pitches, const unsigned *box, const unsigned *steps, int interleave,
                                  int swizzle, int promotion, int fill) {
  uint64_t words[16] = {(uint64_t)(uintptr_t)base, sizes[0], sizes[1], pitches[0], box[0], box[1]};
  memcpy(map, words, sizeof(words));
  return fake_call("cuTensorMapEncodeTiled",
                   "type %d rank %u sizes %llu %llu pitch %llu box %u %u swizzle %d aligned %d", type, rank,
                   (unsigned long long)sizes[0], (unsigned long long)sizes[1], (unsigned long long)pitches[0], box[0],
                   box[1], swizzle, (uintptr_t)map % 64 == 0);
}
