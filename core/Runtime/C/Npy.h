/*===- Npy.h - NumPy array files ----------------------------------*- C -*-===//
 *
 * Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 *===----------------------------------------------------------------------===//
 *
 * What core/Runtime/Npy.h describes, for programs without C++.
 *
 *===----------------------------------------------------------------------===*/

#ifndef TILEWRIGHT_CORE_RUNTIME_C_NPY_H
#define TILEWRIGHT_CORE_RUNTIME_C_NPY_H

#include "core/Runtime/C/Elements.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { TW_NPY_MOST_DIMENSIONS = 64, TW_NPY_MOST_HEADER = 2048 };

/* The array in the bytes of a file. */
typedef struct tw_npy {
  tw_element type;
  size_t rank;
  int64_t shape[TW_NPY_MOST_DIMENSIONS];
  int64_t count; /* elements */
  int is_column_major, is_swapped;
  const char *data; /* inside the file */
} tw_npy;

/* False with `problem`: what was found and what was expected. `bfloat`: 2-byte unsigned or void elements are bf16. */
int tw_npy_parse(const char *bytes, size_t count, int bfloat, tw_npy *array, char *problem, size_t capacity);
/* Copies the elements in row-major order and the machine's byte order. */
void tw_npy_copy(const tw_npy *array, void *to);
/* The header of a version 1 file for row-major data; returns its length, which is at most TW_NPY_MOST_HEADER. */
size_t tw_npy_header(tw_element type, size_t rank, const int64_t *shape, char *header);
/* Whether arrays in this file are bf16: the name ends with ".bf16.npy". */
int tw_npy_is_bfloat(const char *path, size_t length);

#ifdef __cplusplus
}
#endif

#endif /* TILEWRIGHT_CORE_RUNTIME_C_NPY_H */
