//===- SharedSubscripts.h - Subscripts that share their terms ---*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Affine maps as operations, where equal terms of one block are one operation.
///
///     m[i floordiv 8, i mod 8]         %q = i floordiv 8 ; %r = i mod 8
///     m[i floordiv 8 + 1, i mod 8]     %n = %q + 1                          instead of six operations more
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_TRANSFORMS_LOWER_VECTORS_SHAREDSUBSCRIPTS_H
#define TILEWRIGHT_CORE_TRANSFORMS_LOWER_VECTORS_SHAREDSUBSCRIPTS_H

#include "mlir/IR/AffineMap.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/DenseMap.h"

namespace tilewright {

/// Terms that were written before. Within a block operations have to be written from its start to its end, as a
/// conversion does it: what was written before then dominates what comes after.
class SharedSubscripts {
public:
  /// The results of `map` of `operands`, as index values at the place of `builder`.
  llvm::SmallVector<mlir::Value> of(mlir::OpBuilder &builder, mlir::Location loc, mlir::AffineMap map,
                                    mlir::ValueRange operands);

private:
  mlir::Value of(mlir::OpBuilder &builder, mlir::Location loc, mlir::AffineExpr expr, mlir::ValueRange dims,
                 mlir::ValueRange symbols);

  /// By block, kind of expression and its terms: values, or an expression that is constant.
  llvm::DenseMap<std::tuple<mlir::Block *, unsigned, const void *, const void *>, mlir::Value> known;
};

} // namespace tilewright

#endif // TILEWRIGHT_CORE_TRANSFORMS_LOWER_VECTORS_SHAREDSUBSCRIPTS_H
