//===- Cores.cpp - Scratchpad targets -------------------------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Finds the cores, memories and engines of a scratchpad chip in its description.
///
//===----------------------------------------------------------------------===//

#include "tilewright/Cores.h"
#include "core/Machine/CopyPaths.h"
#include "tilewright/MachineGraph.h"

using namespace tilewright;

std::optional<CoreHierarchy> tilewright::coreHierarchy(const TargetDescription &chip) {
  const MachineGraph &graph = chip.graph();
  const Level *level = graph.parallelLevel();
  if (!level || graph.lockstepLevel() || graph.concurrentLevel())
    return std::nullopt;
  CoreHierarchy result;
  result.level = level->name;
  result.cores = level->count;
  result.global = graph.backing();
  result.scratchpad = graph.memoryOf(level->name);
  result.accumulator = graph.accumulatorMemoryOf(level->name);
  if (!result.global || !result.scratchpad)
    return std::nullopt;
  result.in = copyPath(chip.copies(), result.global->name, result.scratchpad->name).rows;
  result.out = copyPath(chip.copies(), result.scratchpad->name, result.global->name).rows;
  result.reachesGlobal = graph.reaches(level->name, *result.global);
  return result;
}
