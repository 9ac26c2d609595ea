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
#include "llvm/Support/MathExtras.h"
#include <cmath>

using namespace tilewright;

llvm::json::Object SplitPlan::toJSON() const {
  return llvm::json::Object{{"parts", parts}, {"tiles", tiles}, {"clocks", clocks}, {"clocks_whole", clocksWhole}};
}

SplitPlan tilewright::planSplit(const LaneContractionPlan &plan, const Contraction &c, const TargetDescription &chip,
                                const LaneHierarchy &hierarchy) {
  SplitPlan best;
  const Memory *global = chip.memory("global");
  for (std::optional<int64_t> trips : c.nest.tripCounts)
    if (!trips || *trips == 0)
      return best;
  if (!global)
    return best;
  auto extent = [&](unsigned dim) { return *c.nest.tripCounts[dim]; };
  int64_t outer = 1, otherK = 1, k = extent(plan.kDim);
  for (unsigned dim : plan.outer)
    outer *= extent(dim);
  for (unsigned dim : plan.otherK)
    otherK *= extent(dim);
  best.tiles =
      outer * llvm::divideCeil(extent(plan.mDim), plan.blockM()) * llvm::divideCeil(extent(plan.nDim), plan.blockN());
  double result =
      double(outer) * extent(plan.mDim) * extent(plan.nDim) * std::max(1u, c.accumulator.getIntOrFloatBitWidth() / 8);
  double atATime = double(hierarchy.blocks) * plan.blocksAtATime;
  for (int64_t parts = 1; parts <= k / plan.depth && parts <= 64; ++parts) {
    if (parts > 1 && k % (parts * plan.depth) != 0)
      continue;
    double waves = std::max(1.0, std::ceil(best.tiles * parts / atATime));
    double clocks = waves * otherK * llvm::divideCeil(k / parts, plan.depth) * plan.stepClocks;
    if (parts > 1)
      clocks += 2 * parts * result / global->bytesPerClock + launchClocks;
    if (parts == 1)
      best.clocks = best.clocksWhole = clocks;
    else if (clocks < best.clocks) {
      best.clocks = clocks;
      best.parts = parts;
    }
  }
  return best;
}
