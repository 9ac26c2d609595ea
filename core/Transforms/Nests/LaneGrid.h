//===- LaneGrid.h - One lane for each of some numbers -----------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Grids that devices can start, and the grid of passes that give each iteration a lane:
///
///   tile.parallel (%b) to (%total ceildiv 256) level "grid" {
///     tile.parallel (%s) to (8) level "block" { tile.parallel (%l) to (32) level "subgroup" {
///       %id = affine.apply (256 %b + 32 %s + %l)
///       scf.if %id < %total { body } } } }
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_TRANSFORMS_NESTS_LANEGRID_H
#define TILEWRIGHT_CORE_TRANSFORMS_NESTS_LANEGRID_H

#include "core/CostModel/Machine/LaneMemories.h"
#include "dialects/Tile/TileDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "tilewright/LaneOps.h"

namespace tilewright {

/// A space that lanes count through: its extents (index), and its dimensions in their order, the fastest last.
struct LaneSpace {
  mlir::ValueRange extents;
  llvm::ArrayRef<unsigned> order;

  /// The indices that number `id` has, one for each extent.
  llvm::SmallVector<mlir::Value> indices(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value id) const;
};

/// Writes that grid at the builder's place. `body` is called once, to write what the lane of number `id` (index, below
/// `total`) does; `indices` are those of `id` in `space`. Returns the branch around it.
mlir::scf::IfOp
laneGrid(mlir::OpBuilder &builder, mlir::Location loc, const LaneHierarchy &hierarchy, mlir::Value total,
         LaneSpace space,
         llvm::function_ref<void(mlir::OpBuilder &, mlir::Value id, llvm::ArrayRef<mlir::Value> indices)> body);

/// Gives `grid` the dimensions that devices can start. They have 2^31 - 1 blocks along the fastest dimension, the last
/// one, but only 65535 along each of the two others (core/Runtime/C/Limits.h). From the outermost of these on that is,
/// or for some sizes of a call may be, longer, all become one dimension, in which the blocks have the same order; each
/// finds its numbers by division:
///
///   tile.parallel (%o, %m, %n) to (%batch, 4, 2) level "grid" {  // %batch: dynamic
///
///   tile.parallel (%b) to (%batch * 8) level "grid" {
///     %n = %b mod 2, %m = (%b / 2) mod 4, %o = %b / 8            // of 32 bits, as the numbers of blocks are
///
/// Returns the new grid, or `grid` as it was. Failure with a diagnostic where the last dimension is constant and longer
/// than devices have; one that sizes make so is refused by the runtime.
mlir::FailureOr<tile::ParallelOp> fitGrid(tile::ParallelOp grid, const LaneHierarchy &hierarchy);

} // namespace tilewright

#endif // TILEWRIGHT_CORE_TRANSFORMS_NESTS_LANEGRID_H
