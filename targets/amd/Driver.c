/*===- Driver.c - AMD's driver for the runtime ------------------------------===//
 *
 * Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 *===----------------------------------------------------------------------===//
 *
 * Functions of libamdhip64.so, which is opened at run time; their prototypes are
 * declared here.
 *
 *===----------------------------------------------------------------------===*/

#include "tilewright/tilewright_driver.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { out_of_memory = 2, no_device = 100, no_binary_for_device = 209 };

/* In the order of `names`. */
typedef struct functions {
  int (*init)(unsigned flags);
  int (*count)(int *count);
  int (*set_device)(int device);
  int (*load)(void **module, const void *image);
  int (*unload)(void *module);
  int (*find)(void **function, void *module, const char *name);
  int (*launch)(void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
                unsigned shared, void *stream, void **parameters, void **extra);
  int (*allocate)(void **memory, size_t bytes);
  int (*release)(void *memory);
  int (*copy_in)(void *to, void *from, size_t bytes);
  int (*copy_out)(void *to, void *from, size_t bytes);
  int (*wait)(void *stream);
  int (*create_event)(void **event);
  int (*destroy_event)(void *event);
  int (*record)(void *event, void *stream);
  int (*wait_event)(void *event);
  int (*elapsed)(float *milliseconds, void *start, void *end);
  const char *(*error_name)(int error);
  const char *(*error_text)(int error);
  int (*properties)(void *properties, int device); /* of ROCm 6 and later */
  int (*old_properties)(void *properties, int device);
} functions;

static const char *const names[] = {"hipInit",
                                    "hipGetDeviceCount",
                                    "hipSetDevice",
                                    "hipModuleLoadData",
                                    "hipModuleUnload",
                                    "hipModuleGetFunction",
                                    "hipModuleLaunchKernel",
                                    "hipMalloc",
                                    "hipFree",
                                    "hipMemcpyHtoD",
                                    "hipMemcpyDtoH",
                                    "hipStreamSynchronize",
                                    "hipEventCreate",
                                    "hipEventDestroy",
                                    "hipEventRecord",
                                    "hipEventSynchronize",
                                    "hipEventElapsedTime",
                                    "hipGetErrorName",
                                    "hipGetErrorString",
                                    "?hipGetDevicePropertiesR0600",
                                    "?hipGetDeviceProperties",
                                    NULL};
_Static_assert(sizeof(functions) == (sizeof(names) / sizeof(*names) - 1) * sizeof(void *), "one function a name");

typedef struct context {
  void *library;
  functions hip;
  int ordinal;
  char name[128], architecture[32]; /* "gfx942" */
} context;

/* A failure of the driver as a status with its own words; `what`: what was tried. */
static tw_status failed(const context *c, int code, const char *what, tw_error *error) {
  tw_status status = code == out_of_memory          ? TW_NO_MEMORY
                     : code == no_binary_for_device ? TW_WRONG_CHIP
                                                    : TW_DEVICE_ERROR;
  const char *name = c->hip.error_name(code), *text = c->hip.error_text(code);
  return tw_fail(error, status, "the driver of AMD cannot %s: %s (%s)", what, name ? name : "unknown error",
                 text ? text : "?");
}

static tw_status check(const context *c, int code, const char *what, tw_error *error) {
  return code == 0 ? TW_OK : failed(c, code, what, error);
}

static tw_status enter(context *c, tw_error *error) {
  return check(c, c->hip.set_device(c->ordinal), "enter its device", error);
}

/* Name and architecture. The struct of properties begins with the name, and its layout differs between versions, so the
   architecture is found by its form: the text "gfx" with digits after it. */
static void read_properties(context *c) {
  enum { name_bytes = 256, room = 8192 };
  char *properties = calloc(1, room);
  int code = !properties             ? -1
             : c->hip.properties     ? c->hip.properties(properties, c->ordinal)
             : c->hip.old_properties ? c->hip.old_properties(properties, c->ordinal)
                                     : -1;
  if (code == 0) {
    snprintf(c->name, sizeof(c->name), "%.*s", (int)sizeof(c->name) - 1, properties);
    for (const char *at = properties + name_bytes; at < properties + room - 32; ++at)
      if (strncmp(at, "gfx", 3) == 0 && at[3] >= '0' && at[3] <= '9') {
        snprintf(c->architecture, sizeof(c->architecture), "%.*s", (int)strcspn(at, ":"), at);
        break;
      }
  }
  if (!c->name[0])
    snprintf(c->name, sizeof(c->name), "device %d", c->ordinal);
  free(properties);
}

static tw_status open_device(context *c, int ordinal, char *name, size_t capacity, tw_error *error) {
  static const char *const libraries[] = {"libamdhip64.so", "libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so.5",
                                          NULL};
  tw_status status = tw_open_library(libraries, "AMD", &c->library, error);
  if (!status)
    status = tw_find_functions(c->library, names, "AMD", (void **)&c->hip, error);
  if (status)
    return status;
  int count = 0, code = c->hip.init(0);
  if (code == 0)
    code = c->hip.count(&count);
  if (code == no_device || (code == 0 && count == 0))
    return tw_fail(error, TW_NO_DRIVER, "the driver of AMD finds no device on this machine");
  if (code)
    return failed(c, code, "start", error);
  if (ordinal < 0 || ordinal >= count)
    return tw_fail(error, TW_BAD_ARGUMENT, "there is no device %d of AMD on this machine; it has %d, from 0", ordinal,
                   count);
  c->ordinal = ordinal;
  read_properties(c);
  snprintf(name, capacity, "%s%s%s", c->name, c->architecture[0] ? ", " : "", c->architecture);
  return enter(c, error);
}

static void amd_close(void *context_) {
  context *c = context_;
  tw_close_library(c->library);
  free(c);
}

static tw_status amd_open(int ordinal, void **result, char *name, size_t capacity, tw_error *error) {
  context *c = calloc(1, sizeof(*c));
  if (!c)
    return tw_fail(error, TW_NO_MEMORY, "the host has no memory left");
  tw_status status = open_device(c, ordinal, name, capacity, error);
  if (status)
    amd_close(c);
  else
    *result = c;
  return status;
}

/* Machine code runs on its own architecture alone. */
static tw_status amd_accepts(void *context_, const tw_image *image, tw_error *error) {
  context *c = context_;
  if (strcmp(image->kind, "hsaco") != 0)
    return tw_fail(error, TW_WRONG_CHIP, "code of kind '%s' is nothing that AMD's driver loads", image->kind);
  if (!c->architecture[0] || strcmp(c->architecture, image->architecture) == 0)
    return TW_OK;
  return tw_fail(error, TW_WRONG_CHIP, "the artifact's %s is for %s, which %s (%s) does not run: compile for its chip",
                 image->kind, image->architecture, c->name, c->architecture);
}

static tw_status amd_load(void *context_, const tw_image *image, void **module, tw_error *error) {
  context *c = context_;
  tw_status status = enter(c, error);
  return status ? status : check(c, c->hip.load(module, image->bytes), "load the artifact's code", error);
}

static void amd_unload(void *context_, void *module) {
  context *c = context_;
  if (!enter(c, NULL))
    c->hip.unload(module);
}

static tw_status amd_find(void *context_, void *module, const char *kernel, uint32_t scratchpad, void **found,
                          tw_error *error) {
  context *c = context_;
  char what[256];
  snprintf(what, sizeof(what), "find kernel '%s'", kernel);
  tw_status status = enter(c, error);
  return status ? status : check(c, c->hip.find(found, module, kernel), what, error);
}

static tw_status amd_launch(void *context_, void *kernel, const tw_start *start, void *stream, tw_error *error) {
  context *c = context_;
  void *parameters[TW_MAX_OPERANDS];
  tw_status status = enter(c, error);
  if (status)
    return status;
  if (start->cluster > 1)
    return tw_fail(error, TW_BAD_FILE, "kernel '%s' wants clusters of %u blocks; %s has none", start->kernel,
                   start->cluster, c->name);
  for (size_t i = 0; i < start->num_operands; ++i) {
    const tw_operand *operand = &start->operands[i];
    if (operand->kind == TW_TENSOR)
      return tw_fail(error, TW_BAD_FILE, "kernel '%s' wants a tensor map; %s has none", start->kernel, c->name);
    parameters[i] = operand->kind == TW_POINTER ? (void *)&operand->pointer : (void *)&operand->integer;
  }
  uint64_t lanes = (uint64_t)start->grid[0] * start->threads; /* the packet of a launch counts them in 32 bits */
  if (lanes > UINT32_MAX)
    return tw_fail(error, TW_BAD_SIZES, "kernel '%s' needs %llu lanes along dimension 0 of its grid, %s has %llu",
                   start->kernel, (unsigned long long)lanes, c->name, (unsigned long long)UINT32_MAX);
  char what[256];
  snprintf(what, sizeof(what), "launch kernel '%s' on %u x %u x %u blocks of %u threads", start->kernel, start->grid[0],
           start->grid[1], start->grid[2], start->threads);
  return check(c,
               c->hip.launch(kernel, start->grid[0], start->grid[1], start->grid[2], start->threads, 1, 1,
                             start->scratchpad, stream, parameters, NULL),
               what, error);
}

static tw_status amd_allocate(void *context_, int64_t bytes, void **memory, tw_error *error) {
  context *c = context_;
  char what[64];
  snprintf(what, sizeof(what), "allocate %lld bytes", (long long)bytes);
  tw_status status = enter(c, error);
  return status ? status : check(c, c->hip.allocate(memory, (size_t)bytes), what, error);
}

static void amd_release(void *context_, void *memory) {
  context *c = context_;
  if (!enter(c, NULL))
    c->hip.release(memory);
}

static tw_status amd_copy_in(void *context_, void *to, const void *from, int64_t bytes, tw_error *error) {
  context *c = context_;
  tw_status status = enter(c, error);
  return status ? status : check(c, c->hip.copy_in(to, (void *)from, (size_t)bytes), "copy to the device", error);
}

static tw_status amd_copy_out(void *context_, void *to, const void *from, int64_t bytes, tw_error *error) {
  context *c = context_;
  tw_status status = enter(c, error);
  return status ? status : check(c, c->hip.copy_out(to, (void *)from, (size_t)bytes), "copy from the device", error);
}

static tw_status amd_wait(void *context_, void *stream, tw_error *error) {
  context *c = context_;
  tw_status status = enter(c, error);
  return status ? status : check(c, c->hip.wait(stream), "end the launches", error);
}

static tw_status amd_create_event(void *context_, void **event, tw_error *error) {
  context *c = context_;
  tw_status status = enter(c, error);
  return status ? status : check(c, c->hip.create_event(event), "create an event", error);
}

static void amd_destroy_event(void *context_, void *event) {
  context *c = context_;
  if (!enter(c, NULL))
    c->hip.destroy_event(event);
}

static tw_status amd_record_event(void *context_, void *event, void *stream, tw_error *error) {
  context *c = context_;
  tw_status status = enter(c, error);
  return status ? status : check(c, c->hip.record(event, stream), "record an event", error);
}

static tw_status amd_elapsed(void *context_, void *start, void *end, double *seconds, tw_error *error) {
  context *c = context_;
  float milliseconds = 0;
  tw_status status = enter(c, error);
  if (!status)
    status = check(c, c->hip.wait_event(end), "end the launches", error);
  if (!status)
    status = check(c, c->hip.elapsed(&milliseconds, start, end), "read its clock", error);
  *seconds = milliseconds * 1e-3;
  return status;
}

extern const tw_driver tw_driver_amd;
const tw_driver tw_driver_amd = {
    sizeof(tw_driver), "amd",    amd_open,         amd_close,         amd_accepts,      amd_load,
    amd_unload,        amd_find, amd_launch,       amd_allocate,      amd_release,      amd_copy_in,
    amd_copy_out,      amd_wait, amd_create_event, amd_destroy_event, amd_record_event, amd_elapsed};
