/*===- Device.c - Programs on a device --------------------------------------===//
 *
 * Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 *===----------------------------------------------------------------------===//
 *
 * Devices, modules and launches over the functions of a driver.
 *
 *===----------------------------------------------------------------------===*/

#include "core/Runtime/C/Artifact.h"
#include "core/Runtime/C/Profiler.h"

#include <stdlib.h>
#include <string.h>

struct tw_device {
  const tw_driver *driver;
  void *context;
  char name[256];
};

/* Memory that steps allocate, kept for later calls: on one stream a launch that still uses it comes before the next. */
typedef struct span {
  struct span *next;
  void *memory;
  int64_t bytes;
  int is_used;
} span;

/* What launches on one stream need. */
typedef struct stream_memory {
  struct stream_memory *next;
  void *stream, *workspace;
  int64_t bytes; /* of the workspace */
  span *spans;
} stream_memory;

struct tw_module {
  tw_device *device;
  const tw_artifact *artifact;
  void *handle;
  void **kernels;   /* by number */
  void **constants; /* of all programs, one after the other */
  size_t num_constants;
  stream_memory *streams;
};

struct tw_timer {
  tw_device *device;
  void *start, *stop;
};

static tw_status no_host_memory(tw_error *error) { return tw_fail(error, TW_NO_MEMORY, "the host has no memory left"); }

tw_status tw_device_open_driver(const tw_driver *driver, int ordinal, tw_device **device, tw_error *error) {
  *device = NULL;
  if (driver->size != sizeof(tw_driver))
    return tw_fail(error, TW_BAD_VERSION, "the driver table of target '%s' has %u bytes; this library (%s) expects %zu",
                   driver->target, driver->size, tw_version(), sizeof(tw_driver));
  tw_status status = tw_profiler_from_environment(error);
  if (status)
    return status;
  tw_device *result = calloc(1, sizeof(*result));
  if (!result)
    return no_host_memory(error);
  result->driver = driver;
  status = driver->open(ordinal, &result->context, result->name, sizeof(result->name), error);
  if (status)
    free(result);
  else
    *device = result;
  return status;
}

void tw_device_close(tw_device *device) {
  if (!device)
    return;
  device->driver->close(device->context);
  free(device);
}

const char *tw_device_name(const tw_device *device) { return device->name; }

tw_status tw_device_allocate(tw_device *device, int64_t bytes, void **memory, tw_error *error) {
  *memory = NULL;
  if (bytes < 0)
    return tw_fail(error, TW_BAD_ARGUMENT, "cannot allocate %lld bytes", (long long)bytes);
  return device->driver->allocate(device->context, bytes ? bytes : 1, memory, error);
}

void tw_device_release(tw_device *device, void *memory) {
  if (memory)
    device->driver->release(device->context, memory);
}

/* What a copy or wait of the device tells the profilers of. */
static tw_activity begin(const tw_device *device, tw_activity_kind kind, const char *name, int64_t bytes,
                         void *stream) {
  tw_activity activity = tw_activity_of(kind, name, device->name);
  activity.bytes = bytes;
  activity.stream = stream;
  tw_activity_begin(&activity);
  return activity;
}

tw_status tw_device_copy_in(tw_device *device, void *to, const void *from, int64_t bytes, tw_error *error) {
  if (bytes <= 0)
    return TW_OK;
  if (!tw_is_profiled())
    return device->driver->copy_in(device->context, to, from, bytes, error);
  tw_activity activity = begin(device, TW_ACTIVITY_COPY_IN, "copy in", bytes, NULL);
  return tw_activity_end(&activity, device->driver->copy_in(device->context, to, from, bytes, error));
}

tw_status tw_device_copy_out(tw_device *device, void *to, const void *from, int64_t bytes, tw_error *error) {
  if (bytes <= 0)
    return TW_OK;
  if (!tw_is_profiled())
    return device->driver->copy_out(device->context, to, from, bytes, error);
  tw_activity activity = begin(device, TW_ACTIVITY_COPY_OUT, "copy out", bytes, NULL);
  return tw_activity_end(&activity, device->driver->copy_out(device->context, to, from, bytes, error));
}

tw_status tw_device_wait(tw_device *device, void *stream, tw_error *error) {
  if (!tw_is_profiled())
    return device->driver->wait(device->context, stream, error);
  tw_activity activity = begin(device, TW_ACTIVITY_WAIT, "wait", -1, stream);
  return tw_activity_end(&activity, device->driver->wait(device->context, stream, error));
}

/*===-- Modules -------------------------------------------------------------===*/

/* Whether the code of `artifact` can be for `device` at all. */
static tw_status check_target(const tw_device *device, const tw_artifact *artifact, tw_error *error) {
  size_t length = strlen(device->driver->target);
  if (strncmp(artifact->target, device->driver->target, length) == 0 &&
      (artifact->target[length] == ':' || !artifact->target[length]))
    return TW_OK;
  return tw_fail(error, TW_WRONG_CHIP, "the artifact is for %s; the device is one of target '%s': %s", artifact->target,
                 device->driver->target, device->name);
}

/* Loads the last image that the device takes: the most specific one. */
static tw_status load_image(tw_module *module, tw_error *error) {
  tw_device *device = module->device;
  const tw_artifact *artifact = module->artifact;
  tw_status status =
      tw_fail(error, TW_WRONG_CHIP, "the artifact for %s holds no code for %s", artifact->target, device->name);
  for (size_t i = artifact->num_images; i-- > 0;) {
    const tw_image *image = &artifact->images[i];
    tw_error reason;
    tw_status one = device->driver->accepts(device->context, image, &reason);
    if (!one)
      one = device->driver->load(device->context, image, &module->handle, &reason);
    if (!one)
      return TW_OK;
    /* An image that was accepted and could not be loaded tells more than one that was not. */
    if (status == TW_WRONG_CHIP)
      status = tw_fail(error, one, "%s", reason.message);
  }
  return status;
}

/* The largest scratchpad that launches give one kernel. */
typedef struct scratchpad_search {
  size_t kernel_number;
  uint32_t scratchpad;
} scratchpad_search;

static void visit_launch(void *context, const tw_step *launch) {
  scratchpad_search *search = context;
  if (launch->kernel_number == search->kernel_number && launch->scratchpad > search->scratchpad)
    search->scratchpad = launch->scratchpad;
}

static tw_status find_kernels(tw_module *module, tw_error *error) {
  const tw_artifact *artifact = module->artifact;
  tw_device *device = module->device;
  for (size_t number = 0; number < artifact->num_kernels; ++number) {
    scratchpad_search search = {number, 0};
    for (size_t p = 0; p < artifact->num_programs; ++p)
      tw_program_visit(artifact->programs[p].steps, visit_launch, &search);
    tw_status status = device->driver->find(device->context, module->handle, artifact->kernels[number],
                                            search.scratchpad, &module->kernels[number], error);
    if (status)
      return status;
  }
  return TW_OK;
}

/* The memory of what an earlier program, before number `count` of all constants, shares with this one; null if none. */
static tw_status find_shared(const tw_module *module, const tw_constant *constant, size_t count, void **memory,
                             tw_error *error) {
  size_t number = 0;
  *memory = NULL;
  for (const tw_program *program = module->artifact->programs; constant->shared; ++program)
    for (size_t i = 0; i < program->num_constants; ++i, ++number) {
      const tw_constant *other = &program->constants[i];
      if (number == count)
        return TW_OK;
      if (!other->shared || strcmp(other->shared, constant->shared) != 0)
        continue;
      if (other->bytes != constant->bytes)
        return tw_fail(error, TW_BAD_FILE, "programs share '%s', which has %lld bytes in one and %lld in another",
                       constant->shared, (long long)other->bytes, (long long)constant->bytes);
      *memory = module->constants[number];
      return TW_OK;
    }
  return TW_OK;
}

static tw_status copy_constants(tw_module *module, tw_error *error) {
  const tw_artifact *artifact = module->artifact;
  tw_status status = TW_OK;
  for (size_t p = 0; p < artifact->num_programs; ++p)
    for (size_t i = 0; i < artifact->programs[p].num_constants && !status; ++i) {
      int64_t bytes = artifact->programs[p].constants[i].bytes;
      size_t number = module->num_constants++;
      void **memory = &module->constants[number], *data;
      status = find_shared(module, &artifact->programs[p].constants[i], number, memory, error);
      if (status || *memory)
        continue;
      data = malloc((size_t)bytes + 1);
      status = data ? tw_program_constant(&artifact->programs[p], i, &bytes, data, error) : no_host_memory(error);
      if (!status)
        status = tw_device_allocate(module->device, bytes, memory, error);
      if (!status)
        status = tw_device_copy_in(module->device, *memory, data, bytes, error);
      free(data);
    }
  return status;
}

tw_status tw_module_load(tw_device *device, const tw_artifact *artifact, tw_module **module, tw_error *error) {
  *module = NULL;
  tw_status status = check_target(device, artifact, error);
  if (status)
    return status;
  tw_module *result = calloc(1, sizeof(*result));
  if (!result)
    return no_host_memory(error);
  result->device = device;
  result->artifact = artifact;
  size_t constants = 0;
  for (size_t p = 0; p < artifact->num_programs; ++p)
    constants += artifact->programs[p].num_constants;
  result->kernels = calloc(artifact->num_kernels + 1, sizeof(*result->kernels));
  result->constants = calloc(constants + 1, sizeof(*result->constants));
  status = result->kernels && result->constants ? load_image(result, error) : no_host_memory(error);
  if (!status)
    status = find_kernels(result, error);
  if (!status)
    status = copy_constants(result, error);
  if (status)
    tw_module_unload(result);
  else
    *module = result;
  return status;
}

static void free_stream(tw_module *module, stream_memory *stream) {
  while (stream->spans) {
    span *next = stream->spans->next;
    tw_device_release(module->device, stream->spans->memory);
    free(stream->spans);
    stream->spans = next;
  }
  tw_device_release(module->device, stream->workspace);
  free(stream);
}

void tw_module_unload(tw_module *module) {
  if (!module)
    return;
  while (module->streams) {
    stream_memory *next = module->streams->next;
    free_stream(module, module->streams);
    module->streams = next;
  }
  for (size_t i = 0; i < module->num_constants; ++i) {
    size_t first = 0; /* of those that share the memory */
    while (module->constants[first] != module->constants[i])
      ++first;
    if (first == i)
      tw_device_release(module->device, module->constants[i]);
  }
  if (module->handle)
    module->device->driver->unload(module->device->context, module->handle);
  free(module->constants);
  free(module->kernels);
  free(module);
}

/*===-- Launches ------------------------------------------------------------===*/

/* The module's memory for launches on `stream`; null without memory of the host. */
static stream_memory *memory_of(tw_module *module, void *stream) {
  stream_memory *found = module->streams;
  while (found && found->stream != stream)
    found = found->next;
  if (found || !(found = calloc(1, sizeof(*found))))
    return found;
  found->stream = stream;
  found->next = module->streams;
  module->streams = found;
  return found;
}

/* Makes the module's own workspace at least so large. */
static tw_status grow_workspace(tw_module *module, stream_memory *memory, int64_t bytes, tw_error *error) {
  if (memory->bytes >= bytes)
    return TW_OK;
  /* Launches under way may still use the old one. */
  tw_status status = memory->workspace ? tw_device_wait(module->device, memory->stream, error) : TW_OK;
  if (status)
    return status;
  tw_device_release(module->device, memory->workspace);
  memory->workspace = NULL;
  memory->bytes = 0;
  status = tw_device_allocate(module->device, bytes, &memory->workspace, error);
  if (!status)
    memory->bytes = bytes;
  return status;
}

typedef struct launch_context {
  tw_module *module;
  void *stream;
} launch_context;

static tw_status start_kernel(void *context, const tw_start *start, tw_error *error) {
  launch_context *launch = context;
  tw_device *device = launch->module->device;
  return device->driver->launch(device->context, launch->module->kernels[start->kernel_number], start, launch->stream,
                                error);
}

/* The same between two marks of the device's clock, and waits. */
static tw_status measure_kernel(launch_context *launch, const tw_start *start, double *seconds, tw_error *error) {
  tw_timer *timer;
  tw_status status = tw_timer_create(launch->module->device, &timer, error);
  if (!status)
    status = tw_timer_start(timer, launch->stream, error);
  if (!status)
    status = start_kernel(launch, start, error);
  if (!status)
    status = tw_timer_stop(timer, launch->stream, seconds, error);
  tw_timer_destroy(timer);
  return status;
}

static tw_status start_profiled(void *context, const tw_start *start, tw_error *error) {
  launch_context *launch = context;
  tw_activity activity = tw_activity_of_start(start, launch->module->device->name);
  activity.stream = launch->stream;
  tw_activity_begin(&activity);
  tw_status status = tw_profilers_measure() ? measure_kernel(launch, start, &activity.seconds, error)
                                            : start_kernel(launch, start, error);
  return tw_activity_end(&activity, status);
}

static tw_status read_memory(void *context, void *to, const void *from, int64_t bytes, tw_error *error) {
  launch_context *launch = context;
  tw_status status = tw_device_wait(launch->module->device, launch->stream, error);
  return status ? status : tw_device_copy_out(launch->module->device, to, from, bytes, error);
}

static tw_status take_piece(void *context, int64_t bytes, void **memory, tw_error *error) {
  launch_context *launch = context;
  stream_memory *of = memory_of(launch->module, launch->stream);
  span *best = NULL;
  for (span *one = of ? of->spans : NULL; one; one = one->next)
    if (!one->is_used && one->bytes >= bytes && (!best || one->bytes < best->bytes))
      best = one;
  if (!best) {
    best = of ? calloc(1, sizeof(*best)) : NULL;
    if (!best)
      return no_host_memory(error);
    tw_status status = tw_device_allocate(launch->module->device, bytes, &best->memory, error);
    if (status) {
      free(best);
      return status;
    }
    best->bytes = bytes;
    best->next = of->spans;
    of->spans = best;
  }
  best->is_used = 1;
  *memory = best->memory;
  return TW_OK;
}

static void give_piece(void *context, void *memory) {
  launch_context *launch = context;
  stream_memory *of = memory_of(launch->module, launch->stream);
  for (span *one = of ? of->spans : NULL; one; one = one->next)
    if (one->memory == memory)
      one->is_used = 0;
}

tw_status tw_launch(tw_module *module, const tw_program *program, const int64_t *sizes, void *const *arrays,
                    void *workspace, void *stream, tw_error *error) {
  if (!module || !program)
    return tw_fail(error, TW_BAD_ARGUMENT, "a launch needs a module and a program");
  const tw_artifact *artifact = module->artifact;
  if (program < artifact->programs || program >= artifact->programs + artifact->num_programs)
    return tw_fail(error, TW_BAD_ARGUMENT, "program '%s' belongs to another artifact than the module", program->name);
  int64_t bytes;
  tw_status status = tw_program_workspace(program, sizes, &bytes, error);
  if (!status && !workspace && bytes > 0) {
    stream_memory *memory = memory_of(module, stream);
    status = memory ? grow_workspace(module, memory, bytes, error) : no_host_memory(error);
    workspace = memory ? memory->workspace : NULL;
  }
  if (status)
    return status;
  void *few[32], **temporaries = few;
  if (program->num_temporaries > sizeof(few) / sizeof(*few) &&
      !(temporaries = calloc(program->num_temporaries, sizeof(*temporaries))))
    return no_host_memory(error);
  char *at = workspace;
  for (size_t i = 0; i < program->num_temporaries && !status; ++i) {
    temporaries[i] = at;
    status = tw_program_temporary(program, i, sizes, &bytes, error);
    at += (bytes + 255) & ~(int64_t)255; /* as tw_program_workspace counts */
  }
  void **constants = module->constants;
  for (const tw_program *before = artifact->programs; before < program; ++before)
    constants += before->num_constants;
  launch_context context = {module, stream};
  int is_profiled = tw_is_profiled();
  tw_host host = {&context, is_profiled ? start_profiled : start_kernel, read_memory, take_piece, give_piece};
  tw_activity activity;
  if (is_profiled) {
    activity = tw_activity_of(TW_ACTIVITY_PROGRAM, program->name, module->device->name);
    activity.stream = stream;
    tw_activity_begin(&activity);
  }
  if (!status)
    status = tw_program_run(program, sizes, arrays, constants, temporaries, &host, error);
  if (is_profiled)
    tw_activity_end(&activity, status);
  if (temporaries != few)
    free(temporaries);
  return status;
}

/*===-- Time ----------------------------------------------------------------===*/

tw_status tw_timer_create(tw_device *device, tw_timer **timer, tw_error *error) {
  tw_timer *result = calloc(1, sizeof(*result));
  *timer = NULL;
  if (!result)
    return no_host_memory(error);
  result->device = device;
  tw_status status = device->driver->create_event(device->context, &result->start, error);
  if (!status)
    status = device->driver->create_event(device->context, &result->stop, error);
  if (status)
    tw_timer_destroy(result);
  else
    *timer = result;
  return status;
}

void tw_timer_destroy(tw_timer *timer) {
  if (!timer)
    return;
  if (timer->start)
    timer->device->driver->destroy_event(timer->device->context, timer->start);
  if (timer->stop)
    timer->device->driver->destroy_event(timer->device->context, timer->stop);
  free(timer);
}

tw_status tw_timer_start(tw_timer *timer, void *stream, tw_error *error) {
  return timer->device->driver->record_event(timer->device->context, timer->start, stream, error);
}

tw_status tw_timer_stop(tw_timer *timer, void *stream, double *seconds, tw_error *error) {
  const tw_driver *driver = timer->device->driver;
  tw_status status = driver->record_event(timer->device->context, timer->stop, stream, error);
  return status ? status : driver->elapsed(timer->device->context, timer->start, timer->stop, seconds, error);
}
