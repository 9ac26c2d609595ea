/*===- tilewright_driver.h - What a driver does for the runtime ---*- C -*-===//
 *
 * Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 *===----------------------------------------------------------------------===//
 *
 * A vendor's part of the runtime: one table of functions over its driver, in a
 * file `Driver.c` of its target's folder. CMake's list of targets links it into
 * the runtime library; nothing else names it.
 *
 *   const tw_driver tw_driver_acme = {sizeof(tw_driver), "acme", acme_open, acme_close, ...};
 *
 * Every function describes its failure with `tw_fail`. Pointers, modules,
 * kernels, streams and events are the driver's own handles.
 *
 *===----------------------------------------------------------------------===*/

#ifndef TILEWRIGHT_DRIVER_H
#define TILEWRIGHT_DRIVER_H

#include "tilewright/tilewright_runtime.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Writes `status` and the message into `error`, if there is one, and returns `status`. */
TW_API tw_status tw_fail(tw_error *error, tw_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Code of an artifact. */
typedef struct tw_image {
  const char *kind;         /* as the target's imageKinds() call it */
  const char *architecture; /* what the code was generated for; "" if the artifact does not say */
  const char *bytes;        /* followed by a zero byte that does not count */
  size_t count;
} tw_image;

/* A tile of an array that a copy engine reads by a descriptor. Dimension 0 is the fastest. */
typedef struct tw_tensor {
  void *base;
  const char *type; /* as tw_argument says it */
  int64_t element_bytes;
  uint32_t rank;          /* 1 to 5 */
  int64_t sizes[5];       /* of the array, in elements */
  int64_t pitches[5];     /* bytes from one index of dimension d + 1 to the next */
  uint32_t box[5];        /* of the tile, in elements */
  uint32_t swizzle_bytes; /* 0, 32, 64, 128: how 16-byte pieces of a tile are exchanged in the scratchpad */
} tw_tensor;

typedef enum tw_operand_kind {
  TW_POINTER, /* void *, in `pointer` */
  TW_INTEGER, /* int64_t, in `integer` */
  TW_TENSOR   /* the driver's descriptor of `tensor`, by value */
} tw_operand_kind;

/* One argument of a kernel. */
typedef struct tw_operand {
  tw_operand_kind kind;
  void *pointer;
  int64_t integer;
  tw_tensor tensor;
} tw_operand;

/* One start of a kernel, ready for the driver. */
typedef struct tw_start {
  const char *kernel;
  size_t kernel_number; /* among the kernels of the artifact, from 0 */
  uint32_t grid[3];     /* blocks */
  uint32_t threads;     /* lanes of a block */
  uint32_t cluster;     /* blocks of a cluster, along x */
  uint32_t scratchpad;  /* bytes that the launch gives */
  const tw_operand *operands;
  size_t num_operands;
  double predicted_seconds; /* by the compiler's model of the chip; negative: not known */
  int64_t predicted_bytes;  /* to and from the device's memory; negative: not known */
} tw_start;

/* At most so many operands has a kernel. */
#define TW_MAX_OPERANDS 64

typedef struct tw_driver {
  uint32_t size;      /* sizeof(tw_driver) */
  const char *target; /* the word before the colon of a target's name */

  /* Opens the driver's library and device `ordinal`; `name`: one line for tw_device_name. */
  tw_status (*open)(int ordinal, void **context, char *name, size_t capacity, tw_error *error);
  void (*close)(void *context);
  /* Whether the device runs code of this kind and architecture; else TW_WRONG_CHIP with what both are. */
  tw_status (*accepts)(void *context, const tw_image *image, tw_error *error);
  tw_status (*load)(void *context, const tw_image *image, void **module, tw_error *error);
  void (*unload)(void *context, void *module);
  /* A kernel that will be launched with up to `scratchpad` bytes. */
  tw_status (*find)(void *context, void *module, const char *kernel, uint32_t scratchpad, void **found,
                    tw_error *error);
  tw_status (*launch)(void *context, void *kernel, const tw_start *start, void *stream, tw_error *error);
  tw_status (*allocate)(void *context, int64_t bytes, void **memory, tw_error *error);
  void (*release)(void *context, void *memory);
  tw_status (*copy_in)(void *context, void *to, const void *from, int64_t bytes, tw_error *error);
  tw_status (*copy_out)(void *context, void *to, const void *from, int64_t bytes, tw_error *error);
  tw_status (*wait)(void *context, void *stream, tw_error *error);
  tw_status (*create_event)(void *context, void **event, tw_error *error);
  void (*destroy_event)(void *context, void *event);
  tw_status (*record_event)(void *context, void *event, void *stream, tw_error *error);
  /* Waits for `end`. */
  tw_status (*elapsed)(void *context, void *start, void *end, double *seconds, tw_error *error);
} tw_driver;

/* A shared library of the machine, by the first of `names` (ended by null) that can be opened; TW_NO_DRIVER with what
   the loader said else. `driver` is what messages call it. */
TW_API tw_status tw_open_library(const char *const *names, const char *driver, void **library, tw_error *error);
TW_API void tw_close_library(void *library);
/* The addresses of `names` (ended by null) into `functions`. A name that begins with '?' may be missing and is null
   then; any other that is missing is TW_NO_DRIVER: the driver is too old. */
TW_API tw_status tw_find_functions(void *library, const char *const *names, const char *driver, void **functions,
                                   tw_error *error);

/* The drivers linked into the runtime library, ended by null. libTilewright has none: its targets bring theirs. */
extern const tw_driver *const tw_linked_drivers[];

/* A device over a driver of the caller's, under the functions of tilewright_runtime.h. */
TW_API tw_status tw_device_open_driver(const tw_driver *driver, int ordinal, tw_device **device, tw_error *error);

/* A program from the text of its manifest alone, for callers that load the kernels themselves. */
TW_API tw_status tw_program_parse(const char *manifest, size_t count, tw_program **program, tw_error *error);
TW_API void tw_program_free(tw_program *program);
TW_API size_t tw_program_temporaries(const tw_program *program);
/* Bytes of each temporary for these sizes; at least 1. */
TW_API tw_status tw_program_temporary(const tw_program *program, size_t index, const int64_t *sizes, int64_t *bytes,
                                      tw_error *error);
TW_API size_t tw_program_constants(const tw_program *program);
/* Bytes of a constant and, where `data` is not null, these bytes. */
TW_API tw_status tw_program_constant(const tw_program *program, size_t index, int64_t *bytes, void *data,
                                     tw_error *error);
/* A name where the constant is memory that programs of one artifact share: all that give this name get one pointer.
   Null where it is the program's own. */
TW_API const char *tw_program_constant_shared(const tw_program *program, size_t index);

/* What the host does for a program. Launches, reads and the use of allocated memory are in the order of the calls. */
typedef struct tw_host {
  void *context;
  tw_status (*start)(void *context, const tw_start *start, tw_error *error);
  /* Copies a few bytes from the device, after the launches so far have ended. */
  tw_status (*read)(void *context, void *to, const void *from, int64_t bytes, tw_error *error);
  /* Memory of the device whose size only the run shows. It is released when the last launch that may use it has been
     started, not when it has ended. */
  tw_status (*allocate)(void *context, int64_t bytes, void **memory, tw_error *error);
  void (*release)(void *context, void *memory);
} tw_host;

/* Does the steps of a program until one fails. `arrays`, `constants`, `temporaries`: device pointers, as many as the
   program has. Launches without blocks are left out. */
TW_API tw_status tw_program_run(const tw_program *program, const int64_t *sizes, void *const *arrays,
                                void *const *constants, void *const *temporaries, const tw_host *host, tw_error *error);
/* The same; where it ends with TW_BAD_SIZES because the program makes another size of a result of its data, that is
   what `sizes` has now: a call with larger or smaller arrays goes on from there. */
TW_API tw_status tw_program_learn(const tw_program *program, int64_t *sizes, void *const *arrays,
                                  void *const *constants, void *const *temporaries, const tw_host *host,
                                  tw_error *error);

#ifdef __cplusplus
}
#endif

#endif /* TILEWRIGHT_DRIVER_H */
