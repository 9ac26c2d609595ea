//===- PlanRanking.cpp - The best of the plans that were looked at --------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Ties, and plans that are about as fast.
///
//===----------------------------------------------------------------------===//

#include "core/CostModel/PlanRanking.h"
#include "llvm/ADT/STLExtras.h"
#include <cmath>

using namespace tilewright;

/// Relative difference below which two modelled times are the same.
static constexpr double equalTime = 1e-6;
/// Relative difference that the model cannot tell: gaps between products that stand in no term of it are of this size
/// (test_clocks_of_a_wave_alone: 3 to 8% where lanes turn one operand).
static constexpr double uncertainTime = 0.03;

/// Clocks between two instructions of one wave, and the part of its products' clocks up to which those beside them
/// find room between the products, though some stand together: it keeps its unit busy without another wave.
static constexpr double instructionClocks = 4, roomBetweenProducts = 0.25;

/// Of these clocks for each clock of the unit, a difference that no wave notices; then the plan is taken whose lanes
/// hold less, since compilers move loads ahead and hold what they load.
static constexpr double equalBeside = 0.01;

/// Clocks of a wave's instructions beside its products, for each clock of its unit.
static double besidePerClock(const LaneContractionPlan &plan) {
  return instructionClocks * plan.instructions.beside() / (plan.instructions.products * plan.unit->issue);
}

void PlanRanking::add(const LaneContractionPlan &plan, int rank, double beside) {
  bool ties = best && rank == bestRank && std::abs(plan.seconds - best->seconds) <= equalTime * best->seconds;
  double least = ties ? std::min(plan.seconds, best->seconds) : plan.seconds;
  bool better = ties ? beside < bestBeside && plan.stages <= best->stages && plan.subgroupsK <= best->subgroupsK
                : best && rank != bestRank ? rank > bestRank
                                           : best && plan.seconds < best->seconds;
  if (plan.loadsAhead && (!best || plan.seconds <= (1 + uncertainTime) * best->seconds || rank > bestRank))
    near.emplace_back(plan, rank);
  if (!best || better) {
    best = plan;
    bestBeside = beside;
    bestRank = rank;
  }
  if (ties)
    best->seconds = least;
}

std::optional<LaneContractionPlan> PlanRanking::take() const {
  if (!best || !best->loadsAhead || besidePerClock(*best) <= roomBetweenProducts)
    return best;
  double least = std::min(roomBetweenProducts, besidePerClock(*best));
  auto isNear = [&](const LaneContractionPlan &plan, int rank) {
    return rank == bestRank && plan.seconds <= (1 + uncertainTime) * best->seconds && plan.stages <= best->stages &&
           plan.subgroupsK <= best->subgroupsK;
  };
  bool found = false;
  for (const auto &[plan, rank] : near)
    if (isNear(plan, rank) && besidePerClock(plan) <= least) {
      least = besidePerClock(plan);
      found = true;
    }
  const LaneContractionPlan *taken = &*best;
  if (found)
    for (const auto &[plan, rank] : near)
      if (isNear(plan, rank) && besidePerClock(plan) <= least + equalBeside &&
          (taken == &*best || plan.registers < taken->registers))
        taken = &plan;
  return *taken;
}
