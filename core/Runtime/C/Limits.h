/*===- Limits.h - How large launches are ---------------------------*- C -*-===//
 *
 * Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 *===----------------------------------------------------------------------===//
 *
 * Part of the form of manifests (core/Transforms/Host/LaunchManifest.h): a grid has at most so
 * many blocks along each dimension, which all devices run. The compiler forms no larger
 * ones (core/Transforms/Nests/LaneGrid.h), the runtime starts none.
 *
 *===----------------------------------------------------------------------===*/

#ifndef TILEWRIGHT_CORE_RUNTIME_C_LIMITS_H
#define TILEWRIGHT_CORE_RUNTIME_C_LIMITS_H

enum {
  TW_MAX_BLOCKS_X = 2147483647, /* the dimension whose blocks start first */
  TW_MAX_BLOCKS_YZ = 65535      /* of each of the two others */
};

#endif
