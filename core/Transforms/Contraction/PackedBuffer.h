//===- PackedBuffer.h - Where packed elements lie ---------------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A packed multiplicand lies in one of two forms, so that the register tile
/// reads it with unit stride:
///
///   panels   [panel][other k...][k / group][width * group]   element (k, free) at k / group, free * group + k % group
///            [panel][k / group][other k...][width * group]   the same where these run inside of k
///   rows     [panel][width][other k...][k, up to a step]     where the source has k contiguous and scalars are read
///
/// k is filled up to a multiple of what a unit reads at once. A unit that reads several groups a step finds them one
/// after the other.
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_TRANSFORMS_CONTRACTION_PACKEDBUFFER_H
#define TILEWRIGHT_CORE_TRANSFORMS_CONTRACTION_PACKEDBUFFER_H

#include "core/Transforms/Utils/TileAccess.h"

namespace tilewright {

struct PackedBuffer {
  mlir::Value memref;
  bool rows = false;                  // the second form
  int64_t group = 1;                  // elements of k that lie together
  bool tapsInside = false;            // the other reduction dimensions run inside of k, in one dimension with it
  int64_t taps = 1;                   // their positions, where they do
  mlir::AffineExpr before;            // groups of k that lie before those that are meant; null: none
  int64_t slack = 0;                  // groups of k at the end into which a copy may reach
  llvm::SmallVector<unsigned> otherK; // further reduction dimensions, each with its whole extent
  explicit operator bool() const { return bool(memref); }

  /// Allocates `memref` for `panels` panels of `width` elements of the free dimension and `paddedK` of k.
  void allocate(IterationSpace &space, mlir::Type element, mlir::AffineExpr panels, int64_t width,
                mlir::AffineExpr paddedK);

  /// The place in panel `panel` at the current position of the further reduction dimensions. In panels `outer` is a
  /// group of k and `within` counts inside it, in rows they are the row and the element of k.
  llvm::SmallVector<mlir::AffineExpr> position(const IterationSpace &space, mlir::AffineExpr panel,
                                               mlir::AffineExpr outer, mlir::AffineExpr within) const;
};

/// Loads the fragment of unit step `step` of k and free elements `offset`... of panel `panel`; the free dimension runs
/// along the fragment's columns or rows.
mlir::Value loadPacked(IterationSpace &space, const PackedBuffer &buffer, tile::FragmentType type,
                       mlir::AffineExpr panel, mlir::AffineExpr step, int64_t offset, bool freeIsColumn);

} // namespace tilewright

#endif // TILEWRIGHT_CORE_TRANSFORMS_CONTRACTION_PACKEDBUFFER_H
