//===- UnitOperands.h - Where a unit finds its operands ---------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Questions about the record of a unit that several stages ask.
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_MACHINE_UNITOPERANDS_H
#define TILEWRIGHT_CORE_MACHINE_UNITOPERANDS_H

#include "tilewright/TargetDescription.h"
#include <algorithm>
#include <optional>

namespace tilewright {

/// Whether the unit reads A, B or both in a scratchpad by itself.
inline bool readsScratchpad(const MatrixUnit &unit) {
  return unit.a.residence == Residence::Scratchpad || unit.b.residence == Residence::Scratchpad;
}

/// Whether a fragment of `operand` lies over the registers of `lanes` lanes, and whether it is a tile in `memory`.
inline bool liesOverLanes(const UnitOperand &operand, int64_t lanes) {
  return operand.residence == Residence::LaneRegisters && operand.layout.numLanes() == lanes;
}
inline bool liesIn(const UnitOperand &operand, llvm::StringRef memory, Residence residence = Residence::Scratchpad) {
  return operand.residence == residence && operand.memory == memory;
}

/// Whether the unit adds to what steps before have left, and needs no state that a program would have to enter.
inline bool addsUpPlainly(const MatrixUnit &unit) { return unit.init != UnitInit::NoAccumulate && unit.states.empty(); }

/// Whether the unit adds up in a memory of the block, from which lanes read the accumulators in the layout of C.
inline bool accumulatesInBlock(const MatrixUnit &unit) {
  return unit.c.residence == Residence::Accumulator && unit.c.layout.numLanes() > 1;
}

/// Whether a unit takes the floats of `operand`, of 4 or 6 bits, side by side. Memory and fragments hold one in the low
/// bits of a byte.
inline bool isPackedFloat(const UnitOperand &operand) {
  return isFloat(operand.element) && bitWidth(operand.element) < 8;
}

/// Entries that a block takes of the memory of such accumulators where it needs so many: a power of two of its banks.
/// Nullopt: blocks take none of it, or it has not so many.
inline std::optional<int64_t> accumulatorEntries(const Memory &memory, int64_t needed) {
  if (memory.banks < 1 || memory.entries % memory.banks != 0)
    return std::nullopt;
  int64_t taken = memory.entries / memory.banks;
  while (taken < needed)
    taken *= 2;
  return taken <= memory.entries ? std::optional(taken) : std::nullopt;
}

/// Lanes that hold a fragment of the unit's C, a subgroup of `lanes` at least.
inline int64_t groupLanesOf(const MatrixUnit &unit, int64_t lanes) {
  return accumulatesInBlock(unit) ? std::max(lanes, unit.c.layout.numLanes()) : unit.scopeCount * lanes;
}

} // namespace tilewright

#endif // TILEWRIGHT_CORE_MACHINE_UNITOPERANDS_H
