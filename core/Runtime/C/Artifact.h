/*===- Artifact.h - One file of programs and code -----------------*- C -*-===//
 *
 * Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 *===----------------------------------------------------------------------===//
 *
 *   TILEWRIGHT <format> <bytes of the header>\n
 *   {"format": 1, "target": "acme:one", "architecture": "one-a", "programs": [manifest, ..],
 *    "images": [{"kind": "bin", "bytes": 4096}, ..]}\n
 *   image image ..
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
};

#endif /* TILEWRIGHT_CORE_RUNTIME_C_ARTIFACT_H */
