//===- RowModel.cpp - Lanes for reductions along rows ---------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The formulas of RowModel.h over all numbers of subgroups.
///
//===----------------------------------------------------------------------===//

#include "core/CostModel/Schedules/RowModel.h"
#include "core/CostModel/Explain/Stopwatch.h"
#include "core/CostModel/Machine/GridBlock.h"
#include "core/CostModel/Machine/Sectors.h"
#include "core/CostModel/Schedules/LaneContractionModel.h"
#include "tilewright/MachineGraph.h"
#include "llvm/Support/MathExtras.h"
#include <algorithm>
#include <numeric>

using namespace tilewright;

llvm::json::Object RowPlan::toJSON() const {
  return llvm::json::Object{{"subgroups_per_row", subgroups},
                            {"rows_per_block", rows},
                            {"vector", vector},
                            {"vectors", vectors},
                            {"clocks", clocks},
                            {"seconds", seconds},
                            {"clocks_with_a_lane_a_row", lanesClocks}};
}

/// Registers that a lane of such a kernel takes, at most; of a fused row-wise reduction beside its elements.
static constexpr int64_t registersOfLane = 32;
/// Loads of one lane that are under way at a time.
static constexpr double loadsUnderWay = 4;
/// Clocks of one exchange between lanes with the combining, and of a barrier.
static double exchangeClocks(const TargetDescription &chip) { return chip.number(Number::ShuffleLatency).value_or(0); }
static double barrierClocks(const TargetDescription &chip) { return chip.number(Number::BarrierLatency).value_or(0); }

std::optional<RowPlan> tilewright::planRows(const RowTask &task, const TargetDescription &chip,
                                            const LaneHierarchy &hierarchy, std::vector<RowPlan> *considered) {
  Stopwatch stopwatch("planning");
  const Memory *global = chip.graph().backing(), *l2 = chip.graph().lastSharedCache(),
               *file = chip.graph().registerPool();
  if (!global || task.rows <= 0 || task.pieces <= 0 || task.length <= 0)
    return std::nullopt;
  double latency = std::max<double>(1, global->latency), bandwidth = std::max<double>(1, global->bytesPerClock);
  int64_t resident = file ? file->entries / registersOfLane : hierarchy.subgroups * hierarchy.lanes;
  auto waves = [&](int64_t blocks, int64_t lanes) {
    double atATime = double(hierarchy.blocks) * std::max<int64_t>(1, resident / lanes);
    return std::max(1.0, double(blocks) / atATime);
  };
  double pieces = double(task.rows) * task.pieces;

  // What a lane leaves of a sector it finds in the second cache again.
  double lanesMemory =
      pieces * task.length *
      (task.laneBytes > task.bytes ? task.laneBytes / (l2 ? l2->bytesPerClock : bandwidth) : task.bytes / bandwidth);
  double lanesClocks = std::max(lanesMemory, waves(llvm::divideCeil(task.rows, gridBlockLanes), gridBlockLanes) *
                                                 std::ceil(task.pieces * task.length / loadsUnderWay) * latency);
  std::optional<RowPlan> best;
  for (int64_t subgroups = 1; subgroups <= hierarchy.subgroups; subgroups *= 2) {
    RowPlan plan;
    plan.subgroups = subgroups;
    plan.lanesClocks = lanesClocks;
    plan.vector = task.vector;
    while (plan.vector > 1 && hierarchy.lanes * plan.vector > int64_t(llvm::PowerOf2Ceil(task.length)))
      plan.vector /= 2;
    int64_t alone = hierarchy.lanes * plan.vector * subgroups;
    while (plan.vector * plan.vectors < 8 && alone * plan.vectors * 2 <= task.length)
      plan.vectors *= 2;
    if (subgroups == 1)
      plan.rows = std::min<int64_t>({4, hierarchy.subgroups, int64_t(llvm::PowerOf2Ceil(task.rows))});
    double steps = double(task.pieces) * llvm::divideCeil(task.length, alone * plan.vectors);
    double combining = exchangeClocks(chip) * llvm::Log2_64(hierarchy.lanes);
    if (subgroups > 1)
      combining += barrierClocks(chip) + exchangeClocks(chip) * llvm::Log2_64(subgroups) + latency / 10;
    int64_t lanes = plan.rows * subgroups * hierarchy.lanes;
    plan.clocks = std::max(pieces * std::max(task.length * task.bytes, hierarchy.sectorBytes) / bandwidth,
                           waves(llvm::divideCeil(task.rows, plan.rows), lanes) * (steps * latency + combining));
    plan.seconds = plan.clocks / (chip.clockMHz() * 1e6);
    if (considered)
      considered->push_back(plan);
    if (!best || plan.clocks < best->clocks)
      best = plan;
  }
  if (!best || best->clocks >= lanesClocks)
    return std::nullopt;
  return best;
}

llvm::json::Object RowProgramPlan::toJSON() const {
  return llvm::json::Object{
      {"subgroups_per_row", subgroups},    {"rows_per_block", rows},      {"vector", vector}, {"elements", elements},
      {"blocks_at_a_time", blocksAtATime}, {"keeps_inputs", keepsInputs}, {"clocks", clocks}, {"seconds", seconds}};
}

std::optional<RowProgramPlan> tilewright::planRowProgram(const RowProgramTask &task, const TargetDescription &chip,
                                                         const LaneHierarchy &hierarchy,
                                                         std::vector<RowProgramPlan> *considered) {
  Stopwatch stopwatch("planning");
  const Memory *global = chip.graph().backing(), *l2 = chip.graph().lastSharedCache(),
               *file = chip.graph().registerPool(), *own = chip.graph().laneRegisters(),
               *shared = chip.memory(hierarchy.scratchpad);
  if (!global || !file || !own || !shared || task.rows <= 0 || task.length <= 0)
    return std::nullopt;
  double elements = double(task.rows) * task.length;
  int64_t inputBytes = std::accumulate(task.inputs.begin(), task.inputs.end(), int64_t(0)),
          betweenBytes = std::accumulate(task.between.begin(), task.between.end(), int64_t(0));
  std::optional<RowProgramPlan> best;
  auto consider = [&](int64_t subgroups, int64_t rows, bool keepsInputs) {
    RowProgramPlan plan;
    plan.subgroups = subgroups;
    plan.rows = rows;
    plan.keepsInputs = keepsInputs;
    plan.elements = llvm::PowerOf2Ceil(llvm::divideCeil(task.length, subgroups * hierarchy.lanes));
    plan.vector = std::min(task.vector, plan.elements);
    int64_t lanes = subgroups * rows * hierarchy.lanes, padded = subgroups * hierarchy.lanes * plan.elements;
    int64_t scratchpad = task.sums * llvm::alignTo(rows * subgroups * 8, scratchpadGranule);
    for (const std::vector<int64_t> *arrays : {&task.between, &task.inputs})
      for (int64_t bytes : *arrays)
        if (keepsInputs || arrays == &task.between)
          scratchpad += llvm::alignTo(rows * padded * bytes, scratchpadGranule);
    int64_t registers = registersOfLane + llvm::divideCeil(plan.elements * task.registerBytes, own->entryBytes);
    if (scratchpad > hierarchy.scratchpadBytes || registers > own->entries || lanes * registers > file->entries)
      return;
    plan.blocksAtATime = std::max<int64_t>(
        1, std::min(file->entries / (lanes * registers), scratchpad ? shared->bytes / scratchpad : file->entries));
    double waves =
        std::max(1.0, double(llvm::divideCeil(task.rows, rows)) / (double(hierarchy.blocks) * plan.blocksAtATime));
    // Every lane reads the subgroups' parts one by one and combines them.
    double exchanges = llvm::Log2_64(hierarchy.lanes), barriers = task.phases - 1;
    double accesses = double(plan.elements) / plan.vector * (task.accesses + (keepsInputs ? task.keptAccesses : 0));
    double issued = plan.elements * double(task.operations) + accesses + task.sums * (2 * exchanges + 2 * subgroups);
    double chain = global->latency + issued +
                   barriers * (exchangeClocks(chip) * exchanges + barrierClocks(chip) + shared->latency +
                               (keepsInputs || !task.againBytes ? 0
                                : l2                            ? l2->latency
                                                                : global->latency));
    double issuing = task.rows * subgroups * issued / (hierarchy.blocks * chip.number(Number::Issue).value_or(1));
    double again = keepsInputs ? 0 : elements * task.againBytes / (l2 ? l2->bytesPerClock : global->bytesPerClock);
    double inside = elements * (2 * betweenBytes + (keepsInputs ? inputBytes + task.againBytes : 0)) /
                    (double(hierarchy.blocks) * std::max<double>(1, shared->bytesPerClock));
    plan.clocks = launchClocks(chip) +
                  std::max({elements * task.bytes / global->bytesPerClock + again, inside, issuing, waves * chain}) +
                  chain;
    plan.seconds = plan.clocks / (chip.clockMHz() * 1e6);
    if (considered)
      considered->push_back(plan);
    if (!best || plan.clocks < best->clocks)
      best = plan;
  };
  for (bool keepsInputs : {true, false})
    for (int64_t subgroups = 1; subgroups <= hierarchy.subgroups; subgroups *= 2)
      for (int64_t rows = 1; rows <= (subgroups == 1 ? std::min<int64_t>(8, hierarchy.subgroups) : 1); rows *= 2)
        if ((keepsInputs || inputBytes) && (rows == 1 || (task.rowsAreKnown && task.rows % rows == 0)) &&
            (subgroups == 1 || (subgroups / 2) * hierarchy.lanes < task.length))
          consider(subgroups, rows, keepsInputs);
  if (!best || best->clocks >= task.apartClocks)
    return std::nullopt;
  return best;
}
