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

#include "core/CostModel/SplitModel.h"
#include "core/Analysis/ElementType.h"
#include "core/CostModel/ContractionExtents.h"
#include "llvm/Support/MathExtras.h"
#include <cmath>

using namespace tilewright;

llvm::json::Object SplitPlan::toJSON() const {
  return llvm::json::Object{
      {"parts", parts}, {"tiles", tiles}, {"clocks", clocks}, {"clocks_whole", clocksWhole}, {"seconds", seconds}};
}

SplitPlan tilewright::planSplit(const LaneContractionPlan &tiles, const Contraction &c, const TargetDescription &chip,
                                const LaneHierarchy &hierarchy) {
  SplitPlan best;
  const Memory *global = chip.memory("global");
  for (std::optional<int64_t> trips : c.nest.tripCounts)
    if (!trips || *trips == 0)
      return best;
  if (!global)
    return best;
  const auto [m, n, k, outer, otherK] = ContractionExtents(c, tiles);
  best.tiles = outer * llvm::divideCeil(m, tiles.blockM()) * llvm::divideCeil(n, tiles.blockN());
  double result = double(outer) * m * n * elementBytes(c.accumulator);
  double atATime = double(hierarchy.blocks) * tiles.blocksAtATime;
  std::vector<SplitPlan> considered;
  for (int64_t parts = 1; parts <= k / tiles.depth && parts <= 64; ++parts) {
    if (parts > 1 && k % (parts * tiles.depth) != 0)
      continue;
    double waves = std::max(1.0, std::ceil(best.tiles * parts / atATime));
    double clocks = waves * otherK * llvm::divideCeil(k / parts, tiles.depth) * tiles.stepClocks;
    if (parts > 1)
      clocks += 2 * parts * result / global->bytesPerClock + launchClocks;
    if (parts == 1)
      best.clocksWhole = clocks;
    SplitPlan plan = best;
    plan.parts = parts;
    plan.clocks = clocks;
    plan.seconds = clocks / (chip.clockMHz() * 1e6);
    considered.push_back(plan);
    if (parts == 1 || clocks < best.clocks)
      best = plan;
  }
  best.considered = std::move(considered);
  return best;
}
