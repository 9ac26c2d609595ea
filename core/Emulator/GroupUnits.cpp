//===- GroupUnits.cpp - Units that a group of subgroups issues -------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Such a unit reads matrices that descriptors give, or A and the index of a sparse A from registers, and
/// writes registers while the lanes go on. Until a wait gives them back, the registers are kept here and
/// the lanes hold NaN with a number instead:
///
///   %1 = unit(a, b, %0)      accumulator 7 = {%0; a * b}     lanes hold NaN 7
///   %2 = unit(c, d, %1)      accumulator 7 += c * d          lanes hold NaN 7
///   %3 = wait(0, %2)         lanes receive accumulator 7
///
/// Late engines multiply at the wait, early ones at the issue.
///
//===----------------------------------------------------------------------===//

#include "core/Emulator/AccumulatorMemory.h"
#include "core/Emulator/AsyncEngines.h"
#include "core/Emulator/Collectives.h"
#include "core/Machine/PackedElements.h"
#include "llvm/Support/FormatVariadic.h"

using namespace tilewright;
using llvm::formatv;

//===----------------------------------------------------------------------===//
// Operands
//===----------------------------------------------------------------------===//

char *DescribedMatrix::at(int64_t outer, int64_t inner, int64_t elementBytes) const {
  int64_t perLine = matrix.lineBytes / elementBytes;
  uint64_t address = reinterpret_cast<uint64_t>(scratchpad) + matrix.address + outer / 8 * matrix.groupBytes +
                     outer % 8 * matrix.lineBytes + inner / perLine * matrix.blockBytes +
                     inner % perLine * elementBytes;
  return reinterpret_cast<char *>(address ^ (((address >> 7) & (matrix.lineBytes / 16 - 1)) << 4));
}

char *tilewright::elementOf(const DescribedMatrix &matrix, const UnitOperand &operand, bool isA, int64_t row,
                            int64_t col) {
  const bool rowIsLine = matrix.kInner == isA;
  int64_t inner = rowIsLine ? col : row;
  if (const int64_t packed = packedElements(operand))
    inner = inner / packed * packed;
  return matrix.at(rowIsLine ? row : col, scratchpadBytes(operand, inner), 1);
}

/// The lines of an operand (0: A, 1: B) and their bytes.
static std::pair<int64_t, int64_t> linesOf(const MatrixUnit &unit, int operand, bool kInner) {
  const UnitOperand &o = operand == 0 ? unit.a : unit.b;
  const int64_t free = operand == 0 ? unit.m : unit.n, k = operand == 0 ? unit.depthOfA() : unit.k;
  return kInner ? std::pair(free, scratchpadBytes(o, k)) : std::pair(k, scratchpadBytes(o, free));
}

bool tilewright::readDescribed(Lane &lane, const Order &order, uint32_t site, const MatrixUnit &unit, int operand,
                               const DescribedMatrix &matrix, uint32_t stamp) {
  Machine &machine = *lane.machine;
  constexpr int64_t vectorBytes = 16, groupLines = 8;
  auto [lines, length] = linesOf(unit, operand, matrix.kInner);
  uint32_t agent = lane.cluster->agents.engine(unitEngine, lane.number);
  for (int64_t line = 0; line < lines; line += groupLines)
    for (int64_t inner = 0; inner < length; inner += vectorBytes) {
      uint64_t addresses[groupLines];
      unsigned numbers[groupLines];
      for (int64_t i = 0; i < groupLines; ++i) {
        char *vector = matrix.at(line + i, inner, 1);
        addresses[i] = reinterpret_cast<uint64_t>(vector);
        numbers[i] = i;
        if (machine.checks)
          machine.checkFence(lane, site, vector);
        if (machine.checks && !machine.check(lane, order, agent, stamp, site, vector, vectorBytes, vectorBytes,
                                             AccessKind::Read, Space::Scratchpad))
          return false;
      }
      if (machine.counting)
        machine.count(site, addresses, numbers, vectorBytes);
    }
  return true;
}

void GroupIssue::run(Accumulator &sums) const {
  llvm::SmallVector<char *, 128> frames;
  const MatrixUnit &unit = runner->unit;
  // Of each lane what the instruction was given, with C as it is now.
  const int64_t bytes = runner->registerBytes(2), frameBytes = runner->memoryOffset(0);
  std::vector<char> together = registers;
  for (int64_t lane = 0; lane < runner->lanes && !together.empty(); ++lane)
    std::memcpy(together.data() + lane * frameBytes + runner->registerOffset(2), sums.registers.data() + lane * bytes,
                bytes);
  for (int64_t lane = 0; lane < runner->lanes; ++lane)
    frames.push_back(registers.empty() ? sums.registers.data() + lane * bytes - runner->registerOffset(2)
                                       : together.data() + lane * frameBytes);
  runner->run(
      frames,
      [&](int operand, int64_t row, int64_t col) {
        return elementOf(operands[operand], operand == 0 ? unit.a : unit.b, operand == 0, row, col);
      },
      /*useC=*/true);
  for (int64_t lane = 0; lane < runner->lanes && !registers.empty(); ++lane)
    std::memcpy(sums.registers.data() + lane * bytes, frames[lane] + runner->registerOffset(2), bytes);
}

//===----------------------------------------------------------------------===//
// Issue
//===----------------------------------------------------------------------===//

/// All lanes of the group of `count` lanes around `lane` come here; the last one does `work`.
static void groupCollective(Lane &lane, uint32_t site, void *frame, uint32_t count,
                            llvm::function_ref<void(llvm::ArrayRef<Lane *>)> work) {
  tilewright::Block &block = *lane.block;
  Machine &machine = *lane.machine;
  uint32_t own = lane.number - block.lanes.front()->number, first = own / count * count;
  if (first + count > block.lanes.size()) {
    machine.report(FindingKind::DivergentCollective, site, site, [&] {
      return formatv("the unit takes {0} lanes, the group of {1} has {2}", count, machine.name(lane),
                     block.lanes.size() - first)
          .str();
    });
    return lane.cluster->stop(lane);
  }
  GroupBarrier &barrier = block.groups[first];
  lane.frame = frame;
  if (barrier.arrived == 0) {
    barrier.site = site;
  } else if (barrier.site != site) {
    machine.report(FindingKind::DivergentCollective, site, barrier.site, [&] {
      return formatv("{0} comes here while {1} lanes of its group are at {2}", machine.name(lane), barrier.arrived,
                     machine.kernels->sites[barrier.site].location)
          .str();
    });
    return lane.cluster->stop(lane);
  }
  if (++barrier.arrived < count)
    return lane.cluster->suspend(lane, Waiting::Subgroup, site);
  barrier.arrived = 0;
  auto lanes = llvm::ArrayRef(block.lanes).slice(first, count);
  work(lanes);
  for (Lane *other : lanes)
    if (other != &lane)
      lane.cluster->makeReady(*other);
}

static uint32_t wordOf(const char *data, int64_t index) {
  uint32_t word;
  std::memcpy(&word, data + 4 * index, 4);
  return word;
}

void tilewright::issueGroupUnit(Lane &lane, uint32_t site, const UnitRunner &runner, char *frame) {
  groupCollective(lane, site, frame, runner.lanes, [&](llvm::ArrayRef<Lane *> lanes) {
    Machine &machine = *lane.machine;
    Lane &first = *lanes.front();
    tilewright::Block &block = *lane.block;
    auto frameOf = [&](const Lane *each) { return static_cast<char *>(each->frame); };
    auto misuse = [&](const char *why) {
      machine.report(FindingKind::Misuse, site, site, [&] { return std::string(why); });
      lane.cluster->stop(lane);
    };
    GroupIssue issue;
    issue.runner = &runner;
    for (Lane *each : lanes) {
      EngineQueue &queue = each->engines[unitEngine];
      issue.stamp = ++queue.issued;
      queue.lastSite = site;
      for (int i = 0; i < 2; ++i)
        if (runner.inMemory(i) && std::memcmp(frameOf(each) + runner.memoryOffset(i),
                                              frameOf(&first) + runner.memoryOffset(i), sizeof(MemoryOperand)) != 0)
          return misuse("the lanes of the group give different descriptors");
    }
    for (const Lane *each : lanes)
      if (runner.memoryOffset(0) > runner.registerOffset(2) + runner.registerBytes(2) || !runner.inMemory(0))
        issue.registers.insert(issue.registers.end(), frameOf(each), frameOf(each) + runner.memoryOffset(0));
    for (int i = 0; i < 2; ++i) {
      if (!runner.inMemory(i))
        continue;
      MemoryOperand given;
      std::memcpy(&given, frameOf(&first) + runner.memoryOffset(i), sizeof(given));
      if (given.form == MemoryOperand::Rows || !machine.kernels->table.tiledMatrix)
        return misuse("the unit takes descriptors, and the target must say what they mean");
      issue.operands[i] = {machine.kernels->table.tiledMatrix(given.address), block.scratchpad,
                           given.form == MemoryOperand::LinesAlongK};
      if (!readDescribed(first, first.order, site, runner.unit, i, issue.operands[i], issue.stamp))
        return;
    }
    for (Lane *each : lanes)
      ++each->order.clock;

    // The registers: those that a unit before this one still writes, or what the lanes hold.
    int64_t bytes = runner.registerBytes(2);
    const char *held = frameOf(&first) + runner.registerOffset(2);
    uint32_t word = wordOf(held, 0), number = word & numberMask;
    bool isHandle = (word & ~numberMask) == handleBits;
    for (int64_t i = 1; i < bytes / 4 && isHandle; ++i) // a number may look like one, not all of them
      isHandle = wordOf(held, i) == word;
    auto sums = isHandle ? block.accumulators.find(number) : block.accumulators.end();
    if (sums == block.accumulators.end()) {
      number = ++block.lastAccumulator & numberMask;
      sums = block.accumulators.try_emplace(number).first;
      sums->second.registers.resize(bytes * lanes.size());
      sums->second.firstLane = first.number;
      sums->second.lanes = lanes.size();
      for (auto [i, each] : llvm::enumerate(lanes))
        std::memcpy(sums->second.registers.data() + i * bytes, frameOf(each) + runner.registerOffset(2), bytes);
    }
    Accumulator &accumulator = sums->second;
    accumulator.stamp = issue.stamp;
    occupy(first, unitEngine, runner.unit.issue, 0);
    if (machine.mode.late & (1u << unitEngine))
      accumulator.queued.push_back(issue);
    else
      issue.run(accumulator);
    uint32_t handle = handleBits | number;
    for (Lane *each : lanes)
      for (int64_t i = 0; i < bytes; i += 4)
        std::memcpy(frameOf(each) + runner.registerOffset(2) + i, &handle, 4);
  });
}

//===----------------------------------------------------------------------===//
// Wait
//===----------------------------------------------------------------------===//

void tilewright::waitGroupUnits(Lane &lane, uint32_t site, int32_t pending, uint32_t *words, uint32_t count) {
  wait(lane, site, Engine::Unit, pending);
  tilewright::Block &block = *lane.block;
  uint32_t known = lane.order.waited[unitEngine];
  for (auto &[number, accumulator] : block.accumulators) {
    int64_t member = int64_t(lane.number) - accumulator.firstLane;
    if (accumulator.queued.empty() || member < 0 || member >= accumulator.queued.front().runner->lanes)
      continue;
    size_t done = 0;
    for (; done < accumulator.queued.size() && accumulator.queued[done].stamp <= known; ++done)
      accumulator.queued[done].run(accumulator);
    accumulator.queued.erase(accumulator.queued.begin(), accumulator.queued.begin() + done);
  }
  std::map<uint32_t, uint32_t> seen; // accumulators, and how many of their registers have been given
  for (uint32_t i = 0; i < count; ++i) {
    if ((words[i] & ~numberMask) != handleBits)
      continue;
    uint32_t number = words[i] & numberMask;
    auto found = block.accumulators.find(number);
    if (found == block.accumulators.end() || found->second.stamp > known)
      continue; // under way
    Accumulator &accumulator = found->second;
    int64_t member = int64_t(lane.number) - accumulator.firstLane;
    int64_t laneWords = accumulator.laneWords(), place = seen[number]++;
    if (member >= 0 && place < laneWords)
      words[i] = wordOf(accumulator.registers.data(), member * laneWords + place);
  }
  for (auto [number, given] : seen) {
    Accumulator &accumulator = block.accumulators[number];
    if (++accumulator.givenTo == accumulator.lanes)
      block.accumulators.erase(number);
  }
}
