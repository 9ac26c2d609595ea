//===- LaneMemories.h - What lanes of blocks work with ----------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The memories of chips whose threads are lanes of blocks, and the block of grids whose lanes have nothing to share
/// (LaneGrid.h): for the passes that write such programs and for the models that say what they take.
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_COSTMODEL_MACHINE_LANEMEMORIES_H
#define TILEWRIGHT_CORE_COSTMODEL_MACHINE_LANEMEMORIES_H

#include "core/CostModel/Machine/Sectors.h"
#include "tilewright/LaneOps.h"
#include "tilewright/MachineGraph.h"
#include "tilewright/TargetDescription.h"

namespace tilewright {

/// Lanes of a block of a grid: enough to hide latencies, few enough for any register file.
inline constexpr int64_t gridBlockLanes = 256;

/// Loads of one lane that are under way at a time.
inline constexpr double loadsUnderWay = 4;

/// The memories of a chip by what lanes do with them; null: it has none.
struct LaneMemories {
  LaneMemories(const TargetDescription &chip, const LaneHierarchy &hierarchy)
      : global(chip.graph().backing()), l2(chip.graph().lastSharedCache()), file(chip.graph().registerPool()),
        own(chip.graph().laneRegisters()),
        shared(hierarchy.scratchpad.empty() ? nullptr : chip.memory(hierarchy.scratchpad)) {}
  const Memory *global, *l2, *file, *own, *shared; // file: of a multiprocessor, own: of a lane

  /// Where a block asks first for what it has not: the cache of all blocks, if there is one.
  const Memory &near() const { return l2 ? *l2 : *global; }
};

} // namespace tilewright

#endif // TILEWRIGHT_CORE_COSTMODEL_MACHINE_LANEMEMORIES_H
