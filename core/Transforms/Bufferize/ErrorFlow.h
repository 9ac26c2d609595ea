//===- ErrorFlow.h - Which values of a program carry errors -----*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What the pass bound-errors must know before it writes anything: which scalars and arrays may differ from the exact
/// ones, and which of them are sums that may be added in any order.
///
///   %t = arith.mulf %a, %b             rounds: carries
///   %s = arith.addf %acc, %t           with %acc loaded from %A and the result stored to %A: %A holds sums
///   %c = arith.cmpf ogt, %s, %zero     of what carries: carries
///   %m = arith.maximumf %x, %zero      of inputs: exact
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_TRANSFORMS_BUFFERIZE_ERRORFLOW_H
#define TILEWRIGHT_CORE_TRANSFORMS_BUFFERIZE_ERRORFLOW_H

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"

namespace tilewright {

/// The array that a load or store accesses, its indices, and the value that it stores.
struct ArrayAccess {
  mlir::Value array, stored; // null: no access; a load
  mlir::OperandRange indices;
};
/// Of affine.load, affine.store, memref.load, memref.store.
std::optional<ArrayAccess> arrayAccess(mlir::Operation *op);

/// The array that `op` shows in another shape; null for all other operations.
mlir::Value viewedArray(mlir::Operation *op);

class ErrorFlow {
public:
  explicit ErrorFlow(mlir::ModuleOp module);

  /// Whether a scalar or the elements of an array may differ from the exact ones. Arrays that may be one are alike.
  bool carries(mlir::Value value) const;
  /// Whether a scalar that a loop hands on, or the elements of an array, are sums that grow term by term.
  bool sums(mlir::Value value) const;
  /// Whether some errors in `term`, an operand of an addition to a sum, are the same in several terms of the sum.
  bool isShared(mlir::OpOperand &term) const { return shared.contains({term.getOwner(), term.getOperandNumber()}); }
  /// Whether the compiled program may round what `op` does before it is scaled: the factor of a row goes to the sum
  /// that takes it (pass sink-factors).
  ///
  ///   %w = arith.divf %e, %rowsum    round(e / s) summed over j becomes the sum of round(e) over j, divided by s
  ///   %r = arith.truncf %w
  bool scalesLater(mlir::arith::TruncFOp op) const { return scaledLater.contains(op); }

private:
  mlir::Value leader(mlir::Value array) const;
  void unite(mlir::Value a, mlir::Value b);
  void uniteArrays(mlir::Operation *op);
  /// Results and arguments that take the values of others: f(from, to) for scalars and arrays.
  void forEachFlow(mlir::Operation *op, llvm::function_ref<void(mlir::Value, mlir::Value)> f) const;
  bool update(mlir::Operation *op);
  void findSums(mlir::ModuleOp module);
  bool reaches(mlir::Value value, llvm::function_ref<bool(mlir::Value)> isTarget) const;
  bool mark(mlir::Value value);
  bool findShared(mlir::Operation *add, mlir::Value term) const;
  bool findScaling(mlir::arith::TruncFOp op, const llvm::DenseSet<mlir::Value> &seen) const;

  mutable llvm::DenseMap<mlir::Value, mlir::Value> parents; // of arrays
  llvm::DenseSet<mlir::Value> carrying, summing;            // scalars, leaders of arrays
  llvm::DenseSet<std::pair<mlir::Operation *, unsigned>> shared;
  llvm::DenseSet<mlir::Operation *> scaledLater;
};

} // namespace tilewright

#endif // TILEWRIGHT_CORE_TRANSFORMS_BUFFERIZE_ERRORFLOW_H
