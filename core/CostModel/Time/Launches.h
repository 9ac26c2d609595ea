//===- Launches.h - Time of launches ----------------------------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Clocks as seconds, what a launch takes beside its blocks, and what equal grids take as one launch:
///
///   launch + (seconds of one - launch) x rounds(count x blocks) / rounds(blocks)
///   rounds(b) = ceil(b / blocks that the chip holds at a time)
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_COSTMODEL_TIME_LAUNCHES_H
#define TILEWRIGHT_CORE_COSTMODEL_TIME_LAUNCHES_H

#include "core/Machine/UnitOperands.h"
#include "tilewright/LaneOps.h"
#include "tilewright/MachineGraph.h"
#include "tilewright/TargetDescription.h"
#include "llvm/Support/MathExtras.h"
#include <cmath>
#include <optional>

namespace tilewright {

inline double secondsOf(double clocks, const TargetDescription &chip) { return clocks / (chip.clockMHz() * 1e6); }
/// Clocks until a launch's first and after its last instruction.
inline double launchClocks(const TargetDescription &chip) { return chip.number(Number::Launch).value_or(0); }
/// Clocks of a block behind its last step, beside what it stores.
inline double drainClocks(const TargetDescription &chip) { return chip.number(Number::Drain).value_or(0); }

/// Clocks that no launch goes below whose `members` multiply all the time: of `products`, by the fastest of the units
/// that are `taken`; 0: there is none.
inline double leastClocks(double products, int64_t members, const TargetDescription &chip, int64_t lanes,
                          llvm::function_ref<bool(const MatrixUnit &)> taken) {
  const double slots = chip.number(Number::Issue).value_or(1);
  double perClock = 0; // multiplications of a member, all of whose issue slots issue the unit
  for (const MatrixUnit &unit : chip.units())
    if (unit.issue > 0 && taken(unit))
      perClock = std::max(perClock, double(unit.m) * unit.n * unit.k / unit.issue * slots /
                                        std::min(slots, double(groupLanesOf(unit, lanes) / lanes)));
  return perClock > 0 ? products / (perClock * double(members)) : 0;
}

/// How the blocks of a launch come to the members of the chip, each of which holds `ofMember` of them at a time.
struct BlockWaves {
  BlockWaves(double blocks, int64_t members, int64_t ofMember)
      : atATime(double(members) * ofMember), active(std::min(blocks, atATime)),
        fullest(std::max(1.0, std::ceil(active / members))), waves(std::max(1.0, std::ceil(blocks / atATime))) {}
  double atATime, active; // that the chip holds, and that run at a time
  double fullest, waves;  // active ones of the fullest member; waves of blocks

  /// Clocks of the launch, whose blocks take `ofBlock` each; the backing memory takes `ofArrays` to move its arrays.
  /// `start`: before the first step.
  double clocks(double ofBlock, double ofArrays, const TargetDescription &chip, double start = 0) const {
    return std::max(waves * ofBlock, ofArrays) + start + launchClocks(chip);
  }
};

/// Seconds of `count` grids as one launch, each of which takes `seconds` with its launch. `blocks` of one, `residency`:
/// blocks of a multiprocessor at a time; where either is not known, all blocks are as long as those of the grids apart.
inline double secondsOfJoined(const TargetDescription &chip, double seconds, int64_t count,
                              std::optional<int64_t> blocks, std::optional<int64_t> residency) {
  double launch = secondsOf(launchClocks(chip), chip);
  double times = count;
  if (blocks && residency && *blocks > 0) {
    int64_t atATime = *residency * LaneHierarchy::of(chip.graph()).blocks;
    times = double(llvm::divideCeil(*blocks * count, atATime)) / double(llvm::divideCeil(*blocks, atATime));
  }
  return launch + std::max(0.0, seconds - launch) * times;
}

} // namespace tilewright

#endif // TILEWRIGHT_CORE_COSTMODEL_TIME_LAUNCHES_H
