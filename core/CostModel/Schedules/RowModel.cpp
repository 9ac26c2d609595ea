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
#include "core/Analysis/ElementType.h"
#include "core/CostModel/Explain/Stopwatch.h"
#include "core/CostModel/Machine/AssumedSizes.h"
#include "core/CostModel/Machine/LaneMemories.h"
#include "core/CostModel/Schedules/Candidates.h"
#include "core/CostModel/Time/Launches.h"
#include "tilewright/MachineGraph.h"
#include "llvm/Support/MathExtras.h"
#include <algorithm>
#include <cmath>
#include <numeric>

using namespace mlir;
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

RowTask tilewright::rowTaskOf(const RowReduction &rows, int64_t sectorBytes) {
  RowTask task;
  task.length = rows.nest.tripCounts[rows.lane].value_or(assumedRowExtent);
  for (unsigned dim : rows.outer)
    task.rows *= rows.nest.tripCounts[dim].value_or(assumedRowExtent);
  for (unsigned dim : rows.inner)
    task.pieces *= rows.nest.tripCounts[dim].value_or(assumedRowExtent);
  // Lanes that have a row each run along the dimension in which they move least.
  task.laneBytes = std::numeric_limits<int64_t>::max();
  for (unsigned dim : rows.outer) {
    int64_t bytes = 0, trips = rows.nest.tripCounts[dim].value_or(assumedRowExtent);
    for (const Access &load : rows.nest.loads) {
      int64_t element = elementBytes(elementOf(load.memref));
      std::optional<int64_t> stride = load.stride(dim);
      if (!rows.sumOf(load.op))
        bytes += !stride ? sectorBytes
                         : std::clamp(std::abs(*stride) * element,
                                      *stride ? sectorBytes / std::max<int64_t>(1, trips) : 0, sectorBytes);
    }
    task.laneBytes = std::min(task.laneBytes, bytes);
  }
  for (const Access &load : rows.nest.loads) {
    if (load.stride(rows.lane) != 1)
      continue;
    auto type = cast<MemRefType>(load.memref.getType());
    int64_t bytes = elementBytes(type.getElementType());
    task.bytes += bytes;
    task.vector = std::min(task.vector, 16 / bytes);
    // Rows whose pitch is no multiple of the vector have unaligned beginnings.
    bool checked = type.getRank() > 1 && type.isDynamicDim(type.getRank() - 1);
    while (task.vector > 1 && !checked && type.getRank() > 1 && type.getShape().back() % task.vector != 0)
      task.vector /= 2;
    for (unsigned dim = 0; dim < rows.nest.depth(); ++dim)
      while (dim != rows.lane && task.vector > 1 && load.stride(dim).value_or(0) % task.vector != 0)
        task.vector /= 2;
  }
  return task;
}

/// Registers that a lane of such a kernel takes, at most; of a fused row-wise reduction beside its elements.
static constexpr int64_t registersOfKernel = 32;
/// Elements of a lane in one segment of a row, where a row comes in several, or twice as many: two or four vectors of
/// f32.
static constexpr int64_t segmentElements = 8;
/// How much longer rows in segments take than the model says, beside whole rows, which are one run of memory: the
/// median of six measured (docs/simt/row-reductions.md).
static constexpr double segmentsTake = 1.25;
/// Clocks of one exchange between lanes with the combining, and of a barrier.
static double exchangeClocks(const TargetDescription &chip) { return chip.number(Number::ShuffleLatency).value_or(0); }
static double barrierClocks(const TargetDescription &chip) { return chip.number(Number::BarrierLatency).value_or(0); }

/// The plan of the fewest clocks with subgroups for each row; nullopt where the chip's rates are not known.
static std::optional<RowPlan> bestOfSubgroups(const RowTask &task, const TargetDescription &chip,
                                              const LaneHierarchy &hierarchy, std::vector<RowPlan> *considered) {
  Stopwatch stopwatch("planning");
  const auto [global, l2, file, own, shared] = LaneMemories(chip, hierarchy);
  if (!global || task.rows <= 0 || task.pieces <= 0 || task.length <= 0)
    return std::nullopt;
  double latency = std::max<double>(1, global->latency), bandwidth = std::max<double>(1, global->bytesPerClock);
  int64_t resident = file ? file->entries / registersOfKernel : hierarchy.subgroups * hierarchy.lanes;
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
  PlanSearch<RowPlan> search(considered);
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
    plan.seconds = secondsOf(plan.clocks, chip);
    search.offer(plan);
  }
  return search.best;
}

std::optional<RowPlan> tilewright::planRows(const RowTask &task, const TargetDescription &chip,
                                            const LaneHierarchy &hierarchy, std::vector<RowPlan> *considered) {
  std::optional<RowPlan> best = bestOfSubgroups(task, chip, hierarchy, considered);
  return best && best->clocks < best->lanesClocks ? best : std::nullopt;
}

double tilewright::clocksOfRows(const RowTask &task, const TargetDescription &chip, const LaneHierarchy &hierarchy) {
  std::optional<RowPlan> best = bestOfSubgroups(task, chip, hierarchy, nullptr);
  return best ? std::min(best->clocks, best->lanesClocks) : 0;
}

llvm::json::Object RowProgramPlan::toJSON() const {
  return llvm::json::Object{{"subgroups_per_row", subgroups},
                            {"rows_per_block", rows},
                            {"vector", vector},
                            {"elements", elements},
                            {"segments", segments},
                            {"blocks_at_a_time", blocksAtATime},
                            {"keeps_inputs", keepsInputs},
                            {"computes_again", computesAgain},
                            {"clocks", clocks},
                            {"seconds", seconds}};
}

/// Clocks of a multiprocessor for each instruction of a subgroup whose code is so long and has no loops: beyond the
/// cache beside the issue port, instructions are fetched.
static double clocksOfInstruction(const TargetDescription &chip, double instructions) {
  bool fetched = instructions > chip.number(Number::NearInstructions).value_or(instructions);
  return (1 + (fetched ? chip.number(Number::FarFetch).value_or(0) : 0)) / chip.number(Number::Issue).value_or(1);
}

/// Clocks between the ends of two blocks where `together` run on a multiprocessor, each of which waits `waits` clocks
/// by itself and for `services` of parts that all share: the mean value analysis of a closed network (Reiser and
/// Lavenberg, 1980). It tends to the longest service with many blocks and is the sum of all with one.
static double clocksOfBlock(llvm::ArrayRef<double> services, double waits, int64_t together) {
  llvm::SmallVector<double> queues(services.size(), 0);
  double rate = 0;
  for (int64_t blocks = 1; blocks <= together; ++blocks) {
    double around = waits;
    for (auto [service, queue] : llvm::zip(services, queues))
      around += service * (1 + queue);
    rate = double(blocks) / around;
    for (auto [service, queue] : llvm::zip(services, queues))
      queue = rate * service * (1 + queue);
  }
  return 1 / rate;
}

std::optional<RowProgramPlan> tilewright::planRowProgram(const RowProgramTask &task, const TargetDescription &chip,
                                                         const LaneHierarchy &hierarchy,
                                                         std::vector<RowProgramPlan> *considered) {
  Stopwatch stopwatch("planning");
  const LaneMemories memories(chip, hierarchy);
  const auto [global, l2, file, own, shared] = memories;
  if (!global || !file || !own || !shared || task.rows <= 0 || task.length <= 0)
    return std::nullopt;
  int64_t inputBytes = std::accumulate(task.inputs.begin(), task.inputs.end(), int64_t(0)),
          betweenBytes = std::accumulate(task.between.begin(), task.between.end(), int64_t(0));
  PlanSearch<RowProgramPlan> search(considered);
  auto consider = [&](int64_t subgroups, int64_t rows, bool keepsInputs, int64_t elements) {
    RowProgramPlan plan;
    plan.subgroups = subgroups;
    plan.rows = rows;
    plan.keepsInputs = keepsInputs;
    plan.computesAgain = task.computesAgain;
    plan.elements = elements;
    plan.vector = std::min(task.vector, elements);
    int64_t lanes = subgroups * rows * hierarchy.lanes, segment = subgroups * hierarchy.lanes * elements;
    plan.segments = llvm::divideCeil(task.length, segment);
    int64_t padded = segment * plan.segments;
    int64_t scratchpad = task.sums * llvm::alignTo(rows * subgroups * 8, scratchpadGranule);
    for (const std::vector<int64_t> *arrays : {&task.between, &task.inputs})
      for (int64_t bytes : *arrays)
        if (keepsInputs || arrays == &task.between)
          scratchpad += llvm::alignTo(rows * padded * bytes, scratchpadGranule);
    int64_t registers = registersOfKernel + llvm::divideCeil(elements * task.registerBytes, own->entryBytes);
    if (plan.segments > 1) // what is summed of the segments before
      registers += elements * task.sums;
    if (scratchpad > hierarchy.scratchpadBytes || registers > own->entries || lanes * registers > file->entries)
      return;
    plan.blocksAtATime = std::max<int64_t>(
        1, std::min(file->entries / (lanes * registers), scratchpad ? shared->bytes / scratchpad : file->entries));
    // Every lane reads the subgroups' parts one by one and combines them.
    double exchanges = llvm::Log2_64(hierarchy.lanes), barriers = task.phases - 1;
    double accesses = double(elements) / plan.vector * (task.accesses + (keepsInputs ? task.keptAccesses : 0));
    double ofSegment = elements * double(task.operations) + accesses;
    double issued = plan.segments * ofSegment + task.laneOperations + task.sums * (2 * exchanges + 2 * subgroups);
    // Each segment waits for what it reads; a subgroup waits for its own instructions as long as it issues them.
    double latencyAgain = keepsInputs || !task.againBytes ? 0 : memories.near().latency;
    double waits = plan.segments * global->latency + issued +
                   barriers * (exchangeClocks(chip) * exchanges + barrierClocks(chip) +
                               plan.segments * (shared->latency + latencyAgain));
    // What a block asks of each part that the blocks of a multiprocessor share, in clocks.
    double blocks = double(llvm::divideCeil(task.rows, rows));
    double ofBlock = double(rows) * task.length, ofChip = std::min<double>(blocks, hierarchy.blocks);
    blocks /= ofChip;
    auto together = std::clamp<int64_t>(std::llround(std::ceil(blocks)), 1, plan.blocksAtATime);
    // Rows that are read again are in the second cache, where it holds those of all blocks that are under way.
    double again = keepsInputs ? 0 : ofBlock * task.againBytes;
    bool isCached = l2 && ofChip * double(together) * ofBlock * double(inputBytes) <= double(l2->bytes);
    double cached = ofBlock * task.sharedBytes + (isCached ? again : 0);
    double inside = ofBlock * (2 * betweenBytes + (keepsInputs ? inputBytes + task.againBytes : 0));
    double services[] = {
        (ofBlock * task.bytes + (isCached ? 0 : again)) * ofChip / global->bytesPerClock,
        cached * ofChip / memories.near().bytesPerClock, inside / std::max<double>(1, shared->bytesPerClock),
        double(subgroups * rows) * issued * clocksOfInstruction(chip, issued - (plan.segments - 1) * ofSegment)};
    plan.clocks = launchClocks(chip) + std::max(blocks, double(together)) * clocksOfBlock(services, waits, together) *
                                           (plan.segments > 1 ? segmentsTake : 1);
    plan.seconds = secondsOf(plan.clocks, chip);
    search.offer(plan);
  };
  for (bool keepsInputs : {true, false})
    for (int64_t subgroups = 1; subgroups <= hierarchy.subgroups; subgroups *= 2)
      for (int64_t rows = 1; rows <= (subgroups == 1 ? std::min<int64_t>(8, hierarchy.subgroups) : 1); rows *= 2)
        if ((keepsInputs || inputBytes) && (rows == 1 || (task.rowsAreKnown && task.rows % rows == 0)) &&
            (subgroups == 1 || (subgroups / 2) * hierarchy.lanes < task.length)) {
          int64_t whole = llvm::PowerOf2Ceil(llvm::divideCeil(task.length, subgroups * hierarchy.lanes));
          // Where phases compute their rows again, a lane saves nothing by holding more than a segment.
          if (!task.computesAgain || whole <= 2 * segmentElements)
            consider(subgroups, rows, keepsInputs, whole);
          for (int64_t elements : {segmentElements, 2 * segmentElements})
            if (elements < whole && rows == 1)
              consider(subgroups, rows, keepsInputs, elements);
        }
  if (!search.best || search.best->clocks >= task.apartClocks)
    return std::nullopt;
  return search.best;
}
