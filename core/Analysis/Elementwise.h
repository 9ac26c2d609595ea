//===- Elementwise.h - Bodies that compute on elements alone ----*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Whether a body may be computed on fragments, vectors and rows: each element by itself, also on elements beyond the
/// end of an array, whose value nobody takes.
///
///   %2 = arith.mulf %0, %1      element by element
///   %3 = arith.divsi %0, %c4    element by element
///   %4 = arith.divsi %0, %1     not: beyond the end %1 may be 0, and the division would trap
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_ANALYSIS_ELEMENTWISE_H
#define TILEWRIGHT_CORE_ANALYSIS_ELEMENTWISE_H

#include "core/Analysis/Nest.h"

namespace tilewright {

/// Whether `op` computes element by element, and may do so on any value: constants, and operations without effects.
bool isElementwise(mlir::Operation *op);

/// Whether other operations than accesses use the number of an iteration of `loop`.
bool usesNumber(mlir::affine::AffineForOp loop);

/// Whether the body of `nest` is element by element beside its accesses, and nothing else uses numbers of iterations.
bool isElementwise(const Nest &nest);

} // namespace tilewright

#endif // TILEWRIGHT_CORE_ANALYSIS_ELEMENTWISE_H
