//===- FusionGroups.h - What is computed together -----------------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The statements of a kernel that share a nest after stage 3, on a chip of any kind: a loop
/// nest, the tiles of a grid, or the program of the cores. A statement is the place in the
/// program of what it computes, so that chips can be compared:
///
///   %p = linalg.matmul ..     // 4:8              processor    [["4:8", "7:10"]]
///   %r = linalg.generic ..    // 5:8              SIMT         [["4:8", "7:10"]]
///     %m = arith.maximumf     // 7:10
///
/// Copies and fills compute nothing and are in no group.
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_TRANSFORMS_UTILS_FUSIONGROUPS_H
#define TILEWRIGHT_CORE_TRANSFORMS_UTILS_FUSIONGROUPS_H

#include "mlir/IR/BuiltinOps.h"

namespace tilewright {

/// Adds the decision `fusion-groups` of every kernel of a module after stage 3 to its DecisionLog, if it has one.
void explainFusionGroups(mlir::ModuleOp module);

} // namespace tilewright

#endif // TILEWRIGHT_CORE_TRANSFORMS_UTILS_FUSIONGROUPS_H
