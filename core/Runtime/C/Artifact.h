/*===- Artifact.h - One file of programs and code -----------------*- C -*-===//
 *
 * Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 *===----------------------------------------------------------------------===//
 *
 *   TILEWRIGHT <format> <bytes of the header>\n
 *   {"format": 1, "target": "acme:one", "architecture": "one-a", "programs": [manifest, ..],
 *    "images": [{"kind": "bin", "bytes": 4096}, ..], "data": {"bytes": 8192}}\n
 *   image image .. | zeros | data
 *
 * Data is what constants of the programs have, {"buffer": 3, "bytes": 4096, "at": 64, "stored": 4096}: `stored` bytes
 * from byte `at` of it, repeated until `bytes` are full. It begins at a multiple of 64 bytes of the file, and so does
 * each constant. Without "data" the file ends with the code. Constants of formats before 5, and short ones, are text in
 * the manifest.
 *
 *===----------------------------------------------------------------------===*/

#ifndef TILEWRIGHT_CORE_RUNTIME_C_ARTIFACT_H
#define TILEWRIGHT_CORE_RUNTIME_C_ARTIFACT_H

#include "core/Runtime/C/Program.h"

struct tw_artifact {
  tw_arena arena;
  const char *target;
  size_t num_programs, num_images, num_kernels;
  tw_program *programs;
  tw_image *images;     /* each followed by a zero byte */
  const char **kernels; /* by number */
  tw_data data;
  void *mapped; /* the file, where data lies in it; null: data is in the arena */
  size_t mapped_bytes;
};

#endif /* TILEWRIGHT_CORE_RUNTIME_C_ARTIFACT_H */
