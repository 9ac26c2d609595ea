/*===- fake-hip.c - AMD's driver for tests ----------------------------------===//
 *
 * Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 *===----------------------------------------------------------------------===//
 *
 * The functions of libamdhip64.so that the runtime uses.
 *
 *===----------------------------------------------------------------------===*/

#include "test/driver/fake.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

EXPORT int hipInit(unsigned flags) { return fake_call("hipInit", "%u", flags); }
EXPORT int hipGetDeviceCount(int *count) {
  return *count = fake_devices(), fake_call("hipGetDeviceCount", "%d", *count);
}
EXPORT int hipSetDevice(int device) { return 0; }

EXPORT int hipGetDevicePropertiesR0600(char *properties, int device) {
  strcpy(properties, "Fake gfx1 GPU");
  sprintf(properties + 1160, "%s:sramecc+:xnack-", fake_architecture("gfx942"));
  return fake_call("hipGetDevicePropertiesR0600", "%d", device);
}

EXPORT int hipModuleLoadData(void **module, const void *image) {
  *module = (void *)image;
  return fake_call("hipModuleLoadData", "%.8s", (const char *)image);
}

EXPORT int hipModuleUnload(void *module) { return fake_call("hipModuleUnload", "%d", module != NULL); }

EXPORT int hipModuleGetFunction(void **function, void *module, const char *name) {
  int code = fake_call("hipModuleGetFunction", "%s", name);
  return code ? code : fake_find(function, name);
}

EXPORT int hipModuleLaunchKernel(void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
                                 unsigned bz, unsigned shared, void *stream, void **parameters, void **extra) {
  unsigned grid[] = {gx, gy, gz};
  int code = fake_call("hipModuleLaunchKernel", "grid %u %u %u block %u %u %u shared %u stream %p", gx, gy, gz, bx, by,
                       bz, shared, stream);
  if (!code)
    fake_launch(function, parameters, grid);
  return code;
}

EXPORT int hipMalloc(void **memory, size_t bytes) {
  int code = fake_call("hipMalloc", "%zu", bytes);
  return code ? code : fake_allocate(memory, bytes);
}

EXPORT int hipFree(void *memory) { return fake_release(memory), fake_call("hipFree", "1"); }
EXPORT int hipMemcpyHtoD(void *to, void *from, size_t bytes) {
  return memcpy(to, from, bytes), fake_call("hipMemcpyHtoD", "%zu", bytes);
}
EXPORT int hipMemcpyDtoH(void *to, void *from, size_t bytes) {
  return memcpy(to, from, bytes), fake_call("hipMemcpyDtoH", "%zu", bytes);
}
EXPORT int hipStreamSynchronize(void *stream) { return fake_call("hipStreamSynchronize", "%p", stream); }
EXPORT int hipEventCreate(double **event) { return *event = calloc(1, sizeof(**event)), 0; }
EXPORT int hipEventDestroy(double *event) { return free(event), 0; }
EXPORT int hipEventRecord(double *event, void *stream) {
  return *event = fake_clock(), fake_call("hipEventRecord", "%p", stream);
}
EXPORT int hipEventSynchronize(double *event) { return fake_call("hipEventSynchronize", "1"); }
EXPORT int hipEventElapsedTime(float *milliseconds, const double *start, const double *end) {
  return *milliseconds = (float)((*end - *start) * 1e3), 0;
}
EXPORT const char *hipGetErrorName(int code) { return fake_error_name(code); }
EXPORT const char *hipGetErrorString(int code) { return "as the test wants"; }
