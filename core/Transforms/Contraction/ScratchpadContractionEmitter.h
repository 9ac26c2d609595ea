//===- ScratchpadContractionEmitter.h - A contraction on cores with engines ---*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Writes what a ScratchpadContractionPlan describes, with sequential meaning:
///
///   tile.parallel (%core) to (4) level "core" {
///     %a, %b = tile.alloc "scratchpad"; %c = tile.alloc : memref<2 x TM x TN> "accumulator"
///     for %t = its tiles { for %s = steps of k {
///       tile.wait copies of this step;  %u = tile.multiply stage of %a, %b to half of %c
///       tile.wait the unit's work of the step before;  tile.copy a later step into its stage
///       if a tile is finished { a slice of its rows: tile.load %c, tile.map, tile.store; tile.copy out }
///     } }
///     the last tile's slices
///   }
///
/// Copies of `stages` - 1 steps are under way, over the ends of tiles; the epilogue of a tile runs under the next
/// tile's products. Edges are extents of `valid`: zeros come in, nothing goes out.
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_TRANSFORMS_CONTRACTION_SCRATCHPADCONTRACTIONEMITTER_H
#define TILEWRIGHT_CORE_TRANSFORMS_CONTRACTION_SCRATCHPADCONTRACTIONEMITTER_H

#include "core/CostModel/Schedules/ScratchpadContractionModel.h"
#include "core/Transforms/Contraction/ContractionEmitter.h"

namespace tilewright {

/// What the epilogue of `task` does with each element, for the model.
TailShape tailShapeOf(const ContractionTask &task, const CoreHierarchy &cores, const TargetDescription &chip);

/// All cores, or, where a schedule has spread the work over them already, one core with what the buffers around the
/// contraction leave of its scratchpad.
CoreShare shareOf(const Contraction &contraction, const CoreHierarchy &cores);

/// Emits the nest at the builder's insertion point; `task.plan` is not used.
void emitScratchpadContraction(mlir::OpBuilder &builder, mlir::Location loc, const ContractionTask &task,
                               const ScratchpadContractionPlan &plan, const CoreHierarchy &cores);

} // namespace tilewright

#endif // TILEWRIGHT_CORE_TRANSFORMS_CONTRACTION_SCRATCHPADCONTRACTIONEMITTER_H
