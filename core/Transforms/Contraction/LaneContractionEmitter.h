//===- LaneContractionEmitter.h - A contraction on lanes --------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Writes what a LaneContractionPlan describes, with sequential meaning:
///
///   tile.parallel (%o, %m, %n) level "grid" {            // one block tile of C
///     %a, %b = tile.alloc                                // multi-stage buffers
///     tile.parallel (%i, %j) level "block" {             // one subgroup tile
///       %acc.. = affine.for %k iter_args(..) {           // fragments stay in registers
///         tile.wait; tile.copy next stages; tile.load; tile.mma ..
///       }
///       tile.map epilogue; tile.store
///     }
///   }
///
/// The copies do not depend on the subgroup: each executes them in sequential meaning, all share them out on the chip.
/// With units of a group and an engine that copies tiles, the loop is as plain as the meaning, and stage 5 makes roles
/// of it (LaneRings.h); the blocks take one tile of C after the other:
///
///   tile.parallel (%w) to (blocks) level "grid" {
///     %a, %b = tile.alloc
///     affine.for %j {                                    // tile %w + %j blocks
///       tile.parallel (%i) level "block" {               // one group
///         affine.for %k { tile.copy -> stage %k mod S; tile.wait; tile.load; tile.mma .. }
///
/// A level "cluster" inside the grid tells blocks that are one below the other and read the same tiles of B.
///
/// Edges are extents of `valid`: zeros come in, nothing goes out.
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_TRANSFORMS_CONTRACTION_LANECONTRACTIONEMITTER_H
#define TILEWRIGHT_CORE_TRANSFORMS_CONTRACTION_LANECONTRACTIONEMITTER_H

#include "core/CostModel/Schedules/LaneContractionModel.h"
#include "core/Transforms/Contraction/ContractionEmitter.h"

namespace tilewright {

/// Emits the nest at the builder's insertion point; `task.plan` is not used. `engine`: copies are asynchronous.
void emitLaneContraction(mlir::OpBuilder &builder, mlir::Location loc, const ContractionTask &task,
                         const LaneContractionPlan &plan, const LaneHierarchy &hierarchy, bool engine);

} // namespace tilewright

#endif // TILEWRIGHT_CORE_TRANSFORMS_CONTRACTION_LANECONTRACTIONEMITTER_H
