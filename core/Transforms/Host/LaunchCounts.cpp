//===- LaunchCounts.cpp - What the tile program of a launch does ------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Levels of a chip, arguments of a launch, sums and their form as JSON.
///
//===----------------------------------------------------------------------===//

#include "core/Transforms/Host/LaunchCounts.h"
#include "core/Transforms/Host/LaunchWalk.h"
#include "tilewright/Cores.h"
#include "tilewright/MachineGraph.h"
#include "tilewright/Residency.h"

using namespace mlir;
using namespace tilewright;

void LaunchCounts::add(const LaunchCounts &other) {
  if (seconds)
    seconds = other.seconds ? std::optional(*seconds + *other.seconds) : std::nullopt;
  blocks += other.blocks;
  for (const auto &[unit, issues] : other.unitIssues)
    unitIssues[unit] += issues;
  for (const auto &[engine, count] : other.commands)
    commands[engine] += count;
  for (auto [sum, part] : {std::pair(&global, &other.global), {&scratchpad, &other.scratchpad}}) {
    sum->read += part->read;
    sum->written += part->written;
  }
  barriers += other.barriers;
  if (unknown.empty())
    unknown = other.unknown;
}

llvm::json::Object tilewright::toJson(const LaunchCounts &counts, const TargetDescription &chip) {
  if (!counts.unknown.empty())
    return llvm::json::Object{{"unknown", counts.unknown}};
  llvm::json::Object object{{"blocks", counts.blocks},
                            {"global_read_bytes", counts.global.read},
                            {"global_written_bytes", counts.global.written}};
  if (chip.graph().lanesAreThreads()) {
    object["scratchpad_read_bytes"] = counts.scratchpad.read;
    object["scratchpad_written_bytes"] = counts.scratchpad.written;
    object["barriers"] = counts.barriers;
  } else {
    llvm::json::Object commands;
    for (const auto &[engine, count] : counts.commands)
      commands[engine] = count;
    object["commands"] = std::move(commands);
  }
  int64_t all = 0;
  double cycles = 0;
  for (const auto &[unit, issues] : counts.unitIssues) {
    all += issues;
    cycles += double(issues) * chip.unit(unit)->issue;
  }
  object["unit_issues"] = all;
  object["unit_issue_cycles"] = cycles;
  if (counts.unitIssues.size() == 1)
    object["unit"] = counts.unitIssues.begin()->first;
  if (counts.seconds)
    object["seconds"] = *counts.seconds;
  return object;
}

/// What a level of the program is on the chip; nullopt: it has no such level, or one of another size.
static std::optional<LevelShape> levelOf(tile::ParallelOp op, const LaneHierarchy &lanes, const CoreHierarchy *cores,
                                         ArrayRef<uint32_t> grid, int64_t cluster) {
  LevelShape shape;
  const unsigned rank = op.getUpperBounds().getNumResults();
  StringRef level = op.getLevel();
  if (level == (cores ? StringRef(cores->level) : StringRef(lanes.grid))) {
    if (rank > grid.size())
      return std::nullopt;
    for (unsigned i = 0; i < rank; ++i) // the last index is the fastest
      shape.extents.push_back(grid[rank - 1 - i]);
    if (rank)
      shape.extents.back() /= cluster;
    return shape;
  }
  for (AffineExpr bound : op.getUpperBounds().getResults()) {
    auto number = dyn_cast<AffineConstantExpr>(bound);
    if (!number)
      return std::nullopt;
    shape.extents.push_back(number.getValue());
  }
  if (!lanes.cluster.empty() && level == lanes.cluster)
    return shape;
  if (level != lanes.block && level != lanes.subgroup)
    return std::nullopt;
  shape.by = level == lanes.block ? Executions::By::Member : Executions::By::Lane;
  return shape;
}

SmallVector<SmallVector<int64_t>> tilewright::launchNumbers(func::FuncOp launch,
                                                            llvm::function_ref<int64_t(size_t)> valueOf) {
  SmallVector<SmallVector<int64_t>> numbers;
  size_t next = 0;
  for (Type type : launch.getArgumentTypes()) {
    auto array = dyn_cast<MemRefType>(type);
    next += array ? 1 : 0;
    auto &list = numbers.emplace_back();
    for (int64_t i = 0, count = array ? array.getNumDynamicDims() : 1; i < count; ++i)
      list.push_back(valueOf(next++));
  }
  return numbers;
}

LaunchCounts tilewright::countLaunch(func::FuncOp launch, const TargetDescription &chip, std::array<uint32_t, 3> grid,
                                     ArrayRef<SmallVector<int64_t>> numbers, int64_t budget) {
  LaunchCounts counts;
  const MachineGraph &graph = chip.graph();
  const bool hasLanes = graph.lanesAreThreads();
  const LaneHierarchy lanes = LaneHierarchy::of(graph);
  const CoreHierarchy cores = hasLanes ? CoreHierarchy() : CoreHierarchy::of(chip);
  const int64_t cluster = launchShapeOf(launch)->cluster;
  std::unique_ptr<OpReader> reader = hasLanes ? createLaneReader(launch, chip) : createCoreReader(chip);
  auto levels = [&](tile::ParallelOp op) {
    return ::levelOf(op, lanes, hasLanes ? nullptr : &cores, grid, hasLanes ? cluster : 1);
  };
  LaunchWalk walk(*reader, counts, budget, levels);
  for (auto [argument, given] : llvm::zip(launch.getArguments(), numbers))
    if (isNumber(argument) && !given.empty())
      walk.setNumber(argument, given.front());
    else
      reader->setSizes(argument, given);
  counts.blocks = int64_t(grid[0]) * grid[1] * grid[2];
  if (auto seconds = launch->getAttrOfType<FloatAttr>(secondsAttr))
    counts.seconds = seconds.getValueAsDouble();
  walk.run(launch);
  return counts;
}
