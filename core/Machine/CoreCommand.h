//===- CoreCommand.h - Units that a core commands ---------------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Units whose operands lie in memories of a core, which gives them addresses.
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_MACHINE_CORECOMMAND_H
#define TILEWRIGHT_CORE_MACHINE_CORECOMMAND_H

#include "core/Machine/UnitOperands.h"
#include "llvm/ADT/STLExtras.h"

namespace tilewright {

/// Whether the unit is a command of a core: one thread issues it, with the addresses and pitches of A, B and C.
inline bool isCoreCommand(const MatrixUnit &unit) {
  auto inMemory = [](const UnitOperand &operand) {
    return operand.residence == Residence::Scratchpad || operand.residence == Residence::Accumulator;
  };
  return unit.scopeLevel.empty() && inMemory(unit.a) && inMemory(unit.b) && inMemory(unit.c) &&
         !accumulatesInBlock(unit);
}

/// Whether a unit takes an operand of a scratchpad as cores keep tiles: row after row, without another arrangement.
inline bool readsPlainRows(const UnitOperand &operand) {
  return llvm::is_contained(operand.majors, "row") &&
         (operand.arrangements.empty() || llvm::is_contained(operand.arrangements, "none"));
}

} // namespace tilewright

#endif // TILEWRIGHT_CORE_MACHINE_CORECOMMAND_H
