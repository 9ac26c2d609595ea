//===- Barriers.h - Barriers of all kinds -----------------------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Where lanes wait for each other, beyond the collectives of a subgroup. All of
/// them pass on what is known: who comes out knows what those who came in knew.
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_EMULATOR_BARRIERS_H
#define TILEWRIGHT_CORE_EMULATOR_BARRIERS_H

#include "core/Emulator/Machine.h"

namespace tilewright {

/// Bare: arrives and waits, and accesses of the lanes pass unless they order them themselves (AccessStep).
enum class BarrierStep : int32_t { ArriveAndWait, Arrive, Wait, Bare };
/// `id`: a named barrier of `lanes` lanes, or Block::blockBarrier / splitBarrier for all lanes of the block.
void barrier(Lane &lane, uint32_t site, int64_t id, uint32_t lanes, BarrierStep step);
/// What a lane does for its accesses at bare barriers, see EmulationBuilder::bareBarrier.
enum class AccessStep : int32_t { Hold, Complete, Acquire };
void orderAccesses(Lane &lane, AccessStep step);
void subgroupBarrier(Lane &lane, uint32_t site);
/// All lanes of the cluster.
void clusterBarrier(Lane &lane, uint32_t site, BarrierStep step);

enum class PhaseStep : int32_t { Init, Arrive, Expect, Wait, Test };
/// Returns 1 from Test if the phase has ended.
int32_t phaseStep(Lane &lane, uint32_t site, PhaseStep step, void *address, int32_t operand);
/// `bytes` of a transfer that `agent` stamped `clock` have come.
void phaseReceive(Cluster &cluster, uint64_t address, int64_t bytes, uint32_t agent, uint32_t clock);

/// One arrival: what `agent` has stamped up to `clock` is done, and so is what was known when it was issued (null:
/// nothing).
void phaseArriveFor(Cluster &cluster, uint64_t address, uint32_t agent, uint32_t clock, const Clocks &known);

} // namespace tilewright

#endif // TILEWRIGHT_CORE_EMULATOR_BARRIERS_H
