//===- AsyncEngines.cpp - Engines that work beside the lanes --------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Commands, groups and waits; tiles of arrays; clocks of the engines.
///
//===----------------------------------------------------------------------===//

#include "core/Emulator/AsyncEngines.h"
#include "core/Emulator/Barriers.h"
#include "llvm/Support/FormatVariadic.h"
#include <cmath>

using namespace tilewright;
using llvm::formatv;

//===----------------------------------------------------------------------===//
// Clocks of engines
//===----------------------------------------------------------------------===//

void tilewright::advance(Lane &lane) {
  Machine &machine = *lane.machine;
  if (!machine.timed)
    return;
  const auto &blocks = machine.kernels->blocks;
  lane.costed.resize(blocks.size());
  double cycles = 0;
  for (size_t i = 0, end = blocks.size(); i < end; ++i) {
    cycles += (lane.blockCounts[i] - lane.costed[i]) * blocks[i].cycles;
    lane.costed[i] = lane.blockCounts[i];
  }
  cycles += lane.accessClocks;
  lane.accessClocks = 0;
  lane.now += cycles;
  machine.engineCounters[numEngines].busyCycles += cycles;
  machine.record(lane, numEngines, lane.now, cycles, 0);
}

void tilewright::waitUntil(Lane &lane, double end) {
  double cycles = end - lane.now;
  if (cycles <= 0)
    return;
  lane.now = end;
  lane.machine->record(lane, coreWaits, end, cycles, 0);
}

/// A full queue takes a command when its oldest one has left it.
static void awaitPlace(Lane &lane, EngineQueue &queue, size_t depth) {
  if (queue.uncounted.size() >= depth)
    countUnits(lane, queue.uncounted[queue.uncounted.size() - depth].stamp);
  if (queue.ends.size() + queue.uncounted.size() < depth)
    return;
  const auto leaves = queue.ends.end() - (depth - queue.uncounted.size());
  waitUntil(lane, *leaves);
  queue.ends.erase(queue.ends.begin(), leaves + 1);
}

double tilewright::occupy(Lane &lane, unsigned engine, double cycles, uint64_t bytes) {
  Machine &machine = *lane.machine;
  EngineCounters &counters = machine.engineCounters[engine];
  ++counters.commands;
  counters.bytes += bytes;
  if (!machine.timed)
    return 0;
  advance(lane);
  counters.busyCycles += cycles;
  EngineQueue &queue = lane.engines[engine];
  if (size_t depth = machine.kernels->rates[engine].queueDepth) {
    awaitPlace(lane, queue, depth);
    queue.ends.push_back(std::max(queue.freeAt, lane.now) + cycles);
  }
  queue.freeAt = std::max(queue.freeAt, lane.now) + cycles;
  machine.record(lane, engine, queue.freeAt, cycles, bytes);
  return queue.lastEnd = queue.freeAt;
}

void tilewright::dropHeld(Lane &lane, const char *address, int64_t bytes) {
  HeldOperand &held = lane.engines[static_cast<unsigned>(Engine::Unit)].held;
  auto begin = reinterpret_cast<uint64_t>(address);
  if (held.unit && begin + bytes > held.address && begin < held.address + held.rows * held.pitch)
    held = {};
}

void tilewright::issueClocks(Lane &lane, const UnitRunner &runner, uint32_t stamp, const MemoryOperand *operands) {
  const Machine &machine = *lane.machine;
  const MatrixUnit &unit = runner.unit;
  EngineQueue &queue = lane.engines[static_cast<unsigned>(Engine::Unit)];
  if (unit.queueDepth)
    awaitPlace(lane, queue, unit.queueDepth);
  UnitClocks issued{stamp, lane.now, unit.issue, std::max(0.0, unit.latency - unit.issue), {}};
  auto streamOf = [&](int i) {
    const UnitOperand &operand = i == 0 ? unit.a : unit.b;
    const auto offset = static_cast<int64_t>(operands[i].address - reinterpret_cast<uint64_t>(lane.block->scratchpad));
    return RowStream{offset, operands[i].pitch, operand.rows, operand.cols * bitWidth(operand.element) / 8};
  };
  bool loads = false;
  if (unit.stationary) {
    const int i = unit.stationary == 'A' ? 0 : 1;
    HeldOperand &held = queue.held;
    loads = held.address != operands[i].address || held.pitch != operands[i].pitch || held.unit != &runner;
    held = {operands[i].address, operands[i].pitch, i == 0 ? unit.a.rows : unit.b.rows, &runner};
    issued.clocks += loads ? unit.loadStationary : 0;
  }
  if (machine.kernels->scratchpad && unit.a.memory == machine.kernels->scratchpad->name &&
      unit.b.memory == unit.a.memory)
    issued.traffic = trafficOf(unit, streamOf(0), streamOf(1), loads);
  queue.uncounted.push_back(issued);
}

/// The banks that a copy engine holds at `clock`.
static uint64_t banksAt(const EngineBeats &beats, double clock, const Memory &memory) {
  if (clock < beats.begin || clock >= beats.end)
    return 0;
  const double perRow = beatsOf(1, beats.rows.rowBytes, beats.bytesPerClock, beats.alignBytes);
  const auto beat = static_cast<int64_t>(clock - beats.begin), row = static_cast<int64_t>(beat / perRow);
  const auto offset = static_cast<int64_t>((beat - row * perRow) * beats.bytesPerClock);
  const auto bytes = std::min<int64_t>(std::max(1.0, beats.bytesPerClock), beats.rows.rowBytes - offset);
  return banksOf(beats.rows.address + row * beats.rows.pitch + offset, bytes, memory);
}

void tilewright::countUnits(Lane &lane, uint32_t stamp) {
  const Machine &machine = *lane.machine;
  constexpr unsigned e = static_cast<unsigned>(Engine::Unit);
  EngineQueue &queue = lane.engines[e];
  EngineQueue *copies[] = {&lane.engines[static_cast<unsigned>(Engine::Copy)],
                           &lane.engines[static_cast<unsigned>(Engine::Store)]};
  size_t commit =
      llvm::find_if(queue.commitEnds, [](double end) { return std::isnan(end); }) - queue.commitEnds.begin();
  auto finishCommits = [&](uint32_t before) { // those of commands older than `before`
    for (; commit < queue.commits.size() && queue.commits[commit] < before; ++commit)
      queue.commitEnds[commit] = queue.lastEnd;
  };
  while (!queue.uncounted.empty() && queue.uncounted.front().stamp <= stamp) {
    UnitClocks unit = queue.uncounted.front();
    queue.uncounted.pop_front();
    finishCommits(unit.stamp);
    const double begin = std::max(queue.freeAt, unit.ready);
    for (EngineQueue *copy : copies)
      while (!copy->beats.empty() && copy->beats.front().end <= begin)
        copy->beats.pop_front();
    double waits = 0;
    if (machine.kernels->scratchpad)
      waits = bankWaits(unit.traffic, *machine.kernels->scratchpad, [&](int64_t clock) {
        uint64_t banks = 0;
        for (EngineQueue *copy : copies)
          for (const EngineBeats &beats : copy->beats) {
            if (beats.begin > begin + clock)
              break;
            banks |= banksAt(beats, begin + clock, *machine.kernels->scratchpad);
          }
        return banks;
      });
    queue.freeAt = begin + unit.clocks + waits;
    // What follows may begin now, and the instruction leaves the queue; the results are there later.
    queue.lastEnd = queue.freeAt + unit.latency;
    queue.ends.erase(queue.ends.begin(), llvm::find_if(queue.ends, [&](double end) { return end > lane.now; }));
    queue.ends.push_back(queue.freeAt);
    lane.machine->engineCounters[e].busyCycles += unit.clocks + waits;
    lane.machine->record(lane, e, queue.freeAt, unit.clocks + waits, 0);
  }
  finishCommits(queue.uncounted.empty() ? ~0u : queue.uncounted.front().stamp);
}

//===----------------------------------------------------------------------===//
// Copies
//===----------------------------------------------------------------------===//

static void perform(const Transfer &transfer) {
  if (transfer.rows == 1 && transfer.rowBytes == 16 && transfer.valid >= 16 &&
      !transfer.elementBytes) { // the most common one
    std::memcpy(transfer.to, transfer.from, 16);
    return;
  }
  if (uint32_t size = transfer.elementBytes) {
    for (uint32_t row = 0; row < transfer.rows; ++row)
      for (uint32_t col = 0; col < transfer.rowBytes / size; ++col)
        std::memcpy(transfer.to + col * transfer.toPitch + row * size,
                    transfer.from + row * transfer.fromPitch + col * size, size);
    return;
  }
  for (uint32_t row = 0; row < transfer.rows; ++row) {
    char *to = transfer.to + row * transfer.toPitch;
    uint32_t valid = std::min(transfer.valid, transfer.rowBytes);
    std::memcpy(to, transfer.from + row * transfer.fromPitch, valid);
    std::memset(to + valid, 0, transfer.rowBytes - valid);
  }
}

void tilewright::copyAsync(Lane &lane, uint32_t site, Engine engine, Transfer transfer, uint64_t align) {
  Machine &machine = *lane.machine;
  unsigned e = static_cast<unsigned>(engine);
  EngineQueue &queue = lane.engines[e];
  transfer.stamp = queue.lastCopy = ++queue.issued;
  transfer.site = queue.lastSite = site;
  uint32_t valid = std::min(transfer.valid, transfer.rowBytes);
  struct {
    uint32_t rows, rowBytes;
  } written = {transfer.rows, transfer.rowBytes};
  if (uint32_t size = transfer.elementBytes)
    written = {transfer.rowBytes / size, transfer.rows * size};
  if (machine.checks) {
    uint32_t agent = lane.cluster->agents.engine(e, lane.number);
    auto access = [&](const char *address, uint32_t bytes, uint64_t multiple, AccessKind kind) {
      return machine.check(lane, lane.order, agent, transfer.stamp, site, address, bytes, multiple, kind,
                           Space::Generic);
    };
    bool fits = true;
    for (uint32_t row = 0; row < transfer.rows && fits; ++row)
      fits = access(transfer.from + row * transfer.fromPitch, valid, valid == transfer.rowBytes ? align : 1,
                    AccessKind::Read);
    for (uint32_t row = 0; row < written.rows && fits; ++row)
      fits = access(transfer.to + row * transfer.toPitch, written.rowBytes, align, AccessKind::Write);
    ++lane.order.clock; // what the lane does from now on is in no order with the copy
    if (!fits)
      return;
  }
  // Lanes of a subgroup that copy a segment each, of as many bytes as the op always has, are one instruction.
  if (transfer.rows == 1 && machine.kernels->sites[site].bytes == transfer.rowBytes && transfer.rowBytes <= 16 &&
      !transfer.elementBytes) {
    if (valid)
      machine.log(lane, site, transfer.from);
    machine.log(lane, site | Machine::destination, transfer.to);
  } else if (machine.counting) {
    for (uint32_t row = 0; row < transfer.rows && valid; ++row)
      machine.count(site, reinterpret_cast<uint64_t>(transfer.from + row * transfer.fromPitch), 0u, valid);
    for (uint32_t row = 0; row < written.rows; ++row)
      machine.count(site, reinterpret_cast<uint64_t>(transfer.to + row * transfer.toPitch), 0u, written.rowBytes);
  }
  uint64_t bytes = uint64_t(transfer.rows) * transfer.rowBytes;
  double cycles = 0;
  if (machine.timed) {
    const EngineRate &rate = (transfer.elementBytes ? machine.kernels->transposing : machine.kernels->rates)[e];
    if (rate.burstBytes && transfer.rowBytes > rate.burstBytes)
      machine.report(FindingKind::Misuse, site, site, [&] {
        return formatv("{0} moves rows of {1} bytes; the engine takes at most {2} at a time", machine.name(lane),
                       transfer.rowBytes, rate.burstBytes)
            .str();
      });
    cycles = rate.latency + (transfer.elementBytes
                                 ? bytes / rate.bytesPerClock
                                 : beatsOf(transfer.rows, transfer.rowBytes, rate.bytesPerClock, rate.alignBytes));
  }
  const double end = occupy(lane, e, cycles, bytes);
  if (machine.timed && engine == Engine::Copy)
    for (uint32_t row = 0; row < written.rows; ++row)
      dropHeld(lane, transfer.to + row * transfer.toPitch, written.rowBytes);
  if (machine.timed && !machine.kernels->units.empty() && !transfer.elementBytes) {
    const EngineRate &rate = machine.kernels->rates[e];
    const char *near = engine == Engine::Copy ? transfer.to : transfer.from;
    const int64_t pitch = engine == Engine::Copy ? transfer.toPitch : transfer.fromPitch;
    queue.beats.push_back({end - cycles + rate.latency,
                           end,
                           {near - lane.block->scratchpad, pitch, transfer.rows, transfer.rowBytes},
                           rate.bytesPerClock,
                           rate.alignBytes});
  }
  if (machine.mode.late & (1u << e))
    queue.copies.push_back(transfer);
  else
    perform(transfer);
}

void tilewright::commit(Lane &lane, Engine engine) {
  EngineQueue &queue = lane.engines[static_cast<unsigned>(engine)];
  queue.commits.push_back(queue.issued);
  queue.commitEnds.push_back(queue.uncounted.empty() ? queue.lastEnd : std::nan(""));
}

void tilewright::wait(Lane &lane, uint32_t site, Engine engine, int32_t pending) {
  Machine &machine = *lane.machine;
  unsigned e = static_cast<unsigned>(engine);
  EngineQueue &queue = lane.engines[e];
  if (pending < 0) {
    machine.report(FindingKind::Misuse, site, site,
                   [&] { return formatv("{0} waits for all but {1} groups", machine.name(lane), pending).str(); });
    return;
  }
  if (queue.commits.size() <= static_cast<size_t>(pending))
    return;
  size_t finished = queue.commits.size() - pending;
  uint32_t stamp = queue.commits[finished - 1];
  lane.order.waited[e] = std::max(lane.order.waited[e], stamp);
  if (machine.timed) {
    advance(lane);
    if (engine == Engine::Unit)
      countUnits(lane, stamp);
    waitUntil(lane, queue.commitEnds[finished - 1]);
  }
  queue.commits.erase(queue.commits.begin(), queue.commits.begin() + finished);
  queue.commitEnds.erase(queue.commitEnds.begin(), queue.commitEnds.begin() + finished);
  auto copy = queue.copies.begin();
  for (; copy != queue.copies.end() && copy->stamp <= stamp; ++copy)
    perform(*copy);
  queue.copies.erase(queue.copies.begin(), copy);
  auto unit = queue.units.begin();
  for (; unit != queue.units.end() && unit->stamp <= stamp; ++unit)
    unit->run();
  queue.units.erase(queue.units.begin(), unit);
  auto tensor = queue.tensors.begin();
  for (; tensor != queue.tensors.end() && tensor->stamp <= stamp; ++tensor)
    land(*lane.cluster, *tensor);
  queue.tensors.erase(queue.tensors.begin(), tensor);
}

void tilewright::drain(Lane &lane) {
  Machine &machine = *lane.machine;
  for (unsigned e = 0; e < numEngines; ++e) {
    EngineQueue &queue = lane.engines[e];
    for (const Transfer &copy : queue.copies)
      perform(copy);
    for (const UnitIssue &unit : queue.units)
      unit.run();
    for (const TensorTransfer &tensor : queue.tensors)
      land(*lane.cluster, tensor);
    bool isUnit = static_cast<Engine>(e) == Engine::Unit && queue.lastSite;
    if ((isUnit || static_cast<Engine>(e) == Engine::Store) && queue.issued > lane.order.waited[e])
      machine.report(FindingKind::InFlight, queue.lastSite, queue.lastSite, [&] {
        return formatv("{0} ends before this {1} has read the scratchpad; a wait is missing", machine.name(lane),
                       isUnit ? "unit" : "store")
            .str();
      });
    // The scratchpad is another block's when this one has ended.
    if (static_cast<Engine>(e) == Engine::Copy && queue.lastCopy > lane.order.waited[e] &&
        !machine.kernels->table.endAwaitsCopies)
      machine.report(FindingKind::InFlight, queue.lastSite, queue.lastSite, [&] {
        return formatv("{0} ends before this copy has come; a wait is missing", machine.name(lane)).str();
      });
  }
}

//===----------------------------------------------------------------------===//
// Tiles of arrays
//===----------------------------------------------------------------------===//

namespace {
/// Walks the innermost rows of a tile.
class TileRows {
public:
  TileRows(const TensorTransfer &transfer) : transfer(transfer), descriptor(*transfer.descriptor) {
    for (uint32_t d = 1; d < descriptor.rank; ++d)
      rows *= descriptor.box[d];
    rowBytes = uint64_t(descriptor.box[0]) * descriptor.elementBytes;
  }
  uint64_t rows = 1, rowBytes = 0;

  /// Byte of the scratchpad that byte `offset` of row `row` goes to; swizzles act on the address.
  char *place(uint64_t row, uint64_t offset) const {
    uint64_t address = reinterpret_cast<uint64_t>(transfer.scratchpad) + row * rowBytes + offset;
    if (uint64_t swizzle = descriptor.swizzleBytes)
      address ^= ((address >> 7) & (swizzle / 16 - 1)) << 4;
    return reinterpret_cast<char *>(address);
  }
  /// Bytes [first, last) of row `row` that lie inside the array, and where byte 0 of the row would be.
  char *source(uint64_t row, uint64_t &first, uint64_t &last) const {
    first = last = 0;
    int64_t offset = int64_t(transfer.origin[0]) * descriptor.elementBytes;
    for (uint32_t d = 1; d < descriptor.rank; ++d) {
      int64_t index = int64_t(transfer.origin[d]) + int64_t(row % descriptor.box[d]);
      row /= descriptor.box[d];
      if (index < 0 || index >= int64_t(descriptor.sizes[d]))
        return nullptr;
      offset += index * int64_t(descriptor.pitches[d - 1]);
    }
    int64_t begin = std::max<int64_t>(0, -int64_t(transfer.origin[0]));
    int64_t end = std::min<int64_t>(descriptor.box[0], int64_t(descriptor.sizes[0]) - transfer.origin[0]);
    if (begin >= end)
      return nullptr;
    first = begin * descriptor.elementBytes;
    last = end * descriptor.elementBytes;
    return descriptor.base + offset;
  }

private:
  const TensorTransfer &transfer;
  const TensorDescriptor &descriptor;
};
} // namespace

static constexpr uint64_t segmentBytes = tensorVectorBytes;

void tilewright::land(Cluster &cluster, const TensorTransfer &transfer) {
  TileRows tile(transfer);
  for (uint64_t row = 0; row < tile.rows; ++row) {
    uint64_t first, last;
    char *array = tile.source(row, first, last);
    for (uint64_t offset = 0; offset < tile.rowBytes; offset += segmentBytes) {
      char *segment = tile.place(row, offset);
      uint64_t count = std::min(segmentBytes, tile.rowBytes - offset);
      uint64_t begin = std::max(first, offset), end = std::min(last, offset + count);
      if (transfer.store) {
        if (array && begin < end)
          std::memcpy(array + begin, segment + (begin - offset), end - begin);
        continue;
      }
      std::memset(segment, 0, count);
      if (array && begin < end)
        std::memcpy(segment + (begin - offset), array + begin, end - begin);
    }
  }
  if (transfer.phase)
    phaseReceive(cluster, transfer.phase, tile.rows * tile.rowBytes,
                 cluster.agents.engine(static_cast<unsigned>(Engine::Copy), transfer.lane), transfer.stamp);
}

/// Empty, or why no tile can be moved by this descriptor.
static std::string refuse(const TensorDescriptor &descriptor) {
  if (descriptor.magic != TensorDescriptor::signature)
    return "the descriptor was not made by the device";
  if (descriptor.rank < 1 || descriptor.rank > 5)
    return formatv("a descriptor of rank {0}; expected 1 to 5", descriptor.rank);
  if (reinterpret_cast<uint64_t>(descriptor.base) % segmentBytes)
    return formatv("an array that does not begin at a multiple of {0} bytes", segmentBytes);
  for (uint32_t d = 1; d < descriptor.rank; ++d)
    if (descriptor.pitches[d - 1] % segmentBytes)
      return formatv("a pitch of {0} bytes; expected a multiple of {1}", descriptor.pitches[d - 1], segmentBytes);
  for (uint32_t d = 0; d < descriptor.rank; ++d)
    if (descriptor.box[d] < 1 || descriptor.box[d] > 256)
      return formatv("a tile of {0} elements in dimension {1}; expected 1 to 256", descriptor.box[d], d);
  uint64_t inner = uint64_t(descriptor.box[0]) * descriptor.elementBytes;
  if (inner % segmentBytes)
    return formatv("rows of {0} bytes; expected a multiple of {1}", inner, segmentBytes);
  if (descriptor.swizzleBytes && inner > descriptor.swizzleBytes)
    return formatv("rows of {0} bytes in a swizzle of {1}", inner, descriptor.swizzleBytes);
  return "";
}

void tilewright::tensorAsync(Lane &lane, uint32_t site, TensorTransfer transfer, uint32_t blocks) {
  Machine &machine = *lane.machine;
  Cluster &cluster = *lane.cluster;
  auto misuse = [&](const std::string &why) {
    machine.report(FindingKind::Misuse, site, site, [&] { return why; });
    cluster.stop(lane);
  };
  std::string refusal = refuse(*transfer.descriptor);
  if (!refusal.empty())
    return misuse(refusal);
  Engine engine = transfer.store ? Engine::Store : Engine::Copy;
  unsigned e = static_cast<unsigned>(engine);
  EngineQueue &queue = lane.engines[e];
  transfer.site = queue.lastSite = site;
  transfer.lane = lane.number;
  uint64_t align = transfer.descriptor->swizzleBytes ? uint64_t(transfer.descriptor->swizzleBytes) * 8 : 128;
  if (reinterpret_cast<uint64_t>(transfer.scratchpad) % align)
    return misuse(formatv("the tile lies at byte {0} of the scratchpad; its arrangement needs an alignment of {1}",
                          (transfer.scratchpad - machine.window) % Machine::windowStride, align));
  uint32_t own = lane.block - cluster.blocks.data();
  if (!blocks)
    blocks = 1u << own;
  bool counts = machine.counting; // the array is read once for all blocks
  for (uint32_t rank = 0; rank < cluster.blocks.size(); ++rank) {
    if (!((blocks >> rank) & 1))
      continue;
    TensorTransfer part = transfer;
    int64_t shift = (int64_t(rank) - own) * int64_t(Machine::windowStride);
    part.scratchpad += shift;
    if (part.phase)
      part.phase += shift;
    part.stamp = ++queue.issued;
    if (part.phase && !cluster.barrierObjects.count(part.phase))
      return misuse("the tile completes at a barrier object that nobody has made");
    if (part.phase && machine.checks)
      machine.checkFence(lane, site, cluster.barrierObjects[part.phase]);
    TileRows tile(part);
    uint32_t agent = cluster.agents.engine(e, lane.number);
    bool fits = true;
    for (uint64_t row = 0; row < tile.rows && fits; ++row) {
      uint64_t first, last;
      char *array = tile.source(row, first, last);
      if (machine.counting) {
        llvm::SmallVector<uint64_t, 16> segments;
        llvm::SmallVector<unsigned, 16> numbers;
        for (uint64_t offset = 0; offset < tile.rowBytes; offset += segmentBytes) {
          numbers.push_back(segments.size());
          segments.push_back(reinterpret_cast<uint64_t>(tile.place(row, offset)));
        }
        machine.count(site, segments, numbers, segmentBytes);
      }
      for (uint64_t offset = 0; machine.checks && offset < tile.rowBytes && fits; offset += segmentBytes) {
        char *segment = tile.place(row, offset);
        machine.checkFence(lane, site, segment);
        fits = machine.check(lane, lane.order, agent, part.stamp, site, segment, segmentBytes, segmentBytes,
                             part.store ? AccessKind::Read : AccessKind::Write, Space::Cluster);
      }
      if (!array)
        continue;
      if (machine.checks && fits)
        fits = machine.check(lane, lane.order, agent, part.stamp, site, array + first, last - first, 1,
                             part.store ? AccessKind::Write : AccessKind::Read, Space::Global);
      if (counts)
        machine.count(site, reinterpret_cast<uint64_t>(array + first), 0u, last - first);
    }
    counts = false;
    ++lane.order.clock;
    if (!fits)
      continue;
    occupy(lane, e, 0, tile.rows * tile.rowBytes);
    bool late = machine.mode.late & (1u << e);
    if (!late)
      land(cluster, part);
    else if (part.phase)
      cluster.flying.push_back(part);
    else
      queue.tensors.push_back(part);
  }
}
