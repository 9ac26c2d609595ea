//===- LaneGrid.h - One lane for each of some numbers -----------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The grid of passes that give each iteration a lane:
///
///   tile.parallel (%b) to (%total ceildiv 256) level "grid" {
///     tile.parallel (%s) to (8) level "block" { tile.parallel (%l) to (32) level "subgroup" {
///       %id = affine.apply (256 %b + 32 %s + %l)
///       scf.if %id < %total { body } } } }
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_TRANSFORMS_LANEGRID_H
#define TILEWRIGHT_CORE_TRANSFORMS_LANEGRID_H

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "tilewright/LaneOps.h"

namespace tilewright {

/// Lanes of a block: enough to hide latencies, few enough for any register file.
inline constexpr int64_t gridBlockLanes = 256;

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

} // namespace tilewright

#endif // TILEWRIGHT_CORE_TRANSFORMS_LANEGRID_H
