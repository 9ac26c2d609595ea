//===- ColumnModel.cpp - Lanes for sums of columns ------------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The formula of ColumnModel.h over the divisors of the rows.
///
//===----------------------------------------------------------------------===//

#include "core/CostModel/Schedules/ColumnModel.h"
#include "core/CostModel/Explain/WorkCounter.h"
#include "core/CostModel/Machine/GridBlock.h"
#include "core/CostModel/Schedules/LaneContractionModel.h"
#include "tilewright/MachineGraph.h"
#include "llvm/Support/MathExtras.h"
#include <algorithm>
#include <cmath>

using namespace tilewright;

llvm::json::Object ColumnPlan::toJSON() const {
  return llvm::json::Object{{"parts", parts}, {"clocks", clocks}, {"seconds", seconds}};
}

/// Loads of one lane that are under way at a time, as in RowModel.cpp.
static constexpr double loadsUnderWay = 4;

ColumnPlan tilewright::planColumns(const ColumnTask &task, const TargetDescription &chip,
                                   const LaneHierarchy &hierarchy, std::vector<ColumnPlan> *considered) {
  const Memory *global = chip.graph().backing();
  if (!global || task.rows <= 0 || task.columns <= 0)
    return {};
  double latency = std::max<double>(1, global->latency), bandwidth = std::max<double>(1, global->bytesPerClock);
  double atATime =
      double(hierarchy.blocks) * std::max<int64_t>(1, hierarchy.subgroups * hierarchy.lanes / gridBlockLanes);
  auto clocks = [&](double rows, double bytes, double lanes) {
    double waves = std::max(1.0, std::ceil(lanes / gridBlockLanes) / atATime);
    return std::max(rows * lanes * bytes / bandwidth, waves * std::ceil(rows / loadsUnderWay) * latency);
  };
  ColumnPlan best;
  for (int64_t parts = 1; parts <= task.rows / 2; ++parts) {
    if (task.rows % parts != 0)
      continue;
    countWork("candidates", 1);
    ColumnPlan plan;
    plan.parts = parts;
    plan.clocks = clocks(double(task.rows) / parts, task.bytes, double(task.columns) * parts);
    if (parts > 1)
      plan.clocks += launchClocks(chip) + clocks(parts, task.partialBytes, task.columns) +
                     double(parts) * task.columns * task.partialBytes / bandwidth;
    plan.seconds = plan.clocks / (chip.clockMHz() * 1e6);
    if (considered)
      considered->push_back(plan);
    if (best.clocks == 0 || plan.clocks < best.clocks)
      best = plan;
  }
  return best;
}
