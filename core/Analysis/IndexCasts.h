//===- IndexCasts.h - Indices without their casts ---------------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// An index that is data has been cast from an integer: `%i = arith.index_cast %n : i32 to index`.
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_ANALYSIS_INDEXCASTS_H
#define TILEWRIGHT_CORE_ANALYSIS_INDEXCASTS_H

#include "mlir/Dialect/Arith/IR/Arith.h"

namespace tilewright {

/// `value` before casts between integers that hold every index.
inline mlir::Value withoutCasts(mlir::Value value) {
  while (auto cast = value.getDefiningOp<mlir::arith::IndexCastOp>())
    value = cast.getIn();
  return value;
}

} // namespace tilewright

#endif // TILEWRIGHT_CORE_ANALYSIS_INDEXCASTS_H
