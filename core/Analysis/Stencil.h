//===- Stencil.h - Nests that compute an element from a few others --------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A stencil computes every element of one buffer from a few elements of
/// others. By its access maps it is a nest whose store names each dimension of
/// the buffer once; loops that the store does not name are taps, short sums
/// that begin at a constant:
///
///   for y: for x: t[y, x] = 0
///   for y: for x: for k < 5: t[y, x] += w[k] * image[y, x + k]
///
/// A nest without taps (t[y, x] = f(a[y, x], a[y + 1, x])) is one as well. Reads may
/// be guarded (Guards.h).
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_ANALYSIS_STENCIL_H
#define TILEWRIGHT_CORE_ANALYSIS_STENCIL_H

#include "core/Analysis/Nest.h"

namespace tilewright {

struct Stencil {
  Nest nest;
  mlir::affine::AffineForOp init;    // the nest that sets the beginning of the sums; null without taps
  mlir::TypedAttr beginning;         // of the sums; null without taps
  llvm::SmallVector<unsigned> space; // for each dimension of the buffer, the loop that indexes it
  llvm::SmallVector<unsigned> taps;  // the other loops, outermost first
  int64_t points = 1;                // iterations of the taps
  bool usesIndices = false;          // the body computes with numbers of iterations

  const Access &store() const { return nest.stores.front(); }
  mlir::Value target() const { return store().memref; }
  /// Whether neighbouring lanes read neighbouring elements of `load`, or the same one: along the innermost dimension of
  /// the result it goes in small steps.
  bool isAlongLanes(const Access &load) const;
};

/// The stencil at `root`; nothing if it is none, its sizes are not constants, it leaves out elements of its buffer, or
/// it has more than `mostPoints` taps.
std::optional<Stencil> recognizeStencil(mlir::affine::AffineForOp root, int64_t mostPoints);

} // namespace tilewright

#endif // TILEWRIGHT_CORE_ANALYSIS_STENCIL_H
