/*===- tilewright_runtime.h - Artifacts on devices ----------------*- C -*-===//
 *
 * Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 *===----------------------------------------------------------------------===//
 *
 * Loads what `tw-compile -o NAME.tw` wrote and runs its programs on a device,
 * through the driver that the machine has. Needs libc and nothing else.
 *
 *   tw_error error;
 *   tw_artifact *artifact;
 *   tw_device *device;
 *   tw_module *module;
 *   if (tw_artifact_open("mlp.tw", &artifact, &error) || tw_device_open(tw_artifact_target(artifact), 0, &device,
 * &error) || tw_module_load(device, artifact, &module, &error)) return fprintf(stderr, "%s\n", error.message), 1; const
 * tw_program *program = tw_artifact_program(artifact, "mlp"); int64_t sizes[] = {128};                        // the
 * dynamic sizes, in order of first appearance void *arrays[] = {x, weights, y};               // device pointers,
 * inputs first, as in the C signature tw_launch(module, program, sizes, arrays, NULL, stream, &error);
 *
 * Functions that can fail return a status and describe the failure in `error`,
 * which may be null. Nothing here aborts, prints or throws. An artifact may be
 * used by several threads at once; a module by one at a time, or by several if
 * each passes its own workspace. Structs of this header never change, but for
 * tw_activity, which may grow at its end; functions are only ever added within a
 * major version of the library.
 *
 *===----------------------------------------------------------------------===*/

#ifndef TILEWRIGHT_RUNTIME_H
#define TILEWRIGHT_RUNTIME_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define TW_API __attribute__((visibility("default")))

typedef enum tw_status {
  TW_OK = 0,
  TW_BAD_SIZES = 1,    /* sizes disagree, are negative, or make something too large to count */
  TW_NO_MEMORY = 2,    /* of the device or of the host */
  TW_DEVICE_ERROR = 3, /* the driver reported an error */
  TW_BAD_FILE = 4,     /* no artifact, a damaged one, or one that cannot be read */
  TW_BAD_VERSION = 5,  /* an artifact of a newer format than this library reads */
  TW_WRONG_CHIP = 6,   /* the artifact's code is for another chip than the device */
  TW_NO_DRIVER = 7,    /* this machine has no driver for the target, or this library does not know it */
  TW_BAD_ARGUMENT = 8, /* the caller's mistake: a null pointer, an unknown program */
  TW_BAD_INDEX = 9     /* an index made of data lies outside of its array (--check-indices) */
} tw_status;

typedef struct tw_error {
  tw_status status;
  char message[1020]; /* one line, without a full stop at its end */
} tw_error;

/* What the library is: "0.1.0". Artifacts of `tw_newest_format` and older are read. */
TW_API const char *tw_version(void);
TW_API int tw_newest_format(void);

/*===-- Artifacts -----------------------------------------------------------===*/

/* The file of a compiler: programs and the code of their kernels. */
typedef struct tw_artifact tw_artifact;
/* One program of an artifact; it lives as long as the artifact. */
typedef struct tw_program tw_program;

/* Large constants stay in the file, which is mapped: it may not change while the artifact is open. */
TW_API tw_status tw_artifact_open(const char *path, tw_artifact **artifact, tw_error *error);
/* The same from memory, which is copied. */
TW_API tw_status tw_artifact_parse(const void *bytes, size_t count, tw_artifact **artifact, tw_error *error);
TW_API void tw_artifact_close(tw_artifact *artifact);
/* "TARGET:CHIP" that the code is for. */
TW_API const char *tw_artifact_target(const tw_artifact *artifact);
TW_API size_t tw_artifact_count(const tw_artifact *artifact);
/* Program number `index`; null beyond the last. */
TW_API const tw_program *tw_artifact_at(const tw_artifact *artifact, size_t index);
/* The program of this name, of a null name the only one; else null. */
TW_API const tw_program *tw_artifact_program(const tw_artifact *artifact, const char *name);

/* One argument of a program: a dense row-major array. */
typedef struct tw_argument {
  const char *type; /* "f32", "bf16", "i8", "ui16", "i1" (one byte), "index" (int64) */
  int64_t element_bytes;
  size_t rank;
  int is_written; /* its elements change */
  int is_result;  /* nothing but an output: its elements before the call do not matter */
} tw_argument;

TW_API const char *tw_program_name(const tw_program *program);
/* Distinct dynamic sizes that a call passes. */
TW_API size_t tw_program_sizes(const tw_program *program);
TW_API size_t tw_program_arguments(const tw_program *program);
TW_API tw_status tw_program_argument(const tw_program *program, size_t index, tw_argument *argument, tw_error *error);
/* The `rank` extents of an argument for these sizes; which size an extent is, is in `size_of` (-1: computed or fixed)
   unless that is null. `sizes` may be null where only `size_of` is wanted, `shape` then too. */
TW_API tw_status tw_program_shape(const tw_program *program, size_t index, const int64_t *sizes, int64_t *shape,
                                  int64_t *size_of, tw_error *error);
TW_API tw_status tw_program_bytes(const tw_program *program, size_t index, const int64_t *sizes, int64_t *bytes,
                                  tw_error *error);
/* How many floating-point operations an element of a result has passed through at most, one behind the other: what
   rounding may change grows with it. -1 where the artifact does not say. */
TW_API double tw_program_roundings(const tw_program *program, const int64_t *sizes);
/* Bytes of device memory for temporaries of one call, to be aligned to 256. */
TW_API tw_status tw_program_workspace(const tw_program *program, const int64_t *sizes, int64_t *bytes, tw_error *error);

/*===-- Packages ------------------------------------------------------------===*/

/* One file with programs, code of them for several targets, and weights, which are mapped (docs/packages.md). A package
   may be used by several threads. */
typedef struct tw_package tw_package;
/* A program of a package as code of this process. */
typedef struct tw_function tw_function;

TW_API tw_status tw_package_open(const char *path, tw_package **package, tw_error *error);
/* Its functions first. */
TW_API void tw_package_close(tw_package *package);
TW_API size_t tw_package_count(const tw_package *package);
/* Name of program number `index`; null beyond the last. */
TW_API const char *tw_package_name(const tw_package *package, size_t index);
/* The artifact for devices of `target` ("TARGET" or "TARGET:CHIP"; null: the first) of the program `name` (null: the
   only one). It does not refer to the package. */
TW_API tw_status tw_package_artifact(const tw_package *package, const char *name, const char *target,
                                     tw_artifact **artifact, tw_error *error);

/* The array that the package has for an argument of the program, on the host and aligned to 64 bytes; null: the caller
   passes one, or all code reads it in packed form alone (tw_package_holds). `program`: of its artifact or function. */
TW_API tw_status tw_package_weight(const tw_package *package, const char *name, const tw_program *program,
                                   size_t argument, const void **data, tw_error *error);
/* Whether the package has the array of an argument, as it is or packed, so that the caller passes none. */
TW_API tw_status tw_package_holds(const tw_package *package, const char *name, const tw_program *program,
                                  size_t argument, int *holds, tw_error *error);
/* What the package calls an argument, as "x" or "layers.0.weight"; null for results, and where it has no names. */
TW_API const char *tw_package_argument_name(const tw_package *package, const char *name, const tw_program *program,
                                            size_t argument);

/* Loads code that this machine runs; TW_WRONG_CHIP says why none does. */
TW_API tw_status tw_function_load(const tw_package *package, const char *name, const char *target,
                                  tw_function **function, tw_error *error);
TW_API void tw_function_unload(tw_function *function);
/* The interface; arrays that the package has are arguments as all others (tw_package_holds). */
TW_API const tw_program *tw_function_program(const tw_function *function);
/* `arrays`: the address of each argument; what the package has is not read. Several threads may call at once. */
TW_API tw_status tw_function_call(const tw_function *function, const int64_t *sizes, void *const *arrays,
                                  tw_error *error);

/*===-- Devices -------------------------------------------------------------===*/

/* One device through its driver, which is opened at run time. */
typedef struct tw_device tw_device;
/* The kernels of an artifact, loaded on a device. */
typedef struct tw_module tw_module;

/* `target`: "TARGET" or "TARGET:CHIP"; `ordinal`: which device of the machine. The device's primary context becomes the
   calling thread's current one, as the driver's run-time libraries do, so that pointers and streams are shared. */
TW_API tw_status tw_device_open(const char *target, int ordinal, tw_device **device, tw_error *error);
/* Modules of the device first. */
TW_API void tw_device_close(tw_device *device);
/* One line: the name that the driver tells and what code it takes. */
TW_API const char *tw_device_name(const tw_device *device);

TW_API tw_status tw_device_allocate(tw_device *device, int64_t bytes, void **memory, tw_error *error);
TW_API void tw_device_release(tw_device *device, void *memory);
/* Both return when the copy is done. */
TW_API tw_status tw_device_copy_in(tw_device *device, void *to, const void *from, int64_t bytes, tw_error *error);
TW_API tw_status tw_device_copy_out(tw_device *device, void *to, const void *from, int64_t bytes, tw_error *error);
/* Until everything on `stream` (null: the default stream) has ended. */
TW_API tw_status tw_device_wait(tw_device *device, void *stream, tw_error *error);

TW_API tw_status tw_module_load(tw_device *device, const tw_artifact *artifact, tw_module **module, tw_error *error);
TW_API void tw_module_unload(tw_module *module);

/* Starts all launches of the program on `stream` (the driver's own handle; null: the default stream) and returns.
   `workspace`: device memory of tw_program_workspace() bytes, aligned to 256, that nobody else uses until the launches
   have ended; null: the module keeps one for each stream. Sizes are checked before anything starts. */
TW_API tw_status tw_launch(tw_module *module, const tw_program *program, const int64_t *sizes, void *const *arrays,
                           void *workspace, void *stream, tw_error *error);

/* Seconds between two marks on a stream, on the device's own clock. */
typedef struct tw_timer tw_timer;
TW_API tw_status tw_timer_create(tw_device *device, tw_timer **timer, tw_error *error);
TW_API void tw_timer_destroy(tw_timer *timer);
TW_API tw_status tw_timer_start(tw_timer *timer, void *stream, tw_error *error);
/* Waits for the second mark. */
TW_API tw_status tw_timer_stop(tw_timer *timer, void *stream, double *seconds, tw_error *error);

/*===-- Profilers -----------------------------------------------------------===*/

/* What the library does for a program. Profilers are told when it begins and when it ends (docs/tracing.md). */
typedef enum tw_activity_kind {
  TW_ACTIVITY_PROGRAM = 1,  /* the launches of one call, or one call of a function; others begin and end inside it */
  TW_ACTIVITY_KERNEL = 2,   /* one launch; the kernel may run on after its end, unless a profiler `measures` */
  TW_ACTIVITY_COPY_IN = 3,  /* from the host to the device */
  TW_ACTIVITY_COPY_OUT = 4, /* back */
  TW_ACTIVITY_WAIT = 5      /* for the end of what a stream has */
} tw_activity_kind;

/* One of them. Texts live until the callback returns. */
typedef struct tw_activity {
  uint32_t size;      /* of this struct in the library that calls */
  uint32_t kind;      /* tw_activity_kind; ones that a profiler does not know may come */
  uint64_t number;    /* from 1, in the order in which they begin; the same at its end */
  const char *name;   /* of the program or kernel; else "copy in", "copy out", "wait" */
  const char *device; /* as tw_device_name says it; null: this processor */
  void *stream;       /* the driver's own handle; null: the default stream */
  int64_t bytes;      /* that are copied; of a kernel, that the compiler expects it to move to
                         and from the device's memory; -1: not known */
  uint32_t grid[3], threads, cluster, scratchpad; /* of a kernel, as in tw_start; else 0 */
  double predicted_seconds;                       /* what the compiler's model says of a kernel; negative: nothing */
  double seconds;                                 /* at the end of a kernel that is measured: by the device's clock */
  tw_status status;                               /* at its end */
} tw_activity;

/* Of tw_profiler and of what its functions are told. */
#define TW_PROFILER_VERSION 1

/* A listener. Its functions are called on the thread that does the work, by several threads at once where an
   application has several, and must not call this library. */
typedef struct tw_profiler {
  uint32_t version; /* TW_PROFILER_VERSION of the header that it was compiled with */
  uint32_t
      measures; /* not 0: each launch is waited for and measured by the device's clock, so that none overlaps another */
  void *context;
  void (*begin)(void *context, const tw_activity *activity);
  void (*end)(void *context, const tw_activity *activity);
  void (*close)(void *context); /* when it is removed, or when the process ends; may be null */
} tw_profiler;

/* Tells `profiler`, which the caller keeps, of all activities from now on; ends are told to the newest profiler first.
   TW_BAD_VERSION where it wants a newer version than this library has. Calls of other threads must not be under way. */
TW_API tw_status tw_profiler_add(const tw_profiler *profiler, tw_error *error);
TW_API void tw_profiler_remove(const tw_profiler *profiler);

/* The environment variable TILEWRIGHT_PROFILER names a shared library that is loaded, and whose profiler is added,
   before the first device is opened or the first program is loaded, which fails where that cannot be done. The library
   has this function. `version`: TW_PROFILER_VERSION of the runtime. Null where it has no profiler for that. */
#define TW_PROFILER_ENTRY "tilewright_profiler"
typedef const tw_profiler *(*tw_profiler_entry)(uint32_t version);

#ifdef __cplusplus
}
#endif

#endif /* TILEWRIGHT_RUNTIME_H */
