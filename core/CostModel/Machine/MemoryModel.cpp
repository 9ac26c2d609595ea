//===- MemoryModel.cpp - Decisions for memory-bound nests -----------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Reads the few numbers that the rules need out of a description, once.
//
//===----------------------------------------------------------------------===//

#include "core/CostModel/Machine/MemoryModel.h"
#include "core/CostModel/Machine/CoreInstructions.h"
#include "tilewright/MachineGraph.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"
#include <algorithm>
#include <cmath>
#include <tuple>

using namespace tilewright;

/// Operations of a body that hide the test of its loop in a core that reorders instructions.
static constexpr int64_t operationsBesideTest = 12;

MemoryModel::MemoryModel(const TargetDescription &chip) {
  std::tie(registerCount, registerBytes) = chip.vectorRegisters();
  clock = chip.clockMHz() * 1e6;
  testsLoops = chip.graph().threadMemory();
  launchSeconds = chip.number(Number::Team).value_or(0) * 1e-9;
  line = static_cast<int64_t>(chip.number(Number::LineBytes).value_or(1));
  nearest = static_cast<int64_t>(chip.number(Number::NearBytes).value_or(0));
  second = static_cast<int64_t>(chip.number(Number::SecondBytes).value_or(0));
  for (const MatrixUnit &unit : chip.units())
    if (unit.c.element == ElementKind::F32 && unit.k == 1 && unit.m == 1) {
      double wanted = std::max(2.0, unit.latency / std::max(unit.issue, 0.25));
      accumulatorCount = std::min<int64_t>(llvm::PowerOf2Ceil(static_cast<uint64_t>(std::ceil(wanted))), 8);
      operationsPerClock = 1 / std::max(unit.issue, 0.25);
      break;
    }
  std::vector<const Memory *> found = chip.caches();
  if (!found.empty()) {
    nearest = found.front()->bytes;
    line = found.front()->lineBytes ? found.front()->lineBytes : line;
    second = found[found.size() > 1 ? 1 : 0]->bytes;
    lastCache = found.back()->bytes;
  }
  if (std::optional<double> first = chip.number(Number::FirstTranslations))
    translations = static_cast<int64_t>(*first);
  translationClocks = chip.number(Number::Translate).value_or(translationClocks);
  if (found.size() > 1 && found[1]->bytesPerClock > 0)
    lineClocks = static_cast<double>(line) / found[1]->bytesPerClock;
  loadsPerClock = chip.number(Number::Load).value_or(loadsPerClock);
  shufflesPerClock = chip.number(Number::Shuffle).value_or(shufflesPerClock);
  crossingsPerClock = chip.number(Number::CrossingLoad).value_or(loadsPerClock / 2);
  storesPerClock = chip.number(Number::Store).value_or(loadsPerClock / 2);
  maskedStoresPerClock = chip.number(Number::MaskedStore).value_or(storesPerClock);
  divisionsPerClock = chip.number(Number::DivF32).value_or(operationsPerClock);
  for (const Memory *cache : found) {
    memories.push_back({cache->bytes, cache->bytesPerClock, cache->writeBytesPerClock});
    caches.push_back(*cache);
  }
  for (const Memory &memory : chip.memories())
    if (memory.kind == MemoryKind::Global && memory.bytesPerClock > 0) {
      memories.push_back({memory.bytes, memory.bytesPerClock,
                          std::max(memory.writeBytesPerClock, memory.streamingWriteBytesPerClock)});
      bytesPerClock = memory.bytesPerClock;
      page = memory.pageBytes;
      // Who reads what the last cache does not hold finds none of it there, and an ordinary store has read its line
      // before: stores that bypass the cache win where the chip has them. Of a cache 3/4 count, as of the nearest.
      if (memory.streamingWriteBytesPerClock > memory.writeBytesPerClock) {
        streamBytes = lastCache / 4 * 3;
        resultBytes = streamBytes / 2;
      }
    }
}

int64_t MemoryModel::vectorsAtOnce(int64_t operations, int64_t loads, std::optional<int64_t> trips,
                                   int64_t lanes) const {
  if (!testsLoops || !trips)
    return operations > operationsBesideTest ? 1 : 2;
  return vectorsBetweenTests(*trips / lanes, loads, registerCount);
}

int64_t MemoryModel::lanes(unsigned bits) const {
  if (registerBytes == 0 || bits == 0)
    return 1;
  return std::max<int64_t>(registerBytes * 8 / bits, 1);
}

double MemoryModel::moveSeconds(double read, double written, double footprint) const {
  for (const Rates &memory : memories) {
    bool holds = footprint <= static_cast<double>(memory.bytes) || &memory == &memories.back();
    if (!holds || memory.read <= 0)
      continue;
    // A write rate that nobody measured is that of reads.
    double write = memory.write > 0 ? memory.write : memory.read;
    return (read / memory.read + written / write) / clock;
  }
  return (read + written) / bytesPerClock / clock;
}

double tilewright::lostPart(const Memory &cache, double bytes, double pageBytes) {
  if (double(cache.bytes) <= double(cache.ways) * pageBytes) // every page reaches all sets alike
    return bytes <= double(cache.bytes) ? 0 : 1;
  double mean = bytes * double(cache.ways) / double(cache.bytes);
  double term = std::exp(-mean), kept = 0;
  for (int64_t others = 1; others <= cache.ways; ++others) {
    kept += term;
    term *= mean / double(others);
  }
  return std::max(0.0, 1 - kept);
}

MemoryModel::MoveTime MemoryModel::moveTime(double read, double written, double footprint) const {
  MoveTime time;
  double reached = 1; // part of the bytes that no nearer memory has
  for (const auto &[level, memory] : llvm::enumerate(memories)) {
    const bool isCache = level < caches.size();
    const double lost = isCache ? lostPart(caches[level], footprint, double(page)) : 0;
    const double write = memory.write > 0 ? memory.write : memory.read;
    if (memory.read <= 0)
      continue;
    const double own = (read / memory.read + written / write) / clock;
    if (level == 0)
      time.near = own;
    else if (level == 1 && isCache)
      time.near += reached * std::max(0.0, own - time.near);
    else
      time.beyond += reached * (1 - lost) * own;
    reached *= lost;
  }
  return time;
}

double MemoryModel::seconds(double bytes, double vectorOps) const {
  return std::max(bytes / bytesPerClock, vectorOps / operationsPerClock) / clock;
}
