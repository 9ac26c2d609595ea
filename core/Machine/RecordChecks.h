//===- RecordChecks.h - Parts of a chip that disagree ----------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What `checkChip` asks of the parts of a chip. Each appends a message that
/// names the record, the fields that disagree, and what would be right.
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_MACHINE_RECORDCHECKS_H
#define TILEWRIGHT_CORE_MACHINE_RECORDCHECKS_H

#include "tilewright/ChipTable.h"

namespace tilewright {
class MachineGraph;

/// Limits of a copy engine: alignment, dimensions, bursts, queue, bandwidth.
/// Where lanes are no threads a path has one record for rows and one for transposed tiles: a further one would be
/// ignored.
void checkCopyPaths(const ChipTable &chip, std::vector<std::string> &messages);
void checkEngine(const CopyEngine &engine, std::vector<std::string> &messages);
/// Kinds and roundings that the compiler uses; elements and costs.
void checkVectorOp(const VectorOp &op, std::vector<std::string> &messages);
/// Words of instructions of lanes, each once, and the operands that their emissions take.
void checkLaneInstructions(const ChipTable &chip, std::vector<std::string> &messages);
/// Banks and latency.
void checkMemory(const Memory &memory, std::vector<std::string> &messages);
/// Roles that go with the kind of memory and tell register files apart; vectors of a power of two of bytes.
void checkMemoryRoles(const ChipTable &chip, std::vector<std::string> &messages);
/// The role of a memory of `chip`, given or inferred; and the first memory of a role, null if there is none.
MemoryRole roleIn(const ChipTable &chip, const Memory &memory);
const Memory *memoryOfRole(const ChipTable &chip, MemoryRole role);
/// Storage orders and arrangements of a unit's operands, and arrangements and sizes of accesses of an engine: words
/// that the compiler knows.
void checkStorageOrders(const MatrixUnit &unit, std::vector<std::string> &messages);
void checkStorageOrders(const CopyEngine &engine, std::vector<std::string> &messages);
/// The emission of a unit that is a command of a core: what can be an argument of it, and the flag that goes with
/// `init`.
void checkCommand(const MatrixUnit &unit, std::vector<std::string> &messages);
/// The queue of a unit: only one that a core commands, and does not wait for, has one.
void checkQueue(const MatrixUnit &unit, std::vector<std::string> &messages);
/// What a chip needs so that programs can be written for it at all, by the kind that its levels and memories say.
void checkEssentials(const ChipTable &chip, const MachineGraph &graph, std::vector<std::string> &messages);
/// What a unit needs of the cores that command it: the order of tiles in their scratchpad, room for accumulators.
void checkUnitOnCores(const MachineGraph &graph, const MatrixUnit &unit, std::vector<std::string> &messages);
/// What must not stand twice: units, the functions that they call.
void checkTwice(const ChipTable &chip, std::vector<std::string> &messages);

} // namespace tilewright

#endif // TILEWRIGHT_CORE_MACHINE_RECORDCHECKS_H
