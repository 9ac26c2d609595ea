//===- SharedValues.h - Equal operations of a block are one -----*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Operations without effects, of which equal ones of one block are written once; affine maps as such operations.
///
///     m[i floordiv 8, i mod 8]         %q = i floordiv 8 ; %r = i mod 8
///     m[i floordiv 8 + 1, i mod 8]     %n = %q + 1                          instead of six operations more
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_TRANSFORMS_UTILS_SHAREDVALUES_H
#define TILEWRIGHT_CORE_TRANSFORMS_UTILS_SHAREDVALUES_H

#include "mlir/IR/AffineMap.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/DenseMap.h"

namespace tilewright {

/// Values that were written before. Within a block operations have to be written from its start to its end, as a
/// conversion does it: what was written before then dominates what comes after.
class SharedValues {
public:
  /// What tells an operation from others: its kind, and its operands or what it has as constants.
  struct Key {
    const void *kind, *first = nullptr, *second = nullptr, *third = nullptr;
  };

  /// What `write` writes at the place of `builder`, or what it wrote there for an equal `key` before.
  mlir::Value once(mlir::OpBuilder &builder, Key key, llvm::function_ref<mlir::Value()> write);

  /// The results of `map` of `operands`, as index values at the place of `builder`.
  llvm::SmallVector<mlir::Value> of(mlir::OpBuilder &builder, mlir::Location loc, mlir::AffineMap map,
                                    mlir::ValueRange operands);
  mlir::Value of(mlir::OpBuilder &builder, mlir::Location loc, mlir::AffineExpr expr, mlir::ValueRange dims,
                 mlir::ValueRange symbols);
  /// The simplest form of `expr`, looked for once: accesses of an unrolled loop have few indices.
  mlir::AffineExpr simplified(mlir::AffineExpr expr, unsigned dims, unsigned symbols);

private:
  llvm::DenseMap<std::tuple<mlir::Block *, const void *, const void *, const void *, const void *>, mlir::Value> known;
  llvm::DenseMap<std::tuple<mlir::AffineExpr, unsigned, unsigned>, mlir::AffineExpr> simpleForms;
};

} // namespace tilewright

#endif // TILEWRIGHT_CORE_TRANSFORMS_UTILS_SHAREDVALUES_H
