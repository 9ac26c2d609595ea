/*===- ManifestReader.h - Parts of manifests -------------------------------===//
 *
 * Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 *===----------------------------------------------------------------------===//
 *
 * What the readers of tables (Manifest.c) and of steps (ManifestSteps.c) share.
 *
 *===----------------------------------------------------------------------===*/

#ifndef TILEWRIGHT_CORE_RUNTIME_C_MANIFESTREADER_H
#define TILEWRIGHT_CORE_RUNTIME_C_MANIFESTREADER_H

#include "core/Runtime/C/Program.h"

typedef struct tw_reader {
  tw_arena *arena;
  tw_program *program;
  const char ***kernels;
  size_t *num_kernels;
  const tw_data *data; /* null: the manifest has all its constants itself */
  tw_error *error;
} tw_reader;

/* Failures: "the manifest of program 'p' WHAT", no memory. */
tw_status tw_read_malformed(tw_reader *r, const char *what);
tw_status tw_read_no_memory(tw_reader *r);

/* An expression, or null with the failure in *status. */
const tw_expression *tw_read_expression(tw_reader *r, const tw_json *json, tw_status *status);
/* The members of `list`, and one of `object`, as expressions. */
tw_status tw_read_expressions(tw_reader *r, const tw_json *list, const tw_expression **results);
tw_status tw_read_member(tw_reader *r, const tw_json *object, const char *key, const tw_expression **result);

/* Whether `index` is below `count`; then it is stored. */
int tw_read_index(int64_t index, size_t count, size_t *result);
/* The buffer that "buffer" names, or in format 1 "array" or "temporary". */
int tw_read_buffer(tw_reader *r, const tw_json *json, size_t *buffer);

/* Reads each member of `list` by `one` into an array of elements of `size` bytes. */
tw_status tw_read_list(tw_reader *r, const tw_json *list, tw_status (*one)(tw_reader *, const tw_json *, void *),
                       size_t size, void *results);
/* A list of steps, one after the other. */
tw_status tw_read_steps(tw_reader *r, const tw_json *list, tw_step **first);

#endif /* TILEWRIGHT_CORE_RUNTIME_C_MANIFESTREADER_H */
