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

#include "mlir/Dialect/Math/IR/Math.h"

namespace tilewright {

/// Elementary functions cost an order more than arithmetic: they become a polynomial and what makes its argument small.
inline int64_t instructionsOf(mlir::Operation *op) {
  return mlir::isa_and_nonnull<mlir::math::MathDialect>(op->getDialect()) ? 16 : 1;
}

} // namespace tilewright

#endif // TILEWRIGHT_CORE_ANALYSIS_INSTRUCTIONS_H
