//===- LaneRegisters.h - Registers of a lane of a contraction -*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What a lane may hold, and what it holds beside its sums and fragments.
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_COSTMODEL_SCHEDULES_LANEREGISTERS_H
#define TILEWRIGHT_CORE_COSTMODEL_SCHEDULES_LANEREGISTERS_H

#include "tilewright/TargetDescription.h"

namespace tilewright {

/// Registers beside fragments and sums where the chip computes products of 8-bit floats on wider ones: all of a step's
/// `units` of k widened, since its compiler does that ahead, in place of one, and sums of the products that are under
/// way. `fragments`: registers of one unit of k.
int64_t widenedRegisters(const MatrixUnit &unit, const TargetDescription &chip, int64_t units, int64_t fragments,
                         int64_t accumulators);
/// Registers that a lane may hold: where the chip has some for sums alone, sums of more than half of these take them,
/// and as many others are left to all else.
int64_t registersOfLane(const TargetDescription &chip, int64_t sums, int64_t lanes);
/// Blocks of a multiprocessor whose registers fit. Each issue slot has its part of the file, and a subgroup's registers
/// lie in one part: five subgroups of four slots need two in one of them.
int64_t blocksInRegisters(const TargetDescription &chip, int64_t registers, int64_t lanes, int64_t subgroups);
/// Lanes of a multiprocessor at a time.
int64_t residentLanes(const TargetDescription &chip);
/// Blocks of a multiprocessor at a time, of `bytes` of its scratchpad and `lanes` of the `resident` ones each, one at
/// least. `inRegisters`: as many as its registers allow.
int64_t blocksAtATime(const Memory &scratchpad, int64_t bytes, int64_t inRegisters, int64_t lanes, int64_t resident);
/// Rows of a fragment that one lane has elements of.
int64_t rowsOfLane(const Layout &layout);

} // namespace tilewright

#endif // TILEWRIGHT_CORE_COSTMODEL_SCHEDULES_LANEREGISTERS_H
