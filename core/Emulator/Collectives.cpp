//===- Collectives.cpp - Ops of a whole subgroup --------------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Each runs once, in the lane that comes last, over the frames of all lanes.
///
//===----------------------------------------------------------------------===//

#include "core/Emulator/Collectives.h"
#include "core/Analysis/ElementType.h"
#include "core/Emulator/AsyncEngines.h"
#include "core/Machine/UnitOperands.h"
#include "llvm/Support/FormatVariadic.h"

using namespace tilewright;
using llvm::formatv;

//===----------------------------------------------------------------------===//
// Exchanges
//===----------------------------------------------------------------------===//

static uint32_t combine(Combine kind, uint32_t a, uint32_t b) {
  int32_t x = static_cast<int32_t>(a), y = static_cast<int32_t>(b);
  switch (kind) {
  case Combine::AddI:
    return a + b;
  case Combine::MinS:
    return std::min(x, y);
  case Combine::MaxS:
    return std::max(x, y);
  case Combine::MinU:
    return std::min(a, b);
  case Combine::MaxU:
    return std::max(a, b);
  case Combine::And:
    return a & b;
  case Combine::Or:
    return a | b;
  case Combine::Xor:
    return a ^ b;
  }
  return 0;
}

static void shuffle(llvm::ArrayRef<Lane *> lanes, Machine &machine, uint32_t site) {
  llvm::SmallVector<int64_t, 64> values;
  for (Lane *lane : lanes)
    values.push_back(static_cast<ExchangeFrame *>(lane->frame)->value);
  for (auto [number, lane] : llvm::enumerate(lanes)) {
    auto &frame = *static_cast<ExchangeFrame *>(lane->frame);
    int64_t width = frame.width ? frame.width : machine.kernels->subgroupSize;
    int64_t own = number, first = own - own % width, source = own;
    switch (static_cast<Shuffle>(frame.kind - ExchangeFrame::shuffleKinds)) {
    case Shuffle::Index:
      source = first + frame.amount;
      break;
    case Shuffle::Up:
      source = own - frame.amount;
      break;
    case Shuffle::Down:
      source = own + frame.amount;
      break;
    case Shuffle::Xor:
      source = own ^ frame.amount;
      break;
    }
    frame.inside = source >= first && source < first + width;
    if (frame.inside && source >= static_cast<int64_t>(lanes.size())) {
      machine.report(FindingKind::DivergentCollective, site, site, [&] {
        return formatv("{0} takes a value from lane {1} of its subgroup, which has {2} lanes", machine.name(*lane),
                       source, lanes.size())
            .str();
      });
      frame.inside = 0;
    }
    if (frame.inside)
      frame.value = values[source];
  }
}

void tilewright::exchange(Lane &lane, uint32_t site, ExchangeFrame &frame) {
  collective(lane, site, &frame, [&](Subgroup &subgroup) {
    auto frameOf = [](Lane *lane) -> ExchangeFrame & { return *static_cast<ExchangeFrame *>(lane->frame); };
    llvm::ArrayRef<Lane *> lanes = subgroup.lanes;
    if (frame.kind < ExchangeFrame::voteKinds)
      return shuffle(lanes, *lane.machine, site);
    if (frame.kind == ExchangeFrame::electKind) {
      for (Lane *other : lanes)
        frameOf(other).value = other == lanes.front();
      return;
    }
    if (frame.kind < ExchangeFrame::combineKinds) {
      uint64_t ballot = 0;
      for (auto [number, other] : llvm::enumerate(lanes))
        ballot |= uint64_t(frameOf(other).value & 1) << number;
      uint64_t all = lanes.size() == 64 ? ~uint64_t(0) : (uint64_t(1) << lanes.size()) - 1;
      Vote vote = static_cast<Vote>(frame.kind - ExchangeFrame::voteKinds);
      for (Lane *other : lanes)
        frameOf(other).value = vote == Vote::Ballot ? ballot : vote == Vote::Any ? ballot != 0 : ballot == all;
      return;
    }
    uint32_t result = static_cast<uint32_t>(frameOf(lanes.front()).value);
    for (Lane *other : lanes.drop_front())
      result = combine(static_cast<Combine>(frame.kind - ExchangeFrame::combineKinds), result,
                       static_cast<uint32_t>(frameOf(other).value));
    for (Lane *other : lanes)
      frameOf(other).value = result;
  });
}

//===----------------------------------------------------------------------===//
// Cooperative loads and stores
//===----------------------------------------------------------------------===//

namespace {
struct MatricesFrame {
  char *row;
  uint32_t *words;
};
} // namespace

static constexpr unsigned matrixRows = 8, matrixRowBytes = 16;

void tilewright::matrices(Lane &lane, uint32_t site, void *row, uint32_t count, bool transpose, bool store,
                          uint32_t *words) {
  MatricesFrame own{static_cast<char *>(row), words};
  collective(lane, site, &own, [&](Subgroup &subgroup) {
    Machine &machine = *lane.machine;
    llvm::ArrayRef<Lane *> lanes = subgroup.lanes;
    auto frameOf = [&](unsigned number) -> MatricesFrame & {
      return *static_cast<MatricesFrame *>(lanes[number]->frame);
    };
    if (lanes.size() < 32 || count > 4) {
      machine.report(FindingKind::Misuse, site, site,
                     [&] { return formatv("{0} matrices by {1} lanes; it takes 32", count, lanes.size()).str(); });
      return;
    }
    uint64_t addresses[32];
    unsigned numbers[32];
    char *rows[32];
    for (unsigned i = 0; i < count * matrixRows; ++i) {
      rows[i] = frameOf(i).row;
      addresses[i] = reinterpret_cast<uint64_t>(rows[i]);
      numbers[i] = i;
      Lane &giver = *lanes[i];
      if (machine.checks &&
          !machine.check(giver, giver.order, giver.order.self, giver.order.clock, site, rows[i], matrixRowBytes,
                         matrixRowBytes, store ? AccessKind::Write : AccessKind::Read, Space::Scratchpad))
        rows[i] = store ? machine.trash.data() : machine.poison.data();
    }
    if (machine.counting)
      machine.count(site, llvm::ArrayRef(addresses, count * matrixRows), llvm::ArrayRef(numbers, count * matrixRows),
                    matrixRowBytes);
    for (unsigned matrix = 0; matrix < count; ++matrix) {
      char **first = rows + matrix * matrixRows;
      for (unsigned number = 0; number < 32; ++number) {
        uint32_t &word = frameOf(number).words[matrix];
        unsigned line = number / 4, pair = 2 * (number % 4);
        if (!transpose) {
          if (store)
            std::memcpy(first[line] + pair * 2, &word, 4);
          else
            std::memcpy(&word, first[line] + pair * 2, 4);
          continue;
        }
        for (unsigned half = 0; half < 2; ++half) {
          char *element = first[pair + half] + line * 2;
          char *part = reinterpret_cast<char *>(&word) + 2 * half;
          std::memcpy(store ? element : part, store ? part : element, 2);
        }
      }
    }
  });
}

void tilewright::columns(Lane &lane, uint32_t site, void *row, uint32_t elementBytes, uint32_t *words) {
  static constexpr unsigned group = 16, bytes = 8;
  MatricesFrame own{static_cast<char *>(row), words};
  collective(lane, site, &own, [&](Subgroup &subgroup) {
    Machine &machine = *lane.machine;
    llvm::ArrayRef<Lane *> lanes = subgroup.lanes;
    if (lanes.size() % group) {
      machine.report(FindingKind::Misuse, site, site, [&] {
        return formatv("columns are loaded by {0} lanes; a multiple of {1} is right", lanes.size(), group).str();
      });
      return;
    }
    std::vector<uint64_t> addresses;
    std::vector<unsigned> numbers;
    std::vector<char> loaded(lanes.size() * bytes);
    for (unsigned i = 0; i < lanes.size(); ++i) {
      Lane &giver = *lanes[i];
      char *from = static_cast<MatricesFrame *>(giver.frame)->row;
      addresses.push_back(reinterpret_cast<uint64_t>(from));
      numbers.push_back(i);
      if (machine.checks && !machine.check(giver, giver.order, giver.order.self, giver.order.clock, site, from, bytes,
                                           bytes, AccessKind::Read, Space::Scratchpad))
        from = machine.poison.data();
      std::memcpy(loaded.data() + i * bytes, from, bytes);
    }
    if (machine.counting)
      machine.count(site, addresses, numbers, bytes);
    // Lanes beside each other hold a row of 16 elements; column `i` is element i mod N of every so many lanes.
    unsigned each = bytes / elementBytes, parts = group / each;
    for (unsigned i = 0; i < lanes.size(); ++i) {
      auto *column = reinterpret_cast<char *>(static_cast<MatricesFrame *>(lanes[i]->frame)->words);
      unsigned first = i / group * group, inside = i % group;
      for (unsigned n = 0; n < each; ++n)
        std::memcpy(column + n * elementBytes,
                    loaded.data() + (first + inside / each + parts * n) * bytes + inside % each * elementBytes,
                    elementBytes);
    }
  });
}

//===----------------------------------------------------------------------===//
// Matrix units
//===----------------------------------------------------------------------===//

static MemoryOperand &memoryOperand(const UnitRunner &runner, char *frame, int operand) {
  return *reinterpret_cast<MemoryOperand *>(frame + runner.memoryOffset(operand));
}

/// Checks what a unit reads and writes in memory; false: nothing can be computed.
static bool checkMemory(Lane &lane, uint32_t site, const UnitRunner &runner, uint32_t agent, uint32_t clock, bool useC,
                        UnitRunner::AddressOf addressOf) {
  Machine &machine = *lane.machine;
  const UnitOperand *operands[] = {&runner.unit.a, &runner.unit.b, &runner.unit.c};
  bool fits = true;
  for (int i = 0; i < 3 && fits; ++i) {
    if (!runner.inMemory(i))
      continue;
    const UnitOperand &o = *operands[i];
    uint64_t elementBytes = tilewright::elementBytes(o.element);
    for (int64_t row = 0; row < o.rows && fits; ++row) {
      // Contiguous segments of a row.
      for (int64_t col = 0; col < o.cols && fits;) {
        char *start = addressOf(i, row, col);
        int64_t end = col + 1;
        while (end < o.cols && addressOf(i, row, end) == start + (end - col) * elementBytes)
          ++end;
        uint64_t bytes = (end - col) * elementBytes;
        if (machine.checks) {
          if (i < 2 || useC)
            fits = machine.check(lane, lane.order, agent, clock, site, start, bytes, elementBytes, AccessKind::Read,
                                 Space::Generic);
          if (i == 2 && fits)
            fits = machine.check(lane, lane.order, agent, clock, site, start, bytes, elementBytes, AccessKind::Write,
                                 Space::Generic);
        }
        if (machine.counting)
          machine.count(site, reinterpret_cast<uint64_t>(start), 0u, bytes);
        col = end;
      }
    }
  }
  return fits;
}

/// A unit whose operands lie in memory, issued by one lane for itself.
static void issueInMemory(Lane &lane, uint32_t site, const UnitRunner &runner, char *frame) {
  Machine &machine = *lane.machine;
  constexpr unsigned e = static_cast<unsigned>(Engine::Unit);
  const MatrixUnit &unit = runner.unit;
  bool useC = true;
  if (unit.init == UnitInit::ZeroFlag)
    std::memcpy(&useC, frame + runner.useCOffset(), 1);
  EngineQueue &queue = lane.engines[e];
  bool atOnce = unit.completion == Completion::AtOnce;
  uint32_t agent = lane.order.self, clock = lane.order.clock;
  if (!atOnce) {
    agent = lane.cluster->agents.engine(e, lane.number);
    clock = ++queue.issued;
  }
  UnitIssue issue{&runner, clock, useC, {}};
  for (int i = 0; i < 3; ++i)
    issue.operands[i] = memoryOperand(runner, frame, i);
  bool fits = checkMemory(lane, site, runner, agent, clock, useC,
                          [&](int operand, int64_t row, int64_t col) { return issue.at(operand, row, col); });
  if (!atOnce)
    ++lane.order.clock;
  ++machine.engineCounters[e].commands;
  if (machine.timed) {
    advance(lane);
    issueClocks(lane, runner, clock, issue.operands);
    if (atOnce) {
      countUnits(lane, clock);
      waitUntil(lane, queue.lastEnd);
    }
  }
  if (!fits)
    return;
  if (!atOnce && (machine.mode.late & (1u << e)))
    queue.units.push_back(issue);
  else
    issue.run();
}

char *UnitIssue::at(int operand, int64_t row, int64_t col) const {
  const MatrixUnit &unit = runner->unit;
  const UnitOperand &o = operand == 0 ? unit.a : operand == 1 ? unit.b : unit.c;
  return reinterpret_cast<char *>(operands[operand].address) + row * operands[operand].pitch +
         col * bitWidth(o.element) / 8;
}

void UnitIssue::run() const {
  runner->run({}, [&](int operand, int64_t row, int64_t col) { return at(operand, row, col); }, useC);
}

void tilewright::issueUnit(Lane &lane, uint32_t site, char *frame) {
  Machine &machine = *lane.machine;
  int number = machine.kernels->sites[site].unit;
  const UnitRunner &runner = machine.kernels->units[number];
  if (accumulatesInBlock(runner.unit)) {
    ++machine.unitIssues[number];
    return issueAccumulatorUnit(lane, site, runner, frame);
  }
  if ((runner.inMemory(0) || runner.inMemory(1)) && runner.lanes > 1) {
    uint32_t own = lane.number - lane.block->lanes.front()->number;
    machine.unitIssues[number] += own % runner.lanes == 0;
    return issueGroupUnit(lane, site, runner, frame);
  }
  if (runner.inMemory(0)) {
    ++machine.unitIssues[number];
    return issueInMemory(lane, site, runner, frame);
  }
  auto noMemory = [](int, int64_t, int64_t) -> char * { return nullptr; };
  if (runner.lanes == 1) {
    ++machine.unitIssues[number];
    runner.run(frame, noMemory, true);
    return;
  }
  if (runner.laneLocal()) {
    uint32_t inSubgroup = lane.facts[static_cast<unsigned>(LaneFact::LaneInSubgroup)];
    machine.unitIssues[number] += inSubgroup == 0;
    runner.runLane(inSubgroup % runner.lanes, frame);
    return;
  }
  collective(lane, site, frame, [&](Subgroup &subgroup) {
    ++machine.unitIssues[number];
    if (subgroup.lanes.size() != static_cast<size_t>(runner.lanes)) {
      machine.report(FindingKind::DivergentCollective, site, site, [&] {
        return formatv("the unit takes {0} lanes, the subgroup has {1}", runner.lanes, subgroup.lanes.size()).str();
      });
      return;
    }
    llvm::SmallVector<char *, 64> frames;
    for (Lane *other : subgroup.lanes) {
      frames.push_back(static_cast<char *>(other->frame));
      for (int64_t byte = 0; byte < runner.frameBytes(); byte += 64) // all at once, not one lane after the other
        __builtin_prefetch(frames.back() + byte);
    }
    runner.run(frames, noMemory, true);
  });
}
