//===- ScratchpadContractionNest.h - A nest on cores with engines -*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The emitter of a contraction on cores with engines, in two files:
///
///   ScratchpadContractionEmitter.cpp   tiles of a core, their steps of k, products
///   ScratchpadTail.cpp                 finished tiles: slices of their rows through the tail and out
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_TRANSFORMS_CONTRACTION_SCRATCHPADCONTRACTIONNEST_H
#define TILEWRIGHT_CORE_TRANSFORMS_CONTRACTION_SCRATCHPADCONTRACTIONNEST_H

#include "core/Transforms/Contraction/ScratchpadContractionEmitter.h"
#include "core/Transforms/Utils/TileAccess.h"

namespace tilewright {

/// An array whose tiles pass through a buffer of several stages.
struct StagedArray {
  Access access; // over the dimensions of the contraction
  mlir::Type element;
  unsigned rowDim = 0, colDim = 0; // dimensions of the contraction
  int64_t rows = 1, cols = 1;      // of a tile; 1 along a dimension that the access does not have
  int64_t stages = 2;
  int64_t pitch = 0;       // elements between rows of the buffer; 0: `cols`
  mlir::Value buffer = {}; // null: the array lies in the scratchpad, and is used there
};

/// The arrays that the tail of `task` reads and writes, in the order in which emitEpilogue asks for them.
EpilogueAccesses accessesOfTail(const ContractionTask &task);

/// Writes the nest of one plan, one thing after the other. Positions are affine expressions over the indices entered so
/// far. Stages of buffers follow the steps of k, and the slices of finished tiles, through all tiles of a core.
class ScratchpadContractionNest : NestWriter {
public:
  /// `isWhole`: rows, columns and terms whose number is dynamic are multiples of the tile's, so that nothing is tested.
  ScratchpadContractionNest(mlir::OpBuilder &builder, mlir::Location loc, const ContractionTask &task,
                            const ScratchpadContractionPlan &plan, const CoreHierarchy &cores, bool isWhole)
      : NestWriter(builder, loc), task(task), c(task.contraction), p(plan), unit(*plan.unit), cores(cores),
        isWhole(isWhole) {}
  void emit();

private:
  /// The extent along m, n or k of the nest.
  mlir::AffineExpr extent(unsigned dim) const;
  /// Lets a count that is not known be one where it is less, for a core's program.
  void atLeastOne(mlir::AffineExpr &count);
  void enterTile(mlir::AffineExpr tile);
  void enterStep(mlir::AffineExpr step);
  void core(mlir::AffineExpr count);
  void step(mlir::AffineExpr tile, mlir::AffineExpr step);
  void allocate(StagedArray &tile);
  /// From the current position to the end of the arrays along m, n or k; null: all tiles are whole there.
  mlir::AffineExpr left(unsigned dim);
  /// The same in blocks of the unit's shape; null: all tiles have all of theirs.
  mlir::AffineExpr blocksLeft(unsigned dim);
  /// Copies the tile at the current position into or out of its buffer.
  mlir::Value copy(const StagedArray &tile, mlir::AffineExpr stage, bool in);
  mlir::Value product(mlir::AffineExpr tile, mlir::AffineExpr step, mlir::AffineExpr stage, mlir::AffineExpr group);
  llvm::SmallVector<mlir::Value> indicesOf(const StagedArray &operand, mlir::AffineExpr stage, mlir::AffineExpr row,
                                           mlir::AffineExpr col);
  void wait(mlir::ValueRange tokens);

  // ScratchpadTail.cpp
  void finishSlice(mlir::AffineExpr tile, mlir::AffineExpr slice);
  void finishRows(mlir::AffineExpr tile, mlir::AffineExpr slice, mlir::AffineExpr slot, mlir::AffineExpr group);
  void finishElement(mlir::AffineExpr half, mlir::AffineExpr slot, mlir::AffineExpr inTile, mlir::AffineExpr row,
                     mlir::AffineExpr col);
  void clear(llvm::ArrayRef<mlir::AffineExpr> place);

  const ContractionTask &task;
  const Contraction &c;
  const ScratchpadContractionPlan &p;
  const MatrixUnit &unit;
  const CoreHierarchy &cores;
  bool isWhole;
  StagedArray a, b; // of a step
  llvm::SmallVector<StagedArray> loads, stores;
  mlir::Value sums;
  mlir::AffineExpr number, stride; // of the core; of its tiles
  mlir::AffineExpr tilesM, tilesN, kBlocks, stepCount;
};

} // namespace tilewright

#endif // TILEWRIGHT_CORE_TRANSFORMS_CONTRACTION_SCRATCHPADCONTRACTIONNEST_H
