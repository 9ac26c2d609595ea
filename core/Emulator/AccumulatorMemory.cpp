//===- AccumulatorMemory.cpp - Accumulators in a memory of a block --------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Entries that blocks take, units that add up in them, and reads.
///
//===----------------------------------------------------------------------===//

#include "core/Emulator/AccumulatorMemory.h"
#include "core/Emulator/AsyncEngines.h"
#include "core/Emulator/Barriers.h"
#include "core/Emulator/Collectives.h"
#include "core/Machine/ScaleImage.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"
#include <utility>

using namespace tilewright;
using llvm::formatv;

static constexpr uint32_t rowBits = 16, entryMask = 0xffff;
static constexpr uint32_t untouched = 0xffffffff;

//===----------------------------------------------------------------------===//
// Entries
//===----------------------------------------------------------------------===//

static void misuse(Lane &lane, uint32_t site, const std::string &why) {
  lane.machine->report(FindingKind::Misuse, site, site, [&] { return why; });
  lane.cluster->stop(lane);
}

/// Operands of one lane.
namespace {
struct EntriesFrame {
  uint64_t place = 0;
  uint32_t count = 0;
  uint32_t *words = nullptr;
};
} // namespace

static const EntriesFrame &frameOf(const Lane *lane) { return *static_cast<const EntriesFrame *>(lane->frame); }

/// Whether all lanes of the subgroup have given the same.
static bool agree(llvm::ArrayRef<Lane *> lanes) {
  return llvm::all_of(lanes, [&](const Lane *each) {
    return frameOf(each).place == frameOf(lanes.front()).place && frameOf(each).count == frameOf(lanes.front()).count;
  });
}

/// A unit of the kernels that adds up in a memory of the block; null: they have none.
static const MatrixUnit *accumulatingUnit(const Machine &machine) {
  for (const UnitRunner &runner : machine.kernels->units)
    if (accumulatesInBlock(runner.unit))
      return &runner.unit;
  return nullptr;
}

void tilewright::takeAccumulators(Lane &lane, uint32_t site, void *place, uint32_t count) {
  EntriesFrame own{reinterpret_cast<uint64_t>(place), count};
  collective(lane, site, &own, [&](Subgroup &subgroup) {
    Machine &machine = *lane.machine;
    AccumulatorMemory &memory = lane.block->accumulatorMemory;
    const MatrixUnit *unit = accumulatingUnit(machine);
    const Memory *chips = unit ? machine.kernels->chip->graph().named(unit->c.memory) : nullptr;
    if (!chips || !accumulatorEntries(*chips, 1))
      return misuse(lane, site, "the kernels have no unit that adds up in a memory of the block");
    if (!agree(subgroup.lanes))
      return misuse(lane, site, "the lanes of the subgroup take different entries");
    if (!llvm::isPowerOf2_32(count) || accumulatorEntries(*chips, count) != int64_t(count))
      return misuse(lane, site,
                    formatv("a block takes {0} entries; expected a power of two from {1} to {2}", count,
                            *accumulatorEntries(*chips, 1), chips->entries));
    memory.rows = chips->entryBytes / 4;
    memory.entries.resize(chips->entries);
    memory.words.resize(memory.rows * chips->entries, untouched);
    memory.reads.resize(memory.words.size());
    uint32_t first = 0;
    auto isFree = [&](uint32_t from) {
      return llvm::all_of(llvm::ArrayRef(memory.entries).slice(from, count), [](const auto &e) { return !e.count; });
    };
    while (first < memory.entries.size() && !isFree(first))
      first += count;
    if (first >= memory.entries.size())
      return misuse(lane, site,
                    formatv("{0} entries are asked for, and the block has not so many left: it would wait "
                            "for itself",
                            count));
    for (uint32_t entry = first; entry < first + count; ++entry) {
      memory.entries[entry] = {first, count, 0, 0, site, false, 0, 0};
      std::fill_n(memory.words.begin() + entry * memory.rows, memory.rows, untouched);
      std::fill_n(memory.reads.begin() + entry * memory.rows, memory.rows, AccumulatorMemory::Read());
    }
    Lane &writer = *subgroup.lanes.front();
    if (!machine.checks || machine.check(writer, writer.order, writer.order.self, writer.order.clock, site, place, 4, 4,
                                         AccessKind::Write, Space::Scratchpad))
      std::memcpy(place, &first, 4);
  });
}

/// Whether `lane` knows an access stamped (agent, clock) by others.
static bool knows(const Lane &lane, uint32_t agent, uint32_t clock) {
  return clock == 0 || !lane.machine->checks || (lane.reads.known && clock <= (*lane.reads.known)[agent]);
}

/// Reports a unit under way, or one that this lane cannot know to be done.
static void reportUnit(Lane &lane, uint32_t site, const AccumulatorMemory::Entry &entry, const char *what) {
  const bool arrived = entry.stamp <= (*lane.order.known)[entry.agent];
  lane.machine->report(arrived ? FindingKind::MissingFence : FindingKind::MissingWait, site, entry.site, [&] {
    return formatv("{0} {1} accumulators of a unit {2}", lane.machine->name(lane), what,
                   arrived ? "that is done, but has not begun accesses since it waited: a fence is missing"
                           : "whose end it has not waited for")
        .str();
  });
}

void tilewright::freeAccumulators(Lane &lane, uint32_t site, uint32_t address, uint32_t count) {
  EntriesFrame own{address, count};
  collective(lane, site, &own, [&](Subgroup &subgroup) {
    AccumulatorMemory &memory = lane.block->accumulatorMemory;
    if (!agree(subgroup.lanes))
      return misuse(lane, site, "the lanes of the subgroup free different entries");
    if (address >= memory.entries.size() || memory.entries[address].first != address ||
        memory.entries[address].count != count)
      return misuse(lane, site,
                    formatv("{0} entries at {1} are freed, which nobody has taken together", count, address));
    for (auto &entry : llvm::MutableArrayRef(memory.entries).slice(address, count)) {
      if (!knows(lane, entry.agent, entry.stamp) || !knows(lane, entry.readBy, entry.readAt)) {
        reportUnit(lane, site, entry, "frees");
        break;
      }
    }
    for (uint32_t place = address * memory.rows; place < (address + count) * memory.rows; ++place)
      if (const auto &read = memory.reads[place]; read.clock && !knows(lane, read.lane, read.clock)) {
        lane.machine->report(FindingKind::Race, site, site, [&] {
          return formatv("{0} frees accumulators that another lane reads in no order with it", lane.machine->name(lane))
              .str();
        });
        break;
      }
    for (auto &entry : llvm::MutableArrayRef(memory.entries).slice(address, count))
      entry = {};
  });
}

void tilewright::finishAccumulators(Cluster &cluster) {
  for (Block &block : cluster.blocks) {
    AccumulatorMemory &memory = block.accumulatorMemory;
    auto taken = llvm::find_if(memory.entries, [](const auto &entry) { return entry.count != 0; });
    if (taken != memory.entries.end() && !cluster.stopped && !cluster.unfinished)
      cluster.machine->report(FindingKind::InFlight, taken->site, taken->site, [&] {
        return formatv("block ({0}, {1}, {2}) ends with {3} entries for accumulators that it has not freed",
                       block.coordinates[0], block.coordinates[1], block.coordinates[2], taken->count)
            .str();
      });
    for (auto &entry : memory.entries)
      entry = {};
  }
  for (Lane &lane : cluster.lanes) {
    lane.reads = AccumulatorReads();
    if (!lane.accumulating.empty() && !cluster.stopped && !cluster.unfinished)
      cluster.machine->report(FindingKind::InFlight, lane.accumulating.front().site, lane.accumulating.front().site,
                              [&] {
                                return formatv("{0} ends with units that it has not committed to a barrier object",
                                               cluster.machine->name(lane))
                                    .str();
                              });
    lane.accumulating.clear();
  }
  cluster.committed.clear();
}

//===----------------------------------------------------------------------===//
// Units
//===----------------------------------------------------------------------===//

/// Copies what the lines hold when it runs.
void AccumulatorIssue::copy() const {
  AccumulatorMemory &memory = block->accumulatorMemory;
  for (uint32_t row = 0; row < memory.rows; ++row)
    for (uint32_t byte = 0; byte < bytes; byte += 4)
      std::memcpy(&memory.words[(entry + byte / 4) * memory.rows + row], operands[0].at(row % rows, byte, 1), 4);
}

/// The first entry that an instruction takes of what it finds there.
static uint32_t beginOf(const MatrixUnit &unit, const AccumulatorIssue::Scales &own) {
  return own.entry + (findsIndexInBlock(unit) ? own.first : 0);
}

void AccumulatorIssue::run() const {
  if (!runner)
    return copy();
  AccumulatorMemory &memory = block->accumulatorMemory;
  const MatrixUnit &unit = runner->unit;
  const int64_t blocks = unit.scales ? unit.k / unit.scales->block : 1;
  char own = 0; // a place of the index
  runner->run(
      {},
      [&](int operand, int64_t row, int64_t col) -> char * {
        if (operand > 2 && findsIndexInBlock(unit)) {
          const Slot slot = runner->slotOf(operand, row, col);
          const int64_t bit = slot.element * unit.sparsity->placeBits(),
                        entry = beginOf(unit, scales[operand - 3]) + bit / 32;
          own = static_cast<char>(memory.words[entry * memory.rows + slot.lane] >> bit % 32);
          return &own;
        }
        if (operand > 2) {
          const Scales &own = scales[operand - 3];
          const Slot place = runner->slotOf(operand, row, col);
          const int64_t bytes = bitWidth(unit.besides()[operand - 3]->element) / 8;
          uint32_t *word = &memory.words[(own.entry + place.element / blocks) * memory.rows + place.lane];
          return reinterpret_cast<char *>(word) + (own.first + place.element % blocks) * bytes;
        }
        if (operand == 2) {
          Slot place = runner->slotOf(2, row, col);
          return reinterpret_cast<char *>(&memory.words[(entry + place.element) * memory.rows + place.lane]);
        }
        return elementOf(operands[operand], operand == 0 ? unit.a : unit.b, operand == 0, row, col);
      },
      useC);
}

/// Whether the block has taken the entries from `first` on together.
static bool areTaken(const AccumulatorMemory &memory, uint32_t first, uint32_t count) {
  return first + count <= memory.entries.size() &&
         memory.entries[first].first + memory.entries[first].count >= first + count;
}

/// What a lane knows since it last began accesses: as far as the fence after its wait carried it.
static Order knownOrder(const Lane &lane) {
  Order order = lane.order;
  order.known = lane.reads.known;
  if (lane.machine->checks && !order.known)
    order.known = std::make_shared<std::vector<uint32_t>>(lane.cluster->agents.count());
  return order;
}

/// Reports a read of an entry that `lane` is about to overwrite, in no order with it; one at most.
static bool reportReads(Lane &lane, uint32_t site, uint32_t entry) {
  Machine &machine = *lane.machine;
  const AccumulatorMemory &memory = lane.block->accumulatorMemory;
  for (uint32_t row = 0; row < memory.rows && machine.checks; ++row) {
    const AccumulatorMemory::Read &read = memory.reads[entry * memory.rows + row];
    if (!read.clock || knows(lane, read.lane, read.clock))
      continue;
    const bool isFence = read.clock != AccumulatorMemory::notEnded && read.clock <= (*lane.order.known)[read.lane];
    machine.report(isFence ? FindingKind::MissingFence : FindingKind::Race, site, site, [&] {
      return formatv("{0} overwrites accumulators that lane {1} reads{2}", machine.name(lane), read.lane,
                     isFence ? ": it has not begun accesses since its barrier"
                             : " in no order with it: a barrier, or the end of that lane's accesses, is missing")
          .str();
    });
    return true;
  }
  return false;
}

/// Reports units that may find scales in `entry` still when `lane` overwrites it: also its own, which do not wait for
/// what comes after them to be issued, nor it for them.
static bool reportScales(Lane &lane, uint32_t site, const AccumulatorMemory::Entry &entry) {
  if (!entry.readAt || knows(lane, entry.readBy, entry.readAt))
    return false;
  lane.machine->report(FindingKind::Race, site, entry.site, [&] {
    return formatv("{0} overwrites scales or the index of a unit whose end it has not waited for: copies are in no "
                   "order with the "
                   "units before them",
                   lane.machine->name(lane))
        .str();
  });
  return true;
}

/// `agent` writes `count` entries from `first` on.
static void writeEntries(AccumulatorMemory &memory, uint32_t first, uint32_t count, uint32_t agent, uint32_t stamp,
                         uint32_t site, bool isCopy) {
  std::fill_n(memory.reads.begin() + first * memory.rows, count * memory.rows, AccumulatorMemory::Read());
  for (AccumulatorMemory::Entry &own : llvm::MutableArrayRef(memory.entries).slice(first, count)) {
    own.agent = agent;
    own.stamp = stamp;
    own.site = site;
    own.isCopy = isCopy;
    own.readAt = 0;
  }
}

/// Runs it, or keeps it for the commit.
static void start(Lane &lane, AccumulatorIssue issue, double clocks) {
  ++lane.order.clock;
  occupy(lane, unitEngine, clocks, 0);
  if (!(lane.machine->mode.late & (1u << unitEngine)))
    issue.run();
  lane.accumulating.push_back(std::move(issue));
}

void tilewright::copyToAccumulators(Lane &lane, uint32_t site, uint32_t address, uint64_t descriptor, uint32_t rows,
                                    uint32_t bytes) {
  Machine &machine = *lane.machine;
  AccumulatorMemory &memory = lane.block->accumulatorMemory;
  const uint32_t count = bytes / 4, agent = lane.cluster->agents.engine(unitEngine, lane.number);
  if (!machine.kernels->table.tiledMatrix || !rows || memory.rows % rows != 0 || bytes % 4 != 0)
    return misuse(lane, site, "lines are copied that do not fill the rows of the memory, or by an unknown descriptor");
  AccumulatorIssue issue;
  issue.block = lane.block;
  issue.site = site;
  issue.stamp = ++lane.engines[unitEngine].issued;
  issue.known = lane.order.known;
  issue.entry = address & entryMask;
  issue.rows = rows;
  issue.bytes = bytes;
  issue.operands[0] = {machine.kernels->table.tiledMatrix(descriptor), lane.block->scratchpad, true};
  const Order order = knownOrder(lane);
  std::vector<uint64_t> addresses;
  std::vector<unsigned> numbers;
  for (uint32_t row = 0; row < rows; ++row) {
    char *line = issue.operands[0].at(row, 0, 1);
    if (machine.checks)
      machine.checkFence(lane, site, line);
    if (machine.checks &&
        !machine.check(lane, order, agent, issue.stamp, site, line, bytes, bytes, AccessKind::Read, Space::Scratchpad))
      return;
    addresses.push_back(reinterpret_cast<uint64_t>(line));
    numbers.push_back(row);
  }
  if (machine.counting)
    machine.count(site, addresses, numbers, bytes);
  if (address >> rowBits || !areTaken(memory, issue.entry, count))
    return misuse(lane, site,
                  formatv("{0} copies into {1} entries at {2:x}, which the block has not taken together",
                          machine.name(lane), count, address));
  bool told = false;
  for (uint32_t entry = issue.entry; entry < issue.entry + count && !told; ++entry) {
    const AccumulatorMemory::Entry &own = memory.entries[entry];
    told = reportScales(lane, site, own) || reportReads(lane, site, entry);
    if (!told && own.stamp && !knows(lane, own.agent, own.stamp)) {
      reportUnit(lane, site, own, "overwrites");
      told = true;
    }
  }
  writeEntries(memory, issue.entry, count, agent, issue.stamp, site, /*isCopy=*/true);
  const CopyEngine *engine = scaleEngine(*accumulatingUnit(machine), machine.kernels->chip->graph());
  const bool isTimed = engine && engine->bytesPerClock > 0;
  start(lane, std::move(issue), isTimed ? double(rows) * bytes / engine->bytesPerClock : 0);
}

/// Entries that an instruction finds the scales or the index `operand` in, and whether it may, from number `first` of a
/// word of the former on, or of the latter's entries.
static std::pair<uint32_t, bool> entriesOf(const MatrixUnit &unit, const UnitOperand &operand, int64_t first,
                                           const CopyEngine *engine) {
  if (findsIndexInBlock(unit)) {
    const int64_t words = wordsOfIndex(unit), all = engine ? imageOf(unit, operand, *engine).entries : words;
    return {static_cast<uint32_t>(words), first >= 0 && first % words == 0 && first + words <= all};
  }
  const int64_t blocks = unit.k / unit.scales->block;
  return {static_cast<uint32_t>(operand.layout.numElements() / blocks),
          first >= 0 && (first + blocks) * bitWidth(operand.element) <= 32};
}

/// The scales, or the index, that an instruction finds in the memory: copies before it have brought them. False:
/// misuse.
static bool findScales(Lane &lane, uint32_t site, const UnitRunner &runner, char *frame, AccumulatorIssue &issue,
                       uint32_t agent) {
  AccumulatorMemory &memory = lane.block->accumulatorMemory;
  const CopyEngine *engine = scaleEngine(runner.unit, lane.machine->kernels->chip->graph());
  const char *what = findsIndexInBlock(runner.unit) ? "the index of A" : "scales";
  for (int i = 3; i < runner.operands(); ++i) {
    MemoryOperand given;
    std::memcpy(&given, frame + runner.memoryOffset(i), sizeof(given));
    const auto [count, isInside] = entriesOf(runner.unit, *runner.unit.besides()[i - 3], given.pitch, engine);
    AccumulatorIssue::Scales &own = issue.scales[i - 3];
    own.entry = given.address & entryMask;
    own.first = static_cast<uint32_t>(given.pitch);
    if (given.address >> rowBits || !isInside || !areTaken(memory, beginOf(runner.unit, own), count)) {
      misuse(
          lane, site,
          formatv("{0} finds {4} in {1} entries at {2:x}, from number {3} on, which the block has not taken together, "
                  "or which is beyond a word of scales, or what a copy brings of an index",
                  lane.machine->name(lane), count, given.address, given.pitch, what));
      return false;
    }
    bool told = false;
    const uint32_t begin = beginOf(runner.unit, own);
    for (uint32_t entry = begin; entry < begin + count; ++entry) {
      AccumulatorMemory::Entry &each = memory.entries[entry];
      if (!each.isCopy && !std::exchange(told, true))
        lane.machine->report(FindingKind::Uninitialised, site, site, [&] {
          return formatv("{0} finds {1} where nothing was copied to", lane.machine->name(lane), what).str();
        });
      if (each.isCopy && each.agent != agent && !knows(lane, each.agent, each.stamp) && !std::exchange(told, true))
        reportUnit(lane, site, each, "takes operands from");
      each.readBy = agent;
      each.readAt = issue.stamp;
    }
  }
  return true;
}

void tilewright::issueAccumulatorUnit(Lane &lane, uint32_t site, const UnitRunner &runner, char *frame) {
  Machine &machine = *lane.machine;
  Block &block = *lane.block;
  AccumulatorMemory &memory = block.accumulatorMemory;
  EngineQueue &queue = lane.engines[unitEngine];
  AccumulatorIssue issue;
  issue.runner = &runner;
  issue.block = &block;
  issue.site = site;
  issue.stamp = ++queue.issued;
  issue.known = lane.order.known;
  std::memcpy(&issue.useC, frame + runner.useCOffset(), 1);
  const Order order = knownOrder(lane);
  for (int i = 0; i < 2; ++i) {
    MemoryOperand given;
    std::memcpy(&given, frame + runner.memoryOffset(i), sizeof(given));
    if (given.form == MemoryOperand::Rows || !machine.kernels->table.tiledMatrix)
      return misuse(lane, site, "the unit takes descriptors, and the target must say what they mean");
    issue.operands[i] = {machine.kernels->table.tiledMatrix(given.address), block.scratchpad,
                         given.form == MemoryOperand::LinesAlongK};
    if (!readDescribed(lane, order, site, runner.unit, i, issue.operands[i], issue.stamp))
      return;
  }
  MemoryOperand c;
  std::memcpy(&c, frame + runner.memoryOffset(2), sizeof(c));
  const uint32_t agent = lane.cluster->agents.engine(unitEngine, lane.number);
  const auto count = static_cast<uint32_t>(runner.unit.c.layout.numElements());
  issue.entry = c.address & entryMask;
  if (c.address >> rowBits || !areTaken(memory, issue.entry, count))
    return misuse(lane, site,
                  formatv("{0} adds up in {1} entries at {2:x}, which the block has not taken together",
                          machine.name(lane), count, c.address));
  if (!findScales(lane, site, runner, frame, issue, agent))
    return;
  bool told = false;
  for (uint32_t entry = issue.entry; entry < issue.entry + count; ++entry) {
    const AccumulatorMemory::Entry &own = memory.entries[entry];
    if (issue.useC && (!own.stamp || own.isCopy) && !std::exchange(told, true))
      machine.report(FindingKind::Uninitialised, site, site, [&] {
        return formatv("{0} adds to accumulators that nothing was written to", machine.name(lane)).str();
      });
    if (own.stamp && (own.agent != agent || own.isCopy) && !knows(lane, own.agent, own.stamp) &&
        !std::exchange(told, true))
      reportUnit(lane, site, own, "overwrites");
    told = told || reportScales(lane, site, own) || reportReads(lane, site, entry);
  }
  writeEntries(memory, issue.entry, count, agent, issue.stamp, site, /*isCopy=*/false);
  start(lane, std::move(issue), runner.unit.issue);
}

void tilewright::commitAccumulatorUnits(Lane &lane, uint32_t site, void *phase) {
  Cluster &cluster = *lane.cluster;
  const auto key = reinterpret_cast<uint64_t>(phase);
  if (!cluster.barrierObjects.count(key))
    return misuse(lane, site, "the units complete at a barrier object that nobody has made");
  if (lane.machine->checks)
    lane.machine->checkFence(lane, site, cluster.barrierObjects[key]);
  CommittedUnits batch{key,
                       cluster.agents.engine(unitEngine, lane.number),
                       lane.engines[unitEngine].issued,
                       lane.accumulating.empty() ? Clocks() : lane.accumulating.back().known,
                       {}};
  if (lane.machine->mode.late & (1u << unitEngine))
    batch.issues = std::move(lane.accumulating);
  lane.accumulating.clear();
  if (lane.machine->mode.late & (1u << unitEngine))
    cluster.committed.push_back(std::move(batch));
  else
    phaseArriveFor(cluster, key, batch.agent, batch.stamp, batch.known);
}

bool tilewright::runAccumulatorUnits(Cluster &cluster) {
  if (cluster.committed.empty())
    return false;
  CommittedUnits batch = std::move(cluster.committed.front());
  cluster.committed.pop_front();
  for (const AccumulatorIssue &issue : batch.issues)
    issue.run();
  phaseArriveFor(cluster, batch.phase, batch.agent, batch.stamp, batch.known);
  return true;
}

//===----------------------------------------------------------------------===//
// Reads
//===----------------------------------------------------------------------===//

void tilewright::readAccumulators(Lane &lane, uint32_t site, uint32_t address, uint32_t count, uint32_t *words) {
  EntriesFrame own{address, count, words};
  collective(lane, site, &own, [&](Subgroup &subgroup) {
    Machine &machine = *lane.machine;
    AccumulatorMemory &memory = lane.block->accumulatorMemory;
    if (!agree(subgroup.lanes))
      return misuse(lane, site, "the lanes of the subgroup read different entries");
    const uint32_t row = address >> rowBits, first = address & entryMask, size = machine.kernels->subgroupSize;
    const uint32_t inBlock = (subgroup.lanes.front()->number - lane.block->lanes.front()->number) / size;
    if (first + count > memory.entries.size() ||
        memory.entries[first].first + memory.entries[first].count < first + count)
      return misuse(lane, site,
                    formatv("{0} reads {1} entries at {2}, which the block has not taken together", machine.name(lane),
                            count, first));
    if (row != inBlock % (memory.rows / size) * size)
      return misuse(lane, site,
                    formatv("{0} reads rows from {1} on; its subgroup reaches those from {2} on", machine.name(lane),
                            row, inBlock % (memory.rows / size) * size));
    bool told = false;
    for (uint32_t i = 0; i < count; ++i) {
      const AccumulatorMemory::Entry &entry = memory.entries[first + i];
      if (!entry.stamp && !std::exchange(told, true))
        machine.report(FindingKind::Uninitialised, site, site, [&] {
          return formatv("{0} reads accumulators that no unit has written", machine.name(lane)).str();
        });
      for (auto [number, each] : llvm::enumerate(subgroup.lanes)) {
        if (!knows(*each, entry.agent, entry.stamp) && !std::exchange(told, true))
          reportUnit(*each, site, entry, "reads");
        const uint32_t place = (first + i) * memory.rows + row + number;
        memory.reads[place] = {each->number, AccumulatorMemory::notEnded};
        AccumulatorReads &reads = each->reads;
        reads.started.push_back(place);
        reads.last = (reads.last + 1) & numberMask;
        reads.coming[reads.last] = memory.words[place];
        frameOf(each).words[i] = handleBits | reads.last;
      }
    }
  });
}

void tilewright::awaitAccumulatorReads(Lane &lane, uint32_t *words, uint32_t count) {
  AccumulatorReads &reads = lane.reads;
  for (uint32_t i = 0; i < count; ++i)
    if ((words[i] & ~numberMask) == handleBits)
      if (auto found = reads.coming.find(words[i] & numberMask); found != reads.coming.end())
        words[i] = found->second;
  reads.coming.clear();
  llvm::append_range(reads.awaited, reads.started);
  reads.started.clear();
}

void tilewright::fenceAccumulators(Lane &lane, bool begins) {
  if (begins) {
    lane.reads.known = lane.order.known;
    return;
  }
  for (uint32_t place : lane.reads.awaited)
    if (auto &read = lane.block->accumulatorMemory.reads[place];
        read.lane == lane.number && read.clock == AccumulatorMemory::notEnded)
      read.clock = lane.order.clock;
  lane.reads.awaited.clear();
}
