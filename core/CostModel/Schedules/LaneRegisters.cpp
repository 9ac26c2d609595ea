//===- LaneRegisters.cpp - Registers of a lane of a contraction --------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Counted over layouts and rates of the chip.
///
//===----------------------------------------------------------------------===//

#include "core/CostModel/Schedules/LaneRegisters.h"
#include "tilewright/MachineGraph.h"
#include "llvm/ADT/SmallSet.h"
#include <cmath>

using namespace tilewright;

int64_t tilewright::widenedRegisters(const MatrixUnit &unit, const TargetDescription &chip, int64_t units,
                                     int64_t fragments, int64_t accumulators) {
  auto isShort = [](const UnitOperand &operand) { return isFloat(operand.element) && bitWidth(operand.element) == 8; };
  int64_t words = isShort(unit.a) && isShort(unit.b) ? int64_t(chip.number(Number::Float8Words).value_or(0)) : 0;
  return words ? (words * units - 1) * fragments + int64_t(std::ceil(unit.latency / unit.issue)) * accumulators : 0;
}

int64_t tilewright::registersOfLane(const TargetDescription &chip, int64_t sums, int64_t lanes) {
  int64_t all = chip.graph().registerPool()->entries / lanes, own = chip.graph().laneRegisters()->entries;
  const Memory *half = chip.graph().accumulatorRegisters();
  if (half && 2 * sums > half->entries)
    own = std::max(own, std::min(sums, half->entries) + half->entries);
  return std::min(own, all);
}

int64_t tilewright::blocksInRegisters(const TargetDescription &chip, int64_t registers, int64_t lanes,
                                      int64_t subgroups) {
  int64_t slots = std::max<int64_t>(1, int64_t(chip.number(Number::Issue).value_or(1)));
  int64_t ofSlot = chip.graph().registerPool()->entries / slots / (registers * lanes);
  return slots * ofSlot / subgroups;
}

int64_t tilewright::residentLanes(const TargetDescription &chip) {
  return int64_t(chip.number(Number::ResidentThreads).value_or(double(chip.graph().registerPool()->entries)));
}

int64_t tilewright::blocksAtATime(const Memory &scratchpad, int64_t bytes, int64_t inRegisters, int64_t lanes,
                                  int64_t resident) {
  return std::max<int64_t>(1,
                           std::min({scratchpad.bytes / std::max<int64_t>(bytes, 1), inRegisters, resident / lanes}));
}

int64_t tilewright::rowsOfLane(const Layout &layout) {
  llvm::SmallSet<int64_t, 16> rows;
  for (int64_t element = 0; element < layout.numElements(); ++element)
    rows.insert(layout.at(0, element).row);
  return rows.size();
}
