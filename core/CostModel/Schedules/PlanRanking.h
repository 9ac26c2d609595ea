//===- PlanRanking.h - The best of the plans that were looked at -*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Which of the candidates for a contraction on lanes is taken (docs/simt/criteria.md):
///
///   1. that of the highest rank (whole sectors, no bank conflicts, addresses that stay in registers)
///   2. that with the smallest modelled time; of equal ones that which asks resources for the least per multiply-add
///   3. on targets with in-order issue, intra-block split-K only where it wins by more than the model's accuracy
///   4. there, of plans within that accuracy with no more stages and subgroups along k: that with the least issue
///      overhead, if the fastest one's is above the limit
///
///   issue overhead = clocks of a step's non-MMA instructions / clocks of its MMA instructions
///
/// The model lets units run while a subgroup issues something else. With in-order issue, what stands together between
/// two MMA instructions is longer than one of them, and the unit idles unless another subgroup has work for it. Such
/// gaps have no price. They and the energy of a launch grow with the issue overhead.
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_COSTMODEL_SCHEDULES_PLANRANKING_H
#define TILEWRIGHT_CORE_COSTMODEL_SCHEDULES_PLANRANKING_H

#include "core/CostModel/Schedules/LaneContractionModel.h"

namespace tilewright {

/// Whether a subgroup's non-MMA instructions find room between its MMA instructions, though some stand together: it
/// keeps its unit busy without another subgroup.
bool hasRoomBeside(const LaneContractionPlan &plan);

class PlanRanking {
public:
  /// `beside`: what the plan asks of issue slots, scratchpad and L2 for a product of two elements, clocks.
  void add(const LaneContractionPlan &plan, int rank, double beside);
  /// Whether no plan of `rank` is taken that needs at least so many seconds, given those that were added: a bound for
  /// plans that need not be priced. `isSliced`: it has slices.
  bool isBeyond(double seconds, int rank, bool isSliced) const;
  /// The one that is taken; nullopt if none was added.
  std::optional<LaneContractionPlan> take() const;

private:
  /// The first by rules 1 and 2 of those that were offered.
  struct Leader {
    std::optional<LaneContractionPlan> plan;
    double beside = 0;
    int rank = 0;
    void offer(const LaneContractionPlan &offered, int offeredRank, double offeredBeside);
  };
  Leader best, whole;                                             // of all; of those without slices
  llvm::SmallVector<std::pair<LaneContractionPlan, int>, 0> near; // with their ranks, of about the best's time
};

} // namespace tilewright

#endif // TILEWRIGHT_CORE_COSTMODEL_SCHEDULES_PLANRANKING_H
