//===- IterationSpace.h - Loops and positions while emitting ----*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What an emitter of affine loops keeps: the loops entered so far are the
/// dimensions of all its expressions, dynamic sizes the symbols, and `at[d]` is
/// the current position in dimension d of the nest that is rewritten.
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_TRANSFORMS_UTILS_ITERATIONSPACE_H
#define TILEWRIGHT_CORE_TRANSFORMS_UTILS_ITERATIONSPACE_H

#include "core/Analysis/Nest.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"

namespace tilewright {

/// On a loop over groups of an iteration with pipeline stages, from map-contractions to pipeline-tiles: the group after
/// which copies of later iterations are commanded.
inline constexpr llvm::StringLiteral groupsAttr = "tile.groups";

/// Alignment of private buffers, in bytes: a cache line or the widest vector, whichever is larger on any chip so far.
inline constexpr int64_t bufferAlignment = 64;

/// Makes dimensions of those symbols of `map` whose values no affine scope allows as symbols, such as variables of
/// loops around a nest.
void demoteSymbols(mlir::AffineMap &map, llvm::SmallVectorImpl<mlir::Value> &operands);

class IterationSpace {
public:
  IterationSpace(mlir::OpBuilder &builder, mlir::Location loc);

  /// Appends dimensions that run like `loops`; `values`: what operands of their bounds have become.
  void addDimensions(llvm::ArrayRef<mlir::affine::AffineForOp> loops, const mlir::IRMapping &values = {});
  mlir::AffineExpr extent(unsigned dim) const { return extents[dim]; }

  /// A value that holds for the whole nest as an expression; call it outside of all loops.
  mlir::AffineExpr define(mlir::Value value);

  /// Moves to `position` in dimension `inner`, which goes on in those of `outer`, innermost first, where it ends.
  void moveTo(mlir::AffineExpr position, unsigned inner, llvm::ArrayRef<unsigned> outer);
  /// Moves to iteration `position` of the loops `dims`, the last of which runs fastest; none: stays.
  void moveTo(mlir::AffineExpr position, llvm::ArrayRef<unsigned> dims);

  /// A loop from `begin` to the smallest of `ends`; none for one iteration or for no iteration of constant bounds.
  void loop(mlir::AffineExpr begin, llvm::ArrayRef<mlir::AffineExpr> ends,
            llvm::function_ref<void(mlir::AffineExpr)> body);
  /// The same with loop-carried values.
  llvm::SmallVector<mlir::Value>
  reduce(mlir::AffineExpr begin, mlir::AffineExpr end, mlir::ValueRange init,
         llvm::function_ref<llvm::SmallVector<mlir::Value>(mlir::AffineExpr, mlir::ValueRange)> body);
  /// A loop from 0 to `end`, also of one iteration, whose buffers have `stages` pipeline stages: pipeline-tiles takes
  /// it apart.
  void staged(mlir::AffineExpr end, int64_t stages, llvm::function_ref<void(mlir::AffineExpr)> body);
  /// A loop from 0 to `count`, of at least two iterations, over the groups that an iteration of a staged loop falls
  /// into: pipeline-tiles lets groups of two such loops alternate. What the first iterations copy for later ones is
  /// commanded after group `copiesAfter`.
  llvm::SmallVector<mlir::Value>
  grouped(int64_t count, int64_t copiesAfter, mlir::ValueRange init,
          llvm::function_ref<llvm::SmallVector<mlir::Value>(mlir::AffineExpr, mlir::ValueRange)> body);
  /// A loop whose iterations run on different cores; buffers that are allocated inside are private.
  void parallel(int64_t count, llvm::function_ref<void(mlir::AffineExpr)> body);

  /// A tile.parallel of level `level`.
  void parallel(llvm::ArrayRef<mlir::AffineExpr> bounds, llvm::StringRef level,
                llvm::function_ref<void(llvm::ArrayRef<mlir::AffineExpr>)> body);

  /// Map and operands of `access` at the current position; its index `result` is `offset` larger, unless that is null.
  std::pair<mlir::AffineMap, llvm::SmallVector<mlir::Value>> address(const Access &access, unsigned result = 0,
                                                                     mlir::AffineExpr offset = {}) const;
  /// Map and operands that yield `results`.
  std::pair<mlir::AffineMap, llvm::SmallVector<mlir::Value>> map(llvm::ArrayRef<mlir::AffineExpr> results) const;
  /// The value of one expression.
  mlir::Value value(mlir::AffineExpr expr);
  /// (rows, cols) that exist, for a tile access.
  mlir::AffineMapAttr validAttr(mlir::AffineExpr rows, mlir::AffineExpr cols,
                                llvm::SmallVectorImpl<mlir::Value> &operands);
  /// A buffer at the top of the kernel, or of the parallel body; null extents are not allowed.
  mlir::Value allocate(llvm::ArrayRef<mlir::AffineExpr> shape, mlir::Type element);

  mlir::OpBuilder &builder;
  mlir::Location loc;
  llvm::SmallVector<mlir::AffineExpr> at;

private:
  llvm::SmallVector<mlir::Value> operands() const;
  /// The values that `expr` takes over the iterations of the parallel loops around it, the largest alone where all are
  /// constant: a private buffer has one size, known outside, so that it can lie in the arena.
  llvm::SmallVector<mlir::AffineExpr> overParallel(mlir::AffineExpr expr) const;

  llvm::SmallVector<mlir::Value> ivs, sizes;
  llvm::SmallVector<mlir::AffineExpr> extents;
  mlir::Block *allocationBlock;
  mlir::Operation *allocateAfter = nullptr; // null: at the start of the block
};

} // namespace tilewright

#endif // TILEWRIGHT_CORE_TRANSFORMS_UTILS_ITERATIONSPACE_H
