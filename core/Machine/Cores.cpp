//===- Cores.cpp - Cores that program engines -----------------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Finds cores, their memories and engines in a description.
///
//===----------------------------------------------------------------------===//

#include "tilewright/Cores.h"
#include "core/Machine/CopyPaths.h"
#include "tilewright/MachineGraph.h"

using namespace tilewright;

CoreHierarchy CoreHierarchy::of(const TargetDescription &chip) {
  const MachineGraph &graph = chip.graph();
  const Level *level = graph.parallelLevel();
  CoreHierarchy result;
  result.level = level->name;
  result.cores = level->count;
  result.global = graph.backing();
  result.scratchpad = graph.threadMemory();
  result.accumulator = graph.accumulatorMemoryOf(level->name);
  result.in = copyPath(chip.copies(), result.global->name, result.scratchpad->name).rows;
  result.out = copyPath(chip.copies(), result.scratchpad->name, result.global->name).rows;
  result.reachesGlobal = graph.reaches(level->name, *result.global);
  return result;
}
