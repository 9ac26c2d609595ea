//===- LoopTrips.h - Iterations of loops around tiles -----------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// How often a loop runs whose bounds are expressions of other loops' numbers:
/// those of a member's share of tiles, or of the steps that a mask leaves.
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_ANALYSIS_LOOPTRIPS_H
#define TILEWRIGHT_CORE_ANALYSIS_LOOPTRIPS_H

#include "mlir/Dialect/Affine/IR/AffineOps.h"

namespace tilewright {

/// The value that is the upper bound of a loop; null where that is another expression.
mlir::Value endOf(mlir::affine::AffineForOp loop);

/// The loop that is all of a loop's body; null where that is something else.
mlir::affine::AffineForOp loopInside(mlir::affine::AffineForOp loop);

/// Iterations of a loop of step 1, at most; nullopt where nothing bounds them.
std::optional<int64_t> mostTrips(mlir::affine::AffineForOp loop);

/// The number behind the last iteration of a loop, at most; nullopt where nothing bounds it.
std::optional<int64_t> mostEnd(mlir::affine::AffineForOp loop);

/// Iterations where the operands of its bounds are `valueOf`.
int64_t tripsAt(mlir::affine::AffineForOp loop, llvm::function_ref<int64_t(mlir::Value)> valueOf);

} // namespace tilewright

#endif // TILEWRIGHT_CORE_ANALYSIS_LOOPTRIPS_H
