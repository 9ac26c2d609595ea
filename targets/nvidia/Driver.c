/*===- Driver.c - NVIDIA's driver for the runtime ---------------------------===//
 *
 * Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 *===----------------------------------------------------------------------===//
 *
 * Functions of libcuda.so.1, which is opened at run time; their prototypes are
 * declared here. Names with a suffix are those that the driver exports.
 *
 *===----------------------------------------------------------------------===*/

#include "tilewright/tilewright_driver.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
  out_of_memory = 2,
  no_device = 100,
  invalid_image = 200,
  no_binary_for_device = 209,
  unsupported_ptx = 222,
  maximum_shared = 8, /* function attribute: bytes of scratchpad that a launch may give */
  major = 75,         /* device attributes: compute capability */
  minor = 76,
  cluster_dimension = 4 /* launch attribute */
};

/* How many bytes a launch may give without asking. */
enum { free_scratchpad = 48 << 10 };

typedef struct launch_attribute {
  uint32_t id, pad;
  union {
    uint32_t cluster[3];
    char room[64];
  } value;
} launch_attribute;

typedef struct launch_config {
  uint32_t grid[3], block[3], shared;
  void *stream;
  launch_attribute *attributes;
  uint32_t num_attributes;
} launch_config;

typedef struct tensor_map {
  _Alignas(64) uint64_t words[16];
} tensor_map;

/* In the order of `names`. */
typedef struct functions {
  int (*init)(unsigned flags);
  int (*count)(int *count);
  int (*device)(int *device, int ordinal);
  int (*name)(char *name, int length, int device);
  int (*attribute)(int *value, int attribute, int device);
  int (*retain)(void **context, int device);
  int (*release_context)(int device);
  int (*set_current)(void *context);
  int (*load)(void **module, const void *image, unsigned count, int *options, void **values);
  int (*unload)(void *module);
  int (*find)(void **function, void *module, const char *name);
  int (*set_function)(void *function, int attribute, int value);
  int (*launch)(void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
                unsigned shared, void *stream, void **parameters, void **extra);
  int (*allocate)(uint64_t *memory, size_t bytes);
  int (*release)(uint64_t memory);
  int (*copy_in)(uint64_t to, const void *from, size_t bytes);
  int (*copy_out)(void *to, uint64_t from, size_t bytes);
  int (*wait)(void *stream);
  int (*create_event)(void **event, unsigned flags);
  int (*destroy_event)(void *event);
  int (*record)(void *event, void *stream);
  int (*wait_event)(void *event);
  int (*elapsed)(float *milliseconds, void *start, void *end);
  int (*error_name)(int error, const char **name);
  int (*error_text)(int error, const char **text);
  int (*launch_with)(const launch_config *config, void *function, void **parameters, void **extra);
  int (*encode)(tensor_map *map, int type, uint32_t rank, void *base, const uint64_t *sizes, const uint64_t *pitches,
                const uint32_t *box, const uint32_t *steps, int interleave, int swizzle, int promotion, int fill);
} functions;

static const char *const names[] = {"cuInit",
                                    "cuDeviceGetCount",
                                    "cuDeviceGet",
                                    "cuDeviceGetName",
                                    "cuDeviceGetAttribute",
                                    "cuDevicePrimaryCtxRetain",
                                    "cuDevicePrimaryCtxRelease_v2",
                                    "cuCtxSetCurrent",
                                    "cuModuleLoadDataEx",
                                    "cuModuleUnload",
                                    "cuModuleGetFunction",
                                    "cuFuncSetAttribute",
                                    "cuLaunchKernel",
                                    "cuMemAlloc_v2",
                                    "cuMemFree_v2",
                                    "cuMemcpyHtoD_v2",
                                    "cuMemcpyDtoH_v2",
                                    "cuStreamSynchronize",
                                    "cuEventCreate",
                                    "cuEventDestroy_v2",
                                    "cuEventRecord",
                                    "cuEventSynchronize",
                                    "cuEventElapsedTime",
                                    "cuGetErrorName",
                                    "cuGetErrorString",
                                    "?cuLaunchKernelEx",
                                    "?cuTensorMapEncodeTiled",
                                    NULL};
_Static_assert(sizeof(functions) == (sizeof(names) / sizeof(*names) - 1) * sizeof(void *), "one function a name");

typedef struct context {
  void *library, *handle;
  functions cu;
  int device, capability; /* 10 major + minor */
  char name[128];
} context;

/* A failure of the driver as a status with its own words; `what`: what was tried. */
static tw_status failed(const context *c, int code, const char *what, tw_error *error) {
  const char *name = NULL, *text = NULL;
  c->cu.error_name(code, &name);
  c->cu.error_text(code, &text);
  tw_status status = code == out_of_memory          ? TW_NO_MEMORY
                     : code == no_binary_for_device ? TW_WRONG_CHIP
                     : code == unsupported_ptx      ? TW_BAD_VERSION
                                                    : TW_DEVICE_ERROR;
  return tw_fail(error, status, "the driver of NVIDIA cannot %s: %s (%s)", what, name ? name : "unknown error",
                 text ? text : "?");
}

static tw_status check(const context *c, int code, const char *what, tw_error *error) {
  return code == 0 ? TW_OK : failed(c, code, what, error);
}

static tw_status enter(context *c, tw_error *error) {
  return check(c, c->cu.set_current(c->handle), "enter its context", error);
}

static tw_status open_device(context *c, int ordinal, char *name, size_t capacity, tw_error *error) {
  static const char *const libraries[] = {"libcuda.so.1", NULL};
  tw_status status = tw_open_library(libraries, "NVIDIA", &c->library, error);
  if (!status)
    status = tw_find_functions(c->library, names, "NVIDIA", (void **)&c->cu, error);
  if (status)
    return status;
  int count = 0, code = c->cu.init(0);
  if (code == 0)
    code = c->cu.count(&count);
  if (code == no_device || (code == 0 && count == 0))
    return tw_fail(error, TW_NO_DRIVER, "the driver of NVIDIA finds no device on this machine");
  if (code)
    return failed(c, code, "start", error);
  if (ordinal < 0 || ordinal >= count)
    return tw_fail(error, TW_BAD_ARGUMENT, "there is no device %d of NVIDIA on this machine; it has %d, from 0",
                   ordinal, count);
  int digits[2] = {0, 0};
  if ((code = c->cu.device(&c->device, ordinal)) || (code = c->cu.name(c->name, sizeof(c->name), c->device)) ||
      (code = c->cu.attribute(&digits[0], major, c->device)) || (code = c->cu.attribute(&digits[1], minor, c->device)))
    return failed(c, code, "describe the device", error);
  c->capability = 10 * digits[0] + digits[1];
  if ((code = c->cu.retain(&c->handle, c->device)))
    return failed(c, code, "open the device", error);
  snprintf(name, capacity, "%s, sm_%d", c->name, c->capability);
  return enter(c, error);
}

static void nvidia_close(void *context_) {
  context *c = context_;
  if (c->handle)
    c->cu.release_context(c->device);
  tw_close_library(c->library);
  free(c);
}

static tw_status nvidia_open(int ordinal, void **result, char *name, size_t capacity, tw_error *error) {
  context *c = calloc(1, sizeof(*c));
  if (!c)
    return tw_fail(error, TW_NO_MEMORY, "the host has no memory left");
  tw_status status = open_device(c, ordinal, name, capacity, error);
  if (status)
    nvidia_close(c);
  else
    *result = c;
  return status;
}

/* "sm_90a" runs on 9.0 alone. Without the letter, machine code runs on the same major and from that minor on, and text
   (ptx) on whatever is as new. */
static tw_status nvidia_accepts(void *context_, const tw_image *image, tw_error *error) {
  context *c = context_;
  int is_text = strcmp(image->kind, "ptx") == 0;
  char *end = NULL;
  long needs = strncmp(image->architecture, "sm_", 3) == 0 ? strtol(image->architecture + 3, &end, 10) : 0;
  if (needs == 0 || (!is_text && strcmp(image->kind, "cubin") != 0))
    return tw_fail(error, TW_WRONG_CHIP, "code of kind '%s' for '%s' is not NVIDIA's", image->kind,
                   image->architecture);
  int exact = *end == 'a', family = *end == 'f';
  if (exact ? c->capability == needs
            : c->capability >= needs && ((is_text && !family) || c->capability / 10 == needs / 10))
    return TW_OK;
  return tw_fail(error, TW_WRONG_CHIP,
                 "the artifact's %s is for %s, which %s (sm_%d) does not run: compile for its chip", image->kind,
                 image->architecture, c->name, c->capability);
}

static tw_status nvidia_load(void *context_, const tw_image *image, void **module, tw_error *error) {
  enum { info_buffer = 5, info_bytes = 6 }; /* options of the loader: where the assembler's errors go */
  context *c = context_;
  tw_status status = enter(c, error);
  char log[512] = "";
  int options[] = {info_buffer, info_bytes};
  void *values[] = {log, (void *)(uintptr_t)sizeof(log)};
  int code = status ? 0 : c->cu.load(module, image->bytes, 2, options, values);
  if (!code)
    return status;
  status = failed(c, code, "load the artifact's code", error);
  log[sizeof(log) - 1] = 0;
  size_t length = strcspn(log, "\n");
  if (error && length)
    snprintf(error->message + strlen(error->message), sizeof(error->message) - strlen(error->message), ": %.*s",
             (int)length, log);
  return status;
}

static void nvidia_unload(void *context_, void *module) {
  context *c = context_;
  if (!enter(c, NULL))
    c->cu.unload(module);
}

static tw_status nvidia_find(void *context_, void *module, const char *kernel, uint32_t scratchpad, void **found,
                             tw_error *error) {
  context *c = context_;
  char what[256];
  snprintf(what, sizeof(what), "find kernel '%s'", kernel);
  tw_status status = enter(c, error);
  if (!status)
    status = check(c, c->cu.find(found, module, kernel), what, error);
  if (status || scratchpad <= free_scratchpad)
    return status;
  snprintf(what, sizeof(what), "give kernel '%s' %u bytes of shared memory", kernel, scratchpad);
  return check(c, c->cu.set_function(*found, maximum_shared, (int)scratchpad), what, error);
}

/* The driver's number of an element type; -1 if it has none. */
static int tensor_type(const tw_tensor *tensor) {
  static const struct {
    const char *name;
    int number;
  } known[] = {{"f16", 6}, {"f32", 7}, {"f64", 8}, {"bf16", 9}};
  for (size_t i = 0; i < sizeof(known) / sizeof(*known); ++i)
    if (strcmp(known[i].name, tensor->type) == 0)
      return known[i].number;
  switch (tensor->element_bytes) { /* unsigned integers: a copy does not look at them */
  case 1:
    return 0;
  case 2:
    return 1;
  case 4:
    return 2;
  case 8:
    return 4;
  default:
    return -1;
  }
}

static tw_status encode(const context *c, const tw_tensor *tensor, tensor_map *map, tw_error *error) {
  static const uint32_t steps[5] = {1, 1, 1, 1, 1};
  uint64_t sizes[5], pitches[5];
  int swizzle = tensor->swizzle_bytes == 32    ? 1
                : tensor->swizzle_bytes == 64  ? 2
                : tensor->swizzle_bytes == 128 ? 3
                                               : 0;
  int type = tensor_type(tensor);
  if (!c->cu.encode || type < 0)
    return tw_fail(error, TW_NO_DRIVER,
                   "the driver of NVIDIA on this machine is too old: it cannot describe tiles of %s", tensor->type);
  for (int d = 0; d < 5; ++d) {
    sizes[d] = (uint64_t)tensor->sizes[d];
    pitches[d] = (uint64_t)tensor->pitches[d];
  }
  return check(c,
               c->cu.encode(map, type, tensor->rank, tensor->base, sizes, pitches, tensor->box, steps, 0, swizzle,
                            /*promotion: 128 bytes*/ 2, /*outside: zeros*/ 0),
               "describe the tiles of an array", error);
}

static tw_status nvidia_launch(void *context_, void *kernel, const tw_start *start, void *stream, tw_error *error) {
  context *c = context_;
  tensor_map maps[8];
  void *parameters[TW_MAX_OPERANDS];
  size_t num_maps = 0;
  tw_status status = enter(c, error);
  for (size_t i = 0; i < start->num_operands && !status; ++i) {
    const tw_operand *operand = &start->operands[i];
    parameters[i] = operand->kind == TW_POINTER ? (void *)&operand->pointer : (void *)&operand->integer;
    if (operand->kind != TW_TENSOR)
      continue;
    if (num_maps == sizeof(maps) / sizeof(*maps))
      return tw_fail(error, TW_BAD_FILE, "kernel '%s' takes more than %zu tensor maps", start->kernel, num_maps);
    parameters[i] = &maps[num_maps];
    status = encode(c, &operand->tensor, &maps[num_maps++], error);
  }
  if (status)
    return status;
  char what[256];
  snprintf(what, sizeof(what), "launch kernel '%s' on %u x %u x %u blocks of %u threads", start->kernel, start->grid[0],
           start->grid[1], start->grid[2], start->threads);
  if (start->cluster <= 1)
    return check(c,
                 c->cu.launch(kernel, start->grid[0], start->grid[1], start->grid[2], start->threads, 1, 1,
                              start->scratchpad, stream, parameters, NULL),
                 what, error);
  if (!c->cu.launch_with)
    return tw_fail(error, TW_NO_DRIVER, "the driver of NVIDIA on this machine is too old: it launches no clusters");
  launch_attribute cluster = {.id = cluster_dimension, .value.cluster = {start->cluster, 1, 1}};
  launch_config config = {
      {start->grid[0], start->grid[1], start->grid[2]}, {start->threads, 1, 1}, start->scratchpad, stream, &cluster, 1};
  return check(c, c->cu.launch_with(&config, kernel, parameters, NULL), what, error);
}

static tw_status nvidia_allocate(void *context_, int64_t bytes, void **memory, tw_error *error) {
  context *c = context_;
  uint64_t address = 0;
  char what[64];
  snprintf(what, sizeof(what), "allocate %lld bytes", (long long)bytes);
  tw_status status = enter(c, error);
  if (!status)
    status = check(c, c->cu.allocate(&address, (size_t)bytes), what, error);
  *memory = (void *)(uintptr_t)address;
  return status;
}

static void nvidia_release(void *context_, void *memory) {
  context *c = context_;
  if (!enter(c, NULL))
    c->cu.release((uint64_t)(uintptr_t)memory);
}

static tw_status nvidia_copy_in(void *context_, void *to, const void *from, int64_t bytes, tw_error *error) {
  context *c = context_;
  tw_status status = enter(c, error);
  return status ? status
                : check(c, c->cu.copy_in((uint64_t)(uintptr_t)to, from, (size_t)bytes), "copy to the device", error);
}

static tw_status nvidia_copy_out(void *context_, void *to, const void *from, int64_t bytes, tw_error *error) {
  context *c = context_;
  tw_status status = enter(c, error);
  return status ? status
                : check(c, c->cu.copy_out(to, (uint64_t)(uintptr_t)from, (size_t)bytes), "copy from the device", error);
}

static tw_status nvidia_wait(void *context_, void *stream, tw_error *error) {
  context *c = context_;
  tw_status status = enter(c, error);
  return status ? status : check(c, c->cu.wait(stream), "end the launches", error);
}

static tw_status nvidia_create_event(void *context_, void **event, tw_error *error) {
  context *c = context_;
  tw_status status = enter(c, error);
  return status ? status : check(c, c->cu.create_event(event, 0), "create an event", error);
}

static void nvidia_destroy_event(void *context_, void *event) {
  context *c = context_;
  if (!enter(c, NULL))
    c->cu.destroy_event(event);
}

static tw_status nvidia_record_event(void *context_, void *event, void *stream, tw_error *error) {
  context *c = context_;
  tw_status status = enter(c, error);
  return status ? status : check(c, c->cu.record(event, stream), "record an event", error);
}

static tw_status nvidia_elapsed(void *context_, void *start, void *end, double *seconds, tw_error *error) {
  context *c = context_;
  float milliseconds = 0;
  tw_status status = enter(c, error);
  if (!status)
    status = check(c, c->cu.wait_event(end), "end the launches", error);
  if (!status)
    status = check(c, c->cu.elapsed(&milliseconds, start, end), "read its clock", error);
  *seconds = milliseconds * 1e-3;
  return status;
}

extern const tw_driver tw_driver_nvidia;
const tw_driver tw_driver_nvidia = {
    sizeof(tw_driver), "nvidia",    nvidia_open,         nvidia_close,         nvidia_accepts,      nvidia_load,
    nvidia_unload,     nvidia_find, nvidia_launch,       nvidia_allocate,      nvidia_release,      nvidia_copy_in,
    nvidia_copy_out,   nvidia_wait, nvidia_create_event, nvidia_destroy_event, nvidia_record_event, nvidia_elapsed};
