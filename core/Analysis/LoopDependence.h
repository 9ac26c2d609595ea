//===- LoopDependence.h - May two loops become one? -------------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Scalar affine accesses below a loop, their indices as linear forms, and the
/// one question that fusion asks of them: do two accesses conflict in different
/// iterations of loops that are to be merged?
///
///   for p { T[4 * p + u] = .. }      u in [0, 4)
///   for q { .. = T[4 * q + v] }      v in [0, 4)
///
/// 4 (p - q) + (u - v) = 0 with |u - v| <= 3 has p = q as its only solution: the loops may be merged, and stay as
/// parallel as they were. An index that is not linear answers "they may conflict".
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_ANALYSIS_LOOPDEPENDENCE_H
#define TILEWRIGHT_CORE_ANALYSIS_LOOPDEPENDENCE_H

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include <optional>

namespace tilewright {

/// constant + sum of coefficient * value, over induction variables and symbols.
struct LinearIndex {
  int64_t constant = 0;
  llvm::SmallVector<std::pair<mlir::Value, int64_t>, 4> terms;

  int64_t coefficient(mlir::Value value) const;
  void add(mlir::Value value, int64_t factor);
};

/// One affine.load or affine.store with its indices as linear forms (nullopt where an index is not linear).
struct LinearAccess {
  mlir::Operation *op = nullptr;
  mlir::Value memref;
  bool isStore = false;
  llvm::SmallVector<std::optional<LinearIndex>, 4> indices;
};

/// The access of an affine.load or affine.store.
LinearAccess linearAccess(mlir::Operation *op);

/// All accesses below `root`, guarded reads (Guards.h) among them; nullopt if something below it touches memory in
/// another way, or is a loop that is not an affine.for from 0 in steps of 1. Where `gathered` is given, elements may be
/// read at indices that are computed (memref.load): those reads are left out, and the arrays, behind their views, are
/// added to it.
std::optional<llvm::SmallVector<LinearAccess, 0>> accessesBelow(mlir::Operation *root,
                                                                llvm::SmallVectorImpl<mlir::Value> *gathered = nullptr);

/// Whether the two loops run equally often: equal constant bounds, or one map over the same operands.
bool equalTripCounts(mlir::affine::AffineForOp a, mlir::affine::AffineForOp b);

/// What a loop touches in each of its iterations, equal accesses once: however many loops were merged into it, they are
/// few.
///
///     for i: for j in [0, 8): x[2 i + 1, j + n]     x: [2 i + [1, 1], n + [0, 7]]
class IterationAccesses {
public:
  IterationAccesses(mlir::affine::AffineForOp loop, llvm::ArrayRef<LinearAccess> accesses);
  /// Those of a loop that has no accesses but those that accessesBelow() lists, and none of them under a test; else
  /// nullopt.
  static std::optional<IterationAccesses> ofPlain(mlir::affine::AffineForOp loop);

  /// Whether iterations p of this loop and q != p of the other one may touch one element that one of them writes. Both
  /// loops run equally often, or are the same.
  bool meetInOtherIterations(const IterationAccesses &other) const;
  /// Those of a loop that is merged into this one.
  void add(const IterationAccesses &other);

private:
  /// What an index is beside `step` times that of the loop: a range by constants and loops below, and values that stay
  /// the same, by their factors.
  struct Index {
    int64_t step = 0, low = 0, high = 0;
    llvm::SmallVector<std::pair<const void *, int64_t>, 2> others;
    bool operator==(const Index &) const = default;
  };
  using Access = llvm::SmallVector<std::optional<Index>, 4>; // nullopt: nothing is known
  struct OfArray {
    llvm::SmallVector<Access, 2> reads, writes;
  };

  static std::optional<Index> indexOf(const LinearIndex &linear, mlir::affine::AffineForOp loop);
  static void insert(llvm::SmallVectorImpl<Access> &accesses, const Access &access);
  static bool meet(const Access &a, const Access &b);

  llvm::DenseMap<mlir::Value, OfArray> arrays;
};

/// Whether loop `q`, merged behind `p` iteration by iteration, keeps the meaning, and no dependence that crosses
/// iterations arises: both have plain accesses, and overlap in equal iterations alone. Needs an order of the ops
/// between them, which the caller looks after.
bool canMerge(mlir::affine::AffineForOp p, mlir::affine::AffineForOp q);

/// Whether no two iterations of `loop` depend on each other; buffers allocated inside are private. `mayGather`: reads
/// at computed indices are none of what the loop writes, too; else there are none.
bool isParallelLoop(mlir::affine::AffineForOp loop, bool mayGather = false);

/// Whether iterations of `loop`, of the nest at `root` with these accesses, touch nothing of each other's that one of
/// them writes, whatever the other loops are at: then it may stand outside of all of them. Each two accesses of an
/// array that is written have an index that moves with this loop alone, by more than they lie apart.
bool isIndependentLoop(mlir::affine::AffineForOp loop, mlir::affine::AffineForOp root,
                       llvm::ArrayRef<LinearAccess> accesses);

} // namespace tilewright

#endif // TILEWRIGHT_CORE_ANALYSIS_LOOPDEPENDENCE_H
