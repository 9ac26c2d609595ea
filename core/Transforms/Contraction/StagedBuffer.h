//===- StagedBuffer.h - An operand in the memory of a block -----*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What a block copies of an operand: a multi-stage buffer arranged as a StagedTile
/// says, the copy of one stage, and the fragments that units take of it.
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_TRANSFORMS_CONTRACTION_STAGEDBUFFER_H
#define TILEWRIGHT_CORE_TRANSFORMS_CONTRACTION_STAGEDBUFFER_H

#include "core/CostModel/Schedules/LaneContractionModel.h"
#include "core/Transforms/Utils/TileAccess.h"

namespace tilewright {

/// Where one copy stands.
struct StagedPlace {
  mlir::AffineExpr free, k, stage;            // position of the free dimension and of the sum; stage that is filled
  bool freeEnds = false, kEnds = false;       // the copy lies inside along it
  bool wholeVectors = false;                  // vectors at the end may go over the end of a row, into the next one
  mlir::AffineExpr freeLeft = {}, kLeft = {}; // elements along it that exist; null: those up to the loop's end
};

/// An operand of a contraction in a block's memory.
class StagedBuffer {
public:
  /// A stage has `free` x `depth` elements along the loops `freeDim` and `kDim`; rows of the unit's operand follow the
  /// free dimension where it `isA`. `engine`: that copies tiles; empty: lanes, or what the tile says. `packed`:
  /// elements of the unit along k in each of the array's.
  StagedBuffer(const ContractionOperand &operand, const StagedTile &tile, bool isA, unsigned freeDim, unsigned kDim,
               int64_t free, int64_t depth, mlir::StringRef engine = {}, int64_t packed = 1)
      : operand(operand), tile(tile), isA(isA), freeDim(freeDim), kDim(kDim), free(free), depth(depth), engine(engine),
        packed(packed) {}

  void allocate(mlir::OpBuilder &builder, mlir::Location loc, int64_t stages, mlir::StringRef memory);
  /// The tile lies in blocks of lines, along k where rows of k lie together, else along the free dimension; how many
  /// there are.
  bool inBlocks() const { return tile.line && (!tile.kInner || depth > tile.line); }
  int64_t blocks() const { return inBlocks() ? (tile.kInner ? depth : free) / tile.line : 1; }
  /// The copy of block `block` of one stage, its token.
  mlir::Value copy(IterationSpace &space, StagedPlace place, int64_t block = 0) const;
  /// The fragment from position `row` of the free dimension and `k` on, both inside of the stage and in elements of the
  /// array.
  mlir::Value load(IterationSpace &space, tile::FragmentType type, mlir::AffineExpr stage, mlir::AffineExpr row,
                   mlir::AffineExpr k) const;

  mlir::Value memref;

private:
  const ContractionOperand &operand;
  const StagedTile &tile;
  bool isA;
  unsigned freeDim, kDim;
  int64_t free, depth;
  mlir::StringRef engine;
  int64_t packed;
};

} // namespace tilewright

#endif // TILEWRIGHT_CORE_TRANSFORMS_CONTRACTION_STAGEDBUFFER_H
