//===- Shadow.h - Which accesses are in order -------------------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Happens-before. Every lane and every (engine, lane) pair is an *agent* with a
/// clock; an access is stamped (agent, clock). What a lane knows of the others is
/// a vector with one clock an agent: an earlier access is in order with it if its
/// stamp is not above the vector. Barriers join vectors, waits raise the clock of
/// the engine that was waited for:
///
///   lane 3:  copy -> stamp (copies of lane 3, 7)      wait: knows copies of lane 3 up to 7
///            barrier: all lanes know what each of them knew
///   lane 5:  reads the same bytes: its vector has 7 for that agent, in order.
///            Without the barrier or the wait it has 6: a finding, whatever the schedule was.
///
/// Shadow memory has a cell for each span of memory that was accessed as a whole: the last write and the reads since
/// then. A span is a line at first, the widest access of the kernel up to 16 bytes, and halves where an access covers
/// only a part, down to a granule, the smallest access; a write of the whole joins the halves. Both halves begin with
/// what the whole had, so that what is found is what one cell a granule would find:
///
///   line of 16 bytes    copy of 16: one cell       [        copy        ]
///                       lane 5 writes bytes 8-11:  [   copy   |lane 5|c.]
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_EMULATOR_SHADOW_H
#define TILEWRIGHT_CORE_EMULATOR_SHADOW_H

#include "tilewright/Emulation.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/SmallVector.h"
#include <array>
#include <cstdint>
#include <memory>
#include <vector>

namespace tilewright {

inline constexpr unsigned numEngines = 3;
inline constexpr unsigned unitEngine = static_cast<unsigned>(Engine::Unit);

/// One clock an agent. Shared by all lanes that came out of the same barrier.
using Clocks = std::shared_ptr<const std::vector<uint32_t>>;

/// What one lane knows.
struct Order {
  Clocks known;                              // of the others
  uint32_t self = 0;                         // agent of the lane: its number in the cluster
  uint32_t clock = 1;                        // its own
  std::array<uint32_t, numEngines> waited{}; // its own engines
};

/// Agents of a cluster of `lanes` lanes: the lanes, then for each engine one for each lane.
struct Agents {
  uint32_t lanes = 0;
  uint32_t subgroupSize = 1;
  bool inOrderSubgroups = false; // lanes of a subgroup need no barrier between them

  uint32_t count() const { return lanes * (1 + numEngines); }
  uint32_t engine(unsigned engine, uint32_t lane) const { return lanes * (1 + engine) + lane; }
  bool isLane(uint32_t agent) const { return agent < lanes; }
  uint32_t laneOf(uint32_t agent) const { return agent % lanes; }
  unsigned engineOf(uint32_t agent) const { return agent / lanes - 1; }
  /// Whether a command stamped (agent, later) comes after one stamped (agent, earlier) by itself: it is the same
  /// command, or a matrix unit, which executes in the order of issue.
  bool follows(uint32_t agent, uint32_t earlier, uint32_t later) const {
    return earlier == later || (!isLane(agent) && engineOf(agent) == unitEngine);
  }
  /// Whether an access stamped (agent, clock) is known to `order`.
  bool inOrder(const Order &order, uint32_t agent, uint32_t clock) const {
    if (clock <= (*order.known)[agent]) // the most common; nobody knows more of a lane than itself
      return true;
    if (agent == order.self)
      return clock <= order.clock;
    if (isLane(agent))
      return inOrderSubgroups && agent / subgroupSize == order.self / subgroupSize;
    for (unsigned e = 0; e < numEngines; ++e) {
      if (agent == engine(e, order.self))
        return clock <= order.waited[e];
    }
    return false;
  }
  /// Writes all that `order` knows into `clocks`, keeping what is later.
  void raise(std::vector<uint32_t> &clocks, const Order &order, const std::vector<uint32_t> *alreadyIn = nullptr) const;
};

enum class AccessKind : uint8_t { Read, Write, Atomic };

/// The last accesses to one span of memory. `run` numbers the clusters of a device from 1 on; 0: none yet.
struct ShadowCell {
  uint32_t writer = 0, writeClock = 0, writeSite = 0, writeRun = 0;
  uint32_t reader = 0, readClock = 0, readSite = 0, readRun = 0;
  static constexpr uint32_t atomicFlag = 1u << 31; // of `writer`
  static constexpr uint32_t halves = ~0u;          // as `writer`: `writeClock` is a number of ShadowMemory::pairs
  static constexpr uint32_t manyReaders = ~0u;     // `readClock` is then a number of ShadowMemory::readers
};

/// Pages of a mapping go back.
struct UnmapCells {
  size_t count = 0;
  void operator()(ShadowCell *cells) const;
};

/// What is not in order.
struct Conflict {
  enum Kind { None, AfterWrite, AfterRead, NeverWritten } kind = None;
  uint32_t agent = 0, clock = 0, site = 0; // of the earlier access
  bool otherRun = false;                   // of another cluster
  uint64_t offset = 0;                     // first byte concerned
};

/// Objects by number that keep their places and their memory.
template <typename T> class NumberedPool {
public:
  T &operator[](uint32_t number) { return chunks[number / chunk][number % chunk]; }
  const T &operator[](uint32_t number) const { return chunks[number / chunk][number % chunk]; }
  /// One that nobody uses; it holds what its last user left.
  uint32_t take() {
    if (!free.empty()) {
      uint32_t number = free.back();
      free.pop_back();
      return number;
    }
    if (used == chunks.size() * chunk)
      chunks.push_back(std::make_unique<T[]>(chunk));
    return used++;
  }
  void give(uint32_t number) { free.push_back(number); }
  /// Takes all back.
  void clear() {
    used = 0;
    free.clear();
  }

private:
  static constexpr uint32_t chunk = 128;
  std::vector<std::unique_ptr<T[]>> chunks;
  std::vector<uint32_t> free;
  uint32_t used = 0;
};

/// The shadow of one scratchpad or buffer. Only what accesses touch takes memory and time: a launch that reads a corner
/// of an array of many GiB costs what the corner does.
class ShadowMemory {
public:
  /// Forgets all accesses. `granule`, `line`: bytes, powers of two, the smallest and the largest span with a cell of
  /// its own. `firstRun`: the runs before it have ended and are not seen any more.
  void reset(uint64_t bytes, unsigned granule, unsigned line, uint32_t firstRun);
  bool empty() const { return !cells; }

  /// Records an access stamped (agent, clock) by something that knows `order`; returns the first conflict.
  /// `needsWrite`: reading what nobody wrote is one. `acquired`: other runs that are known to have ended.
  Conflict access(const Agents &agents, const Order &order, uint32_t agent, uint32_t clock, uint32_t run,
                  AccessKind kind, uint64_t offset, uint64_t bytes, uint32_t site, bool needsWrite,
                  const llvm::DenseSet<uint32_t> &acquired);

  /// Who wrote the granule at `offset` in this run, and when; null: nobody.
  const ShadowCell *writtenCell(uint64_t offset, uint32_t run) const;

private:
  struct Access;
  void visit(Access &access, ShadowCell &cell, uint64_t start, unsigned log);
  void touch(Access &access, ShadowCell &cell, uint64_t start);
  void addReader(const Access &access, ShadowCell &cell);
  void halve(ShadowCell &cell, uint32_t run);
  /// What a span holds of runs before the first one counts for nothing.
  void freshen(ShadowCell &cell) const {
    if (cell.writeRun < firstRun)
      cell.writer = cell.writeRun = 0;
    if (cell.readRun < firstRun)
      cell.readRun = 0;
  }

  unsigned granuleLog = 0, lineLog = 0;
  uint32_t firstRun = 0;
  std::unique_ptr<ShadowCell[], UnmapCells> cells; // of the lines; zeros at first
  NumberedPool<std::array<ShadowCell, 2>> pairs;   // halves
  /// Reads of a span that are in no order with each other.
  struct Stamp {
    uint32_t agent, clock, site;
  };
  using Readers = llvm::SmallVector<Stamp, 4>;
  NumberedPool<Readers> readers;
};

} // namespace tilewright

#endif // TILEWRIGHT_CORE_EMULATOR_SHADOW_H
