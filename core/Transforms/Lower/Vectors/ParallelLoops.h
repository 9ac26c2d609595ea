//===- ParallelLoops.h - scf.parallel as a nest of loops --------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The sequential order of a parallel loop.
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_TRANSFORMS_LOWER_VECTORS_PARALLELLOOPS_H
#define TILEWRIGHT_CORE_TRANSFORMS_LOWER_VECTORS_PARALLELLOOPS_H

#include "mlir/Dialect/SCF/IR/SCF.h"

namespace tilewright {

/// Replaces a parallel loop by a nest of sequential ones. Reductions run in the order of the iterations.
void makeSequential(mlir::scf::ParallelOp parallel);

/// What the reductions of `parallel` make of `left` and `right`, one value each, written at the builder's place.
llvm::SmallVector<mlir::Value> combineReductions(mlir::OpBuilder &builder, mlir::scf::ParallelOp parallel,
                                                 mlir::ValueRange left, mlir::ValueRange right);

} // namespace tilewright

#endif // TILEWRIGHT_CORE_TRANSFORMS_LOWER_VECTORS_PARALLELLOOPS_H
