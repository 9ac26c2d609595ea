//===- SumModel.cpp - Parts of sums that are too few ----------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The formulas of SumModel.h over the divisors of the rows, and of the length.
///
//===----------------------------------------------------------------------===//

#include "core/CostModel/Schedules/SumModel.h"
#include "core/CostModel/Machine/LaneMemories.h"
#include "core/CostModel/Schedules/Candidates.h"
#include "core/CostModel/Time/Launches.h"
#include "tilewright/MachineGraph.h"
#include "llvm/Support/MathExtras.h"
#include <algorithm>
#include <cmath>

using namespace tilewright;

llvm::json::Object SumPlan::toJSON() const {
  return llvm::json::Object{{"parts", parts}, {"clocks", clocks}, {"seconds", seconds}};
}

/// The divisor of `trips` of the fewest clocks; each part has two iterations or more.
static SumPlan fewestClocks(int64_t trips, const TargetDescription &chip, std::vector<SumPlan> *considered,
                            llvm::function_ref<double(int64_t)> clocksOf) {
  PlanSearch<SumPlan> search(considered);
  for (int64_t parts = 1; parts <= std::max<int64_t>(1, trips / 2); ++parts) {
    if (trips % parts != 0)
      continue;
    SumPlan plan;
    plan.parts = parts;
    plan.clocks = clocksOf(parts);
    plan.seconds = secondsOf(plan.clocks, chip);
    search.offer(plan);
  }
  return *search.best;
}

SumPlan tilewright::planColumnSums(const ColumnTask &task, const TargetDescription &chip,
                                   const LaneHierarchy &hierarchy, std::vector<SumPlan> *considered) {
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
  return fewestClocks(task.rows, chip, considered, [&](int64_t parts) {
    double all = clocks(double(task.rows) / parts, task.bytes, double(task.columns) * parts);
    if (parts > 1)
      all += launchClocks(chip) + clocks(parts, task.partialBytes, task.columns) +
             double(parts) * task.columns * task.partialBytes / bandwidth;
    return all;
  });
}

SumPlan tilewright::planRowSums(const RowTask &task, int64_t trips, int64_t partialBytes, const TargetDescription &chip,
                                const LaneHierarchy &hierarchy, std::vector<SumPlan> *considered) {
  if (trips <= 0)
    return {};
  return fewestClocks(trips, chip, considered, [&](int64_t parts) {
    RowTask part = task;
    part.rows *= parts;
    (task.pieces > 1 ? part.pieces : part.length) /= parts;
    double all = clocksOfRows(part, chip, hierarchy);
    if (parts > 1) {
      RowTask sums;
      sums.rows = task.rows;
      sums.length = parts;
      sums.bytes = partialBytes;
      sums.laneBytes = hierarchy.sectorBytes;
      sums.vector = 1;
      all += launchClocks(chip) + clocksOfRows(sums, chip, hierarchy);
    }
    return all;
  });
}
