//===- Shadow.cpp - Which accesses are in order ---------------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Cells of the shadow memory and how an access changes them.
///
//===----------------------------------------------------------------------===//

#include "core/Emulator/Shadow.h"
#include "llvm/Support/ErrorHandling.h"
#include "llvm/Support/MathExtras.h"
#include <algorithm>
#include <cassert>
#include <sys/mman.h>

using namespace tilewright;

void Agents::raise(std::vector<uint32_t> &clocks, const Order &order, const std::vector<uint32_t> *alreadyIn) const {
  if (order.known && order.known.get() != alreadyIn) {
    const std::vector<uint32_t> &known = *order.known;
    for (size_t i = 0, end = known.size(); i < end; ++i)
      clocks[i] = std::max(clocks[i], known[i]);
  }
  clocks[order.self] = std::max(clocks[order.self], order.clock);
  for (unsigned e = 0; e < numEngines; ++e) {
    uint32_t &clock = clocks[engine(e, order.self)];
    clock = std::max(clock, order.waited[e]);
  }
}

void UnmapCells::operator()(ShadowCell *cells) const { munmap(cells, count * sizeof(ShadowCell)); }

void ShadowMemory::reset(uint64_t bytes, unsigned granule, unsigned line, uint32_t first) {
  assert(granule <= line && first && "a line has at least one granule; runs begin at 1");
  // Pages of a small shadow are kept: to clear them costs more than to look at the run.
  static constexpr size_t mostKept = 4 << 20;
  unsigned newGranule = llvm::Log2_32(granule), newLine = llvm::Log2_32(line);
  size_t count = (bytes >> newLine) + 1;
  bool keep = cells && cells.get_deleter().count == count && granuleLog == newGranule && lineLog == newLine &&
              first > firstRun && count * sizeof(ShadowCell) <= mostKept;
  pairs.clear();
  readers.clear();
  granuleLog = newGranule;
  lineLog = newLine;
  firstRun = first;
  if (keep)
    return;
  cells.reset();
  void *zeros = mmap(nullptr, count * sizeof(ShadowCell), PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (zeros == MAP_FAILED)
    llvm::report_bad_alloc_error("no memory for the emulator's shadow of an array");
  cells = decltype(cells)(static_cast<ShadowCell *>(zeros), UnmapCells{count});
}

/// An access under way.
struct ShadowMemory::Access {
  const Agents &agents;
  const Order &order;
  uint32_t agent, clock, run, site;
  AccessKind kind;
  bool needsWrite;
  const llvm::DenseSet<uint32_t> &acquired;
  uint64_t begin, end; // bytes, multiples of the granule
  Conflict conflict;   // the first one

  bool inOrder(uint32_t who, uint32_t when) const {
    return (who == agent && agents.follows(agent, when, clock)) || agents.inOrder(order, who, when);
  }
  void found(Conflict::Kind what, uint64_t offset, uint32_t who, uint32_t when, uint32_t where, bool otherRun) {
    if (conflict.kind == Conflict::None)
      conflict = {what, who, when, where, otherRun, offset};
  }
  bool covers(uint64_t start, unsigned log) const { return begin <= start && start + (uint64_t(1) << log) <= end; }
};

void ShadowMemory::addReader(const Access &access, ShadowCell &cell) {
  bool replaces = cell.readRun != access.run;
  if (!replaces && cell.reader != ShadowCell::manyReaders)
    replaces = cell.reader == access.agent || access.agents.inOrder(access.order, cell.reader, cell.readClock);
  if (replaces) {
    if (cell.readRun && cell.reader == ShadowCell::manyReaders)
      readers.give(cell.readClock);
    cell.reader = access.agent;
    cell.readClock = access.clock;
    cell.readSite = access.site;
    cell.readRun = access.run;
    return;
  }
  if (cell.reader != ShadowCell::manyReaders) {
    uint32_t number = readers.take();
    Readers &list = readers[number];
    list.clear();
    list.push_back({cell.reader, cell.readClock, cell.readSite});
    cell.reader = ShadowCell::manyReaders;
    cell.readClock = number;
  }
  Readers &list = readers[cell.readClock];
  for (Stamp &stamp : list) {
    if (stamp.agent == access.agent || access.agents.inOrder(access.order, stamp.agent, stamp.clock)) {
      stamp = {access.agent, access.clock, access.site}; // whoever comes after this read comes after that one
      return;
    }
  }
  list.push_back({access.agent, access.clock, access.site});
}

/// Checks and records an access to the whole of a span that has no halves.
[[gnu::always_inline]] inline void ShadowMemory::touch(Access &access, ShadowCell &cell, uint64_t start) {
  uint32_t writer = cell.writer & ~ShadowCell::atomicFlag;
  if (!cell.writeRun) {
    if (access.needsWrite && access.kind != AccessKind::Write)
      access.found(Conflict::NeverWritten, start, 0, 0, 0, false);
  } else if (!(access.kind == AccessKind::Atomic && (cell.writer & ShadowCell::atomicFlag))) {
    if (cell.writeRun != access.run) {
      if (!access.acquired.contains(cell.writeRun))
        access.found(Conflict::AfterWrite, start, writer, cell.writeClock, cell.writeSite, true);
    } else if (!access.inOrder(writer, cell.writeClock)) {
      access.found(Conflict::AfterWrite, start, writer, cell.writeClock, cell.writeSite, false);
    }
  }
  if (access.kind == AccessKind::Read) {
    if (cell.reader == access.agent && cell.readRun == access.run)
      cell.readClock = access.clock;
    else
      addReader(access, cell);
    return;
  }
  if (cell.readRun && cell.readRun != access.run) {
    if (!access.acquired.contains(cell.readRun))
      access.found(Conflict::AfterRead, start, 0, 0, cell.readSite, true);
  } else if (cell.readRun && cell.reader != ShadowCell::manyReaders) {
    if (!access.inOrder(cell.reader, cell.readClock))
      access.found(Conflict::AfterRead, start, cell.reader, cell.readClock, cell.readSite, false);
  } else if (cell.readRun) {
    for (const Stamp &stamp : readers[cell.readClock]) {
      if (!access.inOrder(stamp.agent, stamp.clock)) {
        access.found(Conflict::AfterRead, start, stamp.agent, stamp.clock, stamp.site, false);
        break;
      }
    }
  }
  if (cell.readRun && cell.reader == ShadowCell::manyReaders)
    readers.give(cell.readClock);
  cell.readRun = 0;
  cell.writer = access.agent | (access.kind == AccessKind::Atomic ? ShadowCell::atomicFlag : 0);
  cell.writeClock = access.clock;
  cell.writeSite = access.site;
  cell.writeRun = access.run;
}

/// Gives both halves of a span what the whole has.
void ShadowMemory::halve(ShadowCell &cell, uint32_t run) {
  uint32_t number = pairs.take();
  std::array<ShadowCell, 2> &pair = pairs[number];
  pair[0] = pair[1] = cell;
  if (cell.readRun && cell.reader == ShadowCell::manyReaders) {
    uint32_t list = readers.take();
    readers[list] = readers[cell.readClock];
    pair[1].readClock = list;
  }
  cell.writer = ShadowCell::halves;
  cell.writeClock = number;
  cell.writeRun = run;
  cell.readRun = 0;
}

/// The part of an access that lies in the span of 2^log bytes at `start`.
void ShadowMemory::visit(Access &access, ShadowCell &cell, uint64_t start, unsigned log) {
  bool covered = access.covers(start, log);
  if (cell.writer != ShadowCell::halves) {
    if (covered)
      return touch(access, cell, start);
    halve(cell, access.run);
  }
  uint32_t number = cell.writeClock;
  std::array<ShadowCell, 2> &pair = pairs[number];
  uint64_t middle = start + (uint64_t(1) << (log - 1));
  if (access.begin < middle)
    visit(access, pair[0], start, log - 1);
  if (access.end > middle)
    visit(access, pair[1], middle, log - 1);
  if (covered && access.kind != AccessKind::Read) { // both halves hold the same write and no reads
    cell = pair[0];
    pairs.give(number);
  }
}

/// Whether a read of a whole span, in the most common case, has no conflict: `known` has what was written, if any.
static bool writeKnown(const ShadowCell &cell, const uint32_t *known, uint32_t run, bool needsWrite) {
  if (!cell.writeRun)
    return !needsWrite;
  return cell.writeRun == run && cell.writer != ShadowCell::halves &&
         cell.writeClock <= known[cell.writer & ~ShadowCell::atomicFlag];
}

Conflict ShadowMemory::access(const Agents &agents, const Order &order, uint32_t agent, uint32_t clock, uint32_t run,
                              AccessKind kind, uint64_t offset, uint64_t bytes, uint32_t site, bool needsWrite,
                              const llvm::DenseSet<uint32_t> &acquired) {
  if (!bytes)
    return {};
  uint64_t begin = offset >> granuleLog << granuleLog;
  uint64_t end = (((offset + bytes - 1) >> granuleLog) + 1) << granuleLog;
  Access access{agents, order, agent, clock, run, site, kind, needsWrite, acquired, begin, end, {}};
  const uint32_t *known = order.known->data();
  for (uint64_t line = begin >> lineLog, last = (end - 1) >> lineLog; line <= last; ++line) {
    ShadowCell &cell = cells[line];
    uint64_t start = line << lineLog;
    freshen(cell);
    if (kind == AccessKind::Read && access.covers(start, lineLog) && writeKnown(cell, known, run, needsWrite)) {
      if (cell.reader == agent && cell.readRun == run) {
        cell.readClock = clock;
      } else if (!cell.readRun) {
        cell.reader = agent;
        cell.readClock = clock;
        cell.readSite = site;
        cell.readRun = run;
      } else {
        addReader(access, cell);
      }
      continue;
    }
    visit(access, cell, start, lineLog);
  }
  if (access.conflict.kind == Conflict::None)
    return {};
  return access.conflict;
}

const ShadowCell *ShadowMemory::writtenCell(uint64_t offset, uint32_t run) const {
  const ShadowCell *cell = &cells[offset >> lineLog];
  for (unsigned log = lineLog; cell->writeRun >= firstRun && cell->writer == ShadowCell::halves; --log)
    cell = &pairs[cell->writeClock][(offset >> (log - 1)) & 1];
  return cell->writeRun == run && run ? cell : nullptr;
}
