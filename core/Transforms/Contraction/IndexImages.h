//===- IndexImages.h - An index for a memory of the block -------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Where a unit finds the index of a sparse A in a memory of the block, a launch before the contraction packs it into
/// images (core/Machine/ScaleImage.h), which come to the unit as those of scales do (ScaleImages.h):
///
///   P[i, e]                                a byte for each kept element: its place in the low bits
///   images[tile, step, line, byte]         four places of two bits in each byte, as the layout of the index orders
///   them
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_TRANSFORMS_CONTRACTION_INDEXIMAGES_H
#define TILEWRIGHT_CORE_TRANSFORMS_CONTRACTION_INDEXIMAGES_H

#include "core/Transforms/Contraction/ScaleImages.h"

namespace tilewright {

/// The images of the index of a sparse A.
class IndexImages : public BlockImages {
public:
  /// Writes the array and the launch that fills it at `builder`. The plan's unit finds the index in a memory of the
  /// block, where `into` brings it.
  IndexImages(mlir::OpBuilder &builder, mlir::Location loc, const Contraction &c, const LaneContractionPlan &plan,
              const CopyEngine &into, const LaneHierarchy &hierarchy);

  /// The index of the unit at row `free` of the block's tile and `k` of a step; bytes of the image.
  mlir::Value load(IterationSpace &space, mlir::Value buffer, tile::FragmentType type, mlir::AffineExpr stage,
                   mlir::AffineExpr free, mlir::AffineExpr k) const;

private:
  mlir::Value placeAt(IterationSpace &space, llvm::ArrayRef<mlir::AffineExpr> outerAt, mlir::AffineExpr row,
                      mlir::AffineExpr kept) const;

  const MatrixUnit &unit;
  int64_t groups = 0; // of the array
};

} // namespace tilewright

#endif // TILEWRIGHT_CORE_TRANSFORMS_CONTRACTION_INDEXIMAGES_H
