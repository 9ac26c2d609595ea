//===- StencilPair.h - A stencil that reads another one ---------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===
///
/// \file
/// What fuse-halos knows and does about a stencil `second` that reads several
/// elements of what a stencil `first` wrote. It is written anew in one of two
/// forms:
///
///   fused: for y: for x: out[y, x] = g(f(y, x), .., f(y + taps - 1, x))
///
///   slid:  for y < taps - 1: for x: buffer[y, x] = f(y, x)
///          for y: for x: buffer[(y + taps - 1) mod size, x] = f(y + taps - 1, x)
///                 for x: out[y, x] = g(buffer[y mod size, x], .., buffer[(y + taps - 1) mod size, x])
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_TRANSFORMS_FUSION_STENCILPAIR_H
#define TILEWRIGHT_CORE_TRANSFORMS_FUSION_STENCILPAIR_H

#include "core/Analysis/Stencil.h"
#include "core/CostModel/Schedules/HaloModel.h"
#include "mlir/IR/IRMapping.h"

namespace tilewright {

/// Taps of one stencil at most: beyond, code grows more than memory is saved.
constexpr int64_t mostStencilPoints = 32;

class StencilPair {
public:
  StencilPair(Stencil first, Stencil second) : first(std::move(first)), second(std::move(second)) {}
  /// Of a stencil alone, for `fuse`: its sums begin in registers, and no nest sets their beginning.
  explicit StencilPair(Stencil alone) : second(std::move(alone)) {}

  /// Whether the first may be computed where it is read: nobody else needs its buffer, it may move behind what stands
  /// between, and the second reads several elements for one of its own, or, if `elementwise`, one.
  bool isLegal(bool elementwise);
  /// Times of the forms; those that cannot be written take forever.
  HaloAnswer compare(const PassModel &model, int64_t threads);
  /// Writes one nest in the place of the second, and erases both.
  void fuse();
  /// Writes the rows of the first into a circular buffer from which the second reads, and erases both nests.
  void slide();

private:
  using Element = llvm::SmallVector<mlir::AffineExpr, 4>; // indices over the loops of the new nest
  using Read = llvm::function_ref<mlir::Value(mlir::OpBuilder &, const Element &)>;

  bool isWrittenBetween(mlir::Value memref) const;
  int64_t rowsRead(int64_t rows) const;
  bool findWindow();
  mlir::Value compute(mlir::OpBuilder &b, const Stencil &stencil, const Element &element, Read readFirst);
  void clone(mlir::OpBuilder &b, const Stencil &stencil, mlir::Block &block, llvm::ArrayRef<mlir::AffineExpr> loops,
             mlir::IRMapping &mapping, mlir::Value &sum, Read readFirst);
  void cloneTest(mlir::OpBuilder &b, const Stencil &stencil, mlir::affine::AffineIfOp test,
                 llvm::ArrayRef<mlir::AffineExpr> loops, mlir::IRMapping &mapping, mlir::Value &sum, Read readFirst);
  mlir::Value read(mlir::OpBuilder &b, const Stencil &stencil, const Access &load,
                   llvm::ArrayRef<mlir::AffineExpr> loops, mlir::Value sum, Read readFirst);
  void eraseNests();

  std::optional<Stencil> first;
  Stencil second;
  int64_t operations = 0;             // of a nest in which the first is computed for one of its elements
  int64_t rowBegin = 0, rowCount = 0; // rows of the first that a row of the second reads; 0: no such window
  llvm::SmallVector<mlir::Value> ivs; // loops of the nest that is written
  llvm::SmallVector<std::pair<Element, mlir::Value>> computed;
};

} // namespace tilewright

#endif // TILEWRIGHT_CORE_TRANSFORMS_FUSION_STENCILPAIR_H
