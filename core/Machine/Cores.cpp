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

using namespace tilewright;

std::optional<CoreHierarchy> tilewright::coreHierarchy(const TargetDescription &chip) {
  CoreHierarchy result;
  for (const Level &level : chip.levels()) {
    if (level.kind == LevelKind::Lockstep || level.kind == LevelKind::Concurrent)
      return std::nullopt;
    if (level.kind == LevelKind::Parallel) { // the innermost one
      result.level = level.name;
      result.cores = level.count;
    }
  }
  for (const Memory &memory : chip.memories()) {
    if (memory.kind == MemoryKind::Global && !result.global)
      result.global = &memory;
    if (memory.kind == MemoryKind::Scratchpad && memory.level == result.level && !result.scratchpad)
      result.scratchpad = &memory;
    if (memory.kind == MemoryKind::Accumulator && memory.level == result.level && !result.accumulator)
      result.accumulator = &memory;
  }
  if (!result.global || !result.scratchpad)
    return std::nullopt;
  result.in = copyPath(chip.copies(), result.global->name, result.scratchpad->name).rows;
  result.out = copyPath(chip.copies(), result.scratchpad->name, result.global->name).rows;
  for (const CopyEngine &copy : chip.copies()) {
    const Memory *to = chip.memory(copy.to);
    result.reachesGlobal |= copy.from == result.global->name && to && to->kind == MemoryKind::RegisterFile;
  }
  return result;
}
