//===- ScaleStaging.h - Scales on their way to a unit -----------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Scales that a unit finds in a memory of the block, and the index of a sparse A, come there in three steps:
///
///   array     S[i, k / 32], or P[i, k / 2]    a launch before writes images of all tiles (core/Machine/ScaleImage.h)
///   images    one after the other             an engine copies those of a step into its stage, in lines
///   a stage   beside the tiles of A and B     the lane that issues units copies them into the memory, per group
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_COSTMODEL_COPIES_SCALESTAGING_H
#define TILEWRIGHT_CORE_COSTMODEL_COPIES_SCALESTAGING_H

#include "core/CostModel/Schedules/LaneContractionModel.h"

namespace tilewright {

/// What that takes of a block.
struct ScaleStaging {
  int64_t stageBytes = 0; // of the scratchpad, for a stage
  int64_t entries = 0;    // of the memory, for a stage of a group
  double clocks = 0;      // of the engine into the memory, for a step of all groups
};

/// Nullopt: the plan's unit finds operands in a memory of the block, but not these, or not so: sizes are dynamic, a
/// step takes no whole words of scales, or an array of images has more dimensions than `engine`, which copies tiles
/// in lines of `lineBytes`, tells apart. Nothing for other units.
std::optional<ScaleStaging> stageScales(const LaneContractionPlan &plan, const Contraction &c,
                                        const TargetDescription &chip, const CopyEngine &engine, int64_t lineBytes);

/// Seconds of the launches that write images for the plan; 0 for units that find no operands in a memory of the block.
double imageSeconds(const LaneContractionPlan &plan, const Contraction &c, const TargetDescription &chip);

} // namespace tilewright

#endif // TILEWRIGHT_CORE_COSTMODEL_COPIES_SCALESTAGING_H
