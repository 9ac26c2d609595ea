//===- PlanRanking.h - The best of the plans that were looked at -*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Which of the candidates for a contraction on lanes is taken:
///
///   1. that of the highest rank (whole sectors, no bank conflicts, addresses that stay in registers)
///   2. that with the smallest modelled time; of equal ones that which asks resources
///      for the least beside its products
///   3. where waves keep the order of the program, none with slices that is faster than
///      one without by less than the model can tell
///   4. there, and where one wave alone would leave its unit waiting, among those that
///      are slower by less than the model can tell, with no more stages or slices: that
///      with the fewest instructions beside products, if these find room between them
///
/// The model lets units run while waves issue something else. Where waves keep the
/// program's order, what stands together between two products is longer than one of
/// them, and the unit waits unless another wave has a product ready; such gaps have no
/// price. They and the energy of a launch grow with the instructions of a wave beside
/// its products.
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_COSTMODEL_SCHEDULES_PLANRANKING_H
#define TILEWRIGHT_CORE_COSTMODEL_SCHEDULES_PLANRANKING_H

#include "core/CostModel/Schedules/LaneContractionModel.h"

namespace tilewright {

/// Whether a wave's instructions beside its products find room between them, though some stand together: it keeps its
/// unit busy without another wave.
bool hasRoomBeside(const LaneContractionPlan &plan);

class PlanRanking {
public:
  /// `beside`: what the plan asks of issue slots, scratchpad and L2 for a product of two elements, clocks.
  void add(const LaneContractionPlan &plan, int rank, double beside);
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
