//===- SizeGroups.h - Dimensions that must be equal -------------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Dimensions of one function's arrays, and index values, in groups of equal
/// size. Two kinds of reasons make them equal:
///
///   a definition    %e = tensor.empty(%n): dimension 0 of %e is %n, whatever happens
///                   dimension 0 of tensor.collapse_shape %x [[0, 1]] is the product of the sizes of %x
///   a demand        linalg.add ins(%a, %b): must be of one size for the program to mean anything
///
///   linalg.matmul ins(%A, %B) outs(%C)      A = (s0, s1), B = (s1, s2), C = (s0, s2)
///
/// Demands are what has to be checked: when the call begins, where both sides are
/// sizes of arguments (`name-sizes`), else by the program (`check-operand-sizes`).
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_ANALYSIS_SIZEGROUPS_H
#define TILEWRIGHT_CORE_ANALYSIS_SIZEGROUPS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Interfaces/ValueBoundsOpInterface.h"
#include "llvm/ADT/EquivalenceClasses.h"
#include <map>
#include <set>
#include <vector>

namespace tilewright {

/// Dimension `second` of the array `first`; of an index value, -1.
using Dimension = std::pair<mlir::Value, int64_t>;

/// Sizes that `op` takes to be equal.
struct SizeDemand {
  mlir::Operation *op;
  Dimension a, b;
};

class SizeGroups {
public:
  explicit SizeGroups(mlir::func::FuncOp function);

  /// The representative of all dimensions that must be equal to this one.
  Dimension find(Dimension dimension) { return original(all.classes.getOrInsertLeaderValue(key(dimension))); }
  /// The constant that one of them has, if any.
  std::optional<int64_t> constantOf(Dimension dimension) { return constantOf(all, dimension); }
  /// All of them.
  llvm::SmallVector<Dimension> members(Dimension dimension) { return members(all, dimension); }

  /// The same for those that definitions alone make equal.
  Dimension findDefined(Dimension dimension) {
    return original(defined.classes.getOrInsertLeaderValue(key(dimension)));
  }
  std::optional<int64_t> constantDefined(Dimension dimension) { return constantOf(defined, dimension); }
  llvm::SmallVector<Dimension> membersDefined(Dimension dimension) { return members(defined, dimension); }

  /// Of tensors, in the order of the program; both sides in different groups of definitions.
  llvm::SmallVector<SizeDemand> demands();

private:
  /// Values have no order; their addresses do.
  using Key = std::pair<void *, int64_t>;
  struct Groups {
    llvm::EquivalenceClasses<Key> classes;
    llvm::SmallVector<std::pair<Key, int64_t>> constants;
  };
  Key key(Dimension dimension);
  Dimension original(Key key) const { return {mlir::Value::getFromOpaquePointer(key.first), key.second}; }
  std::optional<int64_t> constantOf(Groups &groups, Dimension dimension);
  llvm::SmallVector<Dimension> members(Groups &groups, Dimension dimension);

  bool areEqual(Groups &groups, Dimension a, Dimension b);
  /// Each returns whether that is news.
  bool join(Groups &groups, Dimension a, Dimension b);
  bool define(Dimension a, Dimension b);
  bool demand(mlir::Operation *op, Dimension a, Dimension b);
  /// `result` is `first` or `second`, which must be equal.
  bool defineOneOf(mlir::Operation *op, Dimension result, Dimension first, Dimension second);
  void defineAll(mlir::Value a, mlir::Value b);
  void defineSizes(mlir::Value shaped, llvm::ArrayRef<mlir::OpFoldResult> sizes);
  bool isInvariant(mlir::Operation *loop, Dimension inside);

  /// A constant times sizes, which are leaders of groups of definitions, in order.
  using Product = std::pair<int64_t, std::vector<Key>>;
  struct Products {
    std::map<Product, Dimension> values;
    std::map<Key, Product> factors; // of a leader
  };
  /// Whether products that `op` makes are equal to others.
  bool multiply(mlir::Operation *op, Products &products);

  void visit(mlir::Operation *op);
  /// What follows from other equalities. Whether something new did.
  bool conclude(mlir::Operation *op);
  bool concludeOfSides(mlir::Operation *op, mlir::Value condition, mlir::Value result, mlir::Value yes, mlir::Value no);
  bool isBroadcast(mlir::Value condition, Dimension yes, Dimension no);

  Groups all, defined;
  llvm::SmallVector<SizeDemand> demanded;
  std::set<std::tuple<mlir::Operation *, Key, Key>> known; // of `demanded`
};

/// `size` as an affine expression of the distinct sizes of `function`, whose arguments have these `shapes`; nothing
/// where it is none.
std::optional<mlir::AffineExpr> sizeOfArguments(const mlir::ValueBoundsConstraintSet::Variable &size,
                                                mlir::func::FuncOp function, llvm::ArrayRef<mlir::AffineMap> shapes);

} // namespace tilewright

#endif // TILEWRIGHT_CORE_ANALYSIS_SIZEGROUPS_H
