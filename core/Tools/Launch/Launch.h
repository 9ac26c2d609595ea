/*===- Launch.h - The parts of tw-launch --------------------------*- C -*-===//
 *
 * Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 *===----------------------------------------------------------------------===//
 *
 * What the files of tw-launch share: its options, the arrays of the program, and
 * what was found. Functions return 0, or 1 after a message.
 *
 *===----------------------------------------------------------------------===*/

#ifndef TILEWRIGHT_CORE_TOOLS_LAUNCH_LAUNCH_H
#define TILEWRIGHT_CORE_TOOLS_LAUNCH_LAUNCH_H

#include "core/Runtime/C/Npy.h"
#include "tilewright/tilewright_runtime.h"

/* A list of option values, in the order given. */
typedef struct list {
  const char **items;
  size_t count;
} list;

typedef struct options {
  const char *artifact, *program, *target;
  list inputs, outputs, saved, expected, sizes;
  uint64_t seed;
  int device, benchmark, json;
  double relative, absolute; /* tolerance of --check-against; below 0: by the types */
} options;

/* One argument of the program on both sides. */
typedef struct array {
  tw_argument type;
  tw_element element;
  int64_t shape[TW_NPY_MOST_DIMENSIONS], size_of[TW_NPY_MOST_DIMENSIONS], bytes, count;
  int is_input;      /* the caller gives its values */
  int is_held;       /* the package has its values, */
  const void *bound; /* here; null: packed */
  char *host;
  void *device;
} array;

typedef struct timing {
  double median, samples[9];
  double host; /* seconds that the host takes for one call, without waiting */
} timing;

typedef struct comparison {
  const char *file;
  double max_error, over_tolerance;
  int64_t worst;
  double expected; /* of element `worst` */
  int passed;
} comparison;

/* Prints one error and returns 1. */
int fail(const char *format, ...) __attribute__((format(printf, 1, 2)));
int failed(const tw_error *error);

/* A file parsed; `bytes` is to be freed. */
int open_npy(const char *path, tw_npy *npy, char **bytes);
int write_npy(const char *path, const array *a);
/* "2,3" */
void shape_text(const int64_t *shape, size_t rank, char *text, size_t capacity);

/* Types and ranks of the arguments; `package` is null for programs of an artifact. */
int describe_arguments(const options *o, const tw_program *program, const tw_package *package, array *arrays);
/* Sizes from the input files and from --size. */
int find_sizes(const options *o, const tw_program *program, const array *arrays, const tw_npy *files, int64_t *sizes);
/* Shapes, memory of the host, and the values of the inputs. */
int fill_arrays(const options *o, const tw_program *program, const int64_t *sizes, const tw_npy *files, array *arrays);
/* Compares an output with a file, which may be of a wider type. `roundings`: tw_program_roundings(). */
int compare(const options *o, const array *arrays, size_t count, double roundings, const array *output,
            const char *path, comparison *result);

void report_json(const options *o, const char *target, const tw_program *program, const char *device,
                 const int64_t *sizes, const array *arrays, const timing *time, const comparison *compared);
void report_text(const options *o, const tw_program *program, const char *device, const array *arrays,
                 const timing *time, const comparison *compared);

#endif /* TILEWRIGHT_CORE_TOOLS_LAUNCH_LAUNCH_H */
