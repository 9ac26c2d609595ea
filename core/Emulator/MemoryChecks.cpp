//===- MemoryChecks.cpp - Memory accesses checked and counted -------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Where an address lies, whether an access may go there and is in order, and
/// what the accesses of a subgroup cost together.
///
/// Lanes run one after the other, so each logs its accesses; when all lanes of a
/// subgroup are at a barrier, the i-th executions of an op by its lanes are
/// taken for one instruction.
///
//===----------------------------------------------------------------------===//

#include "core/Emulator/AsyncEngines.h"
#include "core/Emulator/Machine.h"
#include "llvm/Support/FormatVariadic.h"
#include <algorithm>

using namespace tilewright;
using llvm::formatv;

/// Inlined where each access comes by.
[[gnu::always_inline]] static inline MemoryPlace placeOf(Machine &machine, Lane &lane, const void *address) {
  auto *byte = static_cast<const char *>(address);
  MemoryPlace place;
  uint64_t inWindow = byte - machine.window;
  if (inWindow < Machine::windowStride * lane.cluster->blocks.size()) {
    place.block = &lane.cluster->blocks[inWindow / Machine::windowStride];
    place.offset = inWindow % Machine::windowStride;
    if (place.offset < place.block->scratchpadBytes) {
      place.kind = MemoryPlace::Scratchpad;
      place.room = place.block->scratchpadBytes - place.offset;
    }
    return place;
  }
  auto inside = [&](Buffer &buffer) {
    if (byte < buffer.data || byte >= buffer.data + buffer.bytes)
      return false;
    place.kind = MemoryPlace::Global;
    place.buffer = &buffer;
    place.offset = byte - buffer.data;
    place.room = buffer.bytes - place.offset;
    return true;
  };
  auto &buffers = machine.buffers;
  if (lane.lastBuffer < buffers.size() && inside(*buffers[lane.lastBuffer]))
    return place;
  auto next = std::upper_bound(buffers.begin(), buffers.end(), byte,
                               [](const char *b, const std::unique_ptr<Buffer> &buffer) { return b < buffer->data; });
  if (next != buffers.begin() && inside(**std::prev(next))) {
    lane.lastBuffer = std::prev(next) - buffers.begin();
    return place;
  }
  if (machine.stacks.contains(lane.number, byte))
    place.kind = MemoryPlace::Private;
  return place;
}

MemoryPlace Machine::locate(Lane &lane, const void *address) { return placeOf(*this, lane, address); }

static const char *spaceName(Space space) {
  return space == Space::Scratchpad || space == Space::Cluster ? "scratchpad" : "global";
}

static const char *verbOf(AccessKind kind) {
  return kind == AccessKind::Read ? "reads" : kind == AccessKind::Write ? "writes" : "updates";
}

/// Which fence lets an access pass a bare barrier that stands between it and the earlier one; null: no such barrier.
static const char *missingFence(const Lane &lane, const Conflict &conflict) {
  const AccessFences &fences = lane.fences;
  if (fences.joined && conflict.clock <= (*fences.joined)[conflict.agent])
    return "and a fence is missing between it and the second access";
  if (fences.arrivals && conflict.agent < fences.arrivals->size() &&
      conflict.clock <= (*fences.arrivals)[conflict.agent])
    return "and a fence, or the wait after it, is missing between the first access and it";
  return nullptr;
}

/// Reports an access that is in no order with an earlier one.
[[gnu::noinline]] static void reportConflict(Machine &machine, const Lane &lane, const MemoryPlace &place,
                                             uint32_t site, AccessKind kind, const Conflict &conflict) {
  const char *verb = verbOf(kind);
  std::string bytesText = formatv("byte {0} of {1} memory", conflict.offset, place.block ? "scratchpad" : "global");
  if (conflict.kind == Conflict::NeverWritten) {
    machine.report(FindingKind::Uninitialised, site, site, [&] {
      return formatv("{0} reads {1}, which nobody has written", machine.name(lane), bytesText).str();
    });
    return;
  }
  const char *before = conflict.kind == Conflict::AfterWrite ? "write" : "read";
  if (conflict.otherRun) {
    machine.report(FindingKind::Race, site, conflict.site, [&] {
      return formatv("{0} {1} {2}, in no order with the {3} by another block", machine.name(lane), verb, bytesText,
                     before)
          .str();
    });
    return;
  }
  const Agents &agents = lane.cluster->agents;
  const Lane &other = lane.cluster->lanes[agents.laneOf(conflict.agent)];
  static const char *const words[] = {"copy", "matrix unit", "store"};
  bool byEngine = !agents.isLane(conflict.agent);
  // Where its lane has waited for it, what is missing is the barrier between the lanes.
  bool awaited = byEngine && conflict.clock <= other.order.waited[agents.engineOf(conflict.agent)];
  if (const char *fence = missingFence(lane, conflict)) {
    machine.report(FindingKind::MissingFence, site, conflict.site, [&] {
      return formatv(
                 "{0} {1} {2}, in no order with its {3} by {4}{5}: the barrier between them lets accesses pass, {6}",
                 machine.name(lane), verb, bytesText, before, byEngine ? "a command of " : "", machine.name(other),
                 fence)
          .str();
    });
    return;
  }
  machine.report(byEngine && !awaited ? FindingKind::MissingWait : FindingKind::Race, site, conflict.site, [&] {
    std::string who = machine.name(other);
    if (byEngine)
      who = formatv("the {0} that {1} issued", words[agents.engineOf(conflict.agent)], who);
    return formatv("{0} {1} {2}, in no order with its {3} by {4}: a {5} is missing between them", machine.name(lane),
                   verb, bytesText, before, who, byEngine && !awaited ? "wait" : "barrier")
        .str();
  });
}

bool Machine::check(Lane &lane, const Order &order, uint32_t agent, uint32_t clock, uint32_t site, const void *address,
                    uint64_t bytes, uint64_t align, AccessKind kind, Space space) {
  if (bytes == 0)
    return true;
  MemoryPlace place = placeOf(*this, lane, address);
  if (place.kind == MemoryPlace::Private && space == Space::Generic)
    return true;
  bool wantsScratchpad = space == Space::Scratchpad || space == Space::Cluster;
  bool fits = place.kind != MemoryPlace::Nowhere && place.kind != MemoryPlace::Private && place.room >= bytes;
  if (space != Space::Generic)
    fits &= wantsScratchpad == (place.kind == MemoryPlace::Scratchpad);
  if (fits && space == Space::Scratchpad)
    fits = place.block == lane.block;
  if (!fits) {
    report(FindingKind::OutOfBounds, site, site, [&] {
      std::string where;
      if (place.block)
        where = formatv("at byte {0} of a scratchpad of {1}", place.offset, place.block->scratchpadBytes);
      else if (place.buffer)
        where = formatv("at byte {0} of a buffer of {1}", place.offset, place.buffer->bytes);
      else
        where =
            formatv("at {0}, where no {1} memory is", address, space == Space::Generic ? "known" : spaceName(space));
      return formatv("{0} {1} {2} bytes {3}", name(lane), verbOf(kind), bytes, where).str();
    });
    return false;
  }
  bool powerOf2 = (align & (align - 1)) == 0; // nearly always: no division
  if (powerOf2 ? reinterpret_cast<uint64_t>(address) & (align - 1) : reinterpret_cast<uint64_t>(address) % align) {
    report(FindingKind::Misaligned, site, site, [&] {
      return formatv("{0} {1} {2} bytes at byte {3} of {4} memory; the access needs an alignment of {5}", name(lane),
                     verbOf(kind), bytes, place.offset, place.block ? "scratchpad" : "global", align)
          .str();
    });
  }
  ShadowMemory &shadow = place.block ? place.block->shadow : place.buffer->shadow;
  Cluster &cluster = *lane.cluster;
  Conflict conflict = shadow.access(cluster.agents, order, agent, clock, cluster.run, kind, place.offset, bytes, site,
                                    place.kind == MemoryPlace::Scratchpad, cluster.acquired);
  if (conflict.kind == Conflict::None)
    return true;
  reportConflict(*this, lane, place, site, kind, conflict);
  return true;
}

void Machine::checkFence(Lane &lane, uint32_t site, const void *address) {
  MemoryPlace place = locate(lane, address);
  if (!kernels->table.fencedEngines || place.kind != MemoryPlace::Scratchpad)
    return;
  Cluster &cluster = *lane.cluster;
  const ShadowCell *cell = place.block->shadow.writtenCell(place.offset, cluster.run);
  uint32_t writer = cell ? cell->writer & ~ShadowCell::atomicFlag : 0;
  if (!cell || !cluster.agents.isLane(writer) || cluster.lanes[writer].fenced >= cell->writeClock)
    return;
  report(FindingKind::MissingFence, site, cell->writeSite, [&] {
    return formatv("{0} lets an engine use byte {1} of scratchpad memory, which {2} wrote: a fence before engines is "
                   "missing after the write",
                   name(lane), place.offset, name(cluster.lanes[writer]))
        .str();
  });
}

void Machine::checkFence(Lane &lane, uint32_t site, const BarrierObject &object) {
  const Lane &maker = lane.cluster->lanes[object.maker];
  if (!kernels->table.fencedEngines || maker.fenced >= object.made)
    return;
  report(FindingKind::MissingFence, site, object.madeSite, [&] {
    return formatv("{0} lets an engine complete at a barrier object that {1} made: a fence is missing after its making",
                   name(lane), name(maker))
        .str();
  });
}

void *Machine::access(Lane &lane, uint32_t siteIndex, void *address) {
  const Site &site = kernels->sites[siteIndex];
  if (checks) {
    if (!check(lane, lane.order, lane.order.self, lane.order.clock, siteIndex, address, site.bytes, site.align,
               site.kind, site.space))
      return site.kind == AccessKind::Read ? poison.data() : trash.data();
    if (site.kind == AccessKind::Atomic) {
      // An atomic access orders what came before it in those who accessed the same address before.
      uint64_t key = reinterpret_cast<uint64_t>(address);
      std::vector<uint32_t> &runs = atomicReleases[key];
      lane.cluster->acquired.insert(runs.begin(), runs.end());
      if (runs.empty() || runs.back() != lane.cluster->run) {
        runs.push_back(lane.cluster->run);
        atomicClocks[key] = nullptr;
      }
      Clocks &clocks = atomicClocks[key];
      acquire(lane, clocks);
      std::vector<uint32_t> raised = clocks ? *clocks : std::vector<uint32_t>();
      release(lane, raised);
      clocks = std::make_shared<std::vector<uint32_t>>(std::move(raised));
    }
  }
  log(lane, siteIndex, address);
  if (timed)
    addClocks(lane, static_cast<char *>(address), site.bytes, 1, site.kind,
              llvm::divideCeil(site.bytes, std::max<int64_t>(4, kernels->chip->vectorRegisters().second)));
  return address;
}

void Machine::addClocks(Lane &lane, const char *address, int64_t bytes, int64_t count, AccessKind kind,
                        double counted) {
  const uint64_t inWindow = reinterpret_cast<uint64_t>(address) - reinterpret_cast<uint64_t>(window);
  if (inWindow >= windowStride * maxBlocksInCluster) {
    if (!stacks.contains(address))
      lane.accessClocks += count * kernels->coreAccess.globalClocks(bytes, kind == AccessKind::Read) - counted;
    return;
  }
  lane.accessClocks += count > 1 || counted == 0 ? count - counted : 0;
  if (kind != AccessKind::Read)
    dropHeld(lane, address, bytes * count);
}

void *Machine::accessRange(Lane &lane, uint32_t siteIndex, char *address, int64_t begin, int64_t end,
                           int64_t elementBytes) {
  const Site &site = kernels->sites[siteIndex];
  if (checks && !check(lane, lane.order, lane.order.self, lane.order.clock, siteIndex, address + begin, end - begin,
                       site.align, site.kind, site.space))
    return site.kind == AccessKind::Read ? poison.data() : trash.data();
  if (counting)
    count(siteIndex, reinterpret_cast<uint64_t>(address + begin), 0u, end - begin);
  if (timed) {
    const bool isSingle = kernels->coreAccess.elementClocks(elementBytes).has_value();
    // Masked loads count as one instruction, masked stores as none.
    addClocks(lane, address + begin, isSingle ? elementBytes : end - begin, isSingle ? (end - begin) / elementBytes : 1,
              site.kind, site.kind == AccessKind::Read);
  }
  return address;
}

//===----------------------------------------------------------------------===//
// Counting
//===----------------------------------------------------------------------===//

void Machine::count(uint32_t siteIndex, llvm::ArrayRef<uint64_t> addresses, llvm::ArrayRef<unsigned> lanes,
                    unsigned bytes) {
  const Site &site = kernels->sites[siteIndex];
  uint64_t inWindow = addresses.front() - reinterpret_cast<uint64_t>(window);
  if (inWindow < windowStride * maxBlocksInCluster) {
    SiteCount &counted = scratchpadCounts[siteIndex];
    ++counted.executions;
    counted.bytes += uint64_t(bytes) * addresses.size();
    std::vector<std::vector<unsigned>> groups;
    if (kernels->table.bankGroups)
      groups = kernels->table.bankGroups(bytes, site.kind != AccessKind::Read);
    Banks::Cost cost = banks.cost(addresses, lanes, bytes, groups);
    counted.cycles += cost.cycles;
    counted.conflicts += cost.conflicts;
    return;
  }
  if (site.space == Space::Generic && stacks.contains(reinterpret_cast<void *>(addresses.front())))
    return;
  SiteCount &counted = globalCounts[siteIndex];
  ++counted.executions;
  counted.bytes += uint64_t(bytes) * addresses.size();
  counted.transactions += countSectors(addresses, bytes, kernels->sectorBytes);
}

void Machine::flush(Subgroup &subgroup) {
  if (!counting)
    return;
  llvm::ArrayRef<Lane *> lanes = subgroup.lanes;
  size_t length = lanes.front()->log.size();
  bool equal = true, any = length != 0;
  for (Lane *lane : lanes) {
    equal &= lane->log.size() == length;
    any |= !lane->log.empty();
  }
  if (!any)
    return;
  llvm::SmallVector<uint64_t, 64> addresses;
  llvm::SmallVector<unsigned, 64> numbers;
  if (equal) {
    for (size_t i = 0; i < length && equal; ++i) {
      for (Lane *lane : lanes)
        equal &= lane->log[i].site == lanes.front()->log[i].site;
    }
  }
  auto countOne = [&](uint32_t site) {
    site &= ~destination;
    count(site, addresses, numbers, kernels->sites[site].bytes);
    addresses.clear();
    numbers.clear();
  };
  if (equal) {
    for (size_t i = 0; i < length; ++i) {
      for (auto [number, lane] : llvm::enumerate(lanes)) {
        addresses.push_back(lane->log[i].address);
        numbers.push_back(number);
      }
      countOne(lanes.front()->log[i].site);
    }
  } else {
    // (site, how many times the lane executed it before) -> lanes with their addresses.
    std::map<std::pair<uint32_t, uint32_t>, std::vector<std::pair<unsigned, uint64_t>>> instructions;
    llvm::DenseMap<uint32_t, uint32_t> times;
    for (auto [number, lane] : llvm::enumerate(lanes)) {
      times.clear();
      for (const Lane::Logged &logged : lane->log)
        instructions[{logged.site, times[logged.site]++}].push_back({number, logged.address});
    }
    for (const auto &[key, accesses] : instructions) {
      for (const auto &[number, address] : accesses) {
        addresses.push_back(address);
        numbers.push_back(number);
      }
      countOne(key.first);
    }
  }
  for (Lane *lane : lanes)
    lane->log.clear();
}
