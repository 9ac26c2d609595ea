//===- IndexValues.h - What index arithmetic gives ----------------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The numbers that integers of a launch are, where sizes and the indices of levels and
/// loops are given:
///
///   IndexValues values;
///   values.set(size, 37);  values.set(block, 1);
///   values.visit(op);          // %left = affine.apply (d0)[s0] -> (s0 - d0 * 32)
///   values.get(left)           // 5; nullopt for what follows from data
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_TRANSFORMS_HOST_INDEXVALUES_H
#define TILEWRIGHT_CORE_TRANSFORMS_HOST_INDEXVALUES_H

#include "mlir/IR/AffineMap.h"
#include "mlir/IR/Operation.h"
#include "llvm/ADT/DenseMap.h"
#include <optional>

namespace tilewright {

/// A number, or nothing where it follows from data.
using Known = std::optional<int64_t>;

/// The value of `expr`; nullopt where one of its operands is unknown, or a divisor is not positive.
Known valueOf(mlir::AffineExpr expr, llvm::ArrayRef<Known> dims, llvm::ArrayRef<Known> symbols);

class IndexValues {
public:
  void set(mlir::Value value, int64_t number) { known[value] = number; }
  void forget(mlir::Value value) { known.erase(value); }
  /// The number of an integer or index; constants have theirs without `visit`.
  Known get(mlir::Value value) const;
  /// The results of `map` over these operands, dimensions first.
  llvm::SmallVector<Known> get(mlir::AffineMap map, mlir::ValueRange operands) const;
  /// Evaluates `op` if it is arithmetic of integers; forgets its results otherwise.
  void visit(mlir::Operation &op);

private:
  Known evaluate(mlir::Operation &op) const;
  llvm::DenseMap<mlir::Value, int64_t> known;
};

/// Whether `value` is an integer or an index.
inline bool isNumber(mlir::Value value) { return value.getType().isIntOrIndex(); }

} // namespace tilewright

#endif // TILEWRIGHT_CORE_TRANSFORMS_HOST_INDEXVALUES_H
