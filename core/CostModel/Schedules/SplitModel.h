//===- SplitModel.h - Sums shared out over blocks ---------------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Whether the sum of a contraction is cut into parts that blocks of their own
/// compute (split-K), where C has too few tiles for the chip:
///
///   clocks(S) = those of the best plan for S products with k / S each (LaneContractionModel.h)
///               + S > 1: S partial results written and read again + a second launch
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_COSTMODEL_SCHEDULES_SPLITMODEL_H
#define TILEWRIGHT_CORE_COSTMODEL_SCHEDULES_SPLITMODEL_H

#include "core/CostModel/Schedules/LaneContractionModel.h"

namespace tilewright {

struct SplitPlan {
  int64_t parts = 1, tiles = 0; // tiles: blocks, those of all parts
  unsigned kDim = 0;            // that is cut
  double clocks = 0, clocksWhole = 0, seconds = 0;
  std::vector<SplitPlan> considered; // all numbers of parts, this one too
  llvm::json::Object toJSON() const;
  int64_t key() const { return parts; }
};

/// The number of parts of the fewest clocks: a divisor of k whose parts are whole steps. 1 part where a size is
/// dynamic, or no plan is found.
/// `all`: also what cannot be the best is priced, for --explain. `forced`: so many parts, if that cuts k so.
SplitPlan planSplit(LaneContractionQuestion question, const TargetDescription &chip, const LaneHierarchy &hierarchy,
                    bool all = false, std::optional<int64_t> forced = std::nullopt);

} // namespace tilewright

#endif // TILEWRIGHT_CORE_COSTMODEL_SCHEDULES_SPLITMODEL_H
