//===- NestModel.cpp - Iterations that a lane takes -----------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The formula of NestModel.h over all powers of two.
///
//===----------------------------------------------------------------------===//

#include "core/CostModel/Schedules/NestModel.h"
#include "core/CostModel/Explain/Stopwatch.h"
#include "core/CostModel/Machine/LaneMemories.h"
#include "core/CostModel/Machine/PassModel.h"
#include "core/CostModel/Schedules/Candidates.h"
#include "core/CostModel/Time/Launches.h"
#include "core/CostModel/Time/Overlap.h"
#include "tilewright/MachineGraph.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"
#include <algorithm>

using namespace tilewright;

llvm::json::Object NestPlan::toJSON() const {
  return llvm::json::Object{{"iterations", iterations},  {"requests", requests}, {"registers", registers},
                            {"busy_clocks", busyClocks}, {"clocks", clocks},     {"seconds", seconds}};
}

/// Registers of a lane beside what it computes with: addresses, sizes, its indices; and the fewest that lanes are
/// given.
static constexpr int64_t registersBeside = 20, fewestRegisters = 32;
/// Instructions of a lane that find its indices.
static constexpr int64_t indexInstructions = 16;
/// Part of the clocks by which plans have to differ for the model to tell them apart.
static constexpr double indistinguishable = 0.01;

NestPlan tilewright::planNest(const NestTask &task, const TargetDescription &chip, const LaneHierarchy &hierarchy,
                              std::vector<NestPlan> *considered) {
  Stopwatch stopwatch("planning");
  const auto [global, l2, file, own, shared] = LaneMemories(chip, hierarchy);
  std::vector<NestPlan> plans;
  PlanSearch<NestPlan> search(&plans);
  if (!global || !file || !own || task.rows <= 0 || task.length <= 0)
    return {};
  double latency = std::max<double>(1, global->latency), bandwidth = std::max<double>(1, global->bytesPerClock);
  double perBlock = (l2 ? l2->bytesPerClock : bandwidth) / double(hierarchy.blocks);
  // The first cache answers over the ports of the scratchpad, as wide as these.
  double port = shared ? std::max<double>(1, shared->bytesPerClock) : mostAccessBytes * double(hierarchy.lanes);
  double leastRequest = 1 / chip.number(Number::Load).value_or(1), issue = chip.number(Number::Issue).value_or(1);
  for (int64_t iterations = 1; iterations <= std::min(task.most, mostIterations); iterations *= 2) {
    if (iterations > 1 && (iterations > task.length || (!task.partial && task.length % iterations != 0)))
      break;
    NestPlan plan;
    plan.iterations = iterations;
    double bytes = 0, requestClocks = 0;
    bool scatters = false;
    for (const NestTask::Access &access : task.accesses) {
      if (access.step == 0) {
        plan.requests += 1;
        requestClocks += leastRequest;
        continue;
      }
      int64_t width = std::min({iterations, access.run, std::max<int64_t>(1, mostAccessBytes / access.bytes)}),
              requests = iterations / width;
      scatters |= access.writes && requests > 1;
      // What a subgroup's request touches: sectors, where its lanes' elements lie apart.
      int64_t touched = std::max(width * access.bytes, std::min(hierarchy.sectorBytes, iterations * access.step));
      bytes += access.again ? 0 : iterations * std::min(hierarchy.sectorBytes, access.step);
      plan.requests += requests;
      requestClocks += requests * std::max(leastRequest, hierarchy.lanes * touched / port);
    }
    if (scatters)
      break;
    plan.registers = std::max(
        fewestRegisters, registersBeside + int64_t(llvm::divideCeil(iterations * task.registerBytes, own->entryBytes)));
    if (iterations > 1 && plan.registers > own->entries)
      break;
    double lanes = double(task.rows) * llvm::divideCeil(task.length, iterations),
           subgroups = std::ceil(lanes / hierarchy.lanes), blocks = std::ceil(lanes / gridBlockLanes);
    double resident = std::max<double>(gridBlockLanes, double(file->entries / plan.registers)) * hierarchy.blocks;
    double instructions = indexInstructions + (1 + addressInstructions) * plan.requests + iterations * task.operations;
    double chain = latency + instructions / std::min(1.0, issue);
    double issuing = subgroups * instructions / (hierarchy.blocks * issue),
           requesting = subgroups * requestClocks / hierarchy.blocks;
    plan.clocks = overlapped({lanes * bytes / bandwidth,
                              std::ceil(blocks / hierarchy.blocks) * std::min<double>(gridBlockLanes, lanes) * bytes /
                                  std::max(1.0, perBlock),
                              issuing, requesting, std::max(1.0, lanes / resident) * chain}) +
                  chain;
    plan.seconds = secondsOf(plan.clocks, chip);
    plan.busyClocks = issuing + requesting;
    plan.fills = blocks >= hierarchy.blocks;
    search.offer(plan);
  }
  const NestPlan *best = &*search.best;
  for (const NestPlan &plan : plans)
    if (plan.fills && plan.clocks <= search.best->clocks * (1 + indistinguishable) &&
        plan.busyClocks < best->busyClocks)
      best = &plan;
  if (considered)
    *considered = plans;
  return *best;
}
