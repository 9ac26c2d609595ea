//===- ParallelLoops.h - Parallel loops of a nest -------------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The loops of a nest whose iterations lanes can take, moved to the front:
///
///   for %i { for %j { s[%j] += x[%i, %j] } }    ->    for %j { for %i { s[%j] += x[%i, %j] } }      band: %j
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_TRANSFORMS_NESTS_PARALLELLOOPS_H
#define TILEWRIGHT_CORE_TRANSFORMS_NESTS_PARALLELLOOPS_H

#include "mlir/Dialect/Affine/IR/AffineOps.h"

namespace tilewright {

/// The loops from `root` inwards, each the only op of the one before, whose bounds are known outside.
llvm::SmallVector<mlir::affine::AffineForOp> perfectLoops(mlir::affine::AffineForOp root);

/// Moves loops that are independent of all others to the front, in their order; the new root. Sums of columns have
/// their only such loop inside.
mlir::affine::AffineForOp moveIndependentLoopsOut(mlir::affine::AffineForOp root);

/// The parallel ones of the perfect loops, from `root` on.
llvm::SmallVector<mlir::affine::AffineForOp> parallelBand(mlir::affine::AffineForOp root);

} // namespace tilewright

#endif // TILEWRIGHT_CORE_TRANSFORMS_NESTS_PARALLELLOOPS_H
