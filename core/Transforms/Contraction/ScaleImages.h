//===- ScaleImages.h - Scales for a memory of the block ---------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Where a unit finds scales in a memory of the block, a launch before the contraction writes them in images
/// (core/Machine/ScaleImage.h), those of a block's tile and step together; an engine copies these as it copies tiles:
///
///   %p = memref.alloc : memref<4x8x4x128xf8E8M0FNU>    4 tiles of 128 rows, 8 steps of 128 elements, 4 lines
///   tile.parallel "grid", "block", "subgroup": %p[tile, step, line, byte] = %s[row, block], or 1 where there is none
///   the contraction:    tile.copy %p[tile, step, 0, 0] to %stage[%k mod 4, 0, 0] shape [4, 128]
///                       %f = tile.load %stage[%k mod 4, line of the unit, scale of the word]
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_TRANSFORMS_CONTRACTION_SCALEIMAGES_H
#define TILEWRIGHT_CORE_TRANSFORMS_CONTRACTION_SCALEIMAGES_H

#include "core/CostModel/Schedules/LaneContractionModel.h"
#include "core/Machine/ScaleImage.h"
#include "core/Transforms/Utils/TileAccess.h"

namespace tilewright {

/// The images of one operand's scales.
class ScaleImages {
public:
  /// Writes the array and the launch that fills it at `builder`. The plan's unit finds the scales of this operand in a
  /// memory of the block, where `into` brings them (ScaleStaging.h).
  ScaleImages(mlir::OpBuilder &builder, mlir::Location loc, const Contraction &c, const LaneContractionPlan &plan,
              bool isA, const CopyEngine &into, const LaneHierarchy &hierarchy);

  /// The buffer of `stages` stages in `memory`.
  mlir::Value allocate(mlir::OpBuilder &builder, mlir::Location loc, int64_t stages, mlir::StringRef memory) const;
  /// The copy of a step's images into stage `stage` of `buffer`, its token: from positions `free` and `k` on.
  mlir::Value copy(IterationSpace &space, mlir::Value buffer, mlir::AffineExpr free, mlir::AffineExpr k,
                   mlir::AffineExpr stage) const;
  /// The scales of the unit at position `free` of the block's tile and `k` of a step.
  mlir::Value load(IterationSpace &space, mlir::Value buffer, tile::FragmentType type, mlir::AffineExpr stage,
                   mlir::AffineExpr free, mlir::AffineExpr k) const;

private:
  /// Line and element of a line for row (column) `free` of a unit and block `block` of a word.
  std::pair<mlir::AffineExpr, mlir::AffineExpr> placeOf(mlir::AffineExpr free, mlir::AffineExpr block) const;
  /// Images of a unit's rows follow each other along k, those of the next unit after them.
  int64_t wordDepth() const { return unitBlock * image.blocksOfWord; }
  int64_t wordsOfStep() const { return depth / wordDepth(); }
  int64_t linesOfWord() const { return image.bytes() / image.elementBytes / line; }
  int64_t lines() const { return tileRows / unitRows * wordsOfStep() * linesOfWord(); }
  mlir::Value scaleAt(IterationSpace &space, llvm::ArrayRef<mlir::AffineExpr> outerAt, mlir::AffineExpr row,
                      mlir::AffineExpr block) const;
  void fill(mlir::OpBuilder &builder, mlir::Location loc, const Contraction &c, const LaneHierarchy &hierarchy);

  OperandScale scale;
  ScaleImage image;
  bool isA;
  unsigned freeDim, kDim;
  llvm::SmallVector<unsigned> outer; // loops that the array of scales is indexed by, too
  int64_t unitRows, tileRows;        // of a unit, of a block's tile, along the free dimension
  int64_t unitBlock, depth, line;
  int64_t rows = 0, blocks = 0, steps = 0; // of the array, blocks of the unit's size
  bool isUnsigned;
  std::string engine;
  mlir::Value array;
};

} // namespace tilewright

#endif // TILEWRIGHT_CORE_TRANSFORMS_CONTRACTION_SCALEIMAGES_H
