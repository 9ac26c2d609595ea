//===- SplitModel.cpp - Sums shared out over blocks -----------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The formula of SplitModel.h over all divisors.
///
//===----------------------------------------------------------------------===//

#include "core/CostModel/Schedules/SplitModel.h"
#include "core/Analysis/ElementType.h"
#include "core/CostModel/Machine/Sectors.h"
#include "core/CostModel/Schedules/Candidates.h"
#include "core/CostModel/Schedules/ContractionExtents.h"
#include "tilewright/MachineGraph.h"
#include "llvm/Support/MathExtras.h"
#include <cmath>

using namespace tilewright;

llvm::json::Object SplitPlan::toJSON() const {
  return llvm::json::Object{
      {"split_k", parts}, {"tiles", tiles}, {"clocks", clocks}, {"clocks_whole", clocksWhole}, {"seconds", seconds}};
}

SplitPlan tilewright::planSplit(LaneContractionQuestion question, const TargetDescription &chip,
                                const LaneHierarchy &hierarchy, bool all, std::optional<int64_t> forced) {
  std::vector<SplitPlan> considered;
  PlanSearch<SplitPlan> search(&considered);
  SplitPlan plan;
  const Contraction &c = question.contraction;
  const Memory *global = chip.graph().backing();
  double products = 1;
  for (std::optional<int64_t> trips : c.nest.tripCounts)
    products *= double(trips.value_or(0));
  if (products == 0 || !global)
    return plan;
  const int64_t mostParts = forced.value_or(64);
  double resultBytes = elementBytes(c.accumulator);
  for (unsigned dim = 0; dim < c.nest.depth(); ++dim)
    if (!llvm::is_contained(c.k, dim))
      resultBytes *= double(*c.nest.tripCounts[dim]);
  const double least = launchClocks(chip) +
                       leastClocks(products, hierarchy.blocks, chip, hierarchy.lanes,
                                   [&](const MatrixUnit &unit) { return takesElements(unit, c, question.freedom); });
  for (int64_t parts = 1; parts <= mostParts; ++parts) {
    if (parts > 1 && forced.value_or(parts) != parts)
      continue;
    if (parts > 1 && *c.nest.tripCounts[plan.kDim] * elementBytes(c.a.element) % (parts * hierarchy.sectorBytes) != 0)
      continue; // rows of a part begin at whole sectors
    const double moved =
        2 * parts * resultBytes / global->bytesPerClock + launchClocks(chip); // between products and sums
    if (!all && !forced && parts > 1 && least + moved >= search.best->clocks)
      continue;
    question.parts = parts;
    std::string reason;
    std::optional<LaneContractionPlan> tiles = planLaneContraction(question, chip, hierarchy, reason);
    if (!tiles && parts == 1)
      return plan;
    if (!tiles)
      continue;
    const ContractionExtents size(c, *tiles);
    if (parts > 1 && size.k % (parts * tiles->depth) != 0)
      continue;
    plan.parts = parts;
    plan.kDim = tiles->kDim;
    plan.tiles = parts * size.tiles(tiles->blockM(), tiles->blockN());
    plan.clocks = tiles->seconds * chip.clockMHz() * 1e6;
    if (parts > 1)
      plan.clocks += moved;
    else
      plan.clocksWhole = plan.clocks;
    plan.seconds = secondsOf(plan.clocks, chip);
    search.offer(plan);
  }
  const auto asked = llvm::find_if(considered, [&](const SplitPlan &each) { return each.parts == forced; });
  SplitPlan best = asked != considered.end() ? *asked : *search.best;
  best.considered = std::move(considered);
  return best;
}
