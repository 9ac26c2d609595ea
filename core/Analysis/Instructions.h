//===- Instructions.h - What an operation of a body costs -------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Instructions of one operation, as models count those of a body before it is lowered.
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_ANALYSIS_INSTRUCTIONS_H
#define TILEWRIGHT_CORE_ANALYSIS_INSTRUCTIONS_H

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

namespace tilewright {

/// Elementary functions cost an order more than arithmetic: they become a polynomial and what makes its argument small.
inline int64_t instructionsOf(mlir::Operation *op) {
  return mlir::isa_and_nonnull<mlir::math::MathDialect>(op->getDialect()) ? 16 : 1;
}

/// The same on a core that has no instructions for bf16: rounding to nearest even is integer arithmetic on the bits
/// (shift, and, two additions, a shift, the test for NaN and its choice), widening is a conversion and a shift.
inline int64_t coreInstructionsOf(mlir::Operation *op) {
  if (mlir::isa<mlir::arith::TruncFOp>(op) && mlir::getElementTypeOrSelf(op->getResult(0)).isBF16())
    return 8;
  if (mlir::isa<mlir::arith::ExtFOp>(op) && mlir::getElementTypeOrSelf(op->getOperand(0)).isBF16())
    return 2;
  return instructionsOf(op);
}

} // namespace tilewright

#endif // TILEWRIGHT_CORE_ANALYSIS_INSTRUCTIONS_H
