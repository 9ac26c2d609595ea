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

/// Images of one operand beside A and B: an array, and how a step's images come into a stage.
class BlockImages {
public:
  /// The buffer of `stages` stages in `memory`.
  mlir::Value allocate(mlir::OpBuilder &builder, mlir::Location loc, int64_t stages, mlir::StringRef memory) const;
  /// The copy of a step's images into stage `stage` of `buffer`, its token: from positions `free` and `k` on.
  mlir::Value copy(IterationSpace &space, mlir::Value buffer, mlir::AffineExpr free, mlir::AffineExpr k,
                   mlir::AffineExpr stage) const;

protected:
  /// Of `operand`, whose values of the type `element` the program has at `access`; lines of `line` of them.
  BlockImages(const Contraction &c, const LaneContractionPlan &plan, bool isA, const Access &access,
              const UnitOperand &operand, mlir::Type element, int64_t line, const CopyEngine &into);

  /// Of what one word of images is: loops that the program's array is indexed by, too; the block's tile, the step, the
  /// unit's rows (columns) in the tile, the image along k, which access of the image, lane and word of this access.
  struct Word {
    llvm::SmallVector<mlir::AffineExpr> outer;
    mlir::AffineExpr tile, step, unit, image, access, lane, number;
  };
  /// Makes the array and the launch in which each lane writes one of `words` words that a row of an access has.
  void fill(mlir::OpBuilder &builder, mlir::Location loc, const Contraction &c, const LaneHierarchy &hierarchy,
            int64_t words, llvm::function_ref<void(IterationSpace &, const Word &)> write);
  /// Stores `value` at `line` and `element` of the images of `word`.
  void store(IterationSpace &space, const Word &word, mlir::AffineExpr line, mlir::AffineExpr element,
             mlir::Value value) const;
  /// The fragment of the unit at position `free` of the block's tile and `k` of a step: `places` gives line and element
  /// of the image, from `element` of its rows on.
  mlir::Value loadFrom(IterationSpace &space, mlir::Value buffer, tile::FragmentType type, mlir::AffineExpr stage,
                       mlir::AffineExpr free, mlir::AffineExpr k, mlir::AffineExpr element,
                       std::pair<mlir::AffineExpr, mlir::AffineExpr> places) const;

  /// Images of a unit's rows follow each other along k, those of the next unit after them.
  int64_t imagesOfStep() const { return llvm::divideCeil(depth, image.depth); }
  int64_t linesOfImage() const { return image.bytes() / image.elementBytes / line; }
  int64_t lines() const { return tileRows / unitRows * imagesOfStep() * linesOfImage(); }

  Access access;
  mlir::Type element;
  ScaleImage image;
  bool isA;
  unsigned freeDim, kDim;
  llvm::SmallVector<unsigned> outer; // loops that the program's array is indexed by, too
  int64_t unitRows, tileRows;        // of a unit, of a block's tile, along the free dimension
  int64_t depth, line;
  int64_t rows = 0, steps = 0; // of the array
  std::string engine;
  mlir::Value array;
};

/// The images of one operand's scales.
class ScaleImages : public BlockImages {
public:
  /// Writes the array and the launch that fills it at `builder`. The plan's unit finds the scales of this operand in a
  /// memory of the block, where `into` brings them (ScaleStaging.h).
  ScaleImages(mlir::OpBuilder &builder, mlir::Location loc, const Contraction &c, const LaneContractionPlan &plan,
              bool isA, const CopyEngine &into, const LaneHierarchy &hierarchy);

  /// The scales of the unit at position `free` of the block's tile and `k` of a step.
  mlir::Value load(IterationSpace &space, mlir::Value buffer, tile::FragmentType type, mlir::AffineExpr stage,
                   mlir::AffineExpr free, mlir::AffineExpr k) const;

private:
  /// Line and element of a line for row (column) `free` of a unit and block `block` of a word.
  std::pair<mlir::AffineExpr, mlir::AffineExpr> placeOf(mlir::AffineExpr free, mlir::AffineExpr block) const;
  mlir::Value scaleAt(IterationSpace &space, llvm::ArrayRef<mlir::AffineExpr> outerAt, mlir::AffineExpr row,
                      mlir::AffineExpr block) const;

  OperandScale scale;
  int64_t unitBlock, blocks = 0; // elements along k of the unit's blocks, such blocks of the array
  bool isUnsigned;
};

} // namespace tilewright

#endif // TILEWRIGHT_CORE_TRANSFORMS_CONTRACTION_SCALEIMAGES_H
