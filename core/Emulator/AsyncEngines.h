//===- AsyncEngines.h - Engines that work beside the lanes ------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Asynchronous copies, tensor transfers, and the matrix units that read a
/// scratchpad. An engine that is early does its work when the command is issued;
/// a late one when a wait demands it or nobody else can go on. For the order of
/// accesses neither matters: a command is stamped when it is issued and known to
/// those who waited.
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_EMULATOR_ASYNCENGINES_H
#define TILEWRIGHT_CORE_EMULATOR_ASYNCENGINES_H

#include "core/Emulator/Machine.h"

namespace tilewright {

void copyAsync(Lane &lane, uint32_t site, Engine engine, Transfer transfer, uint64_t align);
/// Closes a group; groups without commands count.
void commit(Lane &lane, Engine engine);
/// Waits for all but `pending` groups.
void wait(Lane &lane, uint32_t site, Engine engine, int32_t pending);
/// `barrier`: address of a barrier object, null: groups of Engine::Store. `blocks`: bits, 0 = the own one.
void tensorAsync(Lane &lane, uint32_t site, TensorTransfer transfer, uint32_t blocks);
/// Does what a tensor transfer was issued for.
void land(Cluster &cluster, const TensorTransfer &transfer);
/// What a block leaves unfinished.
void drain(Lane &lane);

/// Bytes of the scratchpad have been written: a unit that holds them as its stationary operand loads it again.
void dropHeld(Lane &lane, const char *address, int64_t bytes);
/// An instruction of a unit on operands at these rows: counted when it is waited for, or when the lane ends.
void issueClocks(Lane &lane, const UnitRunner &runner, uint32_t stamp, const MemoryOperand *operands);
/// Counts the unit's instructions up to `stamp`.
void countUnits(Lane &lane, uint32_t stamp);

/// Raises the lane's clock by the instructions executed since the last call, where the core's engines have clocks.
void advance(Lane &lane);
/// The core goes on at `end` of its clocks, or now where that has passed.
void waitUntil(Lane &lane, double end);
/// Occupies an engine (numEngines: the core itself) for `cycles` from when it is free; the command's end.
double occupy(Lane &lane, unsigned engine, double cycles, uint64_t bytes);

} // namespace tilewright

#endif // TILEWRIGHT_CORE_EMULATOR_ASYNCENGINES_H
