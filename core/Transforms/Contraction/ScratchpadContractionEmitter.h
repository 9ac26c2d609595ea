//===- ScratchpadContractionEmitter.h - A contraction on cores with engines ---*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Writes what a ScratchpadContractionPlan describes, one thing after the other:
///
///   tile.parallel (%core) to (4) level "core" {
///     %a, %b = tile.alloc "scratchpad"; %c = tile.alloc : memref<2 x TM x TN> "accumulator"
///     for %t = its tiles {
///       for %s = steps of k { tile.copy to stages of %a, %b; tile.wait; tile.multiply to a half of %c; tile.wait }
///       for %q = slices of its rows { tile.copy in; tile.wait; a nest of rows and columns; tile.copy out; tile.wait }
///     }
///   }
///
/// A step of more commands than the unit's queue holds is a loop of products, one of each group (`tile.groups`), and a
/// slice one of as many groups of its rows. The loops have `tile.stages`, so that pipeline-tiles lets copies, unit and
/// vectors work at a time, over the ends of tiles. Edges are extents of `valid`: zeros come in, nothing goes out.
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_TRANSFORMS_CONTRACTION_SCRATCHPADCONTRACTIONEMITTER_H
#define TILEWRIGHT_CORE_TRANSFORMS_CONTRACTION_SCRATCHPADCONTRACTIONEMITTER_H

#include "core/CostModel/Schedules/ScratchpadContractionModel.h"
#include "core/Transforms/Contraction/ContractionEmitter.h"

namespace tilewright {

/// What the epilogue of `task` does with each element, for the model.
TailShape tailShapeOf(const ContractionTask &task, const TargetDescription &chip);

/// All cores, or, where a schedule has spread the work over them already, one core with what the buffers around the
/// contraction leave of its scratchpad.
CoreShare shareOf(const Contraction &contraction, const CoreHierarchy &cores);

/// Emits the nest, or its versions, at the builder's insertion point; `task.plan` is not used.
void emitScratchpadContraction(mlir::OpBuilder &builder, mlir::Location loc, const ContractionTask &task,
                               const ScratchpadContractionPlan &plan, const CoreHierarchy &cores);

} // namespace tilewright

#endif // TILEWRIGHT_CORE_TRANSFORMS_CONTRACTION_SCRATCHPADCONTRACTIONEMITTER_H
