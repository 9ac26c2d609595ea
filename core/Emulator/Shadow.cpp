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

void ShadowMemory::reset(uint64_t bytes, unsigned granule) {
  shift = llvm::Log2_32(granule);
  size_t count = (bytes >> shift) + 1;
  cells.reset();
  void *zeros = mmap(nullptr, count * sizeof(ShadowCell), PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (zeros == MAP_FAILED)
    llvm::report_bad_alloc_error("no memory for the emulator's shadow of an array");
  cells = decltype(cells)(static_cast<ShadowCell *>(zeros), UnmapCells{count});
  readers.clear();
  freeReaders.clear();
}

void ShadowMemory::addReader(const Agents &agents, const Order &order, ShadowCell &cell, uint32_t agent, uint32_t clock,
                             uint32_t run, uint32_t site) {
  bool replaces = cell.readRun != run;
  if (!replaces && cell.reader != ShadowCell::manyReaders)
    replaces = cell.reader == agent || agents.inOrder(order, cell.reader, cell.readClock);
  if (replaces) {
    if (cell.readRun && cell.reader == ShadowCell::manyReaders)
      freeReaders.push_back(cell.readClock);
    cell.reader = agent;
    cell.readClock = clock;
    cell.readSite = site;
    cell.readRun = run;
    return;
  }
  if (cell.reader != ShadowCell::manyReaders) {
    uint32_t index = readers.size();
    if (freeReaders.empty()) {
      readers.emplace_back();
    } else {
      index = freeReaders.back();
      freeReaders.pop_back();
    }
    readers[index] = {{cell.reader, cell.readClock, cell.readSite}};
    cell.reader = ShadowCell::manyReaders;
    cell.readClock = index;
  }
  Readers &list = readers[cell.readClock];
  for (Stamp &stamp : list) {
    if (stamp.agent == agent || agents.inOrder(order, stamp.agent, stamp.clock)) {
      stamp = {agent, clock, site}; // whoever comes after this read comes after that one
      return;
    }
  }
  list.push_back({agent, clock, site});
}

Conflict ShadowMemory::access(const Agents &agents, const Order &order, uint32_t agent, uint32_t clock, uint32_t run,
                              AccessKind kind, uint64_t offset, uint64_t bytes, uint32_t site, bool needsWrite,
                              const llvm::DenseSet<uint32_t> &acquired) {
  Conflict conflict;
  auto found = [&](Conflict::Kind what, uint64_t index, uint32_t who, uint32_t when, uint32_t where, bool otherRun) {
    if (conflict.kind == Conflict::None)
      conflict = {what, who, when, where, otherRun, index << shift};
  };
  auto inOrder = [&](uint32_t who, uint32_t when) {
    return (who == agent && agents.follows(agent, when, clock)) || agents.inOrder(order, who, when);
  };
  uint64_t last = (offset + bytes - 1) >> shift;
  for (uint64_t index = offset >> shift; index <= last; ++index) {
    ShadowCell &cell = cells[index];
    uint32_t writer = cell.writer & ~ShadowCell::atomicFlag;
    if (!cell.writeRun) {
      if (needsWrite && kind != AccessKind::Write)
        found(Conflict::NeverWritten, index, 0, 0, 0, false);
    } else if (!(kind == AccessKind::Atomic && (cell.writer & ShadowCell::atomicFlag))) {
      if (cell.writeRun != run) {
        if (!acquired.contains(cell.writeRun))
          found(Conflict::AfterWrite, index, writer, cell.writeClock, cell.writeSite, true);
      } else if (!inOrder(writer, cell.writeClock)) {
        found(Conflict::AfterWrite, index, writer, cell.writeClock, cell.writeSite, false);
      }
    }
    if (kind == AccessKind::Read) {
      if (cell.reader == agent && cell.readRun == run)
        cell.readClock = clock;
      else
        addReader(agents, order, cell, agent, clock, run, site);
      continue;
    }
    if (cell.readRun && cell.readRun != run) {
      if (!acquired.contains(cell.readRun))
        found(Conflict::AfterRead, index, 0, 0, cell.readSite, true);
    } else if (cell.readRun && cell.reader != ShadowCell::manyReaders) {
      if (!inOrder(cell.reader, cell.readClock))
        found(Conflict::AfterRead, index, cell.reader, cell.readClock, cell.readSite, false);
    } else if (cell.readRun) {
      for (const Stamp &stamp : readers[cell.readClock]) {
        if (!inOrder(stamp.agent, stamp.clock)) {
          found(Conflict::AfterRead, index, stamp.agent, stamp.clock, stamp.site, false);
          break;
        }
      }
    }
    if (cell.readRun && cell.reader == ShadowCell::manyReaders)
      freeReaders.push_back(cell.readClock);
    cell.readRun = 0;
    cell.writer = agent | (kind == AccessKind::Atomic ? ShadowCell::atomicFlag : 0);
    cell.writeClock = clock;
    cell.writeSite = site;
    cell.writeRun = run;
  }
  return conflict;
}
