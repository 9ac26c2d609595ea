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

#include "core/CostModel/Schedules/PlanRanking.h"
#include "llvm/ADT/STLExtras.h"
#include <cmath>

using namespace tilewright;

/// Relative difference below which two modelled times are the same.
static constexpr double equalTime = 1e-6;
/// Relative difference that the model cannot tell: gaps between products that stand in no term of it are of this size
/// (test_clocks_of_a_wave_alone: 3 to 8% where lanes transpose one operand).
static constexpr double uncertainTime = 0.03;

/// Clocks between two instructions of one wave, and the part of its products' clocks up to which those beside them
/// find room between the products, though some stand together: it keeps its unit busy without another wave.
static constexpr double instructionClocks = 4, roomBetweenProducts = 0.25;

/// Of these clocks for each clock of the unit, a difference that no wave notices; then the plan is taken whose lanes
/// hold less, since compilers move loads ahead and hold what they load.
static constexpr double equalBeside = 0.01;

/// Clocks of a wave's instructions besides its MMA instructions, for each clock of its unit.
static double besidePerClock(const LaneContractionPlan &plan) {
  return instructionClocks * plan.instructions.beside() / (plan.instructions.products * plan.unit->issue);
}

bool tilewright::hasRoomBeside(const LaneContractionPlan &plan) { return besidePerClock(plan) <= roomBetweenProducts; }

void PlanRanking::Leader::offer(const LaneContractionPlan &offered, int offeredRank, double offeredBeside) {
  bool ties = plan && offeredRank == rank && std::abs(offered.seconds - plan->seconds) <= equalTime * plan->seconds;
  double least = ties ? std::min(offered.seconds, plan->seconds) : offered.seconds;
  bool better = ties
                    ? offeredBeside < beside && offered.stages <= plan->stages && offered.subgroupsK <= plan->subgroupsK
                : plan && offeredRank != rank ? offeredRank > rank
                                              : plan && offered.seconds < plan->seconds;
  if (!plan || better) {
    plan = offered;
    beside = offeredBeside;
    rank = offeredRank;
  }
  if (ties)
    plan->seconds = least;
}

/// Near the fastest without slices, which may be that much slower than the fastest of all.
static constexpr double nearTime = (1 + uncertainTime) * (1 + uncertainTime);

bool PlanRanking::isBeyond(double seconds, int rank, bool isSliced) const {
  auto isBehind = [&](const Leader &leader) {
    return leader.plan && (leader.rank > rank || (leader.rank == rank && seconds > nearTime * leader.plan->seconds));
  };
  return isBehind(best) && (isSliced || isBehind(whole));
}

void PlanRanking::add(const LaneContractionPlan &plan, int rank, double beside) {
  if (plan.loadsAhead && (!best.plan || plan.seconds <= nearTime * best.plan->seconds || rank > best.rank))
    near.emplace_back(plan, rank);
  best.offer(plan, rank, beside);
  if (plan.subgroupsK == 1)
    whole.offer(plan, rank, beside);
}

std::optional<LaneContractionPlan> PlanRanking::take() const {
  if (!best.plan || !best.plan->loadsAhead)
    return best.plan;
  bool isSure = !whole.plan || !whole.plan->loadsAhead || whole.rank != best.rank ||
                whole.plan->seconds > (1 + uncertainTime) * best.plan->seconds;
  const LaneContractionPlan &first = isSure ? *best.plan : *whole.plan;
  if (hasRoomBeside(first))
    return first;
  double least = std::min(roomBetweenProducts, besidePerClock(first));
  auto isNear = [&](const LaneContractionPlan &plan, int rank) {
    return rank == best.rank && plan.seconds <= (1 + uncertainTime) * first.seconds && plan.stages <= first.stages &&
           plan.subgroupsK <= first.subgroupsK;
  };
  bool found = false;
  for (const auto &[plan, rank] : near)
    if (isNear(plan, rank) && besidePerClock(plan) <= least) {
      least = besidePerClock(plan);
      found = true;
    }
  const LaneContractionPlan *taken = &first;
  if (found)
    for (const auto &[plan, rank] : near)
      if (isNear(plan, rank) && besidePerClock(plan) <= least + equalBeside &&
          (taken == &first || plan.registers < taken->registers))
        taken = &plan;
  return *taken;
}
