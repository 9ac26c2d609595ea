//===- EmulatorPartsTest.cpp - Fibers, clocks, shadow memory, banks -------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The emulator's parts alone.
///
//===----------------------------------------------------------------------===//

#include "core/Emulator/Fiber.h"
#include "core/Emulator/Shadow.h"
#include "core/Emulator/Traffic.h"
#include "core/Emulator/UnitRunner.h"
#include "tilewright/Target.h"
#include <gtest/gtest.h>
#include <map>
#include <random>
#include <set>

using namespace tilewright;

namespace {

struct PingPong {
  void *main = nullptr, *fiber = nullptr;
  int value = 0;
  double scale = 1;
};

void body(void *argument) {
  auto &state = *static_cast<PingPong *>(argument);
  double kept = state.scale; // lives over the switches, in a register if it can
  for (;;) {
    state.value += static_cast<int>(kept);
    tilewright_fiber_switch(&state.fiber, state.main);
  }
}

} // namespace

TEST(Fiber, KeepsItsStateOverSwitches) {
  FiberStacks stacks;
  ASSERT_TRUE(stacks.reserve(3));
  PingPong states[3];
  for (int i = 0; i < 3; ++i) {
    states[i].scale = i + 1;
    states[i].fiber = tilewright_fiber_prepare(stacks.top(i), body, &states[i]);
  }
  for (int round = 0; round < 1000; ++round)
    for (PingPong &state : states)
      tilewright_fiber_switch(&state.main, state.fiber);
  for (int i = 0; i < 3; ++i)
    EXPECT_EQ(states[i].value, 1000 * (i + 1));
  EXPECT_TRUE(stacks.contains(1, stacks.top(1) - 8));
  EXPECT_FALSE(stacks.contains(0, stacks.top(1) - 8));
}

namespace {

/// Two lanes and their engines, one granule of 4 bytes at offset 8 in use.
struct Shadowed {
  Agents agents{2, 1, false};
  ShadowMemory shadow;
  Order order[2];
  llvm::DenseSet<uint32_t> none;
  Shadowed() {
    shadow.reset(64, 4);
    for (uint32_t lane = 0; lane < 2; ++lane) {
      order[lane].self = lane;
      order[lane].known = std::make_shared<std::vector<uint32_t>>(agents.count());
    }
  }
  Conflict::Kind access(uint32_t lane, AccessKind kind, uint32_t run = 1) {
    return shadow.access(agents, order[lane], lane, order[lane].clock, run, kind, 8, 4, 0, true, none).kind;
  }
  Conflict::Kind copy(uint32_t lane, uint32_t stamp) {
    auto kindFound = shadow.access(agents, order[lane], agents.engine(0, lane), stamp, 1, AccessKind::Write, 8, 4, 0,
                                   true, none)
                         .kind;
    ++order[lane].clock;
    return kindFound;
  }
  void barrier() {
    std::vector<uint32_t> clocks(agents.count());
    for (Order &one : order) {
      agents.raise(clocks, one);
      ++one.clock;
    }
    auto joined = std::make_shared<std::vector<uint32_t>>(clocks);
    for (Order &one : order)
      one.known = joined;
  }
};

} // namespace

TEST(Shadow, WriteThenReadNeedsABarrier) {
  Shadowed s;
  EXPECT_EQ(s.access(0, AccessKind::Read), Conflict::NeverWritten);
  Shadowed t;
  EXPECT_EQ(t.access(0, AccessKind::Write), Conflict::None);
  EXPECT_EQ(t.access(0, AccessKind::Read), Conflict::None);
  EXPECT_EQ(t.access(1, AccessKind::Read), Conflict::AfterWrite);
  Shadowed u;
  u.access(0, AccessKind::Write);
  u.barrier();
  EXPECT_EQ(u.access(1, AccessKind::Read), Conflict::None);
  EXPECT_EQ(u.access(0, AccessKind::Read), Conflict::None);
  EXPECT_EQ(u.access(0, AccessKind::Write), Conflict::AfterRead); // lane 1 may still read
  u.barrier();
  EXPECT_EQ(u.access(1, AccessKind::Write), Conflict::None);
}

TEST(Shadow, CopiesAreKnownAfterTheWaitAndElsewhereAfterTheBarrier) {
  Shadowed s;
  EXPECT_EQ(s.copy(0, 1), Conflict::None);
  s.barrier(); // a barrier alone is no wait
  EXPECT_EQ(s.access(0, AccessKind::Read), Conflict::AfterWrite);
  EXPECT_EQ(s.access(1, AccessKind::Read), Conflict::AfterWrite);
  Shadowed t;
  t.copy(0, 1);
  t.order[0].waited[0] = 1;
  EXPECT_EQ(t.access(0, AccessKind::Read), Conflict::None);
  EXPECT_EQ(t.access(1, AccessKind::Read), Conflict::AfterWrite);
  Shadowed u;
  u.copy(0, 1);
  u.order[0].waited[0] = 1;
  u.barrier();
  EXPECT_EQ(u.access(1, AccessKind::Read), Conflict::None);
  EXPECT_EQ(u.copy(0, 2), Conflict::AfterRead);
}

TEST(Shadow, AtomicAccessesDoNotRaceWithEachOther) {
  Shadowed s;
  s.access(0, AccessKind::Atomic);
  EXPECT_EQ(s.access(1, AccessKind::Atomic), Conflict::None);
  EXPECT_EQ(s.access(0, AccessKind::Write), Conflict::AfterWrite);
  Shadowed t;
  t.access(0, AccessKind::Write, /*run=*/1);
  EXPECT_EQ(t.access(0, AccessKind::Write, /*run=*/2), Conflict::AfterWrite); // another block
}

TEST(Traffic, Sectors) {
  EXPECT_EQ(countSectors({0, 4, 8, 28}, 4), 1u);
  EXPECT_EQ(countSectors({0, 32, 64, 32}, 4), 3u);
  EXPECT_EQ(countSectors({28}, 8), 2u);
}

TEST(Traffic, BankConflicts) {
  Banks banks{32, 4};
  std::vector<uint64_t> rows, lines, same(32, 64), wide;
  std::vector<unsigned> lanes;
  for (unsigned i = 0; i < 32; ++i) {
    lanes.push_back(i);
    lines.push_back(4 * i);
    rows.push_back(128 * i);
    wide.push_back(16 * i);
  }
  EXPECT_EQ(banks.cost(lines, lanes, 4).cycles, 1u);
  EXPECT_EQ(banks.cost(rows, lanes, 4).cycles, 32u);
  EXPECT_EQ(banks.cost(rows, lanes, 4).conflicts, 31u);
  EXPECT_EQ(banks.cost(same, lanes, 4).cycles, 1u); // one word for all
  EXPECT_EQ(banks.cost(wide, lanes, 16).cycles, 4u);
  EXPECT_EQ(banks.cost(wide, lanes, 16).conflicts, 0u);
  // Pairs of lanes that the banks serve together need not be neighbours.
  EXPECT_EQ(banks.cost({0, 128, 4, 132}, {0, 1, 2, 3}, 4, {{0, 2}, {1, 3}}).cycles, 2u);
}

TEST(UnitRunner, AgreesWithTheModelBitByBit) {
  if (TargetRegistry::get().targets().empty())
    registerLinkedTargets();
  std::mt19937 random(7);
  std::set<std::string> done;
  for (const Target *target : TargetRegistry::get().targets()) {
    for (const std::string &name : target->chips()) {
      auto chip = target->describe(name);
      ASSERT_TRUE(static_cast<bool>(chip)) << llvm::toString(chip.takeError());
      for (const MatrixUnit &unit : (*chip)->units()) {
        UnitRunner runner(unit);
        if (runner.inMemory(0) || runner.inMemory(1) || runner.inMemory(2) || !done.insert(unit.name).second)
          continue;
        const UnitOperand *operands[] = {&unit.a, &unit.b, &unit.c};
        std::vector<char> packed[3];
        std::vector<std::vector<char>> frames(runner.lanes, std::vector<char>(runner.frameBytes()));
        for (int i = 0; i < 3; ++i) {
          packed[i].resize(fragmentBytes(*operands[i]));
          int64_t elements = operands[i]->layout.numElements();
          // Copies of one position in several slots must agree: values follow the position.
          std::map<std::pair<int64_t, int64_t>, double> values;
          for (int64_t lane = 0; lane < operands[i]->layout.numLanes(); ++lane) {
            for (int64_t element = 0; element < elements; ++element) {
              Position p = operands[i]->layout.at(lane, element);
              double fresh = isFloat(operands[i]->element) ? std::normal_distribution<>()(random) : random() % 2;
              double value = values.try_emplace({p.row, p.col}, fresh).first->second;
              writeElement(operands[i]->element, packed[i].data(), lane * elements + element, value);
              writeElement(operands[i]->element, frames[lane].data() + runner.registerOffset(i), element, value);
            }
          }
        }
        runUnit(unit, packed[0].data(), packed[1].data(), packed[2].data());
        if (runner.laneLocal()) {
          for (int64_t lane = 0; lane < runner.lanes; ++lane)
            runner.runLane(lane, frames[lane].data());
        } else {
          std::vector<char *> addresses;
          for (std::vector<char> &frame : frames)
            addresses.push_back(frame.data());
          runner.run(addresses, [](int, int64_t, int64_t) -> char * { return nullptr; }, true);
        }
        int64_t elements = unit.c.layout.numElements();
        for (int64_t lane = 0; lane < unit.c.layout.numLanes(); ++lane) {
          for (int64_t element = 0; element < elements; ++element) {
            double expected = readElement(unit.c.element, packed[2].data(), lane * elements + element);
            double got = readElement(unit.c.element, frames[lane].data() + runner.registerOffset(2), element);
            ASSERT_EQ(got, expected) << unit.name << " lane " << lane << " element " << element;
          }
        }
      }
    }
  }
  EXPECT_GT(done.size(), 5u);
}
