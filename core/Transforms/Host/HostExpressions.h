//===- HostExpressions.h - Integers that the host computes ------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Sizes, trip counts and conditions of a program on lanes as expressions of its
/// manifest (LaunchManifest.h):
///
///   %n = memref.dim %a, %c0        {"size": 0}
///   %b = arith.ceildivsi %n, %c64  ["ceildiv", {"size": 0}, 64]
///   %c = arith.cmpi slt, %i, %n    ["<", {"variable": 0}, {"size": 0}]
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_TRANSFORMS_HOST_HOSTEXPRESSIONS_H
#define TILEWRIGHT_CORE_TRANSFORMS_HOST_HOSTEXPRESSIONS_H

#include "core/Analysis/Signature.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/Support/JSON.h"

namespace tilewright {

/// Whether a value of this type can be a variable of the host: index, i1 and i64.
bool isHostType(mlir::Type type);
/// Whether the host can compute `op` from integers: sizes, and arithmetic that expressions have, on types that do not
/// wrap below 64 bits.
bool isHostArithmetic(mlir::Operation *op);

class HostExpressions {
public:
  HostExpressions(mlir::func::FuncOp function, const Signature &signature) : function(function), signature(signature) {}

  /// The expression of an integer; a failure with a diagnostic at `user` if the host cannot know it.
  mlir::FailureOr<llvm::json::Value> of(mlir::Operation *user, mlir::Value value);
  /// An affine expression over `dims` and `symbols`.
  mlir::FailureOr<llvm::json::Value> of(mlir::Operation *user, mlir::AffineExpr expr, mlir::ValueRange dims,
                                        mlir::ValueRange symbols);
  /// Extent `d` of an array.
  mlir::FailureOr<llvm::json::Value> extent(mlir::Operation *user, mlir::Value array, int64_t d);
  /// An extent of the signature.
  static llvm::json::Value ofSizes(mlir::AffineExpr expr);
  /// The argument of the signature that `array` is; null if it is none.
  const SignatureArgument *argumentOf(mlir::Value array, unsigned &index) const;
  /// Bytes of an array.
  mlir::FailureOr<llvm::json::Value> bytes(mlir::Operation *user, mlir::Value array);

  /// Makes `value` a new variable.
  int64_t declare(mlir::Value value);
  /// Makes extent `d` of `array` a new variable.
  int64_t declare(mlir::Value array, int64_t d);
  /// The variable that `value` is.
  int64_t variable(mlir::Value value) const { return variables.lookup(value); }
  int64_t numVariables() const { return count; }

private:
  mlir::func::FuncOp function;
  const Signature &signature;
  llvm::DenseMap<mlir::Value, int64_t> variables;
  llvm::DenseMap<std::pair<mlir::Value, int64_t>, int64_t> extents;
  int64_t count = 0;
};

/// [op, a, b], folded where both are numbers or one is neutral.
llvm::json::Value hostBinary(llvm::StringRef op, llvm::json::Value a, llvm::json::Value b);
/// Whether the expression follows from the sizes alone.
bool followsFromSizes(const llvm::json::Value &expression);

} // namespace tilewright

#endif // TILEWRIGHT_CORE_TRANSFORMS_HOST_HOSTEXPRESSIONS_H
