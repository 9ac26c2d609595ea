//===- FusionGroups.h - What is computed together -----------------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The statements of a kernel that share a nest after stage 3, on a chip of any kind: a loop
/// nest, the tiles of a grid, or the program of the cores. A statement is a nest after stage 2; it is known
/// by the places in the program of what it computes, so that chips can be compared:
///
///   %p = linalg.matmul ..     // 4:8              after stage 2   [["4:8"], ["7:10"]]
///   %r = linalg.generic ..    // 5:8              processor       [["4:8", "7:10"]]
///     %m = arith.maximumf     // 7:10             SIMT            [["4:8", "7:10"]]
///
/// Outermost ops of which one reads the elements that the other gives, and not an array, are one nest: the
/// epilogue of a product whose loops were unrolled. Copies and fills compute nothing and are in no group.
/// Statements of one place, such as the steps of a soft-max, are not told apart.
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_TRANSFORMS_UTILS_FUSIONGROUPS_H
#define TILEWRIGHT_CORE_TRANSFORMS_UTILS_FUSIONGROUPS_H

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/JSON.h"

namespace tilewright {

/// The statements of each kernel of `module`, as stage 2 leaves it, by its name: lists of places "line:column".
llvm::StringMap<llvm::json::Array> statementsOf(mlir::ModuleOp module);

/// Adds the decision `fusion-groups` of every kernel of a module after stage 3 to the DecisionLog of its context.
/// `statements`: those after stage 2, if they are known.
void explainFusionGroups(mlir::ModuleOp module, const llvm::StringMap<llvm::json::Array> &statements);

} // namespace tilewright

#endif // TILEWRIGHT_CORE_TRANSFORMS_UTILS_FUSIONGROUPS_H
