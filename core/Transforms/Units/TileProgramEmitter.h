//===- TileProgramEmitter.h - A program of rows on fragments ----*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Writes what a TileProgramPlan describes, with sequential meaning; stage 5 infers
/// barriers and shares out copies over lanes, as for single contractions.
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_TRANSFORMS_UNITS_TILEPROGRAMEMITTER_H
#define TILEWRIGHT_CORE_TRANSFORMS_UNITS_TILEPROGRAMEMITTER_H

#include "core/CostModel/Schedules/TileProgramModel.h"

namespace tilewright {

/// Replaces the body of `tile`, whose program is `program`, by fragments as `plan` says.
void emitTileProgram(tile::ParallelOp tile, const TileProgram &program, const TileProgramPlan &plan,
                     const LaneHierarchy &hierarchy);

} // namespace tilewright

#endif // TILEWRIGHT_CORE_TRANSFORMS_UNITS_TILEPROGRAMEMITTER_H
