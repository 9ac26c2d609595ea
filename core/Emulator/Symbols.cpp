//===- Symbols.cpp - Functions that compiled kernels call -----------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Thin: each forwards to the part that does the work. The signatures are those
/// that EmulationBuilder.cpp writes into the kernels.
///
//===----------------------------------------------------------------------===//

#include "core/Emulator/Symbols.h"
#include "core/Emulator/AsyncEngines.h"
#include "core/Emulator/Barriers.h"
#include "core/Emulator/Collectives.h"
#include "core/Runtime/Array.h"

using namespace tilewright;

static void *accessAt(Lane *lane, uint32_t site, void *address) { return lane->machine->access(*lane, site, address); }

static void barrierAt(Lane *lane, uint32_t site, int64_t id, uint32_t lanes, int32_t step) {
  barrier(*lane, site, id, lanes, static_cast<BarrierStep>(step));
}
static void subgroupBarrierAt(Lane *lane, uint32_t site) { subgroupBarrier(*lane, site); }
static void clusterBarrierAt(Lane *lane, uint32_t site, int32_t step) {
  clusterBarrier(*lane, site, static_cast<BarrierStep>(step));
}
static void fenceEnginesAt(Lane *lane, uint32_t) {
  lane->fenced = lane->order.clock++; // what comes later is not published
}
static void fenceUnitsAt(Lane *, uint32_t) {} // proved statically: a unit here takes its registers at once
static void orderAccessesAt(Lane *lane, uint32_t, int32_t step) { orderAccesses(*lane, static_cast<AccessStep>(step)); }
static int32_t phaseAt(Lane *lane, uint32_t site, int32_t step, void *address, int32_t operand) {
  return phaseStep(*lane, site, static_cast<PhaseStep>(step), address, operand);
}
static void *mapToBlock(Lane *lane, uint32_t site, void *address, uint32_t rank) {
  int64_t own = lane->block - lane->cluster->blocks.data();
  return static_cast<char *>(address) + (int64_t(rank) - own) * int64_t(Machine::windowStride);
}

static void exchangeAt(Lane *lane, uint32_t site, ExchangeFrame *frame) { exchange(*lane, site, *frame); }
static void matricesAt(Lane *lane, uint32_t site, void *row, uint32_t count, int32_t transpose, int32_t store,
                       uint32_t *words) {
  matrices(*lane, site, row, count, transpose, store, words);
}
static void columnsAt(Lane *lane, uint32_t site, void *row, uint32_t elementBytes, uint32_t *words) {
  columns(*lane, site, row, elementBytes, words);
}
static void waitUnitsAt(Lane *lane, uint32_t site, int32_t pending, uint32_t *words, uint32_t count) {
  waitGroupUnits(*lane, site, pending, words, count);
}
static void unitAt(Lane *lane, uint32_t site, char *frame) { issueUnit(*lane, site, frame); }

static void takeAccumulatorsAt(Lane *lane, uint32_t site, void *place, uint32_t count) {
  takeAccumulators(*lane, site, place, count);
}
static void freeAccumulatorsAt(Lane *lane, uint32_t site, uint32_t address, uint32_t count) {
  freeAccumulators(*lane, site, address, count);
}
static void copyToAccumulatorsAt(Lane *lane, uint32_t site, uint32_t address, uint64_t descriptor, uint32_t rows,
                                 uint32_t bytes) {
  copyToAccumulators(*lane, site, address, descriptor, rows, bytes);
}
static void commitAccumulatorUnitsAt(Lane *lane, uint32_t site, void *phase) {
  commitAccumulatorUnits(*lane, site, phase);
}
static void readAccumulatorsAt(Lane *lane, uint32_t site, uint32_t address, uint32_t count, uint32_t *words) {
  readAccumulators(*lane, site, address, count, words);
}
static void awaitAccumulatorReadsAt(Lane *lane, uint32_t, uint32_t *words, uint32_t count) {
  awaitAccumulatorReads(*lane, words, count);
}
static void fenceAccumulatorsAt(Lane *lane, uint32_t, int32_t begins) { fenceAccumulators(*lane, begins != 0); }

static void copyAt(Lane *lane, uint32_t site, int32_t engine, char *to, int64_t toPitch, const char *from,
                   int64_t fromPitch, uint32_t rows, uint32_t rowBytes, uint32_t valid, uint32_t align,
                   uint32_t elementBytes) {
  Transfer transfer;
  transfer.to = to;
  transfer.from = from;
  transfer.toPitch = toPitch;
  transfer.fromPitch = fromPitch;
  transfer.rows = rows;
  transfer.rowBytes = rowBytes;
  transfer.valid = valid;
  transfer.elementBytes = elementBytes;
  copyAsync(*lane, site, static_cast<Engine>(engine), transfer, align);
}
static void commitAt(Lane *lane, uint32_t site, int32_t engine) { commit(*lane, static_cast<Engine>(engine)); }
static void waitAt(Lane *lane, uint32_t site, int32_t engine, int32_t pending) {
  wait(*lane, site, static_cast<Engine>(engine), pending);
}
static void tensorAt(Lane *lane, uint32_t site, int32_t store, char *scratchpad, const TensorDescriptor *descriptor,
                     const int32_t *coordinates, uint32_t rank, uint64_t phase, uint32_t blocks) {
  TensorTransfer transfer;
  transfer.descriptor = descriptor;
  std::copy_n(coordinates, rank, transfer.origin);
  transfer.scratchpad = scratchpad;
  transfer.store = store;
  transfer.phase = phase;
  tensorAsync(*lane, site, transfer, blocks);
}

/// An access of elements [first, after) by a mask.
static void *maskedAt(Lane *lane, uint32_t site, char *address, int64_t first, int64_t after, int64_t elementBytes) {
  return after <= first ? address
                        : lane->machine->accessRange(*lane, site, address, first * elementBytes, after * elementBytes,
                                                     elementBytes);
}

/// LLVM calls it on hosts without an instruction for it; libgcc has it from GCC 13 on.
static BfloatRegister truncateToBfloat(float value) { return BfloatRegister{floatToBfloat(value)}; }

std::vector<std::pair<const char *, void *>> tilewright::runtimeSymbols() {
  return {
      {"__truncsfbf2", reinterpret_cast<void *>(truncateToBfloat)},
      {"tw_emulator_access", reinterpret_cast<void *>(accessAt)},
      {"tw_emulator_masked", reinterpret_cast<void *>(maskedAt)},
      {"tw_emulator_barrier", reinterpret_cast<void *>(barrierAt)},
      {"tw_emulator_subgroup_barrier", reinterpret_cast<void *>(subgroupBarrierAt)},
      {"tw_emulator_cluster_barrier", reinterpret_cast<void *>(clusterBarrierAt)},
      {"tw_emulator_fence_engines", reinterpret_cast<void *>(fenceEnginesAt)},
      {"tw_emulator_fence_units", reinterpret_cast<void *>(fenceUnitsAt)},
      {"tw_emulator_order_accesses", reinterpret_cast<void *>(orderAccessesAt)},
      {"tw_emulator_phase", reinterpret_cast<void *>(phaseAt)},
      {"tw_emulator_map_to_block", reinterpret_cast<void *>(mapToBlock)},
      {"tw_emulator_exchange", reinterpret_cast<void *>(exchangeAt)},
      {"tw_emulator_columns", reinterpret_cast<void *>(columnsAt)},
      {"tw_emulator_matrices", reinterpret_cast<void *>(matricesAt)},
      {"tw_emulator_unit", reinterpret_cast<void *>(unitAt)},
      {"tw_emulator_wait_units", reinterpret_cast<void *>(waitUnitsAt)},
      {"tw_emulator_take_accumulators", reinterpret_cast<void *>(takeAccumulatorsAt)},
      {"tw_emulator_free_accumulators", reinterpret_cast<void *>(freeAccumulatorsAt)},
      {"tw_emulator_copy_to_accumulators", reinterpret_cast<void *>(copyToAccumulatorsAt)},
      {"tw_emulator_commit_accumulator_units", reinterpret_cast<void *>(commitAccumulatorUnitsAt)},
      {"tw_emulator_read_accumulators", reinterpret_cast<void *>(readAccumulatorsAt)},
      {"tw_emulator_await_accumulator_reads", reinterpret_cast<void *>(awaitAccumulatorReadsAt)},
      {"tw_emulator_fence_accumulators", reinterpret_cast<void *>(fenceAccumulatorsAt)},
      {"tw_emulator_copy", reinterpret_cast<void *>(copyAt)},
      {"tw_emulator_commit", reinterpret_cast<void *>(commitAt)},
      {"tw_emulator_wait", reinterpret_cast<void *>(waitAt)},
      {"tw_emulator_tensor", reinterpret_cast<void *>(tensorAt)},
  };
}
